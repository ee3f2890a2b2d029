# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""The shipped MIMO receivers: from the live simulated radio to bits."""

import unittest

import numpy as np

import iqd
import ofdm_model

# What the files set on the radio, and the radio's own constants.
SNR, OFFSET, LEVEL, START, PERIOD = 25, 3000, -20, 1001, 16
WORD = 1152
TWO, FOUR = "mimo_2x2_5mhz", "mimo_4x4_20mhz"
FORMATS = {TWO: (7.68e6, 7680, 11), FOUR: (30.72e6, 30720, 108)}  # rate, samples and words of a frame


class Mimo(iqd.SystemTest):
    def document(self, more="", *, name=TWO, slower=16, changes=()):
        """The shipped file at a lower rate, so that no machine loses samples; `more` extends the radio's arguments."""
        self.where = iqd.endpoint()
        self.rate, self.frame, self.words = FORMATS[name]
        text = (iqd.PIPELINES / f"{name}.yaml").read_text(encoding="utf-8")
        for old, new in (("delay_spread=1e-7", f"delay_spread={slower}e-7{more}"), ("tcp://127.0.0.1:5555", self.where),
                         (f"{self.rate / 1e6} MS/s", f"{self.rate / slower} S/s"),
                         ("127.0.0.1:9464", f"127.0.0.1:{iqd.free_port()}"), *changes):
            self.assertIn(old, text)
            text = text.replace(old, new)
        self.rate /= slower
        return text

    def play(self, text, seconds=1.5):
        """The messages of a run by topic, the counts by (stage, event), and the final status."""
        topics = ("bits", "llr", "report")
        readers = [self.reader(self.where, topic) for topic in topics]
        with self.daemon(text, "--seconds", seconds, "--wait-subscribers", 1) as daemon:
            self.assertEqual(daemon.wait(60), 0, daemon.text)
            status = daemon.final[0]
        self.assertConserved(status)
        counted = {(e["stage"], e["event"]): e["count"] for e in status["events"] if "kind" not in e}
        return {topic: reader.rest() for topic, reader in zip(topics, readers)}, counted, status

    def assertReceived(self, messages, counted):
        """The bits are the sent ones at the right positions. Returns the frame numbers."""
        sent = ofdm_model.pn(23, np.arange(PERIOD * self.words * WORD)).reshape(PERIOD, self.words, WORD)
        frames = []
        for m in messages["bits"]:
            self.assertEqual((m.dims[0], m.x.shape[1:]), ("frame", (self.words, WORD)))
            for fact, words in zip(m.frames, m.x):
                frame = round((fact["start"] - START) / self.frame)
                self.assertLessEqual(abs(fact["start"] - START - frame * self.frame), 8, fact)
                np.testing.assert_array_equal(words, sent[frame % PERIOD], str(fact))
                frames.append(frame)
        self.assertEqual(frames, sorted(set(frames)))
        self.assertEqual(counted["ofdm_sync", "found"], len(frames))
        self.assertEqual(counted["ber_meter", "packets"], self.words * len(frames))
        for event in (("ber_meter", "bit_errors"), ("ber_meter", "packet_errors"), ("ldpc_decoder", "failed")):
            self.assertEqual(counted[event], 0, counted)
        return frames

    def assertComplete(self, frames, status, seconds):
        """No frame is missing, except at the ends, where frames may be cut and the stream starts and stops."""
        self.assertEqual(sum(status["dropped"].values()) + status["lost"], 0, status)
        self.assertEqual(frames, list(range(frames[0], frames[0] + len(frames))))
        self.assertGreater(len(frames), 0.7 * seconds * self.rate / self.frame)

    def test_two_by_two(self):
        messages, counted, status = self.play(self.document(), 3)
        self.assertComplete(self.assertReceived(messages, counted), status, 3)
        facts = [fact for m in messages["bits"] for fact in m.frames]
        self.assertLess(max(abs(f["offset_hz"] - OFFSET) for f in facts), 10)
        # The noise on a carrier is SNR below the power of all antennas together.
        self.assertAlmostEqual(10 * np.log10(np.mean([f["noise"] for f in facts])), LEVEL - SNR, delta=0.5)
        self.assertEqual(messages["llr"][0].x.shape[1:], (288, 11, 2, 4))

    def test_four_by_four(self):
        keys = "fft: 2048, carriers: 1200, prefix: 144, frame: 30720, tx: 4"
        changes = [(f"&frame {{{keys}}}", f"{{{keys}, max_offset: 4 kHz}}"),
                   ("demod: *frame", f"demod: &frame {{{keys}}}")]
        # With sanitizers it is too slow even for this rate: blocks are dropped, and the others are right.
        messages, counted, _ = self.play(self.document(name=FOUR, slower=96, changes=changes), 3)
        self.assertGreater(len(self.assertReceived(messages, counted)), 0)
        llr = messages["llr"][0]
        self.assertEqual((llr.x.shape[1:], llr.x.dtype, llr.llr_scale), ((1152, 9, 4, 6), np.int8, 0.25))

    def test_at_the_full_rate(self):
        """A machine that is too slow drops blocks, but decodes the others correctly."""
        messages, counted, _ = self.play(self.document(slower=1))
        self.assertGreater(len(self.assertReceived(messages, counted)), 0)

    def test_more_antennas_than_send(self):
        # Half the rate of the other tests and half their offset, since the offset range is a number of carriers.
        text = self.document(",rx=4,snr=16", slower=32, changes=[("channels: [0, 1]", "channels: [0, 1, 2, 3]"),
                                                                 (f"offset={OFFSET}", f"offset={OFFSET // 2}")])
        messages, counted, status = self.play(text)
        self.assertComplete(self.assertReceived(messages, counted), status, 1.5)

    def test_antennas_that_differ_in_level(self):
        messages, counted, status = self.play(self.document(",levels=0/-40"))
        self.assertComplete(self.assertReceived(messages, counted), status, 1.5)

    def test_what_is_lost_takes_its_frame_along(self):
        lost = 100
        messages, counted, status = self.play(self.document(f",overflow_every=100000,overflow_lost={lost}"))
        frames = self.assertReceived(messages, counted)
        times = status["lost"] // lost
        self.assertGreater(times, 5)
        self.assertGreater(counted["ofdm_sync", "cut"], 0)
        # One of 13 frames is cut, and perhaps its neighbour.
        self.assertGreater(len(frames), 0.7 * (frames[-1] - frames[0]))

    def test_without_frames_there_are_no_messages(self):
        messages, counted, _ = self.play(self.document(",scenario=noise"))
        self.assertEqual((messages["bits"], messages["llr"]), ([], []))
        self.assertGreater(len(messages["report"]), 0)
        self.assertEqual(sum(int(m.x.sum()) for m in messages["report"]), 0)
        self.assertEqual(counted["ofdm_sync", "found"], 0, counted)

    def test_too_much_noise_for_the_code(self):
        messages, counted, _ = self.play(self.document(",snr=5"))
        self.assertGreater(counted["ldpc_decoder", "failed"], 0)
        self.assertEqual(counted["ldpc_decoder", "words"], self.words * counted["ofdm_sync", "found"])
        for m in messages["llr"]:
            self.assertTrue(np.isfinite(m.x).all())

    def refused(self, code, channels, *words):
        path = self.folder / "refused.yaml"
        path.write_text(self.document(changes=[("channels: [0, 1]", f"channels: {channels}")]), encoding="utf-8")
        done = iqd.command("run", path)
        self.assertEqual(done.returncode, code, done.stderr)
        for word in words:
            self.assertIn(word, done.stderr)

    def test_fewer_antennas_than_send(self):
        self.refused(2, [0], "mtt_detector", "no more transmit antennas")

    def test_more_channels_than_the_radio_has(self):
        self.refused(1, [0, 1, 2], "there is no receive channel 2; the radio has 2")


if __name__ == "__main__":
    unittest.main()
