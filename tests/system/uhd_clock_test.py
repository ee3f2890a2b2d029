# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""A simulated USRP with a clock, external references and sensors; and two USRPs as one radio.

Skips, with 77, without network namespaces or Debian's simulator.
"""

import json
import signal
import time
import urllib.request

import iqd
import uhd_case
import uhd_sim
from uhd_case import number_of

SECOND = 1_000_000_000


class Clock(uhd_case.UhdCase):
    def setUp(self):
        super().setUp()
        self.sim = self.simulator(clock=True)

    def locks(self, status):
        """`reference of board 0` → whether it is locked."""
        return {f"{lock['lock']} of {lock['of']}": lock["locked"] for lock in status["radios"][0]["locks"]}

    def check_times(self, messages):
        """The times are the radio's, advance with the samples, and are the time of day."""
        self.assertEqual({m.meta["time"] for m in messages}, {"radio"})
        self.assertContinuous(messages)
        self.assertTimed(messages, tolerance_ns=1000)
        self.assertLess(abs(messages[0].time_ns / SECOND - time.time()), 60)

    def run_for(self, text, samples=500_000):
        with self.daemon(text, "--wait-subscribers", 1) as daemon:
            messages = self.read_while(daemon, lambda p: p["received"] > samples)
            rest, status = self.stop(daemon)
        self.log = daemon.text
        self.assertEqual((status["lost"], status["time_jumps"]), (0, 0), daemon.text)
        self.assertAccounted(messages + rest, status)
        return messages + rest

    def test_its_clock_is_set_to_the_hosts(self):
        self.sim.start()
        messages = self.run_for(self.document(rate=2e6))  # not the default rate: the time is set after the rate
        self.check_times(messages)
        self.assertLess(abs(messages[0].time_ns / SECOND - (time.time() - 3)), 10)

    def test_it_starts_at_a_full_second_of_a_pulse(self):
        self.sim.start()
        keys = ", clock_source: external, time_source: external, start: second"
        messages = self.run_for(self.document(keys=keys))
        self.check_times(messages)
        self.assertEqual(messages[0].time_ns % SECOND, 0)

    def test_a_gps_tells_the_second(self):
        self.sim.start()
        messages = self.run_for(self.document(keys=", clock_source: gpsdo, time_source: gpsdo, start: second"))
        self.check_times(messages)
        self.assertEqual(messages[0].time_ns % SECOND, 0)

    def test_what_is_not_as_asked_keeps_it_from_starting(self):
        self.sim.start()
        outside = ", lock_within: 0.3, clock_source: external, time_source: external"
        for what, keys, says in (
                ("reference", outside, r"board 0 did not lock to its 10 MHz reference.*within 0\.3 s"),
                ("pps", outside, r"set the time at the pulse of `time_source`.*PPS"),
                ("gps", ", lock_within: 0.3, time_source: gpsdo", r"board 0 did not get a GPS fix"),
                ("lo", ", lock_within: 0.3", r"oscillator of receive channel 0 does not lock at 1000 MHz")):
            self.sim.unlock(what)
            self.assertRegex(self.refused(self.document(keys=keys)), says)
        self.sim.unlock()
        self.assertRegex(self.refused(self.document(rate=100e6)), r"asked for 100000000 samples.*the radio grants 61440000")
        self.assertRegex(self.refused(self.document(keys=", gain_profile: loud")), r"no gain profile 'loud'.*default")

    def test_locks_are_shown_and_told(self):
        self.sim.start()
        port = iqd.free_port()
        text = self.document(keys=", clock_source: external, time_source: external, gain_profile: default, "
                                  "subdev: \"A:0 A:1\", lo_offset: 2 MHz, bandwidth: 20 MHz, antenna: TX/RX")
        held = {"reference of board 0": True, "pps of board 0": True, "lo of rx 0": True}
        with self.daemon(text + f"monitor: {{listen: \"127.0.0.1:{port}\"}}\n", "--wait-subscribers", 1) as daemon:
            self.read_until(daemon, lambda s: s["radios"] and self.locks(s) == held)
            self.sim.unlock("reference", "pps")
            self.read_until(daemon, lambda s: self.locks(s) == {**held, "reference of board 0": False,
                                                                "pps of board 0": False})
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=5) as answer:
                metrics = answer.read().decode()
            self.sim.unlock()
            self.read_until(daemon, lambda s: self.locks(s) == held)
            radio = daemon.statuses[-1]["radios"][0]
            self.stop(daemon)
        labels = f'driver="uhd",args="{uhd_sim.ARGS}"'
        self.assertIn(f'iqd_radio_lock{{{labels},lock="reference",of="board 0"}} 0\n', metrics)
        self.assertIn(f'iqd_radio_lock{{{labels},lock="lo",of="rx 0"}} 1\n', metrics)
        self.assertIn(f'iqd_radio_reading{{{labels},reading="temp",of="board 0"}} 41.5\n', metrics)
        self.assertIn(f'iqd_radio_info{{{labels},product="e320",serial="{uhd_sim.SERIAL}",firmware="4.2",fpga=""}} 1\n',
                      metrics)
        self.assertEqual((radio["facts"]["product"], radio["facts"]["firmware"]), ("e320", "4.2"))
        for what in ("reference", "pps"):
            self.assertEqual(daemon.text.count(f"{what} of board 0 is not locked"), 1, daemon.text)
            self.assertEqual(daemon.text.count(f"{what} of board 0 is locked again"), 1, daemon.text)
        self.assertIn(f"e320 {uhd_sim.SERIAL}, firmware 4.2", daemon.text)

    def test_two_boards_are_one_array(self):
        second = self.simulator(clock=True, board=1)
        self.sim.start()
        second.start()
        keys = ", channels: [0, 2], clock_source: external, time_source: external, start: second"
        text = self.document(args=uhd_sim.ARRAY_ARGS, keys=keys)
        with self.daemon(text, "--wait-subscribers", 1) as daemon:
            messages = self.read_while(daemon, lambda p: p["received"] > 500_000)
            self.write(text.replace("1 GHz", "1.1 GHz"))
            daemon.signal(signal.SIGHUP)
            daemon.wait_for_log("source.frequency")
            second.unlock("lo")
            messages += self.read_until(daemon, lambda s: self.locks(s) == {
                "reference of board 0": True, "pps of board 0": True, "reference of board 1": True,
                "pps of board 1": True, "lo of rx 0": True, "lo of rx 2": False})
            serials = daemon.statuses[-1]["radios"][0]["facts"]["serial"]
            rest, status = self.stop(daemon)
        messages += rest
        self.assertEqual(status["lost"], 0, daemon.text)
        self.check_times(messages)
        self.assertEqual(messages[0].time_ns % SECOND, 0)
        for m in messages:
            self.assertEqual(number_of(m.x[0, 0]), number_of(m.x[1, 0]))
        self.assertNumbered(messages, 0)
        self.assertNumbered(messages, 1)
        for sim in (self.sim, second):
            self.assertIn(1.1e9, [float(call[-1]) for call in sim.calls if call[0] == "catalina_tune"])
        self.assertEqual(serials.split(", "), [uhd_sim.SERIAL, uhd_sim.SERIAL[:-1] + "8"])
        second.kill()
        self.assertRegex(self.refused(text), r"uhd 'addr0=")

    def test_a_recording_says_which_radio_it_was(self):
        self.sim.start()
        done = iqd.command("run", self.write(
            f"name: test\nsource: {{uhd: {{args: \"{uhd_sim.ARGS}\", rate: 1 MS/s, frequency: 1 GHz}}}}\n"
            f"block: 65536\nstages: []\nsinks: [{{port: source, file: {{path: \"{self.folder}/x.sigmf-meta\"}}}}]\n"),
            "--seconds", 1)
        self.assertEqual(done.returncode, 0, done.stderr)
        meta = json.loads((self.folder / "x.sigmf-meta").read_text(encoding="utf-8"))
        self.assertEqual(meta["global"]["core:hw"], f"e320 {uhd_sim.SERIAL}, firmware 4.2")


if __name__ == "__main__":
    uhd_case.main()
