# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""iqd logs once what `realtime:` was granted and what not, and `iqd doctor` reports it before the start."""

import json
import os
import re
import unittest

import iqd


class RealTime(iqd.SystemTest):
    def log_of(self, realtime):
        where = iqd.endpoint()
        text = (f"name: test\nsource: {{soapy: {{args: \"driver=iqdsim\", rate: 1e6}}}}\nlanes: 3\n"
                f"stages: [spectrum: {{size: 1024}}]\nrealtime: {realtime}\n"
                f"publish: [{{port: spectrum.out, topic: t, bind: \"{where}\"}}]\n")
        with self.daemon(text) as daemon:
            daemon.wait_for(lambda p: p["published"] > 0)
            self.assertEqual(daemon.stop(), 0, daemon.text)
            return daemon.text

    def test_what_was_granted_is_one_line(self):
        cpu = max(os.sched_getaffinity(0))
        log = self.log_of(f"{{cpus: [{cpu}]}}")
        self.assertEqual(log.count("radio, lanes and publisher: "), 1, log)
        self.assertIn(f"test: radio, lanes and publisher: no real-time priority; radio and lanes on CPUs {cpu}; "
                      "memory not locked", log)
        self.assertNotIn("warning", log)

    def test_processors_that_are_not_there_are_one_warning(self):
        if os.cpu_count() > 1000:
            self.skipTest("this machine may have all these CPUs")
        log = self.log_of("{cpus: [0, 1023]}")
        self.assertEqual(len(re.findall("warning", log)), 1, log)
        self.assertIn("realtime: cpus: this machine has no CPU 1023", log)

    def test_a_priority_is_granted_or_refused_once(self):
        log = self.log_of("{priority: 10}")
        self.assertEqual(("SCHED_FIFO 10;" in log) + log.count("priority: 10 was not granted"), 1, log)

    def test_doctor_says_what_there_is(self):
        found = {f["name"]: f for f in json.loads(iqd.command("doctor", "--json").stdout)["findings"]}
        self.assertRegex(found["real-time priority"]["found"], r"SCHED_FIFO (granted up to \d+|refused)")
        self.assertTrue(found["CPUs for iqd"]["found"])
        self.assertIn("limit", found["locked memory"]["found"])


if __name__ == "__main__":
    unittest.main()
