# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""The memory that `iqd explain` states is how much the daemon grows; a pipeline that does not fit is refused."""

import json
import os
import pathlib
import re
import resource
import time
import unittest

import iqd
from door import Door

# Relative to the sum. CODE_MB is for what a sum of buffers leaves out: code pages that only this pipeline runs (the
# stages of mimo_2x2_5mhz touch 1 MB), and heap that the C library keeps after the file has been read.
SHARE = 0.10
CODE_MB = 2.5

GENERATE = "{generate: {rate: 40 MS/s, pace: true}}"
SOAPY = '{soapy: {args: "driver=iqdsim,scenario=tone", rate: 2 MS/s}}'


def topics(count, port="source", same=True, more=""):
    shared = iqd.endpoint()
    return "".join(f'  - {{port: {port}, topic: t{i}, bind: "{shared if same else iqd.endpoint()}"{more}}}\n'
                   for i in range(count))


def document(source=GENERATE, count=1, more="", **options):
    return f"name: test\nsource: {source}\n{more}publish:\n{topics(count, **options)}"


def resident_mb(pid):
    """The maximum of a few readings."""
    def look():
        time.sleep(0.02)
        return int((pathlib.Path("/proc") / str(pid) / "statm").read_text().split()[1])
    return max(look() for _ in range(10)) * os.sysconf("SC_PAGESIZE") / 1e6


class Explain(iqd.SystemTest):
    def said(self, text):
        """From `iqd explain`: resident memory in MB, the ring's samples, and the output."""
        path = self.folder / "explained.yaml"
        path.write_text(text, encoding="utf-8")
        run = iqd.command("explain", path)
        self.assertEqual(run.returncode, 0, run.stderr)
        found = re.findall(r"^  memory +([\d.]+) MB\b", run.stdout, re.M)
        rings = re.findall(r"ring of (\d+) samples", run.stdout)
        return sum(map(float, found)), max(map(int, rings), default=0), run.stdout

    def taken(self, text, ring):
        """The daemon's memory in MB once the ring has filled and windows have wrapped around."""
        with self.daemon(text) as daemon:
            daemon.wait_for(lambda p: p["received"] > 4 * ring + 100_000 and p["blocks"] > 3, 60)
            mb = resident_mb(daemon.process.pid)
            self.assertEqual(daemon.stop(), 0, daemon.text)
        return mb

    def growth(self, text, idle):
        """What `iqd explain` states beyond an idle daemon, and by how much the daemon really grows."""
        said, ring, listed = self.said(text)
        said_idle, ring_idle, _ = self.said(idle)
        return said - said_idle, self.taken(text, ring) - self.taken(idle, ring_idle), listed

    def assertExplained(self, text, idle):
        said, grown, listed = self.growth(text, idle)
        print(f"explain {said:8.2f} MB, resident {grown:8.2f} MB")
        self.assertLess(abs(grown - said), SHARE * max(said, grown) + CODE_MB, listed)

    def idle(self, source=GENERATE):
        return document(source, more="block: 1000\nlanes: 1\n")

    def test_topics(self):
        for count in (1, 50):
            with self.subTest(topics=count):
                self.assertExplained(document(SOAPY, count), self.idle(SOAPY))

    def test_addresses(self):
        self.assertExplained(document(count=20, same=False), self.idle())

    def test_large_blocks(self):
        self.assertExplained(document(more="block: 1048576\nlanes: 3\n"), self.idle())

    def test_windows_that_reach_back(self):
        for block in (65536, 50_000):
            with self.subTest(block=block):
                stages = "stages:\n  - dc_block: {length: 200000}\n"
                self.assertExplained(document(port="dc_block.out", more=f"block: {block}\nlanes: 2\n{stages}"), self.idle())

    def test_many_channels(self):
        self.assertExplained(document("{generate: {rate: 4 MS/s, pace: true, channels: 16}}"), self.idle())

    def test_sinks(self):
        text = document("{generate: {rate: 10 MS/s, pace: true, channels: 2}}", more="block: 200000\n")
        for sink in (f"file: {{path: {self.folder}/a}}", f"file: {{path: {self.folder}/b.npy}}",
                     "recall: {name: here, keep: 0.5 s}",
                     f'file: {{path: {self.folder}/c, trigger: {{when: "level > 0 dB", pre: 0.3 s}}}}'):
            with self.subTest(sink=sink):
                self.assertExplained(text + f"sinks:\n  - {{port: source, {sink}}}\n", self.idle())
                for file in self.folder.glob("[abc].*"):
                    file.unlink()

    def test_shipped_pipelines(self):
        """Compares with an idle pipeline on the same radio: nobody knows what its module takes before it is open."""
        for name in ("spectrum", "telemetry", "mimo_2x2_5mhz", "two_channels"):
            with self.subTest(pipeline=name):
                text = (iqd.PIPELINES / f"{name}.yaml").read_text(encoding="utf-8")
                text = re.sub(r"tcp://127.0.0.1:\d+", iqd.endpoint(), text)
                text = re.sub(r"^monitor:.*$", "", text, flags=re.M)
                radio = re.search(r"^source:\n(  .*\n)+", text, re.M)[0]
                self.assertExplained(text, f"name: idle\n{radio}block: 1000\nlanes: 1\npublish:\n{topics(1)}")

    def test_locked_memory(self):
        limit = resource.getrlimit(resource.RLIMIT_MEMLOCK)[0]
        capabilities = int(re.search(r"CapEff:\s+(\w+)", pathlib.Path("/proc/self/status").read_text())[1], 16)
        if limit != resource.RLIM_INFINITY and not capabilities & (1 << 14):
            self.skipTest("this process may not lock its memory")
        locked = "realtime: {lock_memory: true}\n"
        self.assertExplained(document(more=f"block: 262144\n{locked}"), document(more=f"block: 1000\nlanes: 1\n{locked}"))


class Refusal(iqd.SystemTest):
    def check(self, text, *limits):
        path = self.folder / "checked.yaml"
        path.write_text(text, encoding="utf-8")
        def limit():
            for which, most in limits:
                resource.setrlimit(which, (most, most))
        return iqd.command("check", path, preexec_fn=limit)

    def test_the_largest_blocks(self):
        run = self.check(document("{generate: {rate: 1 MS/s, channels: 64}}", more="block: 268435456\n"))
        self.assertEqual(run.returncode, 2, run.stdout)
        self.assertRegex(run.stderr, r"block: blocks of 268435456 samples and \d+ lanes need \d{7,} MB \(\d+ result "
                                     r"slots \d{6,}, ring of \d+ samples \d{6,}.*\), but \d+ MB (are free|are left)")

    def test_several_pipelines_that_fit_one_by_one(self):
        room = (resource.RLIMIT_AS, 3 << 30)
        one = "  - {name: NAME, source: {generate: {rate: 1 MS/s}}, block: 10000000, lanes: 1, sinks: []}\n"
        fits = "pipelines:\n" + "".join(one.replace("NAME", f"p{i}") for i in range(2))
        self.assertEqual(self.check(fits, room).returncode, 0, fits)
        many = "pipelines:\n" + "".join(one.replace("NAME", f"p{i}") for i in range(9))
        run = self.check(many, room)
        self.assertEqual(run.returncode, 2)
        self.assertRegex(run.stderr, r"MB may still be mapped .* beside the \d+ MB of other pipelines")

    def test_a_thousand_topics(self):
        """With one address they start; many addresses take more descriptors than a process usually may have."""
        text = document(count=1000)
        self.assertEqual(self.check(text).returncode, 0)
        with self.daemon(text) as daemon:
            daemon.wait_for(lambda p: p["published"] > 100_000)
            self.assertLess(resident_mb(daemon.process.pid), 200)
            self.assertEqual(daemon.stop(), 0, daemon.text)
        run = self.check(document(count=150, same=False), (resource.RLIMIT_NOFILE, 1024))
        self.assertEqual(run.returncode, 2, run.stdout)
        self.assertRegex(run.stderr, r"take 1\d\d\d descriptors, .* may still be opened; let topics share addresses")

    def test_a_reload(self):
        """A change that does not fit is refused with the sum, and the pipelines keep running."""
        text = document(more='block: 65536\nmonitor: {listen: "127.0.0.1:0"}\n')
        with self.daemon(text) as daemon:
            door = Door(daemon)
            daemon.wait_for(lambda p: p["received"] > 100_000)
            room = 600 << 20
            status = pathlib.Path(f"/proc/{daemon.process.pid}/status").read_text(encoding="utf-8")
            mapped = int(re.search(r"VmSize:\s+(\d+)", status)[1]) * 1024
            resource.prlimit(daemon.process.pid, resource.RLIMIT_AS, (mapped + room, resource.RLIM_INFINITY))
            file = self.folder / "pipeline.yaml"
            file.write_text(text.replace("65536", "8388608"), encoding="utf-8")
            code, answer = door.change("POST", "/api/reload")
            self.assertEqual(code, 422, answer)
            self.assertRegex(str(answer), r"block: blocks of 8388608 samples and \d+ lanes need \d+ MB \(.*ring of .*\), "
                                          r"but \d+ MB may still be mapped")
            file.write_text(text.replace("65536", "70000"), encoding="utf-8")
            self.assertEqual(door.change("POST", "/api/reload")[0], 200, daemon.text)
            before = door.status()["published"]
            daemon.wait_for(lambda p: p["published"] > before + 100_000)
            self.assertEqual(daemon.stop(), 0, daemon.text)
            self.assertConserved(daemon.final[0])

    def test_changes_without_a_free_descriptor(self):
        """A change that needs no descriptor is made."""
        text = document(more='stages: [{multiply_const: {value: 1}}]\nmonitor: {listen: "127.0.0.1:0"}\n')
        with self.daemon(text) as daemon:
            door = Door(daemon)
            daemon.wait_for(lambda p: p["received"] > 100_000)
            open_now = len(os.listdir(f"/proc/{daemon.process.pid}/fd"))
            hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
            resource.prlimit(daemon.process.pid, resource.RLIMIT_NOFILE, (open_now + 12, hard))
            for value in (2, 3):
                self.assertEqual(door.change("PATCH", "/api/stages/multiply_const", {"value": value})[0], 200, daemon.text)
            self.assertEqual(daemon.stop(), 0, daemon.text)

    def test_the_status_has_the_same_list(self):
        text = document(more='block: 200000\nlanes: 2\nmonitor: {listen: "127.0.0.1:0"}\n')
        with self.daemon(text) as daemon:
            door = Door(daemon)
            memory = json.loads(door.get("/api/pipeline"))["pipelines"][0]["memory"]
            self.assertEqual(door.status()["resident_bytes"], memory["resident_bytes"])
            daemon.stop()
        sum_of = {need["what"]: need["bytes"] for need in memory["needs"]}
        self.assertEqual(sum_of["ring of 800000 samples"] % (200_000 * 8), 0)
        self.assertLessEqual(sum(sum_of.values()), memory["resident_bytes"])
        explained = iqd.command("explain", self.folder / "pipeline.yaml").stdout
        for what, size in sum_of.items():
            if size > 100_000 and "file" not in what and "plan" not in what:
                self.assertIn(f"{size / 1e6:.2f}  {what}", explained)


if __name__ == "__main__":
    unittest.main()
