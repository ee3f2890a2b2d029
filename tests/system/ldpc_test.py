# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""`ldpc_encoder` and `ldpc_decoder` against their model in double precision."""

import unittest

import numpy as np

import iqd
import ldpc_model as model


class Ldpc(iqd.SystemTest):
    def execute(self, stage, source, outputs, *arguments):
        name, values = source
        np.save(self.folder / f"{name}.npy", values)
        files = {o: self.folder / f"{o}.npy" for o in outputs}
        done = iqd.command("exec", stage, "--in", f"{name}={self.folder}/{name}.npy",
                           *(a for o, file in files.items() for a in ("--out", f"{o}={file}")), *arguments)
        self.assertEqual(done.returncode, 0, (stage, values.shape, values.dtype, arguments, done.stderr))
        return [np.load(file) for file in files.values()]

    def decode(self, llr, *arguments, **keys):
        config = [a for key, value in keys.items() for a in ("--config", f"{key}={str(value).lower()}")]
        return self.execute("ldpc_decoder", ("llr", llr), ("bits", "iterations", "events"), *arguments, *config)

    def check(self, llr, *arguments, **keys):
        """Checks that stage and model agree on every word."""
        bits, iterations, events = self.decode(llr, *arguments, **keys)
        expected, made, good = model.decode(llr, **keys)
        np.testing.assert_array_equal(bits, expected)
        np.testing.assert_array_equal(iterations, made)
        self.assertEqual(events.reshape(-1, 2).sum(0).tolist(), [len(llr), int((~good).sum())])
        return good

    def test_words_are_encoded(self):
        bits = np.random.default_rng(1).integers(0, 2, (7, model.K)).astype(np.uint8)
        for block in ([], ["--block", 2]):
            [words] = self.execute("ldpc_encoder", ("bits", bits), ["words"], *block)
            np.testing.assert_array_equal(words, model.encode(bits))
        [frames] = self.execute("ldpc_encoder", ("bits", bits[:6].reshape(2, 3, model.K)), ["words"])
        np.testing.assert_array_equal(frames, model.encode(bits[:6]).reshape(2, 3, model.N))

    def test_where_half_of_the_words_are_decoded(self):
        _, llr = model.sent(40, 1.2, np.random.default_rng(2))
        llr = llr.astype(np.float32)
        good = self.check(llr)
        self.assertTrue(5 < good.sum() < 35, good.sum())
        self.check(llr, "--block", 7)
        self.check(llr, iterations=4, scale=0.625)
        self.check(llr, early_stop=False)

    def test_two_decibels_are_enough(self):
        bits, llr = model.sent(60, 2.0, np.random.default_rng(3))
        decoded, _, _ = self.decode(llr.astype(np.float32))
        np.testing.assert_array_equal(decoded, bits)

    def test_half_precision_and_whole_numbers(self):
        _, llr = model.sent(20, 1.5, np.random.default_rng(4))
        self.check(llr.astype(np.float16))
        self.check(np.clip(np.rint(4 * llr), -127, 127).astype(np.int8))

    def test_odd_values(self):
        rng = np.random.default_rng(5)
        _, llr = model.sent(20, 1.8, rng)
        llr = llr.astype(np.float32)
        for odd in (0, -0.0, np.nan):
            llr[rng.random(llr.shape) < 0.01] = odd
        sure = rng.random(llr.shape) < 0.05
        llr[sure] = np.copysign(np.inf, llr[sure])
        self.check(llr)

    def test_words_of_nr(self):
        """Words that are sent whole: their checks, from the tables alone, and the way back through noise."""
        rng = np.random.default_rng(7)
        for graph, k, columns, lift, column_of_set in ((1, 8448, 22, 384, 1), (1, 1100, 22, 52, 6), (2, 500, 10, 64, 0),
                                                       (2, 60, 10, 10, 2)):
            table = np.loadtxt(iqd.ROOT / f"signal/codes/nr_bg{graph}.txt", int)
            total, filler = table[:, 1].max() + 1, columns * lift - k
            e = (total - 2) * lift - filler
            keys = ["--config", f"nr={{k: {k}, e: {e}, graph: {graph}}}"]
            bits = rng.integers(0, 2, (4, k)).astype(np.uint8)
            [words] = self.execute("ldpc_encoder", ("bits", bits), ["words"], *keys)
            np.testing.assert_array_equal(words[:, :k - 2 * lift], bits[:, 2 * lift:])
            blocks = np.concatenate((bits, np.zeros((4, filler), np.uint8), words[:, k - 2 * lift:]), 1)
            blocks = blocks.reshape(4, total, lift)
            sums = np.zeros((4, table[:, 0].max() + 1, lift), int)
            for row, column, *shifts in table:
                sums[:, row] += np.roll(blocks[:, column], -(shifts[column_of_set] % lift), 1)
            self.assertFalse((sums % 2).any(), (graph, k))
            llr = 4 * (1 - 2.0 * words + 0.7 * rng.standard_normal(words.shape)).astype(np.float32)
            decoded, _, events = self.execute("ldpc_decoder", ("llr", llr), ["bits", "iterations", "events"], *keys)
            np.testing.assert_array_equal(decoded, bits)
            self.assertEqual(events.reshape(-1, 2).sum(0).tolist(), [4, 0])

    def test_words_of_frames(self):
        bits, llr = model.sent(6, 2.5, np.random.default_rng(6))
        llr = llr.astype(np.float32).reshape(2, 3, model.N)
        woven = llr.swapaxes(1, 2).reshape(2, model.N, 1, 3)
        for x, keys in ((llr, {}), (woven, {"interleave": "frame"})):
            decoded, iterations, events = self.decode(x, **keys)
            self.assertEqual((decoded.shape, iterations.shape), ((2, 3, model.K), (2, 3)))
            np.testing.assert_array_equal(decoded.reshape(bits.shape), bits)
            self.assertEqual(events.reshape(-1, 2).sum(0).tolist(), [6, 0])

    def test_posteriors(self):
        _, llr = model.sent(6, 1.6, np.random.default_rng(8))
        llr = llr.astype(np.float32)
        [bits, out, one] = [*self.execute("ldpc_decoder", ("llr", llr), ("bits", "llr_out")),
                            *self.execute("ldpc_decoder", ("llr", llr), ("llr_out",), "--config", "iterations=1")]
        self.assertEqual(out.shape, llr.shape)
        np.testing.assert_array_equal(out[:, :model.K] < 0, bits)
        self.assertTrue(model.holds(out < 0).any())
        self.assertGreater(abs(out).mean(), 2 * abs(llr).mean())
        self.assertTrue((one != llr).mean() > 0.99)
        frames = self.execute("ldpc_decoder", ("llr", llr.reshape(2, 3, model.N)), ("llr_out",))[0]
        np.testing.assert_array_equal(frames.reshape(out.shape), out)

    def test_words_of_users(self):
        """Three users of 2, 4 and 1 bits on 2,400 points: 2, 4 and 1 words."""
        bits, llr = model.sent(14, 2.5, np.random.default_rng(7))
        points, each = 2400, (2, 4, 1)
        frames = np.full((2, 3, points, 4), np.nan, np.float32)
        words = iter(llr.astype(np.float32))
        for frame in frames:
            for own, m in zip(frame, each):
                count = points * m // model.N
                woven = np.full(points * m, 7, np.float32)
                woven[:count * model.N] = np.stack([next(words) for _ in range(count)]).T.reshape(-1)
                own[:, :m] = woven.reshape(points, m)
        keys = ("--config", "modulation=[qpsk, 16qam, bpsk]")
        decoded, iterations, events = self.decode(frames, *keys, interleave="user")
        self.assertEqual((decoded.shape, iterations.shape), ((2, 7, model.K), (2, 7)))
        np.testing.assert_array_equal(decoded.reshape(bits.shape), bits)
        self.assertEqual(events.reshape(-1, 2).sum(0).tolist(), [14, 0])

    def test_coded_telemetry_from_bits_to_bits(self):
        """Packets with words of IRIG 106, through SOQPSK-TG and noise, to packed bits."""
        rng = np.random.default_rng(9)
        for code, keys, payload, k in (("irig_1024_2_3", "randomize: ccsds", 6144, 4 * 1024),
                                       ("irig_4096_4_5", "asm: irig, randomize: ccsds", 5376, 4096)):
            bits = rng.integers(0, 2, (3, k)).astype(np.uint8)
            np.save(self.folder / "sent.npy", bits.reshape(-1))
            self.chain(f"packet_builder: {{code: {code}, {keys}, payload_bits: {payload}}}", "soqpsk_modulator",
                       self.folder / "sent.npy", self.folder / "sent_samples.npy")
            x = np.concatenate((np.zeros(700), np.load(self.folder / "sent_samples.npy"), np.zeros(600)))
            self.assertEqual(len(x), 1300 + 3 * 2 * (192 + payload))
            x = x + 10 ** (-5.5 / 20) * (rng.standard_normal(len(x)) + 1j * rng.standard_normal(len(x)))
            np.save(self.folder / "samples.npy", x.astype(np.complex64))
            size = f"{{payload_bits: {payload}}}"
            self.chain(f"preamble_search: {size}", f"packet_estimator: {size}",
                       f"equalizer: {{payload_bits: {payload}, kinds: [fde1]}}", f"soqpsk_detector: {size}",
                       f"ldpc_decoder: {{from: soqpsk_detector.llr, code: {code}, {keys}}}",
                       "pack_bits: {from: ldpc_decoder.bits}", self.folder / "samples.npy", self.folder / "bytes.npy",
                       "--port", "pack_bits.bytes", "--port", f"soqpsk_detector.bits={self.folder / 'hard.npy'}")
            np.testing.assert_array_equal(np.load(self.folder / "bytes.npy").reshape(3, -1), np.packbits(bits, axis=1), code)
            on_air = np.load(self.folder / "sent_samples.npy").reshape(3, -1)[:, 384::2]
            wanted = np.where(np.arange(payload) % 2, on_air.imag, on_air.real) > 0
            wrong = np.mean(np.load(self.folder / "hard.npy")[:, 0] != wanted)
            self.assertTrue(0.002 < wrong < 0.05, wrong)

    def chain(self, *arguments):
        done = iqd.command("exec", *arguments)
        self.assertEqual(done.returncode, 0, done.stderr)


if __name__ == "__main__":
    unittest.main()
