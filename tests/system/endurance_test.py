# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""Radios that fail repeatedly, that cannot be closed, or whose clock is wrong: what must hold in the long run.

IQD_RECONNECTS is how often the flapping radio fails: 10,000 take a quarter of a minute.
"""

import os
import pathlib
import time
import unittest

import iqd
from door import Door

RECONNECTS = int(os.environ.get("IQD_RECONNECTS", "4000"))


def document(args, rate=1e6, more="", name="test"):
    return (f"name: {name}\nsource: {{soapy: {{args: \"driver=iqdsim,{args}\", rate: {rate}}}}}\nblock: 4096\n{more}"
            f"publish: [{{port: source, topic: t, bind: \"{iqd.endpoint()}\"}}]\n")


def held(pid):
    """Memory in MB, threads and descriptors of a process: the maximum of many readings, since an open radio has one
    thread more than a disconnected one."""
    process = pathlib.Path("/proc") / str(pid)

    def look():
        time.sleep(0.01)
        resident = int((process / "statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE") / 1e6
        return resident, len(list((process / "task").iterdir())), len(list((process / "fd").iterdir()))

    return tuple(max(values) for values in zip(*(look() for _ in range(200))))


class Endurance(iqd.SystemTest):
    def test_reconnects_leave_nothing_behind(self):
        text = document("disconnect_every=2000,pace=false", more="reconnect: {first: 1 ms, longest: 1 ms}\n")
        with self.daemon(text) as daemon:
            daemon.wait_for(lambda p: p["reconnects"] > RECONNECTS / 10, 60)
            memory, threads, files = held(daemon.process.pid)
            daemon.wait_for(lambda p: p["reconnects"] > RECONNECTS, 600)
            after = held(daemon.process.pid)
            self.assertEqual(daemon.stop(), 0, daemon.text)
            status = daemon.final[0]
            self.assertConserved(status)
        print(f"{status['reconnects']} reconnects: {memory:.1f} MB, then {after[0]:.1f} MB")
        self.assertEqual(after[1:], (threads, files))
        self.assertLess(after[0], memory + 4 + RECONNECTS / 2000)
        # The driver logs each failure; other lines come at most once a second.
        self.assertLess(len(daemon.log), status["reconnects"] + 50 + 4 * (time.monotonic() - daemon.started))

    def test_a_radio_that_cannot_be_let_go_of(self):
        """Its stream never closes, but SIGTERM still ends the process in time, with exit code 0."""
        with self.daemon(document("hang_close_at=0.2")) as daemon:
            daemon.wait_for(lambda p: p["received"] > 300_000)
            began = time.monotonic()
            self.assertEqual(daemon.stop(), 0, daemon.text)
            self.assertLess(time.monotonic() - began, 5)
            self.assertIn("does not stop", daemon.text)
            self.assertConserved(daemon.final[0])

    def test_a_dead_radio_that_cannot_be_let_go_of(self):
        """The close before a reconnect hangs: the watchdog ends the process, and logs why."""
        text = document("hang_close_at=0.2,disconnect_at=0.4", more="realtime: {hang: 1 s}\n")
        with self.daemon(text) as daemon:
            self.assertEqual(daemon.wait(10), 1, daemon.text)
            self.assertIn("a call into the radio's driver does not return; exiting so that the service manager restarts",
                          daemon.text)
            self.assertConserved(daemon.final[0])

    def test_late_is_no_overflow(self):
        with self.daemon(document("late_every=100000,late_lost=321")) as daemon:
            daemon.wait_for(lambda p: p["late"] >= 5)
            self.assertEqual(daemon.stop(), 0, daemon.text)
            status = daemon.final[0]
        self.assertConserved(status)
        self.assertEqual((status["overflows"], status["sequence_errors"]), (0, 0))
        self.assertEqual(status["lost"] % 321, 0)
        self.assertLessEqual(abs(status["lost"] / 321 - status["late"]), 1)

    def test_readyz_says_what_keeps_it(self):
        text = document("disconnect_at=1,disconnect_for=2", more="monitor: {listen: \"127.0.0.1:0\"}\n")
        with self.daemon(text) as daemon:
            door = Door(daemon)
            door.wait_for_state("/readyz", 200)
            ends = time.monotonic() + iqd.PATIENCE
            while "unplugged" not in (reasons := door.wait_for_state("/readyz", 503)):
                self.assertLess(time.monotonic(), ends, reasons)
            self.assertRegex(reasons, "^test: the source is reconnecting: it cannot be opened again yet: ")
            self.assertIn("unplugged", door.status()["trouble"])
            door.wait_for_state("/readyz", 200)
            self.assertEqual(door.status()["trouble"], "")

    def test_a_radio_that_is_away_cannot_be_opened_otherwise(self):
        text = document("disconnect_at=0.5,disconnect_for=3", more="monitor: {listen: \"127.0.0.1:0\"}\n")
        with self.daemon(text) as daemon:
            daemon.wait_for_log("cannot be opened again yet")
            door = Door(daemon)
            for keys in ({"rate": "2e6"}, {"frequency": "2e6"}, {"gain": 90}):
                status, answer = door.change("PATCH", "/api/stages/source", keys)
                self.assertEqual(status, 503, answer)
                self.assertIn("the radio is disconnected", answer["problems"][0])
            door.wait_for_state("/readyz", 200)
            self.assertEqual(door.change("PATCH", "/api/stages/source", {"gain": 90})[0], 422)
            self.assertEqual(door.change("PATCH", "/api/stages/source", {"frequency": "2e6"})[0], 200)
            self.assertEqual(door.status()["radio"]["frequency"], 2e6)
            self.assertEqual(daemon.stop(), 0, daemon.text)
            self.assertConserved(daemon.final[0])

    def test_two_that_claim_one_radio(self):
        one = "source: {soapy: {args: \"driver=iqdsim, serial=7\", rate: 1e6%s}}"
        path = self.folder / "two.yaml"
        for more, wrong in (("", True), (", channels: [1]", False), (", channels: [1, 0]", True)):
            other = one.replace("driver=iqdsim, serial=7", "serial=7,driver=iqdsim") % more
            path.write_text(f"pipelines:\n  - name: a\n    {one % ''}\n  - name: b\n    {other}\n", encoding="utf-8")
            done = iqd.command("check", path)
            self.assertEqual(done.returncode, 2 if wrong else 0, done.stderr)
            self.assertEqual("pipeline 'a' already uses soapy 'driver=iqdsim,serial=7' receive channel 0" in done.stderr,
                             wrong, done.stderr)

    def test_the_drift_of_a_clock(self):
        with self.daemon(document("clock_ppm=300", rate=2e5, more="monitor: {listen: \"127.0.0.1:0\"}\n")) as daemon:
            time_ = daemon.wait_for(lambda p: "drift" in p["radio"]["time"], 60)["radio"]["time"]
            drift = time_["drift"]
            self.assertGreater(drift["over_s"], 10)
            self.assertLess(abs(drift["ppm"] - 300), 20 + 2 * drift["error_ppm"], drift)
            self.assertEqual(time_["source"], "radio")
            self.assertLess(abs(time_["ahead_s"]), 1)
            found = {name: v for (name, _), v in Door(daemon).series().items() if name.startswith("iqd_radio_clock")}
            self.assertLess(abs(found["iqd_radio_clock_drift_ratio"] - 300e-6), 30e-6 + 2e-6 * drift["error_ppm"])
            self.assertGreater(found["iqd_radio_clock_drift_error_ratio"], 0)


if __name__ == "__main__":
    unittest.main()
