# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""What the live page reads: rows that agree with what subscribers get, true frequencies, gaps, who may look, viewers that
read nothing, and a stop with viewers."""

import itertools
import json
import os
import pathlib
import signal
import socket
import statistics
import threading
import time
import unittest

import numpy as np

import iqd
import live
from door import Door
from live import Row, Viewer, trace_of

RATE = 1e6
HOME = 100e6          # the simulated radio's scenario is centred here
ON_AIR = HOME + 50e3  # and its tone is here, however the radio is tuned
BLOCK = 32768         # 30.5 blocks a second


def radio(args="", more="", rate=RATE, keys="", block=BLOCK, monitor=""):
    return (f"name: lab\nsource:\n  soapy: {{args: \"driver=iqdsim,front_end=true,frequency=50e3,{args}\", rate: {rate}, "
            f"frequency: {HOME}{keys}}}\nblock: {block}\n{more}monitor: {{listen: \"127.0.0.1:0\"{monitor}}}\n")


def spectrum(where):
    return ("stages:\n  - spectrum: {size: 1024, window: blackman_harris}\n"
            f"publish:\n  - {{port: spectrum, topic: spectrum, bind: \"{where}\"}}\n")


def thread_ticks(pid, name):
    """The CPU time of a thread, in clock ticks, and how often it gave up the CPU."""
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        if (task / "comm").read_text().strip() == name:
            fields = (task / "stat").read_text().rsplit(")", 1)[1].split()
            switches = next(int(line.split()[1]) for line in (task / "status").read_text().splitlines()
                            if line.startswith("voluntary_ctxt_switches"))
            return int(fields[11]) + int(fields[12]), switches
    raise AssertionError(f"no thread {name}")


class Live(iqd.SystemTest):
    def open(self, text, *arguments):
        daemon = self.enterContext(self.daemon(text, *arguments))
        door = Door(daemon)
        door.wait_for_state("/readyz", 200)
        return daemon, door

    def look(self, door, query="", **options):
        viewer = self.enterContext(Viewer(door.port, query, **options))
        self.assertEqual(viewer.status, 101, viewer.head)
        return viewer

    # What comes

    def test_hello_log_and_status_come_first(self):
        _, door = self.open(radio(more=spectrum(iqd.endpoint())))
        viewer = self.look(door)
        first, second = viewer.message(), viewer.message()
        hello = first["hello"]
        self.assertEqual((hello["v"], hello["changes"], hello["recordings"]), (1, "yes", False))
        self.assertEqual([(t["trace"], t["port"], t["kind"]) for t in hello["traces"]],
                         [(0, "source", "row"), (1, "spectrum.out", "row"), (2, "latency", "counts")])
        self.assertAlmostEqual(hello["traces"][0]["row_s"], BLOCK / RATE, 6)
        self.assertLess(abs(hello["started_s"] - time.time()), 60)
        self.assertTrue(any("http: listening" in line["text"] for line in second["log"]))
        self.assertEqual({line["level"] for line in second["log"]} - {"info", "warning"}, set())
        status = viewer.text("status")
        self.assertEqual(status["pipelines"][0]["name"], "lab")
        self.assertEqual(set(status), set(json.loads(door.get("/api/status"))))
        began = time.monotonic()
        for _ in range(4):
            viewer.text("status")
        self.assertTrue(1.0 < time.monotonic() - began < 6, "2 a second")
        door.change("PATCH", "/api/stages/source", {"gain": 7})
        lines = viewer.text("log")
        self.assertTrue(any("127.0.0.1 set" in line["text"] and "gain" in line["text"] for line in lines), lines)

    def test_rows_are_what_subscribers_read(self):
        where = iqd.endpoint()
        _, door = self.open(radio("snr=20", spectrum(where)))
        reader, viewer = self.reader(where, "spectrum"), self.look(door, "?trace=1&trace=0")
        reader.take(1)
        rows = viewer.rows(80)
        own = {round(r.time, 4): r for r in rows if r.trace == 1}
        messages = self.collect(reader, lambda m: m.time_ns / 1e9 > rows[-1].time)
        both = [(m, own[round(m.time_ns / 1e9, 4)]) for m in messages if round(m.time_ns / 1e9, 4) in own]
        self.assertGreater(len(both), 15)
        for message, row in both:
            self.assertEqual(row.count, 1024)
            self.assertLessEqual(np.max(np.abs(row.db - np.maximum(message.x.ravel(), row.low))), 0.2501)
            axis = message.axes["bin"]
            self.assertAlmostEqual(row.first, axis["first"] - axis["step"] / 2, 6)
            self.assertAlmostEqual(row.span, 1024 * axis["step"], 6)
        for trace in (0, 1):
            numbers = [r.seq for r in rows if r.trace == trace]
            self.assertEqual(numbers, list(range(numbers[0], numbers[0] + len(numbers))))

    def test_the_source_has_a_waterfall_without_a_stage(self):
        where = iqd.endpoint()
        _, door = self.open(radio("snr=20", f"publish: [{{port: source, topic: iq, bind: \"{where}\"}}]\n"))
        viewer, reader = self.look(door), self.reader(where, "iq")
        message = reader.take(1)[0]
        rows = viewer.rows(30)
        self.assertEqual(viewer.rows(1)[0].count, 1024)
        bin_hz = RATE / 1024
        for row in rows:
            self.assertLessEqual(abs(row.peak_hz - ON_AIR), bin_hz)
            self.assertAlmostEqual(np.nanmax(row.db), -20, delta=1)
            self.assertAlmostEqual(row.first, HOME - RATE / 2 - RATE / 8192, 3)
        distances = np.diff([row.time for row in rows])
        self.assertAlmostEqual(np.median(distances), BLOCK / RATE, 3)
        # As computed from the same samples: the last 4096 of a block.
        at = {round(r.time - (BLOCK - 4096) / RATE, 4): r for r in rows}
        messages = [message] + self.collect(reader, lambda m: m.time_ns / 1e9 > rows[-1].time)
        same = [m for m in messages if round(m.time_ns / 1e9, 4) in at]
        self.assertTrue(same)
        k = np.arange(4096) / 4095
        window = sum(a * np.cos(2 * np.pi * n * k) for n, a in enumerate((0.35875, -0.48829, 0.14128, -0.01168)))
        for m in same:
            power = np.abs(np.fft.fftshift(np.fft.fft(m.samples[-4096:] * window))) ** 2 / window.sum() ** 2
            expected = 10 * np.log10(power.reshape(1024, 4).max(axis=1))
            row = at[round(m.time_ns / 1e9, 4)]
            self.assertLessEqual(np.max(np.abs(np.maximum(expected, -130) - row.db)), 0.27)

    def test_frequencies_stay_true_across_retunes(self):
        stages = ("stages:\n  - rotate: {frequency: -40 kHz}\n"
                  "  - fir: {decimation: 2, design: {type: low_pass, cutoff: 200 kHz, transition: 40 kHz}}\n"
                  "  - spectrum: {size: 500}\n"
                  "  - conjugate: {from: rotate}\n"
                  "  - fft: {size: 512, from: rotate}\n"
                  "publish:\n" + "".join(f"  - {{port: {port}, topic: {port}, bind: \"{iqd.endpoint()}\"}}\n"
                                         for port in ("rotate", "fir", "spectrum", "conjugate", "fft")))
        _, door = self.open(radio("level=-20", stages, keys=", format: cf32", block=20000))
        viewer = self.look(door, "?" + "&".join(f"trace={n}" for n in range(6)))
        names = {t["trace"]: t["port"] for t in viewer.text("hello")["traces"]}
        self.assertEqual(sorted(names.values())[:3], ["conjugate.out", "fft.out", "fir.out"])
        for frequency in (HOME, 100.08e6, 99.98e6):
            status, answer = door.change("PATCH", "/api/stages/source", {"frequency": frequency})
            self.assertEqual(status, 200, answer)
            settled, is_marked = {}, set()
            while len(settled) < 6:
                row = viewer.rows(1)[0]
                if row.flags & live.RETUNED:
                    is_marked.add(row.trace)
                centre = row.first + row.span / 2
                moved = {"source": 0}.get(names[row.trace], 40e3)
                if abs(centre - frequency - moved) < 2e3:
                    settled[row.trace] = row if settled.get(row.trace) is None else settled[row.trace]
                    self.assertLessEqual(abs(row.peak_hz - ON_AIR), 2 * row.span / row.count, names[row.trace])
                elif row.trace in settled:
                    self.fail(f"{names[row.trace]} is at {centre} again")
            if frequency != HOME:
                self.assertEqual(is_marked, set(names) - {6}, "each trace has a row that says so")

    def test_a_gap_is_as_long_as_it_was(self):
        _, door = self.open(radio("stall_at=4,stall_for=1", spectrum(iqd.endpoint())))
        viewer = self.look(door, "?trace=0&trace=1")
        lost = {}
        before = {}
        while len(lost) < 2:
            row = viewer.rows(1)[0]
            self.assertEqual(bool(row.lost), bool(row.flags & live.AFTER_GAP))
            if row.lost > 25:  # on a busy machine there may be others
                lost[row.trace] = row.lost, row.time - before[row.trace]
            before[row.trace] = row.time
        for rows, seconds in lost.values():
            self.assertAlmostEqual(rows, (seconds - BLOCK / RATE) * RATE / BLOCK, delta=3)
            self.assertTrue(27 <= rows <= 40, rows)

    def test_clipping_is_flagged(self):
        _, door = self.open(radio("level=3", spectrum(iqd.endpoint())))
        viewer = self.look(door)
        rows = viewer.rows(20)
        self.assertTrue(all(row.flags & live.CLIPPED for row in rows[2:]))
        self.assertGreater(rows[-1].db.max(), -2, "the codes reach above -3 dB")

    def test_channels_are_traces_and_an_array(self):
        text = ("name: lab\nsource:\n  soapy: {args: \"driver=iqdsim,rx=3,frequency=50e3\", channels: [0, 1, 2], "
                f"rate: {RATE}}}\nblock: {BLOCK}\npublish: [{{port: source, topic: s, bind: \"{iqd.endpoint()}\"}}]\n"
                "monitor: {listen: \"127.0.0.1:0\"}\n")
        _, door = self.open(text)
        with Viewer(door.port, "?trace=none") as viewer:
            traces = viewer.text("hello")
        number = trace_of(traces, "source", "array")
        viewer = self.look(door, f"?trace={trace_of(traces, 'source', of={'channel': 2})}&trace={number}")
        self.assertEqual({row.trace for row in viewer.rows(10)}, {2})
        began = time.monotonic()
        arrays = [viewer.text("array") for _ in range(5)]
        self.assertLess(time.monotonic() - began, 10)
        for array in arrays:
            self.assertEqual(array["trace"], number)
            phases = [c["phase_deg"] for c in array["channels"]]
            np.testing.assert_allclose(phases, [0, 45, 90], atol=0.5)
            np.testing.assert_allclose([c["rms_dbfs"] for c in array["channels"]], -20, atol=0.1)
            np.testing.assert_allclose([c["coherence"] for c in array["channels"]], 1, atol=1e-3)

    def test_telemetry_has_constellations_histograms_and_packets(self):
        text = (iqd.PIPELINES / "telemetry.yaml").read_text(encoding="utf-8")
        text = text.replace("kinds: [fde1]", "kinds: [fde1, mmse]").replace("tcp://127.0.0.1:5555", iqd.endpoint())
        text = text.replace("rate: 20.625 MS/s", "rate: 4.125 MS/s").replace("block: 202752", "block: 101376")
        text = text.split("monitor:")[0] + "monitor: {listen: \"127.0.0.1:0\", watch: [equalizer.symbols]}\n"
        _, door = self.open(text)
        with Viewer(door.port, "?trace=none") as viewer:
            hello = viewer.text("hello")
        wanted = {name: trace_of(hello, port, kind, of) for name, port, kind, of in (
            ("symbols", "equalizer.symbols", "density", {"kind": "mmse"}),
            ("soft", "soqpsk_detector.soft", "counts", {"kind": "fde1"}),
            ("latency", "latency", "counts", {}))}
        items = next(t for t in hello["traces"] if t["kind"] == "items")
        self.assertLessEqual({"metric", "noise", "offset_hz"}, set(items["facts"]))
        viewer = self.look(door, "?" + "&".join(f"trace={n}" for n in (*wanted.values(), items["trace"])))
        seen = {}
        while len(seen) < 4:
            message = viewer.message()
            if isinstance(message, Row):
                # The first may be of no time, since a new viewer gets one at once.
                if message.trace != wanted["latency"] or message.counts.any():
                    seen.setdefault(message.trace, message)
            elif "items" in message:
                seen.setdefault(items["trace"], message["items"])
        density = seen[wanted["symbols"]]
        self.assertEqual((density.kind, density.count, len(density.payload)), (2, 4096, 4096))
        self.assertEqual(density.codes.max(), 255)
        self.assertEqual(density.first, -density.span / 2)
        cells = density.codes.reshape(64, 64)
        self.assertGreater((cells > 1).sum(), 100)
        self.assertGreater((cells == 1).sum(), 500, "most of the plane is empty")
        soft = seen[wanted["soft"]]
        self.assertEqual((soft.kind, soft.count), (3, 64))
        self.assertGreater(soft.counts.sum(), 6000)
        centre = soft.first + (np.arange(64) + 0.5) * soft.span / 64
        self.assertLess(abs(np.sum(soft.counts * centre) / soft.counts.sum()), 0.2)
        self.assertGreater(soft.counts[np.abs(centre) > 0.5].sum() / soft.counts.sum(), 0.8, "about ±1")
        self.assertGreater(seen[wanted["latency"]].counts.sum(), 0)
        packet = seen[items["trace"]]["items"][-1]
        self.assertLess(abs(packet["time_s"] - time.time()), 30)
        self.assertTrue(0 < packet["metric"] <= 1)
        self.assertLess(abs(packet["offset_hz"]), 1e5)

    # When something changes

    def test_a_reload_keeps_numbers_and_says_hello(self):
        where = iqd.endpoint()
        text = radio(more=spectrum(where))
        daemon, door = self.open(text)
        viewer = self.look(door, "?trace=1")
        before = viewer.text("hello")["traces"]
        viewer.rows(3)
        (self.folder / "pipeline.yaml").write_text(
            text.replace("stages:\n", "stages:\n  - rotate: {frequency: 1 kHz}\n")
            .replace("publish:\n", f"publish:\n  - {{port: rotate, topic: r, bind: \"{where}\"}}\n"), encoding="utf-8")
        self.assertEqual(door.ask("POST", "/api/reload")[0], 200)
        after = viewer.text("hello")["traces"]
        numbers = {(t["port"], t["kind"]): t["trace"] for t in after}
        for trace in before:
            self.assertEqual(numbers[trace["port"], trace["kind"]], trace["trace"])
        self.assertEqual(numbers["rotate.out", "row"], 3)
        row = viewer.rows(1)[0]
        self.assertEqual(row.trace, 1)
        self.assertLessEqual(abs(row.peak_hz - ON_AIR), row.span / row.count)
        self.assertEqual(daemon.stop(), 0)

    def test_rows_continue_when_the_radio_is_back(self):
        _, door = self.open(radio("disconnect_at=3,disconnect_for=1", spectrum(iqd.endpoint())))
        viewer = self.look(door)
        row = viewer.until(lambda m: isinstance(m, Row) and m.lost > 10)[-1]
        self.assertTrue(row.flags & live.AFTER_GAP)
        self.assertLessEqual(abs(viewer.rows(5)[-1].peak_hz - ON_AIR), RATE / 1024)

    def test_a_watched_port_has_to_exist(self):
        path = self.folder / "p.yaml"
        for entry, words in (("fir.out", "fir"), ("other/spectrum.out", "no such pipeline"), ("spectrum.none", "none")):
            path.write_text(radio(more=spectrum(iqd.endpoint()), monitor=f", watch: [{entry}]"), encoding="utf-8")
            done = iqd.command("check", path)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn("monitor.watch", done.stderr)
            self.assertIn(words, done.stderr)

    # Who may look

    def test_only_our_own_page_may_look(self):
        _, door = self.open(radio(more=spectrum(iqd.endpoint())))
        own = f"127.0.0.1:{door.port}"
        for headers, status in (({}, 101),
                                ({"Origin": f"http://{own}"}, 101),
                                ({"Origin": f"https://{own}"}, 101),
                                ({"Host": f"localhost:{door.port}", "Origin": f"http://localhost:{door.port}"}, 101),
                                ({"Origin": "http://evil.example"}, 403),
                                ({"Origin": f"http://127.0.0.1:{door.port + 1}"}, 403),
                                ({"Origin": f"http://localhost:{door.port}"}, 403),
                                ({"Origin": "null"}, 403),
                                ({"Origin": ""}, 403),
                                ({"Host": f"evil.example:{door.port}"}, 421),
                                ({"Host": "evil.example", "Origin": "http://evil.example"}, 421),
                                ({"Upgrade": None}, 426),
                                ({"Connection": "keep-alive"}, 426),
                                ({"Sec-WebSocket-Version": "8"}, 426),
                                ({"Sec-WebSocket-Version": None}, 426),
                                ({"Sec-WebSocket-Key": None}, 426)):
            with self.subTest(headers), Viewer(door.port, "", headers) as viewer:
                self.assertEqual(viewer.status, status, viewer.head)
                if status == 426:
                    self.assertIn("Upgrade: websocket", viewer.head)
        for query in ("?trace=256", "?trace=-1", "?trace=x", "?trace=", "?trace=1&trace=1e9", "?trace=0" * 2000):
            with self.subTest(query[:40]), Viewer(door.port, query) as viewer:
                self.assertIn(viewer.status, (400, 414), viewer.head)
        for query in ("?trace=255", "?x=y", "?trace=none", "?trace=0&trace=0"):
            with self.subTest(query), Viewer(door.port, query) as viewer:
                self.assertEqual(viewer.status, 101, viewer.head)

    def test_garbage_ends_only_its_own_connection(self):
        _, door = self.open(radio(more=spectrum(iqd.endpoint())))
        good = self.look(door)
        rng = np.random.default_rng(1)
        for garbage in (b"\xff" * 100_000, b"\x00" * 100_000, rng.bytes(100_000),
                        b"\x82\xff" + b"\xff" * 8 + b"x" * 1000, b"\x88\x80\x00\x00\x00\x00", b"\x89\x00"):
            with Viewer(door.port) as viewer:
                try:
                    viewer.socket.sendall(garbage)
                except OSError:
                    pass
        request = live.request(door.port)
        for length in (10, 60, len(request) - 2):
            with socket.create_connection(("127.0.0.1", door.port)) as s:
                s.sendall(request[:length])
        good.rows(30)
        self.assertEqual(door.ask("GET", "/healthz")[0], 200)

    def test_without_a_page_there_is_no_socket(self):
        _, door = self.open(radio(more=spectrum(iqd.endpoint()), monitor=", page: false"))
        with Viewer(door.port) as viewer:
            self.assertEqual(viewer.status, 404)
        self.assertEqual(door.ask("GET", "/page/index.html")[0], 404)
        status, text = door.ask("GET", "/", headers={"Accept": "text/html"})
        self.assertEqual(status, 200)
        self.assertIn("GET    /metrics", text)
        self.assertNotIn("iqd_live_viewers", door.get("/metrics"))

    def test_the_page_is_one_of_itself(self):
        _, door = self.open(radio(more=spectrum(iqd.endpoint())))
        self.assertIn("GET    /metrics", door.get("/"))
        text = door.raw(b"GET / HTTP/1.1\r\nHost: localhost\r\nAccept: text/html,*/*\r\nConnection: close\r\n\r\n").decode()
        self.assertIn("Content-Type: text/html", text)
        for line in ("script-src 'self'", "frame-ancestors 'none'", "require-trusted-types-for 'script'",
                     "Referrer-Policy: no-referrer", "Cross-Origin-Opener-Policy: same-origin",
                     "Cross-Origin-Resource-Policy: same-origin", "nosniff", "Cache-Control: no-cache"):
            self.assertIn(line, text.split("\r\n\r\n")[0])
        tag = text.split("ETag: ")[1].split("\r\n")[0]
        again = door.raw(f"GET / HTTP/1.1\r\nHost: localhost\r\nAccept: text/html\r\nIf-None-Match: {tag}\r\n"
                         "Connection: close\r\n\r\n".encode()).decode()
        self.assertTrue(again.startswith("HTTP/1.1 304"), again)
        self.assertTrue(again.endswith("\r\n\r\n"))
        for path in ("/page/none.js", "/page/../index.html", "/page/", "/page/%2e%2e%2fx"):
            self.assertEqual(door.ask("GET", path)[0], 404, path)
        self.assertIn("default-src 'none'", door.raw(b"GET /api/status HTTP/1.0\r\nHost: localhost\r\n\r\n").decode())

    # Many, slow and hostile viewers

    def test_nobody_looks_nothing_runs(self):
        daemon, door = self.open(radio(more=spectrum(iqd.endpoint())))
        time.sleep(0.3)
        before = thread_ticks(daemon.process.pid, "iqd-live")
        time.sleep(1.5)
        self.assertEqual(thread_ticks(daemon.process.pid, "iqd-live"), before)
        with Viewer(door.port) as viewer:
            viewer.rows(5)
        self.assertGreater(thread_ticks(daemon.process.pid, "iqd-live")[1], before[1])
        ends = time.monotonic() + iqd.PATIENCE
        while "iqd_live_viewers 0" not in door.get("/metrics"):
            self.assertLess(time.monotonic(), ends)
        time.sleep(0.3)
        before = thread_ticks(daemon.process.pid, "iqd-live")
        time.sleep(1)
        self.assertEqual(thread_ticks(daemon.process.pid, "iqd-live"), before)

    def test_the_25th_viewer_is_told(self):
        _, door = self.open(radio(more=spectrum(iqd.endpoint())))
        viewers = [self.look(door) for _ in range(24)]
        for viewer in viewers:
            viewer.rows(1)
        with Viewer(door.port) as late:
            self.assertEqual(late.status, 101)
            self.assertIsNone(late.message())
            self.assertEqual(late.close_code, 1013)
        self.assertIn("iqd_live_viewers 24", door.get("/metrics"))
        viewers[0].socket.close()
        ends = time.monotonic() + iqd.PATIENCE
        while True:
            with Viewer(door.port) as next_one:
                if next_one.message() is not None:
                    break
            self.assertLess(time.monotonic(), ends)

    def test_a_viewer_that_reads_nothing_holds_up_nobody(self):
        # Rows of many traces, so that its buffers are soon full.
        text = ("name: lab\nsource:\n  soapy: {args: \"driver=iqdsim,rx=8\", channels: [0, 1, 2, 3, 4, 5, 6, 7], "
                f"rate: {RATE}}}\nblock: {BLOCK}\npublish: [{{port: source, topic: s, bind: \"{iqd.endpoint()}\"}}]\n"
                "monitor: {listen: \"127.0.0.1:0\"}\n")
        daemon, door = self.open(text)
        every = "?" + "&".join(f"trace={n}" for n in range(8))
        stuck = [self.look(door, every, buffer=4096) for _ in range(3)]
        viewers = [self.look(door, every if n < 3 else "") for n in range(20)]
        over, jumps, counts = threading.Event(), [], []

        def read(viewer):
            seen, last = 0, {}
            while not over.is_set():
                message = viewer.message()
                if isinstance(message, Row):
                    jumps.append(message.seq - last.get(message.trace, message.seq - 1) - 1)
                    last[message.trace] = message.seq
                    seen += 1
            counts.append(seen)

        threads = [threading.Thread(target=read, args=(v,)) for v in viewers]
        for thread in threads:
            thread.start()
        waits = []
        for _ in range(100):
            began = time.monotonic()
            door.ask("GET", "/readyz")
            waits.append(time.monotonic() - began)
            time.sleep(0.05)
        over.set()
        for thread in threads:
            thread.join(iqd.PATIENCE)
        self.assertGreater(min(counts), 50)
        self.assertEqual(sum(jumps), 0, "rows that a reading viewer missed")
        self.assertLess(statistics.median(waits), 0.05)
        status = door.status()
        self.assertEqual((status["lost"], sum(status["dropped"].values())), (0, 0))
        self.assertEqual(len(stuck), 3)

    def test_a_stop_with_viewers_is_quick(self):
        daemon, door = self.open(radio(more=spectrum(iqd.endpoint())))
        silent = [self.look(door, buffer=4096) for _ in range(12)]
        reading = [self.look(door) for _ in range(12)]
        for viewer in reading:
            viewer.rows(1)
        time.sleep(1)
        began = time.monotonic()
        self.assertEqual(daemon.stop(), 0, daemon.text)
        self.assertLess(time.monotonic() - began, 2.5 if not iqd.SANITIZED else 5)
        self.assertConserved(daemon.final[0])
        for viewer in reading:
            while viewer.message() is not None:
                pass
            self.assertEqual(viewer.close_code, 1001)
        self.assertEqual(len(silent), 12)

    def test_a_thousand_try_to_look(self):
        daemon, door = self.open(radio(more=spectrum(iqd.endpoint())))
        good = self.look(door)
        good.rows(1)
        over = threading.Event()

        def knock():
            while not over.is_set():
                try:
                    with Viewer(door.port) as viewer:
                        viewer.message()
                except OSError:
                    pass

        threads = [threading.Thread(target=knock) for _ in range(30)]
        for thread in threads:
            thread.start()
        rows = good.rows(90)
        over.set()
        for thread in threads:
            thread.join(iqd.PATIENCE)
        numbers = [row.seq for row in rows]
        self.assertEqual(numbers, list(range(numbers[0], numbers[0] + len(numbers))))
        self.assertEqual(daemon.stop(), 0)


if __name__ == "__main__":
    unittest.main()
