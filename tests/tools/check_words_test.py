# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""tools/check-words on small trees."""

import pathlib
import subprocess
import tempfile
import unittest

TOOL = pathlib.Path(__file__).resolve().parents[2] / "tools" / "check-words"
GLOSSARY = """# Glossary

| word | meaning |
| --- | --- |
| `harmless` | a row of another table |

## Not to be used

| not | but |
| --- | --- |
| `foo|foos` | bar |
| `to and fro` | back and forth |
"""


def write(root, files):
    for path, text in files.items():
        file = pathlib.Path(root) / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)


def run(root):
    done = subprocess.run([TOOL, root], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout.splitlines(), done.stderr.splitlines()


def check(files, glossary=GLOSSARY):
    """Runs the tool on a git tree of {path: text}: its exit code, its lines and its errors."""
    with tempfile.TemporaryDirectory() as root:
        subprocess.run(["git", "init", "--quiet", root], check=True)
        write(root, {"docs/glossary.md": glossary, **files})
        return run(root)


class Words(unittest.TestCase):
    def found(self, path, text, *lines):
        """Each of `lines` is what the tool prints about `path`, without the path."""
        code, printed, errors = check({path: text})
        self.assertEqual(printed, [f"{path}:{line}" for line in lines], text)
        self.assertEqual(code, 1)
        self.assertEqual(errors, [f"{len(lines)} words that docs/glossary.md lists as not to be used"])

    def clean(self, path, text):
        self.assertEqual(check({path: text}), (0, [], []), text)

    def test_a_clean_tree(self):
        self.assertEqual(check({"docs/a.md": "harmless\n", "base/a.cpp": "// bar\n"}), (0, [], []))

    def test_pages(self):
        self.found("docs/a.md", "one\na foo.\n", '2: "foo": write bar')
        self.found("docs/a.md", "Foo, `foos`\n", '1: "Foo": write bar', '1: "foos": write bar')
        self.found("docs/a.md", "a\nto\nand fro\n", '2: "to and fro": write back and forth')

    def test_whole_words_only(self):
        self.clean("docs/a.md", "food, a-foo, foo-b, my_foo, to and from, to fro\n")

    def test_all_files_are_searched_in_order(self):
        code, lines, _ = check({"b.md": "\n\n\n\n\n\n\n\n\nfoo\n", "c.yaml": "a: foo\n", "a.txt": "foo\nfoo\n",
                                "d/CMakeLists.txt": "# foo\n"})
        self.assertEqual(code, 1)
        self.assertEqual([line.split(": ")[0] for line in lines],
                         ["a.txt:1", "a.txt:2", "b.md:10", "c.yaml:1", "d/CMakeLists.txt:1"])

    def test_cpp_comments_and_strings(self):
        for path in ("a.cpp", "a.hpp", "a.cu", "a.cuh", "a.c", "a.def"):
            self.found(path, "int a;\n// foo\n", '2: "foo": write bar')
        self.found("a.cpp", "/* one\n   foo */\n", '2: "foo": write bar')
        self.found("a.cpp", 'f("a \\"foo\\"");\n', '1: "foo": write bar')
        self.found("a.cpp", 'f("one\\nfoo");\n', '1: "foo": write bar')
        self.found("a.cpp", 'auto a = R"(one "two"\nfoo)";\n', '2: "foo": write bar')

    def test_cpp_code_is_no_text(self):
        self.clean("a.cpp", "int foo = a.foo();  // bar\n")
        self.clean("a.cpp", 'f("one", foo, "two");\n')
        self.clean("a.cpp", "f('\"', foo, '\"');\n")
        self.clean("a.cpp", "f('\\'', foo, \"'\");\n")
        self.clean("a.cpp", 'auto a = R"(")"; foo(); f(R"x()")x");\n')
        self.clean("a.cpp", 'f("//"); foo();\n')

    def test_phrases_over_a_line_break(self):
        self.found("a.cpp", "  // goes to\n  // and fro\n", '1: "to and fro": write back and forth')
        self.found("a.hpp", "/// to and\n/// fro\n", '1: "to and fro": write back and forth')
        self.found("a.hpp", "/**\n * to\n * and fro\n */\n", '2: "to and fro": write back and forth')
        self.found("a.cpp", 'f("to and "\n  "fro again");\n', '1: "to and fro": write back and forth')
        self.found("a.py", "# to\n# and fro\n", '1: "to and fro": write back and forth')
        self.found("a.py", 'f("to and "\n  f"fro {1}")\n', '1: "to and fro": write back and forth')
        self.found("a.sh", "# to and\n# fro\n", '1: "to and fro": write back and forth')
        self.clean("a.cpp", "f();  // to and\ng();  // fro\n")

    def test_python(self):
        self.found("a.py", '"""One.\n\nFoo.\n"""\n', '3: "Foo": write bar')
        self.found("a.py", "a = 1  # foo\n", '1: "foo": write bar')
        self.found("a.py", "a = f'foo {{foo}} {b}'\n", '1: "foo": write bar', '1: "foo": write bar')
        self.found("tool", "#!/usr/bin/python3\nfoo = 'a foo'\n", '2: "foo": write bar')
        self.clean("a.py", "foo = f'{foo} {foo.foo()}' + b\n")
        self.clean("tool", "#!/usr/bin/python3\nfoo = 1\n")
        self.found("a.py", "this is (no Python: foo\n", '1: "foo": write bar')

    def test_shell_is_searched_whole(self):
        self.found("a.sh", "a  # foo\n", '1: "foo": write bar')
        self.found("tool", "#!/bin/bash\necho 'a foo'\n", '2: "foo": write bar')

    def test_a_string_of_one_word_is_a_key(self):
        self.clean("a.cpp", 'f("foo", "foo.bar");\n')
        self.clean("a.py", "f('foo')\n")
        self.found("a.cpp", 'f("a foo");\n', '1: "foo": write bar')

    def test_what_is_left_out(self):
        code, lines, _ = check({"LICENSE": "foo", "tests/fuzz/corpus/a/b": "foo", "a/package-lock.json": "foo",
                                "a.png": "foo", "ignored.md": "foo", ".gitignore": "ignored.md\n"})
        self.assertEqual((code, lines), (0, []))

    def test_links_and_bytes_are_left_out(self):
        with tempfile.TemporaryDirectory() as root:
            write(root, {"docs/glossary.md": GLOSSARY, "a.png": "foo"})
            (pathlib.Path(root) / "a.md").symlink_to("a.png")
            (pathlib.Path(root) / "b.md").write_bytes(b"\xff foo")
            self.assertEqual(run(root), (0, [], []))

    def test_a_file_that_git_has_and_the_tree_has_not(self):
        with tempfile.TemporaryDirectory() as root:
            subprocess.run(["git", "init", "--quiet", root], check=True)
            write(root, {"docs/glossary.md": GLOSSARY, "a.md": "foo", "b.md": "foo"})
            subprocess.run(["git", "-C", root, "add", "."], check=True)
            (pathlib.Path(root) / "a.md").unlink()
            self.assertEqual(run(root)[1], ['b.md:1: "foo": write bar'])

    def test_a_plain_tree(self):
        with tempfile.TemporaryDirectory() as root:
            write(root, {"docs/glossary.md": GLOSSARY, "a.md": "foo", "daemon/build/a.cpp": "// foo",
                         "build/a.md": "foo"})
            self.assertEqual(run(root)[1], ['a.md:1: "foo": write bar', 'daemon/build/a.cpp:1: "foo": write bar'])

    def test_a_plain_tree_inside_a_git_tree(self):
        with tempfile.TemporaryDirectory() as outer:
            subprocess.run(["git", "init", "--quiet", outer], check=True)
            root = pathlib.Path(outer) / "inner"
            write(root, {"docs/glossary.md": GLOSSARY, "a.md": "foo"})
            write(outer, {".gitignore": "inner\n"})
            self.assertEqual(run(root)[1], ['a.md:1: "foo": write bar'])

    def test_without_a_list(self):
        for glossary in ("# Glossary\n", "## Not to be used\n\nno table\n", "| `foo` | bar |\n\n## Not to be used\n"):
            code, lines, errors = check({"a.md": "foo"}, glossary)
            self.assertEqual((code, lines, len(errors)), (2, [], 1), glossary)
            self.assertIn('docs/glossary.md has no table under "## Not to be used"', errors[0])
        with tempfile.TemporaryDirectory() as root:
            self.assertEqual(run(root)[0], 2)


if __name__ == "__main__":
    unittest.main()
