# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""Addresses ipc://…: one process at a time can bind one, and no file remains."""

import signal
import unittest

import zmq

import iqd
from door import Door, simulated


class Ipc(iqd.SystemTest):
    def setUp(self):
        super().setUp()
        self.path = self.folder / "socket"
        self.where = f"ipc://{self.path}"

    def document(self, where=None, more=""):
        return (f"name: test\nsource: {{soapy: {{args: driver=iqdsim, rate: 1 MS/s}}}}\nblock: 1000\n"
                f"publish: [{{port: source, topic: t, bind: \"{where or self.where}\"}}]\n{more}")

    def test_the_second_is_refused(self):
        with self.daemon(self.document()) as first:
            reader = self.reader(self.where, "t")
            reader.take(1)
            for _ in range(2):
                with self.daemon(self.document(), name="second.yaml") as second:
                    self.assertEqual(second.wait(), 1, second.text)
                    self.assertIn(f"cannot bind {self.where}: Address already in use", second.text)
            seq = reader.take(1)[0].seq
            messages = reader.take(200)
            self.assertGreater(messages[-1].seq, seq)
            late = self.reader(self.where, "t")
            late.take(1)
            self.assertEqual(first.stop(), 0, first.text)
        self.assertFalse(self.path.exists(), "the file must go with the socket")

    def test_sources_and_sinks_as_well(self):
        source = f"name: a\nsource: {{zmq: {{bind: \"{self.where}\", kind: pull, rate: 1e6}}}}\n"
        sink = (f"name: b\nsource: {{soapy: {{args: driver=iqdsim, rate: 1 MS/s}}}}\n"
                f"sinks: [{{port: source, zmq: {{bind: \"{self.where}\"}}}}]\n")
        with self.daemon(source + f"publish: [{{port: source, topic: t, bind: \"{iqd.endpoint()}\"}}]\n") as first:
            first.wait_for(lambda s: True)
            for text in (source, sink, self.document()):
                with self.daemon(text, name="second.yaml") as second:
                    self.assertEqual(second.wait(), 1, second.text)
                    self.assertIn("Address already in use", second.text)
            self.assertEqual(first.stop(), 0, first.text)
        self.assertFalse(self.path.exists())

    def test_what_a_kill_leaves_is_in_nobodys_way(self):
        for _ in range(2):
            with self.daemon(self.document()) as daemon:
                self.reader(self.where, "t").take(1)
                daemon.signal(signal.SIGKILL)
                daemon.wait()
            self.assertTrue(self.path.exists())
        with self.daemon(self.document()) as daemon:
            self.reader(self.where, "t").take(1)
            self.assertEqual(daemon.stop(), 0, daemon.text)

    def test_a_file_that_is_no_socket_stays(self):
        self.path.write_text("samples")
        with self.daemon(self.document()) as daemon:
            self.assertEqual(daemon.wait(), 1, daemon.text)
            self.assertIn("is not a socket", daemon.text)
        self.assertEqual(self.path.read_text(), "samples")

    def test_nothing_is_left_of_what_was_refused(self):
        taken = iqd.endpoint()
        self.reader(taken, kind=zmq.PULL, bind=True)
        both = self.document().replace("}]\n", f"}}, {{port: source, topic: u, bind: \"{taken}\"}}]\n")
        with self.daemon(both) as daemon:
            self.assertEqual(daemon.wait(), 1, daemon.text)
        self.assertFalse(self.path.exists(), "a refused start must leave no file")

        text = simulated() + 'monitor: {listen: "127.0.0.1:0"}\n'
        with self.daemon(text) as daemon:
            door = Door(daemon)
            door.wait_for_state("/readyz", 200)
            (self.folder / "pipeline.yaml").write_text(both.replace("name: test", "name: new") +
                                                       'monitor: {listen: "127.0.0.1:0"}\n')
            status, said = door.change("POST", "/api/reload")
            self.assertEqual(status, 422, said)
            self.assertFalse(self.path.exists(), "a refused change must leave no file")
            self.assertEqual(daemon.stop(), 0, daemon.text)

    def test_a_change_may_take_the_address_along(self):
        text = self.document() + 'monitor: {listen: "127.0.0.1:0"}\n'
        with self.daemon(text) as daemon:
            door = Door(daemon)
            door.wait_for_state("/readyz", 200)
            status, said = door.change("PATCH", "/api/stages/source", {"rate": 2e6})
            self.assertEqual(status, 200, said)
            self.reader(self.where, "t").take(1)
            self.assertEqual(daemon.stop(), 0, daemon.text)
        self.assertFalse(self.path.exists())


if __name__ == "__main__":
    unittest.main()
