# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""The commands other than `run` and `exec`: programs can parse their output."""

import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import unittest

import numpy as np

import iqd

try:
    import jsonschema
    import yaml
except ImportError:
    jsonschema = yaml = None

BENCH_KEYS = {"name", "variant", "backend", "device", "shape", "p50_us", "p99_us", "p999_us", "max_us", "throughput",
              "unit", "bound", "fraction"}
RECEIVER = ["preamble_search", "packet_estimator", "equalizer", "soqpsk_detector", "ber_meter"]
FRONT_END = ["ofdm_sync", "ofdm_demod", "mimo_channel_estimator"]
NOMA_FRAME = "{fft: 2048, carriers: 144, prefix: 144, frame: 74528, tx: 1}"
NOMA = [f"- ofdm_sync: {NOMA_FRAME}", f"- ofdm_demod: {NOMA_FRAME}", "noma_slots"]
SMALL_FRAME = "{fft: 64, carriers: 24, prefix: 9, frame: 512, tx: 1, pilot_every: 2}"
NOMA_SMALL = [f"- ofdm_sync: {SMALL_FRAME}", f"- ofdm_demod: {SMALL_FRAME}"]
DOCUMENT = """name: plan
source: {soapy: {args: driver=iqdsim, rate: 20 MS/s}}
block: 65536
stages:
  - fir: {taps: [1, 2, 3], decimation: 4}
  - spectrum: {}
  - complex_to_mag: {from: fir.out}
publish:
  - {port: spectrum.out, topic: s, bind: "ENDPOINT"}
  - {port: complex_to_mag.out, topic: m, bind: "ENDPOINT"}
"""


NO_STAGES = {"source", "sink", "outlet", "file"}  # what else `iqd stages` lists


def stages():
    rows = [line.split()[:2] for line in iqd.command("stages").stdout.splitlines()]
    return [name for name, family in rows if family not in NO_STAGES]


class Commands(iqd.SystemTest):
    def ok(self, *arguments):
        done = iqd.command(*arguments, cwd=self.folder)
        self.assertEqual(done.returncode, 0, (arguments, done.stderr))
        return done.stdout

    def write(self, text=DOCUMENT):
        path = self.folder / "p.yaml"
        path.write_text(text.replace("ENDPOINT", "tcp://127.0.0.1:5999"), encoding="utf-8")
        return path

    def shipped(self):
        return sorted(iqd.PIPELINES.glob("*.yaml"))

    def test_check(self):
        self.assertIn("ok", self.ok("check", self.write()))
        iqd.write_recording(self.folder / "recording", np.ones(100_000, np.complex64))  # replay.yaml plays this
        for path in self.shipped():
            self.ok("check", path)

    def test_explain(self):
        text = self.ok("explain", self.write())
        for word in ("pipeline plan", "20 MS/s", "fir.out", "spectrum.out", "complex_to_mag.out", "5 M/s", "memory"):
            self.assertIn(word, text)

    def test_explain_shows_what_is_fused(self):
        fused = DOCUMENT.replace("- complex_to_mag: {from: fir.out}", "- conjugate: {from: fir.out}\n  - complex_to_mag: {}")
        text = self.ok("explain", self.write(fused))
        self.assertRegex(text, r"\n  conjugate\+complex_to_mag +fir\.out +\w+  \(2 fused\)\n")
        self.assertNotIn("conjugate.out", text)
        text = self.ok("explain", self.write("fuse: off\n" + fused))
        self.assertRegex(text, r"\n  complex_to_mag +conjugate\.out +\w+\n")

    def test_explain_says_who_launches(self):
        self.assertNotIn("launched", self.ok("explain", self.write("wait: spin\nbackend: cpu\n" + DOCUMENT)))
        text = self.ok("explain", self.write("wait: resident\nbackend: cpu\n" + DOCUMENT))
        self.assertIn("launched  by nothing: no stage runs on a device", text)

    def test_explain_draws_a_graph(self):
        text = self.ok("explain", self.write(), "--dot")
        if shutil.which("dot"):
            drawn = subprocess.run(["dot", "-Tsvg"], input=text, capture_output=True, text=True, check=False)
            self.assertEqual((drawn.returncode, drawn.stderr), (0, ""))
        self.assertRegex(text, r'^digraph "plan" \{\n')
        self.assertTrue(text.endswith("}\n"))
        nodes = set(re.findall(r"^  (\w+) \[.*\];$", text, re.M)) | {"node"}
        edges = re.findall(r"^  (\w+) -> (\w+)( \[label=\".*\"\])?;$", text, re.M)
        self.assertEqual(len(edges), 6)  # including the conversion to floats
        for a, b, _ in edges:
            self.assertLessEqual({a, b}, nodes)

    def test_stages(self):
        names = stages()
        self.assertGreaterEqual(len(names), 10)
        for name in names:
            text = self.ok("stages", name)
            self.assertTrue(text.startswith(f"{name} ("), text)
            for word in ("ports", "sample"):
                self.assertIn(word, text)
        self.assertIn("did you mean 'fir'", iqd.command("stages", "fri").stderr)
        self.assertIn("did you mean 'soapy'", iqd.command("stages", "sopay").stderr)
        self.assertIn("| `fir` |", self.ok("stages", "--markdown"))

    def test_stages_for_programs(self):
        listed = json.loads(self.ok("stages", "--json"))
        self.assertEqual([s["name"] for s in listed if s["family"] not in NO_STAGES], list(stages()))
        [fir] = json.loads(self.ok("stages", "fir", "--json"))
        self.assertEqual((fir["family"], fir["keys"]["properties"]["decimation"]["default"]), ("filters", 1))
        self.assertEqual([s["family"] for s in json.loads(self.ok("stages", "zmq", "--json"))], ["source", "sink"])

    def test_stages_knows_what_else_has_keys(self):
        rows = [line.split()[:2] for line in self.ok("stages").splitlines()]
        others = [(name, family) for name, family in rows if family in NO_STAGES]
        self.assertLessEqual({("soapy", "source"), ("soapy", "sink"), ("file", "source"), ("file", "sink"),
                              ("zmq", "source"), ("zmq", "sink"), ("publish", "outlet"), ("apply", "outlet"),
                              ("pipeline", "file"), ("monitor", "file")}, {tuple(row) for row in rows})
        keys = {"soapy": "args", "file": "overwrite", "zmq": "framing", "publish": "hwm_bytes", "apply": "to",
                "pipeline": "block", "monitor": "listen"}
        for name, family in others:
            text = self.ok("stages", name)
            self.assertIn(f"{name} ({family}): ", text)
            self.assertRegex(text, r"(?m)^key +default +range +meaning$")
            if name in keys:
                self.assertRegex(text, rf"(?m)^{keys[name]} ")
        listed = self.ok("stages", "source")
        self.assertEqual({line.split()[0] for line in listed.splitlines()},
                         {name for name, family in others if family == "source"})
        self.assertNotIn("soapy", self.ok("stages", "--markdown"))

    def test_samples_of_the_stages_are_right(self):
        samples = {name: self.ok("stages", name).split("\nsample\n", 1)[1].strip() for name in stages()}
        real = ("peak_finder", "mag_phase_to_complex", "log10", "snr_helper", "framer", "deemphasis")
        before = {**dict.fromkeys(real, ["complex_to_mag"]), **{name: RECEIVER[:n] for n, name in enumerate(RECEIVER)},
                  **{name: FRONT_END[:n] for n, name in enumerate(FRONT_END)},
                  **{name: FRONT_END for name in samples if name.endswith("_detector") and name not in RECEIVER},
                  "packet_quality": RECEIVER[:4], "ldpc_decoder": [*FRONT_END, "mtt_detector"],
                  **{name: [*FRONT_END, "mtt_detector", "ldpc_decoder"] for name in ("ldpc_encoder", "failed_frames", "pack_bits")},
                  "ofdm_clock": FRONT_END[:2], "mimo_modulation": FRONT_END[:2], "noma_slots": NOMA[:2], "noma_channel_estimator": NOMA_SMALL, "lls_detector": NOMA, "apsm_detector": NOMA}
        for name in samples:
            if name in ("genie_detector", "merge_words"):
                continue  # no stage outputs its kind of channel: it is for arrays; the other needs two decoders
            chain = "\n  ".join(samples.get(stage, stage) for stage in [*before.get(name, []), name])
            chain = chain.replace("ber_meter: {", "ber_meter: {from: soqpsk_detector.bits, ")  # one of several outputs
            channels = 2 if set(before.get(name, [])) & {*FRONT_END, *NOMA, *NOMA_SMALL} else 1
            self.ok("check", self.write(f"source: {{generate: {{rate: 1e6, channels: {channels}}}}}\nstages:\n  {chain}\n"))

    def test_stages_of_samples_refuse_frames(self):
        for name in ("fir", "fft", "rotate", "agc", "dc_block", "squelch", "resampler", "channelizer", "spectrum",
                     "signal_source", "quadrature_demod", "select_channels", "deemphasis", "acpr_meter",
                     "test_waveform", "aph_predistorter"):
            sample = self.ok("stages", name).split("\nsample\n", 1)[1].strip()
            between = "- complex_to_mag: {}\n  " if name == "deemphasis" else ""
            done = iqd.command("check", self.write("source: {generate: {rate: 1e6}}\nstages:\n  - fft: {name: bins, size: 64}"
                                                   f"\n  {between}{sample}\n"))
            self.assertEqual(done.returncode, 2, done.stdout)
            self.assertRegex(done.stderr, r"input 'in' takes .*\[n\], but .* gives .*\[frame\]\[bin 64\]", name)

    def test_schema(self):
        schema = json.loads(self.ok("schema"))
        pipeline = schema["$defs"]["pipeline"]["properties"]
        self.assertLessEqual({"name", "source", "block", "lanes", "backend", "overrun", "stages", "publish", "sinks",
                              "apply", "realtime", "monitor"}, set(pipeline))
        self.assertLessEqual({"soapy", "file", "zmq", "generate"}, set(pipeline["source"]["properties"]))
        known = pipeline["stages"]["items"]["properties"]
        self.assertEqual(set(known), set(stages()))
        self.assertIn("decimation", known["fir"]["properties"])

    @unittest.skipIf(jsonschema is None, "python3-jsonschema and python3-yaml are not installed")
    def test_schema_takes_what_is_right(self):
        schema = json.loads(self.ok("schema"))
        jsonschema.Draft202012Validator.check_schema(schema)
        validator = jsonschema.Draft202012Validator(schema)
        for path in [*self.shipped(), self.write()]:
            validator.validate(yaml.safe_load(path.read_text(encoding="utf-8")))
        for wrong in (DOCUMENT.replace("spectrum:", "spectrm:"), DOCUMENT.replace("block: 65536", "block: many"),
                      DOCUMENT.replace("source:", "sauce:"), DOCUMENT.replace("decimation: 4", "decimation: 0")):
            self.assertFalse(validator.is_valid(yaml.safe_load(wrong)), wrong)

    def test_probe(self):
        found = json.loads(self.ok("probe", "--json"))
        soapy = next(r for r in found["radios"] if r["driver"] == "soapy")
        simulated = [d for d in soapy["devices"] if d["facts"].get("driver") == "iqdsim"]
        self.assertEqual(len(simulated), 1)
        self.assertEqual(simulated[0]["facts"]["rx_channels"], "4")
        self.assertEqual({r["driver"] for r in found["radios"]}, set(self.drivers()))
        self.assertTrue(all(type(r["source"]) is type(r["sink"]) is bool for r in found["radios"]))
        text = self.ok("probe")
        self.assertIn("iqdsim", text)
        cpu = next(b for b in found["backends"] if b["name"] == "cpu")
        self.assertTrue(cpu["available"])
        self.assertEqual(cpu["facts"]["processors_for_iqd"], len(os.sched_getaffinity(0)))
        vectors = cpu["facts"]["vector_instructions_known"].split()
        self.assertEqual(vectors[0], cpu["facts"]["vector_instructions"])
        refused = iqd.command("bench", "conjugate", "--simd", "none").stderr
        self.assertEqual(vectors, re.search(r"one of (.*)", refused)[1].split(", "))
        self.assertRegex(text, rf"(?m)^  vector instructions +{vectors[0]}$")
        for device in found["backends"]:
            if device["name"].startswith("cuda:") and device["available"]:
                facts = device["facts"]
                self.assertLessEqual({"compute_capability", "nvrtc", "copy_engines", "maps_host_memory"}, set(facts))
                for key in ("multiprocessors", "clock_hz", "memory_bandwidth_bytes_per_s", "l2_cache_bytes",
                            "shared_memory_per_block_opt_in_bytes", "registers_per_multiprocessor", "warp_size"):
                    self.assertGreater(facts[key], 0, key)

    def test_probe_of_one_radio(self):
        """By its driver arguments; a script can wait for the radio by the exit code."""
        radio = "driver=iqdsim,serial=known,scenario=noise"
        found = json.loads(self.ok("probe", "--args", radio, "--json"))
        self.assertEqual(set(found), {"radios"})
        soapy, = found["radios"]
        device, = soapy["devices"]
        self.assertEqual((soapy["driver"], device["facts"]["serial"], device["facts"]["scenario"]),
                         ("soapy", "known", "noise"))
        self.assertEqual(device["facts"]["rx_channels"], "4")
        text = self.ok("probe", "--args", radio)
        self.assertIn("rx_rates", text)
        self.assertNotIn("backends", text)
        for wrong, word in (("192.168.10.2", "addr=192.168.10.2"), ("driver=iqdsim,", "after the last"),
                            ("driver=", "no value")):
            done = iqd.command("probe", "--args", wrong)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(word, done.stderr)
        done = iqd.command("probe", "--driver", "nobody", "--args", radio)
        self.assertEqual(done.returncode, 2, done.stderr)
        for absent in ("driver=nowhere", "driver=iqdsim,scenario=nonsense"):
            done = iqd.command("probe", "--args", absent, "--json")
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertIn(f"iqd doctor --driver soapy --args '{absent}'", done.stderr)
            self.assertEqual(len(json.loads(done.stdout)["radios"]), 1)

    def test_a_radio_that_does_not_answer_is_not_waited_for(self):
        """A server that accepts the connection and stays silent."""
        with socket.socket() as silent:
            silent.bind(("127.0.0.1", 0))
            silent.listen()
            args = f"driver=remote,remote=tcp://127.0.0.1:{silent.getsockname()[1]}"
            began = time.monotonic()
            done = iqd.command("probe", "--args", args, "--patience", 0.5)
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertLess(time.monotonic() - began, iqd.PATIENCE)

    def assertPasteable(self, findings):
        """Each `mend` line is valid shell syntax; if the verdict is bad, it starts with a command."""
        for f in findings:
            done = subprocess.run(["bash", "-n", "-c", f["mend"]], capture_output=True, text=True, check=False)
            self.assertEqual((done.returncode, done.stderr), (0, ""), f)
            if f["verdict"] == "bad":
                self.assertRegex(f["mend"], r"^[a-z]", f)

    def test_doctor_of_one_radio(self):
        def findings(args, code=0, more=()):
            done = iqd.command("doctor", "--args", args, "--json", *more)
            self.assertEqual(done.returncode, code, done.stderr)
            self.assertPasteable(json.loads(done.stdout)["findings"])
            return {f["name"]: f for f in json.loads(done.stdout)["findings"]}
        found = findings("driver=iqdsim,serial=known")
        self.assertEqual((found["radio"]["verdict"], found["radio"]["found"]),
                         ("ok", "iqdsim known, firmware 1.0, fpga 1.0"))
        self.assertIn("module for driver=iqdsim", found)
        self.assertNotIn("backend cpu", found)
        root = self.machine()
        found = findings("driver=remote,remote=tcp://192.168.10.2:1", 1, ["--root", root, "--strict"])
        self.assertEqual(found["radio at 192.168.10.2"]["found"], "via eth1")
        self.assertEqual(found["net.core.rmem_max"]["verdict"], "warn")
        self.assertEqual(found["radio"]["verdict"], "bad")
        self.assertIn("ping -c 3 192.168.10.2", found["radio"]["mend"])
        done = iqd.command("doctor", self.write(), "--args", "driver=iqdsim")
        self.assertEqual(done.returncode, 2, done.stderr)

    def drivers(self):
        """The drivers that a file can name."""
        pipeline = json.loads(self.ok("schema"))["$defs"]["pipeline"]["properties"]
        return {*pipeline["source"]["properties"], *pipeline["sinks"]["items"]["properties"]} - {"port"}

    def test_doctor(self):
        found = json.loads(self.ok("doctor", "--json"))
        self.assertEqual(set(found), {"findings", "warn", "bad"})
        for f in found["findings"]:
            self.assertEqual(set(f), {"name", "found", "verdict", "mend"})
            self.assertIn(f["verdict"], ("ok", "warn", "bad"))
            if f["verdict"] != "ok":
                self.assertTrue(f["mend"], f)
        self.assertPasteable(found["findings"])
        self.assertIn("backend cpu", {f["name"] for f in found["findings"]})
        self.ok("doctor")

    def machine(self):
        """A fake machine with radios on eth1, which is not set up for them."""
        root = self.folder / "machine"
        for name, text in {
                "proc/net/route": "Iface Destination Gateway Flags RefCnt Use Metric Mask MTU Window IRTT\n"
                                  "eth1 000AA8C0 00000000 0001 0 0 0 00FFFFFF 0 0 0\n",
                "proc/sys/net/core/rmem_max": "212992", "proc/sys/net/core/wmem_max": "212992",
                "sys/class/net/eth1/mtu": "1500", "sys/class/net/eth1/speed": "10000",
                "sys/class/net/eth1/device/vendor": "0x8086", "sys/bus/usb/devices/1-3/idVendor": "0bda",
                "sys/bus/usb/devices/1-3/idProduct": "2838", "sys/bus/usb/devices/1-3/speed": "12"}.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text + "\n", encoding="utf-8")
        return root

    def doctor(self, text, *arguments, code=0):
        done = iqd.command("doctor", self.write(text), "--root", self.machine(), "--json", *arguments)
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertPasteable(json.loads(done.stdout)["findings"])
        return {f["name"]: f for f in json.loads(done.stdout)["findings"]}

    def test_doctor_of_a_pipeline_says_what_concerns_it(self):
        usrp = "source: {uhd: {args: \"addr=192.168.10.2,type=x300\", rate: 100 MS/s}}\n"
        found = self.doctor(usrp)
        self.assertEqual(found["radio at 192.168.10.2"]["found"], "via eth1")
        self.assertIn("ip link set dev eth1 mtu 9000", found["MTU of eth1"]["mend"])
        self.assertIn("net.core.rmem_max=50000000", found["net.core.rmem_max"]["mend"])
        self.assertIn("net.core.wmem_max=33554432", found["net.core.wmem_max"]["mend"])
        self.assertEqual(found["speed of eth1"]["verdict"], "ok")
        self.assertNotIn("USB of RTL-SDR", found)
        self.assertNotIn("SoapySDR", found)
        self.assertEqual(self.doctor(usrp.replace("100 MS/s", "400 MS/s"), "--strict", code=1)["speed of eth1"]["verdict"],
                         "bad")
        found = self.doctor("source: {soapy: {args: \"driver=nowhere\", rate: 1 MS/s}}\n")
        self.assertEqual(found["module for driver=nowhere"]["verdict"], "bad")
        self.assertIn("soapysdr-module-nowhere", found["module for driver=nowhere"]["mend"])
        self.assertEqual(found["USB of RTL-SDR"]["verdict"], "warn")
        self.assertNotIn("MTU of eth1", found)
        self.assertNotIn("net.core.rmem_max", found)

    def test_doctor_of_a_pipeline_without_a_radio(self):
        found = self.doctor("name: lab\nsource: {generate: {rate: 1 MS/s}}\nbackend: cpu\nrealtime: {cpus: [1000]}\n")
        for name in found:
            for word in ("net.core", "eth1", "USB", "Soapy", "UHD", "PCIe", "backend"):
                self.assertNotIn(word, name)
        self.assertFalse([name for name in found if name.startswith("disk of")])
        recorded = self.doctor(f"source: {{generate: {{rate: 1 MS/s}}}}\nsinks:\n  - {{port: source, file: {{path: {self.folder}/r}}}}\n")
        self.assertRegex(recorded[f"disk of {self.folder}"]["found"], r"GB free, full after [0-9.]+ (s|min|h)$")
        self.assertIn("no CPU 1000", found["realtime of lab"]["found"])
        self.assertEqual(found["realtime of lab"]["verdict"], "warn")
        self.assertEqual(iqd.command("doctor", self.folder / "nothing.yaml").returncode, 2)
        wrong = iqd.command("doctor", self.write("sauce: {}\n"))
        self.assertEqual(wrong.returncode, 2)
        self.assertIn("did you mean 'source'", wrong.stderr)

    def bench_lines(self, *arguments, code=0, **how):
        done = iqd.command("bench", *arguments, "--json", **how)
        self.assertEqual(done.returncode, code, (arguments, done.stderr))
        return [json.loads(line) for line in done.stdout.splitlines()]

    def check_row(self, row):
        self.assertLessEqual(BENCH_KEYS, set(row))
        self.assertLessEqual(row["p50_us"], row["p99_us"])
        self.assertLessEqual(row["p99_us"], row["p999_us"])
        self.assertLessEqual(row["p999_us"], row["max_us"])
        self.assertGreater(row["throughput"], 0)
        fraction = row["throughput"] / row["bound"]
        self.assertAlmostEqual(row["fraction"], fraction, delta=1e-6 + 1e-3 * fraction)

    def bench(self, *arguments, code=0, **how):
        rows = self.bench_lines(*arguments, "--seconds", 0.05, code=code, **how)
        for row in rows:
            self.check_row(row)
        return rows

    def test_bench(self):
        for name in [*stages(), "engine"]:
            rows = self.bench(name)
            self.assertTrue(rows, name)
            self.assertEqual({r["name"] for r in rows}, {name})
        self.assertEqual(len(self.bench("conjugate", "--block", 1024, "--block", 4096)), 2)

    def test_bench_refuses_what_does_not_apply(self):
        for words, why in ((("conjugate", "--share", "16 SM"), "need `engine`"), (("lanes", "--load"), "need `engine`"),
                           (("engine", "--load", "--backend", "cpu"), "need a GPU"),
                           (("engine", "--share", "16 SM", "--backend", "cpu"), "need a GPU"),
                           (("engine", "--noise"), "needs the file of a pipeline")):
            done = iqd.command("bench", *words)
            self.assertEqual(done.returncode, 2, words)
            self.assertIn(why, done.stderr)

    def test_bench_of_items(self):
        row, = self.bench("ber_meter", "--item", "in=3x4000", "--block", 8, "--out", "report")
        self.assertEqual((row["shape"], row["unit"]), ("8", "items/s"))
        self.assertGreater(row["throughput"], 0)
        self.bench("ber_meter", "--item", "in=axb", code=2)

    def test_bench_of_own_samples(self):
        file = self.folder / "own.npy"
        np.save(file, np.ones((2, 100), np.complex64))
        rows = self.bench("aph_predistorter", "--in", f"in={file}", "--block", 64, "--out", "peak")
        self.assertEqual([r["shape"] for r in rows], ["64"])
        for wrong in (f"out={file}", f"in={file}.absent"):
            self.bench("aph_predistorter", "--in", wrong, code=2)

    def test_bench_by_instructions(self):
        *_, least = iqd.command("bench", "conjugate", "--simd", "none").stderr.split()
        self.bench("conjugate", "--simd", least)
        self.bench("conjugate", "--simd", "none", code=2)

    def test_bench_of_a_pipeline(self):
        rows = self.bench(self.write(), "--lanes", 1, "--lanes", 2)
        self.assertGreater(min(row["feeding"] for row in rows[::2]), 0)
        bound = [", bound by the thread that feeds it" if row["feeding"] > 0.9 else "" for row in rows[::2]]
        self.assertEqual([r["variant"] for r in rows], [f"flat out, 1 lanes{bound[0]}", "one by one, 1 lanes",
                                                        f"flat out, 2 lanes{bound[1]}", "one by one, 2 lanes"])
        # The bench waits for blocks that take longer than the time of a row.
        slow = "fir: {design: {type: low_pass, cutoff: 1 MHz, ntaps: 32001}, method: direct}"
        rows += self.bench(self.write(DOCUMENT.replace("fir: {taps: [1, 2, 3], decimation: 4}", slow)), "--lanes", 1)
        self.assertEqual(len(rows), 6)
        for row in rows:
            self.assertEqual((row["name"], row["shape"], row["bound"]), ("plan", "65536", 20e6))
            self.assertGreater(row["p50_us"], 0)
        # A block waits for more than two that follow.
        rows = self.bench(iqd.PIPELINES / "fsk_text.yaml", "--block", 1024, "--lanes", 1)
        self.assertEqual([row["variant"] for row in rows], ["flat out, 1 lanes", "one by one, 1 lanes"])

    def test_bench_blocks(self):
        table = {name for name in stages() if re.match(r"\w+ \((math|filters|sync|measure)\)", self.ok("stages", name))}
        lines = self.bench_lines("blocks", "--quick")
        rows = [line for line in lines if "quicker" not in line]
        alone = {(r["name"], int(r["shape"])) for r in rows if (r["variant"], r["backend"]) == ("alone", "cpu")}
        for name in ("fir", "fft", "conjugate", "complex_to_mag"):
            for size in (2048, 65536):
                self.assertIn((name, size), alone)
        self.assertLessEqual({name for name, _ in alone}, table)
        for row in rows:
            self.check_row(row)
            if row["backend"] != "cpu" or row["name"] in ("fir", "fft", "conjugate", "complex_to_mag", "chain"):
                self.assertEqual(row["checked"], 1, row)
            self.assertEqual("marginal_us" in row, row["variant"] == "in a chain", row)
        self.assertEqual({r["variant"] for r in rows if (r["name"], r["backend"]) == ("chain", "cpu")},
                         {"1 stage", "1 stage, fuse: off", "16 stages", "16 stages, fuse: off"})
        filters = [r for r in rows if "taps" in r["variant"] and r["backend"] == "cpu"]
        self.assertEqual({r["variant"] for r in filters}, {"1205 taps, direct", "1205 taps, fft"})
        for row in filters:
            rates = [0, 10, 20, 50, 100, 200, 500, 1000]
            self.assertEqual(row["carries_msps"], max(r for r in rates if r * 1e6 <= row["throughput"]))

    def test_bench_blocks_of_some(self):
        lines = self.bench_lines("blocks", "--backend", "cpu", "--only", "fft", "--block", 4096)
        self.assertEqual([(r["name"], r["variant"], r["shape"], r["keys"]) for r in lines],
                         [("fft", variant, "4096", "{size: 1024}") for variant in ("alone", "in a chain")])
        self.assertIn("'fri'", iqd.command("bench", "blocks", "--only", "fri").stderr)
        self.bench("blocks", "--backend", "cpu", "--only", "fft", "--block", 4096, "--max-p99", 1e-9, code=3)

    def test_bench_thresholds(self):
        self.bench("conjugate", "--min-throughput", 1e30, code=3)
        self.bench("conjugate", "--max-p99", 1e-9, code=3)
        self.bench("conjugate", "--min-throughput", 1, "--max-p99", 1e9)

    def test_convolution_is_chosen_by_measurement(self):
        shape = "500x20x9"
        rows = self.bench("convolution", "--backend", "cpu", "--config", f"shape={shape}")
        self.assertEqual([row["variant"].split()[0] for row in rows], ["direct", "fft", "overlap"])
        with tempfile.TemporaryDirectory() as folder:
            env = {**os.environ, "STATE_DIRECTORY": folder}
            done = iqd.command("tune", "--cpu", "--convolution", shape, env=env)
            self.assertEqual(done.returncode, 0, done.stderr)
            (file,) = pathlib.Path(folder).iterdir()
            best = re.search(rf"(?m)^  {shape}: (.+)$", file.read_text(encoding="utf-8"))[1]
            rows = self.bench("convolution", "--backend", "cpu", "--config", f"shape={shape}", "--config", "size=all",
                              env=env)
            self.assertEqual([row["variant"] for row in rows if row["chosen"]], [best])
        self.assertEqual(iqd.command("tune", "--cpu", "--convolution", "500x20").returncode, 2)

    def test_sub(self):
        where = iqd.endpoint()
        with self.daemon("source: {soapy: {args: driver=iqdsim, rate: 1e6}}\nblock: 10000\n"
                         f"publish: [{{port: source, topic: t, bind: \"{where}\"}}]\n") as daemon:
            lines = [json.loads(line) for line in self.ok("sub", where, "t", "--count", 20, "--json").splitlines()]
            self.assertEqual(len(lines), 21)
            self.assertEqual({line["topic"] for line in lines[:-1]}, {"t"})
            self.assertEqual([b["seq"] - a["seq"] for a, b in zip(lines[:-2], lines[1:-1])], [1] * 19)
            summary = lines[-1]["summary"]
            self.assertEqual((summary["messages"], summary["lost_messages"], summary["malformed"]), (20, 0, 0))
            self.assertIn("seq", self.ok("sub", where, "t", "--count", 1))
            silent = iqd.command("sub", where, "other", "--seconds", 0.3)
            self.assertEqual(silent.returncode, 1)
            self.assertIn("nothing arrived", silent.stderr)
            reading = subprocess.Popen([iqd.IQD, "sub", where, "t"], stdout=subprocess.PIPE, text=True)
            reading.stdout.readline()
            reading.send_signal(signal.SIGINT)
            rest = reading.communicate(timeout=iqd.PATIENCE)[0]
            self.assertEqual(reading.returncode, 0)
            self.assertIn("lost: 0 samples", rest)
            self.assertEqual(daemon.stop(), 0)


if __name__ == "__main__":
    unittest.main()
