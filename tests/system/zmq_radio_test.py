# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""ZeroMQ radios without headers: peers that behave like srsRAN and OCUDU, and two iqd that are each other's radio."""

import time

import numpy as np

import iqd
import zmq_radio

RATE = 23.04e6


def ramp(n, first=0):
    """Values that encode their position."""
    k = np.arange(first, first + n)
    return (k - 1j * k).astype(np.complex64)


class ZmqRadio(iqd.SystemTest):
    def setUp(self):
        super().setUp()
        self.radios = []

    def tearDown(self):
        for radio in self.radios:
            radio.close()
        super().tearDown()

    def radio(self, *arguments, **options):
        self.radios.append(zmq_radio.Radio(*arguments, **options))
        return self.radios[-1]

    def kill(self, radio):
        self.radios.remove(radio)
        radio.close()

    def wait_for(self, condition, what):
        ends = time.monotonic() + iqd.PATIENCE
        while not condition():
            self.assertLess(time.monotonic(), ends, what())
            time.sleep(0.01)

    def assertReceives(self, radio, x):
        """The radio receives `x`, and nothing before it."""
        self.wait_for(lambda: len(radio.samples()) >= len(x), lambda: f"{len(radio.samples())} of {len(x)} samples")
        np.testing.assert_array_equal(radio.samples()[:len(x)], x)

    def path(self, name, come_from, go_to, block=11520, sink="", rate=RATE):
        return (f"  - name: {name}\n    source: {{zmq: {{kind: req, connect: \"{come_from}\", rate: {rate}}}}}\n"
                f"    block: {block}\n"
                f"    sinks: [{{port: source, zmq: {{kind: rep, bind: \"{go_to}\"{sink}}}}}]\n")

    def test_both_directions_at_once(self):
        station_tx, station_rx, phone_tx, phone_rx = (iqd.endpoint() for _ in range(4))
        down, up = ramp(400_000), ramp(400_000, 1_000_000)
        with self.daemon("pipelines:\n" + self.path("down", station_tx, phone_rx) + self.path("up", phone_tx, station_rx,
                                                                                            sink=", delay: 1 ms")) as d:
            station = self.radio(station_tx, station_rx, down)
            phone = self.radio(phone_tx, phone_rx, up, most=7777)
            whole = len(down) // 11520 * 11520  # the rest waits for a full block
            self.assertReceives(phone, down[:whole])
            self.assertReceives(station, np.concatenate([np.zeros(23040, np.complex64), up[:whole]]))
            self.assertLessEqual(max(phone.answers), RATE / 1000)
            self.assertEqual(d.stop(), 0, d.text)
            for status in d.final:
                self.assertConserved(status)
                self.assertEqual((status["received"], status["lost"]), (400_000, 0))

    def check_lock_step(self, block, delay_slots=0):
        """Neither radio sends a slot before it has received one. `delay_slots` are in flight ahead, to fill blocks."""
        station_tx, station_rx, phone_tx, phone_rx = (iqd.endpoint() for _ in range(4))
        slots, slot = 60, 11520
        delay = f", delay: {delay_slots * slot / RATE * 1e6} us"
        text = "pipelines:\n" + self.path("down", station_tx, phone_rx, block, delay) + self.path(
            "up", phone_tx, station_rx, block, delay)
        place = [0]

        def next_ramp(_):
            place[0] += slot
            return ramp(slot, place[0] - slot)

        with self.daemon(text) as d:
            station = self.radio(station_tx, station_rx, slot=slot, next_slot=next_ramp)
            self.radio(phone_tx, phone_rx, slot=slot, next_slot=lambda heard: heard)
            # One slot of zeros from each radio, and `delay_slots` from each direction.
            zeros = np.zeros((2 + 2 * delay_slots) * slot, np.complex64)
            self.assertReceives(station, np.concatenate([zeros, ramp(slots * slot)]))
            self.assertEqual(d.stop(), 0, d.text)

    def test_radios_in_lock_step(self):
        self.check_lock_step(5760)

    def test_radios_in_lock_step_with_blocks_longer_than_a_slot(self):
        self.check_lock_step(23040, 2)

    def test_a_transmitter_that_dies_before_it_answers(self):
        there, here = iqd.endpoint(), iqd.endpoint()
        with self.daemon("pipelines:\n" + self.path("p", there, here, 1000, rate=1e6)) as d:
            station = self.radio(there, sent=ramp(10_000))
            phone = self.radio(receive=here)
            self.assertReceives(phone, ramp(10_000))
            time.sleep(0.3)  # the next request is pending
            self.kill(station)
            d.wait_for_log("the peer hung up")
            self.radio(there, sent=ramp(10_000, 50_000))
            # After the gap the samples do not end on a block, so the last ones wait for more.
            heard = lambda: phone.samples()[10_000:]
            self.wait_for(lambda: np.count_nonzero(heard()) >= 9_000, lambda: d.text)
            after = heard()
            signal = after[after != 0]
            np.testing.assert_array_equal(signal, ramp(len(signal), 50_000))
            self.assertGreater(np.count_nonzero(after == 0), 0, "missing samples are replaced by zeros")
            self.assertEqual(d.stop(), 0, d.text)
            self.assertConserved(d.final[0])
            self.assertEqual(d.final[0]["overflows"], 1)
            self.assertGreater(d.final[0]["lost"], 0)

    def test_a_receiver_that_dies_and_comes_back(self):
        there, here = iqd.endpoint(), iqd.endpoint()
        x = ramp(1_000_000)
        with self.daemon("pipelines:\n" + self.path("p", there, here)) as d:
            self.radio(there, sent=x)
            phone = self.radio(receive=here)
            self.assertReceives(phone, x[:50_000])
            self.kill(phone)
            again = self.radio(receive=here)
            whole = len(x) // 11520 * 11520
            self.wait_for(lambda: len(again.samples()) and again.samples()[-1] == x[whole - 1], lambda: d.text)
            begin = int(again.samples()[0].real)
            lost = begin - len(phone.samples())
            self.assertGreaterEqual(lost, 0)
            self.assertLessEqual(lost, 2 * 23040, "no more than it had requested")
            np.testing.assert_array_equal(again.samples(), x[begin:whole])
            self.assertEqual(d.stop(), 0, d.text)

    def test_two_channels_of_integers(self):
        places = [iqd.endpoint() for _ in range(4)]
        x = np.arange(4 * 23_040, dtype=np.int32)  # two 16-bit integers each
        source = f"zmq: {{kind: req, connect: [\"{places[0]}\", \"{places[1]}\"], rate: {RATE}, channels: 2, element: sc16}}"
        sink = f"zmq: {{kind: rep, bind: [\"{places[2]}\", \"{places[3]}\"]}}"
        text = f"source: {{{source}}}\nblock: 11520\nsinks: [{{port: source, {sink}}}]\n"
        with self.daemon(text) as d:
            self.radio(places[0], sent=x, dtype=np.int32, most=5000)
            self.radio(places[1], sent=-x, dtype=np.int32, most=7000)
            left, right = (self.radio(receive=p, dtype=np.int32) for p in places[2:])
            self.assertReceives(left, x)
            self.assertReceives(right, -x)
            self.assertEqual(d.stop(), 0, d.text)

    def test_iqd_at_both_ends(self):
        """A recording through two daemons: the reader paces the sender, and the end arrives complete."""
        where = iqd.endpoint()
        x = ramp(1_000_000)
        path = iqd.write_recording(self.folder / "signal", x, rate=RATE)
        self.where = iqd.endpoint()
        reader = self.reader(self.where, "t")
        sends = (f"source: {{file: {{path: {path}}}}}\nblock: 50000\n"
                 f"sinks: [{{port: source, zmq: {{kind: rep, bind: \"{where}\"}}}}]\n")
        takes = (f"source: {{zmq: {{kind: req, connect: \"{where}\", rate: {RATE}}}}}\nblock: 20000\n"
                 f"publish: [{{port: source, topic: t, bind: \"{self.where}\"}}]\n")
        with self.daemon(takes, "--wait-subscribers", 1, name="takes.yaml") as receiver:
            with self.daemon(sends, name="sends.yaml") as sender:
                messages = reader.take(50)
                self.assertEqual(sender.wait(), 0, sender.text)
            np.testing.assert_array_equal(np.concatenate([m.x for m in messages]), x)
            self.assertEqual(receiver.stop(), 0, receiver.text)
            self.assertEqual(receiver.final[0]["received"], len(x))

    def test_nobody_there_is_no_reason_to_stay(self):
        there, here = iqd.endpoint(), iqd.endpoint()
        with self.daemon("pipelines:\n" + self.path("p", there, here)) as d:
            self.radio(there, sent=ramp(3_000_000))
            d.wait_for(lambda p: p["received"] > 0)
            begin = time.monotonic()
            self.assertEqual(d.stop(), 0, d.text)
            self.assertLess(time.monotonic() - begin, 10)


if __name__ == "__main__":
    iqd.unittest.main()
