"""Every library at every bad moment: one run of the service, and the first run's result.

Nothing here waits for luck: connections break when something has happened, never after a while.
"""

import argparse
import json
import os
import subprocess
import sys
import unittest
import uuid

from cutter import Cutter
from gateway import Gateway
from service import Service

HERE = os.path.dirname(os.path.abspath(__file__))

# Longest time that one library may take for one order, its own pauses included.
PATIENCE = 120

REPLAY = {"duplicate": "replay", "fingerprint": "json"}


def libraries(arguments):
    """The command line of each library."""
    python = [arguments.python]
    node = ["node"]
    return {
        "stripe for Python": python + ["libraries/stripe_python.py"],
        "stripe for Node": node + ["libraries/stripe_node.mjs"],
        "openai for Python": python + ["libraries/openai_python.py"],
        "openai for Node": node + ["libraries/openai_node.mjs"],
    }


class Case(unittest.TestCase):
    arguments = None

    def setUp(self):
        self.service = Service()
        self.addCleanup(self.service.close)

    def gateway(self, settings):
        gateway = Gateway(self.arguments.gateway, self.service.url, settings)
        self.addCleanup(gateway.close)
        return gateway

    def each(self, settings, cut, check):
        """Has each library make one order through a proxy that breaks once."""
        gateway = self.gateway(settings)
        for name, command in libraries(self.arguments).items():
            with self.subTest(name):
                cutter = Cutter(gateway.address, cut)
                try:
                    check(Order(self, command, cutter))
                finally:
                    cutter.close()

    def test_a_lost_answer_is_replayed(self):
        def check(order):
            self.assertEqual(order.end(), {"result": "run-1-of-" + order.name})
            self.assertEqual(order.cutter.requests, 2)
            self.assert_one_run(order)

        self.each(REPLAY, "answer", check)

    def test_a_retry_that_meets_its_own_run_waits_for_it(self):
        def check(order):
            order.is_held = True
            order.begin()
            self.service.wait_for_run(order.name)
            order.cutter.cut_now()
            # The retry is there once the proxy has seen it; the run ends after that.
            order.wait_for_requests(2)
            self.service.let_go(order.name)
            self.assertEqual(order.end(), {"result": "run-1-of-" + order.name})
            self.assertEqual(order.cutter.requests, 2)
            self.assert_one_run(order)

        self.each({**REPLAY, "wait": "60s"}, "request", check)

    def test_without_replay_a_lost_answer_ends_in_one_refusal(self):
        def check(order):
            self.assertEqual(order.end(), {"status": 409})
            # The hint keeps the library from asking a third time.
            self.assertEqual(order.cutter.requests, 2)
            self.assert_one_run(order)

        self.each({}, "answer", check)

    def test_an_undisturbed_order_runs_once(self):
        def check(order):
            self.assertEqual(order.end(), {"result": "run-1-of-" + order.name})
            self.assertEqual(order.cutter.requests, 1)
            self.assert_one_run(order)

        self.each(REPLAY, None, check)

    def assert_one_run(self, order):
        self.assertEqual(self.service.runs[order.name], 1)
        self.assertEqual(len(self.service.keys[order.name]), 1)


class Order:
    """One order that a library makes."""

    def __init__(self, case, command, cutter):
        self.case = case
        self.cutter = cutter
        self.command = command
        self.name = "order-" + uuid.uuid4().hex
        self.is_held = False
        self.process = None

    def begin(self):
        if self.is_held:
            self.case.service.hold(self.name)
        self.process = subprocess.Popen(
            self.command + [self.cutter.url, self.name],
            cwd=HERE,
            env={**os.environ, "NODE_PATH": self.case.arguments.node_modules},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            text=True,
        )

    def end(self):
        """How the library says that it ended."""
        if not self.process:
            self.begin()
        output, _ = self.process.communicate(timeout=PATIENCE)
        return json.loads(output)

    def wait_for_requests(self, count):
        """Waits until the proxy has passed on as many requests."""
        with self.cutter.seen:
            if not self.cutter.seen.wait_for(lambda: self.cutter.requests >= count, PATIENCE):
                raise AssertionError("the library did not retry")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--gateway", required=True, type=os.path.abspath)
    # Not resolved: the interpreter of a virtual environment is known by its own path.
    parser.add_argument("--python", required=True, type=os.path.abspath)
    parser.add_argument("--node-modules", required=True, type=os.path.abspath)
    Case.arguments, rest = parser.parse_known_args()
    unittest.main(argv=[sys.argv[0], *rest], verbosity=2)


if __name__ == "__main__":
    main()
