# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""Completion of the shells: what they offer for a command line, of the program, of files and of a running iqd."""

import os
import pathlib
import pty
import re
import resource
import select
import shutil
import subprocess
import tempfile
import time
import unittest

import iqd

FOLDER = iqd.ROOT / "tools/completion"
TWO = """
pipelines:
  - name: one
    source: {{soapy: {{args: "driver=iqdsim", rate: 1 MS/s}}}}
    stages: [fir: {{taps: [1, 2, 1]}}]
    publish: [{{port: fir.out, topic: "iq$(id>broken)", bind: "{}"}}, {{port: source, topic: raw, bind: "{}"}}]
  - name: two
    source: {{generate: {{rate: 1 MS/s, pace: true}}}}
    stages: [fir: {{taps: [1, 2, 1], name: half}}]
    publish: [{{port: half.out, topic: other, bind: "{}"}}]
monitor: {{listen: "127.0.0.1:{}"}}
"""


class Completion(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory(prefix="iqd-test-")
        self.addCleanup(holder.cleanup)
        self.folder = pathlib.Path(holder.name)
        self.environment = {**os.environ, "IQD_MONITOR": "127.0.0.1:1"}
        for name in ("a.yaml", "b c.yml", "x.npy", "x.sigmf-meta", "alice.secret", "notes.txt", "under/y.wav"):
            path = self.folder / name
            path.parent.mkdir(exist_ok=True)
            path.touch()
        endpoints = (f"tcp://127.0.0.1:{port}" for port in (7001, 7001, 7002))
        (self.folder / "a.yaml").write_text(TWO.format(*endpoints, 7003), encoding="utf-8")

    def offered(self, *words, program=iqd.IQD):
        """What the last word may become."""
        done = subprocess.run(["bash", FOLDER / "iqd", program, *words], capture_output=True, text=True, check=False,
                              timeout=60, cwd=self.folder, env=self.environment)
        self.assertEqual(done.stderr, "")
        return done.stdout.splitlines()


class Static(Completion):
    def test_commands_and_options(self):
        listed = re.findall(r"^  ([a-z]+) ", iqd.command("--help").stdout.partition("Subcommands:")[2], re.MULTILINE)
        self.assertEqual(self.offered(""), listed)
        self.assertEqual(self.offered("-v", "ru"), ["run"])
        for command in listed:
            options = re.findall(r"^  (?:-.,)?(--[a-z0-9-]+)", iqd.command(command, "--help").stdout, re.MULTILINE)
            self.assertEqual(self.offered(command, "--"), options)

    def test_choices_are_those_of_the_help(self):
        self.assertEqual(self.offered("run", "a.yaml", "--status", "j"), ["json"])
        self.assertEqual(self.offered("bench", "fir", "--wait", ""), ["spin", "block", "resident"])
        self.assertEqual(self.offered("run", "--seconds", ""), [])

    def test_stages_keys_and_ports(self):
        self.assertEqual(self.offered("stages", "spec"), ["spectrum"])
        self.assertIn("filters", self.offered("stages", "f"))
        self.assertIn("fir", self.offered("exec", ""))
        self.assertNotIn("soapy", self.offered("exec", ""))
        self.assertIn("engine", self.offered("bench", "e"))
        self.assertEqual(self.offered("bench", "fir", "--config", "decim"), ["decimation="])
        self.assertEqual(self.offered("exec", "fir", "--config", "method=d"), ["method=direct"])
        self.assertEqual(self.offered("exec", "multiply", "--in", "in"), ["in0=", "in1="])
        self.assertEqual(self.offered("exec", "framer: {chip_rate: 1 kHz}", "--port", "framer.s"), ["framer.start"])

    def test_files_of_each_argument(self):
        self.assertEqual(set(self.offered("run", "")), {"a.yaml", "b c.yml", "under/"})
        self.assertEqual(set(self.offered("convert", "")), {"x.npy", "x.sigmf-meta", "under/"})
        self.assertEqual(self.offered("convert", "under/"), ["under/y.wav"])
        self.assertEqual(set(self.offered("record", "")), {"a.yaml", "b c.yml", "x.npy", "x.sigmf-meta", "under/"})
        self.assertEqual(set(self.offered("sub", "--key", "")), {"alice.secret", "under/"})
        self.assertEqual(self.offered("exec", "--file", "b"), ["b c.yml"])
        self.assertEqual(self.offered("exec", "multiply", "--in", "in0=x.n"), ["in0=x.npy"])
        self.assertEqual(self.offered("run", "no"), ["notes.txt"])  # none fits, so all

    def test_ports_and_pipelines_of_a_file(self):
        self.assertEqual(self.offered("exec", "--file", "a.yaml", "--pipeline", ""), ["one", "two"])
        self.assertEqual(self.offered("record", "a.yaml", "--pipeline", "two", "--port", ""), ["source", "half.out"])

    def test_a_failure_is_silent(self):
        self.assertEqual(self.offered("", program="/nowhere/iqd"), [])
        self.assertEqual(self.offered("set", ""), [])
        self.assertEqual(self.offered("sub", ""), [])
        self.assertEqual(self.offered("nothing", ""), [])
        self.assertEqual(self.offered("run", "--[", "--stat"), ["--status"])
        self.assertEqual(self.offered("exec", "--file", "b c.yml", "--port", ""), [])

    @unittest.skipIf(iqd.SANITIZED, "sanitizers are slow")
    def test_it_is_quick(self):
        # Of a CPU, for other tests run meanwhile.
        def used():
            usage = resource.getrusage(resource.RUSAGE_CHILDREN)
            return usage.ru_utime + usage.ru_stime

        def seconds(*words):
            start = used()
            self.offered(*words)
            return used() - start

        for words in ([""], ["run", "--"], ["stages", ""]):
            self.assertLess(min(seconds(*words) for _ in range(10)), 0.1, words)


class Live(Completion):
    def setUp(self):
        super().setUp()
        self.port, self.first, self.second = iqd.free_port(), iqd.endpoint(), iqd.endpoint()
        self.environment["IQD_MONITOR"] = f"127.0.0.1:{self.port}"
        text = TWO.format(self.first, self.first, self.second, self.port)
        daemon = self.enterContext(iqd.Daemon(text, folder=self.folder))
        daemon.wait_for_log("serving")

    def test_stages_and_keys(self):
        self.assertEqual(self.offered("set", ""), ["one/fir.", "one/source.", "two/half.", "two/source."])
        self.assertEqual(self.offered("get", "one/p"), ["one/publish.0.", "one/publish.1."])
        self.assertEqual(self.offered("get", "one/publish.1.t"), ["one/publish.1.topic"])
        self.assertEqual(self.offered("set", "--pipeline", "t"), ["two"])
        self.assertEqual(self.offered("set", "two/half.t"), ["two/half.taps="])
        self.assertEqual(self.offered("set", "two/half.dec"), [])  # not live
        self.assertEqual(self.offered("set", "one/source.agc="), ["one/source.agc=true", "one/source.agc=false"])
        self.assertEqual(self.offered("set", "one/source.antenna="), ["one/source.antenna=RX"])

    def test_another_iqd_is_asked_if_the_line_names_it(self):
        address, self.environment["IQD_MONITOR"] = self.environment["IQD_MONITOR"], "127.0.0.1:1"
        self.assertEqual(self.offered("get", "two/h"), [])
        self.assertEqual(self.offered("get", "--address", address, "two/h"), ["two/half."])

    def test_endpoints_and_topics(self):
        self.assertEqual(self.offered("sub", ""), sorted([self.first, self.second]))
        self.assertEqual(self.offered("sub", self.first, ""), ["iq$(id>broken)", "raw"])
        self.environment["IQD_MONITOR"] = "127.0.0.1:1"
        self.assertEqual(self.offered("plot", self.second, "o"), ["other"])  # listens to the publisher

    def test_bash_never_runs_what_a_topic_says(self):
        wanted = f"iqd sub {self.first} " + r"iq\$\(id\>broken\)"
        keys = f"iqd sub {self.first} i\t"
        self.assertIn(wanted, typed(["bash", "--norc", "-i"], f". {FOLDER}/iqd\n", keys, [wanted], self))
        self.assertFalse((self.folder / "broken").exists())


def typed(shell, start, keys, wanted, test):
    """What an interactive shell in the test's folder shows while these keys are typed, until it has all that is wanted.

    `start` prepares the shell. Without a word of it for 20 s, the shell will not show the rest, either.
    """
    (test.folder / "programs").mkdir(exist_ok=True)
    (test.folder / "programs/iqd").symlink_to(pathlib.Path(iqd.IQD).resolve())
    environment = {**test.environment, "PATH": f"{test.folder}/programs:{os.environ['PATH']}", "TERM": "dumb",
                   "HOME": str(test.folder), "INPUTRC": "/dev/null"}
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(test.folder)
        os.execvpe(shell[0], shell, environment)
    shown = ""

    def read_until(words):
        nonlocal shown
        while not all(word in shown for word in words) and select.select([terminal], [], [], 20)[0]:
            shown += os.read(terminal, 65536).decode(errors="replace").replace("\a", "")

    # Wide enough for all that is typed. The shell reads keys only after it has started, so it says when.
    os.write(terminal, f"stty cols 400\n{start}echo rea''dy\n".encode())
    read_until(["ready"])
    time.sleep(0.5)
    os.write(terminal, keys.encode())
    read_until(wanted)
    os.close(terminal)
    os.waitpid(child, 0)
    return shown


class Shells(Completion):
    KEYS = "iqd explai\t\x15iqd exec fir --config meth\tdi\t\x15iqd run b\t\x15iqd run under/\t\x15"
    WHOLE = ["iqd explain ", "iqd exec fir --config method=direct ", r"iqd run b\ c.yml ", "iqd run under/y.wav "]

    def test_bash(self):
        wanted = [*self.WHOLE, "iqd run 'b c.yml'"]
        shown = typed(["bash", "--norc", "-i"], f". {FOLDER}/iqd\n", self.KEYS + "iqd run 'b\t\x15", wanted, self)
        for whole in wanted:
            self.assertIn(whole, shown)

    @unittest.skipUnless(shutil.which("zsh"), "zsh is not installed")
    def test_zsh(self):
        start = f"fpath=({FOLDER} $fpath); autoload -Uz compinit; compinit -u -D\n"
        shown = typed(["zsh", "-f", "-i"], start, self.KEYS, self.WHOLE, self)
        for whole in self.WHOLE:
            self.assertIn(whole, shown)

    @unittest.skipUnless(shutil.which("fish"), "fish is not installed")
    def test_fish(self):
        (self.folder / "programs").mkdir()
        (self.folder / "programs/iqd").symlink_to(pathlib.Path(iqd.IQD).resolve())
        for line, whole in (("iqd explai", "explain"), ("iqd exec fir --config meth", "method="),
                            ("iqd run b", "b c.yml"), ("iqd set ''", "")):
            script = f"source {FOLDER}/iqd.fish; complete -C \"{line}\""
            done = subprocess.run(["fish", "-N", "-c", script], capture_output=True, text=True, check=False,
                                  timeout=60, cwd=self.folder,
                                  env={**self.environment, "PATH": f"{self.folder}/programs:{os.environ['PATH']}"})
            self.assertEqual((done.stdout.strip(), done.stderr), (whole, ""))


if __name__ == "__main__":
    unittest.main()
