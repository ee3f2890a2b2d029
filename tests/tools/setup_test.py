# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""tools/setup: what it installs, and the one line it prints if it cannot. apt, dpkg and sudo are fakes."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SETUP = ROOT / "tools" / "setup"
# Programs that any machine has, even one without apt.
PLAIN = ("awk", "bash", "cut", "df", "dirname", "env", "grep", "mktemp", "readlink", "rm", "sleep", "sort", "tail", "tr")
# A dpkg that has all packages but cmake.
LACKS_CMAKE = 'for p; do case $p in -*|cmake) ;; *) echo "installed $p" ;; esac; done; exit 1'
SIMULATION = 'case "$*" in *" -s "*) echo "Inst cmake (3.25)"; exit 0 ;; *--print-uris*) ' \
             "echo \"'http://x/c.deb' c.deb 3000000 \"; exit 0 ;; esac\n"


class Setup(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        self.calls = self.folder / "calls"
        for name in PLAIN:
            (self.folder / name).symlink_to(shutil.which(name))
        self.program("id", "echo 0")
        self.program("uname", "echo x86_64")
        self.program("dpkg", ":")
        self.program("dpkg-query", LACKS_CMAKE)
        self.program("apt-cache", "exit 0")
        self.apt("exit 0")

    def program(self, name, text):
        (self.folder / name).unlink(missing_ok=True)
        (self.folder / name).write_text(f"#!/bin/bash\n{text}\n", encoding="utf-8")
        (self.folder / name).chmod(0o755)

    def apt(self, text):
        """An apt-get that simulates an installation, records each call, and then runs `text`."""
        self.program("apt-get", f'{SIMULATION}echo "$@" >>{self.calls}\n{text}')

    def setup(self, *arguments):
        return subprocess.run([SETUP, *arguments], capture_output=True, text=True, timeout=60, check=False, cwd="/",
                              env={"PATH": str(self.folder)})

    def called(self):
        return self.calls.read_text(encoding="utf-8").splitlines() if self.calls.exists() else []

    def assert_fails(self, *words, arguments=()):
        """It exits with 1, and its last line has these words."""
        done = self.setup(*arguments)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        last = done.stderr.strip().splitlines()[-1]
        for word in ("tools/setup: ", *words):
            self.assertIn(word, last)
        return done

    def test_installs_only_what_is_missing(self):
        done = self.setup()
        self.assertEqual(done.returncode, 0, done.stderr)
        (call,) = self.called()
        self.assertEqual(call.split()[-1], "cmake")
        self.assertIn("--no-install-recommends", call)
        self.assertNotIn("ninja-build", call)
        self.assertIn("installing 1 packages (3 MB): about 2 s", done.stdout)

    def test_does_nothing_where_nothing_is_missing(self):
        self.program("dpkg-query", 'for p; do echo "installed $p"; done')
        done = self.setup()
        self.assertEqual((done.returncode, done.stdout, self.called()), (0, "", []))

    def test_refuses_what_it_does_not_know(self):
        done = self.setup("--everything")
        self.assertEqual(done.returncode, 2)
        self.assertIn("usage", done.stderr)

    def test_the_demo_needs_the_least(self):
        demo, plain, whole = (set(self.setup(*a, "--list").stdout.split()) for a in (["--demo"], [], ["--all"]))
        self.assertTrue(demo < plain < whole)
        self.assertLessEqual({"g++", "cmake", "python3-zmq"}, demo)
        self.assertFalse({"libgtest-dev", "libuhd-dev", "uhd-host", "clang", "ccache"} & demo)
        self.assertLessEqual({"libuhd-dev", "libboost-dev", "libgtest-dev"}, plain)
        self.assertLessEqual({"clang-tidy", "gnuradio", "debootstrap"}, whole)
        self.assertEqual(self.called(), [])

    def test_shows_how_far_it_is(self):
        self.apt("echo dlstatus:1:90:Retrieving; sleep 11; echo pmstatus:cmake:50.0000:Installing; echo Unpacking")
        done = self.setup()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"installing 1 packages \(3 MB\): 66 %, 1\d s, about \d s left\n")
        self.assertNotIn("Unpacking", done.stdout)

    def test_tries_again_with_new_lists(self):
        """The lists name a version that the server no longer has."""
        self.apt(f'if [ $(grep -c install {self.calls}) = 1 ] && [[ $* != *update* ]]; then echo "404  Not Found"; exit 100; fi')
        done = self.setup()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual([("update" in c, "install" in c) for c in self.called()],
                         [(False, True), (True, False), (False, True)])

    def test_no_network(self):
        self.program("apt-cache", "exit 100")
        self.apt("echo \"W: Failed to fetch http://x/InRelease  Temporary failure resolving 'x'\"; exit 0")
        self.assert_fails("no package server can be reached")
        self.program("apt-cache", "exit 0")
        self.apt("echo \"E: Failed to fetch http://x/c.deb  Could not connect to x:80\" >&2; exit 100")
        self.assert_fails("no package server can be reached")

    def test_a_full_disk(self):
        for said in ("E: You don't have enough free space in /var/cache/apt/archives/.",
                     "dpkg: error: failed to write: No space left on device"):
            self.apt(f'echo "{said}" >&2; exit 100')
            self.assert_fails("the disk is full", "/")

    def test_another_apt(self):
        """apt-get waits for dpkg's lock, but not for the lock of the package lists."""
        self.program("apt-cache", f"[[ -e {self.folder}/fetched ]]")
        self.program("sleep", "exit 0")
        self.apt(f'if [[ $* == *update* ]]; then if (($(grep -c update {self.calls}) < 3)); then '
                 f'echo "E: Could not get lock /var/lib/apt/lists/lock"; exit 100; fi; : >{self.folder}/fetched; fi')
        self.assertEqual(self.setup().returncode, 0)
        self.assertEqual([("update" in c) for c in self.called()], [True, True, True, False])
        self.apt('echo "E: Could not get lock /var/lib/dpkg/lock-frontend. It is held by process 7" >&2; exit 100')
        self.assert_fails("another apt is running")

    def test_what_apt_says_is_shown_where_it_is_no_known_case(self):
        self.apt('echo "E: something else" >&2; exit 100')
        done = self.assert_fails("installing 1 packages failed")
        self.assertIn("E: something else", done.stderr)

    def test_an_installation_that_was_interrupted(self):
        self.program("dpkg", f'echo "dpkg $*" >>{self.calls}; if [ "$1" = --audit ]; then echo "cmake is half configured"; fi')
        done = self.setup()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.called()[1], "dpkg --configure -a")
        self.assertIn("interrupted", done.stdout)

        self.program("dpkg", 'if [ "$1" = --audit ]; then echo "cmake is half configured"; else '
                     'echo "dpkg: error: dpkg frontend lock was locked by another process with pid 7" >&2; exit 2; fi')
        self.assertEqual(self.setup().returncode, 0, "it is running, and apt-get waits for it")

    def test_a_package_that_the_system_does_not_have(self):
        self.program("apt-cache", "exit 100")
        self.assert_fails("has no package cmake;", "Debian 12")

    def test_another_architecture(self):
        self.program("uname", "echo riscv64")
        self.assert_fails("x86_64", "aarch64", "riscv64")
        self.assertEqual(self.called(), [])
        self.program("uname", "echo aarch64")
        self.assertEqual(self.setup().returncode, 0)

    def test_libraries_of_arm64_and_programs_of_this_machine(self):
        arm64 = set(self.setup("--arm64", "--list").stdout.split())
        native = set(self.setup("--list").stdout.split())
        libraries = {p[:-len(":arm64")] for p in arm64 if p.endswith("-dev:arm64")}
        self.assertLess({"libsoapysdr-dev", "prometheus-cpp-dev", "cppzmq-dev"}, libraries)
        self.assertLessEqual(libraries, native)
        self.assertLessEqual({"cmake", "crossbuild-essential-arm64", "qemu-user-static"}, arm64)
        self.assertEqual(arm64 & {"g++", "pkg-config", *libraries}, set())
        self.assertIn("debhelper", self.setup("--arm64", "--package", "--list").stdout.split())

    def test_arm64_where_its_libraries_cannot_be(self):
        self.program("dpkg", f'case $1 in --print-architecture) echo amd64 ;; --add-*) echo "$@" >>{self.calls} ;; esac')
        self.assert_fails("libsoapysdr-dev", "tools/bare --arm64", arguments=["--arm64"])
        self.assertEqual(self.called(), [])
        self.program("dpkg-query", 'for p; do case $p in *:amd64) exit 1 ;; esac; done; ' + LACKS_CMAKE)
        self.assertEqual(self.setup("--arm64").returncode, 0)
        self.assertIn("--add-architecture arm64", self.called())
        self.program("uname", "echo aarch64")
        self.assert_fails("this machine is arm64", arguments=["--arm64"])

    def test_neither_root_nor_sudo(self):
        self.program("id", "echo 1000")
        self.assert_fails("this needs root or sudo", "apt-get install --no-install-recommends cmake")
        self.program("sudo", "exit 1")
        self.assert_fails("sudo failed", "apt-get install --no-install-recommends cmake")
        self.assertEqual(self.called(), [])

    def test_through_sudo(self):
        self.program("id", "echo 1000")
        self.program("sudo", f'echo sudo >>{self.calls}; if [ "$1" != -v ]; then "$@"; fi')
        done = self.setup()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("sudo", self.called())
        self.assertEqual(self.called()[-1].split()[-1], "cmake")

    def test_no_apt(self):
        (self.folder / "apt-get").unlink()
        self.assert_fails("no apt-get and no c++", "libzmq3-dev")
        for name in ("c++", "cmake", "ninja", "pkg-config", "python3"):
            self.program(name, ":")
        done = self.setup()
        self.assertEqual(done.returncode, 0)
        self.assertIn("libzmq3-dev", done.stderr)


if __name__ == "__main__":
    unittest.main()
