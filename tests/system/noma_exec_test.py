# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""`iqd exec` with the multi-user detectors on arrays, against their definition in double precision."""

import unittest
from dataclasses import replace

import numpy as np

import apsm_model as model
import iqd
import noma_channel as channel

OUTPUTS = ("symbols", "llr", "bits", "model", "linear", "gamma", "events")
LIBAPSM = {"start": "zero", "kernel_scale": "M2", "agc": "off"}
STAGES = {"lls_detector": model.Method(weights=(1, 0), passes=0, start="lls"),
          "genie_detector": model.Method(weights=(1, 0), passes=0, start="genie")}


def method_of(stage, pilots, keys):
    """The model's description of the stage with these keys."""
    method = STAGES.get(stage) or model.Method()
    for key, value in keys.items():
        if key == "dictionary":
            method = replace(method, kernels=min(value, pilots),
                                   old_places=max(value - pilots, 0) if keys.get("mode") == "online" else 0)
        elif key == "agc":
            method = replace(method, agc=value == "on")
        elif key not in ("mode", "llr", "llr_scale", "users"):
            method = replace(method, **{key: tuple(value) if isinstance(value, list) else value})
    return method


class Noma(iqd.SystemTest):
    def setUp(self):
        super().setUp()
        self.random = np.random.default_rng(1)

    def frames(self, antennas=16, users=6, pilots=100, data=60, modulation="qpsk", decibel=20, gain=1, moves=(0,),
               power=0):
        """The inputs of consecutive frames, [frame][…], one for each of `moves`; h and noise."""
        noise = 10 ** (-decibel / 10)
        h = channel.channels(channel.circle(antennas), 60, users, self.random, moves=moves, power_db=power)
        train, data = ([channel.transmit(one, modulation, noise, n, self.random) for one in h] for n in (pilots, data))
        return {"train_rx": gain * np.array([t[0] for t in train], np.complex64),
                "train_tx": np.array([t[1] for t in train], np.complex64),
                "rx": gain * np.array([d[0] for d in data], np.complex64)}, h.astype(np.complex64), np.float32(noise)

    def execute(self, stage, arrays, *arguments, outputs=OUTPUTS, **keys):
        for name, array in arrays.items():
            np.save(self.folder / f"{name}.npy", array)
        return iqd.command("exec", stage, *(a for n in arrays for a in ("--in", f"{n}={self.folder}/{n}.npy")),
                           *(a for o in outputs for a in ("--out", f"{o}={self.folder}/{o}.npy")),
                           *(a for k, v in keys.items() for a in ("--config", f"{k}={v}")), *arguments)

    def detect(self, stage, arrays, *arguments, outputs=OUTPUTS, **keys):
        done = self.execute(stage, arrays, *arguments, outputs=outputs, **keys)
        self.assertEqual(done.returncode, 0, (stage, keys, done.stderr))
        return {o: np.load(self.folder / f"{o}.npy") for o in outputs}

    def near(self, got, wanted, what, relative=1e-4):
        """Compares in rms; `wanted` may be 0."""
        self.assertEqual(got.shape, wanted.shape, what)
        rms = np.sqrt(np.mean(np.abs(wanted) ** 2))
        self.assertLessEqual(np.sqrt(np.mean(np.abs(got - wanted) ** 2)), relative * rms + 1e-9, what)

    def check(self, arrays, stage="apsm_detector", given=None, **keys):
        """Checks that stage and model agree; returns the stage's output. `given`: filters, or (h, noise)."""
        method = method_of(stage, arrays["train_rx"].shape[1], keys)
        got = self.detect(stage, arrays, **keys)
        wanted = model.run(method, *(arrays[n] for n in ("train_rx", "train_tx", "rx")), given,
                           online=keys.get("mode") == "online")
        self.assertEqual(len(got["symbols"]), len(wanted))
        for f, one in enumerate(wanted):
            what = (stage, keys, f)
            self.assertTrue(all(np.isfinite(got[o][f]).all() for o in OUTPUTS[:-1]), what)
            self.assertLessEqual(np.abs(got["symbols"][f] - one.symbols).max(), 1e-3, what)
            self.near(got["linear"][f], one.linear, what)
            self.near(got["gamma"][f], one.gamma, what)
            np.testing.assert_allclose(got["model"][f], one.model, rtol=2e-3, atol=2e-5, err_msg=str(what))
            if one.model.any():
                self.check_decisions(one, *(got[o][f] for o in ("symbols", "model", "llr", "bits")), method.modulation)
        return got

    def check_decisions(self, wanted, symbols, figures, llr, bits, modulation):
        """LLRs follow the formula from estimates and noise, unless erased; bits follow the LLRs."""
        noise = figures[:, 0].astype(float)
        found = model.llrs(symbols.astype(complex), noise, modulation)
        found[:, ~wanted.symbols.any(axis=0)] = 0
        size = (np.abs(symbols) ** 2 + 1)[..., None] / noise[:, None, None]
        self.assertLessEqual((np.abs(llr - found) / size).max(), 1e-5)
        np.testing.assert_array_equal(bits, llr < 0)

    def test_defaults_at_the_size_of_the_system(self):
        arrays, h, noise = self.frames(pilots=685, data=1000, modulation="16qam", decibel=15)
        got = self.check(arrays, modulation="16qam")
        self.assertEqual(got["events"].reshape(-1, 4).sum(axis=0).tolist(), [1, 0, 0, 0])
        self.check(arrays, modulation="16qam", **LIBAPSM)
        self.check({**arrays, "h": h, "noise": [noise]}, "genie_detector", [(h[0], noise)], modulation="16qam")

    def test_keys(self):
        arrays, _, _ = self.frames(antennas=8, users=5)
        for keys in ({"start": "zero"}, {"passes": 2}, {"passes": 3, "start": "zero"}, {"weights": [1, 0]},
                     {"weights": [0, 1], "start": "zero"}, {"weights": [0.9, 0.3]}, {"epsilon": 0}, {"epsilon": 0.1},
                     {"kernel_scale": "none"}, {"kernel_variance": 0.5}, {"window": 1}, {"window": 256}, LIBAPSM,
                     {"window": 5, "window_weights": [1, 0.5, 0.25]}, {"window_weights": [0.1, *19 * [1]], "passes": 2},
                     {"dictionary": 30}, {"dictionary": 1000}, {"antennas": [0, 2, 3, 7]}, {"users": 5}):
            self.check(arrays, **keys)
        self.check(arrays, "lls_detector", antennas=[1, 2, 3, 4, 5])

    def test_antennas_users_and_modulations(self):
        for antennas, users in ((2, 1), (3, 6), (4, 6), (5, 6), (6, 4), (7, 7), (8, 6), (17, 3), (64, 32)):
            arrays, h, noise = self.frames(antennas, users)
            self.check(arrays)
            self.check(arrays, "lls_detector")
            self.check({**arrays, "h": h, "noise": [noise]}, "genie_detector", [(h[0], noise)])
        for modulation in model.BITS:
            arrays, _, _ = self.frames(4, 3, data=500, modulation=modulation, decibel=30)
            self.check(arrays, modulation=modulation)
        arrays, _, _ = self.frames(8, 4, power=[0, -10, 10, -20])
        self.check(arrays)

    def test_few_pilots(self):
        for pilots in (1, 2, 7, 19, 20, 21):
            arrays, _, _ = self.frames(antennas=4, users=3, pilots=pilots)
            for keys in ({}, {"start": "zero"}, {"passes": 3}, {"window": 256, "start": "zero"}):
                self.check(arrays, **keys)
            self.check(arrays, "lls_detector")

    def test_what_is_zero(self):
        arrays, _, _ = self.frames(antennas=5, users=4)
        arrays["train_rx"][0, 3] = arrays["rx"][0, 5] = 0
        for keys in ({}, {"start": "zero"}, {"weights": [1, 0]}):
            self.check(arrays, **keys)
        dead = {n: x * np.float32([1, 1, 0, 1, 1]) if n != "train_tx" else x for n, x in arrays.items()}
        without = {n: np.delete(x, 2, axis=2) if n != "train_tx" else x for n, x in arrays.items()}
        for stage in ("apsm_detector", "lls_detector"):
            self.check(dead, stage)
            unused = self.detect(stage, arrays, antennas=[0, 1, 3, 4])
            self.near(unused["symbols"], self.detect(stage, without)["symbols"], stage)
        # Two antennas receive the same: the Gram matrix is singular.
        twins = {n: x[:, :, [0, 0, 1, 3]] for n, x in arrays.items()}
        for stage in ("apsm_detector", "lls_detector"):
            got = self.detect(stage, twins)
            self.assertTrue(all(np.isfinite(got[o]).all() for o in OUTPUTS), stage)
        self.check_untrained({**arrays, "train_rx": 0 * arrays["train_rx"]})

    def check_untrained(self, arrays, stage="apsm_detector", frame=0, **keys):
        got = self.detect(stage, arrays, **keys)
        for name in ("symbols", "llr", "bits", "model"):
            self.assertFalse(got[name][frame].any(), name)
        events = got["events"].reshape(-1, 4).sum(axis=0)
        self.assertEqual([events[1], events[3]], [1, arrays["rx"].shape[1]])
        return got

    def test_any_gain(self):
        arrays, _, _ = self.frames(modulation="16qam")
        for start in ("lls", "zero"):
            plain = self.check(arrays, modulation="16qam", start=start)
            for gain in (1e-3, 0.1, 37, 1e3, 1e-12, 1e12):
                louder = {n: x * np.float32(gain if n != "train_tx" else 1) for n, x in arrays.items()}
                got = self.check(louder, modulation="16qam", start=start)
                np.testing.assert_array_equal(got["bits"], plain["bits"])

    def test_what_is_not_finite(self):
        arrays, _, _ = self.frames(antennas=4, users=3, moves=3 * [0])
        bad = {n: x.copy() for n, x in arrays.items()}
        bad["train_rx"][0, 3, 1], bad["train_tx"][0, 9, 2], bad["train_rx"][1, :, 2] = np.nan, np.inf, np.nan
        bad["rx"][0, 4, 0], bad["rx"][0, 7, 3] = np.nan, complex(0, -np.inf)
        for start in ("lls", "zero"):
            got = self.check(bad, start=start)
            for name in ("symbols", "llr", "bits"):
                self.assertFalse(got[name][0][:, [4, 7]].any() or got[name][1].any(), name)
            self.assertFalse(got["model"][1].any())
            self.assertEqual(got["events"].reshape(-1, 4).sum(axis=0).tolist(), [3, 1, 2 + 100, 2 + 60])
            good = self.detect("apsm_detector", arrays, start=start)
            np.testing.assert_array_equal(got["symbols"][2], good["symbols"][2])
        # An unused antenna does not matter.
        bad = {n: np.where(np.arange(4) == 2, np.nan, x).astype(np.complex64) if n != "train_tx" else x
               for n, x in arrays.items()}
        np.testing.assert_array_equal(self.detect("apsm_detector", bad, antennas=[0, 1, 3])["symbols"],
                                      self.detect("apsm_detector", arrays, antennas=[0, 1, 3])["symbols"])

    def test_frames_and_blocks(self):
        arrays, h, noise = self.frames(antennas=4, users=3, pilots=40, moves=5 * [0])
        whole = self.check(arrays)
        cut = self.detect("apsm_detector", arrays, "--block", 2)
        single = self.detect("apsm_detector", {n: x[3] for n, x in arrays.items()})
        for name in ("symbols", "llr", "bits", "model", "linear", "gamma"):
            np.testing.assert_array_equal(cut[name], whole[name])
            np.testing.assert_array_equal(single[name], whole[name][3])
        self.check({**arrays, "h": h, "noise": 5 * [noise]}, "genie_detector", [(one, noise) for one in h])

    def test_start_is_handed_in(self):
        arrays, h, noise = self.frames(antennas=4, users=3, gain=5, moves=[0, 1])
        given = [model.genie_filter(5 * one.astype(complex), 25 * float(noise)).T for one in h]
        started = {**arrays, "start": np.array(given, np.complex64)}
        for keys in ({}, {"agc": "off"}, {"mode": "online"}):
            self.check(started, start="port", given=given, **keys)
        self.check({**started, "start": started["start"][0]}, start="port", given=given[:1])
        started["start"][1, 0, 0] = np.nan
        self.check_untrained(started, frame=1, start="port")

    def test_online(self):
        arrays, _, _ = self.frames(antennas=5, users=4, pilots=40, moves=range(6))
        arrays["train_rx"][3] = np.nan  # leaves the model unchanged
        for keys in ({}, {"start": "zero"}, {"dictionary": 100}, {"dictionary": 60, "passes": 2, "start": "zero"},
                     {"dictionary": 25}, LIBAPSM):
            whole = self.check(arrays, mode="online", **keys)
            cut = self.detect("apsm_detector", arrays, "--block", 1, mode="online", **keys)
            for name in ("symbols", "llr", "model", "linear", "gamma"):
                np.testing.assert_array_equal(cut[name], whole[name], (name, keys))

    def test_forms_of_llrs(self):
        arrays, _, _ = self.frames(antennas=4, users=3, modulation="16qam", decibel=30)
        exact = self.detect("apsm_detector", arrays, modulation="16qam")["llr"]
        half = self.detect("apsm_detector", arrays, modulation="16qam", llr="f16")["llr"]
        np.testing.assert_array_equal(half, exact.clip(-65504, 65504).astype(np.float16))
        byte = self.detect("apsm_detector", arrays, modulation="16qam", llr="i8", llr_scale=0.5)["llr"]
        np.testing.assert_array_equal(byte, np.rint(exact / 0.5).clip(-127, 127).astype(np.int8))

    def test_refusals(self):
        arrays, h, noise = self.frames(antennas=4, users=3)
        fewer = {**arrays, "train_tx": arrays["train_tx"][:, :, :2]}
        for words, given, keys in (
                ("users", fewer, {"users": 3}), ("users", arrays, {"users": 6}),
                ("has 0 of [t]", {n: x if n == "rx" else x[:, :0] for n, x in arrays.items()}, {}),
                ("train_tx", {**arrays, "train_tx": arrays["train_tx"][:, :9]}, {}),
                ("antennas of train_rx", {**arrays, "rx": arrays["rx"][:, :, :3]}, {}),
                ("start", arrays, {"start": "port"}), ("start", arrays, {"weights": [0, 1]}),
                ("weights", arrays, {"weights": [0, 0], "start": "zero"}), ("window", arrays, {"window": 0}),
                ("window_weights", arrays, {"window": 2, "window_weights": [1, 1, 1]}),
                ("antenna 4", arrays, {"antennas": [4]}), ("modulation", arrays, {"modulation": "8psk"})):
            done = self.execute("apsm_detector", given, **keys)
            self.assertEqual(done.returncode, 2, (words, keys, done.stderr))
            self.assertIn(words, done.stderr)
        done = self.execute("genie_detector", {**arrays, "h": h[:, :, :2], "noise": [noise]})
        self.assertEqual(done.returncode, 2)
        self.assertIn("'h'", done.stderr)


if __name__ == "__main__":
    unittest.main()
