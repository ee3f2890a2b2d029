# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""The shipped receiver of users that differ, on the live simulated radio: from six users' bits to six users' bits."""

import unittest

import numpy as np

import noma_frame_model as model
import noma_live
from noma_live import FRAME, PERIOD, RATE, START

MODULATIONS = ["qpsk", "16qam"] * 3
WORDS = [3, 6] * 3
OFFSETS, DELAYS = "250/-300/120/-40/300/-170", "31/0/100/12.5/77/54"
K = 1152


class NomaCoded(noma_live.NomaTest):
    topics = ("bits", "symbols", "model", "report")

    def document(self, slower=200, changes=()):
        offsets = "/".join(str(float(hz) / slower) for hz in OFFSETS.split("/"))
        return self.shipped("noma_coded", slower, (f"offset={OFFSETS}", f"offset={offsets}"), *changes)

    def test_six_users_bits(self):
        messages, counted, _ = self.play(self.document(), 6)
        frames = sum(len(m.x) for m in messages["bits"])
        self.assertGreater(frames, 2)
        self.assertEqual(counted["noma_channel_estimator", "frames"], frames)
        self.assertEqual(counted["noma_channel_estimator", "erased"], 0)
        self.assertEqual(counted["ldpc_decoder", "words"], 27 * frames)
        self.assertEqual(counted["ldpc_decoder", "failed"], 0)
        for user, words in enumerate(WORDS):
            self.assertEqual(counted["ber_meter", "packets", str(user)], words * frames)
            self.assertEqual(counted["ber_meter", "bits", str(user)], words * frames * K)
            self.assertEqual(counted["ber_meter", "bit_errors", str(user)], 0)
            self.assertEqual(counted["ber_meter", "unaligned", str(user)], 0)
        self.assertEqual(sum(m.x for m in messages["report"]).tolist(),
                         [[w * frames for w in WORDS], [w * frames * K for w in WORDS], [0] * 6, [0] * 6, [0] * 6])
        for m in messages["bits"]:
            self.assertEqual(m.dims, ["frame", "word", "bit"])
            for fact, bits in zip(m.frames, m.x, strict=True):
                frame = round((fact["start"] - START) / FRAME)
                sent = model.SIX.payload(frame % PERIOD, MODULATIONS, code="80216e_2304_1_2")
                np.testing.assert_array_equal(bits.reshape(-1), sent, str(fact))
        for m in messages["model"]:
            for fact, values in zip(m.frames, m.x, strict=True):
                turns = values[:, 1] + fact["offset_hz"]
                wanted = np.array([float(hz) for hz in OFFSETS.split("/")]) * self.rate / RATE
                self.assertLess(abs(turns - wanted).max(), 40 * self.rate / RATE)
                late = fact["start"] - START - round((fact["start"] - START) / FRAME) * FRAME
                delays = np.array([float(d) for d in DELAYS.split("/")])
                self.assertLess(abs(values[:, 2] + late - delays).max(), 6)

    def test_at_two_decibels_a_second_pass_receives_all(self):
        bits = "modulation: [qpsk, 16qam, qpsk, 16qam, qpsk, 16qam]"
        decode = f"interleave: user, {bits}}}"
        again = (f"  - noma_channel_estimator: {{name: again, {bits}, early: 38, from: {{carriers: ofdm_demod.carriers, "
                 f"soft: ldpc_decoder.llr_out}}}}\n  - ldpc_decoder: {{name: decoder, from: again.llr, {decode}\n")
        changes = [("snr=15", "snr=2"), ("  - ber_meter: {from: ldpc_decoder.bits", f"{again}  - ber_meter: {{from: decoder.bits"),
                   ("ldpc_decoder.bits, topic", "decoder.bits, topic")]
        messages, counted, _ = self.play(self.document(changes=changes), 6)
        frames = sum(len(m.x) for m in messages["bits"])
        self.assertGreater(frames, 2)
        self.assertGreater(counted["ldpc_decoder", "failed"], frames)
        self.assertLess(counted["decoder", "failed"], 0.2 * counted["ldpc_decoder", "failed"])
        errors = sum(counted["ber_meter", "packet_errors", str(user)] for user in range(6))
        self.assertEqual(errors, counted["decoder", "failed"])

    def test_what_is_lost_takes_its_frame_along(self):
        lossy = self.document(slower=100, changes=[("echo=-6", "echo=-6,overflow_every=300000,overflow_lost=100")])
        messages, counted, _ = self.play(lossy, 4)
        frames = sum(len(m.x) for m in messages["bits"])
        self.assertGreater(frames, 0)
        self.assertGreater(counted["ofdm_sync", "cut"], 0)
        self.assertEqual(counted["ldpc_decoder", "words"], 27 * frames)
        self.assertEqual(counted["ldpc_decoder", "failed"], 0)

    def test_apsm_does_not_receive_them(self):
        """What a detector with one filter for all carriers makes of them: the reason for this receiver."""
        changes = [("- noma_channel_estimator: {modulation: [qpsk, 16qam, qpsk, 16qam, qpsk, 16qam], early: 38}",
                    "- noma_slots:\n  - lls_detector: {modulation: qpsk}"),
                   ("- {port: ldpc_decoder.bits, topic: bits, bind", "- {port: lls_detector.bits, topic: bits, bind"),
                   ("noma_channel_estimator.symbols", "lls_detector.symbols"),
                   ("noma_channel_estimator.model", "lls_detector.model"),
                   ("noma_channel_estimator.llr\n      interleave: user\n      modulation: [qpsk, 16qam, qpsk, 16qam, "
                    "qpsk, 16qam]", "lls_detector.llr\n      interleave: user"), ("words: [3, 6, 3, 6, 3, 6]",
                                                                                 "words: [3, 3, 3, 3, 3, 3]")]
        _, counted, _ = self.play(self.document(changes=changes), 4)
        words = counted["ldpc_decoder", "words"]
        self.assertGreater(words, 0)
        self.assertGreater(counted["ldpc_decoder", "failed"], 0.5 * words)


if __name__ == "__main__":
    unittest.main()
