# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""Antennas whose modulation changes, live: from frame to frame, and by PATCH at the transmitter or at the receiver."""

import unittest

import numpy as np

import iqd

START, FRAME, SLOWER = 1001, 7680, 40
EVEN, ODD = [6, 6, 4, 4], [4, 0, 2, 2]
POINTS, N = 288 * 9, 2304


class Adaptive(iqd.SystemTest):
    """The shipped receiver at a lower rate, so that no machine loses samples."""

    def play(self, seconds, *changes):
        where = iqd.endpoint()
        text = (iqd.PIPELINES / "mimo_adaptive.yaml").read_text(encoding="utf-8")
        for old, new in (("delay_spread=1e-7", f"delay_spread={SLOWER}e-7"), ("tcp://127.0.0.1:5555", where),
                         ("7.68 MS/s", f"{7.68e6 / SLOWER} S/s"), ("offset=1000", f"offset={1000 / SLOWER}"),
                         ("track: frame\n", f"track: frame\n      doppler: {700 / SLOWER}\n"),
                         ("127.0.0.1:9464", f"127.0.0.1:{iqd.free_port()}"), *changes):
            self.assertIn(old, text)
            text = text.replace(old, new)
        reader = self.reader(where, "modulation")
        with self.daemon(text, "--seconds", seconds, "--wait-subscribers", 1) as daemon:
            self.assertEqual(daemon.wait(60), 0, daemon.text)
            status = daemon.final[0]
        self.assertConserved(status)
        return reader.rest(), {(e["stage"], e["event"]): e["count"] for e in status["events"] if "kind" not in e}

    def test_every_second_frame_differs(self):
        messages, counted = self.play(3)
        words = 0
        for m in messages:
            for fact, sent in zip(m.frames, m.x):
                frame = round((fact["start"] - START) / FRAME)
                self.assertEqual(list(sent), ODD if frame % 2 else EVEN, fact)
                words += POINTS * sum(map(int, sent)) // N
        self.assertGreater(words, 300)
        self.assertEqual(counted["mimo_modulation", "unclear"], 0)
        self.assertEqual(counted["ldpc_decoder", "words"], words)
        self.assertEqual(counted["merge_words", "words"], words)
        self.assertEqual(counted["ber_meter", "packets"], words)
        for event in (("ber_meter", "bit_errors"), ("ber_meter", "packet_errors"), ("failed_frames", "failed")):
            self.assertEqual(counted[event], 0, counted)

    def test_a_second_pass_follows_the_modulation(self):
        """With noise, words of the frames with 64-QAM fail, and decoded bits mend most of them."""
        _, counted = self.play(4, ("snr=30", "snr=16.5"))
        failed = counted["ldpc_decoder", "failed"]
        self.assertGreater(failed, 20, counted)
        self.assertEqual(counted["merge_words", "mended"] + counted["merge_words", "failed"], failed)
        self.assertGreater(counted["merge_words", "mended"], 0.7 * failed, counted)
        self.assertLessEqual(counted["ber_meter", "packet_errors"], counted["merge_words", "failed"] + 2, counted)


LOOP = """
name: loop
source: {{generate: {{rate: 192 kS/s, pace: true}}}}
block: 7680
stages:
  - ofdm_modulator: {{modulation: [qpsk, qpsk], announce: {announce}, code: 80216e_2304_1_2}}
  - ofdm_sync:
  - ofdm_demod:
  - mimo_modulation: {{modulation: [qpsk, qpsk]}}
  - mimo_channel_estimator:
  - lmmse_detector: {{modulation: port, max_modulation: 64qam, from: {{modulation: mimo_modulation.modulation}}}}
  - ldpc_decoder: {{interleave: frame, from: {{llr: lmmse_detector.llr, modulation: mimo_modulation.modulation}}}}
  - ber_meter: {{sequence: pn23, from: {{in: ldpc_decoder.bits, iterations: ldpc_decoder.iterations}}}}
publish:
  - {{port: mimo_modulation.modulation, topic: modulation, bind: "{where}"}}
monitor: {{listen: "127.0.0.1:{port}"}}
"""


class Patched(iqd.SystemTest):
    def until(self, reader, wanted):
        messages = []
        for _ in range(200):
            messages += reader.take(1)
            if list(messages[-1].x[-1]) == wanted:
                return messages
        self.fail(f"never {wanted}: {messages[-1].x}")

    def change(self, announce, stages, turns):
        """Sets the modulation of the stages again and again. Returns the messages and the counts."""
        where, port = iqd.endpoint(), iqd.free_port()
        reader = self.reader(where, "modulation")
        text = LOOP.format(where=where, port=port, announce=announce)
        with self.daemon(text, "--wait-subscribers", 1) as daemon:
            messages = self.until(reader, [2, 2])
            for words, bits in turns:
                for stage in stages:
                    iqd.patch(port, stage, modulation=words)
                messages += self.until(reader, bits)
                messages += reader.take(3)
            self.assertEqual(daemon.stop(), 0)
            status = daemon.final[0]
        self.assertConserved(status)
        self.assertEqual([m.seq for m in messages], list(range(messages[0].seq, messages[0].seq + len(messages))))
        return messages, {(e["stage"], e["event"]): e["count"] for e in status["events"] if "kind" not in e}

    TURNS = ((["64qam", "qpsk"], [6, 2]), (["16qam", "silent"], [4, 0]), (["16qam", "64qam"], [4, 6]))

    def test_the_receiver_follows_what_is_announced(self):
        messages, counted = self.change("true", ["ofdm_modulator"], self.TURNS)
        starts = np.concatenate([[fact["start"] for fact in m.frames] for m in messages])
        np.testing.assert_array_equal(np.diff(starts), FRAME)
        self.assertEqual(counted["mimo_modulation", "unclear"], 0)
        self.assertGreater(counted["ber_meter", "packets"], 50)
        for event in (("ber_meter", "bit_errors"), ("ber_meter", "packet_errors"), ("ldpc_decoder", "failed")):
            self.assertEqual(counted[event], 0, counted)

    def test_without_announcement_both_sides_are_set(self):
        """The receiver is a few blocks late or early, so some words are lost then."""
        messages, counted = self.change("false", ["ofdm_modulator", "mimo_modulation"], self.TURNS)
        seen = [tuple(map(int, own)) for m in messages for own in m.x]
        kept = [own for i, own in enumerate(seen) if i == 0 or own != seen[i - 1]]
        self.assertEqual(kept, [(2, 2), (6, 2), (4, 0), (4, 6)])
        self.assertEqual(counted["mimo_modulation", "unclear"], 0)
        self.assertGreater(counted["ber_meter", "packets"], 2 * counted["ber_meter", "packet_errors"])


if __name__ == "__main__":
    unittest.main()
