# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""A user's own kernel: on arrays, in a pipeline, mistakes reported with their place, and the cache of compiled code."""

import functools
import json
import os
import re
import shutil
import signal
import unittest
import urllib.error
import urllib.request

import numpy as np

import iqd

SCALE = """// scales
__device__ float2 f(float2 x, float k)
{
  return make_float2(k * x.x, k * x.y);
}
"""
FIR = """__device__ float2 h(const float2* x, float2 w, int n)
{
  float2 s = make_float2(0.0f, 0.0f);
  for (int i = -3; i <= 1; ++i) {
    s.x += (n + i) * (w.x * x[i].x - w.y * x[i].y);
    s.y += (n + i) * (w.x * x[i].y + w.y * x[i].x);
  }
  return s;
}
"""


def noise(n, seed=1):
    r = np.random.default_rng(seed)
    return (r.standard_normal(n) + 1j * r.standard_normal(n)).astype(np.complex64)


@unittest.skipUnless(shutil.which(os.environ.get("CXX", "c++").split()[0]), "no compiler: NO KERNEL WAS TESTED")
class Kernel(iqd.SystemTest):
    def setUp(self):
        super().setUp()
        self.cache = self.folder / "cache"
        self.environment = {**os.environ, "IQD_CACHE_DIR": str(self.cache)}
        self.write("scale.cu", SCALE)
        self.write("fir.cu", FIR)

    def write(self, name, text):
        (self.folder / name).write_text(text, encoding="utf-8")

    def iqd(self, *arguments, code=0):
        done = iqd.command(*arguments, env=self.environment, cwd=self.folder)
        self.assertEqual(done.returncode, code, done.stderr)
        return done

    def execute(self, inputs, config, *arguments, code=0):
        ports = []
        for name, x in inputs.items():
            np.save(self.folder / f"{name}.npy", x)
            ports += ["--in", f"{name}={name}.npy"]
        keys = [word for key in config for word in ("--config", key)]
        done = self.iqd("exec", "kernel", *keys, *ports, "--out", "out=y.npy", "--backend", "cpu", *arguments, code=code)
        return np.load(self.folder / "y.npy") if code == 0 else done.stderr

    def pipeline(self, kernel, more="", **keys):
        port = keys.get("port", "kernel.out")
        self.write("p.yaml", f"""source:
  generate: {{rate: 1e6, samples: 4096}}
stages:
{more}  - kernel: {kernel}
publish:
  - {{port: {port}, topic: t, bind: "tcp://127.0.0.1:{iqd.free_port()}"}}
""")

    def test_one_element_after_the_other(self):
        for n in (0, 1, 63, 64, 3001):
            x = noise(n)
            for block in ([], ["--block", "1"], ["--block", "100"]):
                y = self.execute({"in": x}, ["file=scale.cu", "params.k=2.5"], *block)
                np.testing.assert_array_equal(y, np.float32(2.5) * x)

    def test_a_window_has_zeros_where_there_is_nothing(self):
        x, w = noise(3001), 0.3 - 0.1j
        keys = ["file=fir.cu", "function=h", "past=3", "future=1", "params={w: [0.3, -0.1], n: 7}"]
        padded = np.concatenate([np.zeros(3), x, np.zeros(1)]).astype(np.complex128)
        expected = sum((7 + i) * w * padded[3 + i:3 + i + len(x)] for i in range(-3, 2))
        whole = self.execute({"in": x}, keys)
        self.assertLess(np.abs(whole - expected).max(), 1e-6 * np.abs(expected).max())
        for block in (1, 7, 64, 1000):
            np.testing.assert_array_equal(self.execute({"in": x}, keys, "--block", block), whole)

    def test_two_inputs(self):
        self.write("add.cu", "__device__ int f(int a, int b, int n) { return a + n * b; }")
        a, b = np.arange(100, dtype="<i4"), np.arange(100, 200, dtype="<i4")
        y = self.execute({"in0": a, "in1": b}, ["file=add.cu", "in=[i32, i32]", "out=i32", "params.n=-3"])
        np.testing.assert_array_equal(y, a - 3 * b)

    def test_not_a_number_goes_on(self):
        self.write("inverse.cu", "__device__ float f(float x) { return 1.0f / x; }")
        x = np.array([0, np.nan, np.inf, 4], np.float32)
        y = self.execute({"in": x}, ["file=inverse.cu", "in=[f32]", "out=f32"])
        np.testing.assert_array_equal(y, np.array([np.inf, np.nan, 0, 0.25], np.float32))

    def told(self, kernel, *words, start):
        """`check` and `run` report these words. `start`: how a line begins; `@key` is the key's place."""
        self.pipeline(kernel)
        start = re.sub(r"^@(\w+)", lambda key: f"p.yaml:4:{len('  - kernel: ') + kernel.index(key[1]) + 1}", start)
        for verb in ("check", "run"):
            stderr = self.iqd(verb, "p.yaml", code=2).stderr
            for word in words:
                self.assertIn(word, stderr)
            self.assertRegex(stderr, "(?m)^" + re.escape(start))

    def test_what_is_wrong_has_its_place(self):
        self.write("bad.cu", "__device__ float2 f(float2 x)\n{\n  x.x = y;\n  return x;\n}\n")
        self.told("{file: bad.cu}", "'y'", start="bad.cu:3:9 stages[0].kernel: ")
        self.told("{file: none.cu}", "cannot be read", start="@file stages[0].kernel.file: none.cu")
        self.told("{file: scale.cu, params: {k: 1}, out: f32}", "expected __device__ float f(float2 x, float k)",
                  start="scale.cu:2 stages[0].kernel: f returns float2")
        self.told("{file: scale.cu}", "parameter 'k' of f has no value", start="p.yaml:4:13 stages[0].kernel.params: ")
        self.told("{file: scale.cu, params: {k: 1, gain: 2}}", "no parameter of this name",
                  start="@gain stages[0].kernel.params.gain")
        self.told("{file: scale.cu, function: scale, params: {k: 1}}", "there is f",
                  start="@function stages[0].kernel.function")
        self.write("open.cu", "__device__ float2 f(float2 x)\n{\n  if (x.x > 0) {\n  return x;\n}\n")
        self.told("{file: open.cu}", "never closed", start="open.cu:2 stages[0].kernel: ")
        self.assertEqual(len(self.iqd("check", "p.yaml", code=2).stderr.splitlines()), 1)
        (self.folder / "sub").mkdir()
        self.told("{file: sub/../open.cu}", start="open.cu:2 ")
        self.write("bare.cu", "float2 f(float2 x) { return x; }\n")
        self.told("{file: bare.cu}", "lacks __device__", start="bare.cu:1 ")
        self.told("{file: bare.cu, backend: cuda}", "lacks __device__", start="bare.cu:1 ")
        self.write("none.cu", "__device__ float2 f(float2 x) {}\n")
        self.told("{file: none.cu}", "return", start="none.cu:1")
        self.told("{code: \"__device__ float2 f(float2 x) { return 1 +; }\"}", start="p.yaml:4:")

    def test_code_in_the_pipeline_has_its_place(self):
        self.pipeline("\n      code: |\n        __device__ float2 f(float2 x)\n        {\n          return y;\n        }")
        self.assertRegex(self.iqd("check", "p.yaml", code=2).stderr, r"^p\.yaml:8:18 stages\[0\]\.kernel: 'y'")
        self.pipeline('{code: "__device__ float2 f(float2 x) { return y; }"}')
        column = 1 + (self.folder / "p.yaml").read_text(encoding="utf-8").splitlines()[3].index("y; }")
        self.assertRegex(self.iqd("check", "p.yaml", code=2).stderr, f"^p\\.yaml:4:{column} ")

    def test_two_inputs_are_counted(self):
        stderr = self.execute({"in0": noise(4), "in1": noise(4)}, ["file=scale.cu", "in=[cf32, cf32]", "params.k=1"],
                              code=2)
        self.assertIn("__device__ float2 f(float2 x0, float2 x1, float k)", stderr)

    def test_files_are_found_beside_the_pipeline(self):
        self.pipeline("{file: scale.cu, params: {k: 2}}")
        done = iqd.command("check", self.folder / "p.yaml", env=self.environment, cwd="/")
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_in_a_pipeline(self):
        self.pipeline("{file: scale.cu, params: {k: 2}}")
        done = self.iqd("run", "p.yaml", "--status", "json")
        self.assertEqual(json.loads(done.stdout.splitlines()[-1])["pipelines"][0]["published"], 4096)

    def test_over_http_values_change_and_code_does_not(self):
        port = iqd.free_port()
        text = f"""name: p
source: {{generate: {{rate: 1e6, pace: true}}}}
stages:
  - kernel: {{file: scale.cu, params: {{k: 2}}}}
publish:
  - {{port: kernel.out, topic: t, bind: "{iqd.endpoint()}"}}
monitor: {{listen: "127.0.0.1:{port}"}}
"""

        patch = functools.partial(iqd.patch, port, "kernel")

        self.write("other.cu", SCALE + "\n")
        with self.daemon(text, environment=self.environment) as daemon:
            daemon.wait_for(lambda p: p["published"] > 0)
            # On a device, values change between two blocks.
            soon = "kernel.params changed " + ("between two blocks" if "on cuda:" in daemon.text else "at once")
            self.assertIn(soon, patch(params={"k": 3}))
            self.assertIn(soon, patch(**{"params.k": 8}))
            # The response reveals nothing about files or their contents.
            for key, value in (("file", "other.cu"), ("file", "none.cu"), ("file", "/etc/passwd"), ("file", "."),
                               ("function", "g"), ("code", SCALE), ("past", 3), ("in", ["f32"]), ("out", "f32")):
                self.assertEqual(json.loads(patch(**{key: value}))["problems"],
                                 [f"kernel.{key} cannot be set live: change it in the file and reload"])
            self.assertIn("is not a number", patch(params={"k": "fast"}))
            # A reload reads a changed file; a file with a mistake changes nothing.
            self.write("scale.cu", SCALE.replace("k * x.x", "k * x.q"))
            self.assertIn(soon, patch(params={"k": 4}))
            daemon.signal(signal.SIGHUP)
            daemon.wait_for_log("reload refused: ")
            self.write("scale.cu", SCALE.replace("k * x.x", "-k * x.x"))
            daemon.signal(signal.SIGHUP)
            daemon.wait_for_log("kernel.file changed between two blocks")
            self.assertEqual(daemon.stop(), 0, daemon.text)

    def test_where_there_is_no_compiler_that_is_said(self):
        np.save(self.folder / "in.npy", noise(10))
        done = iqd.command("exec", "kernel", "--config", "file=scale.cu", "--config", "params.k=2", "--in", "in=in.npy",
                           "--out", "out=y.npy", "--backend", "cpu", cwd=self.folder,
                           env={**self.environment, "PATH": "/nowhere", "CXX": ""})
        self.assertEqual(done.returncode, 1)
        self.assertIn("apt install g++", done.stderr)
        self.pipeline("{file: scale.cu, params: {k: 2}, backend: cpu}")
        for verb in ("check", "run"):
            done = iqd.command(verb, "p.yaml", cwd=self.folder, env={**self.environment, "PATH": "/nowhere", "CXX": ""})
            self.assertEqual(done.returncode, 1)
            self.assertIn("apt install g++", done.stderr)

    def test_a_division_by_zero_names_the_file(self):
        self.write("divide.cu", "__device__ int f(int x, int k) { return x / k; }\n")
        np.save(self.folder / "in.npy", np.arange(4, dtype="<i4"))
        done = iqd.command("exec", "kernel", "--config", "file=divide.cu", "--config", "params.k=0", "--config", "in=[i32]",
                           "--config", "out=i32", "--in", "in=in.npy", "--out", "y.npy", "--backend", "cpu",
                           env=self.environment, cwd=self.folder)
        self.assertEqual(done.returncode, -signal.SIGFPE)
        self.assertIn("iqd: divide.cu: f divides a whole number by zero", done.stderr)
        self.write("divide.cu", "__device__ float2 f(float2 x, int k) { return make_float2(int(x.x) / k, 0); }\n")
        self.pipeline("{file: divide.cu, params: {k: 0}, backend: cpu}", "  - conjugate: {}\n")
        done = iqd.command("run", "p.yaml", env=self.environment, cwd=self.folder)
        self.assertEqual(done.returncode, -signal.SIGFPE)
        self.assertIn("iqd: divide.cu: f of stages[1].kernel divides", done.stderr)

    def test_one_that_never_returns_is_named(self):
        self.write("loop.cu", "__device__ float2 f(float2 x) {\n  volatile float go = 1;\n  while (go > 0) x.x = go;\n"
                              "  return x;\n}\n")
        port = iqd.free_port()
        text = f"""name: p
source: {{generate: {{rate: 1e6, pace: true}}}}
backend: cpu
realtime: {{hang: 1 s}}
stages:
  - kernel: {{name: looping, file: loop.cu}}
publish:
  - {{port: looping.out, topic: t, bind: "{iqd.endpoint()}"}}
monitor: {{listen: "127.0.0.1:{port}"}}
"""

        with self.daemon(text, environment=self.environment) as daemon:
            daemon.wait_for_log("p: stage 'looping' has spent 0.5 s on one block")
            with self.assertRaises(urllib.error.HTTPError) as asked:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz")
            with asked.exception as answer:
                self.assertEqual((answer.code, answer.read().decode()), (503, "p: stage 'looping' does not return\n"))
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/status") as answer:
                self.assertEqual(json.load(answer)["pipelines"][0]["slow_stage"], "looping")
            self.assertEqual(daemon.stop(), 1)
            self.assertIn("stage 'looping' does not stop", daemon.text)
            self.assertNotIn("the radio does not", daemon.text)

    def test_what_was_compiled_is_kept(self):
        x, keys = noise(10), ["file=scale.cu", "params.k=3"]
        count = self.folder / "count"
        compiler = self.folder / "counting"
        compiler.write_text(f"#!/bin/sh\necho x >> {count}\nexec c++ \"$@\"\n", encoding="utf-8")
        compiler.chmod(0o755)
        self.environment["CXX"] = str(compiler)

        def runs():
            np.testing.assert_array_equal(self.execute({"in": x}, keys), 3 * x)
            return len(count.read_text(encoding="utf-8").split())

        self.assertEqual([runs(), runs()], [1, 1])
        (kept,) = (self.cache / "host").iterdir()
        for rubbish in (b"", b"rubbish", kept.read_bytes()[:-1]):
            kept.write_bytes(rubbish)
            before = runs()
            self.assertEqual(runs(), before)
        self.assertEqual(runs(), 4)
        self.write("scale.cu", SCALE + "\n// changed\n")
        self.assertEqual(runs(), 5)
        shutil.rmtree(self.cache)
        self.cache.write_text("no folder", encoding="utf-8")
        self.assertEqual([runs(), runs()], [6, 7])

    def test_bench(self):
        done = self.iqd("bench", "kernel", "--config", "file=fir.cu", "--config", "function=h", "--config", "past=3",
                        "--config", "future=1", "--config", "params={w: 1, n: 2}", "--backend", "cpu", "--json",
                        "--seconds", "0.05")
        self.assertIn("samples/s", done.stdout)


if __name__ == "__main__":
    unittest.main()
