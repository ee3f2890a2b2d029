# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""`iqd check`: one mistake hides no other, and warnings are not errors."""

import itertools
import json
import re
import threading
import time
import unittest
import urllib.request

import numpy as np
import zmq

import iqd

# Mistakes of each kind: the list of the file or "" for a line, the entry, and what is said.
MISTAKES = [
    ("", "blok: 64", "unknown key (did you mean 'block'?)"),
    ("", "lanes: many", "'many' is not a number"),
    ("", "source: {sopy: {}}", "this build has no such source (did you mean 'soapy'?)"),
    ("", "source: {generate: {rate: 1 MS/s, chanels: 2}}", "unknown key (did you mean 'channels'?)"),
    ("", "source: {file: {path: missing}}", "missing.sigmf-meta"),
    ("", "monitor: {listen: \"127.0.0.1:0\", token: no.token}", "no.token"),
    ("stages", "kernel: {name: own, file: no.cu}", "no.cu"),
    ("stages", "fir: {name: f1, from: good, taps: \"@no.npy\"}", "no.npy"),
    ("stages", "fri: {taps: [1]}", "unknown stage (did you mean 'fir'?)"),
    ("stages", "fir: {name: f2, from: good, tapz: [1]}", "unknown key (did you mean 'taps'?)"),
    ("stages", "fir: {name: f3, from: god, taps: [1]}", "there is no port 'god'"),
    ("stages", "fir: {name: f4, from: good, taps: [1], decimation: few}", "'few' is not a number"),
    ("stages", "deemphasis: {name: d1, from: good, tau: 50 us}", "input 'in' takes f32"),
    ("publish", '{port: nothing, topic: n, bind: "tcp://127.0.0.1:5999"}', "there is no port 'nothing'"),
    ("publish", '{port: good, topic: "a b", bind: "tcp://127.0.0.1:5999"}', "'a b' contains a space"),
    ("publish", '{port: good, topic: e, bind: "tcp://127.0.0.1"}', "is not an endpoint"),
    ("publish", '{port: good, topic: o, bind: "tcp://0.0.0.0:5998"}', "leads to other hosts"),
    ("publish", '{port: good, topic: k, bind: "tcp://127.0.0.1:5997", curve: {secret: no.key, allow: any}}', "no.key"),
    ("publish", '{port: good, topic: good, bind: "tcp://127.0.0.1:5999"}', "is already the topic of good"),
    ("sinks", "{port: nowhere, file: {path: x}}", "there is no port 'nowhere'"),
    ("sinks", "{port: good, wav: {path: x}}", "is neither `port` nor a sink of this build"),
    ("sinks", "{port: good, file: {path: no/folder/x}}", "no/folder"),
    ("apply", "{port: numbers, to: nobody.taps}", "has no stage 'nobody'"),
    ("apply", "{port: nobody, to: good.taps}", "there is no port 'nobody'"),
]


def kind(mistake):
    return "source" if mistake[1].startswith("source:") else mistake[1]


def pipeline(*mistakes):
    text = "" if any(kind(m) == "source" for m in mistakes) else "source: {generate: {rate: 1 MS/s}}\n"
    text += "".join(f"{line}\n" for where, line, _ in mistakes if not where)
    first = {"stages": "- fir: {name: good, from: source, taps: [1]}\n- spectrum: {name: numbers, from: source, size: 16}\n",
             "publish": '- {port: good, topic: good, bind: "tcp://127.0.0.1:5999"}\n'
                        '- {port: numbers, topic: numbers, bind: "tcp://127.0.0.1:5999"}\n', "sinks": "", "apply": ""}
    for key, entries in first.items():
        entries += "".join(f"- {line}\n" for where, line, _ in mistakes if where == key)
        text += f"{key}:\n{entries}" if entries else ""
    return text


class CheckTest(iqd.SystemTest):
    def check(self, text, *options, code=None):
        """The lines of standard error."""
        path = self.folder / "p.yaml"
        path.write_text(text, encoding="utf-8")
        done = iqd.command("check", path, *options, cwd=self.folder)
        if code is not None:
            self.assertEqual(done.returncode, code, text + done.stderr)
        self.out = done.stdout
        return done.stderr.splitlines()


class Check(CheckTest):
    def judged(self, mistakes):
        """Those that can be judged: without a source nothing is known of types."""
        unknown = any(kind(m) == "source" and "chanels" not in m[1] or "chanels" in m[1] for m in mistakes)
        return [m for m in mistakes if not (unknown and "takes f32" in m[2])]

    def test_the_file_without_mistakes(self):
        self.assertEqual(self.check(pipeline(), code=0), [])

    def test_every_two_mistakes(self):
        for pair in itertools.combinations(MISTAKES, 2):
            if kind(pair[0]) == kind(pair[1]):
                continue
            with self.subTest([m[1] for m in pair]):
                lines = self.check(pipeline(*pair), code=2)
                for _, _, said in self.judged(pair):
                    self.assertTrue(any(said in line for line in lines), (said, lines))
                if not any(said == "there is no port 'good'" for _, _, said in pair):
                    self.assertLessEqual(len(lines), 2, lines)

    def test_all_at_once(self):
        mistakes = [m for m in MISTAKES if kind(m) != "source"]
        lines = self.check(pipeline(*mistakes), code=2)
        for _, _, said in mistakes:
            self.assertTrue(any(said in line for line in lines), (said, lines))
        self.assertEqual(len(lines), len(mistakes), lines)

    def test_a_syntax_error_in_one_of_several_pipelines(self):
        lines = self.check("""pipelines:
  - name: one
    source: {generate: {rate: 1 MS/s}}
    stages:
      - fir: {taps: [1, 2}
  - name: two
    source: {generate: {rate: 1 MS/s}}
    blok: 3
    publish: [{port: source, topic: t, bind: "tcp://127.0.0.1:5999"}]
""", code=2)
        self.assertEqual(len(lines), 2, lines)
        self.assertRegex(lines[0], r"p\.yaml:5:\d+: invalid YAML")
        self.assertRegex(lines[1], r"p\.yaml:8:5 pipelines\[1\]\.blok: unknown key")

    def test_keys_are_judged_without_an_input(self):
        """What is wrong with a key at any input is reported although the input, or only its rate, is not known."""
        stages = """
  - fir: {from: INPUT, design: {type: band_pass, low: 10 kHz, transition: 1 kHz}}
  - framer: {from: MAGNITUDE, chip_rate: 10 kHz, sync_word: 0xZZ}
  - resampler: {from: INPUT}
  - select_channels: {from: INPUT, channels: []}
  - rotate: {from: INPUT, frequency: 10 kHz}
  - select_channels: {name: second, from: INPUT, channels: [1]}
"""
        wrong = ("missing: a band_pass needs it", "'0xZZ' is neither", "give either `ratio`", "at least one channel")
        for source, port, magnitude, more in (("1 MS/s", "nowhere", "nowhere", 6), ("1 MS/s", "source", "nowhere", 2),
                                              ("fast", "source", "complex_to_mag", 1)):
            lines = self.check(f"source: {{generate: {{rate: {source}}}}}\nstages:\n  - complex_to_mag:"
                               + stages.replace("INPUT", port).replace("MAGNITUDE", magnitude), code=2)
            for said in wrong:
                self.assertEqual(sum(said in line for line in lines), 1, (said, lines))
            self.assertEqual(len(lines), len(wrong) + more, lines)

    def test_what_only_one_entry_can_have(self):
        """Addresses, files, channels and topics of all kinds of entries; what iqd run would refuse only at the start."""
        at, other = "tcp://127.0.0.1:5999", "tcp://127.0.0.1:5998"
        publish = f'publish: [{{port: source, topic: t, bind: "{at}"}}]\n'
        generate = "source: {generate: {rate: 1 MS/s}}\n"
        for text, place, said in (
                (generate + publish + f'sinks: [{{port: source, zmq: {{bind: "{at}"}}}}]', "sinks[0].zmq.bind", "publish[0]"),
                (generate + publish + 'monitor: {listen: "127.0.0.1:5999"}', "monitor.listen", "publish[0]"),
                (publish + f'source: {{zmq: {{bind: "tcp://localhost:5999", kind: pull}}}}', "publish[0].bind", "source.zmq"),
                (generate + 'sinks: [{port: source, file: {path: r, overwrite: true}},\n'
                            '  {port: source, file: {path: ./r.sigmf-data, overwrite: true}}]',
                 "sinks[1].file.path", "sinks[0].file"),
                (generate + f'publish: [{{port: source, topic: t, connect: "{other}"}}]\n'
                            f'sinks: [{{port: source, zmq: {{connect: "{other}", topic: t}}}}]',
                 "sinks[0].zmq.topic", "already the topic of source"),
                (f'source: {{zmq: {{connect: "{at}"}}}}\n' + publish, "source.zmq.rate", "publish[0]"),
                (publish + "source: {soapy: {args: driver=iqdsim, rate: 1 MS/s, channels: [0, 0]}}",
                 "source.soapy.channels", "listed twice")):
            lines = self.check(text + "\n", code=2)
            self.assertEqual(len(lines), 1, lines)
            self.assertIn(f" {place}: ", lines[0])
            self.assertIn(said, lines[0])

    def test_a_rate_that_a_publisher_of_the_same_file_has(self):
        lines = self.check("""pipelines:
- {name: late, source: {zmq: {connect: "tcp://localhost:5999", topic: t}}}
- name: early
  source: {generate: {rate: 1 MS/s}}
  stages: [fir: {taps: [1], decimation: 4}]
  publish: [{port: fir, topic: t, bind: "tcp://127.0.0.1:5999"}]
""", code=2)
        self.assertRegex(lines[0], r"pipelines\[0\]\.source\.zmq\.rate: is required: pipelines\[1\]\.publish\[0\] .*"
                                   r"give `rate: 250 kS/s`")

    def test_other_words_for_sources_and_sinks(self):
        for word, name in (("rtlsdr", "soapy"), ("usrp", "uhd"), ("wav", "file"), ("sopay", "soapy")):
            [line] = self.check(f"source: {{{word}: {{}}}}\n" + Warnings.OUT, code=2)
            self.assertIn(f"(did you mean '{name}'?)", line)
        [line] = self.check("source: {generate: {rate: 1 MS/s}}\nsinks: [{port: source, npy: {path: x}}]\n", code=2)
        self.assertIn("(did you mean 'file'?)", line)

    def test_calibration_and_other_mistakes(self):
        lines = self.check("source: {soapy: {args: driver=iqdsim, rate: 1 MS/s, calibration: no.yaml}}\nblok: 3\n", code=2)
        self.assertEqual(len(lines), 2, lines)
        self.assertIn("no.yaml", "".join(lines))


class Warnings(CheckTest):
    OUT = 'publish: [{port: source, topic: t, bind: "tcp://127.0.0.1:5999"}]\n'
    BARE = "source: {soapy: {args: driver=iqdsim, rate: 2 MS/s, frequency: 98.5}}\n" + OUT

    def test_bare_numbers(self):
        for key, shown in (("frequency: 98.5", "98.5 Hz"), ("bandwidth: 20", "20 Hz")):
            lines = self.check(self.BARE.replace("frequency: 98.5", key), code=0)
            self.assertEqual(len(lines), 1, lines)
            self.assertRegex(lines[0], r"^\S+p\.yaml:1:\d+: warning: source\.soapy\." + key.split(":")[0])
            self.assertIn(shown, lines[0])
            self.assertIn("ok, 1 pipeline(s), 1 warning(s)", self.out)
        self.assertIn("2 S/s", self.check(self.BARE.replace("98.5", "98.5 MHz").replace("2 MS/s", "2"), code=0)[0])
        self.assertEqual(self.check(self.BARE.replace("98.5", "98.5 MHz"), code=0), [])
        self.assertNotIn("warning", self.out)

    def test_what_nobody_reads(self):
        source = "source: {generate: {rate: 1 MS/s}}\n"
        [line] = self.check(source + "stages: [fir: {taps: [1]}]\n" + self.OUT, code=0)
        self.assertRegex(line, r"p\.yaml:2:\d+: warning: stages\[0\]\.fir: nothing reads fir\.out")
        [line] = self.check(source + "stages: [fir: {taps: [1]}]\n", code=0)
        self.assertRegex(line, r"p\.yaml:1:1: warning: nothing leaves this pipeline")

    def test_strict(self):
        self.assertEqual(len(self.check(self.BARE, "--strict", code=2)), 1)
        self.check(self.BARE.replace("98.5", "98.5 MHz"), "--strict", code=0)

    def test_apart_from_errors(self):
        lines = self.check(self.BARE + "blok: 3\n", code=2)
        self.assertEqual([": warning: " in line for line in lines], [False, True], lines)

    def test_explain_and_run_show_them(self):
        path = self.folder / "p.yaml"
        path.write_text("source: {generate: {rate: 1 MS/s, samples: 1000}}\nstages: [fir: {taps: [1]}]\n"
                        "sinks: [{port: source, file: {path: x, overwrite: true}}]\n", encoding="utf-8")
        for verb in ("explain", "run"):
            done = iqd.command(verb, path, cwd=self.folder)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(done.stderr.count("warning: stages[0].fir: nothing reads fir.out"), 1, done.stderr)

    def test_a_reload_and_a_request_do_not_fail(self):
        at, door = iqd.endpoint(), iqd.free_port()
        text = (f"source: {{generate: {{rate: 1 MS/s, pace: true}}}}\nstages: [fir: {{taps: [1]}}]\n"
                f'publish: [{{port: source, topic: t, bind: "{at}"}}]\nmonitor: {{listen: "127.0.0.1:{door}"}}\n')
        with self.daemon(text) as run:
            run.wait_for(lambda pipeline: pipeline["received"] > 0)
            for method, where, body in (("PATCH", "stages/fir", b'{"taps": [2]}'), ("POST", "reload", b"")):
                request = urllib.request.Request(f"http://127.0.0.1:{door}/api/{where}", body, method=method)
                with urllib.request.urlopen(request, timeout=iqd.PATIENCE) as answer:
                    self.assertEqual(answer.status, 200)
            run.wait_for_log("nothing reads fir.out")


class FirstHeader(iqd.SystemTest):
    """A `zmq` source without a rate takes that of the first message."""

    def send(self, socket, array, **header):
        head = {"dtype": array.dtype.str, "shape": array.shape, **header}
        socket.send_multipart([b"t " + json.dumps(head).encode(), array.tobytes()])

    def run_with(self, array, **header):
        path, at = self.folder / "p.yaml", f"ipc://{self.folder}/feed"
        path.write_text(f'source: {{zmq: {{kind: pull, bind: "{at}"}}}}\nblock: 100\n'
                        "stages: [fir: {design: {type: low_pass, cutoff: 100 kHz, transition: 50 kHz}}]\n"
                        "sinks: [{port: fir.out, file: {path: x, overwrite: true}}]\n", encoding="utf-8")
        self.assertEqual(iqd.command("check", path, timeout=5).returncode, 0)
        self.assertIn("rate of the first message", iqd.command("explain", path, timeout=5).stdout)
        socket = zmq.Context.instance().socket(zmq.PUSH)
        self.addCleanup(socket.close, 0)
        socket.connect(at)
        done = threading.Event()

        def feed():
            time.sleep(0.5)
            for n in range(0, 100000, 100):
                if done.is_set():
                    return
                self.send(socket, array, sample=n, **header)
                time.sleep(0.005)

        thread = threading.Thread(target=feed)
        thread.start()
        try:
            return iqd.command("run", path, "--seconds", "1", cwd=self.folder)
        finally:
            done.set()
            thread.join()

    def test_streams_without_a_rate_can_be_recorded(self):
        """Also those that no stage with keys in Hz has made."""
        where = iqd.endpoint()
        for port, stages in (("source", ""), ("rotate.out", "stages: [rotate: {frequency: 1 kHz}]\n")):
            for outlet in ("sinks: [{port: %s, file: {path: x}}]", "sinks: [{port: %s, file: {path: x.wav}}]",
                           "sinks: [{port: %s, file: {path: x.cs16, trigger: {when: level > -20 dB}}}]",
                           f"publish: [{{port: %s, topic: t, bind: \"{where}\", framing: gnuradio-tags}}]"):
                path = self.folder / "p.yaml"
                path.write_text(f'source: {{zmq: {{bind: "ipc://{self.folder}/feed"}}}}\n{stages}{outlet % port}\n',
                                encoding="utf-8")
                done = iqd.command("check", path)
                self.assertEqual(done.returncode, 0, done.stderr)

    def test_it_says_the_rate(self):
        done = self.run_with(np.ones(100, "c8"), sample_rate=2e6)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("waits for the first message", done.stderr)
        meta = json.loads((self.folder / "x.sigmf-meta").read_text(encoding="utf-8"))
        self.assertEqual(meta["global"]["core:sample_rate"], 2e6)

    def test_what_cannot_be_read_is_named(self):
        done = self.run_with(np.ones(100, "c16"), sample_rate=2e6)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("complex128", done.stderr)
        self.assertIn("give `rate`", done.stderr)


class Endings(iqd.SystemTest):
    def test_the_last_status_comes_once(self):
        path = self.folder / "p.yaml"
        path.write_text("source: {generate: {rate: 1 MS/s, pace: true}}\nsinks: [{port: source, file: {path: x, "
                        "overwrite: true}}]\n", encoding="utf-8")
        for seconds in ("1", "2"):
            done = iqd.command("run", path, "--seconds", seconds, "--status", "json", cwd=self.folder)
            uptimes = [json.loads(line)["uptime_s"] for line in done.stdout.splitlines()]
            self.assertTrue(all(b - a > 0.5 for a, b in itertools.pairwise(uptimes)), uptimes)
            done = iqd.command("run", path, "--seconds", seconds, "--status", "table", cwd=self.folder)
            self.assertLess(len(re.findall(r"^ +iqd +streaming", done.stdout, re.MULTILINE)), int(seconds), done.stdout)
            self.assertEqual(done.stdout.count("iqd ran for"), 1, done.stdout)

    def test_an_existing_recording(self):
        path = self.folder / "p.yaml"
        (self.folder / "x.sigmf-data").write_bytes(b"")
        path.write_text("source: {generate: {rate: 1 MS/s}}\nsinks: [{port: source, file: {path: x}}]\n", encoding="utf-8")
        done = iqd.command("check", path, cwd=self.folder)
        self.assertEqual(done.returncode, 2)
        self.assertRegex(done.stderr, r"x\.sigmf-data already exists; set overwrite: true")
        for first in ((path,), ("--rate", "1e6")):
            done = iqd.command("record", *first, "x.sigmf-meta", cwd=self.folder)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertRegex(done.stderr, r"x\.sigmf-data already exists; use --overwrite")
            self.assertNotIn("overwrite: true", done.stderr)


if __name__ == "__main__":
    unittest.main()
