# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""The manual pages: man accepts them, whatis finds them, and what they name exists."""

import os
import pathlib
import re
import subprocess
import tempfile
import unittest

import iqd

PAGES = sorted((iqd.ROOT / "docs/man").iterdir())
COMMANDS = [page for page in PAGES if page.name.startswith("iqd-")]
SECTIONS = ["NAME", "SYNOPSIS", "DESCRIPTION", "ARGUMENTS", "OPTIONS", "SIGNALS", "ENVIRONMENT", "FILES", "EXIT STATUS",
            "EXAMPLES", "SEE ALSO"]


def plain(text):
    """Roff without fonts and escapes."""
    text = re.sub(r"\\f[BIP]", "", text.replace(r"\-", "-").replace(r"\(aq", "'").replace(r"\e", "\\"))
    return re.sub(r"\\[(](ti|ha)", lambda sign: {"ti": "~", "ha": "^"}[sign[1]], text)


def examples(page):
    """The commands of a page's EXAMPLES; a line that ends in \\ continues in the next one."""
    text = page.read_text(encoding="utf-8").partition(".SH EXAMPLES\n")[2].partition(".SH")[0]
    blocks = plain("".join(re.findall(r"^\.nf\n(.*?)^\.fi$", text, re.MULTILINE | re.DOTALL)))
    return blocks.replace("\\\n", " ").splitlines()


class Manual(unittest.TestCase):
    def test_man_has_no_complaint(self):
        environment = {**os.environ, "LC_ALL": "C.UTF-8", "MANROFFSEQ": "", "MANWIDTH": "80"}
        for page in PAGES:
            with self.subTest(page=page.name):
                done = subprocess.run(["man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z", page], env=environment,
                                      stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
                self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_whatis_finds_each_page_by_its_name(self):
        done = subprocess.run(["lexgrog", *PAGES], capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        found = re.findall(r'^(\S+): "(\S+) - (\S.*)"$', done.stdout, re.MULTILINE)
        self.assertEqual([(pathlib.Path(path).stem, path) for path, _, _ in found],
                         [(name, path) for path, name, _ in found])
        self.assertEqual(len(found), len(PAGES))

    def test_the_pages_of_commands_have_the_same_sections(self):
        for page in COMMANDS:
            with self.subTest(page=page.name):
                found = re.findall(r"^\.SH (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
                self.assertEqual(found, [each for each in SECTIONS if each in found])
                self.assertLessEqual({"NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXIT STATUS", "EXAMPLES",
                                      "SEE ALSO"}, set(found))

    def test_what_the_pages_refer_to_exists(self):
        there = {(page.stem, page.suffix[1:]) for page in PAGES}
        for page in PAGES:
            text = plain(page.read_text(encoding="utf-8"))
            named = set(re.findall(r"^\.BR (iqd\S*) \((\d)\)", text, re.MULTILINE))
            self.assertEqual(named - there, set(), page.name)
            for path in re.findall(r"docs/[\w-]+\.md", text):
                self.assertTrue((iqd.ROOT / path).is_file(), f"{page.name}: {path}")

    def test_examples_use_options_that_exist(self):
        for page in PAGES:
            for line in examples(page):
                for name, rest in re.findall(r"\biqd ([a-z]+)\b([^|;&]*)", line.split("#")[0]):
                    with self.subTest(page=page.name, line=line):
                        text = iqd.command(name, "--help").stdout
                        self.assertEqual(set(re.findall(r"(?<!\S)--[a-z-]+", rest)) -
                                         set(re.findall(r"--[a-z-]+", text.partition("Options:")[2])), set())

    def test_each_page_of_a_command_has_an_example_of_it(self):
        for page in COMMANDS:
            self.assertIn(page.stem.replace("-", " "), "\n".join(examples(page)), page.name)

    def test_the_example_of_a_file_is_right(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "first.yaml"
            path.write_text("\n".join(examples(iqd.ROOT / "docs/man/iqd.yaml.5")) + "\n", encoding="utf-8")
            done = iqd.command("check", "--strict", path)
        self.assertEqual((done.returncode, done.stderr), (0, ""))


if __name__ == "__main__":
    unittest.main()
