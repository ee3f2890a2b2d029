# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""The driver `uhd` against a simulated USRP, through libuhd and real sockets.

Skips, with 77, without network namespaces or Debian's simulator.
"""

import json
import re
import signal
import time

import numpy as np

import iqd
import uhd_case
import uhd_sim
from door import Door
from uhd_case import numbered


class Uhd(uhd_case.UhdCase):
    def setUp(self):
        super().setUp()
        self.sim = self.simulator()

    def check_stream(self, rate, samples):
        self.sim.start()
        with self.daemon(self.document(rate, block=int(rate) // 16), "--wait-subscribers", 1) as daemon:
            messages = self.read_while(daemon, lambda p: p["received"] >= samples)
            rest, status = self.stop(daemon)
        messages += rest
        self.assertAccounted(messages, status)
        self.assertGreaterEqual(status["published"], samples)
        self.assertEqual([status[k] for k in ("lost", "overflows", "sequence_errors", "time_jumps", "reconnects")],
                         [0] * 5, daemon.text)
        self.assertContinuous(messages)
        self.assertEqual({m.meta["time"] for m in messages}, {"host"})  # the radio's clock does not advance
        self.assertLess(abs(messages[0].time_ns / 1e9 - time.time()), 60)

    def test_1_megasample_a_second(self):
        self.check_stream(1e6, 3_000_000)

    def test_4_megasamples_a_second(self):
        self.check_stream(4e6, 8_000_000)

    def test_probe(self):
        self.sim.start()
        done = iqd.command("probe", "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        radios = {r["driver"]: r for r in json.loads(done.stdout)["radios"]}
        device = next(d for d in radios["uhd"]["devices"] if d["facts"].get("serial") == uhd_sim.SERIAL)
        self.assertEqual(device["label"], f"e320 {uhd_sim.SERIAL}")
        facts = device["facts"]
        self.assertEqual((facts["rx_antennas"], facts["rx_gains"], facts["clock_sources"]),
                         ("RX2, TX/RX", "0-76", "internal"))
        self.assertEqual((facts["firmware"], facts["rx_gain_profiles"], facts["rx_subdev"]),
                         ("4.2", "default", "A:0 A:1"))

    def test_probe_by_address(self):
        self.sim.start()
        done = iqd.command("probe", "--args", uhd_sim.ARGS, "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        radio, = json.loads(done.stdout)["radios"]
        device, = radio["devices"]
        self.assertEqual((radio["driver"], device["label"]), ("uhd", f"e320 {uhd_sim.SERIAL}"))
        self.assertEqual(device["facts"]["firmware"], "4.2")
        done = iqd.command("doctor", "--args", uhd_sim.ARGS, "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        found = {f["name"]: f for f in json.loads(done.stdout)["findings"]}
        self.assertEqual((found["radio"]["verdict"], found["radio"]["found"]),
                         ("ok", f"e320 {uhd_sim.SERIAL}, firmware 4.2"))
        self.sim.kill()
        done = iqd.command("probe", "--args", uhd_sim.ARGS, "--json")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertEqual(json.loads(done.stdout)["radios"][0]["error"], "no USRP found")

    def test_lost_packets_are_counted_one_by_one(self):
        self.sim.start()
        with self.daemon(self.document(), "--wait-subscribers", 1) as daemon:
            messages = self.read_while(daemon, lambda p: p["state"] == "streaming")
            self.sim.drop_one_of(500)
            messages += self.read_while(daemon, lambda p: p["lost"] >= 10 * uhd_sim.PACKET_SAMPLES)
            self.sim.behave()
            messages += self.read_while(daemon, lambda p: p["sequence_errors"] == self.sim.dropped)
            rest, status = self.stop(daemon)
        messages += rest
        self.assertGreaterEqual(self.sim.dropped, 10)
        self.assertEqual(status["sequence_errors"], self.sim.dropped)
        self.assertEqual(status["lost"], self.sim.dropped * uhd_sim.PACKET_SAMPLES)
        self.assertEqual((status["overflows"], status["time_jumps"]), (0, 0), daemon.text)
        self.assertAccounted(messages, status)
        # libuhd prints a D for each lost packet, which must not reach the terminal.
        self.assertEqual([line for line in daemon.log if not re.search(r"\b(debug|info|warning|error)\b", line)], [])

    def check_fault(self, fault, count, lost):
        """Until the fault has caused `count` sequence errors: `lost` packets are lost, each sample is at its position."""
        self.sim.start()
        with self.daemon(self.document(), "--wait-subscribers", 1) as daemon:
            messages = self.read_while(daemon, lambda p: p["received"] > 200_000)
            fault()
            messages += self.read_while(daemon, lambda p: p["sequence_errors"] >= count)
            self.sim.behave()
            rest, status = self.stop(daemon)
        self.assertAccounted(messages + rest, status)
        self.assertEqual((status["time_jumps"], status["overflows"]), (0, 0), daemon.text)
        self.assertEqual(status["lost"], lost(status["sequence_errors"]) * uhd_sim.PACKET_SAMPLES)

    def test_bursts_of_lost_packets(self):
        self.check_fault(lambda: self.sim.drop_one_of(200, 20), 5, lambda errors: self.sim.dropped)

    def test_a_packet_that_comes_behind_the_next_one_is_lost(self):
        # Each swap makes three sequence errors in libuhd: before the next packet, before this one, and after it.
        self.check_fault(lambda: self.sim.swap_one_of(500), 9, lambda errors: errors // 3)

    def test_a_packet_that_comes_twice_comes_once(self):
        self.check_fault(lambda: self.sim.double_one_of(500), 3, lambda errors: 0)

    def test_a_stall_is_noticed_and_over(self):
        self.sim.start()
        with self.daemon(self.document(), "--wait-subscribers", 1) as daemon:
            messages = self.read_while(daemon, lambda p: p["received"] > 500_000)
            self.sim.stall(4)
            messages += self.read_while(daemon, lambda p: p["state"] == "stalled")
            messages += self.read_while(daemon, lambda p: p["state"] == "streaming")
            rest, status = self.stop(daemon)
        self.assertEqual((status["stalls"], status["reconnects"], status["lost"]), (1, 0, 0), daemon.text)
        self.assertAccounted(messages + rest, status)

    def test_unplugged_it_waits_and_opens_again(self):
        self.sim.start()
        with self.daemon(self.document(), "--wait-subscribers", 1) as daemon:
            messages = self.read_while(daemon, lambda p: p["received"] > 500_000)
            self.sim.kill()
            messages += self.read_while(daemon, lambda p: p["state"] == "reconnecting")
            time.sleep(8)  # so that the pauses between retries have grown
            self.sim.start()
            back = time.monotonic()
            messages += self.read_while(daemon, lambda p: p["reconnects"] == 1 and p["state"] == "streaming")
            self.assertLess(time.monotonic() - back, 10, daemon.text)
            rest, status = self.stop(daemon)
        messages += rest
        self.assertConserved(status)
        self.assertEqual(sum(len(m.x) for m in messages), status["published"])
        self.assertGreater(status["lost"], 5_000_000)

    def test_unplugged_it_stops_all_the_same(self):
        self.sim.start()
        with self.daemon(self.document()) as daemon:
            daemon.wait_for(lambda p: p["received"] > 200_000)
            self.sim.kill()
            _, status = self.stop(daemon)
        self.assertConserved(status)

    def test_it_is_retuned_while_it_runs(self):
        self.sim.start()
        text = self.document()
        with self.daemon(text, "--wait-subscribers", 1) as daemon:
            messages = self.read_while(daemon, lambda p: p["state"] == "streaming")
            self.write(text.replace("1 GHz", "1.1 GHz"))
            daemon.signal(signal.SIGHUP)
            daemon.wait_for_log("source.frequency")
            self.write(text.replace("1 GHz", "1.1 GHz").replace("gain: 30", "gain: 300"))
            daemon.signal(signal.SIGHUP)
            daemon.wait_for_log("gain 300 is out of range (0 to 76)")
            rest, status = self.stop(daemon)
        messages += rest
        self.assertEqual((status["reloads"], status["lost"], status["reconnects"]), (1, 0, 0), daemon.text)
        self.assertEqual((messages[0].frequency, messages[-1].frequency), (1e9, 1.1e9))
        self.assertAccounted(messages, status)

    def test_what_it_refuses_is_refused_for_good(self):
        self.sim.start()
        with self.daemon(self.document() + 'monitor: {listen: "127.0.0.1:0"}\n') as daemon:
            door = Door(daemon)
            daemon.wait_for(lambda p: p["received"] > 0)
            for keys, words in (({"gain": 90}, "gain 90 is out of range (0 to 76)"),
                                ({"frequency": 60e9}, "frequency 60000000000 is out of range ("),
                                ({"antenna": "RX9"}, "there is no antenna 'RX9'; there are: RX2, TX/RX")):
                status, answer = door.change("PATCH", "/api/stages/source", keys)
                self.assertEqual(status, 422, (answer, daemon.text))
                self.assertIn(words, answer["problems"][0])
                daemon.wait_for_log(words)
                self.assertEqual(daemon.text.count(words), 1, daemon.text)
            status, answer = door.change("PATCH", "/api/stages/source", {"gain": 40})
            self.assertEqual(status, 200, answer)
            self.stop(daemon)

    def test_it_stops_though_it_hangs_while_it_is_tuned(self):
        self.sim.start()
        text = self.document()
        with self.daemon(text) as daemon:
            daemon.wait_for(lambda p: p["received"] > 200_000)
            self.sim.freeze()
            self.write(text.replace("1 GHz", "1.1 GHz"))
            daemon.signal(signal.SIGHUP)
            time.sleep(3)  # libuhd gives up after 2 s, and closing takes as long as a stop may
            _, status = self.stop(daemon)
        self.assertConserved(status)

    def test_what_is_transmitted_arrives(self):
        self.sim.start()
        sent = numbered(np.arange(200 * uhd_sim.PACKET_SAMPLES))
        recording = iqd.write_recording(self.folder / "sent", sent, rate=1e6)
        done = iqd.command("run", self.write(
            f"name: test\nsource: {{file: {{path: \"{recording}\"}}}}\nblock: 16384\nstages: []\n"
            f"sinks: [{{port: source, uhd: {{args: \"{uhd_sim.ARGS}\", frequency: 1 GHz, gain: 10}}}}]\n"),
            "--status", "json")
        self.assertEqual(done.returncode, 0, done.stderr)
        ends = time.monotonic() + iqd.PATIENCE
        while self.sim.transmitted.stat().st_size < sent.nbytes and time.monotonic() < ends:
            time.sleep(0.05)
        arrived = np.fromfile(self.sim.transmitted, "<i2").reshape(-1, 2)
        self.assertTrue(np.array_equal(arrived[:len(sent)], sent), (arrived.shape, sent.shape))
        # libuhd ends a burst with a non-empty packet: one sample of 0.
        self.assertEqual(arrived[len(sent):].tolist(), [[0, 0]])

    def test_what_cannot_be_opened_says_why(self):
        self.assertRegex(self.refused(self.document(args="addr=127.0.0.1,type=x300")), r"uhd 'addr=127.0.0.1,type=x300'.*No devices")
        self.sim.start()
        self.assertRegex(self.refused(self.document(gain=500)), r"gain 500 is out of range \(0 to 76\)")
        self.assertRegex(self.refused(self.document(keys=", channels: [7]")), r"no receive channel 7; the radio has 2")
        self.assertRegex(self.refused(self.document(keys=", antenna: RX9")), r"no antenna 'RX9'; there are: RX2, TX/RX")
        self.assertRegex(self.refused(self.document(keys=", subdev: \"Z:9\"")), r"cannot choose the channels: .*Z:9")
        self.assertRegex(self.refused(self.document(keys=", clock_source: external")), r"clock_source: .*'external'.*internal")


if __name__ == "__main__":
    uhd_case.main()
