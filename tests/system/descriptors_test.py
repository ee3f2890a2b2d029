# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""File descriptors run out, through peers or otherwise, while pipelines change: each change is made or refused."""

import http.client
import json
import os
import resource
import signal
import socket
import time
import unittest

import iqd
from door import Door

FILES = 200
RADIO = "{soapy: {args: \"driver=iqdsim,scenario=tone,serial=%s,frequency=125000\", rate: 1 MS/s, format: cf32}}"


def document(where, value=0.5, more=""):
    """`learn` measures a tone at least ten times a second and sets a factor of `send`."""
    return f"""pipelines:
- name: learn
  source: {RADIO % "learn"}
  block: 100000
  stages:
  - multiply_const: {{name: level, value: 2}}
  - aph_predistorter: {{}}
  apply:
  - {{port: aph_predistorter.peak, to: send/multiply_const.value}}
- name: send
  source: {RADIO % "send"}
  block: 10000
  stages:
  - multiply_const: {{value: {value}}}
  publish:
  - {{port: multiply_const, topic: x, bind: "{where}"}}
{more}monitor: {{listen: "127.0.0.1:0"}}
"""


def added(where):
    return f"""- name: added
  source: {RADIO % "added"}
  publish:
  - {{port: source, topic: y, bind: "{where}"}}
"""


class Kept:
    """A connection to the HTTP port, opened before descriptors run out."""

    def __init__(self, door):
        self.connection = http.client.HTTPConnection("127.0.0.1", door.port, timeout=iqd.PATIENCE)

    def ask(self, method, path, keys=None):
        """Returns the status and the response."""
        for last in (False, False, True):
            try:
                self.connection.request(method, path, None if keys is None else json.dumps(keys))
                answer = self.connection.getresponse()
                break
            except (http.client.RemoteDisconnected, OSError):  # iqd closes the connection that was idle longest
                self.connection.close()
                if last:
                    raise
        return answer.status, json.loads(answer.read())


class Descriptors(iqd.SystemTest):
    def setUp(self):
        super().setUp()
        self.where = iqd.endpoint()
        self.port = int(self.where.rsplit(":", 1)[1])

    def open(self, text, files=FILES):
        daemon = self.enterContext(self.daemon(text, before=("prlimit", f"--nofile={files}:{files}")))
        door = Door(daemon)
        door.wait_for_state("/readyz", 200)
        return daemon, door

    def rewrite(self, text):
        (self.folder / "pipeline.yaml").write_text(text, encoding="utf-8")

    def half_open(self, count):
        """Opens silent connections; the daemon may close some to accept later ones."""
        crowd = []
        for _ in range(count):
            crowd.append(self.enterContext(socket.create_connection(("127.0.0.1", self.port), timeout=iqd.PATIENCE)))
        return crowd

    def assertAnswered(self, answer):
        """The change was made, or refused with a reason."""
        status, said = answer
        self.assertIn(status, (200, 422, 503), said)
        self.assertTrue(said["applied"] if status == 200 else said["problems"], said)

    def test_peers_take_all_they_can_while_it_is_changed(self):
        daemon, door = self.open(document(self.where))
        kept = Kept(door)
        kept.ask("GET", "/api/status")
        self.half_open(FILES)
        time.sleep(0.1)
        for i in range(10):
            self.rewrite(document(self.where, value=0.5 + i / 100, more=added(iqd.endpoint()) if i % 2 else ""))
            self.assertAnswered(kept.ask("POST", "/api/reload"))
            self.assertAnswered(kept.ask("PATCH", "/api/pipelines/learn/stages/level", {"value": 2 + i / 10}))
            door.wait_for_state("/readyz", 200)  # an added pipeline must open its radio first
        self.assertEqual(daemon.stop(), 0, daemon.text)
        for status in daemon.final:
            self.assertConserved(status)

    def test_a_reader_has_room_again_when_they_have_gone(self):
        daemon, _ = self.open(document(self.where))
        for s in self.half_open(FILES):
            s.close()
        self.reader(self.where, "x").take(1)
        self.assertIn("closed at once", daemon.text)

    def test_none_are_left_for_whatever_is_changed(self):
        daemon, door = self.open(document(self.where), files=4096)
        pid = daemon.process.pid
        ask = Kept(door).ask
        ask("GET", "/api/status")
        highest = max(int(n) for n in os.listdir(f"/proc/{pid}/fd"))
        before = resource.prlimit(pid, resource.RLIMIT_NOFILE)
        # All numbers below it are in use.
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (10, before[1]))
        self.assertGreater(highest, 10)
        self.rewrite(document(self.where, more=added(iqd.endpoint())))
        status, said = ask("POST", "/api/reload")
        self.assertIn(status, (422, 503), said)
        self.assertRegex(" ".join(said["problems"]), "Too many open files|descriptors are needed")
        self.assertAnswered(ask("PATCH", "/api/pipelines/learn/stages/level", {"value": 4}))
        self.assertEqual(ask("GET", "/api/status")[0], 200)
        daemon.signal(signal.SIGHUP)
        daemon.wait_for_log("reload refused: ")
        self.assertAnswered(ask("PATCH", "/api/pipelines/send/stages/source", {"rate": 2e6}))
        self.assertEqual(ask("GET", "/api/status")[0], 200)
        time.sleep(0.5)  # meanwhile values are applied
        self.assertIsNone(daemon.process.poll(), daemon.text)

        resource.prlimit(pid, resource.RLIMIT_NOFILE, before)
        status, said = door.change("POST", "/api/reload")
        self.assertEqual(status, 200, said)
        door.wait_for_state("/readyz", 200)
        self.assertEqual(len(json.loads(door.get("/api/status"))["pipelines"]), 3)
        self.assertEqual(daemon.stop(), 0, daemon.text)


if __name__ == "__main__":
    unittest.main()
