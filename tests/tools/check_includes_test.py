# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""tools/check-includes on small trees."""

import pathlib
import subprocess
import tempfile
import unittest

TOOL = pathlib.Path(__file__).resolve().parents[2] / "tools" / "check-includes"


def check(files):
    """Runs the tool on a tree of {path: text}: its lines."""
    with tempfile.TemporaryDirectory() as root:
        subprocess.run(["git", "init", "-q", root], check=True)
        for path, text in files.items():
            file = pathlib.Path(root) / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        done = subprocess.run([TOOL, root], capture_output=True, text=True, check=False)
    lines = done.stdout.splitlines()
    assert done.returncode == (1 if lines else 0), done.stderr
    return lines


class Includes(unittest.TestCase):
    def test_a_name_needs_its_header(self):
        self.assertEqual(check({"a.cpp": "std::vector<int> v;\nfmt::print(x);\n"}),
                         ["a.cpp: std::vector needs <vector>", "a.cpp: fmt:: needs <fmt/format.h>"])
        self.assertEqual(check({"a.cpp": "std::ranges::sort(v);"}), ["a.cpp: std::sort needs <algorithm>"])
        self.assertEqual(check({"a.cpp": "#include <vector>\n#include <fmt/core.h>\nstd::vector<int> v; fmt::print(x);"}), [])

    def test_headers_of_the_project_may_have_it(self):
        b, c = '#include "b/c.hpp"\n', "#pragma once\n#include <vector>\n"
        self.assertEqual(check({"a.cpp": '#include "b/b.hpp"\nstd::vector<int> v;', "b/b.hpp": b, "b/c.hpp": c}), [])

    def test_one_of_several_headers_is_enough(self):
        self.assertEqual(check({"a.cpp": "#include <map>\nstd::pair<int, int> p;"}), [])
        self.assertEqual(check({"a.cpp": "#include <set>\nstd::pair<int, int> p;"}), ["a.cpp: std::pair needs <utility>"])

    def test_comments_and_texts_do_not_count(self):
        self.assertEqual(check({"a.cpp": '// std::vector\nconst char* t = "std::vector";'}), [])

    def test_parts_of_sources_are_left_out(self):
        self.assertEqual(check({"a_inl.hpp": "std::vector<int> v;"}), [])


if __name__ == "__main__":
    unittest.main()
