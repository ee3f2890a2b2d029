# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""tools/bare: what its machine has, and that nothing remains of it. Needs the root that tools/bare keeps."""

import os
import pathlib
import subprocess
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
KEPT = pathlib.Path(os.environ.get("IQD_BARE", pathlib.Path.home() / ".cache" / "iqd-bare"))


def bare(*command):
    return [ROOT / "tools" / "bare", *command]


def run(*command):
    return subprocess.run(bare(*command), capture_output=True, text=True, timeout=120, check=False)


def processes():
    """The processes of the bare machine: they sleep for a time that no other process uses."""
    return subprocess.run(["pgrep", "-fx", "sleep 98765"], capture_output=True, text=True, check=False).stdout.split()


@unittest.skipUnless((KEPT / "bookworm.tar").exists() and os.geteuid() == 0, "NOT TESTED: run `tools/bare true` first")
class Bare(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        tried = run("true")
        if tried.returncode == 77:
            raise unittest.SkipTest(f"NOT TESTED: {tried.stdout.strip()}")

    def test_it_has_the_tree_and_nothing_to_build_it_with(self):
        done = run("bash", "-c", "pwd; for p in git tools/setup c++ cmake python3 sudo; do command -v $p || echo no $p; done; "
                   "ls build; id -u; echo $HOME; ls /proc/self/fd >/dev/null && ls -d /dev/shm/")
        self.assertEqual(done.stdout.splitlines()[1:],
                         [str(ROOT), "/usr/bin/git", "tools/setup", "no c++", "no cmake", "no python3", "no sudo", "0", "/root",
                          "/dev/shm/"])
        self.assertIn("build", done.stderr)

    def test_with_what_builds_for_arm64(self):
        if not (KEPT / "bookworm-arm64.tar").exists():
            self.skipTest("NOT TESTED: run `tools/bare --arm64 true` first")
        programs = "aarch64-linux-gnu-g++ qemu-aarch64-static aarch64-linux-gnu-pkg-config cmake"
        done = run("--arm64", "bash", "-c", f"for p in {programs}; do command -v $p || echo no $p; done; "
                   "aarch64-linux-gnu-pkg-config --variable=libdir libhwy")
        self.assertEqual(done.stdout.splitlines()[-5:],
                         [*(f"/usr/bin/{p}" for p in programs.split()), "/usr/lib/aarch64-linux-gnu"])

    def test_its_exit_code(self):
        self.assertEqual(run("bash", "-c", "exit 7").returncode, 7)

    def test_words_stay_words(self):
        self.assertEqual(run("printf", "%s|", "a b", "$HOME", "'").stdout.splitlines()[-1], "a b|$HOME|'|")

    def test_nothing_stays_when_it_ends(self):
        self.assertEqual(run("touch", "/here").returncode, 0)
        self.assertEqual(list(KEPT.glob("root.*")), [])

    def test_nothing_stays_mounted_when_it_is_killed(self):
        process = subprocess.Popen(bare("sleep", "98765"), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                   start_new_session=True)
        self.addCleanup(process.kill)
        self.wait_for(processes)
        (root,) = KEPT.glob("root.*")
        process.kill()
        process.wait(timeout=10)
        self.wait_for(lambda: not processes())
        self.assertNotIn("iqd-bare", pathlib.Path("/proc/self/mountinfo").read_text(encoding="utf-8"))
        self.assertEqual(list((root / "proc").glob("*")), [])
        self.assertEqual(run("true").returncode, 0)
        self.assertFalse(root.exists(), "the next run removes what a killed one left")

    def test_a_second_one_waits(self):
        first = subprocess.Popen(bare("sleep", "3"), stdout=subprocess.DEVNULL)
        self.wait_for(lambda: list(KEPT.glob("root.*")))
        self.assertIn("waiting for it", run("true").stdout)
        self.assertEqual(first.wait(timeout=30), 0)

    def wait_for(self, what):
        end = time.monotonic() + 30
        while not what():
            self.assertLess(time.monotonic(), end)
            time.sleep(0.1)


if __name__ == "__main__":
    unittest.main()
