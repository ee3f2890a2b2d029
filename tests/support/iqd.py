# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""The real daemon for system tests: starts `iqd` with a YAML text, follows its status, reads what it publishes.

The program is $IQD, or build/release/iqd; the shipped pipelines are in $IQD_PIPELINES, or pipelines/.
"""

import json
import os
import pathlib
import queue
import random
import signal
import socket
import subprocess
import tempfile
import threading
import time
import unittest
import urllib.error
import urllib.request

import numpy as np
import zmq

import sigmf_check

ROOT = pathlib.Path(__file__).resolve().parents[2]
IQD = os.environ.get("IQD", str(ROOT / "build" / "release" / "iqd"))
# Sanitizers keep freed memory for a while, and need extra memory and time.
SANITIZED = bool(os.environ.get("IQD_SANITIZED"))
PIPELINES = pathlib.Path(os.environ.get("IQD_PIPELINES", ROOT / "pipelines"))
PATIENCE = 30.0  # seconds for anything that is certain to happen, even on a busy machine and with sanitizers
_claims = []  # locks of ports, while this program runs


def free_port():
    """A free port that no other test gets while this program runs, since tests run in parallel.

    Below 32768, since Linux assigns those above to programs that bind port 0.
    """
    for port in random.sample(range(20000, 30000), 1000):
        claim = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        try:
            claim.bind(f"\0iqd-test-port-{port}")
            with socket.socket() as s:
                s.bind(("127.0.0.1", port))
        except OSError:
            claim.close()
            continue
        _claims.append(claim)
        return port
    raise RuntimeError("no free port")


def endpoint():
    return f"tcp://127.0.0.1:{free_port()}"


def command(*arguments, timeout=60, **options):
    """Runs `iqd ARGUMENTS…` to its end: returncode, stdout and stderr."""
    return subprocess.run([IQD, *map(str, arguments)], capture_output=True, text=True, timeout=timeout, check=False,
                          **options)


def hints_of(words, *arguments):
    """Runs `iqd sub ARGUMENTS…` until it has said `words`, or ends: all of its stderr."""
    text = ""
    with subprocess.Popen([IQD, "sub", *map(str, arguments), "--quiet", "--seconds", str(PATIENCE)],
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        for line in process.stderr:
            text += line
            if words in text:
                process.send_signal(signal.SIGINT)
    return text


def patch(port, stage, **keys):
    """Sets keys of a stage over HTTP; returns the answer's text, whether it was accepted or not."""
    request = urllib.request.Request(f"http://127.0.0.1:{port}/api/stages/{stage}", json.dumps(keys).encode(),
                                     {"Content-Type": "application/json"}, method="PATCH")
    try:
        with urllib.request.urlopen(request) as answer:
            return answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.read().decode()


def tone(n, frequency, rate, channel=0, level=-20.0):
    """The simulated radio's scenario `tone` by its description, float64; `n` are positions."""
    cycles = np.asarray(n, np.float64) * (frequency / rate) + channel / 8
    return 10 ** (level / 20) * np.exp(2j * np.pi * (cycles % 1.0))


def to_complex(x):
    """int16 pairs as complex128, full scale 1; anything else converted to double precision."""
    if x.dtype == np.int16:
        return (x[..., 0] + 1j * x[..., 1]) / 32768.0
    return x.astype(np.complex128 if np.iscomplexobj(x) else np.float64)


class Message:
    """One message, parsed by the description of the wire format."""

    def __init__(self, frames):
        head, payload = frames
        meta = json.loads(head.split(b" ", 1)[1])
        x = np.frombuffer(payload, meta["dtype"]).reshape(meta["shape"])
        self.topic = head.split(b" ", 1)[0].decode()
        self.meta = meta
        self.x = x

    def __getattr__(self, key):
        try:
            return self.meta[key]
        except KeyError as error:
            raise AttributeError(key) from error

    @property
    def samples(self):
        return to_complex(self.x)


class Reader:
    """A socket that reads: SUB of some topics, or PULL."""

    def __init__(self, where, *topics, kind=zmq.SUB, bind=False, hwm=0):
        self.socket = zmq.Context.instance().socket(kind)
        self.socket.setsockopt(zmq.RCVHWM, hwm)
        self.socket.setsockopt(zmq.LINGER, 0)
        if kind == zmq.SUB:
            self.socket.setsockopt(zmq.RECONNECT_IVL, 5)
            for topic in topics:
                self.socket.setsockopt(zmq.SUBSCRIBE, f"{topic} ".encode() if topic else b"")
        (self.socket.bind if bind else self.socket.connect)(where)

    def receive(self, seconds=PATIENCE):
        """The next message, or None."""
        if not self.socket.poll(int(seconds * 1000)):
            return None
        return Message(self.socket.recv_multipart())

    def take(self, count, seconds=PATIENCE):
        messages = []
        while len(messages) < count:
            message = self.receive(seconds)
            if message is None:
                raise AssertionError(f"{len(messages)} of {count} messages arrived")
            messages.append(message)
        return messages

    def rest(self, quiet=0.3):
        """All messages until none arrives for this long."""
        messages = []
        while (message := self.receive(quiet)) is not None:
            messages.append(message)
        return messages

    def rest_of(self, daemon, seconds=PATIENCE):
        """All messages until the daemon has ended, however long it pauses between them."""
        messages = []
        ends = time.monotonic() + seconds
        while daemon.process.poll() is None and time.monotonic() < ends:
            messages += self.rest(0.05)
        return messages + self.rest()

    def close(self):
        self.socket.close()


class Daemon:
    """`iqd run` on a YAML text, with its status lines and its log; ends with the `with` block at the latest."""

    def __init__(self, text, *arguments, folder, environment=None, name="pipeline.yaml", before=()):
        """`before`: a program, with arguments, that becomes iqd."""
        path = pathlib.Path(folder) / name
        path.write_text(text, encoding="utf-8")
        self.started = time.monotonic()
        self.process = subprocess.Popen([*before, IQD, "run", str(path), "--status", "json", *map(str, arguments)],
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                        env={**os.environ, **(environment or {})})
        self.log = []
        self.statuses = []
        self._fresh = queue.Queue()
        self._threads = [threading.Thread(target=self._read_status, daemon=True),
                         threading.Thread(target=self._read_log, daemon=True)]
        for thread in self._threads:
            thread.start()

    def _read_status(self):
        for line in self.process.stdout:
            self.statuses.append(json.loads(line))
            self._fresh.put(self.statuses[-1])

    def _read_log(self):
        for line in self.process.stderr:
            self.log.append(line.rstrip("\n"))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        for thread in self._threads:
            thread.join()
        self.process.stdout.close()
        self.process.stderr.close()

    @property
    def text(self):
        return "\n".join(self.log)

    def wait(self, seconds=PATIENCE):
        """Waits for its exit: the exit code. All of log and status has been read then."""
        code = self.process.wait(seconds)
        for thread in self._threads:
            thread.join(seconds)
        return code

    def signal(self, which=signal.SIGTERM):
        self.process.send_signal(which)

    def stop(self, seconds=PATIENCE):
        """SIGTERM, and the exit code."""
        self.signal()
        return self.wait(seconds)

    def wait_for(self, condition, seconds=PATIENCE):
        """The first status not looked at yet that meets `condition`, which gets its first pipeline."""
        ends = time.monotonic() + seconds
        while (left := ends - time.monotonic()) > 0:
            try:
                status = self._fresh.get(timeout=left)
            except queue.Empty:
                break
            if condition(status["pipelines"][0]):
                return status["pipelines"][0]
        raise AssertionError(f"that did not happen: {self.statuses[-1:]}\n{self.text}")

    def wait_for_log(self, words, seconds=PATIENCE):
        ends = time.monotonic() + seconds
        while time.monotonic() < ends:
            if words in self.text:
                return
            time.sleep(0.02)
        raise AssertionError(f"the log never said '{words}':\n{self.text}")

    @property
    def final(self):
        """The last status: of each pipeline."""
        assert self.statuses and self.statuses[-1]["final"], f"no final status\n{self.text}"
        return self.statuses[-1]["pipelines"]


class SystemTest(unittest.TestCase):
    """A folder for each test, and common assertions."""

    def setUp(self):
        # Cleaned up after what a test registers to be ended, such as a daemon that still records.
        folder = tempfile.TemporaryDirectory(prefix="iqd-test-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self._readers = []

    def tearDown(self):
        for reader in self._readers:
            reader.close()

    def daemon(self, text, *arguments, **options):
        return Daemon(text, *arguments, folder=self.folder, **options)

    def reader(self, *arguments, **options):
        self._readers.append(Reader(*arguments, **options))
        return self._readers[-1]

    def collect(self, reader, until):
        """Messages up to the first for which `until` is true."""
        messages = []
        ends = time.monotonic() + PATIENCE
        while not (messages and until(messages[-1])):
            self.assertLess(time.monotonic(), ends, messages[-1:] and messages[-1].meta)
            messages += reader.take(1)
        return messages

    def assertConserved(self, status):
        """At the end nothing is in flight, and what was received is accounted for to the sample."""
        self.assertEqual(status["in_flight"], 0, status)
        self.assertEqual(status["received"], status["published"] + sum(status["dropped"].values()), status)

    def assertContinuous(self, messages, ratio=1, lossless=True):
        """seq goes up by one, and `sample` as far as the contents and gaps say; `ratio`: source samples an item."""
        for before, after in zip(messages, messages[1:]):
            self.assertEqual(after.seq, before.seq + 1)
            if lossless:
                self.assertEqual(after.gap, 0)
            items = before.x.shape[before.dims.index("n")]
            self.assertLess(abs(before.sample + items * ratio + after.gap - after.sample), ratio,
                            (before.meta, after.meta))

    def assertTimed(self, messages, tolerance_ns=2):
        """Times are those of the first message, counted on in samples."""
        first = messages[0]
        for m in messages:
            due = (m.sample - first.sample) * 1e9 / m.sample_rate
            self.assertLessEqual(abs(m.time_ns - first.time_ns - due), tolerance_ns, m.meta)


def write_recording(stem, x, rate=1e6, datatype=None, captures=None, **more):
    """A SigMF recording: x is [n] or [n][channel] for several; integers are pairs with a last dimension of 2."""
    x = np.asarray(x)
    names = {"complex64": "cf32_le", "int16": "ci16_le", "int8": "ci8"}
    datatype = datatype or names[x.dtype.name]
    channels = 1 if x.ndim == (1 if np.iscomplexobj(x) else 2) else x.shape[1]
    stem = pathlib.Path(stem)
    x.tofile(stem.with_suffix(".sigmf-data"))
    meta = {"global": {"core:datatype": datatype, "core:version": "1.2.5", "core:sample_rate": rate,
                       "core:num_channels": channels, **more},
            "captures": captures or [{"core:sample_start": 0}], "annotations": []}
    path = stem.with_suffix(".sigmf-meta")
    path.write_text(json.dumps(meta), encoding="utf-8")
    return path


def read_recording(stem, killed=False):
    """(metadata, samples) of iqd's own recording, which has to be valid: [n] or [n][channel], integers as pairs.

    A recorder that was killed may have announced segments that it did not write: they are left out.
    """
    stem = pathlib.Path(stem)
    sigmf_check.assert_valid(stem, killed)
    meta = json.loads(stem.with_suffix(".sigmf-meta").read_text(encoding="utf-8"))
    facts = meta["global"]
    dtype, pairs = {"cf32_le": ("<c8", False), "ci16_le": ("<i2", True), "ci8": ("i1", True),
                    "rf32_le": ("<f4", False)}[facts["core:datatype"]]
    x = np.fromfile(stem.with_suffix(".sigmf-data"), dtype)
    channels = facts.get("core:num_channels", 1)
    shape = (-1,) + ((channels,) if channels > 1 else ()) + ((2,) if pairs else ())
    x = x.reshape(shape)
    if killed:
        meta["captures"] = [c for c in meta["captures"] if c["core:sample_start"] <= len(x)]
    return meta, x
