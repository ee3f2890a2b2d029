# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""Runs every snippet of docs/python.md, in order, as a reader would.

A snippet of YAML, and one of Python whose first line is `# name.py`, is saved as the file that the text above it or
that line names. All other snippets in Python run in one session."""

import os
import pathlib
import re
import tempfile
import unittest

import numpy as np

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "python.md"
SNIPPET = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def snippets(text):
    """(line, language, code, name of the file or None) of each snippet."""
    for found in SNIPPET.finditer(text):
        language, code = found.groups()
        above = text[:found.start()].rstrip().rpartition("\n")[2]
        name = re.match(r"# (\w+\.py)\n", code) if language == "python" else re.search(r"`([\w.]+\.ya?ml)`", above)
        yield text.count("\n", 0, found.start()) + 2, language, code, name and name.group(1)


class Page(unittest.TestCase):
    def test_every_snippet_runs(self):
        text = PAGE.read_text(encoding="utf-8")
        session = {"__name__": "session"}
        ran = 0
        self.assertNotIn("PLACEHOLDER", text)
        self.addCleanup(os.chdir, os.getcwd())
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            for line, language, code, name in snippets(text):
                if name:
                    pathlib.Path(name).write_text(code, encoding="utf-8")
                elif language == "python":
                    if "matplotlib" in code and not has_matplotlib():
                        continue
                    exec(compile("\n" * (line - 1) + code, str(PAGE), "exec"), session)
                    ran += 1
            os.chdir("/")
        self.assertGreaterEqual(ran, 10)


def has_matplotlib():
    os.environ.setdefault("MPLBACKEND", "agg")
    try:
        import matplotlib  # pylint: disable=unused-import,import-outside-toplevel
    except ImportError:
        return False
    return True


if __name__ == "__main__":
    np.seterr(all="ignore")
    unittest.main()
