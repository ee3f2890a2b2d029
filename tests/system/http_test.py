# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""The HTTP port of the real daemon: valid Prometheus metrics, states that follow the radio, changes, tokens."""

import json
import shutil
import socket
import subprocess
import time
import unittest

import iqd
from door import Door, simulated

TOKEN = "correct-horse-battery"


def named(series, name):
    return {labels: value for (n, labels), value in series.items() if n == name}


class Http(iqd.SystemTest):
    def open(self, text, monitor='{listen: "127.0.0.1:0"}', **options):
        daemon = self.enterContext(self.daemon(f"{text}monitor: {monitor}\n", **options))
        return daemon, Door(daemon)

    def refused(self, monitor):
        """The problems that `iqd check` reports."""
        path = self.folder / "p.yaml"
        path.write_text(f"{simulated()}monitor: {monitor}\n", encoding="utf-8")
        done = iqd.command("check", path)
        self.assertEqual(done.returncode, 2, done.stderr)
        return done.stderr

    def token(self, text=TOKEN + "\n", mode=0o600):
        path = self.folder / "token"
        path.write_text(text, encoding="utf-8")
        path.chmod(mode)
        return path

    # What it reports

    def test_metrics_are_as_prometheus_wants_them(self):
        promtool = shutil.which("promtool")
        self.assertIsNotNone(promtool, "tools/setup installs it: Debian's package prometheus")
        _, door = self.open(simulated(stages="fft: {size: 1024}, complex_to_mag: {}"))
        door.wait_for_state("/readyz", 200)
        done = subprocess.run([promtool, "check", "metrics"], input=door.get("/metrics"), capture_output=True,
                              text=True, check=False)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))

    def test_what_is_counted_adds_up(self):
        _, door = self.open(simulated("lose_every=100000,lose=777,overflow_every=150000,overflow_lost=1234"))
        door.wait_for_state("/readyz", 200)
        before = {}
        for _ in range(10):
            series = door.series()
            total = {name: sum(named(series, f"iqd_samples_{name}").values())
                     for name in ("received_total", "published_total", "dropped_total", "in_flight")}
            self.assertEqual(total["received_total"],
                             total["published_total"] + total["dropped_total"] + total["in_flight"])
            for (name, labels), value in series.items():
                if name.endswith(("_total", "_bucket", "_count")):
                    self.assertGreaterEqual(value, before.get((name, labels), 0), (name, labels))
            before = series
            buckets = sorted((float(dict(labels)["le"].replace("+Inf", "inf")), value) for labels, value in
                             named(series, "iqd_block_latency_seconds_bucket").items())
            counts = [value for _, value in buckets]
            self.assertEqual(counts, sorted(counts))
            self.assertEqual(counts[-1], *named(series, "iqd_block_latency_seconds_count").values())
            time.sleep(0.1)
        self.assertGreater(total["received_total"], 0)

    def test_metrics_and_status_say_the_same(self):
        daemon, door = self.open(simulated())
        door.wait_for_state("/readyz", 200)
        low, series, high = door.status(), door.series(), door.status()
        for metric, key in (("samples_received_total", "received"), ("blocks_total", "blocks"),
                            ("samples_published_total", "published")):
            value, = named(series, f"iqd_{metric}").values()
            self.assertLessEqual(low[key], value)
            self.assertLessEqual(value, high[key])
        states = {dict(labels)["state"]: v for labels, v in named(series, "iqd_source_state").items()}
        self.assertEqual({s for s, v in states.items() if v}, {"streaming"})
        self.assertEqual(daemon.stop(), 0, daemon.text)
        self.assertConserved(daemon.final[0])

    def test_the_plan_with_what_flows(self):
        _, door = self.open(simulated(stages="fft: {size: 1024}, complex_to_mag: {}"))
        door.wait_for_state("/readyz", 200)
        ends = time.monotonic() + iqd.PATIENCE
        while True:
            plan = json.loads(door.get("/api/pipeline"))["pipelines"][0]
            if plan["samples_per_second"] and time.monotonic() < ends:
                break
            time.sleep(0.2)
        self.assertGreater(plan["samples_per_second"], 0)
        self.assertEqual(plan["block"]["samples"], 4096)
        names = [stage["name"] for stage in plan["stages"]]
        self.assertIn("fft", names)
        ports = {port["name"]: port for port in plan["ports"]}
        self.assertEqual(ports["source"]["rate"], 1e6)
        for stage in plan["stages"]:
            self.assertLessEqual(set(stage["in"] + stage["out"]), set(ports))
        self.assertLessEqual(plan["queues"]["lanes_busy"], plan["queues"]["lanes"])

    def test_ready_follows_the_radio(self):
        _, door = self.open(simulated("disconnect_at=3,disconnect_for=3"))
        door.wait_for_state("/readyz", 200)
        reasons = door.wait_for_state("/readyz", 503)
        self.assertIn("test", reasons)
        self.assertEqual(door.ask("GET", "/healthz")[0], 200)
        door.wait_for_state("/readyz", 200)
        self.assertGreaterEqual(door.status()["reconnects"], 1)

    def test_not_ready_while_it_stalls(self):
        _, door = self.open(simulated("stall_at=3,stall_for=3"))
        door.wait_for_state("/readyz", 200)
        door.wait_for_state("/readyz", 503)
        door.wait_for_state("/readyz", 200)

    def test_live_keys(self):
        daemon, door = self.open(simulated(stages="rotate: {frequency: 1000}"))
        door.wait_for_state("/readyz", 200)
        for path in ("/api/stages/source", "/api/pipelines/test/stages/source"):
            status, body = door.ask("PATCH", path, '{"frequency": "1.2 GHz", "gain": 10}')
            self.assertEqual(status, 200, body)
        status, body = door.ask("PATCH", "/api/stages/rotate", '{"frequency": 2000}')
        self.assertEqual((status, "rotate.frequency" in body), (200, True), body)
        self.assertEqual(door.ask("POST", "/api/reload")[0], 200)
        self.assertGreaterEqual(door.status()["reloads"], 3)
        self.assertEqual(daemon.stop(), 0, daemon.text)
        self.assertIn("rotate.frequency", daemon.text)
        self.assertConserved(daemon.final[0])

    # Access

    def test_tokens(self):
        _, door = self.open(simulated(), f'{{listen: "127.0.0.1:0", token: {self.token()}}}')
        door.wait_for_state("/readyz", 200)
        for headers in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": f"Basic {TOKEN}"},
                        {"Authorization": f"Bearer {TOKEN}x"}):
            self.assertEqual(door.ask("POST", "/api/reload", headers=headers)[0], 401, headers)
        self.assertEqual(door.status()["reloads"], 0)
        status, body = door.ask("POST", "/api/reload", headers={"Authorization": f"Bearer {TOKEN}"})
        self.assertEqual(status, 200, body)

    def test_monitors_that_are_refused(self):
        self.assertIn("monitor.listen: '9464' is not an IPv4 address", self.refused('{listen: "9464"}'))
        self.assertIn("other machines", self.refused('{listen: "0.0.0.0:0"}'))
        self.assertIn("No such file", self.refused('{listen: "127.0.0.1:0", token: /none}'))
        self.assertIn("chmod 600", self.refused(f'{{listen: "127.0.0.1:0", token: {self.token(mode=0o644)}}}'))
        self.assertIn("can be guessed", self.refused(f'{{listen: "127.0.0.1:0", token: {self.token("short")}}}'))

    def test_off_loopback_without_a_token_nothing_changes(self):
        _, door = self.open(simulated(), '{listen: "0.0.0.0:0", insecure: true}')
        door.wait_for_state("/readyz", 200)
        self.assertEqual(door.ask("POST", "/api/reload")[0], 403)

    def test_a_port_that_is_taken(self):
        _, door = self.open(simulated())
        with self.daemon(f'{simulated()}monitor: {{listen: "127.0.0.1:{door.port}"}}\n', name="second.yaml") as second:
            self.assertEqual(second.wait(), 1, second.text)
            self.assertIn(f"127.0.0.1:{door.port}", second.text)
            self.assertIn("in use", second.text)

    # Bad requests

    def test_requests_that_are_wrong_disturb_nothing(self):
        daemon, door = self.open(simulated(rate=2e5))
        door.wait_for_state("/readyz", 200)
        for method, path, body, status in (
                ("GET", "/nope", None, 404), ("POST", "/metrics", None, 405), ("PUT", "/api/stages/source", "{}", 405),
                ("PATCH", "/api/stages/nope", '{"gain": 1}', 404), ("PATCH", "/api/stages/source", "nonsense", 400),
                ("PATCH", "/api/pipelines/nope/stages/source", '{"gain": 1}', 404),
                ("PATCH", "/api/stages/source", '{"nope": 1}', 422),
                ("PATCH", "/api/stages/source", '{"gain": "loud"}', 422),
                ("PATCH", "/api/stages/source", "x" * 70000, 413)):
            answer, said = door.ask(method, path, body)
            self.assertEqual(answer, status, (method, path, body and body[:20], said))
            self.assertTrue(json.loads(said)["problems"], said)
        for data in (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n",
                     b"\0" * 1000, b"GET / HTTP/1.1\r\nX: " + b"y" * 20000 + b"\r\n\r\n", b"A" * 100000):
            self.assertNotIn(b" 200 ", door.raw(data), data[:20])
        door.wait_for_state("/readyz", 200)
        self.assertEqual(daemon.stop(), 0, daemon.text)
        status = daemon.final[0]
        self.assertConserved(status)
        self.assertEqual((status["lost"], status["overflows"], status["reconnects"]), (0, 0, 0), status)

    def test_half_requests_keep_nobody_waiting(self):
        daemon, door = self.open(simulated())
        door.wait_for_state("/readyz", 200)
        crowd = []
        for most in (64, 1000):
            while len(crowd) < most:
                crowd.append(self.enterContext(socket.create_connection(("127.0.0.1", door.port), iqd.PATIENCE)))
                try:
                    crowd[-1].sendall(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n")
                except OSError:  # iqd closed it for a newer one
                    pass
            for method, path in (("GET", "/healthz"), ("GET", "/metrics"), ("POST", "/api/reload")):
                began = time.monotonic()
                self.assertEqual(door.ask(method, path)[0], 200)
                self.assertLess(time.monotonic() - began, 2)
        self.assertEqual(daemon.stop(), 0, daemon.text)

    def test_a_crowd_that_says_nothing(self):
        daemon, door = self.open(simulated())
        door.wait_for_state("/readyz", 200)
        crowd = [socket.create_connection(("127.0.0.1", door.port)) for _ in range(40)]
        before = door.status()["received"]
        self.assertGreater(door.status()["received"], 0)
        for s in crowd:
            s.close()
        self.assertGreaterEqual(door.status()["received"], before)
        began = time.monotonic()
        self.assertEqual(daemon.stop(), 0, daemon.text)
        self.assertLess(time.monotonic() - began, 10)
        self.assertConserved(daemon.final[0])


if __name__ == "__main__":
    unittest.main()
