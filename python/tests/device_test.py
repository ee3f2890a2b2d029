# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""Stages on arrays of a CUDA device: PyTorch's and CuPy's. Skipped where there is no GPU, or neither of them."""

import gc
import importlib
import os
import unittest

import numpy as np

import iqd

STAGES = {
    "conjugate": {}, "fir": {"taps": [1, 2, 3], "decimation": 3}, "fft": {"size": 256}, "rotate": {"frequency": "10 kHz"},
    "complex_to_mag": {}, "spectrum": {"size": 256}, "channelizer": {"channels": 8},
}


def library(name):
    try:
        module = importlib.import_module(name)
    except ImportError:
        return None
    return module if module.cuda.is_available() else None


TORCH, CUPY = library("torch"), library("cupy")


def samples(count, channels=1, seed=1):
    chance = np.random.default_rng(seed)
    x = chance.normal(size=(channels, 2 * count)).astype(np.float32).view(np.complex64)
    return x if channels > 1 else x[0]


@unittest.skipUnless(TORCH or CUPY, "neither PyTorch nor CuPy with a GPU")
class OnADevice(unittest.TestCase):
    def to_device(self, x):
        return CUPY.asarray(x) if CUPY else TORCH.from_numpy(x).cuda()

    def close(self, a, b):
        self.assertEqual(a.shape, b.shape)
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-4 * max(1, float(np.abs(b).max())))

    def test_results_are_those_of_the_cpu(self):
        for name, keys in STAGES.items():
            for channels in (1,) if name == "channelizer" else (1, 3):
                with self.subTest(stage=name, channels=channels):
                    x = samples(20_000, channels)
                    y = iqd.stage(name, **keys)(self.to_device(x), rate=1e6)
                    self.assertIsInstance(y, iqd.DeviceArray)
                    expected = iqd.stage(name, backend="cpu", **keys)(x, rate=1e6)
                    self.close(y.numpy(), np.asarray(expected))
                    self.assertEqual((y.rate, y.port), (expected.rate, expected.port))
                    self.close(np.asarray(y), np.asarray(expected))

    def test_chains_stay_on_the_device(self):
        chain = iqd.chain(iqd.stage("fir", taps=[1, 2, 1]), iqd.stage("complex_to_mag"))
        x = samples(50_000)
        for again in range(3):
            y = chain(self.to_device(x))
            self.assertTrue(y.device.startswith("cuda"), again)
        self.close(y.numpy(), np.asarray(chain(x)))
        with self.assertRaises(iqd.ConfigError):
            iqd.stage("fir", taps=[1], backend="cpu")(self.to_device(x))
        with self.assertRaises(iqd.ConfigError):
            chain(self.to_device(x.astype(np.complex128)))

    def test_results_outlive_later_calls(self):
        fir = iqd.stage("fir", taps=[2])
        inputs = [samples(4096, seed=k) for k in range(12)]
        kept = [fir(self.to_device(x)) for x in inputs]
        gc.collect()
        for x, y in zip(inputs, kept):
            self.close(y.numpy(), 2 * x)

    def test_host_arrays_on_a_device(self):
        fir = iqd.stage("fir", taps=[1, 2, 1], backend="cuda")
        for channels in (1, 4):
            x = samples(30_000, channels)
            self.close(np.asarray(fir(x)), np.asarray(iqd.stage("fir", taps=[1, 2, 1], backend="cpu")(x)))
            whole = np.concatenate(list(fir.blocks(x, block=1000)), axis=-1)
            self.close(whole, np.asarray(fir(x)))

    @unittest.skipUnless(TORCH, "no PyTorch")
    def test_torch(self):
        x = TORCH.randn(10_000, dtype=TORCH.complex64, device="cuda")
        y = TORCH.from_dlpack(iqd.stage("conjugate")(x))
        self.assertTrue(TORCH.equal(y, TORCH.conj(x).resolve_conj()))
        self.assertEqual(y.device.type, "cuda")
        gradient = TORCH.randn(10, dtype=TORCH.complex64, device="cuda", requires_grad=True)
        with self.assertRaises((BufferError, RuntimeError, iqd.Error)):
            iqd.stage("conjugate")(gradient)
        self.close(np.asarray(iqd.stage("conjugate")(x.cpu())), x.cpu().numpy().conj())

    @unittest.skipUnless(TORCH, "no PyTorch")
    def test_work_on_other_streams_is_waited_for(self):
        conjugate = iqd.stage("conjugate")
        stream = TORCH.cuda.Stream()
        for _ in range(20):
            with TORCH.cuda.stream(stream):
                x = TORCH.zeros(1 << 20, dtype=TORCH.complex64, device="cuda")
                for _ in range(50):
                    x += 1  # takes a while
                y = TORCH.from_dlpack(conjugate(x))
            self.assertEqual(complex(y[-1]), 50)

    @unittest.skipUnless(CUPY, "no CuPy")
    def test_cupy(self):
        x = CUPY.arange(10_000).astype(CUPY.complex64)
        y = iqd.stage("conjugate")(x)
        self.assertTrue(bool((CUPY.asarray(y) == x.conj()).all()))
        self.assertTrue(bool((CUPY.from_dlpack(y) == x.conj()).all()))
        rows = CUPY.ones((3, 5000), CUPY.complex64)
        again = CUPY.asarray(iqd.stage("conjugate")(rows[:, 100:1100]))
        self.assertEqual(again.shape, (3, 1000))

    def test_memory_is_given_back(self):
        module = TORCH or CUPY
        free = (lambda: module.cuda.mem_get_info()[0]) if TORCH else (lambda: module.cuda.runtime.memGetInfo()[0])
        fir = iqd.stage("fir", taps=[1, 2, 1])
        x = self.to_device(samples(1 << 20))
        for _ in range(20):
            fir(x)
        before = free()
        for _ in range(2000):
            fir(x)
        gc.collect()
        self.assertLess(before - free(), 64 << 20)


if __name__ == "__main__":
    if os.environ.get("IQD_NEEDS_GPU") and not (TORCH or CUPY):
        raise SystemExit("no GPU, or neither PyTorch nor CuPy")
    unittest.main()
