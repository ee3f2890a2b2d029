# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""iqd.subscribe with asyncio."""

import asyncio
import threading
import unittest

import zmq

import iqd
from publisher import PATIENCE, SubscribeTest, json_frames, ramp


def block(seq):
    return json_frames("iq", ramp(4), seq=seq, sample=4 * seq)


class Async(SubscribeTest):
    def test_all_messages_up_to_the_end(self):
        publisher = self.publisher()

        async def read():
            seqs = []
            async with iqd.subscribe(publisher.endpoint, timeout=PATIENCE, reconnect=0) as sub:
                await asyncio.to_thread(publisher.await_reader)
                threading.Thread(target=lambda: (publisher.send(*map(block, range(5000))), publisher.close())).start()
                async for m in sub:
                    seqs.append(m.seq)
                self.assertTrue(sub.closed)
                return seqs, sub.lost_messages
        self.assertEqual(asyncio.run(read()), (list(range(5000)), 0))

    def test_others_run_while_it_waits_and_while_it_reads(self):
        publisher = self.publisher(zmq.PUSH)

        async def count(counts):
            while True:
                counts.append(1)
                await asyncio.sleep(0)

        async def read():
            counts = []
            ticking = asyncio.create_task(count(counts))
            async with iqd.subscribe(publisher.endpoint, kind="pull") as sub:
                with self.assertRaises(iqd.Timeout):
                    await sub.receive_async(timeout=0.05)
                waited = len(counts)
                publisher.send(*map(block, range(500)))
                self.assertEqual((await anext(sub)).seq, 0)
                counts.clear()
                for seq in range(1, 500):
                    self.assertEqual((await anext(sub)).seq, seq)
                ticking.cancel()
                return waited, len(counts)
        waited, read_meanwhile = asyncio.run(read())
        self.assertGreater(waited, 10)
        self.assertGreater(read_meanwhile, 10)

    def test_two_subscriptions_at_once(self):
        publishers = [self.publisher(), self.publisher()]

        async def read(publisher):
            async with iqd.subscribe(publisher.endpoint, timeout=PATIENCE) as sub:
                await asyncio.to_thread(publisher.await_reader)
                publisher.send(*map(block, range(100)))
                return [(await anext(sub)).seq for _ in range(100)]

        async def both():
            return await asyncio.gather(*map(read, publishers))
        self.assertEqual(asyncio.run(both()), [list(range(100))] * 2)

    def test_a_task_can_be_cancelled_and_another_one_continue(self):
        publisher = self.publisher()

        async def read():
            async with iqd.subscribe(publisher.endpoint, timeout=PATIENCE) as sub:
                await asyncio.to_thread(publisher.await_reader)
                task = asyncio.create_task(sub.receive_async())
                await asyncio.sleep(0.05)
                with self.assertRaisesRegex(iqd.Error, "another task"):
                    await sub.receive_async()
                task.cancel()
                with self.assertRaises(asyncio.CancelledError):
                    await task
                publisher.send(block(3))
                return (await sub.receive_async()).seq
        self.assertEqual(asyncio.run(read()), 3)

    def test_closing_ends_a_task_that_waits(self):
        publisher = self.publisher()

        async def read():
            sub = iqd.subscribe(publisher.endpoint)
            task = asyncio.create_task(anext(sub, "the end"))
            await asyncio.sleep(0.05)
            sub.close()
            return await asyncio.wait_for(task, PATIENCE)
        self.assertEqual(asyncio.run(read()), "the end")

    def test_malformed_messages_do_not_stall_it(self):
        publisher = self.publisher(zmq.PUSH)

        async def read():
            async with iqd.subscribe(publisher.endpoint, kind="pull", timeout=PATIENCE) as sub:
                publisher.send(*[[b"x", b"y"]] * 1000, block(9))
                return (await anext(sub)).seq, sub.malformed
        self.assertEqual(asyncio.run(read()), (9, 1000))


if __name__ == "__main__":
    unittest.main()
