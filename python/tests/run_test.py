# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""iqd.run: daemons that start, end, fail, and never stay behind."""

import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
import unittest
import unittest.mock

import numpy as np

import iqd
from iqd._process import find_program

PACKAGE = pathlib.Path(iqd.__file__).parent.parent
PATIENCE = 30.0


def is_alive(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


class RunTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory(prefix="iqd-test-")))

    def text(self, source="soapy: {args: driver=iqdsim, rate: 1 MS/s}", more=""):
        return (f"name: lab\nsource: {{{source}}}\nblock: 4096\nstages:\n- rotate: {{frequency: 1 kHz}}\n"
                f"publish: [{{port: rotate, topic: x, bind: \"ipc://{self.folder}/x\"}}]\n{more}")

    def file(self, text, name="lab.yaml"):
        path = self.folder / name
        path.write_text(text, encoding="utf-8")
        return path

    def assertEnds(self, pid):
        ends = time.monotonic() + PATIENCE
        while is_alive(pid):
            self.assertLess(time.monotonic(), ends, f"process {pid} has stayed")
            time.sleep(0.02)


class Run(RunTest):
    def test_a_file_a_text_and_a_dict(self):
        spec = {"name": "lab", "source": {"soapy": {"args": "driver=iqdsim", "rate": 1e6}},
                "publish": [{"port": "source", "topic": "x", "bind": f"ipc://{self.folder}/x"}]}
        for given in (self.file(self.text()), str(self.file(self.text())), self.text(), spec):
            with iqd.run(given, timeout=PATIENCE) as d:
                pid = d.pid
                self.assertIsInstance(d, iqd.Daemon)
                self.assertEqual((d.ready, d.returncode, d.final), (True, None, None))
                self.assertEqual(next(iqd.subscribe(f"ipc://{self.folder}/x", timeout=PATIENCE)).topic, "x")
            self.assertEqual((d.returncode, d.final["final"], d.status), (0, True, d.final))
            self.assertEqual(d.final["pipelines"][0]["in_flight"], 0)
            self.assertIn("exit code 0", repr(d))
            self.assertFalse(is_alive(pid))
        self.assertEqual(sorted(os.listdir(self.folder)), ["lab.yaml"])

    def test_a_monitor_of_the_file_is_used_or_replaced(self):
        """With `port` two of them run at a time, though the file names one port."""
        for monitor in ('monitor: {listen: "127.0.0.1:9464", page: false}',
                        "monitor:\n  page: false\n  # a\n\n  listen: 127.0.0.1:1"):
            with iqd.run(self.text(more=f"# the end\n{monitor}\n"), port=0, timeout=PATIENCE) as one:
                self.assertNotIn(one.address, ("127.0.0.1:9464", "127.0.0.1:1"))
                with iqd.run(self.text().replace("/x\"", "/y\"") + monitor + "\n", port=0, timeout=PATIENCE) as two:
                    self.assertNotEqual(one.address, two.address)
        with iqd.run(self.text(more='monitor: {listen: "127.0.0.1:0"}\n'), timeout=PATIENCE) as d:
            self.assertTrue(d.ready)

    def test_other_shapes_of_files(self):
        flow = "{name: lab, source: {soapy: {args: driver=iqdsim, rate: 1 MS/s}},\n publish: [],}\n"
        indented = "# c\n---\n  name: lab\n  source: {soapy: {args: driver=iqdsim, rate: 1 MS/s}}\n...\n"
        own = '{name: lab, source: {soapy: {args: driver=iqdsim, rate: 1 MS/s}}, monitor: {listen: "127.0.0.1:9"}}'
        for text in (flow, indented, own, self.text().rstrip("\n")):
            with iqd.run(text, port=0, timeout=PATIENCE) as d:
                self.assertEqual(list(d.pipelines), ["lab"])

    def test_files_are_found_beside_the_pipeline_file(self):
        """Also in a folder that is read-only."""
        text = self.text().replace("- rotate: {frequency: 1 kHz}", "- fir: {name: rotate, taps: \"@below/taps.npy\"}")
        folder = self.folder / "lab"
        (folder / "below").mkdir(parents=True)
        np.save(folder / "below" / "taps.npy", np.array([1.0, 2.0]))
        path = folder / "lab.yaml"
        path.write_text(text, encoding="utf-8")
        with iqd.run(path, timeout=PATIENCE) as d:
            self.assertEqual(d["rotate"]["taps"], [1, 2])
        access = os.access
        with unittest.mock.patch("os.access", lambda at, mode: at != str(folder) and access(at, mode)):
            with iqd.run(path, timeout=PATIENCE) as d:
                self.assertEqual(d["rotate"]["taps"], [1, 2])
        self.assertEqual(sorted(os.listdir(folder)), ["below", "lab.yaml"])

    def test_a_changed_file_is_reloaded(self):
        path = self.file(self.text())
        with iqd.run(path, timeout=PATIENCE) as d:
            d["rotate"]["frequency"] = "2 kHz"
            path.write_text(self.text().replace("1 kHz", "3 kHz"), encoding="utf-8")
            self.assertIn("lab: rotate.frequency: 3 kHz (file) replaces 2 kHz (patch)", d.reload())
            self.assertEqual(d["rotate"]["frequency"], 3000)
            path.write_text(self.text().replace("1 kHz", "many"), encoding="utf-8")
            with self.assertRaises(iqd.ConfigError) as caught:
                d.reload()
            self.assertEqual(d["rotate"]["frequency"], 3000)
        self.assertRegex(str(caught.exception), rf"^{path}:5:\d+ stages\[0\].rotate.frequency")

    def test_a_wrong_file_lists_all_problems(self):
        path = self.file(self.text().replace("rate: 1 MS/s", "rate: fast").replace("frequency", "frequncy"))
        with self.assertRaises(iqd.ConfigError) as caught:
            iqd.run(path)
        problems = caught.exception.problems
        self.assertEqual(len(problems), 2, problems)
        self.assertRegex(problems[0], rf"^{path}:2:\d+ source.soapy.rate: ")
        self.assertRegex(problems[1], rf"^{path}:5:\d+ stages\[0\].rotate.frequncy: unknown key \(did you mean")
        for wrong, words in (("name: [\n", "invalid YAML"),
                             (self.text(more='monitor: {listen: "127.0.0.1"}\n'), "monitor.listen"),
                             ({"source": {"soapy": {"rate": float("nan")}}}, "NaN"), ({"name": object()}, "object")):
            with self.assertRaises(iqd.ConfigError) as caught:
                iqd.run(wrong)
            self.assertIn(words, str(caught.exception))
        self.assertEqual(os.listdir(self.folder), ["lab.yaml"])

    def test_what_cannot_be_opened_is_named(self):
        with self.assertRaisesRegex(iqd.Error, "exit code 1:\n(.*\n)*.*no match"):
            iqd.run(self.text("soapy: {args: driver=none, rate: 1 MS/s}"), timeout=PATIENCE)
        with self.assertRaisesRegex(iqd.Error, "none.yaml: cannot be read: No such file"):
            iqd.run("none.yaml")
        for wrong in (None, 5):
            self.assertRaises(iqd.ConfigError, iqd.run, wrong)
        for options in ({"port": 70000}, {"port": "x"}, {"timeout": float("nan")}, {"seconds": -1}):
            self.assertRaises(iqd.ConfigError, iqd.run, self.text(), **options)

    def test_one_that_does_not_become_ready(self):
        """A source that waits for a peer."""
        text = self.text(f"zmq: {{connect: \"ipc://{self.folder}/nobody\", kind: pull, rate: 1 MS/s, element: cf32}}")
        began = time.monotonic()
        with self.assertRaisesRegex(iqd.Timeout, "iqd is not ready in time: (.*\n)*.*no samples"):
            iqd.run(text, timeout=1.5)
        self.assertLess(time.monotonic() - began, 10)
        with iqd.run(text, ready=False, timeout=PATIENCE) as d:
            self.assertFalse(d.ready)
            self.assertRaises(iqd.Timeout, d.wait_ready, 0.1)

    def test_streams_that_end(self):
        rec = iqd.write(self.folder / "r", [0j] * 50_000, rate=1e6)
        text = self.text(f"file: {{path: {rec.path}.sigmf-meta}}")
        with iqd.run(text, timeout=PATIENCE) as d:
            self.assertEqual(d.wait(PATIENCE), 0)
            self.assertEqual(d.final["pipelines"][0]["published"], 50_000)
        with iqd.run(text, wait_subscribers=1, timeout=PATIENCE) as d:
            self.assertRaises(iqd.Timeout, d.wait, 0.1)
            self.assertEqual(sum(m.data.shape[-1] for m in iqd.subscribe(f"ipc://{self.folder}/x")), 50_000)
        with iqd.run(self.text(), seconds=0.2, timeout=PATIENCE) as d:
            self.assertEqual(d.wait(PATIENCE), 0)
            self.assertTrue(any("ended after" in line for line in d.log))

    def test_one_that_dies_is_an_error(self):
        with self.assertRaisesRegex(iqd.Error, "exit code -9"):
            with iqd.run(self.text(), timeout=PATIENCE) as d:
                os.kill(d.pid, signal.SIGKILL)
                self.assertEndsCode(d)
        with self.assertRaisesRegex(iqd.Error, "exit code -9"):
            with iqd.run(self.text(), timeout=PATIENCE) as d:
                os.kill(d.pid, signal.SIGKILL)
                d.wait(PATIENCE)

    def assertEndsCode(self, d):
        ends = time.monotonic() + PATIENCE
        while d.returncode is None:
            self.assertLess(time.monotonic(), ends)
            time.sleep(0.01)

    def test_exceptions_end_it(self):
        with self.assertRaises(ZeroDivisionError):
            with iqd.run(self.text(), timeout=PATIENCE) as d:
                1 / 0  # pylint: disable=pointless-statement
        self.assertEqual(d.returncode, 0)
        d = iqd.run(self.text(), timeout=PATIENCE)
        pid = d.pid
        del d
        self.assertEnds(pid)

    def test_the_program(self):
        given = find_program()
        self.assertEqual(find_program(given), given)
        with unittest.mock.patch.dict(os.environ, {"IQD": "/none"}):
            self.assertRaisesRegex(iqd.Error, "/none does not exist", find_program)
        on_path = self.folder / "iqd"
        shutil.copy("/bin/true", on_path)
        with unittest.mock.patch.dict(os.environ, {"PATH": str(self.folder)}):
            del os.environ["IQD"]
            self.assertIn(find_program(), (str(on_path), given))


PROGRAM = """
    import sys, time, iqd
    d = iqd.run({text!r}, timeout=30)
    print(d.pid, flush=True)
    {body}
"""


class Ends(RunTest):
    """However a program ends, its daemon ends, too."""

    def start(self, body):
        text = textwrap.dedent(PROGRAM).format(text=self.text(), body=body)
        process = subprocess.Popen([sys.executable, "-c", text], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   text=True, env={**os.environ, "PYTHONPATH": str(PACKAGE),
                                                   "TMPDIR": str(self.folder)})
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        line = process.stdout.readline()
        self.assertTrue(line.strip().isdigit(), line or process.stderr.read())
        return process, int(line)

    def test_by_an_exception_or_the_end(self):
        for body in ("1 / 0", "pass", "sys.exit(3)"):
            process, pid = self.start(body)
            process.wait(PATIENCE)
            self.assertEnds(pid)
            self.assertEqual([name for name in os.listdir(self.folder) if name != "x"], [])

    def test_by_ctrl_c_sigterm_or_sigkill(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
            process, pid = self.start("time.sleep(60)")
            self.assertTrue(is_alive(pid))
            process.send_signal(number)
            process.wait(PATIENCE)
            self.assertEnds(pid)

    def test_ctrl_c_while_it_starts(self):
        """In each phase: nothing stays, and no file."""
        for delay in (0.05, 0.1, 0.15, 0.2, 0.3, 0.45):
            program = f"import iqd\nprint(flush=True)\niqd.run({self.text()!r}).stop()"
            process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                       env={**os.environ, "PYTHONPATH": str(PACKAGE), "TMPDIR": str(self.folder)})
            process.stdout.readline()
            time.sleep(delay)
            process.send_signal(signal.SIGINT)
            _, error = process.communicate(timeout=PATIENCE)
            self.assertIn(process.returncode, (0, 1, -signal.SIGINT), error)
            for pid in subprocess.run(["pgrep", "-f", f"run {self.folder}"], stdout=subprocess.PIPE,
                                      check=False).stdout.split():
                self.assertEnds(int(pid))
            self.assertEqual([name for name in os.listdir(self.folder) if name != "x"], [], error)

    def test_a_fork_leaves_it_alone(self):
        process, pid = self.start("import os\nif os.fork() == 0: sys.exit()\nos.wait(); print(d.ready, flush=True)")
        self.assertEqual(process.stdout.readline(), "True\n")
        process.wait(PATIENCE)
        self.assertEnds(pid)


if __name__ == "__main__":
    unittest.main()
