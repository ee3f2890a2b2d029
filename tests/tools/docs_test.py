# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""tools/docs on its own tree, with a program that gives fixed answers."""

import pathlib
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
ANSWERS = """#!/bin/sh
case "$*" in
  stages) printf '%s\\n' "single filters takes one" "one math it" "two math it" "none math it" "other sync it" \
    "radio source any" "radio sink any" ;;
  "stages --markdown") cat <<END
| stage | family | ports | what |
| --- | --- | --- | --- |
| \\`single\\` | filters | in [n] -> out | filters |
| \\`one\\` | math | in any -> out | adds |
| \\`other\\` | sync | in [n] -> out, events | locks |
| \\`two\\` | math | in any -> out | subtracts, \\| in0 - in1 \\| |
END
  ;;
  "stages --json") cat <<END
[{"name": "single", "summary": "filters", "ports": "in -> out",
  "keys": {"properties": {"lambda": {"type": "number", "default": 1}, "kind": {"enum": ["a", "b"]}},
           "required": ["kind"]}},
 {"name": "zmq", "summary": "a source", "ports": "source", "keys": {}}]
END
  ;;
  "stages single --markdown") echo "| keys of single |" ;;
  "stages one --markdown") echo "| keys of one |" ;;
  "stages two --markdown") echo "| keys of two |" ;;
  "stages none --markdown") ;;
  "stages other --markdown") echo "| keys of other |" ;;
  "schema --markdown") printf '\\n## A\\n\\n| keys |\\n' ;;
  "stages pipeline --markdown") echo '| `gain` | `0` | 0 … 9 | scales by 10^`gain` |' ;;
  "stages monitor --markdown") echo '| `listen` | (required) |  | address |' ;;
  --help) cat <<END
the program
Usage: iqd [OPTIONS] SUBCOMMAND

Options:
  -h,--help                   Print this

Subcommands:
  one                         does \\`one\\` thing
END
  ;;
  "one --help") cat <<END
does \\`one\\` thing
Usage: iqd one [OPTIONS] IN [OUT] MORE(1x)

Positionals:
  IN TEXT REQUIRED            .npy, with --rate
  OUT TEXT                    a file
  MORE TEXT REQUIRED          more

Options:
  -h,--help                   Print this
  --kind TEXT:{a,b-c}         what
  --level FLOAT:FLOAT in [0.5 - 1e+06]
                              how much
  --count INT:POSITIVE ... Excludes: --all
                              how many
END
  ;;
  *) exit 9 ;;
esac
"""

STAGES = """
## filters

| stage | ports | what |
| --- | --- | --- |
| [`single`](../pipeline/stages/filters/single/README.md) | in [n] -> out | filters |

## math

| stage | ports | what |
| --- | --- | --- |
| [`one`](../pipeline/stages/math/several/README.md) | in any -> out | adds |
| [`two`](../pipeline/stages/math/several/README.md) | in any -> out | subtracts, \\| in0 - in1 \\| |

## sync

| stage | ports | what |
| --- | --- | --- |
| [`other`](../pipeline/stages/sync/other/README.md) | in [n] -> out, events | locks |

"""


COUNTERS = """// COUNTER(of, name, metric, help)
COUNTER(pipeline, blocks, "iqd_blocks_total", "Blocks published.")
COUNTER(radio, late, "iqd_radio_late_total", "What came late (`late`), in all.")
"""


PAGE = r""".\" <synopsis>
.SH NAME
iqd\-one \- does one thing
.SH SYNOPSIS
.B iqd one
[\fIOPTION\fP]... \fIIN\fP [\fIOUT\fP] \fIMORE\fP...
.\" </synopsis>
.\" <options>
.SH ARGUMENTS
.TP
\fIIN\fP
\&.npy, with \-\-rate
.TP
\fIOUT\fP
a file
.TP
\fIMORE\fP
more
.SH OPTIONS
.TP
\fB\-h\fP, \fB\-\-help\fP
Print this
.TP
\fB\-\-kind\fP \fBa\fP|\fBb\-c\fP
what
.TP
\fB\-\-level\fP \fINUMBER\fP
how much; from 0.5 to 1e+06
.TP
\fB\-\-count\fP \fIN\fP...
how many; more than 0; not with \fB\-\-all\fP
.\" </options>
"""


class Docs(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.root = pathlib.Path(holder.name)
        self.write("iqd", ANSWERS).chmod(0o755)
        self.stages = self.write("docs/stages.md", "before\n<!-- stages -->\nold\n<!-- /stages -->\nafter\n")
        self.keys = self.write("docs/pipeline-keys.md", "<!-- keys -->\n<!-- /keys -->\n")
        self.write("pipeline/meters/counters.def", COUNTERS)
        self.metrics = self.write("docs/metrics.md", "<!-- counters -->\n<!-- /counters -->\n| `more` |\n")
        self.stubs = self.write("python/iqd/__init__.pyi", "# <stages>\n# </stages>\n")
        self.single = self.stage("filters/single")
        self.several = self.stage("math/several")
        self.other = self.stage("sync/other")
        self.manual = self.man("iqd.1", "commands", "options")
        self.page = self.man("iqd-one.1", "synopsis", "options")
        self.format = self.man("iqd.yaml.5", "pipeline", "monitor", "drivers")

    def write(self, path, text):
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        return file

    def stage(self, folder):
        return self.write(f"pipeline/stages/{folder}/README.md", "# a stage\n<!-- config -->\n<!-- /config -->\n")

    def man(self, name, *parts):
        return self.write(f"docs/man/{name}", "".join(f'.\\" <{part}>\n.\\" </{part}>\n' for part in parts))

    def docs(self, *arguments):
        return subprocess.run([ROOT / "tools" / "docs", "--root", self.root, "--iqd", self.root / "iqd", *arguments],
                              capture_output=True, text=True, check=False)

    def test_the_stubs_of_stages(self):
        self.assertEqual(self.docs().returncode, 0)
        text = self.stubs.read_text(encoding="utf-8")
        for part in ('entry: Literal["single"]', "kind: Literal['a', 'b'],", "lambda_: float = ...", "'filters'"):
            self.assertIn(part, text)
        self.assertNotIn("zmq", text)
        compile(text, "stubs", "exec")

    def test_tables_stand_between_their_comments(self):
        self.assertEqual(self.docs().returncode, 0)
        self.assertEqual(self.stages.read_text(), f"before\n<!-- stages -->\n{STAGES}<!-- /stages -->\nafter\n")
        self.assertEqual(self.keys.read_text(), "<!-- keys -->\n\n## A\n\n| keys |\n\n<!-- /keys -->\n")
        self.assertIn("\n\n| keys of single |\n\n", self.single.read_text())
        self.assertIn("\n`one`:\n\n| keys of one |\n\n`two`:\n\n| keys of two |\n\n<!--", self.several.read_text())

    def test_counters_are_those_of_their_list(self):
        self.docs()
        text = self.metrics.read_text()
        self.assertIn("\n| `iqd_blocks_total` | counter | `pipeline` | Blocks published. |\n", text)
        self.assertIn("| counter | `pipeline` `radio` | What came late (`late`), in all. |\n", text)
        self.assertEqual(text.count("| counter |"), 2)

    def test_the_manual_has_commands_options_and_keys(self):
        self.docs()
        self.assertEqual(self.manual.read_text(), '.\\" <commands>\n.TP\n.BR iqd\\-one (1)\ndoes \\fBone\\fP thing\n'
                         '.\\" </commands>\n.\\" <options>\n.SH OPTIONS\n.TP\n\\fB\\-h\\fP, \\fB\\-\\-help\\fP\n'
                         'Print this\n.\\" </options>\n')
        self.assertEqual(self.page.read_text(), PAGE)
        text = self.format.read_text()
        self.assertIn("\n.TP\n\\fBgain\\fP\nscales by 10\\(ha\\fBgain\\fP (0 … 9; default: \\fB0\\fP)\n", text)
        self.assertIn("\n.TP\n\\fBlisten\\fP\naddress (required)\n", text)
        self.assertIn("\n.TP\n\\fBradio\\fP (source, sink)\nany\n", text)

    def test_each_command_has_a_page_and_each_page_a_command(self):
        self.page.rename(self.page.with_name("iqd-two.1"))
        self.assertIn("docs/man: no page for the command one", self.docs().stderr)
        self.man("iqd-one.1", "synopsis", "options")
        self.assertIn("docs/man: no command for the page two", self.docs().stderr)

    def test_a_second_time_changes_nothing(self):
        self.docs()
        before = self.stages.read_text()
        done = self.docs()
        self.assertEqual((done.returncode, done.stdout), (0, ""))
        self.assertEqual(self.stages.read_text(), before)
        self.assertEqual(self.docs("--check").returncode, 0)

    def test_check_names_what_is_not_current_and_writes_nothing(self):
        self.docs()
        self.stages.write_text(self.stages.read_text().replace("locks", "unlocks"))
        before = self.stages.read_text()
        done = self.docs("--check")
        self.assertEqual((done.returncode, done.stdout), (1, "docs/stages.md: not current; run tools/docs\n"))
        self.assertEqual(self.stages.read_text(), before)

    def test_a_page_without_its_comments_is_named(self):
        self.single.write_text("# single\n")
        done = self.docs()
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("single/README.md: needs one line <!-- config -->", done.stderr)

    def test_a_stage_without_a_page_is_named(self):
        self.other.unlink()
        done = self.docs()
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("pipeline/stages/sync: no page for the stage other", done.stderr)

    def test_a_program_that_fails_is_a_failure(self):
        self.write("iqd", "#!/bin/sh\nexit 9\n")
        self.assertNotEqual(self.docs("--check").returncode, 0)


class Pages(unittest.TestCase):
    def test_the_readme_names_every_page(self):
        readme = (ROOT / "README.md").read_text(encoding="utf-8")
        for page in (ROOT / "docs").glob("*.md"):
            self.assertIn(f"(docs/{page.name})", readme)

    def test_contributing_names_every_folder(self):
        contributing = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
        for folder in {source.relative_to(ROOT).parts[0] for source in ROOT.glob("*/CMakeLists.txt")}:
            self.assertIn(f"`{folder}/`", contributing)

    def test_every_pipeline_to_start_from_is_listed(self):
        listed = (ROOT / "docs" / "pipelines.md").read_text(encoding="utf-8")
        for file in (ROOT / "pipelines").iterdir():
            self.assertIn(f"`{file.name}`", listed)


if __name__ == "__main__":
    unittest.main()
