# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""Checks that the chaos test notices violations: streams and counters that are wrong on purpose. And a seed must always
give the same schedule."""

import json
import pathlib
import random
import unittest

import numpy as np

import schedule
import trial
from invariants import Stream, Sums

RATE, TONE = 1_000_000, 123_457


def message(seq, sample, count=1000, gap=0, dropped=0, at=None, phase=0.0, kind="<i2"):
    """A message at `sample` with the tone as it is at `at`."""
    n = (sample if at is None else at) + np.arange(count)
    x = 3276.8 * np.exp(2j * np.pi * (n * TONE % RATE) / RATE + 1j * phase)
    if kind == "<i2":
        x = np.round(np.stack([x.real, x.imag], axis=-1)).astype(np.int16)
    else:
        x = x.astype(np.complex64)
    head = {"seq": seq, "sample": sample, "gap": gap, "dropped": dropped, "dtype": kind, "shape": x.shape,
            "sample_rate": float(RATE)}
    return [b"t " + json.dumps(head).encode(), x.tobytes()]


def pipeline(received=0, published=0, refused=0, in_flight=0, **more):
    counters = dict.fromkeys(("lost", "blocks", "overflows", "late", "sequence_errors", "time_jumps", "stalls", "reconnects",
                              "deadline_misses"), 0)
    return {"pipelines": [{"name": "main", "state": "streaming", "received": received, "published": published,
                           "dropped": {"refused": refused, "lanes": 0}, "in_flight": in_flight, **counters, **more}]}


class Invariants(unittest.TestCase):
    def setUp(self):
        self.broken = []
        self.restarts = 0
        self.stream = self.of()
        self.sums = Sums(self.report, lambda: self.restarts)

    def report(self, invariant, detail):
        self.broken.append(invariant)

    def of(self, **options):
        return Stream("t", TONE, self.report, lambda: self.restarts, **options)

    def take(self, *messages, stream=None):
        stream = stream or self.stream
        for m in messages:
            stream.take(m)
        return self.broken + [invariant for invariant, _ in stream.out_of_place]

    def test_a_stream_that_is_well(self):
        self.assertEqual(self.take(message(0, 0), message(1, 1000, 17), message(2, 1117, gap=100, dropped=100),
                                   message(3, 2117, dropped=100, kind="<c8")), [])
        self.assertEqual((self.stream.samples, self.stream.missing, self.stream.turns), (3017, 100, 0))

    def test_a_hole(self):
        self.assertEqual(self.take(message(0, 0), message(1, 1001)), ["a hole that no gap reports"])

    def test_a_gap_that_is_too_long_for_what_is_missing(self):
        self.assertEqual(self.take(message(0, 0), message(1, 1100, gap=100, dropped=100, at=1099)),
                         [])  # unknown for a single gap: the radio may have been opened again
        self.assertEqual(self.stream.turns, 1)

    def test_a_sample_too_few_without_a_gap(self):
        self.assertEqual(self.take(message(0, 0), message(1, 1000, at=1001)), ["the tone has the wrong phase"])

    def test_a_stream_that_does_not_begin_with_its_beginning(self):
        self.assertEqual(self.take(message(0, 0, at=5)), ["the tone has the wrong phase"])
        self.assertEqual(self.take(message(0, 0, at=5), stream=self.of(is_absolute=False)), [])

    def test_samples_exchanged_within_a_message(self):
        whole, other = message(0, 0), message(0, 0, at=7)
        whole[1] = whole[1][:2000] + other[1][2000:]
        self.assertEqual(self.take(whole), ["the tone is broken within a message"])

    def test_positions_and_seq_that_go_back(self):
        self.assertEqual(self.take(message(0, 0), message(1, 500)), ["positions go back"])
        self.broken.clear()
        self.assertEqual(self.take(message(5, 5000), message(5, 6000), stream=self.of()), ["seq goes back"])

    def test_messages_that_are_missing(self):
        self.assertEqual(self.take(message(0, 0), message(2, 2000)), ["a fast reader misses messages"])
        shared = self.of(is_shared=True)
        self.take(message(0, 0), message(2, 2000), stream=shared)
        self.assertEqual(self.broken, ["a fast reader misses messages"])

    def test_dropped_that_counts_what_others_lost(self):
        self.assertEqual(self.take(message(0, 0), message(1, 1000, dropped=7)), ["`dropped` is not the sum of gaps"])

    def test_no_messages(self):
        self.assertEqual(self.take([b"t {}", b""], [b"t", b""], [b"t {", b"x"]), 3 * ["message"])

    def test_one_restart_is_one(self):
        self.restarts = 1
        self.assertEqual(self.take(message(0, 0), message(1, 1000), message(0, 0, phase=1)), [])
        self.assertEqual(self.take(message(0, 0, phase=1)), ["positions go back"])

    def test_sums(self):
        self.sums.look(pipeline(100, 60, 30, 10))
        self.sums.look(pipeline(200, 160, 30, 10))
        self.assertEqual(self.broken, [])
        self.sums.look(pipeline(300, 260, 30, 11))
        self.assertEqual(self.broken, ["received = published + dropped + in flight"])

    def test_counters_that_go_back(self):
        self.sums.look(pipeline(100, 60, 30, 10))
        self.sums.look(pipeline(100, 70, 20, 10))
        self.assertEqual(self.broken, ["counters go back"])
        self.sums.look(pipeline(10, 10, 0, 0))
        self.assertEqual(self.broken, 4 * ["counters go back"])

    def test_what_a_closing_sink_lost(self):
        sums = Sums(self.report, stops=lambda: True)
        sums.look(pipeline(100, 100))
        sums.look(pipeline(110, 60, 50))
        self.assertEqual(self.broken, [])
        sums.look(pipeline(100, 60, 40))
        self.assertEqual(self.broken, 2 * ["counters go back"])

    def test_a_pipeline_that_begins_again(self):
        self.restarts = 1
        self.sums.look(pipeline(100, 100, reconnects=3))
        self.sums.look(pipeline(10, 10, reconnects=1))
        self.assertEqual((self.broken, self.sums.total("reconnects")), ([], 4))

    def test_metrics_between_two_looks(self):
        for value, broken in ((150, []), (99, ["metrics agree with the status"])):
            sums = Sums(self.report)
            sums.look(pipeline(100, 100))
            sums.look_at_metrics({("iqd_samples_received_total", frozenset({("pipeline", "main")})): value})
            sums.look(pipeline(200, 200))
            self.assertEqual(self.broken, broken)


class Seeds(unittest.TestCase):
    @staticmethod
    def drawn(seed):
        one = trial.Trial(seed, trial.Options())
        one.folder = pathlib.Path("/nowhere")
        one._draw()
        return one

    def test_a_seed_means_the_same_each_time(self):
        for seed in range(50):
            random.seed(time_of_day := seed * 7 + 1)
            first = self.drawn(seed).schedule()
            random.seed(time_of_day + 1)
            self.assertEqual(first, self.drawn(seed).schedule())

    def test_every_fault_is_drawn(self):
        drawn = {entry.name for seed in range(400) for entry in self.drawn(seed).entries}
        self.assertEqual(drawn, set(schedule.FAULTS))


if __name__ == "__main__":
    unittest.main()
