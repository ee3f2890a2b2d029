# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""The shell scripts: their syntax, their first lines, and what they do with arguments that make no sense."""

import os
import pathlib
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCRIPTS = [p for p in sorted((ROOT / "tools").iterdir()) + sorted((ROOT / "tools" / "bundled").iterdir()) +
           [ROOT / ".ci" / "run"]
           if p.is_file() and p.read_text(encoding="utf-8").startswith("#!/bin/bash\n")]


def run(*command, **options):
    return subprocess.run(command, capture_output=True, text=True, check=False, **options)


class Scripts(unittest.TestCase):
    def test_there_are_some(self):
        names = {p.name for p in SCRIPTS}
        self.assertTrue({"setup", "build", "test", "check", "run"} <= names, names)

    def test_they_stop_at_the_first_failure(self):
        for script in SCRIPTS:
            self.assertIn("\nset -euo pipefail\n", script.read_text(encoding="utf-8"), script)
            self.assertTrue(os.access(script, os.X_OK), script)

    def test_their_syntax(self):
        for script in SCRIPTS + [ROOT / "tools" / "parts.sh"]:
            done = run("bash", "-n", script)
            self.assertEqual((done.returncode, done.stderr), (0, ""), script)

    def test_setup_refuses_what_it_does_not_know(self):
        done = run(ROOT / "tools" / "setup", "--all", cwd="/")
        self.assertEqual(done.returncode, 2)
        self.assertIn("usage", done.stderr)

    def test_setup_asks_for_what_is_missing_only(self):
        """Against a dpkg that knows all packages but one, and an apt-get that writes down what it is told."""
        with tempfile.TemporaryDirectory() as folder:
            bin_folder = pathlib.Path(folder)
            told = bin_folder / "told"
            programs = {
                "dpkg-query": 'for p; do :; done; if [ "$p" = cmake ]; then exit 1; else printf installed; fi',
                "apt-cache": "exit 0",
                "apt-get": f'echo "$@" >> {told}',
                "sudo": '"$@"',
            }
            for name, text in programs.items():
                (bin_folder / name).write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
                (bin_folder / name).chmod(0o755)
            environment = {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"}
            done = run(ROOT / "tools" / "setup", env=environment, cwd="/")
            self.assertEqual(done.returncode, 0, done.stderr)
            words = told.read_text(encoding="utf-8").split()
        self.assertEqual(words[-1], "cmake")
        self.assertIn("--no-install-recommends", words)
        self.assertNotIn("ninja-build", words)

    def test_a_part_that_fails_fails_the_whole(self):
        text = f'. {ROOT}/tools/parts.sh; bad() {{ false || return; }}; part one true; part two bad; part three true; finish'
        done = run("bash", "-euo", "pipefail", "-c", text)
        self.assertEqual(done.returncode, 1)
        lines = done.stdout.splitlines()
        self.assertEqual([line.split()[:2] for line in lines[-4:]],
                         [["one", "ok"], ["two", "FAILED"], ["three", "ok"], ["total", "FAILED"]])

    def test_what_failed_stands_at_the_end(self):
        log = ["      Start 1: good", "1/3 Test #1: good ......   Passed", "      Start 2: bad",
               "2/3 Test #2: bad ......***Failed", "why it failed", "      Start 3: off", "3/3 Test #3: off ...***Skipped"]
        text = f'. {ROOT}/tools/parts.sh; bad() {{ printf "%s\\n" "$@"; return 1; }}; part tests bad "$@"; finish'
        done = run("bash", "-euo", "pipefail", "-c", text, "bash", *log)
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stdout.split("== what failed in: tests\n")[1].splitlines()[:3],
                         ["2/3 Test #2: bad ...***Failed", "why it failed", ""])


if __name__ == "__main__":
    unittest.main()
