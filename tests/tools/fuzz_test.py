# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""tools/fuzz, with scripts as fuzzers: what it starts, and how it reports what they find."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

TOOLS = pathlib.Path(__file__).resolve().parents[2] / "tools"
# Takes libFuzzer's arguments and prints its output; `bad` finds something, and minimizes it on request.
FUZZER = """
echo "$*" >>"$0.calls"
if [[ $1 == --words ]]; then echo '"word"'; exit 0; fi
for argument in "$@"; do
  case $argument in
    -artifact_prefix=*) found=${argument#*=} ;;
    -exact_artifact_path=*) echo x >"${argument#*=}"; exit 1 ;;
  esac
done
echo "stat::number_of_executed_units: 1234" >&2
echo "stat::average_exec_per_sec:     56" >&2
if [[ $0 == */bad ]]; then
  echo "==1==ERROR: AddressSanitizer: heap-buffer-overflow" >&2
  echo xxxx >"${found}crash-1"
  exit 77
fi
"""


class Fuzz(unittest.TestCase):
    def setUp(self):
        self.parent = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.parent)
        self.tree = self.parent / "a tree"
        self.programs = self.tree / "build" / "asan" / "tests" / "fuzz"
        for folder in (self.tree / "tools", self.programs):
            folder.mkdir(parents=True)
        shutil.copy(TOOLS / "fuzz", self.tree / "tools")
        for name in ("setup", "build"):
            self.script(self.tree / "tools" / name, f"echo {name} $* >>'{self.parent}/calls'")
        names = ("good", "bad", "yaml")
        (self.tree / "tests" / "fuzz" / "corpus").mkdir(parents=True)
        (self.tree / "tests" / "fuzz" / "targets.def").write_text(
            "// all\n" + "".join(f"TARGET({name})\n" for name in names), encoding="utf-8")
        for name in names:
            (self.tree / "tests" / "fuzz" / "corpus" / name).mkdir()
            self.script(self.programs / name, FUZZER)

    @staticmethod
    def script(path, text):
        path.write_text(f"#!/bin/bash\n{text}\n", encoding="utf-8")
        path.chmod(0o755)

    def fuzz(self, *arguments):
        done = subprocess.run([self.tree / "tools" / "fuzz", *arguments], capture_output=True, text=True, check=False,
                              cwd="/", timeout=60, env=os.environ)
        return done.returncode, done.stdout, done.stderr

    def calls(self, name):
        path = self.programs / f"{name}.calls"
        return path.read_text(encoding="utf-8").splitlines() if path.exists() else []

    def test_builds_and_runs_those_that_are_named(self):
        code, out, err = self.fuzz("--seconds", "7", "good")
        self.assertEqual((code, err), (0, ""), out)
        self.assertEqual((self.parent / "calls").read_text(encoding="utf-8"), "setup --checks\nbuild asan fuzz\n")
        self.assertRegex(out, r"(?m)^good +1234 +56 +ok$")
        call, = self.calls("good")
        self.assertIn("-max_total_time=7 ", call)
        self.assertTrue(call.endswith(" build/fuzz/corpus/good tests/fuzz/corpus/good"), call)
        self.assertEqual(self.calls("bad") + self.calls("yaml"), [])

    def test_tells_what_was_found_and_how_to_see_it_again(self):
        code, out, err = self.fuzz()
        self.assertEqual((code, err), (1, ""), out)
        self.assertRegex(out, r"(?m)^good .* ok$")
        self.assertRegex(out, r"(?m)^bad .* FOUND SOMETHING$")
        self.assertIn("== what failed in: bad\n==1==ERROR: AddressSanitizer: heap-buffer-overflow\n", out)
        self.assertIn("again: build/asan/tests/fuzz/bad build/fuzz/found/bad/smallest\n", out)

    def test_old_findings_are_not_told_again(self):
        self.fuzz("bad")
        self.script(self.programs / "bad", "echo 'it will not start'; exit 3")
        code, out, _ = self.fuzz("bad")
        self.assertEqual(code, 1)
        self.assertIn("it will not start", out)
        self.assertNotIn("again: ", out)

    def test_words_of_the_catalogue_are_a_dictionary(self):
        self.fuzz("yaml")
        self.assertEqual(self.calls("yaml")[0], "--words")
        self.assertIn(" -dict=build/fuzz/found/yaml.dict ", self.calls("yaml")[1])

    def test_what_makes_no_sense_is_refused_before_anything_is_built(self):
        for arguments in (["--engine", "x"], ["nobody"], ["--nothing"]):
            code, _, err = self.fuzz(*arguments)
            self.assertEqual(code, 2)
            self.assertTrue(err.startswith("tools/fuzz: no "), err)
        self.assertFalse((self.parent / "calls").exists())


if __name__ == "__main__":
    unittest.main()
