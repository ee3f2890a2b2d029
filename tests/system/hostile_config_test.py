# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""Hostile configurations: each is a problem with its place, or works, and takes little time and memory."""

import json
import os
import subprocess
import tempfile
import time
import unittest
import urllib.error
import urllib.request

import numpy as np

import iqd

MIB = 1 << 20
MOST_SECONDS = 30.0  # on an idle machine; more than that is no longer linear
MOST_MEGABYTES = 400.0


def pipeline(stages, publish="source"):
    return (f"source: {{generate: {{channels: 1, rate: 1 MS/s}}}}\nstages:\n{stages}\n"
            f"publish: [{{port: {publish}, topic: t, bind: \"tcp://127.0.0.1:1\"}}]\n")


def laughs():
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    for i in range(1, 12):
        lines.append(f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]")
    return "\n".join(lines)


# Name: (text, what the problem must contain).
TEXTS = {
    "31 MB of brackets": ("[" * (31 * 1000 * 1000), "is larger than 4 MiB"),
    "4 MB of brackets": ("[" * (4 * MIB - 1), ":1:65: nested more than 64 deep"),
    "4 MB of braces": ("a: 1\nb: " + "{" * (4 * MIB - 100), ":2:68: nested more than 64 deep"),
    "maps too deep": ("a: 1\nb: " + "{b: " * 100 + "1" + "}" * 100, ":2:253: nested more than 64 deep"),
    "aliases that multiply": (laughs(), ":7:15: more than 1000000 values, aliases counted"),
    "a long key": ("source:\n  " + "k" * (3 * MIB) + ": 1\n", ": more than 1 MiB follows"),
    "a long text": ("source:\n  file: \"" + "x" * (3 * MIB) + "\"\n", ": more than 1 MiB follows"),
    "many keys": ("".join(f"k{i}: 1\n" for i in range(300_000)), ":10001:1: more than 10000 keys in a map"),
    "keys twice": ("k: 1\n" * 300_000, "given twice"),
    "unknown keys": ("".join(f"k{i}: 1\n" for i in range(9_999)), "more than 1000 problems"),
    "a list that never ends": ("a: 1\nb: [" + "~," * (2 * MIB - 100), ""),
    "a zero byte": ("a: 1\nb: \0\n", ":2:4: a control character"),
    "Latin-1": (b"a: 1\nb: \xe9\n", ":2:4: this is not UTF-8"),
    "UTF-16": ("a: 1\n".encode("utf-16"), ":1:1: this is not UTF-8"),
    "a huge number": (pipeline("- fft: {size: 99999999999999999999999999}"), ":3:9 stages[0].fft.size: "),
    "a size of 1e308": (pipeline("- fir: {taps: [1], decimation: 1e308}"), ":3:20 stages[0].fir.decimation: "),
    "too many stages": (pipeline("\n".join(f"- conjugate: {{name: s{i}}}" for i in range(20_000))),
                        ":3:1 stages: has 20000 entries; at most 4096 are allowed"),
    "100000 wrong entries": (pipeline("- fir: {taps: [" + "x, " * 100_000 + "1]}"), "more than 1000 problems"),
    "100000 kinds": (pipeline("- preamble_search:\n- packet_estimator: {from: preamble_search.windows}\n"
                              "- equalizer: {kinds: [" + "zf, " * 100_000 + "zf]}"), "stages[2].equalizer.kinds: "),
    "rates without end": (pipeline("\n".join(f"- fir: {{name: s{i}, taps: [1], decimation: 1048573}}" for i in range(9))),
                          ":6:8 stages[3].fir: the ratio of its rate"),
    "blocks without end": (pipeline("\n".join(f"- fir: {{name: s{i}, taps: [1], interpolation: 4096}}"
                                              for i in range(9))), "use a smaller block"),
}


class HostileConfig(iqd.SystemTest):
    def check(self, text, name="a.yaml"):
        """Exit status, output, CPU seconds and megabytes of `iqd check`."""
        path = self.folder / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        with tempfile.TemporaryFile() as said:
            process = subprocess.Popen([iqd.IQD, "check", str(path)], stdout=said, stderr=said, cwd=self.folder)
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            said.seek(0)
            return process.returncode, said.read().decode(), usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1000

    def expect_problem(self, text, wanted):
        code, said, seconds, megabytes = self.check(text)
        self.assertEqual(code, 2, said[:2000])
        self.assertIn(wanted, said if len(said) < MIB else said[-2000:])
        self.assertTrue(said.startswith(str(self.folder / "a.yaml")), said[:200])
        self.assertLess(seconds, MOST_SECONDS)
        if not iqd.SANITIZED:
            self.assertLess(megabytes, MOST_MEGABYTES)

    def test_texts(self):
        for what, (text, wanted) in TEXTS.items():
            with self.subTest(what):
                self.expect_problem(text, wanted)

    def test_what_names_other_files(self):
        os.mkfifo(self.folder / "pipe")
        os.mkdir(self.folder / "folder")
        with open(self.folder / "large", "wb") as f:
            f.truncate(1 << 40)
        header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (%d,), }" % (1 << 37)
        header += b" " * (118 - len(header)) + b"\n"
        with open(self.folder / "large.npy", "wb") as f:
            f.write(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header)
            f.truncate(10 + len(header) + (1 << 40))
        (self.folder / "includes.cu").write_text("#include \"/dev/zero\"\n__device__ float2 f(float2 x) { return x; }\n")
        for what in "pipe", "folder", "/dev/zero", "large", "large.npy", "none":
            for stage in (f"- fir: {{taps: '@{what}'}}", f"- kernel: {{file: '{what}'}}",
                          f"- psk_demapper:\n- ber_meter: {{sequence: '@{what}', from: psk_demapper.packets}}"):
                with self.subTest(what=what, stage=stage):
                    self.expect_problem(pipeline(stage), what)
            with self.subTest(what=what, key="calibration"):
                code, said, seconds, _ = self.check(f"source: {{file: {{path: '{what}', calibration: '{what}'}}}}\n")
                self.assertEqual(code, 2, said)
                self.assertLess(seconds, MOST_SECONDS)
            with self.subTest(what=what, key="token"):
                self.expect_problem(pipeline("[]") + f"monitor: {{listen: '0.0.0.0:1', token: '{what}'}}\n", what)
        self.expect_problem(pipeline("- kernel: {file: includes.cu}"),
                            "includes /dev/zero, which is not a regular file")

    def test_a_pipe_that_nobody_writes(self):
        os.mkfifo(self.folder / "pipe")
        done = iqd.command("check", self.folder / "pipe")
        self.assertEqual((done.returncode, done.stderr), (2, f"{self.folder}/pipe: is empty\n"))

    def test_what_comes_through_a_pipe(self):
        done = iqd.command("check", "/dev/stdin", input=pipeline("- conjugate:"))
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_many_stages_take_linear_time(self):
        def seconds(count, form):
            stages = "\n".join(form.format(i=i, before=f"s{i - 1}" if i else "source") for i in range(count))
            code, said, took, _ = self.check(pipeline(stages))
            self.assertEqual(code, 0, said[:2000])
            return took

        for form in ("- conjugate: {{name: s{i}}}", "- conjugate: {{name: s{i}, from: source}}",
                     "- multiply: {{name: s{i}, from: {{in0: {before}, in1: {before}}}}}",
                     "- dc_block: {{name: s{i}, length: 1}}"):
            with self.subTest(form):
                few, many = seconds(1000, form), seconds(4000, form)
                print(f"{form}: {few:.2f} s for 1000, {many:.2f} s for 4000")
                self.assertLess(many, 10 * few + 2)


class HostileRequests(iqd.SystemTest):
    KEYS = ["[" * 60_000, "{a: " * 16_000, laughs(), "\0", b"\xff\xfe", "", "~", "[]", "x" * 65_000, "{" + "a: 1, " * 9_000 + "}",
            "{" + ", ".join(f"a.k{i}: 1" for i in range(4_500)) + "}", "{taps: [" + "x, " * 20_000 + "1]}",
            "{taps: &a [1], taps.x: *a}", "{taps: 1e999999}", "{taps: '@/dev/zero'}", "{taps: '@pipe'}",
            "{taps: [" + "1" * 60_000 + "]}"]

    def ask(self, method, path, body=None):
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", method=method,
                                         data=body.encode() if isinstance(body, str) else body)
        began = time.monotonic()
        try:
            with urllib.request.urlopen(request, timeout=iqd.PATIENCE) as answer:
                status, said = answer.status, answer.read()
        except urllib.error.HTTPError as error:
            status, said = error.code, error.read()
        self.assertLess(time.monotonic() - began, MOST_SECONDS)
        return status, said

    def peak(self, daemon):
        with open(f"/proc/{daemon.process.pid}/status", encoding="utf-8") as f:
            return next(int(line.split()[1]) for line in f if line.startswith("VmHWM")) / 1000

    def test_bodies_and_reloads(self):
        self.port = iqd.free_port()
        os.mkfifo(self.folder / "pipe")
        good = (pipeline("- fir: {taps: [1, 2]}", "fir.out").replace("127.0.0.1:1\"", f"127.0.0.1:{iqd.free_port()}\"") +
                f"monitor: {{listen: '127.0.0.1:{self.port}'}}\n")
        with self.daemon(good) as daemon:
            daemon.wait_for(lambda line: line["published"] > 0)
            before = self.peak(daemon)
            for body in self.KEYS:
                with self.subTest(body=body[:30]):
                    status, said = self.ask("PATCH", "/api/stages/fir", body)
                    self.assertIn(status, (200, 400, 409, 413, 422), said[:500])
                    self.assertLess(len(said), MIB)
            file = self.folder / "pipeline.yaml"
            for what in "4 MB of brackets", "aliases that multiply", "many keys", "too many stages", "a long text":
                with self.subTest(what):
                    file.write_text(TEXTS[what][0])
                    status, said = self.ask("POST", "/api/reload")
                    self.assertIn(status, (400, 409, 422), said[:500])
            after = self.peak(daemon)
            self.assertEqual(self.ask("GET", "/readyz")[0], 200)
            self.assertEqual(daemon.stop(), 0, daemon.text)
        print(f"peak resident memory: {before:.0f} MB, with all requests {after:.0f} MB")
        if not iqd.SANITIZED:
            self.assertLess(after - before, 2 * MOST_MEGABYTES)


if __name__ == "__main__":
    unittest.main()
