"""The gateway as a process, with a configuration of its own."""

import os
import re
import subprocess
import tempfile


class Gateway:
    """Started on a free port; ends with `close`."""

    def __init__(self, binary, upstream, settings):
        self.file = tempfile.NamedTemporaryFile("w", suffix=".toml")
        self.file.write('listen = "127.0.0.1:0"\nupstream = "%s"\n\n[idempotency]\n' % upstream)
        for name, value in settings.items():
            self.file.write('%s = "%s"\n' % (name, value))
        self.file.flush()
        environment = {
            name: value for name, value in os.environ.items() if not name.startswith("LEASEHOLD_")
        }
        environment["LEASEHOLD_LOG"] = "warn"
        self.process = subprocess.Popen(
            [binary, "serve", "--config", self.file.name],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            env=environment,
            text=True,
        )
        line = self.process.stdout.readline()
        found = re.fullmatch(r"listening on http://([\d.]+):(\d+)\n", line)
        if not found:
            raise AssertionError("the gateway did not start: %r" % line)
        self.address = (found[1], int(found[2]))

    def close(self):
        self.process.terminate()
        self.process.wait(timeout=60)
        self.process.stdout.close()
        self.file.close()
