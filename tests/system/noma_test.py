# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""The shipped NOMA receiver on the live simulated radio: it recovers what its users sent."""

import signal
import unittest

import numpy as np

import iqd
import noma_live
import ofdm_model
from noma_live import FRAME, MONITOR, PERIOD, RATE, START

OFFSET = 1000
USERS, DATA, BITS = 6, 3840, 4
SMALL = {"antennas": 4, "users": 2, "slower": 100}


def channels(count):
    return f"channels: [{', '.join(map(str, range(count)))}]"


class Noma(noma_live.NomaTest):
    topics = ("symbols", "llr", "model", "report")

    def document(self, more="", *, antennas=16, users=USERS, slower=200, used="[]", changes=()):
        """`more` extends the radio's arguments."""
        self.users = users
        return self.shipped("noma_16x6", slower, (f"offset={OFFSET}", f"offset={OFFSET / slower}{more}"),
                            ("rx=16,users=6", f"rx={antennas},users={users}"), (channels(16), channels(antennas)),
                            ("- noma_slots: ", f"- noma_slots: {{users: {users}}}"),
                            ("antennas: []", f"antennas: {used}"), *changes)

    def sent(self, frame, bits=BITS):
        """The sent bits of a frame, [user][t][bit]."""
        shape = (self.users, DATA, bits)
        first = frame % PERIOD * np.prod(shape)
        return ofdm_model.pn(23, first + np.arange(np.prod(shape))).reshape(shape)

    def assertPlaced(self, fact):
        """The frame starts at a right position. Returns its number."""
        frame = round((fact["start"] - START) / FRAME)
        self.assertLessEqual(abs(fact["start"] + fact["delay"] - START - frame * FRAME), 0.1, fact)
        self.assertLess(abs(fact["offset_hz"] - OFFSET * self.rate / RATE), 1e-3 * self.rate / 2048, fact)
        return frame

    def assertReceived(self, messages, error=0.15):
        """Symbols and LLRs are those of the sent bits, at the right positions. Returns the frame numbers."""
        frames = []
        for symbols, llr in zip(messages["symbols"], messages["llr"], strict=True):
            self.assertEqual((symbols.dims, llr.dims), (["frame", "user", "t"], ["frame", "user", "t", "bit"]))
            self.assertEqual(symbols.frames, llr.frames)
            for fact, points, llrs in zip(symbols.frames, symbols.x, llr.x, strict=True):
                frame = self.assertPlaced(fact)
                bits = self.sent(frame)
                self.assertLess(np.abs(points - ofdm_model.mapped(bits)).std(axis=1).max(), error, fact)
                np.testing.assert_array_equal(llrs < 0, bits, str(fact))
                frames.append(frame)
        self.assertEqual(frames, sorted(set(frames)))
        return frames

    def test_sixteen_antennas_and_six_users(self):
        messages, counted, _ = self.play(self.document(slower=400), 8)
        frames = self.assertReceived(messages)
        self.assertGreater(len(frames), 0)
        self.assertEqual(counted["apsm_detector", "frames"], len(frames))
        self.assertEqual(counted["apsm_detector", "untrained"] + counted["apsm_detector", "erased"], 0)
        for user in map(str, range(USERS)):
            self.assertEqual(counted["ber_meter", "bits", user], len(frames) * DATA * BITS)
            self.assertEqual(counted["ber_meter", "bit_errors", user], 0)
            self.assertEqual(counted["ber_meter", "packets", user], len(frames))
        self.assertEqual(sum(m.x for m in messages["report"]).tolist(),
                         [[n] * USERS for n in (len(frames), len(frames) * DATA * BITS, 0, 0, 0)])
        # The model's noise is the symbols' error.
        for model, symbols in zip(messages["model"], messages["symbols"], strict=True):
            for fact, m, s in zip(model.frames, model.x, symbols.x, strict=True):
                error = s - ofdm_model.mapped(self.sent(self.assertPlaced(fact)))
                np.testing.assert_allclose(m[:, 0], np.mean(np.abs(error) ** 2, axis=1), rtol=0.5)

    def test_none_is_missing(self):
        messages, counted, status = self.play(self.document(antennas=3, users=1, slower=400), 6)
        frames = self.assertReceived(messages)
        if sum(status["dropped"].values()) == 0:
            self.assertEqual(frames, list(range(frames[0], frames[0] + len(frames))))
            self.assertEqual(counted["ofdm_sync", "found"], len(frames))
        self.assertGreater(len(frames), 1)

    def test_users_of_different_power(self):
        messages, _, _ = self.play(self.document(",powers=0/-12,snr=35", **SMALL), 2)
        self.assertGreater(len(self.assertReceived(messages)), 0)
        for m in messages["model"]:  # 12 dB weaker, so its relative noise is higher
            ratio = m.x[:, 1, 0] / m.x[:, 0, 0]
            self.assertGreater(ratio.min(), 3)

    def until(self, reader, condition, most=200):
        """Messages up to and including the first that satisfies `condition`."""
        messages = []
        for _ in range(most):
            messages += reader.take(1)
            if condition(messages[-1]):
                return messages
        self.fail(f"no such message among {most}: {messages[-1].x}")

    def test_antennas_change_live(self):
        """Two users with four antennas, then one, then three: one stream with consecutive frames."""
        text = {used: self.document(used=used, **SMALL) for used in ("[]", "[2]", "[0, 1, 3]")}
        reader = self.reader(self.where, "model")
        with self.daemon(text["[]"], "--wait-subscribers", 1) as daemon:
            messages = self.until(reader, lambda m: m.x[:, :, 0].max() < 0.05)
            for turn, (used, enough) in enumerate((("[2]", False), ("[0, 1, 3]", True)), 1):
                (self.folder / "pipeline.yaml").write_text(text[used], encoding="utf-8")
                daemon.signal(signal.SIGHUP)
                messages += self.until(reader, lambda m, e=enough: (m.x[:, :, 0].max() < 0.05) == e)
                self.assertEqual(daemon.text.count("apsm_detector.antennas changed at once"), turn, daemon.text)
            self.assertEqual(daemon.stop(), 0)
            self.assertConserved(daemon.final[0])
        self.assertEqual([m.seq for m in messages], list(range(messages[0].seq, messages[0].seq + len(messages))))
        frames = [self.assertPlaced(fact) for m in messages for fact in m.frames]
        self.assertEqual(frames, sorted(set(frames)))

    def test_what_is_lost_takes_its_frame_along(self):
        messages, counted, status = self.play(self.document(",overflow_every=300000,overflow_lost=100", **SMALL), 4)
        self.assertGreater(len(self.assertReceived(messages)), 0)
        self.assertGreater(status["lost"], 0)
        self.assertGreater(counted["ofdm_sync", "cut"], 0)

    def test_without_frames_there_are_no_messages(self):
        messages, counted, _ = self.play(self.document(",scenario=noise", **SMALL), 1.5)
        self.assertEqual((messages["symbols"], messages["llr"], messages["model"]), ([], [], []))
        self.assertEqual(sum(int(m.x.sum()) for m in messages["report"]), 0)
        self.assertEqual(counted["ofdm_sync", "found"], 0, counted)

    def test_what_the_shipped_transmitter_sends(self):
        """Both files in one process on one simulated radio: each antenna receives one user."""
        air = "driver=iqdsim,scenario=loopback,rx=6,tx=6,serial=USERS"
        receive = self.document(antennas=6, slower=100)
        device = receive[receive.index("driver="):receive.index('"', receive.index("driver="))]
        transmit = (iqd.PIPELINES / "noma_tx.yaml").read_text(encoding="utf-8")
        for old, new in ((f"{RATE / 1e6} MS/s", f"{self.rate} S/s"), (f'monitor: {{listen: "{MONITOR}"}}', "")):
            self.assertIn(old, transmit)
            transmit = transmit.replace(old, new)
        self.assertIn(air, transmit)
        receive = receive.replace(device, air).replace("16qam", "qpsk").replace(self.monitor, "127.0.0.1:0")
        pipelines, monitor = receive.split("monitor:")
        text = "pipelines:\n"
        for each in (transmit, pipelines):
            first, rest = each[each.index("name:"):].split("\n", 1)
            text += f"  - {first}\n" + "".join(f"    {line}\n" for line in rest.splitlines())
        readers = [self.reader(self.where, topic) for topic in ("symbols", "report")]
        with self.daemon(f"{text}monitor:{monitor}", "--seconds", 6, "--wait-subscribers", 1) as daemon:
            self.assertEqual(daemon.wait(120), 0, daemon.text)
        symbols, report = (reader.rest() for reader in readers)
        frames = [frame for m in symbols for frame in m.x]
        self.assertGreater(len(frames), 0)
        counted = sum(m.x for m in report)
        self.assertEqual(counted[2:].sum(), 0, counted)
        self.assertEqual(counted[1].tolist(), [len(frames) * DATA * 2] * USERS)
        for frame in frames:
            points = (np.sign(frame.real) + 1j * np.sign(frame.imag)) / np.sqrt(2)
            self.assertLess(np.abs(frame - points).max(), 0.1)

    def refused(self, code, *words, **options):
        path = self.folder / "refused.yaml"
        path.write_text(self.document(**options), encoding="utf-8")
        done = iqd.command("run", path)
        self.assertEqual(done.returncode, code, done.stderr)
        for word in words:
            self.assertIn(word, done.stderr)

    def test_an_antenna_that_is_not_there(self):
        self.refused(2, "antennas", "there is no antenna 16", used="[0, 16]")

    def test_more_users_than_pilots_are_for(self):
        self.refused(2, "users", "is 3, but", changes=[("modulation: 16qam\n", "modulation: 16qam\n      users: 3\n")])


if __name__ == "__main__":
    unittest.main()
