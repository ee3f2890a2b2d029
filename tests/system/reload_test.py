# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""Changes to a running daemon, by SIGHUP and over HTTP: at once, between two blocks, or refused as a whole."""

import itertools
import json
import os
import signal
import time
import unittest

import numpy as np

import iqd
from door import Door

RATE = 1e6
# With IQD_BACKEND=cuda everything runs on a GPU, where live keys need a new plan.
BACKEND = os.environ.get("IQD_BACKEND", "cpu")
AT_ONCE = "at once" if BACKEND == "cpu" else "between two blocks"
TONE = 125e3


def file(where, source="", block=10000, stages="- multiply_const: {value: 0.5}", port="multiply_const.out", more="",
         args="", topic="x"):
    return f"""name: demo
source:
  soapy: {{args: "driver=iqdsim,scenario=tone,frequency={TONE:.0f}{args}", rate: 1 MS/s, frequency: 433 MHz{source}}}
block: {block}
backend: {BACKEND}
stages:
  {stages}
publish:
  - {{port: {port}, topic: {topic}, bind: "{where}"}}
{more}
monitor: {{listen: "127.0.0.1:0"}}
"""


class Reload(iqd.SystemTest):
    def setUp(self):
        super().setUp()
        self.where = iqd.endpoint()

    def open(self, text, **options):
        daemon = self.enterContext(self.daemon(text, **options))
        door = Door(daemon)
        reader = self.reader(self.where, "x")
        door.wait_for_state("/readyz", 200)
        return daemon, door, reader

    def write(self, text):
        (self.folder / "pipeline.yaml").write_text(text, encoding="utf-8")

    def reload(self, door, text):
        self.write(text)
        return door.change("POST", "/api/reload")

    def assertTone(self, messages, factor):
        """Each sample is the tone at its stream position, times `factor`."""
        for m in messages:
            n = m.sample + np.arange(m.x.shape[-1])
            np.testing.assert_allclose(m.x, factor * iqd.tone(n, TONE, RATE), atol=2e-4)

    def until(self, reader, condition, most=2000):
        """Messages up to and including the first that satisfies `condition`."""
        messages = []
        for _ in range(most):
            messages += reader.take(1)
            if condition(messages[-1]):
                return messages
        self.fail(f"no such message among {most}: {messages[-1].meta}")

    def anew(self, before, message):
        """Whether the messages are from streams with different start times. A reader may miss the first messages."""
        began = [m.time_ns - m.sample * 1e9 / RATE for m in (before, message)]
        return abs(began[0] - began[1]) > 1e6

    def factor(self, message):
        return np.abs(message.x).max() / 0.1

    def test_live_keys_by_sighup_at_once_and_without_loss(self):
        daemon, _, reader = self.open(file(self.where))
        messages = reader.take(3)
        for turn, value in enumerate((2, 4, 8)):
            self.write(file(self.where, stages=f"- multiply_const: {{value: {value}}}"))
            daemon.signal(signal.SIGHUP)
            messages += self.until(reader, lambda m, v=value: abs(self.factor(m) - v) < 0.01)
            self.assertEqual(daemon.text.count(f"multiply_const.value changed {AT_ONCE}"), turn + 1)
        self.assertContinuous(messages)
        factors = [round(self.factor(m), 2) for m in messages]
        self.assertEqual([f for f, _ in itertools.groupby(factors)], [0.5, 2, 4, 8])
        self.assertEqual(daemon.stop(), 0)
        self.assertConserved(daemon.final[0])
        self.assertEqual(daemon.final[0]["dropped"], dict.fromkeys(daemon.final[0]["dropped"], 0))

    def test_live_keys_over_http(self):
        _, door, reader = self.open(file(self.where))
        status, answer = door.change("PATCH", "/api/stages/multiply_const", {"value": [0, 3]})
        self.assertEqual((status, answer), (200, {"applied": [f"demo: multiply_const.value changed {AT_ONCE}"]}))
        self.assertTone(self.until(reader, lambda m: abs(self.factor(m) - 3) < 0.01)[-1:], 3j)
        # A value set by PATCH lasts until the file is read again.
        status, answer = door.change("POST", "/api/reload")
        self.assertEqual((status, answer), (200, {"applied": [
            f"demo: multiply_const.value changed {AT_ONCE}",
            "demo: multiply_const.value: 0.5 (file) replaces [0, 3] (patch)"]}))
        self.assertTone(self.until(reader, lambda m: abs(self.factor(m) - 0.5) < 0.01)[-1:], 0.5)
        self.assertEqual(door.change("POST", "/api/reload"), (200, {"applied": ["nothing has changed"]}))
        for path, body, expected, words in (
                ("stages/multiply_const", {"value": "loud"}, 422, "expected a complex number"),
                ("stages/multiply_const", {"valu": 1}, 422, "did you mean 'value'?"),
                ("stages/nothing", {"value": 1}, 404, "demo has no stage 'nothing'"),
                ("pipelines/other/stages/multiply_const", {"value": 1}, 404, "there is no pipeline 'other'"),
                ("stages/source", {"rate": "fast"}, 422, "source.soapy.rate")):
            with self.subTest(path=path, body=body):
                status, answer = door.change("PATCH", f"/api/{path}", body)
                self.assertEqual(status, expected, answer)
                self.assertIn(words, str(answer))
        self.assertTone(reader.take(3), 0.5)

    def test_the_radio_is_tuned_while_it_runs(self):
        folder = self.folder / "kept"
        sinks = f'sinks:\n  - {{port: multiply_const, file: {{path: "{folder}"}}}}'
        daemon, door, reader = self.open(file(self.where, more=sinks))
        messages = reader.take(3)
        status, answer = door.change("PATCH", "/api/stages/source", {"frequency": 434e6, "gain": 20})
        self.assertEqual(status, 200, answer)
        messages += self.until(reader, lambda m: m.frequency == 434e6)
        messages += reader.take(3)
        self.assertContinuous(messages)
        self.assertEqual([f for f, _ in itertools.groupby(m.frequency for m in messages)], [433e6, 434e6])
        self.assertEqual(daemon.stop(), 0)
        meta, x = iqd.read_recording(folder)
        self.assertEqual([c["core:frequency"] for c in meta["captures"]], [433e6, 434e6])
        self.assertEqual(len(x), daemon.final[0]["published"], "the recording continued")

    def test_another_plan_takes_over_between_two_blocks(self):
        daemon, door, reader = self.open(file(self.where, stages="- rotate: {frequency: 0}", port="rotate"))
        messages = reader.take(3)
        # Other blocks, more stages, longer filters; the filters pass samples unchanged, so the tone stays.
        variants = [(5000, "- rotate: {frequency: 0}\n  - fir: {taps: [1]}", "fir"),
                    (5000, "- fir: {taps: [1, 0, 0, 0, 0]}", "fir"),
                    (20000, f"- fir: {{taps: {[1] + [0] * 300}}}\n  - conjugate:\n  - conjugate: {{name: back}}", "back"),
                    (10000, "- rotate: {frequency: 0}", "rotate")]
        for block, stages, port in variants * 3:
            status, answer = self.reload(door, file(self.where, block=block, stages=stages, port=port))
            self.assertEqual(status, 200, answer)
            self.assertIn("between two blocks", str(answer))
            messages += reader.take(4)
        self.assertEqual(daemon.stop(), 0)
        messages += reader.rest()
        # A port with another name starts with seq 0, so compare positions of samples.
        for before, after in zip(messages, messages[1:]):
            self.assertEqual((before.sample + before.x.shape[-1], after.gap), (after.sample, 0))
        self.assertTone(messages, 1)
        self.assertConserved(daemon.final[0])
        self.assertEqual(daemon.final[0]["received"], messages[-1].sample + messages[-1].x.shape[-1])
        self.assertEqual(daemon.final[0]["reloads"], 12)

    def test_one_stream_for_who_reads_it(self):
        daemon, door, reader = self.open(file(self.where))
        other = self.reader(self.where, "level")
        messages = reader.take(2)
        level = f'  - {{port: complex_to_mag, topic: level, bind: "{self.where}"}}'
        for turn in range(6):
            stages = "- multiply_const: {value: 0.5}" + ("\n  - complex_to_mag:" if turn % 2 == 0 else "")
            status, answer = self.reload(
                door, file(self.where, stages=stages, block=4000 + turn, more=level if turn % 2 == 0 else ""))
            self.assertEqual(status, 200, answer)
            if turn == 0:
                other.take(3)
            messages += reader.take(5)
        self.assertContinuous(messages)
        self.assertTone(messages, 0.5)
        self.assertEqual(daemon.stop(), 0)
        self.assertConserved(daemon.final[0])

    def test_what_is_wrong_is_refused_whole(self):
        daemon, door, reader = self.open(file(self.where))
        messages = reader.take(2)
        good = file(self.where, stages="- multiply_const: {value: 2}")
        taken = self.reader(f"tcp://127.0.0.1:{iqd.free_port()}", bind=True)
        elsewhere = taken.socket.getsockopt_string(iqd.zmq.LAST_ENDPOINT)
        for text, words in ((good.replace("value", "valeu"), "pipeline.yaml:7:21"),
                            ("", "is empty"), ("{", "pipeline.yaml:"), ("name: [", "pipeline.yaml:"),
                            (good.replace("port: multiply_const.out", "port: nothing"), "nothing"),
                            (good.replace("block: 10000", "block: 100000000000"), "block"),
                            (good + f'sinks: [{{port: multiply_const, file: {{path: "{self.folder}/no/such/x"}}}}]\n',
                             "no/such"),
                            (good.replace(self.where, elsewhere), "another program has this port"),
                            (good.replace("topic: x", "topic: x, hwm_bytes: 1000000"), "hwm_bytes")):
            with self.subTest(words=words):
                status, answer = self.reload(door, text)
                self.assertEqual(status, 422, answer)
                self.assertIn(words, str(answer))
        (self.folder / "pipeline.yaml").unlink()
        daemon.signal(signal.SIGHUP)
        daemon.wait_for_log("cannot be read: No such file")
        messages += reader.take(5)
        self.assertContinuous(messages)
        self.assertTone(messages, 0.5)
        self.assertEqual(json.loads(door.get("/api/status"))["pipelines"][0]["reloads"], 0)

    def test_another_source_is_started_anew_or_the_old_one_again(self):
        daemon, door, reader = self.open(file(self.where))
        old = reader.take(2)[-1]
        status, answer = self.reload(door, file(self.where, args=",level=-40"))
        self.assertEqual((status, answer), (200, {"applied": ["demo: source.args changed, pipeline restarted"]}))
        messages = self.until(reader, lambda m: self.factor(m) < 0.1)
        self.assertTrue(self.anew(old, messages[-1]), (old.meta, messages[-1].meta))
        old = messages[-1]
        status, answer = self.reload(door, file(self.where).replace("driver=iqdsim", "driver=none"))
        self.assertEqual(status, 422, answer)
        self.assertIn("demo: restarted with its old settings", str(answer))
        messages = self.until(reader, lambda m: self.anew(old, m))
        old = messages[-1]
        self.assertLess(self.factor(messages[-1]), 0.1)
        # Only an open radio shows the rate that it really grants.
        design = "{type: low_pass, cutoff: 480 kHz, transition: 30 kHz}"
        status, answer = self.reload(
            door, file(self.where, args=",rate_grid=300000", source=", accept_rate: true",
                       stages=f"- fir: {{design: {design}}}", port="fir"))
        self.assertEqual(status, 422, answer)
        self.assertIn("cutoff", str(answer))
        self.assertIn("demo: restarted with its old settings", str(answer))
        self.until(reader, lambda m: self.anew(old, m))
        self.assertEqual(daemon.stop(), 0)

    def test_another_source_does_not_take_a_recording_with_it(self):
        """The new stream cannot be appended to the recording, so the change is refused."""
        kept, other = self.folder / "kept", self.folder / "other"
        sinks = 'sinks:\n  - {port: source, file: {path: "%s"}}'
        daemon, door, reader = self.open(file(self.where, more=sinks % kept))
        messages = reader.take(3)
        for status, answer in (self.reload(door, file(self.where, args=",level=-40", more=sinks % kept)),
                               door.change("PATCH", "/api/stages/source", {"rate": "2 MS/s"})):
            self.assertEqual(status, 422, answer)
            self.assertIn(f"cannot change while {kept}.sigmf-data is recorded", str(answer))
        messages += reader.take(3)
        self.assertContinuous(messages)
        status, answer = self.reload(door, file(self.where, args=",level=-40", more=sinks % other))
        self.assertEqual(status, 200, answer)
        old = self.until(reader, lambda m: self.anew(messages[-1], m))[-1]
        # If the new source cannot be opened, the old one restarts, but its recording has ended.
        text = file(self.where, more=sinks % (self.folder / "third")).replace("driver=iqdsim", "driver=none")
        status, answer = self.reload(door, text)
        self.assertEqual(status, 422, answer)
        self.assertIn(f"demo: {other}.sigmf-data has ended", str(answer))
        self.until(reader, lambda m: self.anew(old, m))
        self.assertEqual(daemon.stop(), 0, daemon.text)
        for recording in (kept, other):
            self.assertGreater(len(iqd.read_recording(recording)[1]), 0)

    def test_another_name_for_what_cannot_be_opened(self):
        daemon, door, reader = self.open(file(self.where))
        old = reader.take(2)[-1]
        text = file(self.where).replace("name: demo", "name: other").replace("driver=iqdsim", "driver=none")
        status, answer = self.reload(door, text)
        self.assertEqual(status, 422, answer)
        self.assertIn("demo: restarted with its old settings", str(answer))
        self.assertTone(self.until(reader, lambda m: self.anew(old, m))[-1:], 0.5)
        self.assertEqual(daemon.stop(), 0)

    def test_arrays_in_files_are_read_again(self):
        taps = self.folder / "taps.npy"
        np.save(taps, np.array([1.0]))
        _, door, reader = self.open(file(self.where, stages=f'- fir: {{taps: "@{taps}"}}', port="fir"))
        self.assertTone(reader.take(2), 1)
        np.save(taps, np.array([3.0]))
        status, answer = door.change("POST", "/api/reload")
        self.assertEqual(status, 200, answer)
        self.assertIn("fir.taps", str(answer))
        self.assertTone(self.until(reader, lambda m: self.factor(m) > 2.9)[-1:], 3)

    def test_what_has_ended_takes_no_keys(self):
        finite = '''  - name: short
    source: {generate: {rate: 1 MS/s, samples: 1000}}
    block: 100
    stages: [{multiply_const: {value: 2}}]
    publish: [{port: multiply_const, topic: y, bind: "%s"}]
''' % iqd.endpoint()
        body = [line for line in file(self.where).splitlines() if line and not line.startswith("monitor")]
        daemon, door, reader = self.open("pipelines:\n" + finite + "  - " + "\n    ".join(body) +
                                         '\nmonitor: {listen: "127.0.0.1:0"}\n')
        daemon.wait_for(lambda p: p["state"] == "ended")
        status, answer = door.change("PATCH", "/api/pipelines/short/stages/multiply_const", {"value": 3})
        self.assertEqual((status, answer), (422, {"problems": ["short has ended: no key can be set"]}))
        reader.take(2)

    def test_pipelines_come_and_go(self):
        def pipelines(*names):
            listed = []
            for name in names:
                where = self.where if name == "demo" else self.others[name]
                body = file(where, args=f",seed={len(name)}{ord(name[0])}").replace("name: demo", f"name: {name}")
                lines = [line for line in body.splitlines() if line and not line.startswith("monitor")]
                listed.append("  - " + "\n    ".join(lines))
            return "pipelines:\n" + "\n".join(listed) + '\nmonitor: {listen: "127.0.0.1:0"}\n'

        self.others = {name: iqd.endpoint() for name in ("a", "b")}
        daemon, door, reader = self.open(pipelines("demo", "a"))
        messages = reader.take(2)
        for names, words in ((("demo", "a", "b"), "b: started"), (("b", "demo"), "a: ended"),
                             (("demo", "a"), "b: ended"), (("demo",), "a: ended")):
            status, answer = self.reload(door, pipelines(*names))
            self.assertEqual(status, 200, answer)
            self.assertIn(words, str(answer))
            self.assertEqual(sorted(p["name"] for p in json.loads(door.get("/api/status"))["pipelines"]), sorted(names))
            messages += reader.take(5)
            for name in set(names) - {"demo"}:
                self.assertTone(self.reader(self.others[name], "x").take(1), 0.5)
        self.assertContinuous(messages)
        self.assertEqual(daemon.stop(), 0)

    def test_a_source_that_is_away_can_be_changed_too(self):
        daemon, door, reader = self.open(file(self.where, args=",disconnect_at=1,disconnect_for=4"))
        status = daemon.wait_for(lambda p: p["state"] == "reconnecting")
        code, answer = self.reload(door, file(self.where, args=",disconnect_at=1,disconnect_for=4", block=5000))
        self.assertEqual(code, 200, answer)
        daemon.wait_for(lambda p: p["state"] == "streaming" and p["received"] > status["received"])
        self.until(reader, lambda m: m.x.shape[-1] == 5000 and m.sample > 200000)
        self.assertEqual(daemon.stop(), 0)
        self.assertConserved(daemon.final[0])

    def test_many_changes_under_load(self):
        """A change every 20 ms, while a reader that reads nothing keeps its queue full."""
        slow = self.reader(self.where, "x", hwm=1)
        daemon, door, reader = self.open(file(self.where, block=2000))
        messages = reader.take(1)
        ends = time.monotonic() + 3
        done = 0
        while time.monotonic() < ends:
            status, answer = self.reload(door, file(self.where, block=1000 + 500 * (done % 5)))
            self.assertIn(status, (200, 503), answer)
            done += status == 200 and "between" in str(answer)
            messages += reader.take(10)
        self.assertGreater(done, 10)
        self.assertEqual(daemon.stop(), 0)
        messages += reader.rest()
        self.assertContinuous(messages)
        self.assertTone(messages, 0.5)
        self.assertEqual(daemon.final[0]["reloads"], done)
        slow.close()


if __name__ == "__main__":
    unittest.main()
