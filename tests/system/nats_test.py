#!/usr/bin/python3
# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""Messages that a NATS server stores: `sinks: nats` writes them, `source: nats` reads them."""

import numpy as np
import yaml

import iqd
import nats
import pool_case
from pool_case import BLOCK, RATE, noise


class Stored(iqd.SystemTest):
    def setUp(self):
        super().setUp()
        self.server = self.enterContext(nats.Server(self.folder / "server"))

    def write(self, count, **keys):
        """Stores a recording, a message for each block."""
        recording = iqd.write_recording(self.folder / "noise", noise(count), RATE)
        spec = {"name": "writer", "source": {"file": {"path": str(recording)}}, "block": BLOCK,
                "sinks": [{"port": "source", "nats": {"servers": [self.server.url], "stream": "S",
                                                      "max_bytes": "32 MiB", **keys}}]}
        path = self.folder / "writer.yaml"
        path.write_text(yaml.safe_dump(spec), encoding="utf-8")
        done = iqd.command("run", path)
        self.assertEqual(done.returncode, 0, done.stderr)

    def reader(self, name="out.npy", **keys):
        spec = {"name": "reader", "block": BLOCK,
                "source": {"nats": {"servers": [self.server.url], "stream": "S", "rate": RATE, "from": "first", **keys}},
                "sinks": [{"port": "source", "file": {"path": str(self.folder / name)}}]}
        return self.enterContext(iqd.Daemon(yaml.safe_dump(spec), folder=self.folder, name=f"{name}.yaml"))

    def until(self, reader, count):
        reader.wait_for(lambda status: status["received"] >= count)

    def read(self, count, name="out.npy", **keys):
        """Reads until `count` samples have come."""
        reader = self.reader(name, **keys)
        self.until(reader, count)
        reader.signal()
        self.assertEqual(reader.wait(), 0, reader.text)
        return np.load(self.folder / name), reader

    def test_what_was_written_is_read(self):
        self.write(20 * BLOCK)
        y, _ = self.read(20 * BLOCK)
        np.testing.assert_array_equal(y, noise(20 * BLOCK))

    def test_a_reader_continues_at_its_place(self):
        self.write(8 * BLOCK)
        first, _ = self.read(8 * BLOCK, "first.npy")
        self.assertEqual(len(first), 8 * BLOCK)
        self.write(8 * BLOCK)
        second, _ = self.read(8 * BLOCK, "second.npy")
        np.testing.assert_array_equal(second, noise(8 * BLOCK))
        again, _ = self.read(16 * BLOCK, "again.npy", reader="another")
        self.assertEqual(len(again), 16 * BLOCK)

    def test_a_full_stream_keeps_the_newest(self):
        self.write(40 * BLOCK, max_bytes="1 MiB")
        kept = (1 << 20) // (8 * BLOCK) - 1  # a message is a block and its header
        y, reader = self.read(kept * BLOCK)
        np.testing.assert_array_equal(y, noise(40 * BLOCK)[-len(y):])
        self.assertLess(len(y), 32 * BLOCK)
        self.assertEqual(reader.final[0]["lost"], 0, "nothing is missing between the messages that it read")

    def test_foreign_messages_are_ignored(self):
        self.write(4 * BLOCK)
        with nats.Client(self.server) as client:
            for message in (b"", b"\0" * 10, b"\xff" * 100, b"\x02\0\0\0{}" + bytes(58), bytes(5000)):
                client.publish("iqd.S", message)
            client.flush()
        self.write(4 * BLOCK)
        y, reader = self.read(8 * BLOCK)
        self.assertEqual(len(y), 8 * BLOCK)
        self.assertIn("nats source S: ignored a message", reader.text)

    def test_a_server_that_restarts_costs_what_it_did_not_store(self):
        self.write(4 * BLOCK, storage="file")
        reader = self.reader()
        self.until(reader, 4 * BLOCK)
        self.server.restart(0.5)
        self.write(4 * BLOCK, storage="file")
        self.until(reader, 8 * BLOCK)
        reader.signal()
        self.assertEqual(reader.wait(), 0, reader.text)
        np.testing.assert_array_equal(np.load(self.folder / "out.npy"), np.resize(noise(4 * BLOCK), 8 * BLOCK))

    def test_without_a_server_or_a_stream(self):
        self.server.kill()
        reader = self.reader()
        self.assertNotEqual(reader.wait(), 0)
        self.assertIn("nats source: cannot connect to", reader.text)
        self.server.restart()
        reader = self.reader("other.npy")
        self.assertNotEqual(reader.wait(), 0)
        self.assertIn("nats source: reading the stream S", reader.text)


if __name__ == "__main__":
    pool_case.main()
