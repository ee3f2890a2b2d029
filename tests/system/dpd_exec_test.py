# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""Predistortion of arrays through `iqd exec`, against the model in double precision: the predistorter's output, and how
much distortion one training removes."""

import os
import unittest

import numpy as np

import aph_model as model
import iqd

BACKEND = os.environ.get("IQD_BACKEND", "cpu")
SAMPLES = 65536
DELAY, NOISE_DB = 3.37, 60  # of the feedback path


def db(power):
    return 10 * np.log10(power)


class DpdExec(iqd.SystemTest):
    def run_stage(self, stage, inputs, outputs, *more):
        arguments = ["exec", stage, "--backend", BACKEND, "--rate", model.RATE, *more]
        for name, x in inputs.items():
            np.save(self.folder / f"{name}.npy", x)
            arguments += ["--in", f"{name}={self.folder}/{name}.npy"]
        for name in outputs:
            arguments += ["--out", f"{name}={self.folder}/{name}.out.npy"]
        done = iqd.command(*arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        return [np.load(self.folder / f"{name}.out.npy") for name in outputs]

    def predistort(self, x, h, *more, config=()):
        np.save(self.folder / "h.npy", h.astype(np.complex64))
        keys = [f"coefficients=@{self.folder}/h.npy", *config]
        return self.run_stage("aph_predistorter", {"in": x.astype(np.complex64)}, ["out"],
                              *[word for key in keys for word in ("--config", key)], *more)[0]

    def train(self, z, s):
        """Trains; must succeed. Returns the coefficients."""
        inputs = {"sent": z.astype(np.complex64), "received": s.astype(np.complex64)}
        h, report = self.run_stage("aph_estimator", inputs, ["coefficients", "report"],
                                   "--config", f"samples={len(z)}")
        self.assertEqual(report.ravel()[0], 0, report)
        return h.ravel().astype(complex)

    def random(self, orders, n=20000, largest=1.5):
        """Samples up to |x| = 1.5, and coefficients that give every branch some output."""
        rng = np.random.default_rng(orders.main * 100 + orders.taps)
        x = largest * rng.uniform(0, 1, n) * np.exp(2j * np.pi * rng.uniform(0, 1, n))
        h = 0.1 * (rng.standard_normal(model.count(orders)) + 1j * rng.standard_normal(model.count(orders)))
        return x.astype(np.complex64), h.astype(np.complex64)

    def assertNear(self, y, expected):
        e = abs(y - expected)
        self.assertLess(db(np.mean(e**2) / np.mean(abs(expected) ** 2)), -120)
        self.assertLess(e.max(), 2e-6 * abs(expected).max())

    # The predistorter

    def test_is_the_model(self):
        for orders in (model.Orders(), model.Orders(9, 7, 16), model.Orders(1, 0, 1), model.Orders(3, 5, 2)):
            with self.subTest(orders=orders):
                x, h = self.random(orders)
                keys = [f"orders.main={orders.main}", f"orders.conjugate={orders.conjugate}", f"taps={orders.taps}"]
                self.assertNear(self.predistort(x, h, config=keys), model.predistort(x.astype(complex), h, orders))

    def test_the_same_bits_however_it_is_cut(self):
        x, h = self.random(model.Orders(), n=3000)
        whole = self.predistort(x, h, "--whole")
        for block in (1, 3, 4, 5, 28):
            np.testing.assert_array_equal(self.predistort(x, h, "--block", block), whole, str(block))

    def test_both_bases_are_one(self):
        x, h = self.random(model.Orders(), largest=0.8)
        power = 0.0729
        orthogonal = self.predistort(x, h, config=["basis=orthogonal", f"power={power}"])
        folded = model.to_monomial(h.astype(complex), model.Orders(), power)
        self.assertNear(orthogonal, model.predistort(x.astype(complex), folded))
        self.assertNear(orthogonal, model.predistort(x.astype(complex), h.astype(complex), power=power))

    # One turn of the loop

    def loop(self, x, impaired):
        """The transmitter's output without and with a predistorter that was trained once."""
        rng = np.random.default_rng(5)
        before = model.transmitter(x, impaired)
        heard = model.noisy(model.delayed(before, DELAY, 2.0), NOISE_DB, rng)
        sent = self.predistort(x, self.train(x, heard))
        return before, model.transmitter(sent.astype(complex), impaired)

    def assertFalls(self, measure, before, after, least):
        for was, is_ in zip(measure(before), measure(after)):
            self.assertGreater(was - is_, least, (was, is_))

    def test_a_carrier_through_an_amplifier(self):
        self.assertFalls(model.aclr_db, *self.loop(model.lte10(SAMPLES), False), 20)

    def test_a_carrier_through_a_transmitter_with_all_faults(self):
        self.assertFalls(model.aclr_db, *self.loop(model.lte10(SAMPLES), True), 10)

    def test_two_carriers_through_an_amplifier(self):
        carriers = (-5e6, 5e6)
        before, after = self.loop(model.two_carriers(SAMPLES, carriers), False)
        self.assertFalls(lambda y: model.im_db(y, carriers, 3), before, after, 20)

    def test_two_carriers_through_a_transmitter_with_all_faults(self):
        carriers = (-3e6, 7e6)
        before, after = self.loop(model.two_carriers(SAMPLES, carriers), True)
        self.assertFalls(lambda y: model.im_db(y, carriers, 3), before, after, 10)
        self.assertFalls(lambda y: model.relative_db(y, (-7e6, 3e6), carriers), before, after, 10)
        self.assertFalls(lambda y: model.relative_db(y, (0,), carriers, 60e3), before, after, 10)

    def test_training_is_that_of_the_model(self):
        """Compares the predistorted signals; the coefficients alone are ill-conditioned."""
        for impaired in (False, True):
            with self.subTest(impaired=impaired):
                x = model.lte10(SAMPLES).astype(np.complex64).astype(complex)
                s = model.transmitter(x, impaired).astype(np.complex64).astype(complex)
                z = model.predistort(x, self.train(x, s))
                expected = model.predistort(x, model.train(x, s))
                self.assertLess(db(np.mean(abs(z - expected) ** 2) / np.mean(abs(expected) ** 2)), -80)


if __name__ == "__main__":
    unittest.main()
