# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""A pool whose server dies, stops, forgets, is full, or has messages of others: every sample is accounted for.

IQD_POOL_KILLS: how often the last test kills something, 10 by default. IQD_POOL_SEED: which things, and when.
Skips, with 77, where nats-server is not installed."""

import base64
import hashlib
import json
import os
import random
import signal
import struct
import time

import numpy as np

import nats
import pool_case
from pool_case import BLOCK, fir

KILLS = int(os.environ.get("IQD_POOL_KILLS", "10"))
SEED = int(os.environ.get("IQD_POOL_SEED", "1"))
SLOW = 4001  # taps: some milliseconds a block
SURE = {"patience": "60 s", "ack_wait": "300 ms", "tries": 50}
RADIO = {"soapy": {"args": "driver=iqdsim,scenario=tone,frequency=12345,snr=20", "rate": 1e6}}


def parts_of(message):
    """The header and the rows of a message of a pool."""
    length, = struct.unpack("<I", message[:4])
    return json.loads(message[4:4 + length]), message[(4 + length + 63) // 64 * 64:]


def message_of(head, rows=b""):
    text = json.dumps(head).encode()
    framed = struct.pack("<I", len(text)) + text
    return framed + bytes(-len(framed) % 64) + rows


class Servers(pool_case.PoolTest):
    def test_the_server_is_killed(self):
        """A file is complete, whether the server remembers or not."""
        recording = self.record(300 * BLOCK)
        for storage in ("memory", "file"):
            with self.subTest(storage):
                spec = self.spec(recording, [fir(SLOW)], sink=f"{storage}.npy", pool={**SURE, "storage": storage})
                home = self.home(spec, storage)
                workers = [self.worker(f"{storage}{n}") for n in range(2)]
                home.progress(3)
                self.server.restart()
                home.progress(20)
                self.server.restart(pause=0.5)
                self.assertWhole(home, spec, f"{storage}.npy")
                for worker in workers:
                    self.assertEqual(worker.stop(), 0)

    def test_the_server_is_gone_for_longer_than_patience(self):
        """What was out is dropped and counted, the rest waits in the ring, and then the stream continues."""
        spec = self.live(self.record(100 * BLOCK), pool={"patience": "500 ms", "ack_wait": "200 ms"})
        home = self.home(spec)
        self.worker()
        home.progress(20)
        self.server.kill()
        home.until(lambda s: s["dropped"]["pool_away"] + s["dropped"]["pool_lost"] > 0)
        time.sleep(0.5)
        self.server.start()
        home.progress(50)
        status = self.stop(home)
        for reason in ("pool_full", "pool_poison", "stage"):
            self.assertEqual(status["dropped"][reason], 0)
        self.assertPieces(status, spec)

    def test_the_server_stops_for_three_seconds(self):
        """A radio notices nothing."""
        spec = {**self.spec(""), "source": RADIO, "block": 16384}
        spec["sinks"][0]["file"]["path"] = str(self.folder / "radio.npy")
        spec["stages"] = [fir(101)]
        home = self.home(spec)
        self.worker(lanes=2)
        home.progress(40)
        self.server.stop()
        time.sleep(3)
        self.server.resume()
        home.progress(40)
        status = self.stop(home)
        self.assertEqual(status["overflows"], 0)
        self.assertEqual(status["lost"], 0)
        self.assertEqual(len(np.load(self.folder / "radio.npy")), status["published"])

    def test_a_file_waits_while_the_server_stops(self):
        spec = self.spec(self.record(300 * BLOCK), [fir(SLOW)], pool=SURE)
        home = self.home(spec)
        self.worker()
        home.progress(20)
        self.server.stop()
        time.sleep(1)
        self.server.resume()
        self.assertWhole(home, spec)


class Networks(pool_case.PoolTest):
    """Packets are lost, so nobody knows whether the other side is there."""

    def setUp(self):
        super().setUp()
        self.relay = self.enterContext(nats.Relay(self.server))

    def test_a_worker_is_cut_off(self):
        """Others have its blocks after `ack_wait`; when it is back, it works again."""
        spec = self.live(self.record(100 * BLOCK), pool={**SURE, "window": "8 MiB"})
        home = self.home(spec)
        far, near = self.worker("far", servers=[self.relay.url], lanes=2), self.worker("near", lanes=2)
        self.wait_for_workers(far, near)
        home.progress(30)
        before = home.status()
        self.relay.hold()
        home.progress(60)
        far.wait_for_log("no connection to the server")
        self.relay.heal()
        far.wait_for_log("connected again")
        near.signal(signal.SIGKILL)
        home.progress(60)
        status = self.stop(home)
        self.assertNoneLost(status, before)
        self.assertPieces(status, spec)

    def test_a_home_is_cut_off(self):
        """For less than `patience`: nothing is lost. For longer: what was out."""
        spec = self.live(self.record(100 * BLOCK), pool={"patience": "5 s", "ack_wait": "300 ms", "window": "32 MiB"})
        spec["pool"]["servers"] = [self.relay.url]
        home = self.home(spec)
        self.worker(lanes=2)
        home.progress(30)
        before = home.status()
        for seconds in (0.5, 3):
            self.relay.hold()
            time.sleep(seconds)
            self.relay.heal()
            home.progress(100)
            self.assertNoneLost(home.status(), before)
        self.relay.hold()
        home.until(lambda s: s["dropped"]["pool_away"] + s["dropped"]["pool_lost"] > 0)
        self.relay.heal()
        home.progress(50)
        status = self.stop(home)
        for reason in ("pool_full", "pool_poison", "stage"):
            self.assertEqual(status["dropped"][reason], 0)
        self.assertPieces(status, spec)


class Clusters(pool_case.PoolTest):
    def serve(self):
        return self.enterContext(nats.Cluster(self.folder / "n"))

    def test_the_leader_is_killed(self):
        """The other two servers have all blocks and all results. Then it returns, and another one dies."""
        spec = self.spec(self.record(300 * BLOCK), [fir(SLOW)], pool={**SURE, "patience": "180 s", "replicas": 3})
        home = self.home(spec)
        workers = [self.worker(f"w{n}") for n in range(2)]
        home.progress()
        for stream in ("todo", "done"):
            leader = self.server.leader(f"IQD_band_{stream}")
            before = home.status()["published"]
            leader.kill()
            # The two that are left may elect nobody (nats-server 2.9.10): then the third has to return.
            ends = time.monotonic() + 12
            while home.status()["published"] < before + 20 * BLOCK and time.monotonic() < ends:
                time.sleep(0.1)
            leader.start()
            home.progress(20, seconds=60)
        status = self.assertWhole(home, spec, seconds=90)
        self.assertLess(status["pool"]["twice"], 100, "blocks that were computed in vain")
        for worker in workers:
            self.assertEqual(worker.stop(), 0, worker.text)


class Foreign(pool_case.PoolTest):
    """Other users of the server write into the streams of a pool."""

    def setUp(self):
        super().setUp()
        self.client = self.enterContext(nats.Client(self.server))

    def heard(self, home, subject):
        """A message of the pool itself."""
        with nats.Client(self.server) as client:
            client.subscribe(subject)
            home.progress()
            return parts_of(client.next()[2])

    def publish(self, subject, messages):
        for message in messages:
            self.client.publish(subject, message)
        self.client.flush()

    def garbage(self):
        r = random.Random(SEED)
        yield from (b"", b"\0", b"\xff" * 64, b"{}", b"[]", b"null", b"\xff\xff\xff\x7f{}", b"[" * 5000,
                    message_of([]), message_of({}), message_of({"run": 3}), message_of(3))
        for size in (1, 4, 63, 64, 65, 4096, 100_000):
            yield r.randbytes(size)

    def lies(self, head):
        """Headers with one value of another kind or size."""
        for key in head:
            for value in (None, "x", -1, 1 << 30, 1 << 62, 1 << 64, -1 << 63, 1e300, -0.5, [], {}, True, [[-1, -1, -1, 0]],
                          [[0, 1 << 62, 1 << 62, False]]):
                yield {**head, key: value}
            yield {k: v for k, v in head.items() if k != key}

    def test_messages_that_are_none(self):
        spec = self.live(self.record(100 * BLOCK), pool={"patience": "10 s"})
        home = self.home(spec)
        worker = self.worker()
        result, rows = self.heard(home, "iqd.band.done")
        about = json.loads(self.client.request("iqd.band.home"))
        here = {"worker": "nobody", "build": "x", "device": "cpu", "lanes": 1, "busy": 0, "done": 0, "trouble": ""}
        before = home.status()
        self.publish("iqd.band.done", [*self.garbage(), *(message_of(lie, rows) for lie in self.lies(result))])
        self.publish("iqd.band.here", [*self.garbage(), *(json.dumps(lie).encode() for lie in self.lies(here))])
        # Of blocks to come: other positions, other lengths.
        self.publish("iqd.band.done", [message_of({**result, "seq": result["seq"] + k, "ports": ports}, data)
                                       for k in range(0, 40, 4) for ports, data in (
                                           ([], b""), ([[0, 1, 8, False]], bytes(8)), (result["ports"], rows[:-8]),
                                           ([[-1, -1, 0, True]], b""), ([[0, 1 << 53, 0, False]], b""),
                                           ([[-1 << 63, 1, 0, False]], b""), ([[0, -1 << 63, 0, False]], b""), (result["ports"] * 2, rows * 2))])
        self.publish("iqd.band.todo", self.garbage())
        self.publish("iqd.band.home", self.garbage())
        home.progress(20)
        self.assertEqual(json.loads(self.client.request("iqd.band.home")), about)
        status = self.stop(home)
        self.assertEqual({k: v for k, v in status["dropped"].items() if k != "lanes"},
                         {k: 0 for k in before["dropped"] if k != "lanes"})
        self.assertPieces(status, spec)
        self.assertEqual(worker.stop(), 0, worker.text)

    def test_answers_that_are_none(self):
        """Of the server, by their subject."""
        spec = self.spec(self.record(200 * BLOCK), [fir(SLOW)], pool=SURE)
        home = self.home(spec)
        self.worker()
        home.progress()
        run = json.loads(self.client.request("iqd.band.home"))["run"]
        advisory = {"type": "io.nats.jetstream.advisory.v1.max_deliver", "stream_seq": 1 << 40}
        answer = {"stream": "IQD_band_todo", "seq": 1 << 40, "error": {"code": 503, "err_code": 10077}}
        for subject, head in (("$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES.IQD_band_todo.workers", advisory),
                              (f"_INBOX.{run}.999999", answer), (f"_INBOX.{run}.x", answer)):
            with self.subTest(subject):
                lies = [*self.lies(head), *({**answer, "error": lie} for lie in self.lies(answer["error"]))]
                self.publish(subject, [*self.garbage(), *(json.dumps(lie).encode() for lie in lies)])
                home.progress()
        self.assertWhole(home, spec)

    def test_blocks_that_nobody_can_compute(self):
        """Workers give them back, and the server has room again when all tries are used up."""
        spec = self.live(self.record(100 * BLOCK), pool={"tries": 2, "window": "8 MiB"})
        home = self.home(spec)
        workers = [self.worker(f"w{n}", lanes=4) for n in range(2)]
        head, samples = self.heard(home, "iqd.band.todo")
        for lies in ({"plan": "nothing"}, {"plan": "*"}, {"length": 1}, {"past": 1 << 40}):
            self.publish("iqd.band.todo", [message_of({**head, "run": "x", **lies}, samples) for _ in range(10)])
        home.progress(30)
        left = range(9)
        home.until(lambda _: self.client.ask("STREAM.INFO.IQD_band_todo")["state"]["messages"] in left, seconds=8)
        self.stop(home)
        for worker in workers:
            self.assertEqual(worker.stop(), 0, worker.text)
            self.assertRegex(worker.text, r"[1-9]\d* refused")

    def test_orders_of_others(self):
        """A worker refuses an order that it cannot carry out, or that has another hash, and works on."""
        spec = self.live(self.record(100 * BLOCK), stages=[fir(31)], pool={"window": "8 MiB", "tries": 1})
        home = self.home(spec)
        worker = self.worker(lanes=4)
        head, samples = self.heard(home, "iqd.band.todo")
        found = self.client.ask("STREAM.MSG.GET.IQD_band_plan", last_by_subj=f"iqd.band.plan.{head['plan']}")
        order = json.loads(base64.b64decode(found["message"]["data"]))
        function = {"file": str(self.folder / "f.py"), "from": "source", "out": {"element": "cf32", "dims": "[n]"}}
        wrong = [{"v": 2}, {"stream": {**order["stream"], "channels": 0}}, {"returns": [{}]}]
        wrong += [{"pipeline": {**order["pipeline"], **keys}} for keys in (
            {"block": -1}, {"stages": []}, {"stages": [{"nothing": {}}]}, {"stages": [{"fir": {"from": "source"}}]},
            {"stages": [{"python": {"name": "fir", **function}}]})]
        for keys in wrong:
            with self.subTest(keys):
                text = json.dumps({**order, **keys}).encode()
                self.refused(worker, hashlib.sha256(text).hexdigest(), text, head, samples)
        with self.subTest("many levels"):
            text = b'{"x":' + b"[" * 200_000 + b"]" * 200_000 + b"}"
            self.refused(worker, hashlib.sha256(text).hexdigest(), text, head, samples)
        with self.subTest("another hash"):
            self.refused(worker, "0" * 64, json.dumps(order).encode(), head, samples)
        home.progress(20)
        self.stop(home)
        self.assertEqual(worker.stop(), 0, worker.text)

    def refused(self, worker, plan, text, head, samples):
        """Waits until the worker says why it does not compute a block of this order, which it gets once."""
        before = worker.text.count(" warning work band: ")
        self.publish(f"iqd.band.plan.{plan}", [text])
        self.publish("iqd.band.todo", [message_of({**head, "run": "x", "plan": plan}, samples)])
        ends = time.monotonic() + 5
        while worker.text.count(" warning work band: ") == before:
            self.assertIsNone(worker.process.poll(), worker.text)
            self.assertLess(time.monotonic(), ends, worker.text)
            time.sleep(0.02)

    def test_the_server_is_full(self):
        """A block that the server has no room for is sent again until `patience`, and counted once."""
        spec = self.live(self.record(100 * BLOCK),
                         pool={"window": "256 KiB", "patience": "600 ms", "ack_wait": "300 ms", "tries": 50})
        home = self.home(spec)
        self.worker()
        home.progress()
        # Workers remove what is no block, so this takes all room as long as it continues.
        ends = time.monotonic() + 15
        while home.status()["dropped"]["pool_full"] < 3 * BLOCK and time.monotonic() < ends:
            self.publish("iqd.band.todo", [bytes(8 * BLOCK)] * 200)
        home.progress(40)
        before = home.status()
        home.progress(40)
        status = self.stop(home)
        self.assertGreaterEqual(before["dropped"]["pool_full"], 3 * BLOCK)
        for reason in ("pool_full", "pool_away", "pool_poison", "pool_lost"):
            self.assertEqual(status["dropped"][reason], before["dropped"][reason], f"{reason} after there was room again")
        self.assertPieces(status, spec)


class Chaos(pool_case.PoolTest):
    def test_random_kills(self):
        """Whatever is killed, stopped or started, and whenever: the sum holds, and what is published is right."""
        r = random.Random(SEED)
        spec = self.live(self.record(100 * BLOCK, rate=100e3), backend=r.choice([["pool"], ["cpu", "pool"]]), lanes=1,
                         stages=[fir(1001)],
                         pool={"patience": "1 s", "ack_wait": "200 ms", "tries": 3,
                               "storage": r.choice(["memory", "file"])})
        home = self.home(spec)
        workers = [self.worker(f"w{n}") for n in range(3)]
        home.progress()
        for kill in range(KILLS):
            time.sleep(r.uniform(0, 0.3))
            n = r.randrange(3)
            what = r.choice(["kill", "kill", "stop", "term", "server", "server stops"])
            if what == "server":
                self.server.restart(r.choice([0, 0.2]))
            elif what == "server stops":
                self.server.stop()
                time.sleep(r.uniform(0, 0.5))
                self.server.resume()
            elif what == "stop":
                workers[n].freeze()
                time.sleep(r.uniform(0, 0.5))
                workers[n].thaw()
            else:
                workers[n].signal(signal.SIGKILL if what == "kill" else signal.SIGTERM)
                workers[n].wait()
                workers[n] = self.worker(f"w{n}-{kill}")
            self.assertIsNone(home.process.poll(), home.text)
        home.progress(20)
        status = self.stop(home)
        self.assertGreater(home.looks, KILLS // 4)
        self.assertEqual(status["dropped"]["stage"], 0)
        self.assertPieces(status, spec, settled=1001)


if __name__ == "__main__":
    pool_case.main()
