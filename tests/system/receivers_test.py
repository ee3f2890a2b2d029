# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""The shipped receivers: from the live simulated radio to bytes, text, sound and bits. $IQD is the program."""

import math
import struct
import subprocess
import time
import unittest

import numpy as np

import iqd


def wav(path):
    """(rate, samples [n]) of a WAV file of floats, read chunk by chunk."""
    data = path.read_bytes()
    assert data[:4] == b"RIFF" and data[8:12] == b"WAVE", data[:12]
    at = 12
    while True:
        name, size = data[at:at + 4], struct.unpack_from("<I", data, at + 4)[0]
        if name == b"fmt ":
            code, channels, rate = struct.unpack_from("<HHI", data, at + 8)
            assert (code, channels) == (3, 1)
        if name == b"data":
            return rate, np.frombuffer(data[at + 8:at + 8 + size], "<f4")
        at += 8 + size


class Receivers(iqd.SystemTest):
    def document(self, name, *changes):
        """The shipped file with its own addresses; `changes`: pairs of old and new."""
        self.where = iqd.endpoint()
        text = (iqd.PIPELINES / f"{name}.yaml").read_text(encoding="utf-8")
        for old, new in (("tcp://127.0.0.1:5555", self.where), *changes):
            self.assertIn(old, text)
            text = text.replace(old, new)
        return text.replace("127.0.0.1:9464", f"127.0.0.1:{iqd.free_port()}")

    def play(self, text, *topics, seconds=1.5):
        """The messages of a run by topic, and the final status; asserts that nothing was lost."""
        readers = [self.reader(self.where, topic) for topic in topics]
        with self.daemon(text, "--seconds", seconds, "--wait-subscribers", len(topics)) as daemon:
            self.assertEqual(daemon.wait(60), 0, daemon.text)
            status = daemon.final[0]
        self.assertConserved(status)
        self.assertEqual(sum(status["dropped"].values()) + status["lost"], 0, status)
        return [reader.rest() for reader in readers], status

    @staticmethod
    def counted(status, stage):
        return {e["event"]: e["count"] for e in status["events"] if e["stage"] == stage}

    def test_ook_readings_are_those_that_were_sent(self):
        (messages,), status = self.play(self.document("ook"), "frames")
        facts = [fact for m in messages for fact in m.packets]
        frames = np.concatenate([m.x for m in messages])
        self.assertEqual([fact["length"] for fact in facts], [5] * len(frames))
        number = np.arange(frames[0, 1], frames[0, 1] + len(frames))
        tenths = 190 + number % 50
        np.testing.assert_array_equal(
            frames, np.stack([0 * number + 90, number, tenths >> 8, tenths & 255, 40 + number % 20], axis=1))
        # A frame every 0.1 s by a clock that is 300 ppm fast; a chip is 62.5 samples.
        start = np.array([fact["start"] for fact in facts])
        np.testing.assert_allclose(start - start[0], (number - number[0]) * 25e3 / (1 + 300e-6), atol=15)
        counted = self.counted(status, "framer")
        self.assertEqual(counted["good"], len(frames))
        self.assertEqual(counted["bad_crc"] + counted["bad_length"], 0, counted)
        self.assertGreaterEqual(len(frames), 0.8 * status["received"] / 25e3 - 1)

    def test_ook_of_other_codings(self):
        for coding, zero, one in (("manchester", "01", "10"), ("plain", "0", "1")):
            text = self.document("ook", ("scenario=ook", f"scenario=ook,coding={coding}"),
                                 ('zero: "100"', f'zero: "{zero}"'), ('one: "110"', f'one: "{one}"'))
            (messages,), status = self.play(text, "frames", seconds=0.6)
            numbers = np.concatenate([m.x for m in messages])[:, 1]
            self.assertGreaterEqual(len(numbers), 4)
            np.testing.assert_array_equal(np.diff(numbers), 1)
            self.assertEqual(self.counted(status, "framer")["bad_crc"], 0)

    def test_fsk_text_comes_out_as_it_was_sent(self):
        said = "Grüße: 73 de iqd."
        text = self.document("fsk_text", ("scenario=fsk", f"scenario=fsk,text={said}"))
        reader = subprocess.Popen([iqd.IQD, "sub", self.where, "text", "--text", "--count", "8"],
                                  stdout=subprocess.PIPE, text=True, encoding="utf-8")
        with self.daemon(text, "--wait-subscribers", 1, "--seconds", 8) as daemon:
            out, _ = reader.communicate(timeout=30)
            daemon.stop()
            status = daemon.final[0]
        lines = [line for line in out.splitlines() if line.endswith(said)]
        self.assertGreaterEqual(len(lines), 8)
        first = int(lines[0][:5])
        self.assertEqual(lines, [f"{first + i:05d} {said}" for i in range(len(lines))])
        counted = self.counted(status, "framer")
        self.assertGreaterEqual(counted["good"], len(lines))
        self.assertEqual(counted["bad_crc"] + counted["bad_length"], 0, counted)

    def test_fsk_with_noise_gives_right_frames_or_none(self):
        (messages,), status = self.play(self.document("fsk_text", ("snr=8", "snr=-3")), "text")
        counted = self.counted(status, "framer")
        self.assertGreater(counted["bad_crc"], 0, "there is too little noise for this test")
        for m in messages:
            for fact, row in zip(m.packets, m.x):
                self.assertEqual(bytes(row[:fact["length"]])[5:], b" The simulated radio says hello.")

    def test_fm_tones_are_in_the_file(self):
        path = self.folder / "station.wav"
        (messages,), _ = self.play(self.document("fm_mono", ("path: fm_mono.wav", f"path: {path}")), "audio")
        rate, x = wav(path)
        self.assertEqual(rate, 48000)
        np.testing.assert_array_equal(x, np.concatenate([m.x for m in messages]))
        x = x[4800:4800 + 48000].astype(float)  # one second, after the filters have settled
        self.assertEqual(len(x), 48000)
        lines = np.fft.rfft(x) / len(x)
        # The tones use 0.9 of the deviation: each tone has a fifth, and each side contributes half to the sum.
        for hz, sides in ((400, 1), (1000, 1), (3000, 2)):
            self.assertAlmostEqual(20 * math.log10(2 * abs(lines[hz]) / (0.9 * 0.2 * sides / 2)), 0, delta=0.15)
        self.assertAlmostEqual(lines[0].real, 2000 / 75000, delta=1e-4)  # the carrier's offset
        power = 2 * np.abs(lines) ** 2
        tones = power[[400, 1000, 3000]].sum()
        self.assertGreater(10 * math.log10(tones / (power[1:].sum() - tones)), 40)
        self.assertLess(10 * math.log10(power[18900:19100].max() / tones), -60, "the pilot is filtered out")

    def test_fm_file_of_a_killed_process_plays(self):
        path = self.folder / "station.wav"
        text = self.document("fm_mono", ("path: fm_mono.wav", f"path: {path}"))
        with self.daemon(text) as daemon:
            daemon.wait_for(lambda p: p["published"] > 1.8e6)
            time.sleep(0.1)
            daemon.process.kill()
            daemon.process.wait()
        _, x = wav(path)
        self.assertGreater(len(x), 0.4 * 48000)

    def test_qpsk_errors_are_those_of_theory(self):
        eb_n0 = 10 ** 0.6
        (bits,), status = self.play(self.document("qpsk", ("ebn0=10", "ebn0=6")), "bits", seconds=2)
        counted = self.counted(status, "ber_meter")
        self.assertGreater(counted["bits"], 300e3)
        self.assertEqual(counted["unaligned"], 0)
        self.assertLessEqual(sum(m.x.size for m in bits) - counted["bits"], 4000)
        # Differential: a wrong symbol makes two steps wrong, this and the next.
        theory = math.erfc(math.sqrt(eb_n0)) * (1 - math.erfc(math.sqrt(eb_n0)) / 2)
        rate = counted["bit_errors"] / counted["bits"]
        self.assertGreater(rate, 0.9 * theory)
        self.assertLess(rate, 1.4 * theory)

    def test_qpsk_without_much_noise_has_no_errors_and_a_small_evm(self):
        (levels,), status = self.play(self.document("qpsk", ("ebn0=10", "ebn0=20")), "evm")
        counted = self.counted(status, "ber_meter")
        self.assertGreater(counted["packets"], 100)
        # The matched filter lags by 11 symbols, so the first 22 bits were not sent.
        self.assertLessEqual(counted["packet_errors"], 1, counted)
        self.assertLessEqual(counted["bit_errors"], 22, counted)
        level = np.array([m.x[2] for m in levels[1:] if m.x[3] > 1000])
        self.assertAlmostEqual(np.mean(level), 1, delta=0.02)  # that is agc's target
        evm = np.array([m.x[0] for m in levels[1:] if m.x[3] > 1000])
        self.assertGreater(len(evm), 10)
        self.assertAlmostEqual(10 * math.log10(np.mean(evm ** 2)), -23, delta=0.3)  # noise over symbols, 1 / (2 Eb/N0)


if __name__ == "__main__":
    unittest.main()
