# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""docs/way-of-a-sample.md names functions and files that exist, and no file twice."""

import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "way-of-a-sample.md").read_text(encoding="utf-8")
ROW = re.compile(r"^\| \d+ \| (?P<what>.+?) \| `(?P<function>[\w:]+)` \| `(?P<file>[\w/.]+)` \| `(?P<thread>[\w-]+)` \|",
                 re.MULTILINE)
FUNCTION = re.compile(r"`([A-Z]\w+)::(\w+)`")


def sources(*folders):
    for folder in folders:
        for path in (ROOT / folder).rglob("*"):
            if path.suffix in {".cpp", ".hpp", ".cu"} and not path.stem.endswith("_test"):
                yield path


def defines(text, owner, name):
    """Whether a source defines a function of a class, in it or outside of it."""
    in_class = re.search(rf"^class {owner}\b.*?\{{.*?^  [^\n/]*\b{name}\(", text, re.MULTILINE | re.DOTALL)
    return bool(in_class) or re.search(rf"\b{owner}::{name}\(", text) is not None


class WayOfASample(unittest.TestCase):
    def test_twelve_rows_each_in_a_file_of_its_own(self):
        rows = list(ROW.finditer(PAGE))
        self.assertEqual(len(rows), 12)
        files = [row["file"] for row in rows]
        self.assertEqual(len(set(files)), len(files), files)

    def test_the_functions_of_the_rows_stand_in_their_files(self):
        for row in ROW.finditer(PAGE):
            owner, name = row["function"].split("::")
            with self.subTest(row["function"]):
                text = (ROOT / row["file"]).read_text(encoding="utf-8")
                self.assertTrue(defines(text, owner, name), row["file"])

    def test_threads_in_one_piece(self):
        threads = [row["thread"] for row in ROW.finditer(PAGE)]
        changes = [b for a, b in zip([None] + threads, threads) if a != b]
        self.assertEqual(changes, ["iqd-radio", "iqd-lane-N", "iqd-publish"])

    def test_every_function_named_on_the_page_exists(self):
        texts = [path.read_text(encoding="utf-8") for path in sources("pipeline", "publish", "radio", "gpu", "base")]
        for owner, name in FUNCTION.findall(PAGE):
            with self.subTest(f"{owner}::{name}"):
                self.assertTrue(any(defines(text, owner, name) or
                                    (f"class {owner}::{name}" in text or f"{owner}::{name} " in text)
                                    for text in texts))


if __name__ == "__main__":
    unittest.main()
