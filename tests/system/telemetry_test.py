# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""The telemetry receiver against a model in double precision: each stage alone, and from a recording to bits."""

import unittest

import numpy as np

import iqd
import range_clock_model as clock
import range_track_model as track
import telemetry_model as model

BLOCKS = ([], ["--block", 5000], ["--block", model.SAMPLES], ["--block", 12673], ["--block", 40_009])
LEAD = 700


def payloads(count, seed=1):
    return np.random.default_rng(seed).integers(0, 2, (count, model.PAYLOAD)).astype(np.uint8)


def recording(channel, ebn0_db, packets=4, seed=1, **more):
    """An input stream with arbitrary gain, offset and phase."""
    rng = np.random.default_rng(seed)
    gain, w, phase = 10 ** rng.uniform(-1, 1), rng.uniform(-0.05, 0.05), rng.uniform(-np.pi, np.pi)
    more = {"lead": LEAD, "w": w, "phase": phase, "rng": rng, **more}
    return (gain * model.recording(payloads(packets, seed), channel, ebn0_db, **more)).astype(np.complex64)


def relative(y, expected):
    """For each packet, rms of the difference over rms of `expected`."""
    axes = tuple(range(1, expected.ndim))
    return np.sqrt(np.sum(abs(y - expected) ** 2, axes) / np.sum(abs(expected) ** 2, axes))


class ModelTest(unittest.TestCase):
    """Tests the model itself against known properties of the signal."""

    def test_modulator(self):
        published = [-8.87077443e-05, -1.31631969e-04, -3.96567667e-03, -1.12064381e-02, -5.78895516e-03,
                     3.13317804e-02, 9.44453998e-02, 1.45404230e-01]
        np.testing.assert_allclose(model.phase_increments(), published + published[::-1], atol=1e-7)
        bits = np.random.default_rng(1).integers(0, 2, 50_000)
        x = model.modulate(bits)[::2]
        eye = np.where(np.arange(len(bits)) % 2 == 0, x.real, x.imag) * (2 * bits - 1)
        self.assertAlmostEqual(eye.min(), 0.634, delta=0.005)
        self.assertAlmostEqual(eye.mean(), 0.841, delta=0.002)

    def test_noise_looks_like_a_preamble_as_often_as_it_should(self):
        """In white noise T is distributed as Beta(8, 248)."""
        t, _ = model.metric(model.noise(400_000, 0, np.random.default_rng(2)))
        self.assertAlmostEqual(np.mean(t > 0.05), 5.7e-2, delta=4e-3)
        self.assertAlmostEqual(np.mean(t > 0.08), 4e-4, delta=3e-4)

    def test_estimators(self):
        self.assertAlmostEqual(model.least_squares(0.0)[2], 309, places=6)
        self.assertAlmostEqual(model.least_squares(1.0)[2], 321.8527, places=4)

    def test_bit_errors(self):
        """16 packets at 8 dB; packets differ, so the bounds are wide."""
        x = model.recording(payloads(16), "awgn", 8, w=0.01, rng=np.random.default_rng(3))
        starts, found = model.receive(x)
        np.testing.assert_array_equal(starts, np.arange(16) * model.SAMPLES)
        for kind, expected in (("zf", 2.5e-3), ("mmse", 1.65e-3), ("cma", 1.1e-3), ("fde1", 1.67e-3), ("fde2", 2.4e-3)):
            rate = np.mean(found[kind] != payloads(16))
            self.assertTrue(0.6 * expected < rate < 1.4 * expected, (kind, rate))


class StageTest(iqd.SystemTest):
    def run_stage(self, stage, inputs, outputs, *arguments):
        """Runs the stage: arrays in by port, arrays out."""
        given = []
        for port, x in inputs.items():
            np.save(self.folder / f"in_{port}.npy", x)
            given += ["--in", f"{port}={self.folder}/in_{port}.npy"]
        wanted = [a for port in outputs for a in ("--out", f"{port}={self.folder}/out_{port}.npy")]
        done = iqd.command("exec", stage, *given, *wanted, *arguments)
        self.assertEqual(done.returncode, 0, (stage, arguments, done.stderr))
        return [np.load(self.folder / f"out_{port}.npy") for port in outputs]


class Search(StageTest):
    def check(self, x, *arguments, blocks=BLOCKS):
        """Checks the search in blocks of all sizes against the model; returns the starts."""
        starts, metrics = model.search(x.astype(complex))
        for block in blocks:
            found, metric, windows = self.run_stage("preamble_search", {"in": x}, ["start", "metric", "windows"],
                                                    *arguments, *block)
            np.testing.assert_array_equal(found, starts, str(block))
            np.testing.assert_allclose(metric, metrics, rtol=1e-5)
            np.testing.assert_array_equal(windows, model.windows(x, starts).astype(np.complex64))
        return starts

    def test_channels(self):
        for seed, (channel, ebn0_db) in enumerate((("awgn", 6), ("ch1", 14), ("ch2", 16), ("ch3", 10), ("ch4", 10))):
            starts = self.check(recording(channel, ebn0_db, seed=seed + 1), blocks=BLOCKS if seed < 2 else BLOCKS[:2])
            # If two strong rays are close together, the peak may be one sample off the first.
            self.assertEqual(len(starts), 4)
            self.assertLessEqual(abs(starts - LEAD - np.arange(4) * model.SAMPLES).max(), 1)

    def test_correlation(self):
        x = recording("ch4", 8, packets=1)
        expected, _ = model.metric(x.astype(complex))
        for block in BLOCKS[:3]:
            t, = self.run_stage("preamble_search", {"in": x}, ["correlation"], *block)
            self.assertEqual(t.shape, x.shape)
            self.assertLess(abs(t[:len(expected)] - expected).max(), 1e-5)
            np.testing.assert_array_equal(t[len(expected):], 0)

    def test_gaps_between_packets(self):
        starts = self.check(recording("awgn", 10, packets=3, gap=7777))
        np.testing.assert_array_equal(starts, LEAD + np.arange(3) * (model.SAMPLES + 7777))

    def test_the_largest_offsets(self):
        for w in (-0.09, 0.09):
            self.assertEqual(len(self.check(recording("awgn", 10, packets=2, w=w), blocks=BLOCKS[:2])), 2)

    def test_edges_of_the_stream(self):
        self.assertEqual(list(self.check(recording("awgn", 20, packets=2, lead=0, tail=256))), [0, model.SAMPLES])
        x = recording("awgn", 20, packets=2, lead=0, tail=255)
        self.assertEqual(list(self.check(x)), [0], "the second one's window is incomplete")

    def test_payloads_like_packets(self):
        """Nothing but preamble, and the whole pilot in each payload."""
        sent = payloads(5)
        sent[:] = np.tile(model.bits_of("CD98"), model.PAYLOAD // model.PERIOD)
        other = payloads(5)
        other[:, 1234:1234 + model.PILOTS] = model.PILOT
        for bits in (sent, other):
            x = model.recording(bits, "awgn", 8, lead=LEAD, rng=np.random.default_rng(6)).astype(np.complex64)
            starts = self.check(x, blocks=([],))
            np.testing.assert_array_equal(starts, LEAD + np.arange(5) * model.SAMPLES)
            found, = self.run_stage("preamble_search", {"in": x}, ["start"], "--config", "chain=carry", "--block", 20_000)
            np.testing.assert_array_equal(found, starts)

    def test_flywheel(self):
        x = model.recording(payloads(7), "awgn", 12, lead=LEAD, rng=np.random.default_rng(7))
        at = LEAD + 4 * model.SAMPLES
        x[at:at + 384] += model.noise(384, -12.5, np.random.default_rng(8))
        self.assertEqual(len(self.check(x.astype(np.complex64), blocks=([],))), 6)
        start, put, lock, events = self.run_stage(
            "preamble_search", {"in": x.astype(np.complex64)}, ["start", "flywheel", "lock", "events"], "--config",
            "flywheel=on", "--block", 15_000)
        np.testing.assert_array_equal(start, LEAD + np.arange(7) * model.SAMPLES)
        np.testing.assert_array_equal(put, np.arange(7) == 4)
        np.testing.assert_array_equal(lock, np.arange(7) >= 2)
        self.assertEqual(events.sum(0)[4:].tolist(), [1, 1, 0])

    def test_nothing_to_find(self):
        rng = np.random.default_rng(4)
        for x in (model.noise(60_000, 0, rng), np.zeros(30_000), np.ones(30_000), np.zeros(256)):
            self.assertEqual(len(self.check(x.astype(np.complex64), blocks=BLOCKS[:2])), 0)

    def test_constant_data(self):
        for bit in (0, 1):
            x = model.recording(np.full((3, model.PAYLOAD), bit, np.uint8), "awgn", 12, lead=LEAD,
                                rng=np.random.default_rng(5)).astype(np.complex64)
            np.testing.assert_array_equal(self.check(x, blocks=BLOCKS[:2]), LEAD + np.arange(3) * model.SAMPLES)


class Receiver(StageTest):
    """The stages after the search, each on the output of the model's previous stage."""

    def setUp(self):
        super().setUp()
        self.streams = [recording(channel, ebn0_db, seed=seed + 10) for seed, (channel, ebn0_db) in
                        enumerate((("awgn", 8), ("ch1", 14), ("ch2", 16), ("ch3", 14), ("ch4", 14)))]

    def windows(self, x):
        x = x.astype(complex)
        return model.windows(x, model.search(x)[0])

    def test_packet_estimator(self):
        for x in self.streams:
            r = self.windows(x)
            for average in ("block", "packet"):
                w = model.offsets(r, average)
                h, n = model.channels(model.derotate(r, w))
                turned, channel, noise, offset, hertz = self.run_stage(
                    "packet_estimator", {"windows": r.astype(np.complex64)},
                    ["windows", "channel", "noise", "offset", "offset_hz"], "--config", f"average={average}", "--rate",
                    model.RATE)
                self.assertLess(abs(offset - w).max(), 1e-7)
                np.testing.assert_allclose(hertz, w * model.RATE / (2 * np.pi), atol=0.5)
                self.assertLess(relative(turned, model.derotate(r, w)).max(), 1e-5)
                self.assertLess((abs(channel - h).max(1) / abs(h).max(1)).max(), 1e-5)
                np.testing.assert_allclose(noise, n, rtol=1e-5)

    def test_packet_estimator_with_a_clock_error(self):
        for channel, ebn0_db, error in (("awgn", 8, 60e-6), ("ch3", 14, -100e-6)):
            rng = np.random.default_rng(20)
            x = clock.skewed(model.recording(payloads(3), channel, lead=LEAD, w=0.02), error)
            r = self.windows((x + model.noise(len(x), ebn0_db, rng)).astype(np.complex64))
            self.assertEqual(len(r), 3)
            w = model.offsets(r, "packet")
            turned = model.derotate(r, w)
            for over in ("packet", "block"):
                e, quality = clock.estimate(turned, over)
                expected = clock.warp(turned, e)
                h, n = model.channels(expected)
                windows, channel, noise, ppm, sure = self.run_stage(
                    "packet_estimator", {"windows": r.astype(np.complex64)},
                    ["windows", "channel", "noise", "clock", "clock_quality"], "--config", "average=packet",
                    "--config", f"clock={over}")
                self.assertLess(abs(ppm - 1e6 * e).max(), 1e-3)
                self.assertLess(abs(ppm - 1e6 * error).max(), 4 * 5.5)
                np.testing.assert_allclose(sure, quality, rtol=1e-5)
                self.assertLess(relative(windows, expected).max(), 1e-6)
                self.assertLess((abs(channel - h).max(1) / abs(h).max(1)).max(), 1e-5)
                np.testing.assert_allclose(noise, n, rtol=1e-5)

    def test_without_regularisation(self):
        """lambda 0 is least squares, which is a hundred times as sensitive."""
        r = self.windows(self.streams[0])
        turned = model.derotate(r, model.offsets(r, "packet")).astype(np.complex64)
        again = model.derotate(turned, model.offsets(turned.astype(complex), "packet"))
        h, _ = model.channels(again, 0.0)
        channel, = self.run_stage("packet_estimator", {"windows": turned}, ["channel"], "--config", "average=packet",
                                  "--config", "lambda=0")
        self.assertLess((abs(channel - h).max(1) / abs(h).max(1)).max(), 5e-3)

    def inputs(self, r, h, n):
        return {"windows": r.astype(np.complex64), "channel": h.astype(np.complex64), "noise": n.astype(np.float32)}

    def test_equalizer(self):
        limits = {"zf": 5e-3, "mmse": 1e-4, "cma": 1e-4, "fde1": 1e-5, "fde2": 1e-5}
        for x in self.streams:
            r = self.windows(x)
            r = model.derotate(r, model.offsets(r)).astype(np.complex64).astype(complex)
            h, n = (v.astype(t).astype(v.dtype) for v, t in zip(model.channels(r), (np.complex64, np.float32)))
            symbols, taps = self.run_stage("equalizer", self.inputs(r, h, n), ["symbols", "taps"], "--config",
                                           "kinds=[zf, mmse, cma, fde1, fde2]")
            self.assertEqual(symbols.shape, (len(r), 5, model.BITS))
            self.assertEqual(taps.shape, (len(r), 3, 186))
            for k, kind in enumerate(model.KINDS):
                y, c = model.equalize(r, h, n, kind)
                self.assertLess(relative(symbols[:, k], y).max(), limits[kind], kind)
                if c is not None:
                    self.assertLess(relative(taps[:, k], c).max(), limits[kind], kind)

    def test_equalizer_without_its_filter_and_with_other_keys(self):
        r = self.windows(self.streams[4])
        r = model.derotate(r, model.offsets(r)).astype(np.complex64).astype(complex)
        h, n = (v.astype(t).astype(v.dtype) for v, t in zip(model.channels(r), (np.complex64, np.float32)))
        symbols, = self.run_stage("equalizer", self.inputs(r, h, n), ["symbols"], "--config", "kinds=[fde2, cma]",
                                  "--config", "detection_filter=[off, on]", "--config", "cma.iterations=3",
                                  "--config", "cma.step=0.02")
        self.assertLess(relative(symbols[:, 0], model.equalize(r, h, n, "fde2", False)[0]).max(), 1e-5)
        self.assertLess(relative(symbols[:, 1], model.equalize(r, h, n, "cma", True, 3, 0.02)[0]).max(), 1e-4)

    def test_equalizer_that_refines(self):
        """Decisions feed back, so bit errors are compared, not bits: the model's are fewer than without refining."""
        errors = {"before": 0, "model": 0, "iqd": 0}
        for seed, x in enumerate(self.streams, 10):
            r = self.windows(x)
            r = model.derotate(r, model.offsets(r)).astype(np.complex64).astype(complex)
            h, n = model.channels(r)
            symbols, = self.run_stage("equalizer", self.inputs(r, h, n), ["symbols"], "--config", "kinds=[fde1]",
                                      "--config", "track=refine")
            turned, refined = track.refine(r, h, n)
            for name, y in (("before", model.equalize(r, h, n, "fde1")[0]), ("iqd", symbols[:, 0]),
                            ("model", model.equalize(turned, refined, n, "fde1")[0])):
                errors[name] += np.sum(model.detect(y.astype(complex))[0][:, model.PILOTS:] != payloads(4, seed))
        self.assertLess(errors["model"], 0.8 * errors["before"])
        self.assertAlmostEqual(errors["iqd"], errors["model"], delta=2 + 0.05 * errors["model"])

    def test_equalizer_that_tracks(self):
        """A second ray turns by 221 degrees in a packet. Bit errors are compared, as above."""
        rng, sent = np.random.default_rng(31), payloads(6, 31)
        still = np.concatenate([np.zeros(LEAD), model.transmit(sent), np.zeros(600)])
        x = track.through_moving(still, "ch4", 1000) + model.noise(len(still), 12, rng)
        r = model.derotate(self.windows(x), model.offsets(self.windows(x))).astype(np.complex64).astype(complex)
        h, n = model.channels(r)
        symbols, = self.run_stage("equalizer", self.inputs(r, h, n), ["symbols"], "--config", "kinds=[fde1]",
                                  "--config", "track=on")
        before, expected, errors = (np.sum(model.detect(y.astype(complex))[0][:, model.PILOTS:] != sent) for y in
                                    (model.equalize(r, h, n, "fde1")[0], track.track(r, h, n), symbols[:, 0]))
        self.assertLess(expected, 0.05 * before)
        self.assertAlmostEqual(errors, expected, delta=5 + 0.1 * expected)

    def test_soqpsk_detector(self):
        for x in self.streams:
            r = self.windows(x)
            r = model.derotate(r, model.offsets(r, "packet"))
            h, n = model.channels(r)
            y = np.stack([model.equalize(r, h, n, kind)[0] for kind in ("mmse", "fde2")], axis=1).astype(np.complex64)
            for bandwidth in (0.005, 0.01):
                bits, soft = self.run_stage("soqpsk_detector", {"symbols": y}, ["bits", "soft"], "--config",
                                            f"loop_bandwidth={bandwidth}")
                expected_bits, expected = model.detect(y.reshape(-1, model.BITS).astype(complex), bandwidth)
                self.assertLess(np.sqrt(np.mean((soft.reshape(expected.shape) - expected) ** 2)), 1e-4)
                differ = bits.reshape(-1, model.PAYLOAD) != expected_bits[:, model.PILOTS:]
                self.assertLess(abs(expected[:, model.PILOTS:][differ]).max(initial=0), 1e-3)


class Recording(iqd.SystemTest):
    """The shipped pipeline on a recording."""

    EBN0_DB = {"awgn": 14, "ch4": 26}
    OFFSET = 12_345.0

    def play(self, x, block):
        recording = iqd.write_recording(self.folder / "flight", x, rate=model.RATE,
                                        captures=[{"core:sample_start": 0, "core:datetime": "2025-03-31T12:00:00Z"}])
        where = iqd.endpoint()
        text = (iqd.PIPELINES / "telemetry_file.yaml").read_text(encoding="utf-8")
        for old, new in (("tcp://127.0.0.1:5555", where), ("path: recording", f"path: {recording.with_suffix('')}"),
                         ("block: 202752", f"block: {block}")):
            self.assertIn(old, text)
            text = text.replace(old, new)
        reader = self.reader(where, "bits")
        with self.daemon(text, "--wait-subscribers", 1) as daemon:
            self.assertEqual(daemon.wait(60), 0, daemon.text)
            status = daemon.final[0]
        self.assertConserved(status)
        messages = reader.rest()
        return messages, {(e["stage"], e["event"]): e["count"] for e in status["events"] if "kind" not in e}

    def check(self, channel, packets, blocks):
        sent = payloads(packets, 7)
        rng = np.random.default_rng(8)
        w = 2 * np.pi * self.OFFSET / model.RATE
        x = 0.3 * model.recording(sent, channel, self.EBN0_DB[channel], w=w, phase=1, lead=LEAD, rng=rng)
        x = x.astype(np.complex64)
        for block in blocks:
            messages, events = self.play(x, block)
            self.assertEqual(events["preamble_search", "found"], packets)
            facts = [fact for m in messages for fact in m.packets]
            starts = LEAD + np.arange(packets) * model.SAMPLES
            self.assertEqual([f["start"] for f in facts], starts.tolist(), block)
            self.check_facts(facts, messages[0], self.EBN0_DB[channel])
            bits = np.concatenate([m.x for m in messages])
            self.assertEqual(messages[0].kinds, list(model.KINDS))
            self.assertEqual(messages[0].dims[:2], ["packet", "kind"])
            for k, kind in enumerate(model.KINDS):
                # zf is known to fail at zeros of the channel.
                if kind != "zf" or channel == "awgn":
                    np.testing.assert_array_equal(bits[:, k], sent, kind)

    def check_facts(self, facts, message, ebn0_db):
        began = message.time_ns - message.sample * 1e9 / model.RATE
        for f in facts:
            self.assertAlmostEqual(f["time_ns"], began + f["start"] * 1e9 / model.RATE, delta=512)
            self.assertAlmostEqual(f["offset_hz"], self.OFFSET, delta=3000)
            self.assertAlmostEqual(f["noise"], 0.09 * 2 / 10 ** (ebn0_db / 10), delta=f["noise"] / 2)
            self.assertTrue(0.5 < f["metric"] <= 1, f)

    def test_awgn_in_awkward_blocks(self):
        self.check("awgn", 9, [202_752, model.SAMPLES, 7001, 50_001])

    def test_a_channel_with_echoes(self):
        self.check("ch4", 4, [202_752])

    def test_what_was_lost_takes_its_packet_along(self):
        """100 samples are missing in the middle of packet 1 of four."""
        sent = payloads(4, 9)
        x = model.recording(sent, "awgn", 16, lead=LEAD, rng=np.random.default_rng(10)).astype(np.complex64)
        at = LEAD + model.SAMPLES + 5000
        kept = np.concatenate([x[:at], x[at + 100:]])
        captures = [{"core:sample_start": 0, "core:global_index": 0},
                    {"core:sample_start": at, "core:global_index": at + 100}]
        recording = iqd.write_recording(self.folder / "flight", kept, rate=model.RATE, captures=captures)
        where = iqd.endpoint()
        text = (iqd.PIPELINES / "telemetry_file.yaml").read_text(encoding="utf-8")
        text = text.replace("tcp://127.0.0.1:5555", where).replace("path: recording",
                                                                   f"path: {recording.with_suffix('')}")
        reader = self.reader(where, "bits")
        with self.daemon(text, "--wait-subscribers", 1) as daemon:
            self.assertEqual(daemon.wait(60), 0, daemon.text)
        messages = reader.rest()
        starts = [f["start"] for m in messages for f in m.packets]
        self.assertEqual(starts, [LEAD + p * model.SAMPLES for p in (0, 2, 3)])
        np.testing.assert_array_equal(np.concatenate([m.x for m in messages])[:, 1], sent[[0, 2, 3]])


if __name__ == "__main__":
    unittest.main()
