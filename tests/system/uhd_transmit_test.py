# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""A simulated USRP that transmits: what is permitted, when it is on, and that it is off when no samples come.

Skips, with 77, without network namespaces or Debian's simulator.
"""

import signal
import time

import numpy as np

import iqd
import uhd_case
import uhd_sim
from uhd_case import numbered

GAIN = 20


class Transmit(uhd_case.UhdCase):
    def setUp(self):
        super().setUp()
        self.sim = self.simulator(clock=True)
        self.sim.start()

    def sink(self, keys=""):
        return (f"sinks: [{{port: source, uhd: {{args: \"{uhd_sim.ARGS}\", frequency: 868.5 MHz, gain: {GAIN}"
                f"{keys}}}}}]\n")

    def generator(self, keys="", more=""):
        return (f"name: test\nsource: {{generate: {{rate: 1 MS/s, pace: true{more}}}}}\nblock: 16384\nstages: []\n"
                + self.sink(keys))

    def gains(self):
        """The transmit gains that were set, in order, without repetitions."""
        gains = [float(call[-1]) for call in self.sim.calls if call[0] == "set_gain" and call[1].startswith("TX")]
        return [g for n, g in enumerate(gains) if n == 0 or g != gains[n - 1]]

    def assertOff(self, seconds=iqd.PATIENCE):
        """The last gain is the lowest, and nothing is sent."""
        ends = time.monotonic() + seconds
        while self.gains()[-1:] != [0.0] and time.monotonic() < ends:
            time.sleep(0.02)
        self.assertEqual(self.gains()[-1], 0.0)
        self.assertSilent()

    def assertSilent(self):
        time.sleep(0.3)
        size = self.sent()
        time.sleep(0.5)
        self.assertEqual(self.sent(), size)

    def sent(self):
        """Bytes sent since the simulator was started."""
        return self.sim.transmitted.stat().st_size if self.sim.transmitted.exists() else 0

    def await_samples(self, samples=50_000):
        before = self.sent()
        ends = time.monotonic() + iqd.PATIENCE
        while time.monotonic() < ends:
            before = min(before, self.sent())  # a reopened stream starts a new file
            if self.sent() > before + 4 * samples:
                return
            time.sleep(0.02)
        self.fail(f"nothing is sent\n{self.sim.log}")

    def on_air(self, daemon):
        return [r["value"] for radio in (daemon.statuses or [{"radios": []}])[-1]["radios"] for r in radio["readings"]
                if r["reading"] == "on_air"]

    def test_it_is_off_before_and_after(self):
        with self.daemon(self.generator()) as daemon:
            self.await_samples()
            self.assertEqual(self.gains(), [0.0, GAIN])
            deadline = time.monotonic() + iqd.PATIENCE
            while self.on_air(daemon) != [1.0] and time.monotonic() < deadline:
                time.sleep(0.1)
            self.assertEqual(self.on_air(daemon), [1.0])
            self.assertEqual(daemon.stop(), 0, daemon.text)
        self.assertEqual(self.gains(), [0.0, GAIN, 0.0])
        self.assertOff()

    def test_it_goes_off_where_the_pipeline_hangs_and_on_again(self):
        where = iqd.endpoint()
        text = (f"name: test\nsource: {{zmq: {{kind: pull, bind: \"{where}\", rate: 1 MS/s, element: sc16}}}}\n"
                f"block: 16384\nstages: []\n{self.sink()}")
        feed = (f"name: feed\nsource: {{generate: {{rate: 1 MS/s, pace: true}}}}\nblock: 16384\n"
                f"stages: [{{convert: {{dtype: sc16}}}}]\n"
                f"publish: [{{port: convert.out, topic: t, kind: push, connect: \"{where}\"}}]\n")
        with self.daemon(text) as daemon:
            with self.daemon(feed, name="feed.yaml") as fed:
                self.await_samples()
                fed.signal(signal.SIGSTOP)  # the program that makes the samples hangs
                self.assertOff()
                fed.signal(signal.SIGCONT)
                self.await_samples()
            self.assertOff()
            self.assertEqual(daemon.stop(), 0, daemon.text)
        self.assertEqual(self.gains()[:4], [0.0, GAIN, 0.0, GAIN])

    def test_killed_it_sends_no_more(self):
        with self.daemon(self.generator()) as daemon:
            self.await_samples()
            daemon.signal(signal.SIGKILL)
            daemon.wait()
        self.assertSilent()
        self.assertEqual(self.gains()[-1], GAIN, "a killed process cannot reset it")
        seen = len(self.sim.calls)
        time.sleep(6)  # the device stays claimed for this long after the kill
        with self.daemon(self.generator()) as daemon:
            self.await_samples()
            calls = self.sim.calls[seen:]
            self.assertEqual(daemon.stop(), 0, daemon.text)
        levels = [n for n, call in enumerate(calls) if call[0] == "set_gain" and call[1].startswith("TX")]
        tuned = [n for n, call in enumerate(calls) if call[0] == "catalina_tune"]
        self.assertEqual(float(calls[levels[0]][-1]), 0.0)
        self.assertLess(levels[0], tuned[-1], "it must be off before it is tuned")
        self.assertGreater(next(n for n in levels if float(calls[n][-1]) == GAIN), tuned[-1])

    def test_unplugged_it_is_opened_again(self):
        with self.daemon(self.generator()) as daemon:
            self.await_samples()
            self.sim.kill()
            daemon.wait_for_log("; reopening")
            before = len(self.sim.calls)
            self.sim.start()
            daemon.wait_for_log("uhd sink: open again")
            self.await_samples()
            status = daemon.statuses[-1]["pipelines"][0]
            self.assertGreater(status["ports"][0]["refused"], 0)
            self.assertEqual(daemon.stop(), 0, daemon.text)
        self.assertConserved(daemon.final[0])
        again = [float(call[-1]) for call in self.sim.calls[before:] if call[0] == "set_gain" and call[1].startswith("TX")]
        self.assertEqual((again[0], again[-1]), (0.0, 0.0))
        self.assertIn(GAIN, again)

    def test_a_radio_that_receives_and_transmits_comes_back_whole(self):
        where = iqd.endpoint()
        text = (f"name: test\nsource: {{uhd: {{args: \"{uhd_sim.ARGS}\", rate: 1 MS/s, frequency: 868.5 MHz}}}}\n"
                f"block: 16384\nlanes: 16\nstages: []\npublish: [{{port: source, topic: t, bind: \"{where}\"}}]\n"
                f"{self.sink()}")
        with self.daemon(text) as daemon:
            self.await_samples()
            self.sim.kill()
            daemon.wait_for(lambda p: p["state"] == "reconnecting")
            self.sim.start()
            back = time.monotonic()
            daemon.wait_for(lambda p: p["reconnects"] == 1 and p["state"] == "streaming")
            # UHD's own calls to the radio that is gone time out after 2 and 10 s.
            self.assertLess(time.monotonic() - back, 30, daemon.text)
            self.await_samples()
            self.assertEqual(daemon.stop(), 0, daemon.text)
        self.assertConserved(daemon.final[0])

    def test_what_is_not_permitted_is_refused_before_it_is_opened(self):
        self.sim.kill()
        for keys, says in (
                ("permitted_bands: [2.4 GHz, 2.4835 GHz]", r"frequency: needs 868 to 869 MHz.*2400 to 2483\.5 MHz"),
                ("permitted_bands: [868 MHz, 868.6 MHz]", r"frequency: needs 868 to 869 MHz"),
                ("permitted_bands: [868 MHz, 870 MHz], permitted_gains: [10 dB]",
                 r"gain: of 20 dB is above the limit of 10 dB"),
                ("permitted_powers: [10]", r"power: is required"),
                ("power: 10", r"power: also sets the gain")):
            self.assertRegex(self.refused(self.generator(", " + keys), code=2), r"sinks\[0\]\.uhd\." + says)

    def test_what_is_permitted_is_sent(self):
        with self.daemon(self.generator(f", permitted_bands: [868 MHz, 869 MHz], permitted_gains: [{GAIN} dB]")):
            self.await_samples()

    def test_power_needs_a_calibrated_radio(self):
        text = self.generator().replace(f"gain: {GAIN}", "power: 10")
        self.assertRegex(self.refused(text), r"not calibrated for `power`; use `gain`")

    def test_each_message_may_be_a_burst(self):
        count = 20 * uhd_sim.PACKET_SAMPLES
        sent = numbered(np.arange(5 * count))
        recording = iqd.write_recording(self.folder / "sent", sent, rate=1e6)
        done = iqd.command("run", self.write(
            f"name: test\nsource: {{file: {{path: \"{recording}\"}}}}\nblock: {count}\nstages: []\n"
            + self.sink(", bursts: message, timed: true, delay: 100 ms")), "--status", "json")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(np.fromfile(self.sim.transmitted, "<i2").reshape(-1, 2).tolist(), sent.tolist(),
                         "the last packet of each message must end its burst, and nothing may be added")


if __name__ == "__main__":
    uhd_case.main()
