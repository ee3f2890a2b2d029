# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""tools/check-links on small trees."""

import pathlib
import subprocess
import tempfile
import unittest

TOOL = pathlib.Path(__file__).resolve().parents[2] / "tools" / "check-links"


class Links(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.root = pathlib.Path(holder.name)
        self.write("docs/two.md", "# Two things\n\n## `iqd run` & more\n\n## Two things\n\n<a id=\"named\"></a>\n")

    def write(self, path, text=""):
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")

    def track(self):
        for command in (["init", "-q"], ["add", "."]):
            subprocess.run(["git", "-C", self.root, *command], check=True)

    def check(self, text=None):
        """The exit code and the dead links, with one.md of this text."""
        if text is not None:
            self.write("docs/one.md", text)
        done = subprocess.run([TOOL, self.root], capture_output=True, text=True, check=False)
        return done.returncode, done.stdout.splitlines()

    def dead(self, text, why):
        self.assertEqual(self.check(text), (1, [f"docs/one.md:{why}"]))

    def live(self, text):
        self.assertEqual(self.check(text), (0, []))

    def test_files_folders_and_pictures(self):
        self.write("picture.svg")
        self.live("[two](two.md) [folder](../docs) [a\nlink](two.md) ![picture](../picture.svg) "
                  "[t](two.md \"title\")\n")
        self.dead("\n\n[three](three.md)\n", "3: three.md: does not exist")
        self.dead("![picture](../docs/picture.svg)\n", "1: ../docs/picture.svg: does not exist")

    def test_headings(self):
        self.live("# Here\n[a](#here) [b](two.md#two-things) [c](two.md#two-things-1) [d](two.md#iqd-run--more) "
                  "[e](two.md#named)\n")
        self.dead("[a](#there)\n", "1: #there: has no heading #there")
        self.dead("[a](two.md#two-things-2)\n", "1: two.md#two-things-2: has no heading #two-things-2")
        self.dead("[a](../docs#x)\n", "1: ../docs#x: has no heading #x")

    def test_other_ways_to_write_a_link(self):
        self.dead("[a][x]\n\n[x]: three.md\n", "3: three.md: does not exist")
        self.dead("<a href=\"three.md\">a</a>\n", "1: three.md: does not exist")
        self.dead("<img alt='' src='three.png'>\n", "1: three.png: does not exist")

    def test_code_has_no_links(self):
        self.live("```\n[a](three.md)\n```\n`[a](three.md)` ``[`a`](three.md)``\n<!-- [a](three.md) -->\n")
        self.dead("one ` alone\n\n[a](three.md)\n\nand ` another\n", "3: three.md: does not exist")
        self.dead("```\n# comment\n```\n[a](#comment)\n", "4: #comment: has no heading #comment")

    def test_addresses_are_left_alone(self):
        self.live("[a](https://example.org/x#y) [b](mailto:a@example.org) <a href=\"http://example.org\">c</a>\n")

    def test_links_stay_in_the_tree(self):
        self.dead("[a](../../x.md)\n", "1: ../../x.md: leads out of the tree")
        self.dead("[a](/etc/passwd)\n", "1: /etc/passwd: is no relative path")

    def test_git_has_to_know_the_file(self):
        self.write("docs/one.md")
        self.write("docs/new.md")
        self.write(".gitignore", "made.md\n")
        self.track()
        self.write("docs/made.md")
        self.live("[folder](../docs) [new](new.md)\n")
        self.dead("[made](made.md)\n", "1: made.md: does not exist")

    def test_sources_are_named_by_their_path(self):
        self.write("base/view.hpp")
        text = "`base/view.hpp`, `base/NAME.hpp`, `elsewhere/a.hpp`\n\n`base/gone.hpp`\n"
        self.live(text)  # installed: no sources
        self.track()
        self.dead(text, "3: base/gone.hpp: does not exist")

    def test_a_link_through_a_folder_elsewhere(self):
        (self.root / "pipelines").symlink_to(self.root / "docs")
        self.live("[two](../pipelines/two.md)\n")
        (self.root / "pipelines").unlink()
        (self.root / "pipelines").symlink_to(self.root / "nowhere")
        self.dead("[two](../pipelines/two.md)\n", "1: ../pipelines/two.md: does not exist")

    def test_no_page_at_all(self):
        (self.root / "docs/two.md").unlink()
        self.assertEqual(self.check(), (2, []))


if __name__ == "__main__":
    unittest.main()
