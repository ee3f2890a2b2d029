# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""SoapySDRServer serves the simulated radio, and iqd reads it over the network: at high rates, and with a server that
dies, hangs and comes back. Label `speed`: the server cannot load a module that was built with a sanitizer.
"""

import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import time
import unittest

import numpy as np

import iqd

SERVER = shutil.which("SoapySDRServer")
NOAVAHI = os.environ.get("IQD_NOAVAHI", str(iqd.ROOT / "build" / "release" / "tests" / "system" / "libnoavahi.so"))
MODULES = pathlib.Path(iqd.IQD).parent / "soapy"
TONE = 123_457  # at 10 MS/s its phase does not repeat within ten million samples


@unittest.skipIf(SERVER is None, "NOT TESTED: SoapySDRServer (soapyremote-server) is not installed")
class SoapyRemote(iqd.SystemTest):
    def setUp(self):
        super().setUp()
        self.port = iqd.free_port()
        self.server = None
        self.addCleanup(self.end_server)

    def start_server(self):
        """Starts it, and waits until it listens."""
        environment = {**os.environ, "SOAPY_SDR_PLUGIN_PATH": str(MODULES), "LD_PRELOAD": NOAVAHI}
        with (self.folder / "server.log").open("a", encoding="utf-8") as log:
            self.server = subprocess.Popen([SERVER, f"--bind=127.0.0.1:{self.port}"], stdout=log, stderr=log,
                                           env=environment)
        ends = time.monotonic() + iqd.PATIENCE
        while time.monotonic() < ends and self.server.poll() is None:
            with socket.socket() as s:
                if s.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            time.sleep(0.02)
        self.fail((self.folder / "server.log").read_text(encoding="utf-8"))

    def end_server(self):
        if self.server:
            self.server.kill()
            self.server.wait()

    def document(self, rate, protocol="tcp", args="", channels=(0,), block=65536, more=""):
        self.where = iqd.endpoint()
        self.subscriber = self.reader(self.where, "t")
        return (f"source:\n  soapy:\n    args: \"driver=remote,remote=tcp://127.0.0.1:{self.port},remote:driver=iqdsim,"
                f"frequency={TONE}{args}\"\n    rate: {rate}\n    channels: {list(channels)}\n"
                f"    stream_args: {{\"remote:prot\": {protocol}}}\nblock: {block}\n{more}"
                f"publish: [{{port: source, topic: t, bind: \"{self.where}\"}}]\n")

    def assertExact(self, messages, rate, channels=1):
        """Each sample is the tone's at its position. The radio may have run before the first read."""
        first = messages[0]
        x = first.samples.reshape(channels, -1)
        phase = np.angle(np.sum(x[0] * np.conj(iqd.tone(first.sample + np.arange(x.shape[1]), TONE, rate))))
        for m in messages:
            n = m.sample + np.arange(m.x.shape[m.dims.index("n")])
            for c, row in enumerate(m.samples.reshape(channels, -1)):
                ideal = iqd.tone(n, TONE, rate, c) * np.exp(1j * phase)
                self.assertLess(np.abs(row - ideal).max(), 2 / 32768, m.meta)

    def check_stream(self, rate, seconds, channels=(0,)):
        self.start_server()
        messages = []
        with self.daemon(self.document(rate, channels=channels), "--wait-subscribers", 1) as daemon:
            while len(messages) * 65536 < seconds * rate:
                messages += self.subscriber.take(1)
            daemon.signal()
            messages += self.subscriber.rest_of(daemon)
            self.assertEqual(daemon.wait(), 0, daemon.text)
            status = daemon.final[0]
        self.assertConserved(status)
        self.assertContinuous(messages)
        self.assertEqual((status["lost"], status["overflows"], sum(status["dropped"].values())), (0, 0, 0), status)
        self.assertExact(messages, rate, len(channels))

    def test_ten_million_samples_a_second(self):
        self.check_stream(10e6, 3)

    def test_four_channels(self):
        self.check_stream(2e6, 1, (0, 1, 2, 3))

    def check_recorded(self, path, rate, first, count, places):
        """Checks `places` pieces of `count` samples from `first` on: they are the tone, with the phase of the start."""
        x = np.memmap(path, np.int16, "r").reshape(-1, 4, 2)
        length = 10_000
        if self.phase is None:
            self.phase = np.angle(np.vdot(iqd.tone(np.arange(length), TONE, rate), iqd.to_complex(x[:length, 0])))
        for place in np.linspace(first, first + count - length, places).astype(int):
            n = np.arange(place, place + length)
            for c in range(4):
                ideal = iqd.tone(n, TONE, rate, c) * np.exp(1j * self.phase)
                self.assertLess(np.abs(iqd.to_complex(x[place:place + length, c]) - ideal).max(), 2 / 32768, place)

    def check_and_release(self, daemon, path, rate, seconds):
        """Checks the recording as it grows, in pieces of 1 s, and frees their disk space. Meanwhile the file accepts no
        data: with pieces of 10 s, the memory buffer would overflow."""
        piece = int(rate)
        for first in range(0, int(seconds * rate), piece):
            daemon.wait_for(lambda p, end=first + piece: p["received"] >= end + rate, iqd.PATIENCE + 20)
            self.check_recorded(path, rate, first, piece, 5)
            subprocess.run(["fallocate", "--punch-hole", "--offset", str(first * 16), "--length", str(piece * 16), path],
                           check=True)

    def test_four_channels_recorded(self):
        """A recording without a gap; with IQD_SOAK_SECONDS at 4 x 10 MS/s: 160 MB a second in IQD_SOAK_FOLDER."""
        soak = float(os.environ.get("IQD_SOAK_SECONDS", 0))
        rate, seconds = (10e6, soak) if soak else (2e6, 2)
        stem = pathlib.Path(os.environ.get("IQD_SOAK_FOLDER", self.folder)) / "remote"
        data = stem.with_suffix(".sigmf-data")
        for old in stem.parent.glob("remote.sigmf-*"):
            old.unlink()
        self.phase = None
        self.start_server()
        text = self.document(rate, channels=(0, 1, 2, 3)).partition("publish:")[0]
        text += f"sinks: [{{port: source, file: {{path: {stem}}}}}]\n"
        with self.daemon(text) as daemon:
            if soak:
                self.check_and_release(daemon, data, rate, seconds)
            daemon.wait_for(lambda p: p["received"] >= seconds * rate, iqd.PATIENCE + 2 * seconds)
            self.assertEqual(daemon.stop(), 0, daemon.text)
            status = daemon.final[0]
        self.assertConserved(status)
        self.assertEqual((status["lost"], status["overflows"], sum(status["dropped"].values())), (0, 0, 0), status)
        meta = json.loads(stem.with_suffix(".sigmf-meta").read_text(encoding="utf-8"))
        self.assertEqual(len(meta["captures"]), 1, "a gap would start another capture")
        self.assertEqual(data.stat().st_size, status["received"] * 16)
        if soak:
            print(f"{status['received'] / rate:.0f} s of 4 x {rate / 1e6:.0f} MS/s without a gap")
            data.unlink()
        else:
            self.check_recorded(data, rate, 0, status["received"], 50)

    def check_killed(self, protocol):
        """The server is killed while samples flow: iqd logs it, waits, and streams soon after the server is back."""
        self.start_server()
        rate = 2e6
        with self.daemon(self.document(rate, protocol, block=20_000), "--wait-subscribers", 1) as daemon:
            messages = self.subscriber.take(20)
            self.end_server()
            daemon.wait_for(lambda p: p["state"] != "streaming")
            messages += self.subscriber.rest()
            self.start_server()
            back = time.monotonic()
            messages += self.subscriber.take(1)
            self.assertLess(time.monotonic() - back, 20)  # pauses grow: 1, 2, 4, 8 s
            messages += self.subscriber.take(20)
            daemon.signal()
            messages += self.subscriber.rest_of(daemon)
            self.assertEqual(daemon.wait(), 0, daemon.text)
            status = daemon.final[0]
        self.assertConserved(status)
        self.assertGreaterEqual(status["reconnects"], 1)
        self.assertContinuous(messages, lossless=False)
        gaps = [i for i, m in enumerate(messages) if m.gap]
        self.assertEqual(len(gaps), 1, ([m.gap for m in messages], status, daemon.text[-2000:]))
        self.assertExact(messages[:gaps[0]], rate)
        self.assertExact(messages[gaps[0]:], rate)

    def test_server_killed_tcp(self):
        self.check_killed("tcp")

    def test_server_killed_udp(self):
        self.check_killed("udp")

    def test_server_that_hangs(self):
        """Calls to the server hang, so the process exits to be restarted; the next process streams."""
        self.start_server()
        text = self.document(2e6, block=20_000, more="realtime: {hang: 2 s}\n")
        with self.daemon(text, "--wait-subscribers", 1) as daemon:
            self.subscriber.take(5)
            self.server.send_signal(signal.SIGSTOP)
            self.assertEqual(daemon.wait(20), 1, daemon.text)
            self.assertIn("does not return", daemon.text)
        self.end_server()
        self.start_server()
        with self.daemon(text, "--wait-subscribers", 1) as daemon:
            messages = self.subscriber.take(20)
            self.assertLess(time.monotonic() - daemon.started, 10)
            self.assertEqual(daemon.stop(), 0, daemon.text)
        start = [i for i, m in enumerate(messages) if m.seq == 0][-1]
        self.assertExact(messages[start:], 2e6)


if __name__ == "__main__":
    unittest.main()
