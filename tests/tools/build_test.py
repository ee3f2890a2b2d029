# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""tools/build on a project of two sources: in a path with spaces, interrupted, twice at once, on a full disk."""

import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import time
import unittest

TOOLS = pathlib.Path(__file__).resolve().parents[2] / "tools"
PROJECT = """cmake_minimum_required(VERSION 3.25)
project(two LANGUAGES C)
add_executable(two one.c two.c)
"""


class Build(unittest.TestCase):
    def setUp(self):
        self.parent = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.parent)
        self.tree = self.parent / "a tree"
        (self.tree / "tools").mkdir(parents=True)
        self.programs = self.parent / "programs"
        self.programs.mkdir()
        for name in ("build", "progress.sh"):
            shutil.copy(TOOLS / name, self.tree / "tools")
        self.script(self.tree / "tools" / "setup", f"echo setup $* >>'{self.parent}/setup'")
        preset = {"name": "demo", "generator": "Ninja", "binaryDir": "${sourceDir}/build/${presetName}"}
        presets = {"version": 6, "configurePresets": [preset, {**preset, "name": "release"}],
                   "buildPresets": [{"name": n, "configurePreset": n} for n in ("demo", "release")]}
        text = json.dumps(presets).replace("}, {", "},\n{")
        (self.tree / "CMakePresets.json").write_text(text, encoding="utf-8")
        (self.tree / "CMakeLists.txt").write_text(PROJECT, encoding="utf-8")
        (self.tree / "one.c").write_text("int two(void);\nint main(void) { return two() - 2; }\n", encoding="utf-8")
        (self.tree / "two.c").write_text("int two(void) { return 2; }\n", encoding="utf-8")

    @staticmethod
    def script(path, text):
        path.write_text(f"#!/bin/bash\n{text}\n", encoding="utf-8")
        path.chmod(0o755)

    def start(self, *arguments):
        environment = {**os.environ, "PATH": f"{self.programs}:{os.environ['PATH']}", "CCACHE_DISABLE": "1"}
        return subprocess.Popen([self.tree / "tools" / "build", *arguments], stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True, env=environment, cwd="/")

    def build(self, *arguments):
        process = self.start(*arguments)
        out, err = process.communicate(timeout=60)
        return process.returncode, out, err

    def assert_built(self, preset="demo"):
        code, out, err = self.build(preset)
        self.assertEqual(code, 0, out + err)
        self.assertEqual(subprocess.run([self.tree / "build" / preset / "two"], check=False).returncode, 0)
        return out

    def test_builds_and_says_how_long_it_takes(self):
        out = self.assert_built()
        self.assertRegex(out, r"tools/build: 3 steps in build/demo: about \d+ s\n")
        self.assertRegex(out, r"tools/build: 3 steps in build/demo: \d+ s\n")
        self.assertEqual((self.parent / "setup").read_text(encoding="utf-8"), "setup --demo\n")

    def test_a_build_of_what_is_built_says_nothing_of_steps(self):
        self.assert_built()
        self.assertNotIn("steps", self.assert_built())

    def test_other_presets_want_more_than_the_demo(self):
        self.assert_built("release")
        self.assertEqual((self.parent / "setup").read_text(encoding="utf-8"), "setup\n")

    def test_targets(self):
        self.assertEqual(self.build("demo", "two")[0], 0)
        code, _, err = self.build("demo", "three")
        self.assertEqual(code, 1)
        self.assertIn("three", err)

    def test_a_preset_that_is_not_there(self):
        code, _, err = self.build("demos")
        self.assertEqual((code, err), (1, "tools/build: no preset 'demos'; the presets are demo release\n"))

    def test_what_the_compiler_says_is_shown(self):
        (self.tree / "two.c").write_text("int two(void) { return three; }\n", encoding="utf-8")
        code, _, err = self.build("demo")
        self.assertEqual(code, 1)
        self.assertIn("three", err)
        self.assertEqual(err.splitlines()[-1], "tools/build: the build in build/demo failed; see the errors above")

    def test_what_cmake_says_is_shown(self):
        (self.tree / "CMakeLists.txt").write_text(PROJECT + "find_package(NoSuchThing REQUIRED)\n", encoding="utf-8")
        code, _, err = self.build("demo")
        self.assertEqual(code, 1)
        self.assertIn("NoSuchThing", err)
        self.assertEqual(err.splitlines()[-1], "tools/build: cmake cannot configure build/demo")

    def test_a_configuration_that_was_interrupted(self):
        folder = self.tree / "build" / "demo"
        (folder / "CMakeFiles").mkdir(parents=True)
        (folder / "CMakeCache.txt").write_text("CMAKE_C_COMPILER:STRING=/no/such/compiler\n", encoding="utf-8")
        self.assert_built()

    def test_a_build_that_was_killed(self):
        """Killed while a compiler runs, with a half-written program."""
        self.script(self.programs / "slow", 'if [[ $* == *two.c* ]]; then touch "$MARK"; exec 9<> <(:); read -t 60 -u 9; fi; exec "$@"')
        os.environ["MARK"] = str(self.parent / "mark")
        os.environ["CMAKE_C_COMPILER_LAUNCHER"] = str(self.programs / "slow")
        self.addCleanup(os.environ.pop, "MARK")
        process = self.start("demo")
        os.environ.pop("CMAKE_C_COMPILER_LAUNCHER")
        self.wait_for(self.parent / "mark")
        (self.tree / "build" / "demo" / "two").write_text("half of it", encoding="utf-8")
        subprocess.run(["pkill", "-KILL", "-f", str(self.tree)], check=False)
        process.communicate(timeout=30)
        self.script(self.programs / "slow", 'exec "$@"')
        self.assert_built()

    def wait_for(self, path):
        end = time.monotonic() + 30
        while not path.exists():
            self.assertLess(time.monotonic(), end, f"{path} did not appear")
            time.sleep(0.05)

    def test_a_tree_that_was_moved(self):
        self.assert_built()
        self.tree = self.tree.rename(self.parent / "another tree")
        self.assert_built()
        cache = (self.tree / "build" / "demo" / "CMakeCache.txt").read_text(encoding="utf-8")
        self.assertIn(f"CMAKE_HOME_DIRECTORY:INTERNAL={self.tree}\n", cache)

    def test_a_second_build_waits(self):
        self.script(self.programs / "cmake", f"touch '{self.parent}/mark'; sleep 2; exec /usr/bin/cmake \"$@\"")
        first = self.start("demo")
        self.wait_for(self.parent / "mark")
        second = self.start("demo")
        said = [process.communicate(timeout=60)[0] for process in (first, second)]
        self.assertEqual((first.returncode, second.returncode), (0, 0), said)
        self.assertNotIn("waiting", said[0])
        self.assertIn("tools/build: another build is running in build/demo; waiting for it\n", said[1])
        self.assertNotIn("steps", said[1])

    def test_a_full_disk(self):
        self.script(self.programs / "df", "echo Avail; echo 120")
        code, _, err = self.build("demo")
        self.assertEqual((code, err), (1, "tools/build: only 120 MB are free on the disk of build/demo; "
                                          "the build needs 300\n"))
        self.assertIn("needs 4000", self.build("release")[2])

    def test_a_disk_that_fills_up(self):
        counts = f"'{self.parent}/asked'"
        self.script(self.programs / "df", f"echo >>{counts}; echo Avail; if (($(wc -l <{counts}) > 1)); then echo 3; else echo 900; fi")
        (self.tree / "two.c").write_text("#error no space\n", encoding="utf-8")
        code, _, err = self.build("demo")
        self.assertEqual(code, 1)
        self.assertIn("the disk of build/demo is full", err.splitlines()[-1])

    def test_a_tree_that_cannot_be_written(self):
        (self.tree / "build").write_text("in the way", encoding="utf-8")
        code, _, err = self.build("demo")
        self.assertEqual(code, 1)
        self.assertIn("cannot write", err.splitlines()[-1])


if __name__ == "__main__":
    unittest.main()
