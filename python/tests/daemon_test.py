# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""iqd.connect with a running daemon: status, keys, changes, refusals."""

import json
import os
import pathlib
import tempfile
import time
import unittest
import unittest.mock
import warnings

import numpy as np

import iqd

PATIENCE = 30.0
TOKEN = "correct-horse-battery"


def lab(folder, name="lab", **more):
    """A pipeline with the simulated radio."""
    return {"name": name, "block": 4096,
            "source": {"soapy": {"args": f"driver=iqdsim,gain_step=1,serial={name}", "rate": "1 MS/s", "gain": "30 dB",
                                 "frequency": "433 MHz"}},
            "stages": [{"rotate": {"frequency": "1 kHz"}}, {"fir": {"taps": [1, 2, 1]}},
                       {"fir": {"name": "second", "design": {"type": "low_pass", "cutoff": "100 kHz",
                                                             "transition": "50 kHz"}}},
                       {"spectrum": {"from": "source", "size": 64}}],
            "publish": [{"port": "second", "topic": name, "bind": f"ipc://{folder}/{name}"}], **more}


class DaemonTest(unittest.TestCase):
    """A daemon that all tests of a class share."""

    @classmethod
    def file(cls):
        raise NotImplementedError

    @classmethod
    def setUpClass(cls):
        cls.folder = cls.enterClassContext(tempfile.TemporaryDirectory(prefix="iqd-test-"))
        cls.running = cls.enterClassContext(iqd.run(cls.file(), timeout=PATIENCE))
        cls.d = iqd.connect(cls.running.address)

    def refused(self, kind, words, function, *arguments, **options):
        with self.assertRaises(kind) as caught:
            function(*arguments, **options)
        self.assertIn(words, str(caught.exception))
        return caught.exception


class OnePipeline(DaemonTest):
    @classmethod
    def file(cls):
        return lab(cls.folder, monitor={"listen": "127.0.0.1:0", "recordings": cls.folder}, sinks=[
            {"port": "source", "file": {"path": f"{cls.folder}/event", "trigger": {"name": "burst", "post": "1 ms"}}},
            {"port": "spectrum", "file": {"path": f"{cls.folder}/all.npy"}}])

    def test_status_and_names(self):
        self.assertEqual(self.d.status["pipelines"][0]["name"], "lab")
        self.assertEqual(list(self.d.pipelines), ["lab"])
        self.assertEqual(self.d.pipelines["lab"].status["source"], "soapy")
        self.assertEqual(list(self.d.stages), ["source", "rotate", "fir", "second", "spectrum", "publish.0",
                                               "sinks.0", "sinks.1"])
        self.assertIn("fir", self.d.pipelines["lab"].stages)
        self.assertEqual(self.d.pipelines["lab"].plan["name"], "lab")
        self.assertEqual(self.d["publish[0]"]["topic"], "lab")
        self.assertEqual((self.d.ready, self.d.not_ready), (True, []))
        self.d.wait_ready(PATIENCE)
        self.assertIn(f'iqd_build_info{{version="{self.d.version}"}}', self.d.metrics)
        self.assertTrue(any(key.startswith("iqd_samples_received_total") for key in self.d.metrics), self.d.metrics)

    def test_the_source_is_set_and_read(self):
        source = self.d.source
        source["gain"] = 25
        self.assertEqual(source["gain"], 25)
        self.assertEqual(source.facts["gain"]["by"], "patch")
        self.assertEqual(source.update(gain=30, frequency="434 MHz"),
                         ["lab: source.frequency, source.gain changed at once"])
        self.assertEqual((source["gain"], source["frequency"]), (30, 434e6))
        source["gain"] = np.float64(20.4)
        self.assertEqual((source.facts["gain"]["value"], source.facts["gain"]["asked"]), (20, 20.4))
        self.assertEqual(source.facts["gain"]["range"], [0, 60])

    def test_keys_of_stages(self):
        fir = self.d["fir"]
        for taps, shown in (([1, 2, 3], [1, 2, 3]), (np.array([0.5, 0.25], np.float32), [0.5, 0.25]),
                            (np.array([1, 2j]), [[1, 0], [0, 2]]), ((1, 1j), [[1, 0], [0, 1]]),
                            (range(1, 4), [1, 2, 3])):
            fir["taps"] = taps
            got = [v if isinstance(v, list) or not isinstance(shown[0], list) else [v, 0] for v in fir["taps"]]
            self.assertEqual(got, shown)
        self.assertEqual(set(fir), set(fir.facts))
        self.assertEqual(len(fir), len(list(fir)))
        self.assertEqual(self.d["rotate"]["frequency"], 1000)

    def test_keys_of_groups(self):
        second = self.d["second"]
        self.assertEqual(second["design"]["type"], "low_pass")
        second["design"]["cutoff"] = "120 kHz"
        self.assertEqual((second["design.cutoff"], second["design"]["cutoff"]), (120e3, 120e3))
        second["design.cutoff"] = 110e3
        self.assertEqual(second["design"]["cutoff"], 110e3)
        self.assertIn("transition", second["design"])

    def test_refusals_say_why(self):
        source, fir = self.d.source, self.d["fir"]
        problem = self.refused(iqd.ConfigError, "gain 1000 is out of range (0 to 60)", source.update, gain=1000)
        self.assertEqual(len(problem.problems), 1)
        self.refused(iqd.ConfigError, "unknown key", source.update, {"gian": 3, "gain": 3})
        self.refused(iqd.ConfigError, "decimation", fir.update, decimation=3)
        self.refused(iqd.ConfigError, "taps: a number is NaN", fir.update, taps=[1, float("nan")])
        self.refused(iqd.ConfigError, "taps: a number is NaN", fir.update, taps=np.array([1, np.inf]))
        self.refused(iqd.ConfigError, "taps: Object of type", fir.update, taps=object())
        self.refused(iqd.ConfigError, "into a file", fir.update, taps=np.random.default_rng(0).normal(size=20_000))
        self.assertNotEqual(source["gain"], 3, "nothing is set if one key is refused")

    def test_unknown_names(self):
        self.refused(KeyError, "there is no stage 'fri' (did you mean 'fir'?); there are: source, rotate, fir",
                     lambda: self.d["fri"])
        self.refused(iqd.Error, "there is no pipeline 'lap' (did you mean 'lab'?)", lambda: self.d.pipelines["lap"])
        self.refused(KeyError, "has no key 'tabs' (did you mean 'taps'?)", lambda: self.d["fir"]["tabs"])
        self.refused(KeyError, "there is no stage", lambda: self.d[3])
        self.refused(iqd.Error, "no sink waits for event none", self.d.trigger, "none")
        self.assertNotIn("nope", self.d["fir"])
        self.assertIsNone(self.d["fir"].get("nope"))
        self.assertNotIn("nope", self.d.stages)

    def test_triggers_and_recordings(self):
        self.assertEqual(self.d.trigger("burst"), ["burst: 1 sink(s)"])
        path = os.path.join(self.folder, "got.sigmf")
        recording = self.d.record("source", 0.05, path)
        self.assertEqual((len(recording), recording.rate), (50_000, 1e6))
        self.assertEqual(recording[:].dtype, np.complex64)
        listed = [r["name"] for r in self.d.recordings if r["state"] == "done"]
        self.assertEqual(len([name for name in listed if name.startswith("lab-source")]), 1)
        self.assertEqual(len(self.d.record("second", 0.02, os.path.join(self.folder, "two"), pipeline="lab")), 20_000)
        array = self.d.record("spectrum", 0.1, os.path.join(self.folder, "levels"))
        self.assertEqual(np.load(array).shape[1], 64)
        self.refused(iqd.Error, "there is no recording", self.d.fetch, "nope.sigmf", path)
        self.refused(iqd.ConfigError, "nope", self.d.record, "nope", 1)

    def test_a_notebook_shows_tables(self):
        self.assertRegex(repr(self.d),
                         r"<iqd [\d.]+ on 127.0.0.1:\d+>\npipeline +state.*\nlab +streaming +soapy +1 MS/s")
        self.assertRegex(repr(self.d.pipelines["lab"]), "lab +streaming")
        self.assertRegex(repr(self.d["rotate"]), r"lab/rotate\nkey +value.*\nfrequency +1 kHz")
        self.assertRegex(repr(self.d["second"]["design"]), r"lab/second.design\n(.*\n)*cutoff +1\d0 kHz")
        self.assertEqual(repr(self.d.pipelines), "<lab>")
        self.assertIn("gain", self.d.source._ipython_key_completions_())
        self.assertIn("fir", self.d._ipython_key_completions_())

    def test_another_version_is_warned_of(self):
        with unittest.mock.patch.dict("sys.modules", {"iqd._version": unittest.mock.Mock(__version__="0.0.1")}):
            with warnings.catch_warnings(record=True) as said:
                warnings.simplefilter("always")
                iqd.connect(self.running.address)
        self.assertRegex(str(said[0].message), r"this package is iqd 0\.0\.1, the daemon on .* is iqd \d")
        self.assertEqual(said[0].filename, __file__)


class SeveralPipelines(DaemonTest):
    @classmethod
    def file(cls):
        two = lab(cls.folder, "two")
        two["stages"][0]["rotate"]["name"] = "turn"
        two["stages"][1]["fir"]["from"] = "turn"
        token = pathlib.Path(cls.folder) / "token"
        token.touch(0o600)
        token.write_text(TOKEN + "\n", encoding="utf-8")
        return {"monitor": {"listen": "127.0.0.1:0", "token": str(token)}, "pipelines": [lab(cls.folder, "one"), two]}

    def test_names_with_pipelines(self):
        self.assertEqual(list(self.d.pipelines), ["one", "two"])
        self.assertEqual(list(self.d.stages),
                         ["one/source", "rotate", "one/fir", "one/second", "one/spectrum", "one/publish.0",
                          "two/source", "turn", "two/fir", "two/second", "two/spectrum", "two/publish.0"])
        self.assertEqual(self.d["rotate"].pipeline, "one")
        self.refused(KeyError, "there is no stage 'fir' (did you mean", lambda: self.d["fir"])
        self.refused(KeyError, "there is no stage 'source'", lambda: self.d.source)
        self.refused(KeyError, "there is no stage of two 'rotate'", lambda: self.d["two/rotate"])
        self.refused(KeyError, "there is no pipeline 'three'", lambda: self.d["three/fir"])
        self.assertEqual(self.d["two/fir"]["taps"], [1, 2, 1])
        self.assertEqual(self.d.pipelines["two"].source["gain"], 30)

    def test_changes_need_the_token(self):
        self.refused(iqd.Error, "requires a token for changes: give token=", self.d["two/fir"].update, taps=[1])
        wrong = iqd.connect(self.running.address, TOKEN + "x")
        self.refused(iqd.Error, "requires another token", wrong.reload)
        for token in (TOKEN, pathlib.Path(self.folder) / "token", str(pathlib.Path(self.folder) / "token")):
            d = iqd.connect(self.running.address, token)
            d["two/fir"]["taps"] = [1, 5]
            self.assertEqual(d["two/fir"]["taps"], [1, 5])
            self.assertEqual(d["one/fir"]["taps"], [1, 2, 1])
        self.assertIn("two: fir.taps: [1, 2, 1] (file) replaces [1, 5] (patch)", d.reload())
        loose = pathlib.Path(self.folder) / "loose"
        loose.write_text(TOKEN, encoding="utf-8")
        loose.chmod(0o644)
        self.refused(iqd.ConfigError, "chmod 600", iqd.connect, self.running.address, loose)
        self.refused(iqd.ConfigError, "visible characters", iqd.connect, self.running.address, "two words")

    def test_waiting_for_a_daemon_that_is_not_there(self):
        began = time.monotonic()
        self.refused(iqd.Error, "nothing answers on 127.0.0.1:9", iqd.connect, "127.0.0.1:9", wait=0.2)
        self.assertGreater(time.monotonic() - began, 0.2)
        self.assertTrue(json.dumps(iqd.connect(self.running.address, wait=5).status))


if __name__ == "__main__":
    unittest.main()
