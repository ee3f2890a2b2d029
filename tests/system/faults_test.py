# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""Radios that overflow, lose samples, stall, jump in time, disconnect or hang; and a machine that is too slow."""

import random
import signal
import time
import unittest

import numpy as np

import iqd
from door import Door

RATE = 1e6


class Faults(iqd.SystemTest):
    def document(self, args, rate=RATE, block=4096, stages="", more="", port="source"):
        self.where = iqd.endpoint()
        self.subscriber = self.reader(self.where, "t")
        return (f"name: test\nsource: {{soapy: {{args: \"driver=iqdsim,{args}\", rate: {rate}}}}}\nblock: {block}\n"
                f"stages: [{stages}]\n{more}publish: [{{port: {port}, topic: t, bind: \"{self.where}\"}}]\n")

    def run_until(self, condition, text, seconds=iqd.PATIENCE):
        """Runs until a status satisfies `condition`; returns all messages and the final status."""
        messages = []
        with self.daemon(text, "--wait-subscribers", 1) as daemon:
            ends = time.monotonic() + seconds
            seen = 0
            while time.monotonic() < ends:
                messages += [m for m in [self.subscriber.receive(0.05)] if m]
                fresh, seen = daemon.statuses[seen:], len(daemon.statuses)
                if any(condition(s["pipelines"][0]) for s in fresh):
                    break
            else:
                self.fail(f"the condition was never met: {daemon.statuses[-1:]}\n{daemon.text}")
            daemon.signal()
            messages += self.subscriber.rest_of(daemon)
            self.assertEqual(daemon.wait(), 0, daemon.text)
            self.states = {s["pipelines"][0]["state"] for s in daemon.statuses}
            self.text = daemon.text
            return messages, daemon.final[0]

    def assertAccounted(self, messages, status):
        """The messages' samples and gaps agree with the counters, to the sample."""
        self.assertConserved(status)
        self.assertEqual([m.seq for m in messages], list(range(len(messages))))
        lengths = [m.x.shape[0] for m in messages]
        self.assertEqual(sum(lengths), status["published"])
        missing = messages[0].sample
        for before, after in zip(messages, messages[1:]):
            self.assertEqual(after.sample, before.sample + before.x.shape[0] + after.gap)
            missing += after.gap
            self.assertEqual(after.dropped, missing)
        self.assertLessEqual(missing, status["lost"] + sum(status["dropped"].values()))
        if not sum(status["dropped"].values()):
            self.assertLessEqual(status["lost"] - missing, 1_000_000)  # lost after the last message

    def assertTone(self, messages, rate=RATE):
        """Each sample is the tone's at the position in its header, through all gaps."""
        for m in messages:
            n = m.sample + np.arange(m.x.shape[0])
            self.assertLess(np.abs(m.samples - iqd.tone(n, rate / 8, rate)).max(), 1.01 / 32768, m.meta)

    def test_overflows(self):
        messages, status = self.run_until(lambda p: p["overflows"] >= 10,
                                          self.document("overflow_every=50000,overflow_lost=1234"))
        self.assertAccounted(messages, status)
        self.assertTone(messages)
        self.assertEqual({m.gap for m in messages}, {0, 1234})
        self.assertEqual(status["lost"], 1234 * status["overflows"])

    def test_losses_that_nobody_tells(self):
        messages, status = self.run_until(lambda p: p["lost"] >= 7770, self.document("lose_every=100000,lose=777"))
        self.assertAccounted(messages, status)
        self.assertTone(messages)
        self.assertEqual({m.gap for m in messages}, {0, 777})
        self.assertEqual((status["overflows"], status["lost"] % 777), (0, 0))

    def test_losses_and_short_reads_at_odd_sizes(self):
        messages, status = self.run_until(lambda p: p["lost"] >= 100, self.document(
            "lose_every=9973,lose=1,short_reads=true", block=1009))
        self.assertAccounted(messages, status)
        self.assertTone(messages)
        self.assertEqual({m.gap for m in messages}, {0, 1})

    def test_a_gap_longer_than_blocks(self):
        messages, status = self.run_until(lambda p: p["lost"] >= 200_000,
                                          self.document("lose_every=100000,lose=50001", block=3000))
        self.assertAccounted(messages, status)
        self.assertTone(messages)
        self.assertEqual({m.gap for m in messages}, {0, 50001})

    def test_gaps_longer_than_the_ring_drop_nothing(self):
        messages, status = self.run_until(lambda p: p["overflows"] >= 8, self.document(
            "overflow_every=10000,overflow_lost=200000", block=8192))
        self.assertAccounted(messages, status)
        self.assertTone(messages)
        self.assertEqual(status["lost"] % 200_000, 0)
        # The lanes have almost nothing to do, but other programs may delay them.
        self.assertLess(sum(status["dropped"].values()), 0.1 * status["received"], status)

    def test_a_filter_starts_anew_behind_a_gap(self):
        taps = np.hanning(65)[1:-1]
        messages, _ = self.run_until(lambda p: p["lost"] >= 3000, self.document(
            "lose_every=50000,lose=1000", stages=f"fir: {{taps: {taps.tolist()}}}", port="fir.out"))
        start = 0
        for m in messages:
            start = m.sample if m.gap or m.seq == 0 else start
            n = np.arange(start, m.sample + m.x.shape[0])
            x = np.round(iqd.tone(n, RATE / 8, RATE) * 32768) / 32768
            y = np.convolve(x, taps)[:len(x)][m.sample - start:]
            self.assertLess(np.abs(m.samples - y).max(), len(taps) / 32768)

    def test_a_stall(self):
        messages, status = self.run_until(lambda p: p["stalls"] >= 1 and p["state"] == "streaming",
                                          self.document("stall_at=0.2,stall_for=1.3"))
        self.assertAccounted(messages, status)
        self.assertTone(messages)
        self.assertIn("stalled", self.states)
        self.assertEqual((status["stalls"], status["reconnects"]), (1, 0))

    def check_jump(self, by):
        messages, status = self.run_until(lambda p: p["received"] > 1e6,
                                          self.document(f"jump_at=0.3,jump_by={by}"))
        self.assertAccounted(messages, status)
        self.assertTone(messages)
        self.assertEqual((status["time_jumps"], status["lost"], status["overflows"]), (1, 0, 0), self.text)
        first = messages[0]
        offsets = [m.time_ns - first.time_ns - (m.sample - first.sample) * 1000 for m in messages]
        self.assertEqual(offsets[0], 0)
        self.assertAlmostEqual(offsets[-1] / 1e9, by, delta=1e-6)

    def test_time_jumps_forward(self):
        self.check_jump(5)

    def test_time_jumps_by_a_second(self):
        self.check_jump(1)

    def test_time_jumps_by_less_than_a_loss_might_be(self):
        self.check_jump(0.3)

    def test_time_jumps_by_years(self):
        self.check_jump(1e9)

    def test_time_jumps_back(self):
        self.check_jump(-2)

    def test_unplugged_and_back(self):
        messages, status = self.run_until(lambda p: p["reconnects"] >= 1 and p["state"] == "streaming",
                                          self.document("disconnect_at=0.3,disconnect_for=0.5"))
        self.assertAccounted(messages, status)
        self.assertEqual(status["reconnects"], 1)
        gaps = [m.gap for m in messages if m.gap]
        self.assertEqual(len(gaps), 1, gaps)
        self.assertGreater(gaps[0], 0.5 * RATE)
        self.assertEqual(sum(status["dropped"].values()), 0, status)
        back = next(m for m in messages if m.gap)
        # The gap agrees with the clock.
        self.assertAlmostEqual((back.time_ns - messages[0].time_ns) * RATE / 1e9, back.sample, delta=2)

    def test_an_outage_costs_only_what_was_not_received(self):
        """Blocks that wait for what comes after them are complete when nothing does, and are published at once."""
        stages = "agc: {window: 60001, ahead: 30000}"
        text = self.document("disconnect_every=250000", block=256, stages=stages, port="agc.out",
                             more="reconnect: {first: 300 ms, longest: 300 ms}\n"
                                  "monitor: {listen: \"127.0.0.1:0\"}\n")
        messages, tails = [], set()
        with self.daemon(text, "--wait-subscribers", 1) as daemon:
            door = Door(daemon)
            ends = time.monotonic() + iqd.PATIENCE
            while (status := door.status())["reconnects"] < 6:
                self.assertLess(time.monotonic(), ends, daemon.text)
                if status["state"] == "reconnecting" and status["published"] == status["received"]:
                    tails.add(status["received"])
                messages += self.subscriber.rest(0.01)
            daemon.signal()
            messages += self.subscriber.rest_of(daemon)
            self.assertEqual(daemon.wait(), 0, daemon.text)
            status = daemon.final[0]
        self.assertAccounted(messages, status)
        if not iqd.SANITIZED:  # a sanitized build cannot keep up
            self.assertEqual(sum(status["dropped"].values()), 0, status)
            self.assertEqual(sum(m.gap for m in messages) + messages[0].sample, status["lost"])
            self.assertLessEqual(set(range(250_000, 1_500_001, 250_000)), tails, "the rest waited for the radio")

    def test_stopped_while_it_is_away(self):
        text = self.document("disconnect_at=0.1,disconnect_for=60")
        with self.daemon(text) as daemon:
            daemon.wait_for_log("cannot be opened again yet")
            began = time.monotonic()
            self.assertEqual(daemon.stop(), 0, daemon.text)
            self.assertLess(time.monotonic() - began, 5)
            self.assertConserved(daemon.final[0])

    def test_a_driver_that_hangs_ends_the_process(self):
        text = self.document("hang_at=0.2", more="realtime: {hang: 1.5 s}\n")
        with self.daemon(text) as daemon:
            self.assertEqual(daemon.wait(10), 1, daemon.text)
            self.assertLess(time.monotonic() - daemon.started, 6)
            self.assertIn("does not return", daemon.text)
            self.assertTrue(daemon.statuses[-1]["final"])

    def test_a_driver_that_hangs_when_it_is_first_opened_ends_the_process(self):
        more = "realtime: {hang: 1 s}\n"
        transmitter = "sinks: [{port: source, soapy: {args: 'driver=iqdsim,serial=TX,hang_open=stream'}}]\n"
        for text, who in ((self.document("hang_open=make", more=more), "the radio"),
                          (self.document("hang_open=stream", more=more), "the radio"),
                          (self.document("tx=0", more=more + transmitter), "the soapy sink")):
            with self.subTest(who), self.daemon(text) as daemon:
                self.assertEqual(daemon.wait(10), 1, daemon.text)
                self.assertTrue(1 < time.monotonic() - daemon.started < 6)
                self.assertIn(f"test: the call that opens {who} does not return; the limit is 1 s", daemon.text)

    def test_a_driver_that_hangs_in_a_reload_ends_the_process(self):
        text = self.document("tx=0", more="realtime: {hang: 1 s}\n")
        with self.daemon(text) as daemon:
            daemon.wait_for(lambda p: p["received"] > 0)
            (self.folder / "pipeline.yaml").write_text(text.replace("tx=0", "hang_open=make"), encoding="utf-8")
            daemon.signal(signal.SIGHUP)
            self.assertEqual(daemon.wait(10), 1, daemon.text)
            self.assertIn("test: the call that opens the radio does not return", daemon.text)

    def test_a_radio_that_hangs_when_it_is_first_opened_does_not_keep_a_stop_waiting(self):
        with self.daemon(self.document("hang_open=make")) as daemon:
            time.sleep(1)
            began = time.monotonic()
            self.assertEqual(daemon.stop(), 0, daemon.text)
            self.assertLess(time.monotonic() - began, 5)

    def test_a_hanging_driver_does_not_keep_a_stop_waiting(self):
        with self.daemon(self.document("hang_at=0.1")) as daemon:
            daemon.wait_for(lambda p: p["received"] > 0)
            time.sleep(0.3)
            began = time.monotonic()
            daemon.stop()
            self.assertLess(time.monotonic() - began, 5)
            self.assertConserved(daemon.final[0])

    def test_too_much_for_the_machine(self):
        """Samples come as fast as they can be read: blocks are dropped whole, counted, and reported, also at the end."""
        stages = [f"rotate: {{name: r{i}, frequency: 1 MHz}}" for i in range(64)]  # slower than the reader
        messages, status = self.run_until(lambda p: sum(p["dropped"].values()) > 1e6, self.document(
            "pace=false", block=2048, stages=", ".join([*stages, "fft: {size: 2048}", "complex_to_mag: {}"]),
            more="lanes: 1\n", port="complex_to_mag.out", rate=50e6))
        self.assertConserved(status)
        self.assertNotIn("does not stop", self.text)
        self.assertEqual([m.seq for m in messages], list(range(len(messages))))
        self.assertEqual(2048 * sum(m.x.shape[0] for m in messages if m.x.shape[0]), status["published"] // 2048 * 2048)
        for before, after in zip(messages, messages[1:]):
            self.assertEqual(after.sample, before.sample + 2048 * before.x.shape[0] + after.gap)
            self.assertEqual(after.gap % 2048, 0)

    def test_stopped_and_continued_at_random(self):
        chance = random.Random(7)
        text = self.document("lose_every=300000,lose=100", rate=4e6, block=8192)
        with self.daemon(text, "--wait-subscribers", 1) as daemon:
            messages = self.subscriber.take(3)
            for _ in range(6):
                daemon.signal(signal.SIGSTOP)
                time.sleep(chance.uniform(0.01, 0.5))
                daemon.signal(signal.SIGCONT)
                time.sleep(chance.uniform(0.002, 0.05))
                time.sleep(chance.uniform(0.01, 0.3))
                messages += [m for m in [self.subscriber.receive(1)] if m]
            daemon.signal()
            messages += self.subscriber.rest_of(daemon)
            self.assertEqual(daemon.wait(), 0, daemon.text)
            self.assertAccounted(messages, daemon.final[0])
            self.assertGreater(daemon.final[0]["lost"], 0)
        self.assertTone(messages, 4e6)


if __name__ == "__main__":
    unittest.main()
