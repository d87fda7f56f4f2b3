"""A proxy for bytes that breaks a connection once, at a chosen moment.

It reads no HTTP but what it needs to know that an answer is whole: a head and a content-length.
"""

import re
import socket
import struct
import threading


class Cutter:
    """Passes connections on to `target`; `cut` says where the first request's connection breaks.

    - `None`: nowhere.
    - `"answer"`: once the whole answer is there, before a byte of it has gone to the client.
    - `"request"`: once the whole request has gone on; the caller says when, by `cut_now`.
    """

    def __init__(self, target, cut):
        self.target = target
        self.cut = cut
        self.requests = 0
        self.may_cut = threading.Event()
        self.seen = threading.Condition()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = "http://127.0.0.1:%d" % self.listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def cut_now(self):
        self.may_cut.set()

    def close(self):
        self.listener.close()

    def _accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client):
        try:
            with client, socket.create_connection(self.target) as server:
                while self._exchange(client, server):
                    pass
        except OSError:
            pass

    def _exchange(self, client, server):
        """One request and its answer; false at the end of the connection."""
        request = message(client)
        if not request:
            return False
        server.sendall(request)
        with self.seen:
            self.requests += 1
            first = self.requests == 1
            self.seen.notify_all()
        if first and self.cut == "request":
            self.may_cut.wait()
            return reset(client)
        answer = message(server)
        if first and self.cut == "answer":
            return reset(client)
        client.sendall(answer)
        return bool(answer)


def message(sock):
    """One whole message, or nothing at the end of the connection."""
    data = b""
    while b"\r\n\r\n" not in data:
        more = sock.recv(65536)
        if not more:
            return b""
        data += more
    head, _, rest = data.partition(b"\r\n\r\n")
    length = re.search(rb"(?im)^content-length: *(\d+)", head)
    missing = int(length[1]) - len(rest) if length else 0
    while missing > 0:
        more = sock.recv(min(missing, 65536))
        if not more:
            return b""
        data += more
        missing -= len(more)
    return data


def reset(sock):
    """Ends a connection with a reset, as a network that fails does."""
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    sock.close()
    return False
