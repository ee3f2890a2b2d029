# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""Sources that fall silent: the state, /readyz, the log, the metrics and the line for systemd; and sources that only
rest."""

import json
import threading
import time
import unittest

import numpy as np
import zmq

import iqd
from door import Door
from notify_test import Manager

RATE = 1e6
MONITOR = 'monitor: {listen: "127.0.0.1:0"}\n'


class Sender:
    """Sends samples as fast as the rate says, in messages of 20 ms, until it is closed; as iqd does, or bare."""

    def __init__(self, where, kind=zmq.PUB, bare=False, first=0):
        self.kind, self.bare, self.next = kind, bare, first
        self.socket = zmq.Context.instance().socket(kind)
        self.socket.setsockopt(zmq.LINGER, 0)
        self.socket.bind(where)
        self.ends = threading.Event()
        self.thread = threading.Thread(target=self.send)
        self.thread.start()

    def send(self):
        samples = int(RATE / 50)
        x = np.zeros(samples, np.complex64).tobytes()
        due = time.monotonic()
        while not self.ends.is_set():
            head = {"sample": self.next, "sample_rate": RATE, "dtype": "<c8", "shape": [samples], "dims": ["n"], "gap": 0}
            frames = [x] if self.bare else [b"t " + json.dumps(head).encode(), x]
            if self.kind == zmq.REP:
                if not self.socket.poll(20):
                    continue
                self.socket.recv()
            try:
                self.socket.send_multipart(frames, zmq.DONTWAIT)
            except zmq.Again:
                pass
            self.next += samples
            due += samples / RATE
            time.sleep(max(0, due - time.monotonic()))

    def close(self):
        self.ends.set()
        self.thread.join()
        self.socket.close()


class Silence(iqd.SystemTest):
    def sender(self, *arguments, **options):
        sender = Sender(*arguments, **options)
        self.addCleanup(lambda: sender.ends.is_set() or sender.close())
        return sender

    def document(self, source, more="", sink=None):
        sink = sink or f'publish: [{{port: source, topic: t, bind: "{iqd.endpoint()}"}}]\n'
        return f"name: test\nsource: {{{source}}}\nblock: 4096\n{more}{MONITOR}{sink}"

    def open(self, text, *arguments, **options):
        daemon = self.enterContext(self.daemon(text, *arguments, **options))
        return daemon, Door(daemon)

    def state_of(self, door):
        return {dict(labels)["state"] for (name, labels), v in door.series().items()
                if name == "iqd_source_state" and v}

    def test_a_peer_that_is_gone_and_comes_back(self):
        for kind, peer, bare in (("sub", zmq.PUB, False), ("pull", zmq.PUSH, False), ("pull", zmq.PUSH, True),
                                 ("req", zmq.REP, True)):
            with self.subTest(kind=kind, bare=bare):
                where = iqd.endpoint()
                sender = self.sender(where, peer, bare)
                framing = ", framing: raw" if bare else ""
                daemon, door = self.open(self.document(f"zmq: {{kind: {kind}, connect: \"{where}\", rate: {RATE}{framing}}}"))
                door.wait_for_state("/readyz", 200)
                sender.close()
                reasons = door.wait_for_state("/readyz", 503)
                self.assertRegex(reasons, r"^test: the source is stalled: no samples for \d+\.\d s$")
                daemon.wait_for_log("test: no samples for 1.")
                status = door.status()
                self.assertEqual(status["state"], "stalled")
                self.assertRegex(status["trouble"], r"^no samples for \d+\.\d s$")
                self.assertEqual(self.state_of(door), {"stalled"})
                self.assertEqual(door.ask("GET", "/healthz")[0], 200)
                self.sender(where, peer, bare, first=sender.next)
                door.wait_for_state("/readyz", 200)
                daemon.wait_for_log("test: samples flow again, after ")
                self.assertEqual(door.status()["trouble"], "")
                self.assertGreaterEqual(door.status()["stalls"], 1)
                self.assertEqual(door.status()["reconnects"], 0)
                self.assertEqual(daemon.text.count("no samples for"), 1, daemon.text)
                self.assertEqual(daemon.stop(), 0, daemon.text)
                self.assertConserved(daemon.final[0])

    def test_a_peer_that_has_never_been_there(self):
        manager = Manager(self.folder / "notify")
        self.addCleanup(manager.socket.close)
        where = iqd.endpoint()
        daemon, door = self.open(self.document(f"zmq: {{connect: \"{where}\", rate: {RATE}}}",
                                               more="reconnect: {silence: 500 ms}\n"),
                                 environment={"NOTIFY_SOCKET": manager.where})
        daemon.wait_for_log("test: no samples for 0.")
        self.assertRegex(door.wait_for_state("/readyz", 503), "the source is stalled: no samples for ")
        while "stalled (no samples for " not in (line := manager.wait_for("STATUS=")):
            pass
        self.assertRegex(line, r"test stalled \(no samples for \d+\.\d s\) 0 S/s")
        self.sender(where)
        door.wait_for_state("/readyz", 200)
        manager.wait_for("READY=1")
        self.assertEqual(daemon.stop(), 0, daemon.text)

    def test_an_iqd_that_is_killed_and_started_again(self):
        where = iqd.endpoint()
        radio = (f'name: radio\nsource: {{soapy: {{args: "driver=iqdsim", rate: {RATE}, format: cf32}}}}\nblock: 10000\n'
                 f'publish: [{{port: source, topic: t, bind: "{where}"}}]\n')
        sending = self.daemon(radio, name="radio.yaml")
        with sending:
            daemon, door = self.open(self.document(f"zmq: {{connect: \"{where}\", topic: t, rate: {RATE}}}"))
            door.wait_for_state("/readyz", 200)
        door.wait_for_state("/readyz", 503)
        daemon.wait_for_log("no samples for 1.")
        with self.daemon(radio, name="radio.yaml"):
            door.wait_for_state("/readyz", 200)
            self.assertEqual(daemon.stop(), 0, daemon.text)
        self.assertConserved(daemon.final[0])

    def test_a_radio(self):
        daemon, door = self.open(self.document("soapy: {args: \"driver=iqdsim,stall_at=0.5,stall_for=3\", rate: 1e6}"))
        door.wait_for_state("/readyz", 200)
        self.assertRegex(door.wait_for_state("/readyz", 503), "the source is stalled: no samples for ")
        daemon.wait_for_log("test: no samples for 1.")
        daemon.wait_for_log("test: samples flow again, after ")
        door.wait_for_state("/readyz", 200)
        self.assertEqual(door.status()["reconnects"], 0)

    def test_a_radio_whose_driver_does_not_return(self):
        daemon, door = self.open(self.document("soapy: {args: \"driver=iqdsim,hang_at=0.5\", rate: 1e6}",
                                               more="realtime: {hang: 60 s}\n"))
        self.assertRegex(door.wait_for_state("/readyz", 503), "the source is stalled: no samples for ")
        daemon.wait_for_log("test: no samples for 1.")
        self.assertEqual((door.status()["state"], door.status()["stalls"]), ("stalled", 1))
        daemon.stop()
        self.assertEqual(daemon.text.count("no samples for"), 1, daemon.text)

    def test_long_blocks_do_not_hide_silence(self):
        """Blocks of 10 s, silence of 3 s: noticed after a second, and no reader is blamed."""
        daemon, door = self.open(self.document("soapy: {args: \"driver=iqdsim,stall_at=1,stall_for=3\", rate: 1e5}")
                                 .replace("block: 4096", "block: 1000000"))
        door.wait_for_state("/readyz", 200)
        self.assertRegex(door.wait_for_state("/readyz", 503), r"^test: the source is stalled: no samples for 1\.\d s$")
        daemon.wait_for_log("test: no samples for 1.")
        door.wait_for_state("/readyz", 200)
        self.assertEqual(door.status()["stalls"], 1)

    def test_sources_that_rest_are_ready(self):
        recording = iqd.write_recording(self.folder / "r", np.zeros(100, np.complex64), rate=2)
        radio = "name: radio\n  source: {soapy: {args: \"driver=iqdsim\", rate: 1e6, format: cf32}}\n  block: 4096\n"
        recalls = (f"pipelines:\n- {radio}  sinks: [{{port: source, recall: {{name: r, keep: 200 ms}}}}]\n"
                   f"- name: test\n  source: {{recall: {{names: [r], rate: 1e6, samples: 4096, every: none}}}}\n"
                   f"  block: 4096\n  publish: [{{port: source, topic: t, bind: \"{iqd.endpoint()}\"}}]\n{MONITOR}")
        for text in (self.document(f"file: {{path: {recording}, pace: true, repeat: true}}").replace("4096", "1"),
                     self.document("generate: {rate: 1e3, pace: true}"), recalls):
            with self.subTest(text):
                daemon, door = self.open(text)
                door.wait_for_state("/readyz", 200)
                ends = time.monotonic() + 3
                while time.monotonic() < ends:
                    self.assertEqual(door.ask("GET", "/readyz"), (200, "ok\n"))
                    time.sleep(0.05)
                self.assertEqual([p["stalls"] for p in json.loads(door.get("/api/status"))["pipelines"]][-1], 0)
                self.assertEqual(daemon.stop(), 0, daemon.text)

    def test_captures_of_a_radio_that_is_silent(self):
        text = (f"pipelines:\n- name: radio\n"
                f"  source: {{soapy: {{args: \"driver=iqdsim,stall_at=1,stall_for=60\", rate: 1e6, format: cf32}}}}\n"
                f"  block: 4096\n  sinks: [{{port: source, recall: {{name: r, keep: 200 ms}}}}]\n"
                f"- name: test\n  source: {{recall: {{names: [r], rate: 1e6, samples: 4096, every: 100 ms,"
                f" patience: 500 ms}}}}\n"
                f"  block: 4096\n  publish: [{{port: source, topic: t, bind: \"{iqd.endpoint()}\"}}]\n{MONITOR}")
        daemon, door = self.open(text)
        door.wait_for_state("/readyz", 200)
        ends = time.monotonic() + iqd.PATIENCE
        while "test: the source is stalled" not in (reasons := door.wait_for_state("/readyz", 503)):
            self.assertLess(time.monotonic(), ends, reasons)
        self.assertEqual(daemon.stop(), 0, daemon.text)

    def test_a_reader_that_takes_nothing_more(self):
        """The source has samples: the pipeline is not ready, and its source is not blamed."""
        where = iqd.endpoint()
        daemon, door = self.open(self.document("generate: {rate: 1e6}", sink=(
            f'publish: [{{port: source, topic: t, kind: push, bind: "{where}", hwm_bytes: 1 MiB}}]\n')))
        self.assertRegex(door.wait_for_state("/readyz", 503),
                         r"^test: no samples taken for \d\.\d s: a subscriber or a sink takes no more")
        self.assertEqual((door.status()["state"], door.status()["stalls"]), ("streaming", 0))
        reader = self.reader(where, kind=zmq.PULL)
        reader.take(10)
        door.wait_for_state("/readyz", 200)
        self.assertNotIn("no samples for", daemon.text)


if __name__ == "__main__":
    unittest.main()
