# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""The shell scripts: their syntax, their first lines, and how tools/parts.sh reports failures."""

import os
import pathlib
import subprocess
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCRIPTS = [p for p in sorted((ROOT / "tools").iterdir()) + sorted((ROOT / "tools" / "bundled").iterdir()) +
           sorted((ROOT / "tests" / "packages").iterdir()) +
           [ROOT / ".ci" / "run"]
           if p.is_file() and p.read_text(encoding="utf-8").startswith("#!/bin/bash\n")]


def run(*command, **options):
    return subprocess.run(command, capture_output=True, text=True, check=False, **options)


class Scripts(unittest.TestCase):
    def test_there_are_some(self):
        names = {p.name for p in SCRIPTS}
        self.assertTrue({"setup", "build", "test", "check", "bare", "run"} <= names, names)

    def test_they_stop_at_the_first_failure(self):
        for script in SCRIPTS:
            self.assertIn("\nset -euo pipefail\n", script.read_text(encoding="utf-8"), script)
            self.assertTrue(os.access(script, os.X_OK), script)

    def test_their_syntax(self):
        for script in SCRIPTS + sorted((ROOT / "tools").glob("*.sh")):
            done = run("bash", "-n", script)
            self.assertEqual((done.returncode, done.stderr), (0, ""), script)

    def test_a_part_that_fails_fails_the_whole(self):
        text = f'. {ROOT}/tools/parts.sh; bad() {{ false || return; }}; part one true; part two bad; part three true; finish'
        done = run("bash", "-euo", "pipefail", "-c", text)
        self.assertEqual(done.returncode, 1)
        lines = done.stdout.splitlines()
        self.assertEqual([line.split()[:2] for line in lines[-4:]],
                         [["one", "ok"], ["two", "FAILED"], ["three", "ok"], ["total", "FAILED"]])

    def test_what_failed_stands_at_the_end(self):
        values = ["b.cpp:7: Failure", "Expected equality of these values:", "  x", "    Which is: 1", "  y", "    Which is: 2"]
        calls = ["==5==ERROR: AddressSanitizer: SEGV", *(f"    #{i} 0x1f in f{i}" for i in range(12))]
        log = [*values, "[  FAILED  ] Unit.Test (3 ms)", "a.cpp:3: runtime error: overflow", "[  FAILED  ] 1 test",
               *calls, "    #12 0x1f in f12", "SUMMARY: AddressSanitizer: SEGV a.cpp:9",
               "      Start 1: good", "1/3 Test #1: good ......   Passed", "      Start 2: bad",
               "2/3 Test #2: bad ......***Failed", "why it failed", "      Start 3: off", "3/3 Test #3: off ...***Skipped"]
        text = f'. {ROOT}/tools/parts.sh; bad() {{ printf "%s\\n" "$@"; return 1; }}; part tests bad "$@"; finish'
        done = run("bash", "-euo", "pipefail", "-c", text, "bash", *log)
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stdout.split("== what failed in: tests\n")[1].splitlines()[:25],
                         [*values, "[  FAILED  ] Unit.Test (3 ms)", "a.cpp:3: runtime error: overflow",
                          *calls, "SUMMARY: AddressSanitizer: SEGV a.cpp:9",
                          "2/3 Test #2: bad ...***Failed", "why it failed", ""])


if __name__ == "__main__":
    unittest.main()
