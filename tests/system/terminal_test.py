# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""What people see: the status on a terminal, what is served, the summary, the hints of `iqd sub`, and `iqd plot`."""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time
import unittest
import zlib

import numpy as np

import iqd

FSK = """name: fsk_text
source: {soapy: {args: "driver=iqdsim,scenario=fsk,snr=8,offset=1500,ppm=20", rate: 250 kS/s}}
block: 25000
stages:
  - fir: {design: {type: low_pass, cutoff: 13 kHz, transition: 8 kHz}, decimation: 5}
  - quadrature_demod:
  - fir: {name: chip, taps: [1, 1, 1, 1, 1]}
  - framer: {chip_rate: 9.6 kS/s, preamble: aaaaaaaa, sync_word: 2dd4, bytes: 64, crc: crc16_ccitt}
publish: [{port: framer.out, topic: text, bind: "ENDPOINT"}]
"""
TONE = """name: tone
source: {soapy: {args: "driver=iqdsim,scenario=tone,frequency=123456,snr=40", rate: 1 MS/s, frequency: 433.92 MHz}}
block: 65536
stages: [{spectrum: {size: 1024, window: blackman_harris}}]
publish:
  - {port: source, topic: iq, bind: "ENDPOINT"}
  - {port: spectrum.out, topic: spectrum, bind: "ENDPOINT"}
"""
ESCAPE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


class Screen:
    """As much of a terminal as iqd uses: lines, movements upwards, erasing, and colours, which it counts."""

    def __init__(self, columns, rows):
        self.columns, self.rows = columns, rows
        self.lines = [""]
        self.row = self.column = 0
        self.colours = 0

    def feed(self, text):
        for part in re.findall(r"\x1b\[[0-9;?]*[A-Za-z]|\r|\n|[^\x1b\r\n]+", text):
            if part == "\r":
                self.column = 0
            elif part == "\n":
                self.row += 1
                while len(self.lines) <= self.row:
                    self.lines.append("")
            elif part.startswith("\x1b"):
                self.command(part)
            else:
                line = self.lines[self.row].ljust(self.column)
                self.lines[self.row] = line[:self.column] + part + line[self.column + len(part):]
                self.column += len(part)

    def command(self, part):
        if part.endswith("A"):
            self.row = max(0, self.row - int(part[2:-1]))
        elif part.endswith("J"):
            self.lines[self.row:] = [self.lines[self.row][:self.column]]
        elif part.endswith("K"):
            self.lines[self.row] = self.lines[self.row][:self.column]
        elif part.endswith("m"):
            self.colours += 1

    @property
    def text(self):
        return "\n".join(self.lines)


class OnTerminal:
    """A program whose standard output and error are a terminal."""

    def __init__(self, *arguments, columns=120, rows=40, environment=None):
        self.screen = Screen(columns, rows)
        self.ours, theirs = pty.openpty()
        self.resize(columns, rows)
        env = {key: value for key, value in os.environ.items() if key not in ("NO_COLOR", "COLUMNS", "LINES")}
        env.update({"TERM": "xterm-256color", **(environment or {})})
        self.process = subprocess.Popen([iqd.IQD, *map(str, arguments)], stdin=theirs, stdout=theirs, stderr=theirs,
                                        env=env)
        os.close(theirs)
        self.widest = 0

    def resize(self, columns, rows):
        fcntl.ioctl(self.ours, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def read(self, seconds):
        """Takes what comes within this time; False at the end."""
        ends = time.monotonic() + seconds
        while (left := ends - time.monotonic()) > 0:
            if not select.select([self.ours], [], [], left)[0]:
                return True
            try:
                data = os.read(self.ours, 65536)
            except OSError:
                return False
            if not data:
                return False
            self.pending = getattr(self, "pending", b"") + data
            whole = self.pending.decode("utf-8", "ignore")
            cut = whole.rfind("\x1b") if whole.rfind("\x1b") > len(whole) - 12 and not ESCAPE.match(
                whole[whole.rfind("\x1b"):]) else len(whole)
            self.screen.feed(whole[:cut])
            self.pending = whole[cut:].encode()
        return True

    def wait_for(self, condition, seconds=iqd.PATIENCE):
        ends = time.monotonic() + seconds
        while time.monotonic() < ends:
            if condition(self.screen):
                return
            if not self.read(0.1):
                break
        if not condition(self.screen):
            raise AssertionError(f"that did not appear:\n{self.screen.text}")

    def end(self, which=signal.SIGINT):
        if which:
            self.process.send_signal(which)
        while self.read(1) and self.process.poll() is None:
            pass
        self.read(0.2)
        return self.process.wait(iqd.PATIENCE)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self.ours)


class Terminal(iqd.SystemTest):
    def write(self, text, where=None):
        path = self.folder / "p.yaml"
        path.write_text(text.replace("ENDPOINT", where or iqd.endpoint()), encoding="utf-8")
        return path

    def test_the_table_stays_in_place_and_shows_events(self):
        where = iqd.endpoint()
        with OnTerminal("run", self.write(FSK, where)) as run:
            run.wait_for(lambda s: re.search(r"(?m)^fsk_text +streaming .*MS/s|kS/s", s.text))
            run.wait_for(lambda s: re.search(r"events +framer +bad_crc \d+ +.*good [1-9]", s.text))
            for _ in range(3):
                run.read(1)
                self.assertEqual(run.screen.text.count("PIPELINE"), 1, run.screen.text)
            self.assertIn(f"{where}  0 connected", run.screen.text)
            os.kill(run.process.pid, signal.SIGHUP)  # a line of the log in between
            run.wait_for(lambda s: "reload" in s.text)
            run.read(1.5)
            self.assertEqual(run.screen.text.count("PIPELINE"), 1, run.screen.text)
            self.assertLess(run.screen.text.index("reload"), run.screen.text.index("PIPELINE"), "the log is above")
            self.assertGreater(run.screen.colours, 0)
            self.assertEqual(run.end(), 0)
            text = run.screen.text
        self.assertNotIn("PIPELINE", text, "the summary takes the place of the table")
        self.assertEqual(len(re.findall(r"fsk_text ran for", text)), 1, text)
        self.assertRegex(text, r"samples +\d+ received  \d+ published")
        self.assertRegex(text, r"events +framer:  bad_crc \d+  .*good \d+")
        self.assertRegex(text, r"latency +p50 .*, p99 .*, max ")

    def test_a_narrow_terminal_and_a_resize(self):
        with OnTerminal("run", self.write(FSK), columns=40, rows=12, environment={"NO_COLOR": "1"}) as run:
            run.wait_for(lambda s: "bad_crc" in s.text)
            table = run.screen.lines[next(i for i, line in enumerate(run.screen.lines) if "PIPELINE" in line):]
            self.assertLessEqual(max(map(len, table)), 40, table)
            self.assertLessEqual(len(table), 13)
            run.resize(160, 40)
            run.wait_for(lambda s: "RECONNECTS" in s.text)
            self.assertEqual(run.screen.colours, 0, "NO_COLOR")
            self.assertEqual(run.end(), 0)

    def test_several_pipelines_share_the_table(self):
        pipelines = [FSK.replace("name: fsk_text", f"name: p{i}").replace("snr=8", f"snr={7 + i}").replace(
            "ENDPOINT", iqd.endpoint()) for i in (1, 2)]
        text = "pipelines:\n" + "".join("  - " + p.replace("\n", "\n    ").rstrip() + "\n" for p in pipelines)
        with OnTerminal("run", self.write(text)) as run:
            run.wait_for(lambda s: re.search(r"(?m)^p1 +streaming", s.text) and re.search(r"(?m)^p2 +streaming", s.text))
            self.assertEqual(run.screen.text.count("PIPELINE"), 1)
            self.assertEqual(run.end(), 0)
            self.assertEqual(len(re.findall(r"p[12] ran for", run.screen.text)), 2)

    def test_a_file_gets_plain_lines_with_a_header(self):
        done = iqd.command("run", self.write(FSK), "--seconds", 3.5, "--status", "table")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("\x1b", done.stdout)
        lines = done.stdout.splitlines()
        self.assertIn("PIPELINE", lines[0])
        self.assertEqual(done.stdout.count("PIPELINE"), 1)
        self.assertIn("events framer: bad_crc", lines[1])
        self.assertEqual(done.stdout.count("ran for"), 1)

    def test_what_is_served_is_named_with_its_port(self):
        text = TONE.replace("ENDPOINT", "tcp://127.0.0.1:*") + \
            "sinks: [{port: source, file: {path: out.sigmf-meta}}]\nmonitor: {listen: \"127.0.0.1:0\"}\n"
        with self.daemon(text, before=("env", "-C", str(self.folder))) as daemon:
            daemon.wait_for_log("serving http")
            where = re.search(r"serving (tcp://127.0.0.1:\d+): iq \(source\), spectrum \(spectrum.out\)", daemon.text)
            self.assertTrue(where, daemon.text)
            self.assertRegex(daemon.text, r"serving file sink out.sigmf-meta: source")
            self.assertRegex(daemon.text, r"serving http://127.0.0.1:[1-9]\d*: / \(live page\), /metrics")
            got = iqd.command("sub", where[1], "iq", "--count", 2, "--seconds", iqd.PATIENCE)
            self.assertEqual(got.returncode, 0, got.stderr)
            status = daemon.wait_for(lambda s: s["ports"][0]["messages"] > 0)
            self.assertEqual(status["ports"][0]["endpoint"], where[1])
            self.assertEqual(daemon.stop(), 0)
        ends = [line for line in daemon.log if "ended after" in line]
        self.assertEqual(len(ends), 1, daemon.text)
        for words in ("samples received", "published", "none lost", "messages", "p50", "p99", "max"):
            self.assertIn(words, ends[0])
        final = daemon.final[0]
        self.assertIn(f"{final['received']} samples received, {final['published']} published", ends[0])

    def test_sub_lists_the_topics_if_its_own_does_not_come(self):
        where = iqd.endpoint()
        with self.daemon(TONE.replace("ENDPOINT", where)):
            done = iqd.command("sub", where, "spektrum", "--seconds", 6, "--quiet")
            self.assertEqual(done.returncode, 1)
            self.assertRegex(done.stderr, r"no message of topic 'spektrum' in \d s \(did you mean 'spectrum'\?\)")
            self.assertRegex(done.stderr, r"(?m)^  iq +\d+\.\d messages/s +[\d.]+ MB/s  ci16_le \[65536\]")
            self.assertRegex(done.stderr, r"(?m)^  spectrum +\d+\.\d messages/s")
            for word in ("handshake", "key", "curve"):
                self.assertNotIn(word, done.stderr)
            self.assertIn("0 messages", done.stdout, "other topics are not counted")
            good = iqd.command("sub", where, "iq", "--count", 2, "--seconds", iqd.PATIENCE)
            self.assertEqual((good.returncode, good.stderr), (0, ""))

    def test_sub_says_why_it_is_not_connected(self):
        def assert_hint(words, where):
            said = iqd.hints_of(words, where, "t")
            self.assertIn(words, said)
            return said

        assert_hint("nothing listens", iqd.endpoint())
        where = iqd.endpoint()
        text = TONE.replace("ENDPOINT", where).replace("topic: iq,", "topic: iq, kind: push,")
        text = re.sub(r"(?m)^.*topic: spectrum.*\n", "", text) + "monitor: {listen: \"127.0.0.1:0\"}\n"
        with self.daemon(text) as daemon:
            daemon.wait_for(lambda s: s["received"] > 0)
            assert_hint("give --push", where)
            port = re.search(r"http://127.0.0.1:(\d+)", daemon.text)[1]
            wrong = assert_hint("does not answer with ZeroMQ's protocol", f"tcp://127.0.0.1:{port}")
            self.assertNotIn("--key", wrong)

    def test_sub_says_that_a_finite_stream_has_ended(self):
        where = iqd.endpoint()
        recording = iqd.write_recording(self.folder / "r", np.zeros(50_000, np.complex64))
        text = f"source: {{file: {{path: {recording}}}}}\nblock: 10000\n" \
               f"publish: [{{port: source, topic: t, bind: \"{where}\"}}]\n"
        for topic, words in (("t", "has closed the connection: its stream has ended"),
                             ("other", "has closed the connection before a message came")):
            reading = subprocess.Popen([iqd.IQD, "sub", where, topic, "--quiet"], stdout=subprocess.PIPE,
                                       stderr=subprocess.PIPE, text=True)
            waits = 1 if topic == "t" else 0
            if not waits:
                time.sleep(0.5)
            with self.daemon(text, "--wait-subscribers", waits) as daemon:
                self.assertEqual(daemon.wait(), 0, daemon.text)
            time.sleep(1)
            reading.send_signal(signal.SIGINT)
            _, told = reading.communicate(timeout=iqd.PATIENCE)
            if topic == "t" or told:
                self.assertIn(words, told)
            self.assertNotIn("handshake", told)


class Plot(iqd.SystemTest):
    def recording(self, frequency=250e3, rate=1e6, centre=100e6, n=1 << 17):
        x = iqd.tone(np.arange(n), frequency, rate).astype(np.complex64)
        x += np.random.default_rng(1).normal(0, 1e-4, (n, 2)).astype(np.float32).view(np.complex64)[:, 0]
        return iqd.write_recording(self.folder / "r", x, rate,
                                   captures=[{"core:sample_start": 0, "core:frequency": centre}])

    def ok(self, *arguments):
        done = iqd.command("plot", *arguments)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    @staticmethod
    def png(path):
        """The pixels of a PNG file, decoded by its specification: [row][column][rgb]."""
        data = path.read_bytes()
        assert data[:8] == b"\x89PNG\r\n\x1a\n"
        at, packed, size = 8, b"", None
        while at < len(data):
            length, kind = struct.unpack(">I4s", data[at:at + 8])
            body = data[at + 8:at + 8 + length]
            assert zlib.crc32(kind + body) == struct.unpack(">I", data[at + 8 + length:at + 12 + length])[0]
            if kind == b"IHDR":
                size = struct.unpack(">II", body[:8])
                assert body[8:10] == b"\x08\x02", "8 bits, RGB"
            elif kind == b"IDAT":
                packed += body
            at += 12 + length
        width, height = size
        rows = np.frombuffer(zlib.decompress(packed), np.uint8).reshape(height, 1 + 3 * width)
        out = np.zeros((height, 3 * width), int)
        for y, row in enumerate(rows):
            kind, line = row[0], row[1:].astype(int)
            above = out[y - 1] if y else np.zeros(3 * width, int)
            if kind in (0, 2):
                out[y] = (line + (above if kind == 2 else 0)) & 255
                continue
            for i, value in enumerate(line):
                a, b, c = (out[y][i - 3] if i > 2 else 0), above[i], (above[i - 3] if i > 2 else 0)
                if kind == 1:
                    add = a
                elif kind == 3:
                    add = (a + b) // 2
                else:
                    p = a + b - c
                    add = min((abs(p - a), 0, a), (abs(p - b), 1, b), (abs(p - c), 2, c))[2]
                out[y][i] = (value + add) & 255
        return out.reshape(height, width, 3)

    def test_a_recording_to_the_terminal(self):
        for frequency in (250e3, -375e3):
            text = self.ok(self.recording(frequency), "--once")
            lines = text.splitlines()
            named = float(re.search(r"peak ([\d.]+) MHz", lines[-1])[1])
            self.assertAlmostEqual(named, 100 + frequency / 1e6, 3)
            axis = next(line for line in lines if "└" in line)
            left, columns = axis.index("└") + 1, len(axis) - axis.index("└") - 1
            heights = np.zeros(columns)
            for line in lines[1:lines.index(axis)]:
                heights += [c not in " ◂▸" and not c.isalnum() and c in "▁▂▃▄▅▆▇█"
                            for c in line.ljust(left + columns)[left:left + columns]]
            self.assertLessEqual(abs(np.argmax(heights) - (frequency / 1e6 + 0.5) * columns), 2, text)
            self.assertIn("MHz", lines[-2])
            self.assertIn("dBFS", lines[0])

    def test_pictures(self):
        recording = self.recording()
        for kind in ("spectrum", "waterfall", "time"):
            for ending in ("png", "svg"):
                self.assertIn(kind, self.ok(recording, "--kind", kind, "--output", self.folder / f"{kind}.{ending}"))
        pixels = self.png(self.folder / "waterfall.png")
        self.assertEqual(pixels.shape, (700, 1200, 3))
        bright = pixels[350, 90:1080].sum(axis=1)
        self.assertLessEqual(abs(90 + np.argmax(bright) - (84 + 0.75 * (1090 - 84))), 2)
        svg = (self.folder / "spectrum.svg").read_text(encoding="utf-8")
        self.assertIn("frequency, MHz", svg)
        self.assertRegex(svg, r"100\.250\d* MHz")

    def test_topics_choose_their_kind(self):
        where = iqd.endpoint()
        with self.daemon(TONE.replace("ENDPOINT", where)) as daemon:
            daemon.wait_for(lambda s: s["received"] > 0)
            for topic in ("iq", "spectrum"):
                text = self.ok(where, topic, "--once")
                named = float(re.search(r"peak ([\d.]+) MHz", text)[1])
                self.assertAlmostEqual(named, 434.043456, 3 if topic == "iq" else 2)
            missing = iqd.command("plot", where, "spektrum", "--once", "--seconds", 1, timeout=60)
            self.assertEqual(missing.returncode, 1)
            self.assertIn("did you mean 'spectrum'", missing.stderr)
            with OnTerminal("plot", where, "iq", columns=100, rows=30) as plot:
                plot.wait_for(lambda s: "peak 434.04" in s.text)
                plot.read(0.5)
                self.assertEqual(plot.screen.text.count("peak"), 1, "it is redrawn in place")
                self.assertEqual(plot.end(), 0)

    def test_symbols_are_a_constellation(self):
        where = iqd.endpoint()
        text = (iqd.PIPELINES / "qpsk.yaml").read_text(encoding="utf-8")
        text = re.sub(r"tcp://127.0.0.1:5555", where, text).replace("127.0.0.1:9464", "127.0.0.1:0")
        with self.daemon(text) as daemon:
            daemon.wait_for(lambda s: s["received"] > 0)
            shown = self.ok(where, "symbols", "--output", self.folder / "c.svg")
            self.assertIn("points, mean power", shown)
            self.assertIn("in phase", (self.folder / "c.svg").read_text(encoding="utf-8"))

    def test_the_level_between_bins(self):
        for frequency in (250e3, 1000.5 * 1e6 / 4096):
            named = float(re.search(r"peak .*, (-?[\d.]+) dBFS", self.ok(self.recording(frequency), "--once"))[1])
            self.assertAlmostEqual(named, -20, delta=0.05)

    def test_an_array_without_a_rate(self):
        np.save(self.folder / "a.npy", iqd.tone(np.arange(1 << 15), 0.125, 1).astype(np.complex64))
        self.assertRegex(self.ok(self.folder / "a.npy"), r"peak 0\.125\d* Hz, .*no rate: give --rate")
        self.assertRegex(self.ok(self.folder / "a.npy", "--rate", "8 kS/s"), r"peak 1\.0\d* kHz")
        self.assertNotIn("--rate", self.ok(self.folder / "a.npy", "--kind", "constellation"))
        (self.folder / "a.bin").write_bytes(bytes(1000))
        done = iqd.command("plot", self.folder / "a.bin")
        self.assertEqual(done.returncode, 2)
        self.assertIn("give --format (and --rate)", done.stderr)

    def test_mistakes_are_explained(self):
        for arguments, words in ((["nothing.sigmf-meta"], "nothing.sigmf-meta"),
                                 ([self.recording(), "--output", "x.jpg"], ".png or .svg"),
                                 ([self.recording(), "topic"], "has no topics"),
                                 ([self.recording(), "--channel", 3], "--channel 3"),
                                 ([self.recording(), "--kind", "circle"], "--kind"),
                                 ([self.recording(), "--output", "x.png", "--size", "3x"], "--size 3x"),
                                 (["tcp://127.0.0.1:1"], "give a topic; `iqd sub ENDPOINT --all` shows them")):
            done = iqd.command("plot", *arguments)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(words, done.stderr)


if __name__ == "__main__":
    unittest.main()
