# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""iqd.subscribe: what it counts as lost, restarts of publishers, the end of a stream, and memory."""

import os
import resource
import threading
import time
import unittest

import zmq

import iqd
from publisher import PATIENCE, SubscribeTest, json_frames, ramp, struct_frames


def block(seq, sample=None, gap=0, n=10, time_ns=None, **more):
    """A block of n samples at 1 MS/s, at the place that `seq` says if nothing is missing."""
    sample = seq * n if sample is None else sample
    time_ns = 10**18 + sample * 1000 if time_ns is None else time_ns
    return json_frames("iq", ramp(n), seq=seq, sample=sample, gap=gap, time_ns=time_ns, **more)


class Losses(SubscribeTest):
    def test_gaps_and_lost_messages(self):
        """Messages 2 and 3 do not come, with a gap of 7 between them; before message 5 are 4 samples missing."""
        frames = [block(0), block(1), block(4, sample=47), block(5, sample=61, gap=4)]
        messages, sub = self.received(frames)
        self.assertEqual([m.seq for m in messages], [0, 1, 4, 5])
        self.assertEqual((sub.lost_messages, sub.gap_samples, sub.lost_samples), (2, 4, 27 + 4))
        self.assertEqual((sub.restarts, sub.out_of_order), (0, 0))

    def test_the_first_message_is_no_loss(self):
        _, sub = self.received([block(100), block(101)])
        self.assertEqual((sub.messages, sub.lost_messages, sub.lost_samples), (2, 0, 0))

    def test_a_decimated_stream_counts_samples_of_the_source(self):
        frames = [block(seq, sample=seq * 40, item_rate=250e3) for seq in (0, 1, 3)]
        self.assertEqual(self.received(frames)[1].lost_samples, 40)

    def test_packets_count_only_gaps(self):
        packets = [json_frames("t", ramp(4).reshape(2, 2), dims=["packet", "n"], seq=seq, sample=seq * 100, gap=seq)
                   for seq in (0, 1, 5)]
        _, sub = self.received(packets)
        self.assertEqual((sub.lost_messages, sub.lost_samples), (3, 6))

    def test_topics_have_their_own_numbers(self):
        frames = [json_frames(topic, ramp(1), seq=seq) for seq in range(3) for topic in ("a", "b")]
        _, sub = self.received(frames[:-1])
        self.assertEqual((sub.messages, sub.lost_messages), (5, 0))

    def test_a_publisher_that_restarts(self):
        """A recording that is played again has the same times; the first messages may be missed."""
        frames = [block(0), block(1), block(5), block(0), block(1), block(2), block(7), block(3), block(4)]
        _, sub = self.received(frames)
        self.assertEqual((sub.restarts, sub.lost_messages, sub.lost_samples, sub.out_of_order), (2, 7, 70, 0))

    def read_from_several(self, *streams):
        """Counts after a publisher for each stream, one after the other at one endpoint."""
        where = "ipc://" + self.folder + "/again"

        def publish(frames):
            publisher = self.publisher(endpoint=where)
            publisher.await_reader()
            publisher.send(*frames)
            publisher.close()
        with iqd.subscribe(where, timeout=PATIENCE, reconnect=PATIENCE) as sub:
            for frames in streams:
                publishing = threading.Thread(target=publish, args=(frames,))
                publishing.start()
                for _ in frames:
                    next(sub)
                publishing.join()
            return sub

    def test_a_restart_whose_first_messages_were_missed(self):
        """The numbers continue, but the times do not fit them."""
        late = [block(seq, time_ns=10**18 + 10**9) for seq in (5, 6)]
        sub = self.read_from_several([block(0), block(1)], late, [block(9), block(10)])
        self.assertEqual((sub.restarts, sub.lost_messages), (2, 0))

    def test_a_restart_that_continues_with_the_next_number(self):
        sub = self.read_from_several([block(0), block(1)], [block(2, time_ns=10**18 + 10**9)], [block(3), block(4)])
        self.assertEqual((sub.restarts, sub.lost_messages), (2, 0))

    def test_a_connection_that_broke_is_no_restart(self):
        sub = self.read_from_several([block(0), block(1)], [block(4), block(5)])
        self.assertEqual((sub.restarts, sub.lost_messages, sub.lost_samples), (0, 2, 20))

    def test_several_pushers_may_overtake_each_other(self):
        with iqd.subscribe("ipc://" + self.folder + "/in", kind="pull", bind=True, timeout=PATIENCE) as sub:
            publisher = self.publisher(zmq.PUSH, connect="ipc://" + self.folder + "/in")
            publisher.send(block(0), block(2), block(1), block(3))
            for _ in range(4):
                next(sub)
            self.assertEqual((sub.out_of_order, sub.lost_messages, sub.restarts), (1, 0, 0))
            publisher.send(block(0, time_ns=2 * 10**18))
            next(sub)
            self.assertEqual((sub.out_of_order, sub.restarts), (1, 1))

    def test_a_gap_is_raised_if_asked_for(self):
        publisher = self.publisher()
        with iqd.subscribe(publisher.endpoint, timeout=PATIENCE, raise_on_gap=True) as sub:
            publisher.await_reader()
            publisher.send(block(0), block(1, sample=17, gap=7), block(3, sample=37), block(4, sample=47))
            self.assertEqual(next(sub).seq, 0)
            for seq, samples in ((1, 7), (3, 10)):
                with self.assertRaises(iqd.Gap) as caught:
                    next(sub)
                self.assertEqual((caught.exception.message.seq, caught.exception.samples), (seq, samples))
            self.assertEqual(next(sub).seq, 4)
            self.assertEqual(sub.messages, 4)

    def test_other_framings_are_counted_too(self):
        frames = [struct_frames("t", ramp(2), 1, 0, 2, 1, 1, seq=seq, gap=gap) for seq, gap in ((0, 0), (1, 5), (4, 0))]
        _, sub = self.received(frames)
        self.assertEqual((sub.lost_messages, sub.gap_samples), (2, 5))


class TheEnd(SubscribeTest):
    def test_a_stream_that_ends_ends_the_iteration(self):
        messages, sub = self.received([block(seq) for seq in range(1000)])
        self.assertEqual(len(messages), 1000)
        self.assertTrue(sub.closed)
        self.assertEqual(list(sub), [])
        with self.assertRaisesRegex(iqd.Error, "closed"):
            sub.receive()

    def test_it_waits_for_a_publisher_that_is_not_there_yet(self):
        where = "ipc://" + self.folder + "/late"
        def publish_later():
            time.sleep(0.3)
            publisher = self.publisher(endpoint=where)
            publisher.await_reader()
            publisher.send(block(0))
            publisher.close()
        with iqd.subscribe(where, timeout=PATIENCE, reconnect=0) as sub:
            threading.Thread(target=publish_later).start()
            self.assertEqual([m.seq for m in sub], [0])

    def test_a_publisher_that_comes_back_in_time_continues(self):
        where = "ipc://" + self.folder + "/again"
        first = self.publisher(endpoint=where)
        with iqd.subscribe(where, timeout=PATIENCE, reconnect=PATIENCE) as sub:
            first.await_reader()
            first.send(block(0), block(1))
            self.assertEqual([next(sub).seq, next(sub).seq], [0, 1])
            first.close()
            self.assertRaises(iqd.Timeout, sub.receive, timeout=0.2)
            second = self.publisher(endpoint=where)
            second.await_reader()
            second.send(block(0))
            self.assertEqual(next(sub).seq, 0)
            self.assertEqual((sub.restarts, sub.lost_messages), (1, 0))

    def test_the_grace_is_as_long_as_it_says(self):
        publisher = self.publisher()
        with iqd.subscribe(publisher.endpoint, reconnect=0.5) as sub:
            publisher.await_reader()
            publisher.close()
            began = time.monotonic()
            self.assertEqual(list(sub), [])
            self.assertAlmostEqual(time.monotonic() - began, 0.5, delta=0.3)

    def test_several_endpoints_take_turns_and_end_together(self):
        one, two = self.publisher(), self.publisher()
        with iqd.subscribe([one.endpoint, two.endpoint], "iq", timeout=PATIENCE, reconnect=0) as sub:
            one.await_reader(), two.await_reader()
            for publisher in (one, two):
                publisher.send(*(block(seq) for seq in range(50)))
                publisher.close()
            messages = list(sub)
        self.assertEqual(sorted({m.endpoint for m in messages}), sorted([one.endpoint, two.endpoint]))
        self.assertEqual((len(messages), sub.lost_messages, sub.restarts), (100, 0, 0))
        self.assertGreater(len({m.endpoint for m in messages[:60]}), 1)


class Resources(SubscribeTest):
    def open_files(self):
        return len(os.listdir("/proc/self/fd"))

    def test_memory_is_flat(self):
        """10^5 messages with packets, of a publisher that never ends its topic."""
        publisher = self.publisher(zmq.PUSH, set_up=lambda socket: setattr(socket, "sndhwm", 100))
        count = 100_000
        frames = json_frames("t", ramp(64).reshape(2, 32), dims=["packet", "n"],
                             packets=[{"start": 1, "metric": 0.5}, {"start": 2, "metric": None}])
        threading.Thread(target=lambda: [publisher.send(frames) for _ in range(count)], daemon=True).start()
        with iqd.subscribe(publisher.endpoint, kind="pull", timeout=PATIENCE, hwm=100) as sub:
            for _ in range(count // 5):
                self.assertEqual(len(next(sub).items), 2)
            before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            for _ in range(count - count // 5):
                self.assertEqual(len(next(sub).items), 2)
            after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        self.assertLess(after - before, 4096, "KiB")

    def test_sockets_are_closed(self):
        publisher = self.publisher()
        context = zmq.Context()
        iqd.subscribe(publisher.endpoint, context=context).close()
        before = self.open_files()
        for i in range(50):
            sub = iqd.subscribe(publisher.endpoint, context=context)
            if i % 2:
                sub.close()
            del sub
        with self.assertRaises(iqd.ConfigError):
            iqd.subscribe("ipc://" + "x" * 200, context=context)
        ends = time.monotonic() + PATIENCE
        while self.open_files() > before + 2:  # libzmq closes them a little later
            self.assertLess(time.monotonic(), ends)
            time.sleep(0.02)
        began = time.monotonic()
        context.term()
        self.assertLess(time.monotonic() - began, 5)

    def test_the_newest_memory_is_that_of_the_message(self):
        """A message stays valid after its subscription and the next messages."""
        messages, _ = self.received([block(seq, n=seq + 1) for seq in range(200)])
        for seq, m in enumerate(messages):
            self.assertEqual(m.data.tolist(), list(range(seq + 1)))


if __name__ == "__main__":
    unittest.main()
