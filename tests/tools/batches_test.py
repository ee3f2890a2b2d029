# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""cmake/batches.py separates sources that cannot be compiled as one, and no others."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "cmake" / "batches.py"


class Batches(unittest.TestCase):
    def together(self, *sources, size=8, **headers):
        """The batches, with the sources as indices of `sources`."""
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for name, text in headers.items():
                (root / f"{name}.hpp").write_text(text, encoding="utf-8")
            paths = [root / f"{i}.cpp" for i in range(len(sources))]
            for path, text in zip(paths, sources):
                path.write_text(text, encoding="utf-8")
            done = subprocess.run([sys.executable, "-B", SCRIPT, root, str(size), *paths], capture_output=True,
                                  text=True, check=True)
        found = {}
        for line in done.stdout.splitlines():
            batch, path = line.split(" ", 1)
            found.setdefault(batch, []).append(int(pathlib.Path(path).stem))
        return list(found.values())

    def unnamed(self, text, namespace="iqd"):
        return f"namespace {namespace} {{\nnamespace {{\n\n{text}\n\n}}  // namespace\n}}  // namespace {namespace}\n"

    def test_nothing_in_common(self):
        sources = [self.unnamed(f"int f{i}() {{ return {i}; }}") for i in range(5)]
        self.assertEqual(self.together(*sources), [[0, 1, 2, 3, 4]])
        self.assertEqual(self.together(*sources, size=2), [[0, 1], [2, 3]])

    def test_names_in_common(self):
        for text in ("constexpr double kPi = 3;", "struct Case {", "class Case final : public Other {",
                     "enum class Case {", "using Case = int;", "int kept;", "const std::vector<int>& all() {",
                     "void run(int n) noexcept {", "template <class T> T load(int n) {",
                     "template <class T, class U = std::vector<T>> T load(int n) {",
                     "template <class T>\nT load(int n) {", "TEST(Suite, Case) {", "#define IQD_CASE(x) x",
                     "std::map<std::string, int> table{"):
            with self.subTest(text):
                self.assertEqual(self.together(self.unnamed(text), self.unnamed(text)), [])

    def test_the_same_name_in_another_namespace(self):
        self.assertEqual(self.together(self.unnamed("struct Case {", "iqd::a"), self.unnamed("struct Case {", "iqd::b")),
                         [[0, 1]])

    def test_a_header_of_one_declares_what_the_other_keeps_for_itself(self):
        outer = ("namespace a { class B; }\nnamespace c {  // theirs\nclass D;\n}\n"
                 "namespace iqd {\n\nstruct Rig {\n};\n\n}  // namespace iqd\n")
        uses = '#include "through.hpp"\n'
        headers = {"rig": outer, "through": '#include "rig.hpp"\n'}
        self.assertEqual(self.together(self.unnamed("struct Rig {"), uses, **headers), [])
        self.assertEqual(self.together(self.unnamed("struct Other {"), uses, **headers), [[0, 1]])

    def test_using_declarations(self):
        self.assertEqual(self.together(self.unnamed("using a::x;"), self.unnamed("using a::x;")), [[0, 1]])
        self.assertEqual(self.together(self.unnamed("using a::x;"), self.unnamed("using b::x;")), [])

    def test_a_testing_of_our_own(self):
        plain = self.unnamed("using testing::HasSubstr;")
        self.assertEqual(self.together(plain, '#include "rig.hpp"\n',
                                       rig="namespace iqd::testing {\n}  // namespace iqd::testing\n"), [])

    def test_what_stays_alone(self):
        alone = ('#include <hwy/foreach_target.h>\n', "namespace fs = std::filesystem;\n", "using namespace std;\n",
                 '#include "other.cpp"\n')
        for text in alone:
            with self.subTest(text):
                self.assertEqual(self.together(text, "int a();\n", "int b();\n"), [[1, 2]])


if __name__ == "__main__":
    unittest.main()
