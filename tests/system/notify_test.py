# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""What the daemon reports to systemd: the test listens on NOTIFY_SOCKET in its place."""

import os
import re
import signal
import socket
import subprocess
import time
import unittest

import iqd


class Manager:
    """The service manager's end: keeps messages with the times at which they were read."""

    def __init__(self, where):
        self.where = str(where)
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind("\0" + self.where[1:] if self.where[0] == "@" else self.where)
        self.seen = []

    def next(self, seconds):
        """The next message, or None."""
        self.socket.settimeout(max(seconds, 0.001))
        try:
            text = self.socket.recv(4096).decode()
        except TimeoutError:
            return None
        self.seen.append((time.monotonic(), text))
        return text

    def wait_for(self, word, seconds=iqd.PATIENCE):
        """The next message with a line that starts with `word`."""
        ends = time.monotonic() + seconds
        while time.monotonic() < ends:
            text = self.next(ends - time.monotonic())
            if text and any(line.startswith(word) for line in text.splitlines()):
                return text
        raise AssertionError(f"no {word}: {self.seen[-5:]}")

    def follow(self, process, seconds=iqd.PATIENCE):
        """Reads until the process has exited; returns when that was."""
        ends = time.monotonic() + seconds
        while process.poll() is None and time.monotonic() < ends:
            self.next(0.05)
        ended = time.monotonic()
        while self.next(0.05):
            pass
        return ended

    def times(self, word):
        return [when for when, text in self.seen if word in text.splitlines()]


class Notify(iqd.SystemTest):
    def setUp(self):
        super().setUp()
        self.manager = Manager(self.folder / "notify")
        self.addCleanup(self.manager.socket.close)

    def document(self, args="scenario=tone", more=""):
        return (f"name: test\nsource: {{soapy: {{args: \"driver=iqdsim,{args}\", rate: 1e6}}}}\nblock: 4096\n"
                f"stages: [spectrum: {{size: 1024}}]\n{more}"
                f"publish: [{{port: spectrum.out, topic: t, bind: \"{iqd.endpoint()}\"}}]\n")

    def service(self, text, watchdog_s=None, manager=None):
        environment = {"NOTIFY_SOCKET": (manager or self.manager).where}
        if watchdog_s:
            environment["WATCHDOG_USEC"] = str(int(watchdog_s * 1e6))
        return self.daemon(text, environment=environment)

    def test_ready_once_and_not_before_samples_flow(self):
        with self.service(self.document("stall_at=0,stall_for=3")) as daemon:
            self.manager.wait_for("READY=1")
            self.assertGreater(time.monotonic() - daemon.started, 3)
            daemon.wait_for(lambda p: p["published"] > 0)
            self.assertEqual(daemon.stop(), 0, daemon.text)
        self.manager.wait_for("STOPPING=1")
        self.assertEqual(len(self.manager.times("READY=1")), 1)

    def test_status_says_rate_and_drops_each_second(self):
        with self.service(self.document()):
            self.manager.wait_for("READY=1")
            for _ in range(3):
                self.assertRegex(self.manager.wait_for("STATUS="), r"STATUS=.*\d.*S/s.*drop")

    def test_stopping_is_told_first(self):
        with self.service(self.document()) as daemon:
            self.manager.wait_for("READY=1")
            daemon.signal()
            self.manager.wait_for("STOPPING=1")
            self.assertEqual(daemon.wait(), 0, daemon.text)

    def test_an_abstract_socket(self):
        manager = Manager(f"@iqd-test-{os.getpid()}")
        self.addCleanup(manager.socket.close)
        with self.service(self.document(), manager=manager):
            manager.wait_for("READY=1")

    def test_the_watchdog_is_fed_where_it_is_asked_for(self):
        with self.service(self.document(), watchdog_s=5):
            self.manager.wait_for("READY=1")
            for _ in range(3):
                self.manager.wait_for("WATCHDOG=1", 5)
        quiet = Manager(self.folder / "quiet")
        self.addCleanup(quiet.socket.close)
        with self.service(self.document(), manager=quiet):
            for _ in range(3):
                quiet.wait_for("STATUS=")
        self.assertEqual(quiet.times("WATCHDOG=1"), [])

    def test_a_radio_that_pauses_is_no_reason_to_kill(self):
        with self.service(self.document("stall_at=0.5,stall_for=4"), watchdog_s=2) as daemon:
            self.manager.wait_for("READY=1")
            daemon.wait_for(lambda p: p["published"] > 2e6)  # past the pause
            while self.manager.next(0.05):
                pass
            daemon.stop()
        fed = [*self.manager.times("READY=1"), *self.manager.times("WATCHDOG=1")]
        self.assertGreater(len(fed), 3)

    def test_a_driver_that_hangs_starves_the_watchdog(self):
        text = self.document("hang_at=1", more="realtime: {hang: 6 s}\n")
        with self.service(text, watchdog_s=1) as daemon:
            ended = self.manager.follow(daemon.process, 60)
            self.assertEqual(daemon.wait(), 1, daemon.text)
            self.assertIn("does not return", daemon.text)
        fed = self.manager.times("WATCHDOG=1")
        self.assertTrue(fed, self.manager.seen)
        self.assertGreater(ended - fed[-1], 2)  # twice systemd's timeout: systemd would have killed it

    def test_a_driver_that_hangs_before_the_start_is_named(self):
        with self.service(self.document("hang_open=make", "realtime: {hang: 1 s}\n")) as daemon:
            self.assertRegex(self.manager.wait_for("STATUS="),
                             "test: the call that opens the radio does not return.*exiting")
            self.assertEqual(daemon.wait(), 1, daemon.text)
        self.assertEqual(self.manager.times("READY=1"), [])

    def test_a_reload_is_framed(self):
        with self.service(self.document()) as daemon:
            self.manager.wait_for("READY=1")
            for text in (self.document(), "name: [wrong\n"):
                (self.folder / "pipeline.yaml").write_text(text, encoding="utf-8")
                before = time.monotonic_ns() // 1000
                daemon.signal(signal.SIGHUP)
                told = self.manager.wait_for("RELOADING=1")
                self.assertGreaterEqual(int(re.search(r"^MONOTONIC_USEC=(\d+)$", told, re.MULTILINE)[1]), before)
                self.manager.wait_for("READY=1")
            self.assertEqual(daemon.stop(), 0, daemon.text)

    def test_the_journal_is_told_how_urgent_a_line_is(self):
        reads, writes = os.pipe()
        self.addCleanup(os.close, reads)
        facts = os.fstat(writes)
        path = self.folder / "journal.yaml"
        path.write_text(self.document(), encoding="utf-8")
        environment = {**os.environ, "NOTIFY_SOCKET": self.manager.where,
                       "JOURNAL_STREAM": f"{facts.st_dev}:{facts.st_ino}"}
        process = subprocess.Popen([iqd.IQD, "run", str(path)], stderr=writes, env=environment)
        os.close(writes)
        self.addCleanup(process.kill)
        self.manager.wait_for("READY=1")
        process.terminate()
        self.assertEqual(process.wait(iqd.PATIENCE), 0)
        self.assertIn("<6>stopping", os.read(reads, 65536).decode())

    def test_a_wrong_file_is_never_ready(self):
        with self.service("name: test\nsauce: {}\n") as daemon:
            self.manager.follow(daemon.process)
            self.assertEqual(daemon.wait(), 2, daemon.text)
        self.assertEqual(self.manager.times("READY=1"), [])


if __name__ == "__main__":
    unittest.main()
