# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""`iqd tune FILE` measures a file's stages, with and without a radio, and `iqd explain` uses what it stored. What needs a
GPU is skipped without one. $IQD is the program."""

import os
import pathlib
import re
import subprocess
import tempfile
import unittest

import iqd

NOISE = "source: {generate: {rate: 1 MS/s}}\n"
NO_RADIO = 'source: {soapy: {args: "driver=none_such", rate: 1 MS/s, frequency: 100 MHz}}\n'
STAGES = """block: 4096
stages:
  - multiply_const: {value: [2, 0]}
  - fir: {taps: [1, 2, 1]}
  - spectrum: {size: 1024}
publish:
  - {port: spectrum, topic: a, bind: "ipc:///tmp/iqd-tune-test"}
"""


class Tune(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory(prefix="iqd-test-")
        self.addCleanup(holder.cleanup)
        self.folder = pathlib.Path(holder.name)
        self.state = self.folder / "state"

    def iqd(self, *arguments):
        environment = dict(os.environ, STATE_DIRECTORY=str(self.state))
        done = subprocess.run([iqd.IQD, *arguments], cwd=self.folder, env=environment, capture_output=True, text=True,
                              timeout=120, check=False)
        return done.returncode, done.stdout, done.stderr

    def file(self, text):
        path = self.folder / "x.yaml"
        path.write_text(text, encoding="utf-8")
        return str(path)

    def has_device(self):
        return '"cuda:0"' in self.iqd("probe", "--json")[1]

    def stored(self):
        return {path.name: path.read_text(encoding="utf-8") for path in self.state.glob("*.yaml")}

    def test_times_of_the_cpu(self):
        code, out, err = self.iqd("tune", self.file(NOISE + STAGES), "--cpu")
        self.assertEqual(code, 0, err)
        self.assertIn("samples of its source", out)
        for stage in ("multiply_const", "fir", "spectrum", "a block"):
            self.assertRegex(out, rf"(?m)^  {stage} +[0-9.]+ +-")
        (text,) = self.stored().values()
        for name in ("multiply_const-4096-", "fir-4096-", "spectrum-4096-", "block-block: "):
            self.assertIn(f"\n  {name}", text)

    def test_other_blocks_are_added(self):
        path = self.file(NOISE + STAGES)
        self.assertEqual(self.iqd("tune", path, "--cpu", "--block", "2048")[0], 0)
        self.assertEqual(self.iqd("tune", path, "--cpu", "--block", "8192", "--noise")[0], 0)
        (text,) = self.stored().values()
        self.assertIn("fir-2048-", text)
        self.assertIn("fir-8192-", text)
        self.assertNotIn("fir-4096-", text)

    def test_a_radio_that_is_away_is_replaced_by_noise(self):
        code, out, err = self.iqd("tune", self.file(NO_RADIO + STAGES), "--cpu", "--dry-run")
        self.assertEqual(code, 0, err)
        self.assertIn("blocks of 4096, noise: ", out)
        self.assertEqual(self.stored(), {})

    def test_a_stream_that_is_not_known(self):
        path = self.file('source: {zmq: {connect: "ipc:///tmp/iqd-tune-nobody", topic: a}}\n' + STAGES)
        code, _, err = self.iqd("tune", path, "--cpu")
        self.assertEqual(code, 1)
        self.assertIn("not known before its first message", err)

    def test_only_one_pipeline(self):
        text = "pipelines:\n" + "".join(
            f"  - name: {name}\n" + "".join(f"    {line}\n" for line in
                                            (NOISE + STAGES.replace("test", name)).splitlines()) for name in "pq")
        path = self.file(text)
        code, out, err = self.iqd("tune", path, "--cpu", "--dry-run", "--pipeline", "q")
        self.assertEqual(code, 0, err)
        self.assertIn("\nq: blocks", out)
        self.assertNotIn("\np: blocks", out)
        code, _, err = self.iqd("tune", path, "--cpu", "--pipeline", "r")
        self.assertEqual(code, 2)
        self.assertIn("there is no pipeline 'r'; available: p, q", err)

    def test_equal_stages_have_one_time(self):
        head, tail = STAGES.split("  - spectrum")
        twice = NOISE + head + "  - fir: {name: again, taps: [1, 2, 1]}\n  - spectrum" + tail
        text = "pipelines:\n" + "".join(
            f"  - name: {name}\n" + "".join(f"    {line}\n" for line in twice.replace("test", name).splitlines())
            for name in "pq")
        code, out, err = self.iqd("tune", self.file(text), "--cpu")
        self.assertEqual(code, 0, err)
        times = re.findall(r"(?m)^  (?:fir|again) +([0-9.]+) ", out)
        self.assertEqual((len(times), len(set(times))), (4, 1), out)
        (text,) = self.stored().values()
        self.assertEqual(text.count("\n  fir-4096-"), 1)

    def test_times_hold_for_one_transfer(self):
        for line in ("", "transfer: copy\n"):
            self.assertEqual(self.iqd("tune", self.file(NOISE + line + STAGES), "--cpu")[0], 0)
        (text,) = self.stored().values()
        self.assertEqual(text.count("\n  fir-4096-"), 2)

    def test_what_is_not_placed(self):
        code, out, _ = self.iqd("tune", self.file(NOISE + "backend: cpu\n" + STAGES), "--cpu")
        self.assertEqual(code, 0)
        self.assertIn("nothing to place: the file says which backend it uses", out)
        code, out, _ = self.iqd("tune", self.file(NOISE + "gpu: {share: 16 SM}\n" + STAGES), "--cpu")
        self.assertEqual(code, 0)
        self.assertIn("nothing to place: it has a part of the GPU for itself", out)
        two = STAGES.replace("size: 1024", "size: 1024, backend: 'cuda:1'").replace("2, 1]", "2, 1], backend: 'cuda:0'")
        code, out, _ = self.iqd("tune", self.file(NOISE + two), "--cpu")
        self.assertEqual(code, 0)
        self.assertIn("nothing to place: its stages are on several devices", out)
        self.assertEqual(self.stored(), {})

    def test_mistakes(self):
        code, _, err = self.iqd("tune", self.file(NOISE + STAGES.replace("taps", "tabs")), "--cpu")
        self.assertEqual(code, 2)
        self.assertIn("unknown key (did you mean 'taps'?)", err)
        code, _, err = self.iqd("tune", "--block", "4096")
        self.assertEqual(code, 2)
        self.assertIn("need the file of a pipeline", err)
        code, _, err = self.iqd("tune", self.file(NOISE + STAGES), "--convolution", "100x10x1")
        self.assertEqual(code, 2)

    def test_without_a_gpu(self):
        if self.has_device():
            self.skipTest("there is a GPU")
        path = self.file(NOISE + STAGES)
        code, _, err = self.iqd("tune", path)
        self.assertEqual(code, 1)
        self.assertIn("backend: cuda:0: ", err)
        code, out, _ = self.iqd("explain", path)
        self.assertEqual(code, 0)
        self.assertNotIn("placed on", out)

    def test_places_by_measured_times(self):
        if not self.has_device():
            self.skipTest("there is no GPU")
        path = self.file(NOISE + STAGES)
        code, out, _ = self.iqd("explain", path)
        self.assertEqual(code, 0)
        self.assertRegex(out, r"(?m)^  fir +(cpu|cuda:0) +estimated .* would take ")
        code, out, err = self.iqd("tune", path)
        self.assertEqual(code, 0, err)
        self.assertEqual(len(self.stored()), 2)
        code, out, _ = self.iqd("explain", path)
        self.assertEqual(code, 0)
        self.assertIn("(by measured times a block takes ", out)
        for stage in ("multiply_const", "fir", "spectrum"):
            self.assertRegex(out, rf"(?m)^  {stage} +(cpu|cuda:0) +measured [0-9.]+ us; .* would take ")
        for name, text in self.stored().items():
            (self.state / name).write_text(text.replace("kernels: ", "kernels: 0"), encoding="utf-8")
        self.assertIn("belongs to another driver or build", self.iqd("explain", path)[1])


if __name__ == "__main__":
    unittest.main()
