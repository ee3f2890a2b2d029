# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""The windows of a recording, each in a run of its own, give the files of one run when they are joined."""

import json
import os
import shutil
import signal
import unittest
import urllib.error
import urllib.request

import numpy as np
import yaml

import iqd
from holes import PRESENT, recording_with_holes

BLOCK = 1000
SINKS = ("out.npy", "out.sigmf-meta", "out.wav", "out.cf32", "bursts.sigmf")
FIR = f"""  - rotate: {{frequency: 12345.6 Hz}}
  - fir: {{taps: {np.hanning(97).tolist()}, decimation: 8}}
"""
SPECTRUM = "  - spectrum: {size: 128}\n"
RESAMPLER = "  - rotate: {frequency: -7 kHz}\n  - resampler: {rate: 300 kS/s}\n"
# Pipelines, and how many of their blocks are recorded.
SHIPPED = {"telemetry": 5, "ook": 12, "fsk_text": 12, "spectrum": 9, "hidden_text": 3, "fm_mono": 9, "two_channels": 7,
           "noma_16x6": 13, "mimo_2x2_5mhz": 10, "python_detector": 8, "own_kernel": 5}
RECOVERY = "  - clock_recovery: {samples_per_symbol: 4}\n"


class Windows(iqd.SystemTest):
    def setUp(self):
        super().setUp()
        self.recording = recording_with_holes(self.folder)
        data = self.recording.with_suffix(".sigmf-data")
        x = np.fromfile(data, np.complex64)
        for burst in (5_000, 18_200, 33_000, 54_990):
            x[burst:burst + 900] *= 4
        x.tofile(data)

    def write(self, stages, port, sinks, name="p.yaml", source="", folder="out"):
        path = self.folder / name
        lines = "".join(f"  - {{port: {port}, file: {{path: {self.folder}/{folder}/{sink}}}}}\n" for sink in sinks)
        trigger = lines.replace("bursts.sigmf}", "bursts.sigmf, trigger: {when: level > 10 dB, pre: 0.2 ms, post: 0.5 ms, count: 0}}")
        path.write_text(f"source: {{file: {{path: \"{self.recording}\"{source}}}}}\nblock: {BLOCK}\nstages:\n{stages}"
                        f"sinks:\n{trigger}", encoding="utf-8")
        (self.folder / folder).mkdir(exist_ok=True)
        return path

    def run_window(self, path, window, windows, *more):
        return iqd.command("run", path, "--window", f"{window}/{windows}", *more)

    def run_windows(self, path, windows, *more):
        for window in np.random.default_rng(windows).permutation(windows):
            done = self.run_window(path, window, windows, *more)
            self.assertEqual(done.returncode, 0, done.stderr)

    def join(self, windows, *more):
        return iqd.command("join", self.folder / "out", "--windows", windows, *more)

    def files(self, folder):
        """All but the windows."""
        return {p.name: p.read_bytes() for p in sorted((self.folder / folder).glob("*")) if "-of-" not in p.name}

    def assertJoined(self, stages, port, sinks, windows):
        """All files of the join are those of one run, to the byte."""
        for folder in ("out", "whole"):
            shutil.rmtree(self.folder / folder, ignore_errors=True)
        done = iqd.command("run", self.write(stages, port, sinks, "whole.yaml", folder="whole"))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.run_windows(self.write(stages, port, sinks), windows)
        self.assertEqual(list((self.folder / "out").glob("*.part*")), [])
        done = self.join(windows)
        self.assertEqual(done.returncode, 0, done.stderr)
        joined, whole = self.files("out"), self.files("whole")
        self.assertEqual(joined.keys(), whole.keys())
        self.assertTrue(whole)
        for name in whole:
            self.assertEqual(joined[name], whole[name], name)

    def test_equal_to_one_run(self):
        for windows in (1, 4, 7, 100):  # of 74 blocks
            with self.subTest(windows=windows):
                self.assertJoined(FIR, "fir.out", SINKS if windows < 100 else SINKS[:2], windows)

    def test_ports_of_other_kinds(self):
        self.assertJoined(SPECTRUM, "spectrum.out", ("out.npy",), 5)
        self.assertJoined(RESAMPLER, "resampler.out", ("out.npy", "out.sigmf-meta"), 6)

    def test_results_that_not_every_block_has(self):
        """Their facts name the block, and a gap or a retune is reported with the next one."""
        for threshold in (-26, -20):
            stages = f"{SPECTRUM}  - peak_finder: {{threshold: {threshold}, max: 1}}\n"
            self.assertJoined(stages, "peak_finder.out", ("out.npy",), 6)
            self.assertIn(len(np.load(self.folder / "out" / "out.npy")), range(1, 60), "of 61 blocks")
        self.assertJoined("  - spectrum: {size: 700}\n", "spectrum.out", ("out.npy",), 9)

    def test_shipped_pipelines(self):
        """Each that has no state, over a recording of what its simulated radio sends."""
        for own in [*iqd.PIPELINES.glob("*.cu"), *iqd.PIPELINES.glob("*.py")]:
            shutil.copy(own, self.folder)
        for name, blocks in SHIPPED.items():
            with self.subTest(name):
                spec = yaml.safe_load((iqd.PIPELINES / f"{name}.yaml").read_text(encoding="utf-8"))
                self.recording = self.folder / f"{name}.sigmf-meta"
                samples = blocks * spec["block"] - spec["block"] // 3
                # As fast as this machine can, however slow.
                spec["source"]["soapy"]["args"] += ",pace=false"
                (self.folder / f"{name}.yaml").write_text(yaml.safe_dump(spec), encoding="utf-8")
                # Without --seconds it would wait for a slow simulator no longer than 5 s.
                done = iqd.command("record", self.folder / f"{name}.yaml", self.recording, "--port", "source",
                                   "--samples", samples, "--seconds", 60, cwd=self.folder)
                self.assertEqual(done.returncode, 0, done.stderr)
                ports = list(dict.fromkeys(e["port"] for e in spec.get("publish", []) + spec.get("sinks", [])))
                for folder, windows in (("whole", [()]), ("out", [("--window", f"{w}/3") for w in range(3)])):
                    shutil.rmtree(self.folder / folder, ignore_errors=True)
                    (self.folder / folder).mkdir()
                    keep = {key: spec[key] for key in ("block", "stages")}
                    sinks = [{"port": port, "file": {"path": f"{self.folder}/{folder}/{name}-{port}.npy"}}
                             for port in ports]
                    path = self.folder / f"{name}-{folder}.yaml"
                    path.write_text(yaml.safe_dump({"source": {"file": {"path": str(self.recording)}}, **keep,
                                                    "sinks": sinks}, sort_keys=False), encoding="utf-8")
                    for window in windows:
                        done = iqd.command("run", path, *window)
                        self.assertEqual(done.returncode, 0, done.stderr)
                done = self.join(3)
                self.assertEqual(done.returncode, 0, done.stderr)
                joined, whole = self.files("out"), self.files("whole")
                self.assertEqual(joined.keys(), whole.keys())
                for file in whole:
                    self.assertEqual(joined[file], whole[file], file)
                for port in ports:
                    self.assertGreater(len(np.load(self.folder / "whole" / f"{name}-{port}.npy")), 1)

    def test_a_part_of_the_recording(self):
        path = self.write(FIR, "fir.out", ("out.npy",), source=", start: 12345, samples: 30001")
        self.run_windows(path, 3)
        self.assertEqual(self.join(3).returncode, 0)
        x = np.load(self.folder / "out" / "out.npy")
        path = self.write(FIR, "fir.out", ("out.npy",), "one.yaml", ", start: 12345, samples: 30001", "whole")
        self.assertEqual(iqd.command("run", path).returncode, 0)
        np.testing.assert_array_equal(x, np.load(self.folder / "whole" / "out.npy"))

    def test_manifest(self):
        path = self.write(FIR, "fir.out", ("out.npy",))
        self.assertEqual(self.run_window(path, 1, 4).returncode, 0)
        manifest = json.loads((self.folder / "out" / "out.npy.1-of-4.json").read_text(encoding="utf-8"))
        self.assertEqual((manifest["sample"], manifest["samples"], manifest["lost"]), (18_000, 19_000, 0))
        self.assertEqual(manifest["rows"], sum(at % 8 == 0 for at in PRESENT if 18_000 <= at < 37_000))
        self.assertEqual(len(manifest["pipeline"]) + len(manifest["data"]), 128)
        self.assertTrue(manifest["device"])

    def test_missing_windows(self):
        path = self.write(FIR, "fir.out", ("out.npy", "out.wav"))
        for window in (0, 2, 3):
            self.run_window(path, window, 6)
        (self.folder / "out" / "out.wav.3-of-6.json").unlink()
        done = self.join(6, "--missing")
        self.assertEqual((done.returncode, done.stdout), (1, "1,3,4,5\n"))
        done = self.join(6)
        self.assertEqual(done.returncode, 1)
        self.assertIn("these windows are missing or lost samples: 1,3,4,5", done.stderr)
        self.assertEqual(self.files("out"), {})
        for window in done.stderr.split("samples: ")[1].split(";")[0].split(","):
            self.run_window(path, window, 6)
        done = self.join(6, "--missing")
        self.assertEqual((done.returncode, done.stdout), (0, ""))
        self.assertEqual(self.join(6).returncode, 0)
        self.assertIn("already exists", self.join(6).stderr)
        self.assertEqual(self.join(6, "--overwrite").returncode, 0)

    def test_windows_that_do_not_fit(self):
        path = self.write(FIR, "fir.out", ("out.npy",))
        out, good = self.folder / "out", self.folder / "good"
        self.run_windows(path, 3)
        out.rename(good)

        def broken(words, act):
            shutil.rmtree(out, ignore_errors=True)
            shutil.copytree(good, out)
            act()
            done = self.join(3)
            self.assertEqual(done.returncode, 1, words)
            self.assertIn(words, done.stderr)
            self.assertEqual(self.files("out"), {}, words)

        def edit(window, **keys):
            file = out / f"out.npy.{window}-of-3.json"
            file.write_text(json.dumps(json.loads(file.read_text()) | keys), encoding="utf-8")

        def other_pipeline():
            text = path.read_text(encoding="utf-8")
            path.write_text(text.replace("12345.6", "12345.5"), encoding="utf-8")
            self.run_window(path, 1, 3)
            path.write_text(text, encoding="utf-8")

        def damage(window, at):
            with open(out / f"out.npy.{window}-of-3", "r+b") as file:
                file.seek(at)
                byte = file.read(1)
                file.seek(at)
                file.write(bytes([byte[0] ^ 1]))

        broken("out.npy.1-of-3: is of another pipeline file", other_pipeline)
        broken("begins at sample 24000, but the window before it ends at 25000", lambda: edit(0, samples=25_000))
        broken("begins at sample 24000, but the window before it ends at 23000", lambda: edit(0, samples=23_000))
        broken("was made by iqd 0.0.1", lambda: edit(2, version="0.0.1"))
        broken("is the manifest of window 1 of 3",
               lambda: shutil.copy(out / "out.npy.1-of-3.json", out / "out.npy.2-of-3.json"))
        broken("missing or lost samples: 2;", lambda: os.truncate(out / "out.npy.2-of-3", 1000))
        broken("has other results than its manifest says", lambda: damage(1, 4000))
        for at in range(0, 136, 8):
            broken("out.npy.1-of-3", lambda at=at: damage(1, at + 5))
        broken("is no manifest of a window", lambda: (out / "out.npy.1-of-3.json").write_text("{}"))
        broken("is no manifest of a window", lambda: edit(1, format={}))

    def test_a_recording_that_changes(self):
        path = self.write(FIR, "fir.out", ("out.npy",))
        self.run_window(path, 0, 2)
        data = self.recording.with_suffix(".sigmf-data")
        with open(data, "r+b") as file:
            file.write(b"12345678")
        self.run_window(path, 1, 2)
        self.assertIn("is of another recording, or that has changed", self.join(2).stderr)

    def test_a_run_that_is_cut_off_leaves_no_window(self):
        path = self.write(FIR, "fir.out", ("out.npy",), source=", pace: true")
        path.write_text(path.read_text(encoding="utf-8").replace("path:", "rate: 100 kS/s, path:", 1), encoding="utf-8")
        done = self.run_window(path, 0, 1, "--seconds", 0.2)
        self.assertEqual(done.returncode, 1)
        self.assertIn("window 0 of 1 is not whole", done.stderr)
        self.assertEqual(list((self.folder / "out").glob("*")), [])

    def test_states(self):
        path = self.write(RECOVERY, "clock_recovery.out", ("out.npy",))
        done = self.run_window(path, 1, 4)
        self.assertEqual(done.returncode, 2)
        self.assertIn("clock_recovery has a state that passes from block to block", done.stderr)
        self.run_windows(path, 4, "--warm", "5 ms")
        done = self.join(4)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("not exact: stages with a state", done.stderr)
        rows = len(np.load(self.folder / "out" / "out.npy"))
        self.assertLess(abs(rows - 60_000 / 4), 40)

    def test_a_warm_start_that_is_long_enough(self):
        """A state that is forgotten after a while is that of one run."""
        stages = "  - quadrature_demod: {}\n  - dc_block: {length: 333}\n"
        done = iqd.command("run", self.write(stages, "dc_block.out", ("out.npy",), "whole.yaml", folder="whole"))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.run_windows(self.write(stages, "dc_block.out", ("out.npy",)), 5, "--warm", 5000)
        self.assertEqual(self.join(5).returncode, 0)
        a, b = (np.load(self.folder / folder / "out.npy") for folder in ("out", "whole"))
        np.testing.assert_array_equal(a, b)

    def test_losses(self):
        """A window of a function that fails counts as missing until that is accepted."""
        (self.folder / "f.py").write_text("def f(x, meta):\n    return 1 / (meta.position != 30_000) * x\n",
                                          encoding="utf-8")
        path = self.write("  - python: {file: f.py, function: f}\n", "python.out", ("out.npy",))
        self.run_windows(path, 4)
        self.assertEqual(self.join(4, "--missing").stdout, "1\n")
        self.assertEqual(self.join(4).returncode, 1)
        done = self.join(4, "--lossy")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("out.npy.1-of-4: 1000 samples have no results", done.stderr)
        self.assertEqual(len(np.load(self.folder / "out" / "out.npy")), len(PRESENT) - 1000)

    def test_losses_at_a_seam(self):
        """Those of a window's last block are reported with the first of the next window."""
        (self.folder / "f.py").write_text("def f(x, meta):\n    return 1 / (meta.position != 35_000) * x\n",
                                          encoding="utf-8")
        stages = "  - python: {file: f.py, function: f}\n"
        iqd.command("run", self.write(stages, "python.out", ("out.npy",), "whole.yaml", folder="whole"))
        self.run_windows(self.write(stages, "python.out", ("out.npy",)), 37)
        self.assertEqual(self.join(37, "--lossy").returncode, 0)
        self.assertEqual(self.files("out"), self.files("whole"))

    def test_functions_see_one_stream(self):
        """Only the first samples and those after a gap are fresh."""
        (self.folder / "f.py").write_text("def f(x, meta):\n    return 0 * x + meta.fresh\n", encoding="utf-8")
        self.assertJoined("  - python: {file: f.py, function: f}\n", "python.out", ("out.npy",), 5)
        fresh = np.load(self.folder / "out" / "out.npy").real
        self.assertEqual(int(fresh.sum()), 1000 + 300 + 955)

    def test_a_recording_without_times(self):
        """The joined times are those of one run that began when the first window did."""
        np.ones(20_000, np.complex64).tofile(self.folder / "r.cf32")
        self.recording = self.folder / "r.cf32"
        path = self.write("  - fir: {taps: [1]}\n", "fir.out", ("out.npy",), source=", rate: 1 MS/s")
        for window in (1, 0, 2):
            self.assertEqual(self.run_window(path, window, 3).returncode, 0)
        self.assertEqual(self.join(3).returncode, 0)
        times = np.load(self.folder / "out" / "out.messages.npy")["time_ns"]
        np.testing.assert_array_equal(np.diff(times), 1_000_000)

    def test_a_sink_without_any_window(self):
        path = self.write(FIR, "fir.out", ("out.npy", "out.wav"))
        self.run_windows(path, 2)
        for file in (self.folder / "out").glob("out.wav.*"):
            file.unlink()
        self.assertEqual(self.join(2, "--missing").stdout, "0,1\n")

    def test_nothing_changes_while_a_window_runs(self):
        path = self.write(FIR, "fir.out", ("out.npy",), source=", rate: 30 kS/s, pace: true")
        where = f"127.0.0.1:{iqd.free_port()}"
        text = f"{path.read_text(encoding='utf-8')}monitor: {{listen: \"{where}\", recordings: {self.folder}}}\n"
        with self.daemon(text, "--window", "0/1") as daemon:
            daemon.wait_for(lambda p: p["received"] > 0)
            done = iqd.command("set", "rotate.frequency=1 kHz", "--address", where)
            self.assertIn("all windows must have the same keys", done.stdout + done.stderr)
            body = json.dumps({"pipeline": "iqd", "port": "fir.out", "seconds": 1}).encode()
            with self.assertRaises(urllib.error.HTTPError) as refused:
                urllib.request.urlopen(urllib.request.Request(f"http://{where}/api/recordings", body), timeout=10)
            self.assertIn(b"all windows must have the same keys", refused.exception.read())
            daemon.signal(signal.SIGHUP)
            self.assertEqual(daemon.wait(), 0, daemon.text)
            self.assertIn("reload refused", daemon.text)
        self.assertEqual(self.join(1).returncode, 0)

    def test_triggers_by_events_are_refused(self):
        path = self.write(FIR, "fir.out", ("out.npy",))
        path.write_text(path.read_text(encoding="utf-8").replace("out.npy}", "out.npy, trigger: {name: e, post: 1 ms}}"),
                        encoding="utf-8")
        self.assertIn("waits for an event", self.run_window(path, 0, 2).stderr)

    def test_apply_is_refused(self):
        path = self.write(f"{FIR}  - complex_to_mag:\n", "fir.out", ("out.npy",))
        path.write_text(path.read_text(encoding="utf-8") + "apply: [{port: complex_to_mag.out, to: rotate.frequency}]\n",
                        encoding="utf-8")
        self.assertIn("sets keys while samples flow", self.run_window(path, 0, 2).stderr)

    def test_refused(self):
        path = self.write(FIR, "fir.out", ("out.npy",))
        for window in ("3/3", "-1/3", "3", "/", "1/2/3", "x/4", "0/0", "1/10000000"):
            done = iqd.command("run", path, "--window", window)
            self.assertEqual(done.returncode, 2, window)
            self.assertIn("window: expected K/N with K from 0 to N - 1", done.stderr)
        self.assertEqual(self.join(0).returncode, 2)
        self.assertIn("these windows are missing or lost samples: 0,1", self.join(2).stderr)
        self.assertIn("No such file", iqd.command("join", self.folder / "none", "--windows", 2).stderr)
        path.write_text("source: {generate: {rate: 1e6, samples: 10}}\nstages: [{signal_source: {waveform: cosine, "
                        f"frequency: 1}}}}]\npublish: [{{port: signal_source.out, bind: \"{iqd.endpoint()}\"}}]\n",
                        encoding="utf-8")
        done = iqd.command("run", path, "--window", "0/2")
        self.assertEqual(done.returncode, 2)
        self.assertIn("window", done.stderr)


if __name__ == "__main__":
    unittest.main()
