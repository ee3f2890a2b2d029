# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""iqd.Recording with files that are wrong, cut off or of another kind."""

import gzip
import json
import os
import unittest

import numpy as np

import iqd
from recording_test import RecordingTest, metadata


class Refusal(RecordingTest):
    def test_files_that_are_missing_or_something_else(self):
        self.refused("no.sigmf-meta: No such file", self.folder / "no")
        self.refused("no.sigmf-meta: No such file", self.folder / "no.sigmf-data")
        self.refused("is not the path", 7)
        path = self.store(np.zeros(4, np.complex64))
        (self.folder / "r.sigmf-data").unlink()
        self.refused("r.sigmf-data: No such file", path)
        only = self.store(b"", metadata(metadata_only=True), "only")
        (self.folder / "only.sigmf-data").unlink()
        self.refused("holds metadata only", only)
        wav = self.folder / "a.wav"
        wav.write_bytes(b"RIFF")
        self.refused("is no SigMF recording; `iqd convert", wav)
        (self.folder / "c.sigmf-collection").write_text(
            json.dumps({"collection": {"core:streams": [{"name": "one"}, {"name": "two"}]}}), encoding="utf-8")
        self.refused("is a SigMF collection, which has no samples itself; name one of its recordings: one, two",
                     self.folder / "c.sigmf-collection")

    def test_recordings_that_are_cut_off(self):
        path = self.store(bytes(8 * 10 - 1))
        self.refused("79 bytes of samples are not a whole number of cf32_le samples of 1 channel (8 bytes each)", path)
        self.refused("a capture that starts at sample 11, but",
                     self.store(bytes(80), metadata(captures=[{"core:sample_start": 11}])))
        self.refused("an annotation up to sample 12, but", self.store(bytes(80), metadata(
            annotations=[{"core:sample_start": 5, "core:sample_count": 7}])))
        self.refused("fewer than core:trailing_bytes", self.store(bytes(8), metadata(trailing_bytes=9)))

    def test_all_problems_at_once(self):
        meta = metadata("cf31_le", [{}, {"core:sample_start": -1}, {"core:sample_start": 1, "core:datetime": "soon"}],
                        num_channels=0)
        meta["global"]["core:sample_rate"] = "fast"
        problems = self.refused("core:datatype cf31_le is not supported; iqd reads c (complex)", self.store(b"", meta))
        self.assertEqual(len(problems), 6, problems)
        for words in ("core:sample_rate must be a number", "core:num_channels is 0",
                      "captures[0]: core:sample_start is", "captures[1]: core:sample_start must be",
                      "captures[2]: core:datetime must be a time"):
            self.assertTrue(any(words in problem for problem in problems), words)

    def test_metadata_that_are_wrong(self):
        for text, words in (("{", "is not JSON"), ("[]", "is not SigMF"), ('{"global": 5}', "is not SigMF"),
                            ("[" * 100_000, "is not JSON")):
            self.refused(words, self.store(b"", text))
        for more, words in (({"sample_rate": 0}, "must be more than 0"),
                            ({"sample_rate": float("nan")}, "must be a number"), ({"sample_rate": 1e13}, "up to 1e+12"),
                            ({"dataset": "../x"}, "without folders"),
                            ({"offset": 1.5}, "whole number"), ({"datatype": None}, "is missing"),
                            ({"datatype": ["cf32_le"]}, "not supported"), ({"num_channels": 2000}, "must be 1 to 1000"),
                            ({"extensions": [{"name": "odd", "optional": False}]}, "requires odd")):
            self.refused(words, self.store(b"", metadata(**more)))
        meta = metadata()
        meta["captures"] = [{"core:sample_start": 5}, {"core:sample_start": 3}]
        self.refused("must be sorted", self.store(bytes(80), meta))
        meta["captures"] = [{"core:sample_start": start, "core:global_index": index} for start, index in ((0, 5), (3, 6))]
        self.refused("advances by less than the samples in between", self.store(bytes(80), meta))
        meta["captures"] = {}
        self.refused("captures must be a list", self.store(bytes(80), meta))

    def test_extensions_that_only_describe(self):
        known = [{"name": "antenna", "optional": False}, {"name": "ntia-core", "optional": False}, {"name": "odd"}]
        self.assertEqual(len(iqd.Recording(self.store(bytes(80), metadata(extensions=known)))), 10)

    def test_archives(self):
        for name, content, words in (("a.sigmf", b"not a tar", "is not a tar archive, or damaged"),
                                     ("b.sigmf", gzip.compress(bytes(1024)), "is compressed"),
                                     ("c.sigmf", bytes(10240), "without a .sigmf-meta file")):
            (self.folder / name).write_bytes(content)
            self.refused(words, self.folder / name)
        self.store(np.zeros(1000, np.complex64))
        whole = iqd.write(self.folder / "d.sigmf", np.zeros(10_000, np.complex64), rate=1).path
        os.truncate(whole, 20_000)
        self.refused("d.sigmf: ", whole)

    def test_without_a_rate_seconds_are_refused(self):
        meta = metadata()
        del meta["global"]["core:sample_rate"]
        path = self.store(bytes(80), meta)
        rec = iqd.Recording(path)
        self.assertEqual((rec.rate, len(rec[2:5])), (None, 3))
        with self.assertRaisesRegex(iqd.ConfigError, "give rate="):
            rec[0.1:]
        self.assertRaises(iqd.ConfigError, iqd.Recording, path, rate=float("nan"))
        rec = iqd.Recording(path, rate=10)
        self.assertEqual((len(rec[0.1:]), rec.duration, len(list(rec.blocks(4)))), (9, 1, 3))

    def test_random_metadata(self):
        """Each is read or refused, and never anything else."""
        rng = np.random.default_rng(7)
        text = json.dumps(metadata(captures=[{"core:sample_start": 0, "core:datetime": "2026-01-01T00:00:00Z"},
                                             {"core:sample_start": 5, "core:global_index": 9}],
                                   annotations=[{"core:sample_start": 1, "core:sample_count": 2}], num_channels=1))
        read = 0
        for _ in range(1000):
            wrong = list(text)
            for at in rng.integers(0, len(wrong), 2):
                wrong[at] = chr(rng.integers(32, 127))
            path = self.store(bytes(80), "".join(wrong))
            try:
                rec = iqd.Recording(path)
                rec[:], list(rec.blocks(3)), repr(rec)
                read += 1
            except iqd.ConfigError:
                pass
        self.assertGreater(read, 30)


if __name__ == "__main__":
    unittest.main()
