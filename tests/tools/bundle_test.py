# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""tools/bundle: its bundles run after a move, without an environment. $IQD is the program of the build."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("IQD", ROOT / "build" / "release" / "iqd")).parent
OF_THE_TARGET = re.compile(r"(linux-vdso|ld-linux.*|lib(c|m|dl|pthread|rt|resolv|util)|libcuda|libcufft|"
                           r"libcublas(Lt)?|libnvrtc|libnvJitLink)\.so")


def run(*command, **options):
    return subprocess.run([str(c) for c in command], capture_output=True, text=True, check=False, timeout=400, **options)


class Bundle(unittest.TestCase):
    """One bundle of the build, moved away from where it was made."""

    @classmethod
    def setUpClass(cls):
        cls.holder = tempfile.TemporaryDirectory(prefix="iqd-test-")
        cls.addClassCleanup(cls.holder.cleanup)
        folder = pathlib.Path(cls.holder.name)
        cls.made = run(ROOT / "tools" / "bundle", "--preset", BUILD.name, "--output", folder / "made")
        assert cls.made.returncode == 0, cls.made.stderr
        (folder / "else where").mkdir()
        cls.bundle = folder / "else where" / "bundle"
        (folder / "made").rename(cls.bundle)

    def alone(self, name, *arguments, path="/nowhere"):
        """Runs a script of the bundle; the environment has only PATH, by default one without programs."""
        return run(self.bundle / name, *arguments, env={"PATH": path}, cwd="/")

    def binaries(self):
        found = [p for p in self.bundle.rglob("*") if p.is_file() and p.read_bytes()[:4] == b"\x7fELF"]
        self.assertGreater(len(found), 10)
        return found

    def test_every_library_is_in_it_or_of_the_target(self):
        environment = {"PATH": os.environ["PATH"], "LD_LIBRARY_PATH": str(self.bundle / "lib")}
        text = run("ldd", *self.binaries(), env=environment).stdout
        looked_at = 0
        for line in text.splitlines():
            name, arrow, path = (line.strip() + "  ").split(" ", 2)
            if arrow == "=>" and not OF_THE_TARGET.match(name):
                looked_at += 1
                self.assertTrue(path.startswith(f"{self.bundle}/lib/"), line)
        self.assertGreater(looked_at, 20, text)

    def test_nothing_of_the_target_is_in_it(self):
        taken = [p.name for p in (self.bundle / "lib").iterdir() if OF_THE_TARGET.match(p.name)]
        self.assertEqual(taken, [])

    def test_no_text_names_the_machine_that_it_was_made_on(self):
        binaries = set(self.binaries())
        for path in self.bundle.rglob("*"):
            if path.is_file() and path not in binaries:
                self.assertNotIn(str(ROOT).encode(), path.read_bytes(), path)

    def test_its_size_is_said_and_small(self):
        size = int(re.search(r": (\d+) MiB", self.made.stdout)[1])
        self.assertLess(size, 160)
        self.assertEqual((self.bundle / "lib" / "libiqd_cuda.so").exists(), "CPU only" not in self.made.stdout)

    def test_the_daemon_runs_with_its_own_plug_ins(self):
        done = self.alone("iqd", "probe", "--json", path="/usr/bin:/bin")
        self.assertEqual(done.returncode, 0, done.stderr)
        soapy = next(r for r in json.loads(done.stdout)["radios"] if r["driver"] == "soapy")
        self.assertIn("iqdsim", [d["facts"]["driver"] for d in soapy["devices"]])
        self.assertEqual(self.alone("iqd", "check", "/nowhere.yaml", path="/usr/bin:/bin").returncode, 2)

    def test_the_daemon_runs_through_a_link(self):
        link = pathlib.Path(self.holder.name) / "link"
        link.symlink_to(self.bundle / "iqd")
        self.assertEqual(run(link, "--version", env={}, cwd="/").returncode, 0)

    def test_tests_run(self):
        log = pathlib.Path(self.holder.name) / "log"
        done = self.alone("run-tests", "--log", log, "signal", "publish", path="/usr/bin:/bin")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertRegex(done.stdout, r"(?m)^signal +ok .* [1-9]\d* passed, 0 skipped, 0 failed$")
        self.assertTrue((log / "publish.txt").is_file())

    def test_a_test_that_fails_is_a_failure(self):
        program = self.bundle / "tests" / "broken_test"
        self.addCleanup(program.unlink)
        for text, word in (('[ "$1" = --gtest_list_tests ] && echo "  one" || exit 3', "FAILED (3)"),
                           ("exit 127", "NOT STARTED")):
            program.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
            program.chmod(0o755)
            done = self.alone("run-tests", "broken", path="/usr/bin:/bin")
            self.assertEqual(done.returncode, 1, done.stdout)
            self.assertIn(word, done.stdout)

    def test_without_cuda_a_program_that_wants_it_is_left_out(self):
        program = self.bundle / "tests" / "wanting_test"
        self.addCleanup(program.unlink)
        program.write_text("#!/bin/sh\necho wanting_test: error while loading shared libraries: libcufft.so.12: cannot "
                           "open shared object file >&2; exit 127\n", encoding="utf-8")
        program.chmod(0o755)
        done = self.alone("run-tests", "wanting", path="/usr/bin:/bin")
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertIn("SKIPPED", done.stdout)

    def test_arguments_that_make_no_sense(self):
        for script in ("run-tests", "run-benches"):
            self.assertEqual(self.alone(script, "--unheard-of", path="/usr/bin:/bin").returncode, 2)
        self.assertEqual(self.alone("run-tests", "unheard_of", path="/usr/bin:/bin").returncode, 2)
        self.assertEqual(self.alone("run-tests", "--sanitizer", "none", path="/usr/bin:/bin").returncode, 2)


class Making(unittest.TestCase):
    """tools/bundle on a tree of its own with a small program."""

    def setUp(self):
        holder = tempfile.TemporaryDirectory(prefix="iqd-test-")
        self.addCleanup(holder.cleanup)
        self.root = pathlib.Path(holder.name)
        for folder in ("tools/bundled", "pipelines", "docs", "python"):
            shutil.copytree(ROOT / folder, self.root / folder)
        for file in ("tools/bundle", "LICENSE"):
            shutil.copy(ROOT / file, self.root / file)
        self.build = self.root / "build" / "release"
        (self.build / "soapy").mkdir(parents=True)
        shutil.copy("/bin/true", self.build / "iqd")
        self.output = self.root / "bundle"

    def make(self, *arguments):
        return run(self.root / "tools" / "bundle", "--without-tests", *arguments, cwd="/")

    def library(self, name, *needed):
        """Builds a shared object that needs others, and removes those."""
        for other in needed:
            run("gcc", "-shared", "-nostdlib", "-x", "c", "/dev/null", f"-Wl,-soname,{other}", "-o", self.build / other)
        done = run("gcc", "-shared", "-nostdlib", "-x", "c", "/dev/null", "-Wl,--no-as-needed",
                   *(f"-L{self.build}", *(f"-l:{other}" for other in needed)), "-o", self.build / name)
        self.assertEqual(done.returncode, 0, done.stderr)
        for other in needed:
            (self.build / other).unlink()

    def test_without_cuda_it_says_so(self):
        done = self.make()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("CPU only", done.stdout)
        self.assertFalse((self.output / "tests").exists() or (self.output / "run-tests").exists())
        self.assertTrue((self.output / "share" / "iqd" / "pipelines" / "telemetry.yaml").is_file())

    def test_the_cuda_backend_comes_without_the_targets_libraries(self):
        self.library("libiqd_cuda.so", "libcufft.so.12", "libcuda.so.1")
        done = self.make()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("with the CUDA backend", done.stdout)
        found = [p.name for p in (self.output / "lib").iterdir() if p.name.startswith("libcu") or "cuda" in p.name]
        self.assertEqual(found, ["libiqd_cuda.so"])

    def test_a_library_that_is_missing_is_named(self):
        self.library("libiqd_cuda.so", "libunheard_of.so.4")
        done = self.make()
        self.assertEqual(done.returncode, 1)
        self.assertIn("libunheard_of.so.4", done.stderr)

    def test_a_bundle_is_replaced_and_nothing_else(self):
        self.assertEqual(self.make().returncode, 0)
        (self.output / "old").touch()
        self.assertEqual(self.make().returncode, 0)
        self.assertFalse((self.output / "old").exists())
        (self.output / ".iqd-bundle").unlink()
        (self.output / "mine").touch()
        done = self.make()
        self.assertEqual(done.returncode, 1)
        self.assertIn("no bundle", done.stderr)
        self.assertTrue((self.output / "mine").exists())

    def test_a_build_that_is_not_there(self):
        done = self.make("--preset", "unheard_of")
        self.assertEqual(done.returncode, 1)
        self.assertIn("tools/build unheard_of", done.stderr)
        self.assertEqual(self.make("--all").returncode, 2)

    def test_too_much_is_refused(self):
        with open(self.root / "pipelines" / "large.yaml", "wb") as f:
            f.truncate(170 << 20)
        done = self.make()
        self.assertEqual(done.returncode, 1)
        self.assertIn("larger than 160 MiB", done.stderr)


if __name__ == "__main__":
    unittest.main()
