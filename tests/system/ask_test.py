# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""What a running iqd is set to, over HTTP and with `iqd get`, `set`, `status` and `ready`."""

import json
import signal
import subprocess
import time
import unittest

import numpy as np

import iqd
from door import Door

TOKEN = "correct-horse-battery"


def file(where, name="lab", gain="gain: 30 dB, ", args="", stages="- rotate: {frequency: 1 kHz}", more=""):
    return f"""name: {name}
source: {{soapy: {{args: "driver=iqdsim,gain_step=1,serial={name}{args}", rate: 1 MS/s, {gain}frequency: 433 MHz}}}}
block: 4096
stages:
{stages}
publish:
- {{port: rotate, topic: x, bind: "{where}"}}
{more}"""


class Ask(iqd.SystemTest):
    def setUp(self):
        super().setUp()
        self.where = iqd.endpoint()

    def open(self, text, monitor='{listen: "127.0.0.1:0"}'):
        daemon = self.enterContext(self.daemon(f"{text}monitor: {monitor}\n"))
        door = Door(daemon)
        door.wait_for_state("/readyz", 200)
        return daemon, door

    def iqd(self, door, command, *arguments, code=0):
        """What `iqd COMMAND` prints, to standard error if it fails."""
        done = iqd.command(command, *arguments, "--address", f"127.0.0.1:{door.port}")
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout if code == 0 else done.stderr

    def keys(self, door, stage, pipeline=None):
        below = f"/pipelines/{pipeline}" if pipeline else ""
        return json.loads(door.get(f"/api{below}/stages/{stage}"))["keys"]

    def write(self, text):
        (self.folder / "pipeline.yaml").write_text(text + 'monitor: {listen: "127.0.0.1:0"}\n', encoding="utf-8")

    def test_values_ranges_and_origins_over_http(self):
        began = time.time()
        _, door = self.open(file(self.where))
        gain = self.keys(door, "source")["gain"]
        self.assertLess(abs(gain.pop("since") - began), iqd.PATIENCE)
        self.assertEqual(gain, {"value": 30, "unit": "dB", "range": [0, 60], "step": 1, "live": True, "default": None,
                                "by": "file"})
        keys = self.keys(door, "source")
        self.assertEqual((keys["frequency"]["value"], keys["frequency"]["range"]), (433e6, [0, 6e9]))
        self.assertEqual((keys["antenna"]["value"], keys["antenna"]["choices"]), ("RX", ["RX"]))
        self.assertEqual((keys["rate"]["value"], keys["rate"]["live"]), (1e6, False))
        self.assertEqual(keys["format"]["choices"], ["sc16", "cf32"])
        asked = time.time()
        self.assertEqual(door.change("PATCH", "/api/stages/source", {"gain": 30.4})[0], 200)
        gain = self.keys(door, "source")["gain"]
        self.assertEqual((gain["value"], gain["asked"], gain["by"]), (30, 30.4, "patch"))
        self.assertLess(abs(gain["since"] - asked), iqd.PATIENCE)
        self.assertEqual(self.keys(door, "source")["frequency"]["by"], "file")
        self.assertEqual(self.keys(door, "rotate")["frequency"]["value"], 1000)
        self.assertEqual(self.keys(door, "publish.0")["bind"]["value"], self.where)
        self.assertEqual([s["name"] for s in json.loads(door.get("/api/stages"))["stages"]],
                         ["source", "rotate", "publish.0"])
        status, body = door.ask("GET", "/api/stages/rotat")
        self.assertEqual(status, 404)
        self.assertIn("there are: source, rotate, publish.0", body)

    def test_what_is_shown_can_be_set(self):
        """PATCH with all keys of a stage as they are shown changes nothing."""
        stages = ("- rotate: {frequency: 1 kHz}\n- fir: {taps: [1, [0, 2], 3]}\n- agc: {window: 256}\n"
                  "- fir: {name: second, design: {type: low_pass, cutoff: 100 kHz, transition: 50 kHz}}")
        _, door = self.open(file(self.where, stages=stages))
        for stage in ("rotate", "fir", "agc"):
            values = {name: key["value"] for name, key in self.keys(door, stage).items()
                      if key["value"] not in (None, []) and "." not in name}
            status, answer = door.change("PATCH", f"/api/stages/{stage}", values)
            self.assertEqual((status, answer), (200, {"applied": ["nothing has changed"]}), values)
        self.assertEqual(self.keys(door, "second")["design.cutoff"]["value"], 100e3)

    def test_a_reload_says_what_it_undoes(self):
        daemon, door = self.open(file(self.where))
        self.assertEqual(door.change("PATCH", "/api/stages/source", {"gain": 40, "frequency": "434 MHz"})[0], 200)
        self.write(file(self.where).replace("433 MHz", "434 MHz"))
        status, answer = door.change("POST", "/api/reload")
        self.assertEqual(status, 200)
        self.assertIn("lab: source.gain: 30 dB (file) replaces 40 dB (patch)", answer["applied"])
        self.assertNotIn("434 MHz", str(answer), "the file says the same")
        daemon.wait_for_log("source.gain: 30 dB (file) replaces 40 dB (patch)")
        keys = self.keys(door, "source")
        self.assertEqual([(keys[k]["value"], keys[k]["by"]) for k in ("gain", "frequency")],
                         [(30, "file"), (434e6, "file")])
        self.assertEqual(door.change("POST", "/api/reload")[1], {"applied": ["nothing has changed"]})

    def test_a_key_that_the_file_leaves_out_returns_to_the_radios_own_value(self):
        _, door = self.open(file(self.where, gain=""))
        own = {key: self.keys(door, "source")[key]["value"] for key in ("gain", "bandwidth", "antenna")}
        self.assertEqual(door.change("PATCH", "/api/stages/source", {"gain": 40, "bandwidth": 2e5, "antenna": "RX"})[0], 200)
        self.assertEqual(self.keys(door, "source")["gain"]["value"], 40)
        status, answer = door.change("POST", "/api/reload")
        self.assertEqual(status, 200)
        self.assertIn("lab: source.gain: none (file) replaces 40 dB (patch)", answer["applied"])
        self.assertIn("lab: source.antenna: none (file) replaces RX (patch)", answer["applied"])
        keys = self.keys(door, "source")
        self.assertEqual({key: keys[key]["value"] for key in own}, own)
        self.assertEqual({keys[key]["by"] for key in own}, {"file"})
        for nothing in ("none", None):
            self.assertEqual(door.change("PATCH", "/api/stages/source", {"gain": 41})[0], 200)
            self.assertEqual(door.change("PATCH", "/api/stages/source", {"gain": nothing})[0], 200)
            self.assertEqual(self.keys(door, "source")["gain"]["value"], own["gain"])

    def test_a_recording_has_its_own_rate_and_frequency(self):
        captures = [{"core:sample_start": 0, "core:frequency": 915e6}]
        path = iqd.write_recording(self.folder / "r", np.zeros(1000, np.complex64), rate=123456, captures=captures)
        text = (f"name: lab\nsource: {{file: {{path: {path}, pace: true, repeat: true}}}}\nblock: 100\n"
                f"publish: [{{port: source, topic: x, bind: \"{self.where}\"}}]\n")
        _, door = self.open(text)
        keys = self.keys(door, "source")
        self.assertEqual((keys["rate"]["value"], keys["frequency"]["value"]), (123456, 915e6))
        self.assertNotIn("asked", keys["rate"])
        self.assertIn("123.456 kS/s", self.iqd(door, "get", "source.rate"))

    def test_changes_from_the_first_moment(self):
        """Who sees the port open can change something."""
        for _ in range(5):
            with self.daemon(file(self.where) + 'monitor: {listen: "127.0.0.1:0"}\n') as daemon:
                self.assertEqual(Door(daemon).change("PATCH", "/api/stages/source", {"gain": 9})[0], 200)
                self.assertEqual(daemon.stop(), 0, daemon.text)

    def test_the_command_line(self):
        _, door = self.open(file(self.where))
        printed = self.iqd(door, "set", "source.gain=40.3", "source.frequency=434 MHz", "rotate.frequency=2 kHz")
        self.assertIn("source.gain: 40 dB (asked for 40.3 dB)", printed)
        self.assertIn("rotate.frequency: 2 kHz", printed)
        self.assertRegex(self.iqd(door, "get", "source.gain"), r"gain +40 dB .* 0 … 60 dB .* live +patch")
        self.assertEqual(json.loads(self.iqd(door, "get", "rotate.frequency", "--json"))["value"], 2000)
        everything = self.iqd(door, "get")
        for words in ("lab/source (soapy)", "lab/rotate", "lab/publish.0", "434 MHz"):
            self.assertIn(words, everything)
        answer = json.loads(self.iqd(door, "set", "source.gain=20", "--json"))
        self.assertEqual((answer["keys"]["source.gain"]["value"], len(answer["applied"])), (20, 1))

    def test_status_and_ready(self):
        daemon, door = self.open(file(self.where, args=",stall_at=10,stall_for=4"))
        printed = self.iqd(door, "status")
        for words in (f"127.0.0.1:{door.port}", "ready", "lab", "streaming", "of 1 MS/s", "losses", "p99", "433 MHz",
                      "rotate.out → x", "0 readers"):
            self.assertIn(words, printed)
        self.assertEqual(json.loads(self.iqd(door, "status", "--json"))["pipelines"][0]["name"], "lab")
        self.assertEqual(self.iqd(door, "ready"), "ready\n")
        door.wait_for_state("/readyz", 503)
        done = iqd.command("ready", f"127.0.0.1:{door.port}", "--json")
        self.assertEqual((done.returncode, json.loads(done.stdout)["ready"]), (1, False))
        self.assertEqual(iqd.command("status", f"http://127.0.0.1:{door.port}/").returncode, 1)
        door.wait_for_state("/readyz", 200)
        self.assertEqual(daemon.stop(), 0)
        self.assertEqual(self.iqd(door, "status", code=1).count("nothing answers on 127.0.0.1"), 1)
        self.assertIn("nothing answers", self.iqd(door, "ready", code=1))

    def test_status_again_and_again(self):
        daemon, door = self.open(file(self.where))
        for options, condition in (([], lambda line: "of 1 MS/s" in line),
                                   (["--json"], lambda line: json.loads(line).get("uptime_s", 0) > 0)):
            watch = subprocess.Popen([iqd.IQD, "status", "--watch", *options, str(door.port)], stdout=subprocess.PIPE,
                                     text=True)
            with watch:
                seen = 0
                while seen < 3:
                    self.assertTrue(line := watch.stdout.readline(), "it has ended")
                    seen += condition(line)
                watch.send_signal(signal.SIGINT)
                watch.stdout.read()
                self.assertEqual(watch.wait(iqd.PATIENCE), 0)
        with subprocess.Popen([iqd.IQD, "status", "--watch", str(door.port)], stdout=subprocess.PIPE, text=True) as watch:
            self.assertTrue(watch.stdout.readline(), "it has ended")
            self.assertEqual(daemon.stop(), 0)
            while "nothing answers" not in (line := watch.stdout.readline()):
                self.assertTrue(line, "it has ended")
            watch.terminate()
            watch.stdout.read()
            self.assertEqual(watch.wait(iqd.PATIENCE), 0)
        self.assertIn("nothing answers", self.iqd(door, "status", "--watch", code=1))

    def test_what_is_refused(self):
        _, door = self.open(file(self.where))
        for arguments, words in ((["set", "source.gain=600"], "out of range (0 to 60)"),
                                 (["set", "source.gain=loud"], "'loud' is not a number"),
                                 (["set", "source.gian=3"], "did you mean 'gain'?"),
                                 (["set", "rotate.shift=3"], "rotate has no key 'shift'; it has: frequency"),
                                 (["set", "nothing.gain=3"], "there are: source, rotate"),
                                 (["get", "nothing"], "there are: source, rotate"),
                                 (["get", "source.gian"], "it has: "),
                                 (["set", "publish.0.topic=y"], "publish.0 has no live keys: change it in the file"),
                                 (["get", "--pipeline", "other"], "there is no pipeline 'other'; there are: lab"),
                                 (["status", "--pipeline", "other"], "there is no pipeline 'other'; there are: lab")):
            with self.subTest(arguments=arguments):
                self.assertIn(words, self.iqd(door, *arguments, code=1))
        for arguments in (["set", "source.gain"], ["set", "source=3"], ["set"], ["get", "--address", "a:b"]):
            with self.subTest(arguments=arguments):
                self.assertEqual(iqd.command(*arguments).returncode, 2)
        self.assertEqual(self.keys(door, "source")["gain"]["value"], 30)

    def test_the_reason_of_a_refusal_does_not_name_the_file(self):
        """The file has no such value."""
        _, door = self.open(file(self.where, stages="- rotate: {frequency: 1 kHz}\n- fir: {design: {type: low_pass, "
                                                    "cutoff: 10 kHz, transition: 5 kHz}}"))
        for stage, keys, reason in (("source", {"gain": "loud"}, "source.soapy.gain: 'loud' is not a number"),
                                    ("source", {"rate": 0}, "source.soapy.rate: must be at least 1 S/s"),
                                    ("fir", {"design.cutoff": "2 MHz"}, "stages[1].fir.design.cutoff: 2 MHz")):
            with self.subTest(keys=keys):
                status, answer = door.change("PATCH", f"/api/stages/{stage}", keys)
                self.assertEqual(status, 422)
                self.assertTrue(answer["problems"][0].startswith(reason), answer)

    def test_refused_requests_are_in_the_log_once(self):
        daemon, door = self.open(file(self.where))
        for stage, body, status in (("source", {"gain": 99}, 422), ("nothing", {"gain": 1}, 404),
                                    ("publish.0", {"topic": "y"}, 422), ("publish[0]", {"topic": "y"}, 422),
                                    ("rotate", {"frequency": None}, 422), ("rotate", [1], 400)):
            with self.subTest(stage=stage, body=body):
                before = daemon.text.count("http: not set: ")
                self.assertEqual(door.change("PATCH", f"/api/stages/{stage}", body)[0], status)
                ends = time.monotonic() + iqd.PATIENCE
                while (count := daemon.text.count("http: not set: ")) == before:
                    self.assertLess(time.monotonic(), ends, "it is not in the log")
                self.assertEqual(count, before + 1)

    def test_tokens(self):
        path = self.folder / "token"
        path.write_text(TOKEN + "\n", encoding="utf-8")
        path.chmod(0o600)
        wrong = self.folder / "wrong"
        wrong.write_text(TOKEN[::-1] + "\n", encoding="utf-8")
        wrong.chmod(0o600)
        _, door = self.open(file(self.where), f'{{listen: "127.0.0.1:0", token: {path}}}')
        self.assertIn("30 dB", self.iqd(door, "get", "source.gain"))
        self.assertIn("requires a token", self.iqd(door, "set", "source.gain=40", code=1))
        self.assertIn("another token", self.iqd(door, "set", "source.gain=40", "--token", wrong, code=1))
        self.assertIn("40 dB", self.iqd(door, "set", "source.gain=40", "--token", path))
        self.assertNotIn(TOKEN, self.iqd(door, "get"))

    def test_several_pipelines(self):
        other = iqd.endpoint()
        one, two = (file(where, name).replace("\n", "\n  ") for name, where in (("a", self.where), ("b", other)))
        _, door = self.open(f"pipelines:\n- {one}\n- {two}\n")
        self.assertIn("name one of a, b", self.iqd(door, "get", "source.gain", code=1))
        self.assertIn("name one of a, b", self.iqd(door, "set", "source.gain=3", code=1))
        self.iqd(door, "set", "source.gain=11", "--pipeline", "a")
        self.iqd(door, "set", "b/source.gain=12", "a/rotate.frequency=5 kHz")
        self.assertEqual([self.keys(door, "source", p)["gain"]["value"] for p in "ab"], [11, 12])
        self.assertEqual(self.keys(door, "rotate", "a")["frequency"]["value"], 5000)
        self.assertEqual(len(json.loads(door.get("/api/stages"))["stages"]), 6)
        self.assertEqual(len(json.loads(door.get("/api/pipelines/b/stages"))["stages"]), 3)
        self.assertNotIn("\na ", self.iqd(door, "status", "--pipeline", "b"))

    def test_several_pipelines_change_together_or_not_at_all(self):
        other = iqd.endpoint()

        def both(a="433 MHz", b="433 MHz", rate="1 MS/s", stages="- rotate: {frequency: 1 kHz}"):
            one = file(self.where, "a", stages=stages).replace("433 MHz", a)
            two = file(other, "b").replace("433 MHz", b).replace("1 MS/s", rate)
            return "pipelines:\n- {}\n- {}\n".format(*(text.replace("\n", "\n  ") for text in (one, two)))

        daemon, door = self.open(both())
        self.assertEqual(door.change("PATCH", "/api/pipelines/a/stages/source", {"gain": 40})[0], 200)
        before = self.keys(door, "source", "a"), self.keys(door, "rotate", "a")
        for change, reason in ((both(a="434 MHz", b="7 GHz"), "b: source.frequency unchanged"),
                               (both(a="434 MHz", rate="900 MS/s"), "the radio grants 500000000"),
                               (both(a="434 MHz", b="7 GHz", stages="- rotate: {frequency: 2 kHz}\n- agc:"),
                                "b: source.frequency unchanged"),
                               (both(rate="2 MS/s").replace("driver=iqdsim,gain_step=1,serial=b", "driver=iqdsim,rx=99"),
                                "cannot open")):
            self.write(change)
            status, answer = door.change("POST", "/api/reload")
            self.assertEqual(status, 422, answer)
            self.assertIn(reason, str(answer))
            self.assertEqual((self.keys(door, "source", "a"), self.keys(door, "rotate", "a")), before, answer)
            self.assertEqual(self.keys(door, "source", "b")["frequency"]["value"], 433e6)
        self.assertEqual([p["name"] for p in json.loads(door.get("/api/status"))["pipelines"]], ["a", "b"])
        self.write(both(a="434 MHz", b="435 MHz"))
        status, answer = door.change("POST", "/api/reload")
        self.assertEqual(status, 200, answer)
        self.assertIn("a: source.gain: 30 dB (file) replaces 40 dB (patch)", answer["applied"])
        self.assertEqual([self.keys(door, "source", p)["frequency"]["value"] for p in "ab"], [434e6, 435e6])
        self.assertEqual(daemon.stop(), 0, daemon.text)

    def test_a_restarted_pipeline_keeps_its_place(self):
        other = iqd.endpoint()
        one, two = (file(where, name).replace("\n", "\n  ") for name, where in (("a", self.where), ("b", other)))
        _, door = self.open(f"pipelines:\n- {one}\n- {two}\n")
        self.assertEqual(door.change("PATCH", "/api/pipelines/a/stages/source", {"rate": "2 MS/s"})[0], 200)
        self.assertEqual([p["name"] for p in json.loads(door.get("/api/status"))["pipelines"]], ["a", "b"])

    def test_an_unplugged_radio_has_the_values_of_the_file(self):
        _, door = self.open(file(self.where, gain="gain: 30.4, ", args=",disconnect_at=3,disconnect_for=4"))
        self.assertEqual(self.keys(door, "source")["gain"]["value"], 30)
        door.wait_for_state("/readyz", 503)
        ends = time.monotonic() + iqd.PATIENCE
        while "range" in (gain := self.keys(door, "source")["gain"]):
            self.assertLess(time.monotonic(), ends, "it stays open")
        self.assertEqual(gain["value"], 30.4)
        door.wait_for_state("/readyz", 200)
        self.assertEqual(self.keys(door, "source")["gain"]["value"], 30)


if __name__ == "__main__":
    unittest.main()
