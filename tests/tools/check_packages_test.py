# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""tools/check-packages: what it finds in sources and scripts, and what it reports when tools/setup misses a package."""

import importlib.machinery
import importlib.util
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOOL = ROOT / "tools" / "check-packages"
loader = importlib.machinery.SourceFileLoader("check_packages", str(TOOL))
check_packages = importlib.util.module_from_spec(importlib.util.spec_from_loader("check_packages", loader))
loader.exec_module(check_packages)

HAS_APT = subprocess.run(["apt-cache", "show", "libboost-dev"], capture_output=True, check=False).returncode == 0 \
    if shutil.which("apt-cache") else False


class Reading(unittest.TestCase):
    def test_shell(self):
        text = ('# ninja in a comment\nset -e\nx=(clang tidy)\necho "gcc" "$(cmake --version)" \'git\'\n'
                "timeout 3 xargs -0 strip --all\ncommand -v ccache && ccache -s\n./gdb /usr/bin/ld a=make\n")
        words = check_packages.shell_words(text)
        self.assertLessEqual({"cmake", "timeout", "xargs", "strip", "echo"}, words)
        self.assertFalse({"ninja", "clang", "gcc", "git", "ccache", "gdb", "ld", "make"} & words, words)

    def test_python(self):
        programs, modules = check_packages.python_words(
            "import os.path, numpy as np\nfrom zmq.error import Again\nfrom . import beside\n"
            "subprocess.run(['dot', '-T', 'png'])\nshutil.which('promtool')\ncommand = ['taskset', '-c', '1']\n"
            "x = '/usr/bin/python3'\nprint('gcc')\n")
        self.assertEqual(programs, {"dot", "promtool", "taskset", "/usr/bin/python3"})
        self.assertEqual(modules, {"os", "numpy", "zmq"})

    def test_which_part_of_setup_a_file_has_to_do_with(self):
        for path, option in (("tools/demo", "--demo"), ("pipeline/engine/engine.cpp", "--demo"), ("pipeline/engine/engine_test.cpp", None),
                             ("radio/uhd/device.cpp", None), ("tests/support/iqd.py", "--peers"), ("tools/check", "--checks"),
                             ("tools/bare", "--bare"), (".ci/run", "--all"), ("gpu/device.cpp", False), ("bench/blocks/run.py", False)):
            self.assertEqual(check_packages.option_of(path), option, path)

    def test_headers_within_headers(self):
        with tempfile.TemporaryDirectory() as folder:
            header = pathlib.Path(folder) / "outer.h"
            header.write_text("#include <vector>\n#include <no/such/inner.h>\n", encoding="utf-8")
            files, absent = check_packages.included_files([str(header)])
        self.assertEqual(absent, ["no/such/inner.h"])
        self.assertTrue([f for f in files if f.endswith("/vector")], files)

    def test_python_modules(self):
        self.assertIsNone(check_packages.module_path("json", []))
        self.assertIsNone(check_packages.module_path("telemetry_model", [ROOT / "tests" / "support"]))
        self.assertIn("no_such_module", check_packages.module_path("no_such_module", []))


@unittest.skipUnless(HAS_APT, "NOT TESTED: no apt, or no lists of packages")
class Forgotten(unittest.TestCase):
    """A tree with a few files, and a tools/setup that lacks one package."""

    def complaints(self, forgotten, files):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            (root / "tools").mkdir()
            shutil.copy(ROOT / "tools" / "progress.sh", root / "tools")
            text = (ROOT / "tools" / "setup").read_text(encoding="utf-8")
            without = re.sub(rf"(?<=[ (\n]){re.escape(forgotten)}(?=[ )\n])", "", text) if forgotten else text
            self.assertNotEqual(without, None if not forgotten else text, "tools/setup does not name it")
            (root / "tools" / "setup").write_text(without, encoding="utf-8")
            (root / "tools" / "setup").chmod(0o755)
            for path, content in files.items():
                (root / path).parent.mkdir(parents=True, exist_ok=True)
                (root / path).write_text(content, encoding="utf-8")
            packages = check_packages.Packages(root)
            return [*check_packages.check_headers(root, packages), *check_packages.check_scripts(root, packages)]

    def test_a_header_of_a_header(self):
        """A past bug: UHD's headers include Boost's, but libuhd-dev does not depend on Boost."""
        files = {"radio/uhd/device.cpp": "#include <uhd/config.hpp>\n"}
        self.assertEqual(self.complaints("", files), [])
        found = self.complaints("libboost-dev", files)
        self.assertTrue(found)
        for line in found:
            self.assertRegex(line, r"radio/uhd/device.cpp: <uhd/config.hpp>: /usr/include/boost/.*: tools/setup does not install libboost")

    def test_the_demo_has_less(self):
        found = self.complaints("", {"daemon/main.cpp": "#include <uhd/version.hpp>\n#include <zmq.h>\n"})
        self.assertTrue(found and all("tools/setup --demo does not install" in line for line in found), found)

    def test_a_header_that_nobody_has(self):
        (line,) = self.complaints("", {"base/log.cpp": "#include <no/such/thing.hpp>\n"})
        self.assertIn("base/log.cpp: <no/such/thing.hpp>: no package", line)

    def test_a_program_and_a_module(self):
        files = {"tests/a_test.py": "import numpy\nimport subprocess\nsubprocess.run(['promtool', 'check'])\n",
                 "tools/test": "#!/bin/bash\nprometheus --version\n"}
        self.assertEqual(self.complaints("", files), [])
        found = self.complaints("prometheus", files)
        self.assertEqual([line.split(": ")[:2] for line in found],
                         [["tests/a_test.py", "/usr/bin/promtool"], ["tools/test", "/usr/bin/prometheus"]])


if __name__ == "__main__":
    unittest.main()
