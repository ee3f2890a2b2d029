# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""`iqd exec` with several stages: on arrays and recordings, whole and in blocks, against NumPy and against `iqd run`."""

import json
import unittest

import numpy as np

import iqd
import references as ref

RATE = 1e6
BLOCKS = ([], ["--whole"], ["--block", 1], ["--block", 7], ["--block", 1000], ["--block", 4099])
TAPS = [0.25, 1, -0.5]
CHAIN = ["rotate: {frequency: -50 kHz}", f"fir: {{taps: {TAPS}, decimation: 4}}", "complex_to_mag_squared"]
SYNC = "2dd4"
FRAMER = f"framer: {{chip_rate: 50 kHz, preamble: aaaa, sync_word: {SYNC}, length: fixed, bytes: 4, crc: none}}"


def signal(*shape, seed=1):
    r = np.random.default_rng(seed)
    return (r.standard_normal(shape) + 1j * r.standard_normal(shape)).astype(np.complex64)


def chain(x):
    """What CHAIN computes."""
    return np.abs(ref.fir(ref.rotate(x.astype(complex), -50e3, RATE), TAPS, 4)) ** 2


def keyed(payloads, every=4000, chip=20):
    """Frames on and off a carrier, at 1 MS/s and 50,000 chips a second, and where each begins."""
    starts = [500 + i * every for i in range(len(payloads))]
    x = np.zeros(starts[-1] + every, np.float32)
    for start, payload in zip(starts, payloads):
        bits = np.unpackbits(np.frombuffer(bytes.fromhex("aaaa" + SYNC) + payload, np.uint8))
        x[start:start + len(bits) * chip] = np.repeat(bits, chip)
    noise = np.random.default_rng(3).standard_normal((2, len(x)))
    return (x + 0.01 * (noise[0] + 1j * noise[1])).astype(np.complex64), starts


class ExecChain(iqd.SystemTest):
    def exec(self, *arguments, code=0):
        done = iqd.command("exec", *arguments, cwd=self.folder)
        self.assertEqual(done.returncode, code, (arguments, done.stderr))
        return done.stderr

    def result(self, x, *arguments, name="y.npy"):
        np.save(self.folder / "x.npy", x)
        self.exec(*arguments)
        return np.load(self.folder / name)

    def near(self, got, expected, tolerance=3e-6):
        self.assertEqual(got.shape, expected.shape)
        if got.size:
            self.assertLessEqual(np.abs(got - expected).max(), tolerance * np.abs(expected).max())

    def write(self, text, name="p.yaml"):
        (self.folder / name).write_text(text, encoding="utf-8")
        return name


class Arrays(ExecChain):
    def test_a_chain_is_what_numpy_computes(self):
        for x in signal(3001), signal(1, 500), signal(3, 777), signal(2), signal(0):
            for block in BLOCKS:
                y = self.result(x, *CHAIN, "x.npy", "y.npy", "--rate", "1 MS/s", *block)
                self.assertEqual(y.dtype, np.float32)
                self.near(y, chain(x))

    def test_other_types_are_promoted_as_for_one_stage(self):
        z = signal(400)
        pairs = np.stack([z.real * 9000, z.imag * 9000], -1).astype(np.int16)
        for x, model in (z.astype(np.complex128), z), (z.real.copy(), z.real), (pairs, iqd.to_complex(pairs)):
            y = self.result(x, *CHAIN, "x.npy", "y.npy", "--rate", "1 MS/s")
            self.near(y, chain(model.astype(complex)))

    def test_frames_are_the_same_in_blocks(self):
        x = signal(2, 3001)
        expected = np.abs(ref.fft(ref.rotate(x.astype(complex), 1e5, RATE), 64, shape="hann"))
        for block in BLOCKS:
            y = self.result(x, "rotate: {frequency: 100 kHz}", "fft: {size: 64, window: hann}", "complex_to_mag", "x.npy",
                            "y.npy", "--rate", "1 MS/s", *block)
            self.near(y, expected)
        self.assertEqual(len(np.load(self.folder / "y.facts.npy")), expected.shape[1])

    def test_more_than_one_output(self):
        x = signal(1000)
        self.result(x, *CHAIN, "--in", "x.npy", "--out", "y.npy", "--port", "rotate.out=r.npy", "--port", "fir=f.npy",
                    "--port", "source=s.npy", "--rate", "1 MS/s")
        self.near(np.load(self.folder / "r.npy"), ref.rotate(x.astype(complex), -50e3, RATE))
        self.near(np.load(self.folder / "f.npy"), ref.fir(ref.rotate(x.astype(complex), -50e3, RATE), TAPS, 4))
        np.testing.assert_array_equal(np.load(self.folder / "s.npy"), x)
        self.near(np.load(self.folder / "y.npy"), chain(x))
        self.near(self.result(x, *CHAIN, "x.npy", "y.npy", "--port", "rotate", "--rate", "1 MS/s"),
                  ref.rotate(x.astype(complex), -50e3, RATE))

    def test_stages_of_one_kind_are_numbered(self):
        x = signal(500)
        fir = f"fir: {{taps: {TAPS}}}"
        y = self.result(x, fir, fir, "fir: {taps: [2], name: last}", "x.npy", "y.npy", "--port", "fir_2.out=f.npy")
        twice = ref.fir(ref.fir(x.astype(complex), TAPS), TAPS)
        self.near(y, 2 * twice)
        self.near(np.load(self.folder / "f.npy"), twice)

    def test_connections(self):
        x = signal(500)
        y = self.result(x, "rotate: {frequency: 0.1}", "multiply: {from: {in0: source, in1: rotate.out}}", "x.npy",
                        "y.npy")
        self.near(y, x * ref.rotate(x.astype(complex), 0.1, 1))

    def test_several_inputs(self):
        a, b = signal(600), signal(600, seed=2)
        np.save(self.folder / "a.npy", a)
        np.save(self.folder / "b.npy", b)
        for block in BLOCKS:
            self.exec("multiply", f"fir: {{taps: {TAPS}}}", "complex_to_mag", "--in", "in0=a.npy", "--in", "in1=b.npy",
                      "--out", "y.npy", "--port", "multiply.out=m.npy", *(block if block != ["--whole"] else []))
            self.near(np.load(self.folder / "m.npy"), a.astype(complex) * b)
            self.near(np.load(self.folder / "y.npy"), np.abs(ref.fir(a.astype(complex) * b, TAPS)))

    def test_items_may_be_the_input(self):
        bits = np.random.default_rng(5).integers(0, 2, (3, 1152)).astype(np.uint8)
        words = self.result(bits, "ldpc_encoder", "--in", "x.npy", "--out", "y.npy")
        llr = (1 - 2.0 * words).astype(np.float32)
        np.testing.assert_array_equal(self.result(llr, "ldpc_decoder", "x.npy", "y.npy", "--port", "bits"), bits)
        self.result(llr, "ldpc_decoder", "ldpc_encoder", "x.npy", "z.npy", "--port", "ldpc_decoder.bits=y.npy")
        np.testing.assert_array_equal(np.load(self.folder / "y.npy"), bits)
        again = self.result(llr, "ldpc_decoder", "ldpc_encoder: {from: ldpc_decoder.bits}", "x.npy", "y.npy")
        np.testing.assert_array_equal(again, words)

    def test_one_stage_with_its_keys(self):
        x = signal(100)
        expected = ref.fir(x.astype(complex), TAPS)
        self.near(self.result(x, f"fir: {{taps: {TAPS}}}", "x.npy", "y.npy"), expected)
        self.near(self.result(x, "fir", "x.npy", "y.npy", "--config", f"taps={TAPS}"), expected)
        self.near(self.result(x, "fir: {decimation: 2}", "x.npy", "y.npy", "--config", f"taps={TAPS}"), expected[::2])


    def test_units_need_a_rate(self):
        np.save(self.folder / "x.npy", signal(100))
        for stages in (CHAIN[:1], CHAIN):
            text = self.exec(*stages, "x.npy", "y.npy")
            self.assertIn("stage 1 `rotate`: keys have units, but the sample rate of x.npy is not known", text)
            self.assertNotIn("keys have units", self.exec(*stages, "x.npy", "y.npy", "--rate", "1 MS/s"))


class Recordings(ExecChain):
    def test_sigmf_in_and_out(self):
        x = signal(5000)
        iqd.write_recording(self.folder / "x", x, rate=RATE)
        for name in "x", "x.sigmf-meta":
            for block in BLOCKS:
                self.exec(*CHAIN, name, "y.npy", *block)
                self.near(np.load(self.folder / "y.npy"), chain(x))
        self.exec(*CHAIN[:2], "x", "y.sigmf-meta")
        meta, y = iqd.read_recording(self.folder / "y")
        self.assertEqual(meta["global"]["core:sample_rate"], RATE / 4)
        self.near(y, ref.fir(ref.rotate(x.astype(complex), -50e3, RATE), TAPS, 4))

    def test_one_stage_on_a_recording(self):
        x = signal(5000)
        iqd.write_recording(self.folder / "x", x, rate=RATE)
        self.exec("rotate", "x", "y.npy", "--config", "frequency=-50 kHz")
        self.near(np.load(self.folder / "y.npy"), ref.rotate(x.astype(complex), -50e3, RATE))

    def test_gaps_stay_gaps(self):
        x = signal(5000)
        captures = [{"core:sample_start": 0, "core:datetime": "2024-02-03T04:05:06Z"},
                    {"core:sample_start": 2000, "core:global_index": 2600, "core:datetime": "2024-02-03T04:05:06.0026Z"}]
        iqd.write_recording(self.folder / "x", x, rate=RATE, captures=captures)
        text = self.exec("conjugate", f"fir: {{taps: {TAPS}}}", "x", "y.npy")
        self.assertIn("y.npy: 5000 samples recorded, 1 gap with 600 missing samples", text)
        y = np.concatenate([ref.fir(part.conj().astype(complex), TAPS) for part in (x[:2000], x[2000:])])
        self.near(np.load(self.folder / "y.npy"), y)
        facts = json.loads((self.folder / "y.json").read_text(encoding="utf-8"))
        self.assertEqual((facts["items"], facts["gaps"], facts["lost"], facts["complete"]), (5000, 1, 600, True))
        messages = np.load(self.folder / "y.messages.npy")
        self.assertEqual([gap for gap in messages["gap"] if gap], [600])
        self.exec("conjugate", f"fir: {{taps: {TAPS}}}", "x", "y.sigmf-meta")
        meta, _ = iqd.read_recording(self.folder / "y")
        self.assertEqual([c["core:global_index"] for c in meta["captures"]][1:], [2600])

    def test_an_array_of_iqd_is_a_recording(self):
        """What is beside it counts: rate, frequency, gaps; also for a single stage."""
        x = signal(5000)
        captures = [{"core:sample_start": 0, "core:frequency": 100e6, "core:datetime": "2024-02-03T04:05:06Z"},
                    {"core:sample_start": 2000, "core:frequency": 101e6}]
        iqd.write_recording(self.folder / "x", x, rate=RATE, captures=captures)
        self.exec(CHAIN[0], "x", "r.npy")
        rotated = ref.rotate(x.astype(complex), -50e3, RATE)
        for stages in (CHAIN[1:2], ["conjugate", *CHAIN[1:2]]):
            text = self.exec(*stages, "r.npy", "y.npy")
            self.assertIn("y.npy: 1250 samples recorded", text)
            model = rotated if stages == CHAIN[1:2] else rotated.conj()
            self.near(np.load(self.folder / "y.npy"), ref.fir(model, TAPS, 4))
            facts = json.loads((self.folder / "y.json").read_text(encoding="utf-8"))
            self.assertEqual((facts["sample_rate"], facts["frequency"]), (RATE, 100.05e6))
            self.assertEqual(facts["datetime"], "2024-02-03T04:05:06.000000000Z")
            self.assertEqual([t["frequency"] for t in facts["tuned"]], [101.05e6])

    def test_times_count_from_0_if_none_is_known(self):
        x = signal(2000)
        np.save(self.folder / "x.npy", x)
        iqd.write_recording(self.folder / "z", x, rate=RATE)
        for source in ("x.npy", "z"):
            self.exec(*CHAIN, source, "y.npy", "--rate", "1 MS/s", "--block", "1000")
            messages = np.load(self.folder / "y.messages.npy")
            self.assertEqual(list(messages["time_ns"]), [0, 1_000_000], source)
            facts = json.loads((self.folder / "y.json").read_text(encoding="utf-8"))
            self.assertIsNone(facts["datetime"])

    def test_a_single_stage_with_a_rate_keeps_the_facts(self):
        np.save(self.folder / "x.npy", signal(1000))
        self.exec("spectrum: {size: 100}", "x.npy", "y.npy", "--rate", "1 MS/s", "--frequency", "100 MHz")
        facts = json.loads((self.folder / "y.json").read_text(encoding="utf-8"))
        self.assertEqual(facts["axes"], {"bin": {"first": 99.5e6, "step": 10e3, "unit": "Hz"}})
        self.assertEqual((facts["dims"], np.load(self.folder / "y.npy").shape), (["bin"], (100,)))
        self.exec("spectrum: {size: 100}", "x.npy", "y.npy", "--rate", "1 MS/s", "--block", "500")
        facts = json.loads((self.folder / "y.json").read_text(encoding="utf-8"))
        self.assertEqual((facts["dims"], np.load(self.folder / "y.npy").shape), (["message", "bin"], (2, 100)))
        np.save(self.folder / "x.npy", np.arange(100))
        self.exec("add_const: {value: 1}", "x.npy", "y.npy", "--rate", "1 MS/s")
        np.testing.assert_array_equal(np.load(self.folder / "y.npy"), np.arange(1, 101))
        self.assertEqual(json.loads((self.folder / "y.json").read_text(encoding="utf-8"))["items"], 100)
        np.save(self.folder / "x.npy", signal(1, 1000))
        self.exec("conjugate", "x.npy", "y.npy", "--rate", "1 MS/s")
        facts = json.loads((self.folder / "y.json").read_text(encoding="utf-8"))
        self.assertEqual((facts["dims"], np.load(self.folder / "y.npy").shape), (["channel", "n"], (1, 1000)))

    def test_sound(self):
        x = (signal(8000).real / 8).astype(np.float32)
        self.result(x, f"fir: {{taps: {TAPS}}}", "multiply_const: {value: 0.5}", "x.npy", "y.wav", "--rate", "8 kS/s",
                    "--port", "multiply_const.out=y.npy")
        data = (self.folder / "y.wav").read_bytes()
        self.assertEqual(data[:4] + data[8:12], b"RIFFWAVE")
        sound = np.frombuffer(data[data.index(b"data") + 8:], "<f4")
        self.near(sound, ref.fir(x.astype(float), TAPS) / 2)


class Files(ExecChain):
    PIPELINE = (f"source: {{soapy: {{args: driver=iqdsim, rate: {RATE}, frequency: 433 MHz}}}}\nblock: 512\n"
                "stages:\n" + "".join(f"  - {stage}{': {}' if ':' not in stage else ''}\n" for stage in CHAIN) +
                "publish:\n  - {port: fir.out, topic: t, bind: \"tcp://127.0.0.1:5999\"}\n"
                "monitor: {listen: \"127.0.0.1:5998\"}\n")

    def test_a_pipeline_file(self):
        x = signal(5000)
        filtered = ref.fir(ref.rotate(x.astype(complex), -50e3, RATE), TAPS, 4)
        name = self.write(self.PIPELINE)
        for block in BLOCKS:
            y = self.result(x, "--file", name, "x.npy", "y.npy", *block)
            self.near(y, filtered)
        facts = json.loads((self.folder / "y.json").read_text(encoding="utf-8"))
        self.assertEqual((facts["sample_rate"], facts["frequency"], facts["port"]), (RATE, 433.05e6, "fir.out"))
        y = self.result(x, "--file", name, "x.npy", "y.npy", "--port", "complex_to_mag_squared.out", "--port",
                        "rotate=r.npy")
        self.near(y, chain(x))
        self.near(np.load(self.folder / "r.npy"), ref.rotate(x.astype(complex), -50e3, RATE))

    def test_one_of_several(self):
        both = "pipelines:\n" + "".join(
            f"  - name: {name}\n    source: {{generate: {{rate: 1000}}}}\n    stages: [{stage}]\n"
            for name, stage in (("a", "conjugate: {}"), ("b", "complex_to_mag: {}")))
        x = signal(100)
        name = self.write(both)
        np.testing.assert_array_equal(self.result(x, "--file", name, "--pipeline", "a", "x.npy", "y.npy"), x.conj())
        self.near(self.result(x, "--file", name, "--pipeline", "b", "x.npy", "y.npy"), np.abs(x))
        self.assertIn("choose a --pipeline: a, b", self.exec("--file", name, "x.npy", "y.npy", code=2))

    def test_packets_have_the_facts_of_their_headers(self):
        payloads = [bytes([i, 2 * i, 255 - i, 7]) for i in range(9)]
        x, starts = keyed(payloads)
        iqd.write_recording(self.folder / "x", x, rate=RATE, captures=[
            {"core:sample_start": 0, "core:datetime": "2024-02-03T04:05:06Z"}])
        where = iqd.endpoint()
        text = (f"source: {{file: {{path: {self.folder}/x}}}}\nblock: 3000\nstages:\n  - complex_to_mag: {{}}\n"
                f"  - {FRAMER}\npublish: [{{port: framer.out, topic: p, bind: \"{where}\"}}]\n"
                f"sinks: [{{port: framer.out, file: {{path: {self.folder}/sink.npy}}}}]\n")
        reader = self.reader(where, "p")
        with self.daemon(text, "--wait-subscribers", 1) as daemon:
            self.assertEqual(daemon.wait(), 0, daemon.text)
        messages = reader.rest()
        headers = [{**packet, "block": m.sample // 3000} for m in messages for packet in m.packets]
        self.assertEqual(len(headers), len(payloads))
        self.exec("--file", "pipeline.yaml", "x", "y.npy")
        self.exec("complex_to_mag", FRAMER, "x", "z.npy", "--port", "out", "--block", "3000")
        for name in "sink", "y", "z":
            with self.subTest(name):
                bits = np.load(self.folder / f"{name}.npy")
                self.assertEqual([row.tobytes()[:4] for row in bits], payloads)
                facts = np.load(self.folder / f"{name}.facts.npy")
                self.assertEqual(facts.dtype.names, ("block", "sample", "time_ns", "start", "length", "metric"))
                for row, header, start in zip(facts, headers, starts, strict=True):
                    self.assertEqual((row["block"], row["sample"], row["start"], row["time_ns"], row["length"]),
                                     (header["block"], header["start"], header["start"], header["time_ns"],
                                      header["length"]))
                    self.assertAlmostEqual(float(row["metric"]), header["metric"], 6)
                    self.assertLess(abs(int(row["start"]) - start), 20)
                counts = json.loads((self.folder / f"{name}.json").read_text(encoding="utf-8"))
                self.assertEqual((counts["items"], counts["messages"], counts["gaps"], counts["complete"]),
                                 (len(payloads), len(messages), 0, True))

    def test_counts_have_names(self):
        x, _ = keyed([bytes([i, 2, 3, 4]) for i in range(5)])
        self.result(x, "complex_to_mag", FRAMER, "x.npy", "y.npy", "--port", "events", "--rate", "1 MS/s", "--block", "7000")
        counts = json.loads((self.folder / "y.json").read_text(encoding="utf-8"))
        self.assertEqual((counts["dims"], counts["events"]), (["message", "event"], ["good", "bad_crc", "bad_length", "cut"]))
        self.assertEqual(np.load(self.folder / "y.npy").sum(0)[counts["events"].index("good")], 5)

    def test_a_sink_without_packets_has_no_rows(self):
        self.result(np.zeros(20_000, np.complex64), "complex_to_mag", FRAMER, "x.npy", "y.npy", "--port", "out", "--rate",
                    "1 MS/s")
        self.assertEqual(len(np.load(self.folder / "y.facts.npy")), 0)
        counts = json.loads((self.folder / "y.json").read_text(encoding="utf-8"))
        self.assertEqual((counts["items"], counts["complete"]), (0, True))


class Refused(ExecChain):
    def refuse(self, words, *arguments, code=2):
        np.save(self.folder / "x.npy", signal(100))
        text = self.exec(*arguments, code=code)
        for word in words if isinstance(words, list) else [words]:
            self.assertIn(word, text)
        self.assertNotRegex(text, r"[a-z>\]]:\d+:\d+")
        self.assertFalse((self.folder / "y.npy").exists())

    def test_stages_are_named_as_written(self):
        fir = "fir: {taps: [1]}"
        self.refuse("stage 2 `fir`: taps: ", "conjugate", "fir: {taps: none}", "x.npy", "y.npy")
        self.refuse("stage 2 `fir`: tabs: unknown key (did you mean 'taps'?)", "conjugate", "fir: {tabs: [1]}", "x.npy",
                    "y.npy")
        self.refuse(["stage 1 `multiply_const`: value: ", "stage 3 `fir`: decimation: "], "multiply_const", "conjugate",
                    "fir: {taps: [1], decimation: 0}", "x.npy", "y.npy")
        self.refuse("stage 1 `fir`: taps: ", "fir", "x.npy", "y.npy")
        self.refuse("stage 1 `fir`: decimation: ", "fir: {taps: [1], decimation: 0}", "x.npy", "y.npy")
        self.refuse("stage 2 `peak_finder`: ", "conjugate", "peak_finder: {threshold: 1}", "x.npy", "y.npy")
        self.refuse("stage 2 `fir`", fir, "fir: {taps: [1", "x.npy", "y.npy")
        self.refuse("stage 2 `fir`: from: there is no port 'conjugat'", "conjugate", "fir: {taps: [1], from: conjugat}",
                    "x.npy", "y.npy")
        self.refuse("stage 2 `fir`: name: there is already a 'a'", "fir: {taps: [1], name: a}",
                    "fir: {taps: [1], name: a}", "x.npy", "y.npy")
        self.refuse(["stage 1 `fri`: there is no such stage", "stage 2 `frr`: there is no such stage"], "fri",
                    "frr: {taps: [1]}", "x.npy", "y.npy")

    def test_files_and_ports(self):
        self.refuse("IN is missing", *CHAIN)
        self.refuse("OUT is missing", *CHAIN, "x.npy")
        self.refuse("none.npy", *CHAIN, "none.npy", "y.npy")
        self.refuse("none", *CHAIN, "none.sigmf-meta", "y.npy")
        self.refuse("--port nothing.out=z.npy: there is no port 'nothing.out'", *CHAIN, "x.npy", "y.npy", "--port",
                    "nothing.out=z.npy")
        self.refuse("say which port y.npy gets: --port with one of preamble_search.windows, preamble_search.start",
                    "conjugate", "preamble_search", "x.npy", "y.npy")
        self.refuse("--port fir.out=FILE", *CHAIN, "x.npy", "y.npy", "--port", "rotate.out", "--port", "fir.out")
        self.refuse("given twice", *CHAIN, "x.npy", "y.npy", "--port", "fir.out=y.npy")
        self.refuse("does not exist or is not writable", *CHAIN, "x.npy", "none/y.npy", "--rate", "1 MS/s")
        self.refuse("after the stages come IN and OUT; 'conjugate' is neither", "fir: {taps: [1]}", "x.npy", "y.npy",
                    "conjugate")
        np.save(self.folder / "cube.npy", signal(2, 3, 4))
        self.refuse("cube.npy: ", *CHAIN, "cube.npy", "y.npy")
        (self.folder / "y.json").write_text("{}", encoding="utf-8")
        self.refuse("y.json would be replaced", *CHAIN, "x.npy", "y.npy", "--rate", "1 MS/s")

    def test_options(self):
        self.refuse("--config is for a single stage", *CHAIN, "x.npy", "y.npy", "--config", "taps=[1]")
        self.refuse("--backend: 'gpu' is not one of", *CHAIN, "x.npy", "y.npy", "--backend", "gpu")
        self.refuse("--rate", *CHAIN, "x.npy", "y.npy", "--rate", "fast")
        self.refuse("--rate: must be more than 0", *CHAIN, "x.npy", "y.npy", "--rate", "0")
        self.refuse("--block: must be more than 0, is 0", *CHAIN, "x.npy", "y.npy", "--block", "0")
        self.refuse("none.yaml", "--file", "none.yaml", "x", "y")
        self.refuse("--pipeline needs --file", *CHAIN, "x.npy", "y.npy", "--pipeline", "a")
        self.refuse("give stages", "x.npy", "y.npy")
        self.refuse("leave out those of the command line", *CHAIN, "--file", "p.yaml", "x.npy", "y.npy")

    def test_a_recording_is_not_overwritten_while_it_is_read(self):
        iqd.write_recording(self.folder / "x", signal(100), rate=RATE)
        before = (self.folder / "x.sigmf-data").read_bytes()
        self.refuse("is the recording being read", *CHAIN[:2], "x", "x.sigmf-meta")
        self.assertEqual((self.folder / "x.sigmf-data").read_bytes(), before)

    def test_places_in_a_file_stay(self):
        np.save(self.folder / "x.npy", signal(100))
        name = self.write("source: {generate: {rate: 1000}}\nstages:\n  - fir: {tabs: [1]}\n")
        self.assertIn(f"{name}:3:11 stages[0].fir.tabs: unknown key", self.exec("--file", name, "x.npy", "y.npy", code=2))


if __name__ == "__main__":
    unittest.main()
