# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""The cost of HTTP requests to a daemon with 20 stages; label `speed`."""

import pathlib
import statistics
import time
import unittest

import iqd
from door import Door, simulated

MOST_SCRAPE_SECONDS = 0.010
MOST_OF_A_CORE = 0.02  # 0.005 to 0.01 on a quiet machine; a virtual one may take twice the time
STAGES = ", ".join(f"rotate: {{name: r{i}, frequency: 1000}}" for i in range(20))


def request_seconds(pid):
    """CPU time of the threads that answer requests: the radio's simulator and the lanes are not the port's cost."""
    spent = 0
    for thread in pathlib.Path(f"/proc/{pid}/task").iterdir():
        if thread.joinpath("comm").read_text(encoding="utf-8").strip() == "iqd-http":
            spent += int(thread.joinpath("schedstat").read_text(encoding="utf-8").split()[0])
    return spent * 1e-9


class HttpCost(iqd.SystemTest):
    def setUp(self):
        super().setUp()
        # The sample rate is so low that only the HTTP port's cost remains.
        text = simulated(rate=1e5, stages=STAGES) + 'fuse: off\nmonitor: {listen: "127.0.0.1:0"}\n'
        self.running = self.enterContext(self.daemon(text))
        self.door = Door(self.running)
        self.door.wait_for_state("/readyz", 200)

    def test_a_scrape(self):
        took = []
        for _ in range(50):
            began = time.monotonic()
            text = self.door.get("/metrics")
            took.append(time.monotonic() - began)
        self.assertGreaterEqual(text.count("iqd_stage_seconds_count"), 20)
        print(f"a scrape of 20 stages, {len(text)} bytes: median {statistics.median(took) * 1e3:.2f} ms, "
              f"at most {max(took) * 1e3:.2f} ms")
        self.assertLess(statistics.median(took), MOST_SCRAPE_SECONDS)

    def test_latency_does_not_notice(self):
        def p99(looks):
            text = simulated(stages=STAGES, more="lanes: 1\n") + 'monitor: {listen: "127.0.0.1:0"}\n'
            with self.daemon(text, "--seconds", 4, name="latency.yaml") as daemon:
                door = Door(daemon)
                while looks and daemon.process.poll() is None:
                    try:
                        door.get("/metrics")
                    except OSError:  # iqd has exited
                        break
                    time.sleep(0.1)
                self.assertEqual(daemon.wait(), 0)
                return daemon.final[0]["latency_us"]["p99"]

        # Other programs may disturb a run; if the port does, it does so in all of them.
        for _ in range(4):
            alone, looked_at = p99(False), p99(True)
            print(f"p99 of a block: {alone:.0f} us alone, {looked_at:.0f} us with a scrape ten times a second")
            if looked_at < 1.5 * alone + 500:
                return
        self.fail("a block is late when the port is asked")

    def share_of_a_core(self, path):
        """The port's CPU share in a second with ten requests."""
        spent = request_seconds(self.running.process.pid)
        began = time.monotonic()
        for i in range(1, 11):
            self.door.get(path)
            time.sleep(max(0.0, began + i / 10 - time.monotonic()))
        return (request_seconds(self.running.process.pid) - spent) / (time.monotonic() - began)

    def test_a_status_page_ten_times_a_second(self):
        for path in ("/api/status", "/api/pipeline"):
            # The cheapest second: other programs may slow the machine for a while.
            cost = min(self.share_of_a_core(path) for _ in range(8))
            print(f"{path} ten times a second: {100 * cost:.2f} % of a core")
            self.assertGreater(cost, 0)
            self.assertLess(cost, MOST_OF_A_CORE, path)


if __name__ == "__main__":
    unittest.main()
