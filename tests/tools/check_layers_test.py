# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""tools/check-layers on small trees."""

import pathlib
import subprocess
import tempfile
import unittest

TOOL = pathlib.Path(__file__).resolve().parents[2] / "tools" / "check-layers"


def check(files):
    """Runs the tool on a tree of {path: text}: its exit code and its lines."""
    with tempfile.TemporaryDirectory() as root:
        for path, text in files.items():
            file = pathlib.Path(root) / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        done = subprocess.run([TOOL, root], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout.splitlines()


HEADERS = {
    "base/a.hpp": "#pragma once\n",
    "signal/b.hpp": '#include "base/a.hpp"\n',
    "config/fields.hpp": "",
    "config/reader.hpp": "",
    "gpu/stream.hpp": "#include <cuda_runtime.h>\n",
    "pipeline/stage/stage.hpp": '#include "config/fields.hpp"\n',
    "pipeline/plan/plan.hpp": "",
    "pipeline/engine/engine.hpp": "",
    "pipeline/sizing.hpp": "",
    "pipeline/stages/filters/fir/fir.hpp": "",
    "pipeline/stages/noma/multiuser/engine.hpp": "",
    "pipeline/stages/filters/fft/fft.hpp": "",
    "pipeline/stages/filters/windows.hpp": "",
    "pipeline/stages/arithmetic.hpp": "",
    "tests/support/signals.hpp": "",
}


class Layers(unittest.TestCase):
    def refused(self, path, include, message):
        code, lines = check({**HEADERS, path: f"// first line\n#include {include}\n"})
        self.assertEqual(code, 1, path)
        self.assertEqual(len(lines), 1, lines)
        self.assertTrue(lines[0].startswith(f"{path}:2: {message}"), lines[0])

    def accepted(self, path, include):
        self.assertEqual(check({**HEADERS, path: f"#include {include}\n"}), (0, []), path)

    def test_a_tree_in_order(self):
        self.assertEqual(check(HEADERS), (0, []))

    def test_folders(self):
        self.refused("base/x.cpp", '"signal/b.hpp"', '"signal/b.hpp" is out of bounds; this may include base/')
        self.refused("signal/x.cpp", '"config/fields.hpp"', '"config/fields.hpp" is out of bounds')
        self.refused("radio/soapy/x.cpp", '"config/reader.hpp"', '"config/reader.hpp" is out of bounds')
        self.refused("daemon/x.cpp", '"gpu/stream.hpp"', '"gpu/stream.hpp" is out of bounds')
        self.accepted("radio/soapy/x.cpp", '"config/fields.hpp"')
        self.accepted("daemon/x.cpp", '"pipeline/plan/plan.hpp"')

    def test_rooms(self):
        self.accepted("pipeline/engine/x.cpp", '"pipeline/plan/plan.hpp"')
        self.accepted("pipeline/plan/fusion/x.cpp", '"pipeline/plan/plan.hpp"')
        self.accepted("pipeline/x.cpp", '"pipeline/engine/engine.hpp"')
        self.accepted("pipeline/plan/plan_test.cpp", '"pipeline/engine/engine.hpp"')
        self.refused("pipeline/plan/x.cpp", '"pipeline/engine/engine.hpp"',
                     '"pipeline/engine/engine.hpp" is out of bounds; this may include pipeline/stage/')
        self.refused("pipeline/engine/x.cpp", '"pipeline/sizing.hpp"', '"pipeline/sizing.hpp" is out of bounds')
        self.assertEqual(check({**HEADERS, "pipeline/attic/x.cpp": ""}),
                         (1, ["pipeline/attic/x.cpp:1: is in no room of pipeline/"]))

    def test_stages(self):
        stage = "pipeline/stages/filters/fir/fir_stage.cpp"
        self.accepted(stage, '"pipeline/stages/filters/windows.hpp"')
        self.accepted(stage, '"pipeline/stages/arithmetic.hpp"')
        self.accepted("pipeline/stages/noma/lls/lls.cpp", '"pipeline/stages/noma/multiuser/engine.hpp"')
        self.refused(stage, '"pipeline/stages/noma/multiuser/engine.hpp"',
                     '"pipeline/stages/noma/multiuser/engine.hpp" belongs to another')
        self.refused("pipeline/stages/mimo/mtt/mtt.cpp", '"pipeline/stages/filters/windows.hpp"',
                     '"pipeline/stages/filters/windows.hpp" is out of bounds')
        self.refused(stage, '"pipeline/stages/filters/fft/fft.hpp"',
                     '"pipeline/stages/filters/fft/fft.hpp" belongs to another')
        self.refused(stage, '"pipeline/plan/plan.hpp"', '"pipeline/plan/plan.hpp" is out of bounds')
        self.refused(stage, '"config/reader.hpp"', '"config/reader.hpp" is out of bounds')
        self.refused(stage, '"gpu/stream.hpp"', '"gpu/stream.hpp" is out of bounds')
        self.refused("pipeline/plan.cpp", '"pipeline/stages/filters/fft/fft.hpp"',
                     '"pipeline/stages/filters/fft/fft.hpp" belongs')
        self.accepted(stage, '"pipeline/stages/filters/fir/fir.hpp"')
        self.accepted(stage, '"pipeline/stage/stage.hpp"')
        self.accepted("pipeline/stages/filters/fir/fir_cuda.cu", '"gpu/stream.hpp"')

    def test_tests_may_more(self):
        self.accepted("pipeline/stages/filters/fir/fir_test.cpp", '"tests/support/signals.hpp"')
        self.accepted("pipeline/stages/filters/fir/fir_test.cpp", '"config/reader.hpp"')
        self.refused("pipeline/stages/filters/fir/fir_stage.cpp", '"tests/support/signals.hpp"', '"tests/support')

    def test_libraries(self):
        self.refused("base/x.cpp", "<cuda_runtime.h>", "<cuda_runtime.h> may not be included here")
        self.refused("daemon/x.cpp", "<yaml-cpp/yaml.h>", "<yaml-cpp/yaml.h> may not be included here")
        self.refused("pipeline/x.cpp", "<SoapySDR/Device.hpp>", "<SoapySDR/Device.hpp> may not")
        self.accepted("pipeline/stages/filters/fir/fir_cuda.cu", "<cuda_runtime.h>")
        self.accepted("config/x.cpp", "<yaml-cpp/yaml.h>")
        self.accepted("base/x.cpp", "<vector>")

    def test_paths_start_at_the_root(self):
        self.refused("signal/x.cpp", '"b.hpp"', '"b.hpp" is not a path relative to the root')
        self.refused("signal/x.cpp", '"base/none.hpp"', '"base/none.hpp" is not a path relative to the root')

    def test_comments_and_spaces(self):
        self.accepted("base/x.cpp", '<vector>\n// #include "signal/b.hpp"')
        code, lines = check({**HEADERS, "base/x.cpp": '\n\n #  include   "signal/b.hpp"\n'})
        self.assertEqual((code, lines[0][:13]), (1, "base/x.cpp:3:"))


if __name__ == "__main__":
    unittest.main()
