# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""The programs of examples/ and of README.md, as a user would start them, against the real daemon."""

import os
import pathlib
import re
import subprocess
import sys
import threading
import unittest

import numpy as np

import iqd

try:
    from gnuradio import zeromq  # pylint: disable=unused-import
    HAS_GNURADIO = True
except ImportError:
    HAS_GNURADIO = False

EXAMPLES = iqd.ROOT / "examples"
SUBSCRIBE = os.environ.get("IQD_SUBSCRIBE", str(iqd.ROOT / "build" / "release" / "examples" / "subscribe"))
PYTHON = [sys.executable, str(EXAMPLES / "subscribe.py")]
GNURADIO = [sys.executable, str(EXAMPLES / "subscribe_gnuradio.py")]
# The package, in place of the module iqd of these tests.
WITH_PACKAGE = {**os.environ, "PYTHONPATH": str(pathlib.Path(iqd.IQD).parent / "python")}
PIECES, LOST, RATE = [600_000, 400_000], 30_000, 800e3


class Examples(iqd.SystemTest):
    def recording(self, dtype=np.complex64):
        """Two pieces with LOST samples missing between them."""
        x = np.full((sum(PIECES), 2), 3277, np.int16) if dtype == np.int16 else np.full(sum(PIECES), 0.1, np.complex64)
        start = "2024-02-03T04:05:06.{:06d}Z"
        captures = [{"core:sample_start": 0, "core:frequency": 433.92e6, "core:datetime": start.format(0)},
                    {"core:sample_start": PIECES[0], "core:global_index": PIECES[0] + LOST,
                     "core:frequency": 433.92e6, "core:datetime": start.format(int((PIECES[0] + LOST) / RATE * 1e6))}]
        return iqd.write_recording(self.folder / "r", x, rate=RATE, captures=captures)

    def start(self, *command, **options):
        process = subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   **options)
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        return process

    def output_of(self, process):
        out, error = process.communicate(timeout=iqd.PATIENCE)
        self.assertEqual(process.returncode, 0, error)
        return out.splitlines()

    def read(self, command, entry="", topic=("iq",), dtype=np.complex64):
        """The program's output for a recording that is played slowly enough for several lines."""
        where = iqd.endpoint()
        text = (f"source: {{file: {{path: {self.recording(dtype)}, pace: true}}}}\nblock: 10000\n"
                f"publish: [{{port: source, topic: iq, bind: \"{where}\"{entry}}}]\n")
        process = self.start(*command, where, *topic, "--items", sum(PIECES))
        with self.daemon(text, *([] if "push" in entry else ["--wait-subscribers", 1])) as daemon:
            lines = self.output_of(process)
            self.assertEqual(daemon.wait(), 0, daemon.text)
        if "push" not in entry:  # a queue may fill before it is read, and is then emptied at once
            self.assertGreaterEqual(len(lines), 2)
        return lines

    def check_plain(self, command, dtype=np.complex64):
        lines = self.read(command, dtype=dtype)
        self.assertEqual(lines[-1], f"{sum(PIECES)} items, {LOST} samples lost by iqd, 0 messages lost on the way")
        return lines

    def test_python(self):
        for dtype, power in ((np.complex64, "-20.0"), (np.int16, "-17.0")):
            lines = self.check_plain(PYTHON, dtype)
            self.assertIn(f" {power} dB; ", "\n".join(lines))

    def test_cpp(self):
        self.check_plain([SUBSCRIBE])

    def test_messages_that_do_not_come(self):
        """A jump of `seq` is reported as a loss on the way; if `seq` goes back, iqd was restarted."""
        socket = iqd.zmq.Context.instance().socket(iqd.zmq.XPUB)
        port = socket.bind_to_random_port("tcp://127.0.0.1")
        socket.setsockopt(iqd.zmq.RCVTIMEO, int(iqd.PATIENCE * 1000))
        self.addCleanup(socket.close, 0)
        head = (b't {"port": "p", "seq": %d, "gap": 0, "dtype": "<f4", "datatype": "rf32_le", "shape": [2], '
                b'"dims": ["n"]}')
        for command in (PYTHON, [SUBSCRIBE]):
            process = self.start(*command, f"tcp://127.0.0.1:{port}", "t", "--items", 10)
            self.assertEqual(socket.recv(), b"\x01t ")
            for seq in (0, 1, 5, 0, 1):
                socket.send_multipart([head % seq, bytes(8)])
            self.assertEqual(self.output_of(process)[-1],
                             "10 items, 0 samples lost by iqd, 3 messages lost on the way")
            self.assertEqual(socket.recv(), b"\x00t ")

    @unittest.skipUnless(HAS_GNURADIO, "NOT TESTED: GNU Radio with gr-zeromq is not installed")
    def test_gnuradio(self):
        lines = self.read(GNURADIO, ", framing: gnuradio-tags")
        self.assertEqual(lines[-1], f"{sum(PIECES)} items at 0.8 MS/s, 433.92 MHz, {LOST} samples lost")
        lines = self.read([*GNURADIO, "--no-tags"])
        self.assertEqual(lines[-1], f"{sum(PIECES)} items, 0 samples lost")

    @unittest.skipUnless(HAS_GNURADIO, "NOT TESTED: GNU Radio with gr-zeromq is not installed")
    def test_gnuradio_pulls(self):
        lines = self.read([*GNURADIO, "--pull"], ", kind: push, framing: gnuradio-tags", topic=())
        self.assertEqual(lines[-1], f"{sum(PIECES)} items at 0.8 MS/s, 433.92 MHz, {LOST} samples lost")

    def test_python_feeds(self):
        source, where = iqd.endpoint(), iqd.endpoint()
        text = (f"source: {{zmq: {{kind: pull, bind: \"{source}\", rate: 1 MS/s, element: cf32}}}}\nblock: 7000\n"
                f"publish: [{{port: source, topic: t, bind: \"{where}\"}}]\n")
        reader = self.reader(where, "t")
        with self.daemon(text, "--wait-subscribers", 1) as daemon:
            self.output_of(self.start(sys.executable, EXAMPLES / "feed.py", source, "--seconds", 0.5))
            messages = reader.take(500_000 // 7000)
            daemon.stop()
            messages += reader.rest()
        self.assertContinuous(messages)
        self.assertTimed(messages, 2000)
        x = np.concatenate([m.x for m in messages])
        self.assertEqual(len(x), 500_000)
        self.assertLess(np.abs(x - iqd.tone(np.arange(len(x)), 50e3, 1e6)).max(), 1e-6)

    def test_level(self):
        """A tone of -20 dBFS comes within 3 dB of -12 dBFS."""
        where = iqd.endpoint()
        text = (f"source: {{soapy: {{args: \"driver=iqdsim,front_end=true\", rate: 1e6, gain: 0, frequency: 100 MHz}}}}\n"
                f"block: 16384\npublish: [{{port: source, topic: iq, bind: \"{where}\"}}]\n"
                f"monitor: {{listen: \"127.0.0.1:0\"}}\n")
        with self.daemon(text) as daemon:
            daemon.wait_for_log("http: listening on ")
            address = re.search(r"http: listening on (\S+)", daemon.text)[1]
            lines = self.output_of(self.start(sys.executable, EXAMPLES / "level.py", where, "iq", "--monitor", address,
                                              "--seconds", 2, env=WITH_PACKAGE))
            self.assertEqual(lines[-1].split(" dB off: ")[1], "gain 6 dB")
            daemon.wait_for(lambda p: -15.1 < (p["channels"][0]["peak_dbfs"] or 0) < -8.9)
            self.assertEqual(daemon.stop(), 0, daemon.text)

    def test_keys(self):
        """With keys from `iqd keygen`; a program whose key is not on the list gets nothing."""
        for name in ("radio", "me", "stranger"):
            done = iqd.command("keygen", name, cwd=self.folder)
            self.assertEqual(done.returncode, 0, done.stderr)
        where = iqd.endpoint()
        text = (f"source: {{soapy: {{args: driver=iqdsim, rate: 1e6}}}}\nblock: 10000\n"
                f"publish:\n  - port: source\n    topic: iq\n    bind: \"{where}\"\n"
                f"    curve: {{secret: {self.folder}/radio.secret, allow: {self.folder}/me.pub}}\n")
        with self.daemon(text) as daemon:
            keys = [where, "iq", "--items", 100_000, "--server", self.folder / "radio.pub", "--key"]
            strangers = [self.start(*command, *keys, self.folder / "stranger.secret")
                         for command in (PYTHON, [SUBSCRIBE])]
            for command in (PYTHON, [SUBSCRIBE]):
                lines = self.output_of(self.start(*command, *keys, self.folder / "me.secret"))
                self.assertRegex(lines[-1], r"^\d{6} items, 0 samples lost by iqd, 0 messages lost on the way$")
            daemon.wait_for(lambda p: p["endpoints"][0]["handshake_failures"] >= len(strangers))
            for process in strangers:
                self.assertIsNone(process.poll())
                process.kill()
                self.assertEqual(process.communicate()[0], "")
            self.assertEqual(daemon.stop(), 0, daemon.text)

    def snippet(self, language, where):
        """The README's only piece of this language, with another address."""
        text = (iqd.ROOT / "README.md").read_text(encoding="utf-8")
        pieces = re.findall(rf"^```{language}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
        self.assertEqual(len(pieces), 1)
        self.assertEqual(pieces[0].count('"tcp://127.0.0.1:5555"'), 1)
        return pieces[0].replace("tcp://127.0.0.1:5555", where)

    def test_readme(self):
        """The first pipeline is valid, and the program beside it prints the level of the simulated tone, 0.1."""
        where = iqd.endpoint()
        pipeline, program = self.folder / "first.yaml", self.folder / "first.py"
        pipeline.write_text(self.snippet("yaml", where), encoding="utf-8")
        program.write_text(self.snippet("python", where), encoding="utf-8")
        for command in ("check", "explain"):
            done = iqd.command(command, pipeline)
            self.assertEqual(done.returncode, 0, done.stderr)
        reader = self.start(sys.executable, "-u", program, env=WITH_PACKAGE)
        patience = threading.Timer(iqd.PATIENCE, reader.kill)
        patience.start()
        self.addCleanup(patience.cancel)
        with self.daemon(pipeline.read_text(encoding="utf-8"), "--wait-subscribers", 1) as daemon:
            lines = [reader.stdout.readline() for _ in range(10)]
            self.assertEqual(daemon.stop(), 0, daemon.text)
        for number, line in enumerate(lines):
            self.assertRegex(line, rf"^block {number}: \d+ magnitudes, mean 0\.100, \d+ samples lost before it$")
        self.assertIn(" 16384 magnitudes", lines[0])


if __name__ == "__main__":
    unittest.main()
