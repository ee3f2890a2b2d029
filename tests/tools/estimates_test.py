# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""The built-in estimates of `backend: auto` are those of the pages that they come from."""

import pathlib
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
FILES = ["bench/blocks/estimates.py", "bench/blocks/README.md", "docs/performance.md", "pipeline/placing/estimates.def"]


class Estimates(unittest.TestCase):
    def check(self, root):
        return subprocess.run([root / FILES[0], "--check"], capture_output=True, text=True, check=False)

    def test_they_are_current(self):
        done = self.check(ROOT)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_a_figure_that_was_changed_is_noticed(self):
        with tempfile.TemporaryDirectory(prefix="iqd-test-") as folder:
            root = pathlib.Path(folder)
            for name in FILES:
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / name, root / name)
            page = root / FILES[1]
            text = page.read_text(encoding="utf-8")
            self.assertIn("| `fir` | 17.3 /", text)
            page.write_text(text.replace("| `fir` | 17.3 /", "| `fir` | 99.9 /"), encoding="utf-8")
            done = self.check(root)
            self.assertEqual(done.returncode, 1)
            self.assertIn("is not current", done.stderr)


if __name__ == "__main__":
    unittest.main()
