# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""Predistortion that learns while it sends: the shipped pipelines start untrained, train, and refuse unusable captures.
They run at a two-hundredth of their rates, so that any machine keeps up."""

import contextlib
import re
import signal
import threading
import time
import unittest

import numpy as np

import aph_model as model
import iqd
from door import Door

ADDRESS = "tcp://127.0.0.1:5555"
SLOWER = 200
PERIOD = 245760  # samples of the test waveform at any such rate
CLIP = 0.77
LEVELS = ("carrier", "adjacent_low", "adjacent_high", "alternate_low", "alternate_high", "im3_low", "im3_high",
          "im5_low", "im5_high", "image_low", "image_high", "lo")
SAMPLES = 32768
HEARD = "    sinks:\n      - {port: source, recall: {name: heard"
CABLE = """    stages:
      - multiply_const: {name: cable, value: 1}
      - rotate: {frequency: 0}
      - convert: {name: converter, dtype: sc16}
      - convert: {dtype: cf32}
    sinks:
      - {port: convert.out, recall: {name: heard"""
REFUSALS = "too_short", "not_finite", "silent", "clipped", "other_signal", "misaligned", "poor_fit"


def slower(text):
    """Reduces all rates, bands, captures and blocks."""
    text = re.sub(r"([\d.]+) M(S/s|Hz)", lambda m: f"{float(m[1]) * 1e6 / SLOWER:g} {m[2]}", text)
    return text.replace("65536", str(SAMPLES)).replace("16384", "4096")


class Dpd(iqd.SystemTest):
    def document(self, name="lte10", every="0.3 s", changes=()):
        """The shipped file at a lower rate."""
        self.where = iqd.endpoint()
        text = slower((iqd.PIPELINES / f"dpd_{name}.yaml").read_text(encoding="utf-8"))
        for old, new in (("every: 1 s", f"every: {every}"), ("keep: 400 ms", "keep: 2 s"), ("keep: 50 ms", "keep: 1 s"),
                         *changes, ("127.0.0.1:9464", "127.0.0.1:0"), (ADDRESS, self.where)):
            self.assertIn(old, text)
            text = text.replace(old, new)
        return text

    def open(self, *arguments, **options):
        text = self.document(*arguments, **options)
        self.incoming = self.reader(self.where, "levels")
        daemon = self.enterContext(self.daemon(text))
        return daemon, Door(daemon)

    def next_levels(self):
        """The levels of the next capture by name, in dBc."""
        return dict(zip(LEVELS, self.incoming.take(1)[0].x.tolist()))

    def count(self, door, event):
        return door.series().get(("iqd_stage_events_total", frozenset(
            {("pipeline", "learn"), ("stage", "aph_estimator"), ("event", event)})), 0)

    def applied(self, door):
        """How often coefficients were set."""
        return door.series()["iqd_port_messages_total", frozenset(
            {("pipeline", "learn"), ("port", "aph_estimator.coefficients"),
             ("topic", "apply send/aph_predistorter.coefficients")})]

    def wait_for(self, condition, what=""):
        ends = time.monotonic() + iqd.PATIENCE
        while not (value := condition()):
            self.assertLess(time.monotonic(), ends, what)
            time.sleep(0.05)
        return value

    def wait_for_event(self, door, event, more=1):
        wanted = self.count(door, event) + more
        self.wait_for(lambda: self.count(door, event) >= wanted, event)

    def change(self, door, place, **keys):
        status, answer = door.change("PATCH", f"/api/pipelines/{place}", keys)
        self.assertEqual(status, 200, answer)

    def assertFalls(self, name, by):
        """Starts untrained. From the first capture to the first one after a training, each of these levels falls by at
        least this much; then training stops."""
        daemon, door = self.open(name)
        before, good = None, []
        ends = time.monotonic() + iqd.PATIENCE
        while len(good) < 2 and time.monotonic() < ends:
            levels = self.next_levels()
            if max(levels[level] for level in by) < -48:
                good.append(levels)
            elif before is None and levels["carrier"] > -36:  # not a capture from before the first sample
                before = levels
        self.assertIsNotNone(before, daemon.text)
        self.assertEqual(len(good), 2, daemon.text)
        after = good[1]  # the first may span the change
        for level, least in by.items():
            self.assertGreater(before[level] - after[level], least, (level, before, after))
        self.wait_for_event(door, "good_enough", 2)
        return daemon, door

    # How it learns

    def test_a_carrier_from_nothing(self):
        daemon, door = self.assertFalls("lte10", {"adjacent_low": 10, "adjacent_high": 10})
        trained = self.count(door, "trained")
        self.wait_for_event(door, "good_enough", 2)
        self.assertEqual(self.count(door, "trained"), trained, "no training when good enough")
        self.assertEqual(self.applied(door), trained)
        shown = {dict(labels)["level"]: value for (name, labels), value in door.series().items()
                 if name == "iqd_stage_level" and ("stage", "acpr_meter") in labels}
        self.assertEqual(set(shown), set(LEVELS[:5]), "the other levels need two carriers")
        self.assertLess(max(shown["adjacent_low"], shown["adjacent_high"]), -48)
        self.assertEqual(daemon.stop(), 0, daemon.text)
        for status in daemon.final:
            self.assertConserved(status)

    def test_two_carriers_from_nothing(self):
        self.assertFalls("ca3", {level: 10 for level in ("im3_low", "im3_high", "image_low", "image_high", "lo")})

    def test_on_command_and_between_two_blocks(self):
        """Training starts only on request. Then every block is made with either the old or the new coefficients, and
        none is missing."""
        sent_at = iqd.endpoint()
        publish = f'    publish: [{{port: aph_predistorter.out, topic: sent, bind: "{sent_at}"}}]'
        daemon, door = self.open(every="none", changes=[("  - name: hear", f"{publish}\n  - name: hear")])
        learned = self.reader(self.where, "coefficients")
        with self.collecting(sent_at, "sent") as sent:
            self.wait_for(lambda: sum(len(m.x) for m in sent) > PERIOD + 3 * SAMPLES)
            self.assertEqual(self.incoming.rest(), [], "no capture was requested")
            self.ask_until(door, "trained")
            self.ask_until(door, "good_enough")
            trained = self.count(door, "trained")
            self.ask(door)
            self.wait_for_event(door, "good_enough", 0)
            self.assertEqual(self.count(door, "trained"), trained)
            self.change(door, "learn/stages/aph_estimator", above=-100)
            self.ask_until(door, "trained")
            self.wait_for(lambda: self.applied(door) > trained)
            done = len(sent)
            self.wait_for(lambda: len(sent) > done + 100)
        self.assertEqual(daemon.stop(), 0, daemon.text)
        self.assertContinuous(sent)
        used = self.which(sent, [model.passing()] + [m.x.astype(complex) for m in learned.rest()])
        self.assertEqual(used, sorted(used), "old coefficients came back")
        self.assertGreaterEqual(len(set(used)), 3, used)

    def which(self, sent, sets):
        """Which of these coefficient sets made each message."""
        x = np.zeros(PERIOD, complex)
        for m in sent[:PERIOD // len(sent[0].x) + 1]:
            x[self.places(m)] = m.x
        made = [model.predistort(np.concatenate([x[-4:], x]), h)[4:] for h in sets]
        made = np.array([z * np.minimum(1, CLIP / np.maximum(abs(z), 1e-9)) for z in made])
        used = []
        for m in sent:
            errors = abs(made[:, self.places(m)] - m.x).max(axis=1)
            self.assertLess(errors.min(), 1e-5, (m.meta, errors))
            used.append(int(errors.argmin()))
        return used

    def places(self, message):
        return (message.sample + np.arange(len(message.x))) % PERIOD

    @contextlib.contextmanager
    def collecting(self, where, topic):
        """A list that collects the topic's messages."""
        messages, ends = [], threading.Event()

        def read():
            reader = iqd.Reader(where, topic)
            while not ends.is_set():
                if message := reader.receive(0.1):
                    messages.append(message)
            reader.close()

        thread = threading.Thread(target=read)
        thread.start()
        try:
            yield messages
        finally:
            ends.set()
            thread.join()

    def ask(self, door):
        """Requests a capture, and waits for its outcome."""
        self.asked = getattr(self, "asked", 0) + 1
        self.change(door, "learn/stages/source", again=self.asked)
        self.incoming.take(1)
        self.wait_for(lambda: self.outcomes(door) >= self.asked)

    def outcomes(self, door):
        return sum(self.count(door, event) for event in ("trained", "good_enough", *REFUSALS))

    def ask_until(self, door, event):
        """Repeats the request, since a capture may still be from before the last change."""
        wanted = self.count(door, event) + 1
        ends = time.monotonic() + iqd.PATIENCE
        while self.count(door, event) < wanted:
            self.assertLess(time.monotonic(), ends, event)
            self.ask(door)

    # What it does not learn from

    def published(self, door):
        return door.series()["iqd_samples_published_total", frozenset({("pipeline", "send")})]

    def test_what_cannot_be_learned_from_is_refused_and_what_was_learned_stays(self):
        daemon, door = self.open(changes=[(HEARD, CABLE)])
        self.change(door, "hear/stages/cable", value=-1)  # inverted is fine
        self.wait_for_event(door, "good_enough")
        trained, applied = self.count(door, "trained"), self.applied(door)
        for place, wrong, right, event in (
                ("hear/stages/cable", {"value": 0}, {"value": 1}, "silent"),
                ("hear/stages/cable", {"value": 100}, {"value": 1}, "clipped"),
                ("hear/stages/rotate", {"frequency": 30000}, {"frequency": 0}, "other_signal"),
                ("send/stages/test_waveform", {"rms": 0}, {"rms": 0.27}, None)):
            with self.subTest(place=place, wrong=wrong):
                before, refused = self.published(door), self.refused(door)
                self.change(door, place, **wrong)
                if event:
                    self.wait_for_event(door, event, 2)
                else:
                    self.wait_for(lambda r=refused: self.refused(door) >= r + 2)
                self.change(door, place, **right)
                self.wait_for_event(door, "good_enough", 2)
                if event:  # training may accept a signal that ends within the capture
                    self.assertEqual((self.count(door, "trained"), self.applied(door)), (trained, applied))
                self.assertGreater(self.published(door), before)
        self.assertEqual(daemon.stop(), 0, daemon.text)

    def refused(self, door):
        return sum(self.count(door, event) for event in REFUSALS)

    def test_a_receiver_that_stops_and_comes_back(self):
        daemon, door = self.open(changes=[("snr=71.4", "snr=71.4,stall_at=5,stall_for=2.5")])
        self.wait_for_event(door, "good_enough")
        trained = self.count(door, "trained")
        self.wait_for_event(door, "silent")
        self.assertIn("nothing comes to 'heard'", daemon.text)
        self.wait_for_event(door, "good_enough", 2)
        self.assertEqual(self.count(door, "trained"), trained)

    def test_a_host_that_stops_and_goes_on(self):
        """Late samples are counted, but do not start a training."""
        daemon, door = self.open()
        self.wait_for_event(door, "good_enough")
        trained = self.count(door, "trained")
        daemon.signal(signal.SIGSTOP)
        time.sleep(1)
        daemon.signal(signal.SIGCONT)
        self.wait_for_event(door, "good_enough", 3)
        self.assertEqual(self.count(door, "trained"), trained)
        port = door.status()["ports"][0]
        self.assertGreater(port["late"] + port["underflows"], 0, port)
        self.assertEqual(daemon.stop(), 0, daemon.text)

    def test_another_radio(self):
        """No coefficients are set, and samples pass unchanged."""
        for hear, event in (("scenario=noise,serial=OTHER", "other_signal"),
                            ("scenario=loopback,serial=OTHER", "silent")):
            with self.subTest(hear=hear):
                daemon, door = self.open(changes=[("args: *radio", f'args: "driver=iqdsim,{hear}"')])
                self.wait_for_event(door, event, 2)
                self.assertEqual((self.applied(door), self.count(door, "trained")), (0, 0))
                self.assertEqual(daemon.stop(), 0, daemon.text)

    def test_another_rate(self):
        daemon, door = self.open(changes=[
            ("args: *radio, rate: 307200 S/s", 'args: "driver=iqdsim,scenario=noise,serial=OTHER", rate: 300000 S/s')])
        self.wait_for_event(door, "silent")
        daemon.wait_for_log("zeros for 'heard'")
        self.assertEqual(self.applied(door), 0)

    def test_coefficients_of_a_wrong_size(self):
        np.save(self.folder / "h.npy", model.passing(model.Orders(7, 3, 5)).astype(np.complex64))
        path = self.folder / "pipeline.yaml"
        changes = [("{clip: 0.77}", '{clip: 0.77, coefficients: "@h.npy"}')]
        path.write_text(self.document(changes=changes), encoding="utf-8")
        done = iqd.command("run", path)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("aph_predistorter", done.stderr)
        self.assertIn("31", done.stderr)
        self.assertIn("26", done.stderr)


if __name__ == "__main__":
    unittest.main()
