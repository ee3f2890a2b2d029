# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""The shipped pipelines: each is valid and does what its comments promise. $IQD is the program."""

import json
import pathlib
import shutil
import socket
import subprocess
import tempfile
import unittest

import numpy as np
import zmq

import iqd
import telemetry_model as model

ADDRESS = "tcp://127.0.0.1:5555"
MONITOR = "127.0.0.1:9464"
SECONDS = "1.5"


class Pipelines(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory(prefix="iqd-test-")
        self.addCleanup(holder.cleanup)
        self.folder = pathlib.Path(holder.name)

    def iqd(self, *arguments):
        return subprocess.run([iqd.IQD, *arguments], cwd=self.folder, capture_output=True, text=True, timeout=60, check=False)

    def shipped(self, name):
        """A copy of the file with its own addresses."""
        text = (iqd.PIPELINES / f"{name}.yaml").read_text(encoding="utf-8")
        self.address = f"ipc://{self.folder}/{name}"
        path = self.folder / f"{name}.yaml"
        with socket.socket() as door:
            door.bind(("127.0.0.1", 0))
            port = door.getsockname()[1]
        text = text.replace(ADDRESS, self.address).replace(MONITOR, f"127.0.0.1:{port}")
        path.write_text(text, encoding="utf-8")
        for own in [*iqd.PIPELINES.glob("*.cu"), *iqd.PIPELINES.glob("*.py")]:
            shutil.copy(own, self.folder)
        return path

    def check(self, name):
        done = self.iqd("check", str(self.shipped(name)))
        self.assertEqual((done.returncode, done.stderr), (0, ""), name)

    def run_for_a_moment(self, name, topics=()):
        """Runs the file; returns the messages of each topic, the final status of its pipelines, and the log."""
        path = self.shipped(name)
        context = zmq.Context.instance()
        sockets = {}
        for topic in topics:
            sockets[topic] = context.socket(zmq.SUB)
            self.addCleanup(sockets[topic].close, 0)
            sockets[topic].setsockopt(zmq.RCVHWM, 0)
            sockets[topic].subscribe(topic + " ")
            sockets[topic].connect(self.address)
        done = self.iqd("run", str(path), "--seconds", SECONDS, "--status", "json", "--wait-subscribers",
                        str(len(topics)))
        self.assertEqual(done.returncode, 0, done.stderr)
        messages = {topic: [] for topic in topics}
        for topic, socket in sockets.items():
            while socket.poll(200):
                head, payload = socket.recv_multipart()
                messages[topic].append((json.loads(head.split(b" ", 1)[1]), payload))
        pipelines = json.loads(done.stdout.splitlines()[-1])["pipelines"]
        for p in pipelines:
            self.assertGreater(p["published"], 0, p)
            self.assertEqual(p["received"], p["published"] + sum(p["dropped"].values()), p)
        return messages, pipelines, done.stderr

    def test_all_are_tested_here(self):
        shipped = {p.stem for p in iqd.PIPELINES.glob("*.yaml")}
        tested = {name[len("test_"):] for name in dir(self) if name.startswith("test_")} - {"all_are_tested_here"}
        self.assertEqual(tested, shipped)

    def strongest(self, messages):
        """The bin of the first peak in each message."""
        return [int(np.frombuffer(payload, "<f4")[0]) for _, payload in messages]

    def test_hidden_text(self):
        self.check("hidden_text")
        messages, _, _ = self.run_for_a_moment("hidden_text", ["peak"])
        text = "IQD READS THIS 30 dB BELOW THE NOISE -*-"
        read = [(chr(64 + round((b - 2048) * 5e6 / 4096 / (20e6 / 1024))), text[m["sample"] // 1048576 % len(text)])
                for (m, _), b in zip(messages["peak"], self.strongest(messages["peak"]))]
        # The last block of a run is short, and too noisy to read.
        self.assertEqual([c for c, _ in read[:-1]], [c for _, c in read[:-1]])

    def test_spectrum(self):
        self.check("spectrum")
        messages, _, _ = self.run_for_a_moment("spectrum", ["spectrum", "peaks"])
        self.assertEqual({tuple(m["shape"]) for m, _ in messages["spectrum"]}, {(1024,)})
        self.assertEqual(set(self.strongest(messages["peaks"])), {512 + round(1024 * 123456 / 2e6)})

    def test_own_kernel(self):
        if not shutil.which("c++"):
            self.skipTest("no compiler")
        self.check("own_kernel")
        messages, _, _ = self.run_for_a_moment("own_kernel", ["samples", "peaks"])
        self.assertEqual(set(self.strongest(messages["peaks"])), {512 + round(1024 * 123456 / 2e6)})
        # Samples are at most 0.05, so a difference is at most 0.1, and the gain is 2.
        largest = max(np.abs(np.frombuffer(payload, "<c8")).max() for _, payload in messages["samples"])
        self.assertGreater(largest, 0.01)
        self.assertLess(largest, 0.2001)

    def test_python_detector(self):
        self.check("python_detector")
        messages, pipelines, _ = self.run_for_a_moment("python_detector", ["bursts"])
        self.assertEqual({m["shape"][1] for m, _ in messages["bursts"]}, {3})
        bursts = np.concatenate([np.frombuffer(payload, "<i8").reshape(-1, 3) for _, payload in messages["bursts"]])
        bursts = bursts[bursts[:, 0] > 0]
        # A packet of 12,672 samples begins every 50,000; a window has 64.
        late = (bursts[:, 0] + 25000) % 50000 - 25000
        self.assertLess(np.abs(late).max(), 128)
        np.testing.assert_array_equal(np.diff(np.round(bursts[:, 0] / 50000)), 1)
        self.assertLess(np.abs(bursts[:-1, 1] - 12672).max(), 200)
        self.assertEqual(set(self.counted(pipelines, "python").values()), {0})

    def test_service(self):
        self.check("service")
        messages, _, _ = self.run_for_a_moment("service", ["spectrum"])
        self.assertEqual({tuple(m["shape"]) for m, _ in messages["spectrum"]}, {(1024,)})
        line = {int(np.argmax(np.frombuffer(payload, "<f4"))) for _, payload in messages["spectrum"]}
        self.assertEqual(line, {512 + round(1024 * 123456 / 2e6)})

    def test_two_channels(self):
        self.check("two_channels")
        messages, _, _ = self.run_for_a_moment("two_channels", ["samples", "spectrum", "wide"])
        self.assertEqual({m["shape"][0] for m, _ in messages["samples"]}, {2})
        self.assertEqual({m["item_rate"] for m, _ in messages["samples"]}, {1e6})
        self.assertEqual({tuple(m["shape"]) for t in ("spectrum", "wide") for m, _ in messages[t]}, {(2, 1024)})

    def test_loopback_tx(self):
        self.check("loopback_tx")
        messages, pipelines, _ = self.run_for_a_moment("loopback_tx", ["heard"])
        self.assertEqual([p["name"] for p in pipelines], ["transmit", "receive"])
        self.assertEqual(set(self.strongest(messages["heard"])), {512 + round(1024 * 0.15)})

    def test_usrp(self):
        radios = json.loads(self.iqd("probe", "--json").stdout)["radios"]
        if any(r["driver"] == "uhd" and "without UHD" in r["summary"] for r in radios):
            self.skipTest("this iqd was built without UHD")
        self.check("usrp")  # system/uhd runs such a pipeline with a simulated USRP

    def test_record(self):
        self.check("record")
        _, pipelines, _ = self.run_for_a_moment("record")
        meta = json.loads((self.folder / "recording.sigmf-meta").read_text(encoding="utf-8"))
        self.assertEqual(meta["global"]["core:sample_rate"], 5e5)
        size = (self.folder / "recording.sigmf-data").stat().st_size
        self.assertEqual(size, 8 * -(-pipelines[0]["published"] // 4))

    def test_replay(self):
        self.run_for_a_moment("record")
        self.check("replay")
        messages, _, _ = self.run_for_a_moment("replay", ["samples", "power"])
        self.assertEqual({m["dtype"] for m, _ in messages["samples"]}, {"<c8"})
        self.assertEqual(len(messages["samples"]), len(messages["power"]))

    def test_telemetry(self):
        self.check("telemetry")
        messages, pipelines, _ = self.run_for_a_moment("telemetry", ["bits", "soft", "report"])
        for topic, size in (("bits", 6144), ("soft", 6336)):
            self.assertEqual({(m["dims"][0], *m["shape"][1:]) for m, _ in messages[topic]}, {("packet", 1, size)})
        # A machine that is too slow drops blocks, but decodes the others correctly.
        counted = {e["event"]: e["count"] for e in pipelines[0]["events"] if e["stage"] == "ber_meter"}
        self.assertGreater(counted["packets"], 0)
        self.assertLess(counted["bit_errors"], 3e-3 * counted["bits"])

    def test_telemetry_five(self):
        self.check("telemetry_five")
        messages, pipelines, _ = self.run_for_a_moment("telemetry_five", ["bits", "soft", "report"])
        self.assertEqual({tuple(m["shape"][1:]) for m, _ in messages["bits"]}, {(5, 6144)})
        events = [e for e in pipelines[0]["events"] if e["stage"] == "ber_meter"]
        bits, errors = ({e["kind"]: e["count"] for e in events if e["event"] == of} for of in ("bits", "bit_errors"))
        self.assertEqual(set(bits), {"zf", "mmse", "cma", "fde1", "fde2"})
        for kind, count in bits.items():
            self.assertGreater(count, 0, kind)
            self.assertLess(errors[kind], 1e-3 * count + 50, kind)

    def test_telemetry_coded(self):
        self.check("telemetry_coded")
        messages, pipelines, _ = self.run_for_a_moment("telemetry_coded", ["bits", "failed"])
        self.assertEqual({tuple(m["shape"][1:]) for m, _ in messages["bits"]}, {(4096,)})
        self.assertEqual({any(payload) for _, payload in messages["failed"]}, {False})
        counted = {e["event"]: e["count"] for e in pipelines[0]["events"] if e["stage"] == "ber_meter"}
        self.assertGreater(counted["bits"], 0)
        self.assertEqual((counted["bit_errors"], counted["unaligned"]), (0, 0))

    def test_telemetry_batch(self):
        self.check("telemetry_batch")  # its ring alone is half a gigabyte

    def test_telemetry_file(self):
        sent = np.random.default_rng(1).integers(0, 2, (3, 6144)).astype(np.uint8)
        x = 0.1 * model.recording(sent, "awgn", 16, w=0.01, lead=500, rng=np.random.default_rng(2))
        iqd.write_recording(self.folder / "recording", x.astype(np.complex64), rate=model.RATE)
        self.check("telemetry_file")
        messages, _, _ = self.run_for_a_moment("telemetry_file", ["bits", "channel"])
        self.assertEqual([p["start"] for m, _ in messages["bits"] for p in m["packets"]],
                         [500 + 12672 * p for p in range(3)])
        bits = np.concatenate([np.frombuffer(payload, "u1").reshape(m["shape"]) for m, payload in messages["bits"]])
        np.testing.assert_array_equal(bits, np.repeat(sent[:, None], 5, axis=1))

    def counted(self, pipelines, stage):
        return {e["event"]: e["count"] for e in pipelines[0]["events"] if e["stage"] == stage}

    def test_ook(self):
        self.check("ook")
        messages, pipelines, _ = self.run_for_a_moment("ook", ["frames", "level"])
        frames = np.concatenate([np.frombuffer(payload, "u1").reshape(m["shape"]) for m, payload in messages["frames"]])
        self.assertEqual(set(frames[:, 0]), {90})
        counted = self.counted(pipelines, "framer")
        self.assertEqual((counted["good"], counted["bad_crc"]), (len(frames), 0))
        self.assertEqual({m["item_rate"] for m, _ in messages["level"]}, {5e4})

    def test_fsk_text(self):
        self.check("fsk_text")
        messages, pipelines, _ = self.run_for_a_moment("fsk_text", ["text", "frequency"])
        read = [payload[64 * i:][:fact["length"]][5:] for m, payload in messages["text"]
                for i, fact in enumerate(m["packets"])]
        self.assertEqual(set(read), {b" The simulated radio says hello."})
        self.assertEqual(self.counted(pipelines, "framer")["good"], len(read))
        self.assertEqual({m["dtype"] for m, _ in messages["frequency"]}, {"<f4"})

    def test_fm_mono(self):
        self.check("fm_mono")
        messages, _, _ = self.run_for_a_moment("fm_mono", ["audio"])
        sound = b"".join(payload for _, payload in messages["audio"])
        self.assertGreater(len(sound), 4 * 24000)
        self.assertTrue((self.folder / "fm_mono.wav").read_bytes().endswith(sound))

    def test_qpsk(self):
        self.check("qpsk")
        messages, pipelines, _ = self.run_for_a_moment("qpsk", ["bits", "llr", "symbols"])
        self.assertEqual({m["shape"][1] for t in ("bits", "llr") for m, _ in messages[t]}, {2})
        counted = self.counted(pipelines, "ber_meter")
        self.assertGreater(counted["bits"], 1e5)
        self.assertLess(counted["bit_errors"], 1e-4 * counted["bits"])

    def test_mimo_2x2_5mhz(self):
        self.check("mimo_2x2_5mhz")
        messages, pipelines, _ = self.run_for_a_moment("mimo_2x2_5mhz", ["bits", "llr", "report"])
        self.assertEqual({(m["dims"][0], *m["shape"][1:]) for m, _ in messages["bits"]}, {("frame", 11, 1152)})
        self.assertEqual({tuple(m["shape"][1:]) for m, _ in messages["llr"]}, {(288, 11, 2, 4)})
        counted = {e["event"]: e["count"] for e in pipelines[0]["events"] if e["stage"] == "ber_meter"}
        self.assertGreater(counted["packets"], 0)
        self.assertEqual(counted["packet_errors"], 0)

    def test_mimo_mobile(self):
        self.check("mimo_mobile")
        messages, pipelines, _ = self.run_for_a_moment("mimo_mobile", ["bits", "noise"])
        self.assertEqual({(m["dims"][0], *m["shape"][1:]) for m, _ in messages["noise"]}, {("frame", 25, 4, 4)})
        moves = [frame["doppler"] for m, _ in messages["bits"] for frame in m["frames"]]
        self.assertTrue(0.05 < np.median(moves) < 0.8, moves)
        counted = self.counted(pipelines, "ber_meter")
        self.assertGreater(counted["packets"], 100)
        self.assertLess(counted["packet_errors"], 0.02 * counted["packets"])

    def test_mimo_adaptive(self):
        self.check("mimo_adaptive")
        messages, pipelines, _ = self.run_for_a_moment("mimo_adaptive", ["bits", "modulation"])
        seen = {tuple(map(int, own)) for m, x in messages["modulation"]
                for own in np.frombuffer(x, np.uint8).reshape(m["shape"])}
        self.assertEqual(seen, {(6, 6, 4, 4), (4, 0, 2, 2)})
        counted = self.counted(pipelines, "ber_meter")
        self.assertGreater(counted["packets"], 100)
        self.assertEqual(counted["packet_errors"], 0)

    def test_mimo_second_pass(self):
        self.check("mimo_second_pass")
        messages, pipelines, _ = self.run_for_a_moment("mimo_second_pass", ["bits"])
        self.assertEqual({(m["dims"][0], *m["shape"][1:]) for m, _ in messages["bits"]}, {("frame", 11, 1152)})
        self.assertTrue(all("doppler" in frame for m, _ in messages["bits"] for frame in m["frames"]))
        counted, words = self.counted(pipelines, "ber_meter"), self.counted(pipelines, "merge_words")
        self.assertGreater(words["mended"], 0.02 * words["words"])
        self.assertLess(words["failed"], 0.5 * words["mended"])
        self.assertLessEqual(counted["packet_errors"], words["failed"] + 3, "a word is wrong that has not failed")

    def test_mimo_cheap_radio(self):
        self.check("mimo_cheap_radio")
        messages, pipelines, _ = self.run_for_a_moment("mimo_cheap_radio", ["bits", "flaws"])
        flaws = np.array([np.frombuffer(data, "<f4") for _, data in messages["flaws"]]).reshape(-1, 2, 4)
        np.testing.assert_allclose(np.median(flaws[-10:], (0, 1)), (-35, -22.8, 1, -5), atol=0.6)
        clocks = [frame["clock_ppm"] for m, _ in messages["bits"] for frame in m["frames"]]
        self.assertAlmostEqual(np.median(clocks), 20, delta=2)
        counted = self.counted(pipelines, "ber_meter")
        self.assertGreater(counted["packets"], 100)
        self.assertLess(counted["packet_errors"], 0.02 * counted["packets"])

    def test_mimo_nr_code(self):
        self.check("mimo_nr_code")
        messages, pipelines, _ = self.run_for_a_moment("mimo_nr_code", ["bits"])
        self.assertEqual({tuple(m["shape"][1:]) for m, _ in messages["bits"]}, {(2, 8424)})
        counted = self.counted(pipelines, "ber_meter")
        self.assertGreater(counted["packets"], 100)
        self.assertLess(counted["packet_errors"], 0.02 * counted["packets"])

    def test_mimo_4x4_20mhz(self):
        self.check("mimo_4x4_20mhz")

    def test_noma_16x6(self):
        self.check("noma_16x6")

    def test_noma_coded(self):
        self.check("noma_coded")  # system/noma_coded runs it at a lower rate

    def test_noma_tx(self):
        self.check("noma_tx")
        _, pipelines, _ = self.run_for_a_moment("noma_tx")
        self.assertGreater(pipelines[0]["published"], 74528)

    def test_dpd_lte10(self):
        self.check("dpd_lte10")  # system/dpd runs this and the next one at a lower rate

    def test_dpd_ca3(self):
        self.check("dpd_ca3")

    def test_dpd_warp(self):
        self.check("dpd_warp")  # system/warp runs it


if __name__ == "__main__":
    unittest.main()
