# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""Invariants of a stream at its reader, and of counters. Nothing here knows about faults, only about their permitted
effects: how often a stream may restart, and whether a reader may miss messages.

`report(invariant, detail)` is called for every violation.
"""

import collections
import json

import numpy as np

COHERENT = 0.999  # of a message's power in the expected tone; 16 bits at -20 dB lose 1e-8
TURN = 0.02  # radians; a sample too many or too few turns the tone by more


class Stream:
    """Messages of one port at one reader: places, gaps, and the phase of a tone.

    `frequency`: of the tone, whole Hz. `restarts()`: how often the stream may have restarted with sample 0 so far.
    `is_shared`: other readers get some of the messages (PUSH). `is_absolute`: the tone has phase 0 at sample 0.
    """

    def __init__(self, name, frequency, report, restarts=lambda: 0, is_shared=False, is_absolute=True):
        self.name, self.frequency, self._report, self._restarts = name, frequency, report, restarts
        self.is_shared, self.is_absolute = is_shared, is_absolute
        self.messages = self.samples = self.missing = self.missed = 0
        self.began_again = self.turns = 0
        self.turned = []  # phase changes: (sample, gap, by how much)
        self.out_of_place = []  # wrong phases: (invariant, detail)
        self.first = self.last = None  # headers
        self._end = 0
        self._phase = None
        self._table = np.zeros(0, np.complex128), 0.0

    def take(self, frames):
        try:
            meta, x = self._open(frames)
        except (ValueError, KeyError, TypeError, IndexError) as error:
            self._report("message", f"{self.name}: {error!r}: {bytes(frames[0])[:300]!r}")
            return
        self.messages += 1
        self.samples += len(x)
        if self.last is None:
            self.first = meta
        else:
            self._follow(meta)
        self._check_phase(meta, x)
        self.last, self._end = meta, meta["sample"] + len(x)

    @staticmethod
    def _open(frames):
        head, payload = frames
        meta = json.loads(bytes(head).split(b" ", 1)[1])
        x = np.frombuffer(payload, meta["dtype"]).reshape(meta["shape"])
        for key in ("seq", "sample", "gap", "dropped"):
            if meta[key] < 0:
                raise ValueError(f"{key} is negative")
        return meta, x[..., 0] + 1j * x[..., 1] if x.dtype == np.int16 else x

    def _follow(self, meta):
        """Checks that it continues the previous message."""
        before = self.last
        told = self._end + meta["gap"]
        goes_on = meta["sample"] == told if meta["seq"] == before["seq"] + 1 else meta["sample"] > self._end
        if (meta["seq"] <= before["seq"] or not goes_on) and self.began_again < self._restarts():
            self.began_again += 1
            self._phase = None
            return
        where = {key: (before[key], meta[key]) for key in ("seq", "sample", "gap", "dropped")}
        if meta["sample"] < self._end:
            self._report("positions go back", f"{self.name}: from {self._end}: {where}")
        elif meta["seq"] <= before["seq"]:
            self._report("seq goes back", f"{self.name}: {where}")
        elif meta["seq"] > before["seq"] + 1:
            self.missed += meta["seq"] - before["seq"] - 1
            if not self.is_shared:
                self._report("a fast reader misses messages", f"{self.name}: {where}")
        elif meta["sample"] != told:
            self._report("a hole that no gap reports", f"{self.name}: {self._end} + gap is not {meta['sample']}: {where}")
        elif meta["dropped"] - before["dropped"] != meta["gap"]:
            self._report("`dropped` is not the sum of gaps", f"{self.name}: {where}")
        self.missing += meta["gap"]

    def _check_phase(self, meta, x):
        if len(x) == 0:
            return
        rate = round(meta["sample_rate"])
        cycles = meta["sample"] * self.frequency % rate / rate
        tone = self._tone(len(x), rate)
        along = np.vdot(tone, x) / len(x)
        power = np.vdot(x, x).real / len(x)
        if power <= 0 or abs(along) ** 2 < COHERENT * power:
            self._is_out_of_place("the tone is broken within a message",
                                  f"{abs(along)**2 / max(power, 1e-30):.6f} of {len(x)} samples is in the tone: {meta}")
            return
        phase = np.angle(along * np.exp(-2j * np.pi * cycles))
        before, self._phase = self._phase, phase
        if before is None:
            if self.is_absolute and not self.began_again and abs(phase) > TURN:
                self._is_out_of_place("the tone has the wrong phase", f"turned by {phase:.4f} at the start: {meta}")
        elif abs(np.angle(np.exp(1j * (phase - before)))) > TURN:
            self.turns += 1
            self.turned.append((meta["sample"], meta["gap"], round(phase - before, 3)))
            if not meta["gap"] and not self.is_shared:
                self._is_out_of_place("the tone has the wrong phase", f"turned by {phase - before:.4f}: {meta}")

    def _is_out_of_place(self, invariant, detail):
        """Reported only once it is known whether it counts: not if a clock jumped while samples were lost."""
        self.out_of_place.append((invariant, f"{self.name}: {detail}"))

    def _tone(self, count, rate):
        table, of = self._table
        if len(table) < count or of != rate:
            table = np.exp(2j * np.pi * (np.arange(count) * self.frequency % rate / rate))
            self._table = table, rate
        return table[:count]


GROWING = ("published", "received", "lost", "blocks", "overflows", "late", "sequence_errors", "time_jumps", "stalls",
           "reconnects", "deadline_misses")
METRICS = {"iqd_samples_received_total": "received", "iqd_samples_published_total": "published",
           "iqd_samples_lost_total": "lost", "iqd_blocks_total": "blocks"}


class Sums:
    """Counters of all pipelines, at each look. `restarts()` as in Stream: a pipeline that restarts counts from 0. Once
    `stops()`, sinks close, and `published` may go back by what they lost after all, as in a final status."""

    def __init__(self, report, restarts=lambda: 0, stops=lambda: False):
        self._report, self._restarts, self._stops = report, restarts, stops
        self._before = {}
        self._metrics = {}
        self._over = collections.Counter()  # counts before the restarts of pipelines
        self.began_again = 0

    def look(self, status):
        for pipeline in status["pipelines"]:
            self._look(pipeline, status.get("final") or self._stops())

    def _look(self, now, final):
        name = now["name"]
        gone = sum(now["dropped"].values())
        if now["received"] != now["published"] + gone + now["in_flight"]:
            self._report("received = published + dropped + in flight", self._said(now))
        if min(now["in_flight"], now["published"], gone) < 0:
            self._report("counters are not negative", self._said(now))
        before = self._before.get(name)
        if before and now["received"] < before["received"] and self.began_again < self._restarts():
            self.began_again += 1
            self._over.update({key: before[key] for key in GROWING})
            self._metrics.pop(name, None)
            before = None
        if before:
            self._compare(before, now, GROWING[1:] if final else GROWING)
        self._before[name] = now

    def _compare(self, before, now, growing):
        for key in growing:
            if now[key] < before[key]:
                self._report("counters go back", f"{key}: {before[key]}, then {now[key]}: {self._said(now)}")
        for reason, count in now["dropped"].items():
            if count < before["dropped"].get(reason, 0):
                self._report("counters go back", f"dropped {reason}: {before['dropped'][reason]}, then {count}")
        for key, metric in self._metrics.pop(now["name"], {}).items():
            if key in growing and not before[key] <= metric <= now[key]:
                self._report("metrics agree with the status", f"{key}: {before[key]} <= {metric} <= {now[key]}")

    @staticmethod
    def _said(now):
        gone = {reason: count for reason, count in now["dropped"].items() if count}
        return ", ".join(f"{key} {now[key]}" for key in ("name", "state", "received", "published", "in_flight", "lost")
                         ) + f", dropped {gone}"

    def look_at_metrics(self, series):
        """Between two looks at the status: (name, labels) → value."""
        of = {}
        for (name, labels), value in series.items():
            pipeline = dict(labels).get("pipeline")
            if pipeline in self._before and name in METRICS:
                of.setdefault(pipeline, {})[METRICS[name]] = value
        self._metrics = of

    def total(self, key):
        """Sums over all pipelines, since the start."""
        return self._over[key] + sum(now[key] for now in self._before.values())

    def last(self, name):
        return self._before.get(name)

    def said(self, name):
        """The last look at a pipeline, as one line."""
        return self._said(self._before[name]) if name in self._before else "nothing"
