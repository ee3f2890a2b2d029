# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""Mistakes in files, endpoints and devices: every problem has its place, the exit code is right, nothing is opened."""

import re
import socket
import time
import unittest

import numpy as np

import iqd

PLACE = re.compile(r"^(.+?):(\d+):(\d+) (\S+): (.+)$")


class Refusal(iqd.SystemTest):
    def setUp(self):
        super().setUp()
        self.path = self.folder / "p.yaml"
        # No module is found there, so opening a radio before all problems are known would fail with 1.
        self.no_radios = {"SOAPY_SDR_PLUGIN_PATH": str(self.folder), "PATH": "/usr/bin:/bin"}

    def write(self, text):
        self.path.write_bytes(text if isinstance(text, bytes) else text.encode())

    def problems(self, text, code=2):
        """{place in the file: message} from both `check` and `run`, which report the same."""
        self.write(text)
        done = [iqd.command(verb, self.path, env=self.no_radios) for verb in ("check", "run")]
        self.assertEqual([d.returncode for d in done], [code, code], done[0].stderr + done[1].stderr)
        told = [re.sub(r"\d+ MB are free", "", d.stderr) for d in done]  # the only figure that may change
        self.assertEqual(told[0], told[1])
        found = {}
        for line in done[0].stderr.splitlines():
            match = PLACE.match(line)
            self.assertIsNotNone(match, line)
            self.assertEqual(match[1], str(self.path))
            found[(int(match[2]), int(match[3]))] = f"{match[4]}: {match[5]}"
        return found

    def refused(self, text, *words, place=None):
        found = self.problems(text)
        everything = "\n".join(found.values())
        for word in words:
            self.assertIn(word, everything)
        if place:
            self.assertIn(place, found)

    def generate(self, stages="", publish='port: source, topic: t, bind: "tcp://127.0.0.1:5999"', more=""):
        return f"source: {{generate: {{rate: 1e6}}}}\n{more}stages: [{stages}]\npublish: [{{{publish}}}]\n"

    def test_all_at_once_in_the_order_of_the_file(self):
        found = self.problems("""nam: x
source:
  soapy: {args: driver=iqdsim, rate: 20 kg, gian: 3}
block: -5
lanes: many
stages:
  - fri: {}
  - fir: {taps: [1, x], decimation: 0}
  - conjugate: {}
  - conjugate: {}
publish:
  - {port: fir.out, topic: a b, bind: "tcp://127.0.0.1:5999"}
  - {port: fir.out, bind: "http://127.0.0.1:5999"}
""")
        expected = [((1, 1), "nam: unknown key (did you mean 'name'?)"), ((3, 32), "MS/s"), ((3, 45), "'gain'"),
                    ((4, 1), "block"), ((5, 1), "lanes"), ((7, 5), "'fir'"), ((8, 21), "taps[1]"),
                    ((8, 25), "decimation"), ((10, 16), "already"), ((12, 21), "space"), ((13, 5), "topic"),
                    ((13, 21), "endpoint")]
        self.assertEqual(list(found), [place for place, _ in expected])
        for place, word in expected:
            self.assertIn(word, found[place])

    def test_the_device_is_opened_only_when_all_is_right(self):
        right = ("source: {soapy: {args: driver=nothere, rate: 1e6}}\n"
                 "publish: [{port: source, topic: t, bind: \"tcp://127.0.0.1:5999\"}]\n")
        self.refused(right + "blok: 5\n", "did you mean 'block'", place=(3, 1))
        self.write(right)
        self.assertEqual(iqd.command("check", self.path, env=self.no_radios).returncode, 0)
        done = iqd.command("run", self.path, env=self.no_radios)
        self.assertEqual(done.returncode, 1)
        self.assertIn("driver=nothere", done.stderr)
        self.assertIn("cannot open", done.stderr)

    def test_nothing_is_created_by_a_wrong_file(self):
        sinks = f"sinks: [{{port: source, file: {{path: {self.folder}/out}}}}]\n"
        self.refused(self.generate(more="blok: 1\n" + sinks), "block")
        self.assertEqual([p.name for p in self.folder.iterdir()], ["p.yaml"])

    def test_no_yaml(self):
        for text in ("source: {generate: {rate: 1\n", "source:\n\tgenerate: {}\n", "a: b: c\n", b"\x00\x01",
                     b"name: \xe9\n", "", "~", "- a\n", "3\n", "source: " + "[" * 3000 + "]" * 3000 + "\n"):
            self.write(text)
            for verb in ("check", "run", "explain"):
                done = iqd.command(verb, self.path)
                self.assertEqual(done.returncode, 2, (text[:40], done.stderr))
                self.assertIn(str(self.path), done.stderr)
        done = iqd.command("run", self.folder / "none.yaml")
        self.assertEqual(done.returncode, 2)
        self.assertIn("none.yaml", done.stderr)

    def test_keys_given_twice(self):
        self.refused(self.generate() + "source: {generate: {rate: 2}}\n", "given twice", place=(4, 1))

    def test_topics(self):
        for topic in ('"a b"', '" "', '"a "', '"a\\tb"'):
            self.refused(self.generate(publish=f'port: source, topic: {topic}, bind: "tcp://127.0.0.1:5999"'),
                         "topic", "space")
        self.refused(self.generate(publish='port: source, topic: "", bind: "tcp://127.0.0.1:5999"'), "empty")
        self.refused(self.generate(publish='port: source, bind: "tcp://127.0.0.1:5999"'), "topic", "required")

    def test_endpoints(self):
        self.refused(self.generate(publish="port: source, topic: t"), "bind")
        self.refused(self.generate(publish='port: source, topic: t, bind: "tcp://0.0.0.0:5999"'), "insecure")
        self.refused(self.generate(publish='port: source, topic: t, bind: "tcp://*:5999"'), "insecure")

    def test_entries_of_one_endpoint_that_differ(self):
        first = 'port: source, topic: a, bind: "tcp://127.0.0.1:5999"'
        self.refused(self.generate(publish=f'{first}}}, {{{first}, kind: push'), "kind", "share a socket")
        self.refused(self.generate(publish=f'{first}}}, {{{first}, hwm_bytes: 99'), "hwm_bytes", "share a socket")

    def test_an_endpoint_of_two_pipelines(self):
        one = self.generate().replace("\n", "\n    ").rstrip()
        self.refused(f"pipelines:\n  - name: a\n    {one}\n  - name: b\n    {one}\n", "belongs to pipeline 'a'")

    def test_stages_that_do_not_fit(self):
        self.refused(self.generate("complex_to_mag: {}, conjugate: {}"), "stages[1].conjugate", "cf32", "f32",
                     "complex_to_mag.out", place=(2, 41))
        self.refused(self.generate("spectrum: {}, fir: {taps: [1]}"), "spectrum.out")
        self.refused(self.generate("conjugate: {from: nothing.out}"), "nothing.out", "source")
        self.refused(self.generate("conjugate: {from: {other: source}}"), "no input 'other'")
        self.refused(self.generate(publish='port: nothing.out, topic: t, bind: "tcp://127.0.0.1:5999"'), "nothing.out")

    def test_a_block_that_is_too_small(self):
        self.refused(self.generate("fft: {size: 4096}", 'port: fft.out, topic: t, bind: "tcp://127.0.0.1:5999"',
                                   "block: 1000\n"), "1000", "4096", place=(2, 1))

    def test_memory_that_does_not_fit(self):
        began = time.monotonic()
        self.refused(self.generate(more="block: 268435456\nlanes: 32\n"), "MB", "smaller block", place=(2, 1))
        self.assertLess(time.monotonic() - began, 5)  # reported without trying

    def test_a_gpu_where_there_is_none(self):
        self.write(self.generate(more="backend: cuda\n"))
        done = iqd.command("run", self.path, "--seconds", 0.2)
        if done.returncode == 0:
            self.skipTest("this machine has a GPU")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("backend: cpu", done.stderr)
        self.refused(self.generate(more="backend: gpu\n"), "auto, cpu, cuda")

    def test_a_port_in_use(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            port = taken.getsockname()[1]
            self.write(self.generate(publish=f'port: source, topic: t, bind: "tcp://127.0.0.1:{port}"'))
            done = iqd.command("run", self.path)
            self.assertEqual(done.returncode, 1)
            for word in (str(port), "in use", "choose another"):
                self.assertIn(word, done.stderr)

    def test_radios(self):
        cases = {"driver=iqdsim,scenario=none": "scenario=none", "driver=iqdsim,stall_at=soon": "stall_at"}
        for args, word in cases.items():
            self.write(f'source: {{soapy: {{args: "{args}", rate: 1e6}}}}\n')
            done = iqd.command("run", self.path)
            self.assertEqual(done.returncode, 1)
            self.assertIn(word, done.stderr)
        self.write('source: {soapy: {args: driver=iqdsim, rate: 1e6, channels: [9]}}\n')
        self.assertIn("channel 9", iqd.command("run", self.path).stderr)

    def test_a_rate_that_is_not_granted(self):
        text = 'source: {soapy: {args: "driver=iqdsim,rate_grid=300000", rate: 1e6MORE}}\n'
        self.write(text.replace("MORE", ""))
        done = iqd.command("run", self.path)
        self.assertEqual(done.returncode, 1)
        for word in ("1000000", "900000", "accept_rate"):
            self.assertIn(word, done.stderr)
        with self.daemon(text.replace("MORE", ", accept_rate: true"), "--seconds", 0.3) as daemon:
            self.assertEqual(daemon.wait(), 0, daemon.text)
            self.assertEqual(daemon.final[0]["sample_rate"], 900e3)

    def test_a_rate_that_is_not_granted_is_made(self):
        where = iqd.endpoint()
        text = ('source: {soapy: {args: "driver=iqdsim,scenario=tone,frequency=100000,rate_grid=300000", rate: 1e6, '
                "resample: true, frequency: 1e9}}\nblock: 9000\nstages: [conjugate: {}, conjugate: {name: back}]\n"
                f'publish: [{{port: back, topic: a, bind: "{where}"}}]\n')
        self.write(text)
        self.assertIn("conjugate", iqd.command("explain", self.path).stdout)
        reader = self.reader(where, "a")
        with self.daemon(text, "--wait-subscribers", 1, "--seconds", 0.5) as daemon:
            message = reader.take(3)[2]
            self.assertEqual(daemon.wait(), 0, daemon.text)
            self.assertEqual(daemon.final[0]["sample_rate"], 900e3)
        self.assertEqual(message.x.shape, (10000,))
        self.assertEqual(message.item_rate, 1e6)
        expected = iqd.tone(message.sample // 9 * 10 + np.arange(10000), 100e3, 1e6)
        # Rounding to the radio's 16 bits, and images 80 dB down.
        self.assertLess(np.abs(message.samples - expected).max(), 1e-4)

    def test_overrun_wait_is_not_for_radios(self):
        self.refused("source: {soapy: {args: driver=iqdsim, rate: 1e6}}\noverrun: wait\n", "a radio cannot wait",
                     place=(2, 1))

    def test_the_command_line(self):
        for arguments in (["nothing"], ["run"], ["run", "--fast", "x"], ["stages", "fri"], ["bench", "fri"], [],
                          ["run", "x.yaml", "--status", "xml"], ["sub"], ["sub", "tcp://127.0.0.1:1"]):
            done = iqd.command(*arguments)
            self.assertEqual(done.returncode, 2, (arguments, done.stderr))
            self.assertTrue(done.stderr or done.stdout, arguments)
        self.assertEqual(iqd.command("--help").returncode, 0)


if __name__ == "__main__":
    unittest.main()
