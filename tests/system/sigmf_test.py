# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""sigmf_check, which is tested too, and inspectrum accept recordings of every kind."""

import copy
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

import iqd
import sigmf_check

# The types that inspectrum 0.2.3 opens, of those that iqd records.
INSPECTRUM_KNOWS = {"cf32_le", "ci16_le", "rf32_le", "ri16_le", "ri8"}
GOOD = {"global": {"core:datatype": "cf32_le", "core:version": "1.2.5", "core:sample_rate": 1e6,
                   "core:extensions": [{"name": "lab", "version": "1.0.0", "optional": True}], "lab:bench": 3},
        "captures": [{"core:sample_start": 0, "core:global_index": 5, "core:datetime": "2025-03-31T12:00:00.5Z"},
                     {"core:sample_start": 40, "core:global_index": 500, "core:datetime": "2025-03-31T12:00:01Z"}],
        "annotations": [{"core:sample_start": 3, "core:sample_count": 4}]}
# Mistakes: (path in the metadata, value).
MISTAKES = [
    (("global", "core:datatype"), "cf32"), (("global", "core:datatype"), "ci8_le"), (("global", "core:version"), "1.2"),
    (("global", "core:sample_rate"), 0), (("global", "core:sample_rate"), "1e6"), (("global", "core:hw"), None),
    (("global", "core:num_channels"), 0), (("global", "core:num_channels"), True), (("global", "core:colour"), "red"),
    (("global", "bare"), 1), (("global", "other:key"), 1), (("global", "core:dataset"), "x.bin"),
    (("captures",), {}), (("captures", 0), 7), (("captures", 0, "core:sample_start"), 41),
    (("captures", 1, "core:sample_start"), -1), (("captures", 1, "core:sample_start"), 41.0),
    (("captures", 1, "core:sample_start"), 0), (("captures", 1, "core:sample_start"), 101),
    (("captures", 1, "core:global_index"), 44), (("captures", 0, "core:frequency"), 2e12),
    (("captures", 0, "core:frequency"), float("nan")), (("captures", 0, "core:datetime"), "2025-03-31T12:00:00+00:00"),
    (("captures", 0, "core:datetime"), "2025-02-29T12:00:00Z"),
    (("captures", 0, "core:datetime"), "2025-03-31 12:00:00Z"),
    (("annotations", 0, "core:sample_count"), -4), (("annotations", 0, "core:uuid"), "me"), (("extra",), {}),
]


class Checker(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="iqd-test-")
        self.addCleanup(self.folder.cleanup)
        self.stem = pathlib.Path(self.folder.name) / "r"

    def problems(self, meta, size=800):
        self.stem.with_suffix(".sigmf-meta").write_text(meta if isinstance(meta, str) else json.dumps(meta), "utf-8")
        self.stem.with_suffix(".sigmf-data").write_bytes(bytes(size))
        return sigmf_check.problems(self.stem)

    def test_what_is_right(self):
        self.assertEqual(self.problems(GOOD), [])
        self.assertEqual(self.problems({**GOOD, "captures": [], "annotations": []}), [])

    def test_each_mistake_is_found(self):
        for place, value in MISTAKES:
            meta = copy.deepcopy(GOOD)
            x = meta
            for key in place[:-1]:
                x = x[key]
            x[place[-1]] = value
            self.assertEqual(len(self.problems(meta)), 1, (place, value, self.problems(meta)))

    def test_what_is_missing(self):
        for place in (("global",), ("captures",), ("annotations",), ("global", "core:datatype"),
                      ("global", "core:version"), ("captures", 0, "core:sample_start")):
            meta = copy.deepcopy(GOOD)
            x = meta
            for key in place[:-1]:
                x = x[key]
            del x[place[-1]]
            self.assertEqual(len(self.problems(meta)), 1, place)
        self.assertEqual(len(self.problems("{")), 1)
        self.assertEqual(len(self.problems(GOOD, 801)), 1)
        self.stem.with_suffix(".sigmf-data").unlink()
        self.assertEqual(len(sigmf_check.problems(self.stem)), 1)


def opens(program, path, folder):
    """Whether inspectrum opens the recording: it then maps the samples. It shows errors only in a window."""
    environment = {**os.environ, "QT_QPA_PLATFORM": "offscreen", "XDG_RUNTIME_DIR": str(folder), "HOME": str(folder)}
    with subprocess.Popen([program, str(path)], env=environment, stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL) as process:
        try:
            ends = time.monotonic() + iqd.PATIENCE
            while time.monotonic() < ends and process.poll() is None:
                if ".sigmf-data" in pathlib.Path(f"/proc/{process.pid}/maps").read_text(encoding="utf-8"):
                    return True
                time.sleep(0.01)
            return False
        finally:
            process.kill()


class Recordings(iqd.SystemTest):
    def record(self, name, stages="", port="source", args="", channels="[0]", source=""):
        stem = self.folder / name
        text = (f"source: {{soapy: {{args: \"driver=iqdsim{args}\", rate: 1e6, frequency: 100 MHz, "
                f"channels: {channels}{source}}}}}\nblock: 4096\nstages: [{stages}]\n"
                f"sinks:\n  - port: {port}\n    file: {{path: {stem}, author: \"A \\\"B\\\" é\", description: x, "
                f"hw: y}}\n")
        with self.daemon(text, "--seconds", 0.4) as daemon:
            self.assertEqual(daemon.wait(), 0, daemon.text)
        sigmf_check.assert_valid(stem)
        self.assertGreater(stem.with_suffix(".sigmf-data").stat().st_size, 0)
        return stem

    def test_all_kinds(self):
        stems = [self.record("sc16"), self.record("cf32", source=", format: cf32"),
                 self.record("two", channels="[0, 1]"), self.record("gaps", args=",lose_every=10000,lose=700"),
                 self.record("fir", "fir: {taps: [1], decimation: 7}", "fir.out", ",overflow_every=50000"),
                 self.record("f32", "complex_to_mag: {}", "complex_to_mag.out")]
        stems += [self.record(kind, f"complex_to_mag: {{}}, convert: {{dtype: {kind}}}", "convert.out")
                  for kind in ("i32", "i16", "i8")]
        done = subprocess.run([sys.executable, sigmf_check.__file__, *stems], capture_output=True, text=True,
                              check=False)
        self.assertEqual((done.returncode, done.stdout), (0, f"{len(stems)} recordings: valid\n"), done.stderr)
        program = shutil.which("inspectrum")
        if program is None:
            self.skipTest("NOT TESTED: inspectrum is not installed; everything before passed")
        for stem in stems:
            meta = stem.with_suffix(".sigmf-meta")
            kind = json.loads(meta.read_text(encoding="utf-8"))["global"]["core:datatype"]
            if kind in INSPECTRUM_KNOWS:
                self.assertTrue(opens(program, meta, self.folder), stem)


if __name__ == "__main__":
    unittest.main()
