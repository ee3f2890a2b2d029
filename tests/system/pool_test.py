# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""A pool gives the results of one host, to the byte: also while workers die, freeze, stop, come and change.

Skips, with 77, where nats-server is not installed."""

import json
import signal
import time

import numpy as np
import yaml

import iqd
import nats
import pool_case
from pool_case import BLOCK, TAPS, fir

SLOW = 4001  # taps: some milliseconds a block
SURE = {"patience": "60 s", "ack_wait": "300 ms", "tries": 50}


class Equal(pool_case.PoolTest):
    """Several pools, all with the same worker."""

    def test_equal_to_one_run(self):
        recording = self.record(60 * BLOCK + 123)
        loop = {"clock_recovery": {"samples_per_symbol": 4, "from": "fir.out"}}
        cases = {"pool": {},
                 "both": {"backend": ["cpu", "pool"], "lanes": 1, "stages": [fir(12 * SLOW)]},
                 "state": {"stages": [{"rotate": {"frequency": "12345.6 Hz"}}, fir(decimation=2), loop],
                           "port": "clock_recovery.out"},
                 "large": {"block": 3 * BLOCK}}
        specs = {pool: self.spec(recording, sink=f"{pool}.npy", pool={"name": pool, **SURE}, **case)
                 for pool, case in cases.items()}
        homes = {pool: self.home(spec, pool) for pool, spec in specs.items()}
        worker = self.worker(pools=list(cases))
        for pool, home in homes.items():
            with self.subTest(pool):
                self.assertWhole(home, specs[pool], f"{pool}.npy")
        self.assertEqual(worker.stop(), 0)
        for pool in cases:
            self.assertRegex(worker.text, rf"{pool}: [1-9]\d* blocks done, 0 refused")

    def test_several_channels_over_tls(self):
        self.server = self.enterContext(nats.Server(self.folder / "tls", tls=True))
        recording = self.record(30 * BLOCK + 77, channels=3)
        ca = {"ca": str(self.server.certificate)}
        spec = self.spec(recording, [{"rotate": {"frequency": 1000}}, fir(decimation=3)], pool={**SURE, **ca})
        home = self.home(spec)
        other = nats.Server(self.folder / "other", tls=True).certificate
        refused = self.worker("refused", ca=str(other))
        self.assertEqual(refused.wait(), 1, refused.text)
        self.assertIn("certificate", refused.text)
        self.worker(**ca)
        self.assertWhole(home, spec)
        self.assertEqual(np.load(self.folder / "out.npy").shape[1], 3)


class Workers(pool_case.PoolTest):
    def consumer(self, client):
        return client.ask("CONSUMER.INFO.IQD_band_todo.workers")

    def freeze_with_blocks(self, worker, client):
        """Stops a worker that holds blocks; returns how many it holds if no other worker is there."""
        ends = time.monotonic() + iqd.PATIENCE
        while True:
            worker.freeze()
            time.sleep(0.05)
            if (held := self.consumer(client)["num_ack_pending"]) > 0:
                return held
            self.assertLess(time.monotonic(), ends)
            worker.thaw()
            time.sleep(0.02)

    def delivers_again(self, client):
        delivered = self.consumer(client)["delivered"]
        return delivered["consumer_seq"] > delivered["stream_seq"]

    def test_workers_are_killed(self):
        """One before the first block, one with blocks in its hands; a file is complete all the same."""
        spec = self.spec(self.record(250 * BLOCK), [fir(SLOW)], pool=SURE)
        idle, first, second = self.worker("idle"), self.worker("first"), self.worker("second")
        home = self.home(spec)
        self.wait_for_workers(idle)
        idle.signal(signal.SIGKILL)
        home.progress()
        with nats.Client(self.server) as client:
            second.freeze()
            self.freeze_with_blocks(first, client)
            first.signal(signal.SIGKILL)
            second.thaw()
            home.until(lambda _: self.delivers_again(client))
        self.assertWhole(home, spec)

    def test_a_worker_is_killed_at_half_load(self):
        """A live stream loses nothing: others have its blocks after `ack_wait`."""
        spec = self.live(self.record(100 * BLOCK), pool={**SURE, "window": "8 MiB"})
        home = self.home(spec)
        first, second = self.worker("first", lanes=2), self.worker("second", lanes=2)
        self.wait_for_workers(first, second)
        home.progress(30)
        before = home.status()
        with nats.Client(self.server) as client:
            self.freeze_with_blocks(first, client)
            first.signal(signal.SIGKILL)
        home.progress(60)
        status = self.stop(home)
        self.assertNoneLost(status, before)
        self.assertPieces(status, spec)

    def test_a_frozen_worker_is_late(self):
        """What it has is poison where only one worker may try, to the sample; its late results are left out."""
        spec = self.live(self.record(100 * BLOCK),
                         pool={"patience": "20 s", "ack_wait": "2 s", "tries": 1, "window": "8 MiB"})
        home = self.home(spec)
        frozen = self.worker("frozen")
        home.progress(20)
        with nats.Client(self.server) as client:
            held = self.freeze_with_blocks(frozen, client)
            self.worker("other")
            home.until(lambda s: s["dropped"]["pool_poison"] > 0)
            home.progress(20)
            frozen.thaw()
            home.progress(20)
        status = self.stop(home)
        self.assertEqual(status["dropped"]["pool_poison"] % BLOCK, 0)
        # The result of one may have been sent, but not acknowledged. And the server may have sent blocks for requests of
        # the frozen worker that were still open.
        self.assertLessEqual((held - 1) * BLOCK, status["dropped"]["pool_poison"])
        self.assertGreater(status["dropped"]["pool_poison"], 0)
        self.assertLessEqual(status["dropped"]["pool_poison"], 4 * BLOCK)
        self.assertEqual(status["dropped"]["pool_lost"], 0)
        self.assertPieces(status, spec)

    def test_the_doctor_finds_home_and_workers(self):
        spec = self.live(self.record(100 * BLOCK), pool={"window": "1 MiB"})
        path = self.folder / "home.yaml"

        def verdicts():
            done = iqd.command("doctor", "--pool", "--json", path)
            self.assertEqual(done.returncode, 0, done.stderr)
            return {f["name"]: (f["verdict"], f["found"]) for f in json.loads(done.stdout)["findings"]}

        home = self.home(spec)
        self.assertEqual(verdicts()["pool band: workers"], ("warn", "none is here"))
        self.worker("w1", lanes=3)
        home.progress()
        found = verdicts()
        self.assertEqual(set(found), {"pool band", "pool band: home", "pool band: w1"})
        self.assertEqual({verdict for verdict, _ in found.values()}, {"ok"}, found)
        self.assertIn("3 lane(s)", found["pool band: w1"][1])
        self.assertIn("max_payload 16.8 MB", found["pool band"][1])
        self.stop(home)
        self.server.kill()
        self.assertEqual(verdicts()["pool band"][0], "bad")

    def test_all_workers_leave_and_one_comes(self):
        spec = self.spec(self.record(200 * BLOCK), [fir(SLOW)], pool=SURE)
        home = self.home(spec)
        workers = [self.worker("first"), self.worker("second")]
        self.wait_for_workers(*workers)
        home.progress()
        for worker in workers:
            worker.signal(signal.SIGKILL)
        left = [home.status()["published"]]
        while len(left) < 4 or left[-1] != left[-4]:
            time.sleep(0.1)
            left.append(home.status()["published"])
        self.assertGreater(home.status()["in_flight"], 0)
        self.worker("third")
        self.assertWhole(home, spec)

    def test_own_lanes_continue_without_workers(self):
        spec = self.live(self.record(100 * BLOCK), backend=["cpu", "pool"], pool={**SURE, "window": "8 MiB"})
        home = self.home(spec)
        worker = self.worker()
        home.progress(20)
        worker.signal(signal.SIGKILL)
        home.progress(60)
        status = self.stop(home)
        self.assertEqual(sum(status["dropped"].values()), 0, home.text)
        self.assertPieces(status, spec)

    def test_own_lanes_begin_without_a_server(self):
        spec = self.live(self.record(100 * BLOCK), backend=["cpu", "pool"], lanes=1, pool={**SURE, "window": "8 MiB"})
        self.server.kill()
        home = self.home(spec)
        status = home.progress(20)
        self.assertEqual(status["pool"]["server"], "")
        self.assertIn("cannot connect", status["pool"]["trouble"])
        self.server.start()
        self.worker()
        home.until(lambda s: s["pool"]["server"] == self.server.url and s["pool"]["workers"] == 1)
        home.progress(40)
        status = self.stop(home)
        self.assertEqual(sum(status["dropped"].values()), 0, home.text)
        self.assertPieces(status, spec)

    def test_a_worker_drains(self):
        """SIGTERM: what it computes is sent, and the rest is with others at once, not after `ack_wait`."""
        spec = self.spec(self.record(200 * BLOCK), [fir(SLOW)], pool={**SURE, "ack_wait": "30 s"})
        home = self.home(spec)
        first, second = self.worker("first", lanes=2), self.worker("second")
        self.wait_for_workers(first, second)
        home.progress(10)
        began = time.monotonic()
        self.assertEqual(first.stop(), 0, first.text)
        self.assertLess(time.monotonic() - began, 5)
        self.assertRegex(first.text, r"band: [1-9]\d* blocks done, 0 refused")
        self.assertWhole(home, spec, seconds=25)  # no block waited for `ack_wait`


class Homes(pool_case.PoolTest):
    def test_two_homes_of_one_name(self):
        spec = self.spec(self.record(100 * BLOCK), pool=SURE)
        home = self.home(spec)
        second = self.home(self.spec(self.folder / "noise.sigmf-meta", sink="second.npy"), "second", watched=False)
        self.assertEqual(second.wait(), 1, second.text)
        self.assertIn("'band' has a home already", second.text)
        self.worker()
        self.assertWhole(home, spec)

    def test_a_home_returns(self):
        """Its network was cut, and another one has taken its place: that one stays."""
        relay = self.enterContext(nats.Relay(self.server))
        spec = self.live(self.record(100 * BLOCK))
        home = self.home({**spec, "pool": {**spec["pool"], "servers": [relay.url]}})
        worker = self.worker()
        home.progress()
        relay.cut()
        second = self.spec(self.folder / "noise.sigmf-meta", [fir(SLOW, seed=9)], sink="second.npy", pool=SURE)
        other = self.home(second, "second")
        other.progress()
        relay.heal()
        self.assertNotEqual(home.wait(), 0, home.text)
        self.assertIn("another home has taken its streams", home.text)
        self.assertWhole(other, second, "second.npy")
        self.assertEqual(worker.stop(), 0)

    def test_a_home_is_killed(self):
        """The next one has none of its blocks, and none of its results."""
        spec = self.spec(self.record(150 * BLOCK), [fir(SLOW)], pool=SURE)
        first = self.home(spec, "first")
        worker = self.worker()
        first.progress()
        first.signal(signal.SIGKILL)
        first.wait()
        spec = self.spec(self.folder / "noise.sigmf-meta", [fir(SLOW, seed=9)], sink="again.npy", pool=SURE)
        self.assertWhole(self.home(spec, "again"), spec, "again.npy")
        self.assertEqual(worker.stop(), 0)

    def test_a_home_stops(self):
        """Without a worker it ends in time, and says what was not computed."""
        home = self.home(self.spec(self.record(100 * BLOCK), pool=SURE))
        worker = self.worker()
        home.progress()
        worker.freeze()
        home.signal()
        status = self.end(home, seconds=15)
        self.assertGreaterEqual(status["received"], status["published"])
        self.assertEqual(status["received"] - status["published"], status["dropped"]["stopped"])

    def reload(self, home, spec):
        (self.folder / "home.yaml").write_text(yaml.safe_dump(spec, sort_keys=False), encoding="utf-8")
        home.signal(signal.SIGHUP)

    def test_reload_under_load(self):
        """Other blocks and another filter, each from one block on, without a loss."""
        recording = self.record(2000 * BLOCK)
        pool = {**SURE, "window": "8 MiB"}
        spec = self.live(recording, repeat=False, pool=pool)
        home = self.home(spec)
        self.wait_for_workers(self.worker("first"), self.worker("second"))
        home.progress(20)
        before = home.status()
        variants = [{"block": 2000}, {"block": 3 * BLOCK}, {"stages": [fir(seed=9)]}]
        for turn, variant in enumerate(variants):
            self.reload(home, self.live(recording, repeat=False, pool=pool, **variant))
            home.until(lambda s, n=turn + 1: s["reloads"] == n)
            home.progress(20)
        status = self.stop(home)
        self.assertNoneLost(status, before)
        # One filter up to some block, the other one behind it.
        y, messages = np.load(self.folder / "out.npy"), np.load(self.folder / "out.messages.npy")
        one = self.alone(spec)
        other = self.alone(self.live(recording, repeat=False, stages=[fir(seed=9)]), "other.npy")
        start = int(messages["sample"][messages["gap"] > 0][-1]) if (messages["gap"] > 0).any() else 0
        row = int(messages["row"][messages["sample"] == start][0])
        n = len(y) - row - TAPS
        y, one, other = (a[at + TAPS:][:n] for a, at in ((y, row), (one, start), (other, start)))
        switch = int(np.argmax(y != one))
        self.assertGreater(switch, 0)
        np.testing.assert_array_equal(y[switch:], other[switch:n])
        self.assertIn(start + TAPS + switch, messages["sample"].tolist(), "it begins with a block")

    def test_many_filters(self):
        """Workers have the order of each block, however many orders there were."""
        home = self.home(self.live(self.record(100 * BLOCK), stages=[fir(31)]))
        worker = self.worker()
        home.progress()
        taps = np.array(fir(31)["fir"]["taps"])
        for factor in (*range(1, 11), 1):
            code, answer = home.door.change("PATCH", "/api/stages/fir", {"taps": (taps * factor).tolist()})
            self.assertEqual(code, 200, answer)
            home.progress(3, seconds=10)
        status = self.stop(home)
        self.assertEqual(status["dropped"]["pool_poison"], 0)
        self.assertEqual(worker.stop(), 0)
        self.assertIn(" 0 refused", worker.text)


class OtherBuilds(pool_case.PoolTest):
    def answer(self, client, seconds, about):
        """Answers a worker as a home does."""
        ends = time.monotonic() + seconds
        while (left := ends - time.monotonic()) > 0:
            if message := client.next(left):
                client.publish(message[1], json.dumps(about).encode())
                return
        self.fail("no worker asks for its home")

    def test_a_home_of_another_build(self):
        """Its workers say why they do not work; a home that allows it, and wrong answers, change nothing."""
        about = {"run": "x", "host": "elsewhere", "build": "x", "same": True, "ack_wait": 0.6, "patience": 2}
        with nats.Client(self.server) as client:
            client.subscribe("iqd.band.home")
            worker = self.worker()
            for answer, words in ((about, "its home on elsewhere is another build of iqd"),
                                  ({**about, "ack_wait": "x"}, "its home is not there"),
                                  ({**about, "same": False, "ack_wait": -1e300}, "work band: for elsewhere")):
                self.answer(client, 10, answer)
                worker.wait_for_log(words)
        self.assertEqual(worker.stop(), 0, worker.text)


class Keys(pool_case.PoolTest):
    """Users of the server have keys, and a worker may only work."""

    MAY_WORK = ["$JS.API.CONSUMER.MSG.NEXT.IQD_band_todo.workers", "$JS.API.CONSUMER.INFO.IQD_band_todo.workers",
                "$JS.API.STREAM.INFO.IQD_band_todo", "$JS.API.STREAM.NAMES", "$JS.ACK.IQD_band_todo.workers.>",
                "$JS.API.STREAM.MSG.GET.IQD_band_plan", "$JS.API.DIRECT.GET.IQD_band_plan.>", "$JS.API.INFO",
                "iqd.band.done", "iqd.band.here", "iqd.band.home"]

    def setUp(self):
        super().setUp()
        names = ("home", "worker", "mute", "stranger")
        self.files = {name: str(self.folder / f"{name}.seed") for name in names}
        public = {name: nats.make_key(path) for name, path in self.files.items()}
        mute = [subject for subject in self.MAY_WORK if subject != "iqd.band.home"]
        users = [{"nkey": public["home"]}] + [
            {"nkey": public[name], "permissions": {"publish": may, "subscribe": ["_INBOX.>"]}}
            for name, may in (("worker", self.MAY_WORK), ("mute", mute))]
        self.server = self.enterContext(
            nats.Server(self.folder / "keys", f"authorization {{ users: {json.dumps(users)} }}"))

    def test_keys_and_permissions(self):
        spec = self.spec(self.record(60 * BLOCK), pool={**SURE, "key": self.files["home"]})
        home = self.home(spec)
        for name, key in (("stranger", {"key": self.files["stranger"]}), ("keyless", {})):
            with self.subTest(name):
                refused = self.worker(name, **key)
                began = time.monotonic()
                self.assertEqual(refused.wait(), 1, refused.text)
                self.assertLess(time.monotonic() - began, 10)
                self.assertIn("Authorization", refused.text)
                other = self.home({**spec, "pool": {**spec["pool"], "name": name, **{"key": "", **key}}}, name,
                                  watched=False)
                self.assertEqual(other.wait(), 1, other.text)
                self.assertIn("Authorization", other.text)
        mute = self.worker("mute", key=self.files["mute"])
        mute.wait_for_log("Permissions Violation")
        self.assertEqual(home.status()["published"], 0, "nobody works yet")
        self.worker(key=self.files["worker"])
        self.assertWhole(home, spec)

    def test_a_worker_cannot_be_home(self):
        spec = self.spec(self.record(BLOCK), pool={"key": self.files["worker"]})
        home = self.home(spec, watched=False)
        self.assertEqual(home.wait(), 1, home.text)
        self.assertIn("pool", home.text)


if __name__ == "__main__":
    pool_case.main()
