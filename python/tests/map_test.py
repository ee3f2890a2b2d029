# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""iqd.map: a chain over a recording in windows, on processes and on Dask, gives what one call gives."""

import concurrent.futures
import os
import pathlib
import signal
import tempfile
import unittest

import numpy as np

import iqd

try:
    import distributed
except ImportError:
    distributed = None

BLOCK = 1000


class DyingOnce(concurrent.futures.ThreadPoolExecutor):
    """Each window's first run is lost."""

    def __init__(self, workers):
        super().__init__(workers)
        self.seen = set()

    def submit(self, function, command, *arguments):
        window = command[-1]
        if window not in self.seen:
            self.seen.add(window)
            return super().submit(lambda: (1, "lost"))
        return super().submit(function, command, *arguments)


class Killing:
    """A client of Dask whose first call kills a worker, with tasks in its hands."""

    def __init__(self, client):
        self.client, self.victim = client, next(iter(client.run(os.getpid).values()))

    def submit(self, function, *arguments):
        if self.victim:
            os.kill(self.victim, signal.SIGKILL)
            self.victim = None
        return self.client.submit(function, *arguments)


class Map(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        before = os.getcwd()
        self.addCleanup(os.chdir, before)
        os.chdir(self.folder)
        rng = np.random.default_rng(1)
        self.x = (rng.standard_normal(41_234) + 1j * rng.standard_normal(41_234)).astype(np.complex64)
        iqd.write("band.sigmf-meta", self.x, rate=1e6, frequency=433.92e6)
        self.chain = iqd.chain(iqd.stage("rotate", frequency=12345.6),
                               iqd.stage("fir", taps=np.hanning(97), decimation=8), iqd.stage("complex_to_mag"),
                               ports=["fir.out", "complex_to_mag.out"])

    def assertWhole(self, found):
        whole = self.chain(self.x, rate=1e6, block=BLOCK)
        self.assertEqual(set(found), set(whole.keys()))
        for port, array in whole.items():
            np.testing.assert_array_equal(np.asarray(found[port]), np.asarray(array), port)

    def test_equal_to_one_call(self):
        for windows in (1, 5):
            self.assertWhole(iqd.map("band.sigmf-meta", self.chain, block=BLOCK, windows=windows))
        self.assertEqual({p.name for p in self.folder.iterdir()}, {"band.sigmf-meta", "band.sigmf-data"})

    def test_a_stage_and_a_folder(self):
        level = iqd.map("band.sigmf-meta", iqd.stage("complex_to_mag"), block=BLOCK, windows=3, into="out")
        self.assertIsInstance(level, np.memmap)
        np.testing.assert_array_equal(level, iqd.stage("complex_to_mag")(self.x))
        self.assertFalse([p for p in os.listdir("out") if "-of-" in p or "map" in p])
        with self.assertRaisesRegex(iqd.Error, "exists"):
            iqd.map("band.sigmf-meta", iqd.stage("complex_to_mag"), block=BLOCK, windows=3, into="out")

    def test_windows_of_another_call_are_not_used(self):
        def filtered(taps, client=None, **more):
            return iqd.map("band.sigmf-meta", iqd.stage("fir", taps=taps), block=BLOCK, windows=3, into="out",
                           client=client, **more)

        class OneFails(concurrent.futures.ThreadPoolExecutor):
            def submit(self, function, command, *arguments):
                lost = command[-1].startswith("1/")
                return super().submit(lambda: (1, "lost")) if lost else super().submit(function, command, *arguments)

        with OneFails(2) as client, self.assertRaisesRegex(iqd.Error, "windows 1 are missing"):
            filtered([1, 2, 1], client)
        for taps in ([3, 2, 1], [4, 2, 1]):
            np.testing.assert_array_equal(filtered(taps, overwrite=True), iqd.stage("fir", taps=taps)(self.x))

    def test_what_fails_runs_again(self):
        with DyingOnce(2) as client, DyingOnce(2) as again:
            with self.assertRaisesRegex(iqd.Error, "after 1 tries, windows 0, 1, 2 are missing"):
                iqd.map("band.sigmf-meta", self.chain, block=BLOCK, windows=3, client=client, tries=1)
            self.assertWhole(iqd.map("band.sigmf-meta", self.chain, block=BLOCK, windows=3, client=again))

    def test_what_is_wrong(self):
        with self.assertRaises(iqd.ConfigError) as raised:
            iqd.map("nothing.sigmf-meta", self.chain, windows=2)
        self.assertIn("nothing.sigmf-meta", str(raised.exception))
        with self.assertRaisesRegex(iqd.ConfigError, "state"):
            iqd.map("band.sigmf-meta", iqd.stage("clock_recovery", samples_per_symbol=4), windows=2)
        found = iqd.map("band.sigmf-meta", iqd.stage("clock_recovery", samples_per_symbol=4), windows=2, warm="1 ms")
        self.assertGreater(len(found["clock_recovery.out"] if isinstance(found, dict) else found), 10_000)
        with self.assertRaisesRegex(iqd.ConfigError, "takes a chain"):
            iqd.map("band.sigmf-meta", "fir")

    @unittest.skipUnless(distributed, "needs python3-distributed")
    def test_dask(self):
        """A worker dies with windows in its hands; its nanny starts another one."""
        with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, \
                distributed.Client(cluster) as client:
            killing = Killing(client)
            self.assertWhole(iqd.map("band.sigmf-meta", self.chain, block=BLOCK, windows=8, client=killing))
            self.assertIsNone(killing.victim)


if __name__ == "__main__":
    unittest.main()
