"""The service behind the gateway: answers as the libraries expect, and counts its runs by order.

It knows nothing of keys: an order that runs twice is counted twice.
"""

import collections
import http.server
import json
import threading
import urllib.parse


class Service:
    """Runs until `close`."""

    def __init__(self):
        self.runs = collections.Counter()
        self.keys = collections.defaultdict(set)
        self.lock = threading.Condition()
        self.gates = {}
        service = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers.get("content-length", 0)))
                answer = json.dumps(service.run(self.headers, body)).encode()
                self.send_response(200)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = "http://127.0.0.1:%d" % self.server.server_address[1]

    def run(self, headers, body):
        """One run: counted at its begin, and held at its order's gate if there is one."""
        if headers["content-type"].startswith("application/json"):
            order = json.loads(body)["messages"][0]["content"]
        else:
            order = urllib.parse.parse_qs(body.decode())["name"][0]
        with self.lock:
            self.runs[order] += 1
            self.keys[order].add(headers["idempotency-key"])
            run = "run-%d-of-%s" % (self.runs[order], order)
            gate = self.gates.get(order)
            self.lock.notify_all()
        if gate:
            gate.wait()
        return {
            "id": run,
            "object": "customer",
            "created": 0,
            "model": "none",
            "choices": [
                {
                    "index": 0,
                    "finish_reason": "stop",
                    "message": {"role": "assistant", "content": "done"},
                }
            ],
        }

    def hold(self, order):
        """Makes the order's runs wait until `let_go`."""
        self.gates[order] = threading.Event()

    def let_go(self, order):
        self.gates[order].set()

    def wait_for_run(self, order):
        with self.lock:
            if not self.lock.wait_for(lambda: self.runs[order] > 0, timeout=30):
                raise AssertionError("the service never ran " + order)

    def close(self):
        self.server.shutdown()
        self.server.server_close()
