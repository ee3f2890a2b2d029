# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""A function in Python that fails in every way: its blocks are missing and counted to the sample, nothing else is, the
daemon waits no longer than its limit, and no process is left."""

import os
import pathlib
import signal
import sys
import time
import unittest
import urllib.request

import numpy as np

import iqd

BLOCK = 4096
FAULTS = '''import ctypes, os, socket, subprocess, sys, time
import numpy as np


def f(x, meta, fault, every=4):
    if (meta.position // 4096) % every == 1:
        return globals()[fault](x, meta)
    return x


def same(x, meta): return x
def raises(x, meta): return 1 / 0
def short(x, meta): return x[:, :-1]
def real(x, meta): return np.full(x.shape, "text")
def nothing(x, meta): return None
def items(x, meta): return [[object()] * x.shape[1]]
def ends(x, meta): sys.exit(0)
def ends_at_once(x, meta): os._exit(3)
def crashes(x, meta): ctypes.string_at(0)
def writes(x, meta): x[0, 0] = 1
def forces(x, meta): ctypes.memset(x.ctypes.data, 1, 8)
def hangs(x, meta):
    while True:
        pass
def sleeps(x, meta): time.sleep(1000)
def fills(x, meta):
    a = []
    while True:
        a.append(np.ones(1 << 20))
def closes(x, meta):
    os.closerange(0, 4096)
    return x
def interrupts(x, meta): raise KeyboardInterrupt
'''
LOST = {"raises": "raised", "short": "unfit", "real": "unfit", "nothing": "unfit", "items": "unfit", "ends": "raised",
        "ends_at_once": "died", "crashes": "died", "writes": "raised", "forces": "died", "hangs": "late", "sleeps": "late",
        "fills": "raised", "interrupts": "raised"}
LIMIT = {"hangs": 3, "sleeps": 3}  # s
RESTARTS = ("died", "late")


def processes_of(pid):
    """The processes that have this parent."""
    found = []
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text(encoding="utf-8", errors="replace").rsplit(")", 1)[1].split()
        except OSError:
            continue
        if int(fields[1]) == pid and fields[0] != "Z":
            found.append(int(stat.parent.name))
    return found


def is_running(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


class PythonFaults(iqd.SystemTest):
    def setUp(self):
        super().setUp()
        (self.folder / "faults.py").write_text(FAULTS, encoding="utf-8")

    def pipeline(self, keys, source="generate: {rate: 1e6, samples: 81920}", more="", publish=""):
        return f"""name: p
block: {BLOCK}
source: {{{source}}}
stages:
  - signal_source: {{waveform: cosine, frequency: 1e3}}
  - python: {{file: faults.py, function: f, {keys}}}
{more}publish:
  - {{port: python.out, topic: out, bind: "{iqd.endpoint()}"}}
{publish}"""

    def events(self, status):
        return {e["event"]: e["count"] for e in status["events"] if e["stage"] == "python" and e["count"]}

    def test_each_fault_costs_its_blocks_and_no_other(self):
        for fault, event in LOST.items():
            with self.subTest(fault):
                text = self.pipeline(f"params: {{fault: {fault}}}, limit: {LIMIT.get(fault, 10)} s, memory: 400 MiB")
                with self.daemon(text) as daemon:
                    self.assertEqual(daemon.wait(), 0, daemon.text)
                    final = daemon.final[0]
                    self.assertConserved(final)
                    self.assertEqual(final["dropped"]["stage"], 5 * BLOCK, (final["dropped"], daemon.text))
                    self.assertEqual(final["published"], 15 * BLOCK)
                    events = self.events(final)
                    self.assertEqual(events.pop(event), 5, daemon.text)
                    if event in RESTARTS:
                        self.assertIn(events.pop("restarted"), (4, 5))
                    self.assertEqual(events, {})
                    if event in ("raised", "unfit"):
                        self.assertEqual(daemon.text.count("an exception; its block is missing"), 1, daemon.text)

    def test_the_traceback_has_file_and_line(self):
        with self.daemon(self.pipeline("params: {fault: raises}")) as daemon:
            self.assertEqual(daemon.wait(), 0, daemon.text)
            line = FAULTS.splitlines().index("def raises(x, meta): return 1 / 0") + 1
            self.assertIn(f'/faults.py", line {line}, in raises', daemon.text)
            self.assertIn("def raises(x, meta): return 1 / 0", daemon.text)
            self.assertIn("ZeroDivisionError: division by zero", daemon.text)

    def test_descriptors_may_be_closed(self):
        """The call succeeds; then the process is cut off, and another one takes its place."""
        with self.daemon(self.pipeline("params: {fault: closes}")) as daemon:
            self.assertEqual(daemon.wait(), 0, daemon.text)
            final = daemon.final[0]
            self.assertConserved(final)
            # On a busy machine, a process serves more blocks, and closes them again, before that is noticed.
            self.assertGreaterEqual(self.events(final)["restarted"], 1)

    def test_other_results_and_other_pipelines_do_not_wait(self):
        text = f"""monitor: {{listen: "127.0.0.1:{iqd.free_port()}"}}
pipelines:
  - name: bad
    block: {BLOCK}
    source: {{generate: {{rate: 400e3, pace: true}}}}
    stages:
      - signal_source: {{waveform: cosine, frequency: 1e3}}
      - python: {{file: faults.py, function: f, params: {{fault: hangs, every: 2}}, limit: 300 ms}}
      - complex_to_mag: {{from: signal_source.out}}
    publish:
      - {{port: python.out, topic: bad, bind: "{iqd.endpoint()}"}}
      - {{port: complex_to_mag.out, topic: side, bind: "{(side := iqd.endpoint())}"}}
  - name: good
    block: {BLOCK}
    source: {{generate: {{rate: 1e6, pace: true}}}}
    stages:
      - signal_source: {{waveform: cosine, frequency: 1e3}}
      - python: {{file: faults.py, function: f, params: {{fault: same}}}}
    publish:
      - {{port: python.out, topic: good, bind: "{(good := iqd.endpoint())}"}}
"""
        with self.daemon(text) as daemon:
            reader = self.reader(good, "good")
            others = self.reader(side, "side")
            daemon.wait_for(lambda p: p["dropped"]["stage"] >= 5 * BLOCK)
            messages = reader.take(400)
            self.assertContinuous(messages, lossless=False)
            others.take(20)
            began = time.monotonic()
            self.assertEqual(daemon.stop(), 0, daemon.text)
            self.assertLess(time.monotonic() - began, 4)
            for status in daemon.final:
                self.assertConserved(status)
            self.assertEqual(daemon.final[1]["dropped"], dict.fromkeys(daemon.final[1]["dropped"], 0))

    def test_it_prints(self):
        (self.folder / "prints.py").write_text('''import os, sys
def f(x, meta):
    print("block", meta.block)
    print("\\x1b[31mred", file=sys.stderr)
    os.write(1, b"x" * 3000)
    return x
''', encoding="utf-8")
        text = self.pipeline("").replace("file: faults.py", "file: prints.py")
        with self.daemon(text) as daemon:
            self.assertEqual(daemon.wait(), 0, daemon.text)
            self.assertEqual(daemon.final[0]["published"], 20 * BLOCK)
            # Lines are limited, and either worker may be the first.
            self.assertRegex(daemon.text, r"prints\.py: f of stages\[1\]\.python: block \d")
            self.assertIn("?[31mred", daemon.text)
            lines = [line for line in daemon.log if "prints.py: " in line]
            self.assertLess(len(lines), 50)
            self.assertLess(max(map(len, lines)), 1500)

    def test_what_is_forbidden(self):
        (self.folder / "tries.py").write_text('''import ctypes, errno, os, signal, socket, subprocess
libc = ctypes.CDLL(None, use_errno=True)
daemon = os.getppid()

def fails(call, *numbers):
    try:
        call()
    except OSError as error:
        assert error.errno in (numbers or (errno.EPERM, errno.EACCES, errno.EROFS)), error
        return
    raise AssertionError("this was not forbidden")

def system(*arguments):
    if libc.syscall(*arguments) < 0:
        raise OSError(ctypes.get_errno(), "syscall")

def f(x, meta, folder):
    for family in (socket.AF_INET, socket.AF_INET6, socket.AF_UNIX, socket.AF_NETLINK, socket.AF_PACKET):
        fails(lambda: socket.socket(family))
    for flags in (os.O_WRONLY, os.O_RDWR, os.O_RDONLY | os.O_CREAT):
        fails(lambda: os.open(folder + "/new", flags | os.O_CREAT))
        fails(lambda: os.open(folder + "/faults.py", flags | os.O_TRUNC))
    fails(lambda: os.open(folder, os.O_TMPFILE | os.O_RDWR))
    for call in (lambda: os.mkdir(folder + "/new"), lambda: os.unlink(folder + "/faults.py"), lambda: os.rmdir(folder),
                 lambda: os.rename(folder + "/faults.py", folder + "/x"), lambda: os.symlink("a", folder + "/link"),
                 lambda: os.link(folder + "/faults.py", folder + "/link"), lambda: os.truncate(folder + "/faults.py", 0),
                 lambda: os.chmod(folder + "/faults.py", 0), lambda: os.chown(folder + "/faults.py", 1, 1),
                 lambda: os.utime(folder + "/faults.py"), lambda: os.mkfifo(folder + "/fifo"),
                 lambda: os.setxattr(folder + "/faults.py", "user.x", b"x")):
        fails(call)
    for call in (lambda: os.execv("/bin/true", ["true"]), lambda: subprocess.run(["/bin/true"]),
                 lambda: os.kill(daemon, 0), lambda: os.kill(daemon, signal.SIGTERM), lambda: os.kill(-1, signal.SIGTERM),
                 lambda: os.killpg(daemon, signal.SIGTERM), lambda: os.setsid(), lambda: os.setpgid(0, 0),
                 lambda: os.unshare(0x10000000) if hasattr(os, "unshare") else system(272, 0x10000000),
                 lambda: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1)), lambda: os.nice(-1),
                 lambda: os.setpriority(os.PRIO_PROCESS, daemon, 19),
                 lambda: signal.pidfd_send_signal(os.pidfd_open(daemon), 0)):
        fails(call)
    import platform, resource
    fails(lambda: resource.prlimit(daemon, resource.RLIMIT_NOFILE, (3, 3)))
    if platform.machine() == "x86_64":
        fails(lambda: system(101, 16, daemon, 0, 0))         # ptrace
        fails(lambda: system(310, daemon, 0, 0, 0, 0, 0))    # process_vm_readv
        fails(lambda: system(157, 1, 0))                     # prctl: no signal when the daemon ends
        fails(lambda: system(425, 8, 0), errno.ENOSYS)       # io_uring_setup
        fails(lambda: system(72, 0, 8, daemon))              # fcntl: signals for the daemon
    fails(lambda: open(f"/proc/{daemon}/mem", "wb"))
    assert not os.path.exists(folder + "/new")
    child = os.fork()
    if child == 0:
        fails(lambda: socket.socket())
        os._exit(7)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    return x
''', encoding="utf-8")
        text = self.pipeline(f"params: {{folder: {self.folder}}}").replace("file: faults.py", "file: tries.py")
        self.folder.chmod(0o777)
        unit = [sys.executable, pathlib.Path(iqd.__file__).parent / "like_the_unit.py"]
        for before in ((), unit):
            with self.subTest(before), self.daemon(text, before=before) as daemon:
                code = daemon.wait()
                if code == 77:
                    self.skipTest(f"NOT TESTED WITH THE UNIT'S LIMITS: {daemon.text}")
                self.assertEqual(code, 0, daemon.text)
                self.assertEqual(daemon.final[0]["published"], 20 * BLOCK, daemon.text)

    def test_children_end_with_it(self):
        (self.folder / "forks.py").write_text('''import os, time
def f(x, meta, back):
    if meta.block == 0 or (meta.block % 5 == 2 and back):
        if os.fork() == 0 and not back:
            time.sleep(1000)
    return x
''', encoding="utf-8")
        for back in ("true", "false"):
            text = self.pipeline(f"params: {{back: {back}}}", source="generate: {rate: 400e3, pace: true}")
            with self.daemon(text.replace("file: faults.py", "file: forks.py")) as daemon:
                daemon.wait_for(lambda p: p["published"] > 10 * BLOCK)
                (worker,) = processes_of(daemon.process.pid)
                if back == "false":
                    self.assertEqual(len(processes_of(worker)), 1)
                children = processes_of(worker)
                self.assertEqual(daemon.final if daemon.statuses[-1]["final"] else [], [])
                daemon.signal(signal.SIGKILL)
                daemon.process.wait()
                ends = time.monotonic() + 10
                while any(map(is_running, [worker, *children])) and time.monotonic() < ends:
                    time.sleep(0.02)
                self.assertEqual([p for p in [worker, *children] if is_running(p)], [], back)

    def test_it_is_killed_a_hundred_times(self):
        """At any moment under load: what is received is published, or counted as lost."""
        for workers, kills in ((1, 40), (3, 60)):
            with self.subTest(workers):
                where = iqd.endpoint()
                text = f"""name: p
block: {BLOCK}
source: {{generate: {{rate: 20e6}}}}
overrun: wait
stages:
  - signal_source: {{waveform: cosine, frequency: 1e3}}
  - python: {{file: faults.py, function: f, params: {{fault: same}}, workers: {workers}}}
publish:
  - {{port: python.out, topic: out, kind: push, bind: "{where}"}}
"""
                reader = self.reader(where, kind=iqd.zmq.PULL)
                samples = gaps = 0
                random = np.random.default_rng(workers)
                with self.daemon(text) as daemon:
                    daemon.wait_for(lambda p: p["published"] > 0)
                    killed, due = set(), {}
                    ends = time.monotonic() + 200
                    while len(killed) < kills and time.monotonic() < ends:
                        for pid in processes_of(daemon.process.pid):
                            due.setdefault(pid, time.monotonic() + random.uniform(0.1, 0.6))
                            if pid not in killed and len(killed) < kills and time.monotonic() > due[pid]:
                                os.kill(pid, signal.SIGKILL)
                                killed.add(pid)
                        pause = time.monotonic() + random.random() * 0.1
                        while time.monotonic() < pause and (m := reader.receive(0.001)):
                            samples, gaps = samples + m.x.shape[-1], gaps + m.gap
                            self.assertEqual(m.sample + m.x.shape[-1], samples + gaps)
                    self.assertEqual(len(killed), kills)
                    daemon.signal()
                    for m in reader.rest_of(daemon):
                        samples, gaps = samples + m.x.shape[-1], gaps + m.gap
                        self.assertEqual(m.sample + m.x.shape[-1], samples + gaps)
                    self.assertEqual(daemon.wait(), 0, daemon.text)
                final = daemon.final[0]
                self.assertConserved(final)
                self.assertEqual(final["published"], samples)
                lost = self.events(final)
                self.assertEqual(final["dropped"]["stage"], BLOCK * sum(lost.get(e, 0) for e in ("died", "unserved", "late")))
                self.assertLessEqual(gaps, final["dropped"]["stage"])
                # One that is killed three times before its first answer rests, and no block waits for it: how many are
                # unserved depends on how fast this machine starts Python.
                self.assertGreaterEqual(lost["restarted"], 0.4 * kills)

    def test_reloads_leave_nothing(self):
        """Memory, descriptors, threads and processes stay the same, however often the function changes, and no sample is
        lost. $IQD_RELOADS: how often."""
        reloads = int(os.environ.get("IQD_RELOADS", "15"))
        path = self.folder / "faults.py"
        port = iqd.free_port()
        text = self.pipeline("params: {fault: same}", source="generate: {rate: 1e6, pace: true}")
        with self.daemon(text + f'monitor: {{listen: "127.0.0.1:{port}"}}\n') as daemon:
            process = pathlib.Path(f"/proc/{daemon.process.pid}")

            def used():
                memory = int((process / "statm").read_text(encoding="utf-8").split()[1]) * os.sysconf("SC_PAGESIZE")
                return memory, len(list((process / "fd").iterdir())), len(list((process / "task").iterdir()))

            daemon.wait_for(lambda p: p["published"] > 0)
            for i in range(reloads):
                if i == min(reloads // 3, 50):
                    before = used()
                path.write_text(FAULTS + f"\nx = {i}\n", encoding="utf-8")
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/reload", b"") as answer:
                    self.assertIn("python.file changed between two blocks", answer.read().decode())
            ends = time.monotonic() + 20
            while len(processes_of(daemon.process.pid)) > 1 and time.monotonic() < ends:
                time.sleep(0.1)
            after = used()
            self.assertEqual(len(processes_of(daemon.process.pid)), 1)
            self.assertLessEqual(after[1], before[1] + 2, (before, after))
            self.assertLessEqual(after[2], before[2], (before, after))
            self.assertLess(after[0] - before[0], 8 << 20, (before, after))
            print(f"{reloads} reloads: {(after[0] - before[0]) / 1e6:.2f} MB more", file=sys.stderr)
            self.assertEqual(daemon.stop(), 0, daemon.text)
            self.assertConserved(daemon.final[0])
            self.assertEqual(daemon.final[0]["published"], daemon.final[0]["received"])


if __name__ == "__main__":
    unittest.main()
