# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""Recordings that a request starts: exact length, no loss beside them, through a reload, and nothing outside the folder."""

import io
import json
import shutil
import tarfile
import time
import unittest

import numpy as np

import iqd
from door import Door

RATE = 200e3


class Recordings(iqd.SystemTest):
    def setUp(self):
        super().setUp()
        self.records = self.folder / "records"
        self.records.mkdir()
        self.topic = iqd.endpoint()

    def text(self, stages="", more=""):
        return (f"name: lab\nsource: {{soapy: {{args: \"driver=iqdsim,frequency=21e3\", rate: {RATE}}}}}\nblock: 4096\n"
                f"stages: [{stages}]\npublish: [{{port: source, topic: t, bind: \"{self.topic}\"}}]\n"
                f"monitor: {{listen: \"127.0.0.1:0\", recordings: {self.records}{more}}}\n")

    def open(self, text):
        daemon = self.enterContext(self.daemon(text))
        door = Door(daemon)
        ends = time.monotonic() + iqd.PATIENCE
        while door.ask("GET", "/readyz")[0] != 200:
            self.assertLess(time.monotonic(), ends)
        return daemon, door

    def start(self, door, **keys):
        status, answer = door.change("POST", "/api/recordings", keys)
        self.assertEqual(status, 200, answer)
        self.assertEqual(answer["recording"]["state"], "recording")
        return answer["recording"]["name"]

    def listed(self, door, name):
        return next((r for r in json.loads(door.get("/api/recordings"))["recordings"] if r["name"] == name), None)

    def wait_until_done(self, door, name):
        ends = time.monotonic() + iqd.PATIENCE
        while (found := self.listed(door, name)) is None or found["state"] != "done":
            self.assertLess(time.monotonic(), ends, found)
            time.sleep(0.1)
        return found

    def test_samples_become_an_archive_of_this_length(self):
        daemon, door = self.open(self.text())
        reader = self.reader(self.topic, "t")
        messages = reader.take(3)
        name = self.start(door, port="source", seconds=0.5)
        self.assertTrue(name.startswith("lab-source-") and name.endswith(".sigmf"), name)
        self.assertEqual(self.listed(door, name)["state"], "recording")
        self.assertEqual(door.ask("DELETE", f"/api/recordings/{name}")[0], 409)
        found = self.wait_until_done(door, name)
        daemon.wait_for_log(f"lab: recorded {name}")
        data = (self.records / name).read_bytes()
        self.assertEqual(found["bytes"], len(data))
        with tarfile.open(fileobj=io.BytesIO(data)) as archive:
            files = {member.name.rsplit(".", 1)[1]: archive.extractfile(member).read() for member in archive}
        meta, samples = json.loads(files["sigmf-meta"]), files["sigmf-data"]
        self.assertEqual(meta["global"]["core:sample_rate"], RATE)
        item = 8 if meta["global"]["core:datatype"].startswith("cf32") else 4
        self.assertAlmostEqual(len(samples) / item / RATE, 0.5, delta=2 / RATE)
        # What subscribers get has no gap, although the plan was replaced twice.
        messages += reader.take(50)
        self.assertContinuous(messages)
        self.assertIn(f"http: 127.0.0.1 started a recording: source, 0.5 s, as {name}", daemon.text)
        # Only now may it be deleted.
        self.assertEqual(door.ask("DELETE", f"/api/recordings/{name}")[0], 200)
        self.assertFalse((self.records / name).exists())
        self.assertEqual(door.ask("GET", f"/api/recordings/{name}")[0], 404)
        self.assertIn(f"http: 127.0.0.1 deleted {name}", daemon.text)
        self.assertEqual(daemon.stop(), 0)
        self.assertConserved(daemon.final[0])

    def test_another_port_becomes_an_array(self):
        _, door = self.open(self.text("{spectrum: {size: 64}}"))
        name = self.start(door, port="spectrum.out", seconds=0.3)
        self.assertTrue(name.endswith(".npy"), name)
        self.wait_until_done(door, name)
        rows = np.load(self.records / name)
        self.assertEqual(rows.shape[-1], 64)
        self.assertGreater(len(rows), 10)

    def test_a_reload_does_not_end_it(self):
        _, door = self.open(self.text())
        name = self.start(door, port="source", seconds=2)
        (self.folder / "pipeline.yaml").write_text(self.text("{fir: {taps: [1, 1]}}").replace(
            "publish: [", "publish: [{port: fir, topic: f, bind: \"" + self.topic + "\"}, "), encoding="utf-8")
        status, answer = door.change("POST", "/api/recordings", {"port": "source", "seconds": 3600})
        self.assertEqual(answer["applied"], ["lab: recording source for 3600 s"])
        status, answer = door.change("POST", "/api/reload")
        self.assertEqual(status, 200, answer)
        self.assertEqual(self.listed(door, name)["state"], "recording")
        found = self.wait_until_done(door, name)
        self.assertGreater(found["bytes"], 1.9 * RATE * 4)

    def test_a_stop_closes_it(self):
        daemon, door = self.open(self.text())
        name = self.start(door, port="source", seconds=600)
        time.sleep(0.5)
        self.assertEqual(daemon.stop(), 0)
        with tarfile.open(self.records / name) as archive:
            sizes = {member.name.rsplit(".", 1)[-1]: member.size for member in archive}
        self.assertGreater(sizes["sigmf-data"], 0.2 * RATE * 4)

    def test_without_its_folder_it_ends_and_keys_can_still_be_set(self):
        daemon, door = self.open(self.text("{rotate: {frequency: 1 kHz}}").replace("{port: source,", "{port: rotate,"))
        name = self.start(door, port="source", seconds=1)
        shutil.rmtree(self.records)
        status, answer = door.change("PATCH", "/api/stages/rotate", {"frequency": 2000})
        self.assertEqual(status, 200, answer)
        daemon.wait_for_log(f"lab: {name} is not complete")
        self.assertNotIn(f"recorded {name}", daemon.text)
        self.assertIsNone(self.listed(door, name))

    def test_what_cannot_be_recorded_is_refused(self):
        _, door = self.open(self.text())
        for keys, status in (({"port": "none", "seconds": 1}, 422),
                             ({"port": 300 * "x", "seconds": 1}, 422),
                             ({"port": "source", "seconds": 0}, 422),
                             ({"port": "source", "seconds": 1, "pipeline": "other"}, 404),
                             ({"seconds": 1}, 400)):
            found, answer = door.change("POST", "/api/recordings", keys)
            self.assertEqual(found, status, (keys, answer))
            self.assertTrue(answer["problems"])
        self.assertEqual(json.loads(door.get("/api/recordings")), {"recordings": []})
        self.assertEqual(list(self.records.iterdir()), [])
        for _ in range(8):
            self.start(door, port="source", seconds=600)
        self.assertEqual(door.ask("POST", "/api/recordings", '{"port": "source", "seconds": 1}')[0], 503)

    def test_without_a_folder(self):
        text = self.text().replace(f", recordings: {self.records}", "")
        _, door = self.open(text)
        self.assertEqual(door.ask("POST", "/api/recordings", '{"port": "source", "seconds": 1}')[0], 409)
        (self.folder / "x.yaml").write_text(self.text(more="/none"), encoding="utf-8")
        done = iqd.command("check", self.folder / "x.yaml")
        self.assertEqual(done.returncode, 2)
        self.assertIn("monitor.recordings", done.stderr)


if __name__ == "__main__":
    unittest.main()
