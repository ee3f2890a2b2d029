# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""What tests of `iqd map` share."""

import subprocess

import numpy as np
import yaml

import iqd
from holes import recording_with_holes

PIPELINE = {
    "block": 1000,
    "stages": [{"rotate": {"frequency": "12345.6 Hz"}}, {"fir": {"taps": "@taps.npy", "decimation": 8}},
               {"spectrum": {"size": 128}}, {"complex_to_mag": {"from": "fir.out"}}],
    "publish": [{"port": "spectrum.out", "topic": "s", "bind": "tcp://127.0.0.1:5555"},
                {"port": "fir.out", "topic": "y", "bind": "tcp://127.0.0.1:5555"}],
    "sinks": [{"port": "fir.out", "file": {"path": "somewhere/band.sigmf-meta"}},
              {"port": "complex_to_mag.out", "file": {"path": "level.npy"}}],
    "monitor": {"listen": "127.0.0.1:9464"},
}


class MapTest(iqd.SystemTest):
    """A pipeline of a radio, a recording, and the files that one run makes of them."""

    def setUp(self):
        super().setUp()
        self.recording = recording_with_holes(self.folder)
        (self.folder / "lab").mkdir()
        np.save(self.folder / "lab" / "taps.npy", np.hanning(97).astype(np.float32))
        self.pipeline = self.write({"source": {"soapy": {"args": "driver=nothing", "rate": "1 MS/s"}}, **PIPELINE})

    def write(self, spec, name="band.yaml"):
        path = self.folder / "lab" / name
        path.write_text(yaml.safe_dump(spec, sort_keys=False), encoding="utf-8")
        return path

    def map(self, *more, pipeline=None, **how):
        return iqd.command("map", pipeline or self.pipeline, self.recording, "--into", self.folder / "out", *more,
                           cwd=self.folder, **how)

    def files(self, folder="out"):
        return {p.name: p.read_bytes() for p in sorted((self.folder / folder).glob("*"))
                if p.is_file()}

    def whole(self):
        """The files of one run, which writes the same sinks."""
        if not (self.folder / "whole").exists():
            (self.folder / "whole").mkdir()
            sinks = [{"port": port, "file": {"path": f"{self.folder}/whole/{name}"}} for port, name in
                     (("fir.out", "band.sigmf-meta"), ("complex_to_mag.out", "level.npy"),
                      ("spectrum.out", "spectrum.out.npy"))]
            path = self.write({"source": {"file": {"path": str(self.recording)}},
                               **{key: PIPELINE[key] for key in ("block", "stages")}, "sinks": sinks}, "whole.yaml")
            done = iqd.command("run", path)
            self.assertEqual(done.returncode, 0, done.stderr)
        return self.files("whole")

    def assertWhole(self, folder="out"):
        """The folder holds the files of one run, to the byte, and nothing else but those of a function."""
        found = {name: content for name, content in self.files(folder).items() if not name.startswith("python.")}
        whole = self.whole()
        self.assertEqual(found.keys(), whole.keys())
        for name, content in whole.items():
            self.assertEqual(found[name], content, name)

    def with_python(self, text, name):
        """The pipeline with a function behind the filter, and its file."""
        (self.folder / "lab" / f"{name}.py").write_text(text, encoding="utf-8")
        stage = {"python": {"file": f"{name}.py", "function": "f", "from": "fir.out",
                            "out": {"element": "cf32", "dims": "[n]"}}}
        topic = {"port": "python.out", "topic": "p", "bind": "tcp://127.0.0.1:5555"}
        spec = {"source": {"file": {"path": str(self.recording)}}, **PIPELINE}
        return self.write({**spec, "stages": [*PIPELINE["stages"], stage], "publish": [*PIPELINE["publish"], topic]},
                          f"{name}.yaml")

    def slow(self):
        """A pipeline file whose windows run for a while."""
        return self.with_python("import time\ndef f(x, meta):\n    time.sleep(0.05)\n    return x\n", "slow")

    def pkill(self, which, words):
        """Whether there was a window's run to send a signal to."""
        return subprocess.run(["pkill", which, "-f", f"run {self.folder}/out/.map/map.yaml {words}"],
                              check=False).returncode == 0
