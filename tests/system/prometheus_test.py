# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""A real Prometheus scrapes a real iqd, a home of a pool and its worker: every query of every panel returns data, and
every rule is evaluated."""

import json
import pathlib
import re
import shutil
import subprocess
import time
import unittest
import urllib.error
import urllib.parse
import urllib.request

import iqd
import nats
import pool_case
from door import Door

ALERTS = iqd.ROOT / "tools" / "prometheus"
GRAFANA = iqd.ROOT / "tools" / "grafana"
DASHBOARDS = {path.name: json.loads(path.read_text(encoding="utf-8"))
              for path in sorted((GRAFANA / "dashboards").glob("*.json"))}
# Slow, so that a busy machine loses no samples: users are counted only if a whole frame of theirs, 74,528 samples, comes
# through, several times within Grafana's window.
PIPELINE = """
name: test
source: {{soapy: {{args: "driver=iqdsim,scenario=telemetry,ebn0=8,payload=pn23", rate: 200 kS/s}}}}
block: 16384
stages:
  - preamble_search:
  - packet_estimator: {{average: packet}}
  - equalizer: {{kinds: [fde1, fde2]}}
  - soqpsk_detector:
  - ber_meter: {{from: soqpsk_detector.bits, sequence: pn23}}
  - packet_quality: {{from: soqpsk_detector.soft}}
  - ofdm_modulator: {{from: source, code: 80216e_2304_1_2}}
  - ofdm_sync:
  - ofdm_demod:
  - ofdm_clock:
  - mimo_channel_estimator: {{track: frame, doppler: 20, whiten: groups}}
  - mtt_detector:
  - ldpc_decoder: {{interleave: frame}}
  - ber_meter: {{name: of_words, from: ldpc_decoder.bits, sequence: pn23}}
  - noma_modulator: {{from: source}}
  - ofdm_sync: {{name: of_users, from: noma_modulator, fft: 2048, carriers: 144, prefix: 144, frame: 74528, tx: 1}}
  - ofdm_demod: {{name: carriers_of_users, fft: 2048, carriers: 144, prefix: 144, frame: 74528, tx: 1}}
  - noma_slots:
  - lls_detector:
  - ber_meter: {{name: of_users_bits, from: lls_detector.bits, sequence: pn23}}
  - aph_predistorter: {{from: source}}
  - acpr_meter: {{from: aph_predistorter.out, carriers: [0], bandwidth: 20 kHz, size: 256}}
  - aph_estimator:
      from: {{sent: source, received: aph_predistorter.out}}
      samples: 4096
      aclr: {{carriers: [0], bandwidth: 20 kHz, size: 256}}
  - iq_correct: {{from: source}}
  - spectrum: {{from: source, size: 1024}}
publish:
  - {{port: source, topic: samples, bind: "{endpoint}"}}
  - {{port: spectrum, topic: spectrum, bind: "{endpoint}"}}
monitor: {{listen: "127.0.0.1:0"}}
"""
# Grafana's values for a datasource with `timeInterval: 1s` in a short window: $__rate_interval is four scrapes.
BUILT_IN = {"__interval": "1s", "__rate_interval": "4s", "__range": "30s"}
POOLED = {"instance": "home", "pipeline": "band"}  # the home of a pool


def promtool(*arguments):
    return subprocess.run(["promtool", *map(str, arguments)], capture_output=True, text=True, check=False, timeout=60,
                          cwd=ALERTS)


def substituted(text, variables):
    """The text with $name and ${name} replaced; an unknown name is a mistake in the dashboard."""
    return re.sub(r"\$(?:\{(\w+)\}|(\w+))", lambda m: variables[m[1] or m[2]], text)


def panels(dashboard):
    return [panel for panel in dashboard["panels"] if panel["type"] != "row"]


class Prometheus:
    """Debian's Prometheus with the example configuration, but another target and shorter intervals.

    `others`: further targets, by the values of their label `instance`."""

    def __init__(self, folder, target, others):
        self.folder, self.port = pathlib.Path(folder), iqd.free_port()
        text = (ALERTS / "prometheus.yml").read_text(encoding="utf-8")
        text = text.replace("127.0.0.1:9464", target).replace("[iqd-", f"[{ALERTS}/iqd-")
        text = re.sub(r"_interval: \d+s", "_interval: 1s", text)
        for instance, other in others.items():
            text += f'      - targets: ["{other}"]\n        labels: {{instance: {instance}}}\n'
        (self.folder / "prometheus.yml").write_text(text, encoding="utf-8")
        self.log = (self.folder / "prometheus.log").open("w+", encoding="utf-8")
        self.process = subprocess.Popen(
            ["prometheus", f"--config.file={self.folder}/prometheus.yml", f"--storage.tsdb.path={self.folder}/tsdb",
             f"--web.listen-address=127.0.0.1:{self.port}"], stdout=self.log, stderr=subprocess.STDOUT)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.log.close()

    def ask(self, path, **parameters):
        """The data of a response; None while Prometheus is starting."""
        query = urllib.parse.urlencode(parameters)
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/api/v1/{path}?{query}", timeout=30) as answer:
                return json.load(answer)["data"]
        except urllib.error.HTTPError as error:
            if error.code == 503:
                return None
            raise AssertionError(f"{parameters}: {error.read().decode()}") from error
        except urllib.error.URLError:
            self.log.seek(0)
            assert self.process.poll() is None, self.log.read()
            return None

    def values(self, query):
        """The numeric values of a query in the last half minute, since a panel shows a range."""
        now = time.time()
        data = self.ask("query_range", query=query, start=now - 30, end=now, step=1)
        numbers = [float(value) for series in (data or {"result": []})["result"] for _, value in series["values"]]
        return [x for x in numbers if x == x]

    def wait_for(self, what, condition):
        ends = time.monotonic() + iqd.PATIENCE
        while not (found := condition()):
            assert time.monotonic() < ends, what() if callable(what) else what
            time.sleep(0.2)
        return found

    def variable(self, model, known):
        """The first value that Grafana would offer for a variable."""
        if model["type"] == "datasource":
            return model["query"]
        query = substituted(model["query"]["query"], known)
        kind, inside = re.fullmatch(r"(\w+)\((.*)\)", query).groups()
        if kind == "label_values":
            series, label = inside.rsplit(", ", 1)
            values = self.ask(f"label/{label}/values", **{"match[]": series}) or [""]
            return values[0]
        assert kind == "query_result", query
        result = (self.ask("query", query=inside) or {"result": []})["result"]
        if not result:
            return ""
        labels = ",".join(f'{name}="{value}"' for name, value in result[0]["metric"].items())
        text = f"{{{labels}}} {result[0]['value'][1]} {int(1000 * result[0]['value'][0])}"
        return re.search(model["regex"].strip("/"), text)[1]


@unittest.skipUnless(shutil.which("prometheus"), "NOT TESTED: prometheus is not installed; tools/setup installs it")
class OfPrometheus(iqd.SystemTest):
    def test_the_files_are_as_promtool_wants_them(self):
        for arguments in (("check", "config", "prometheus.yml"), ("check", "rules", "iqd-rules.yml"),
                          ("test", "rules", "iqd-rules-test.yml")):
            done = promtool(*arguments)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_promtool_would_notice(self):
        """A changed threshold fails the tests of the rules."""
        for name in ("iqd-rules.yml", "iqd-rules-test.yml"):
            shutil.copy(ALERTS / name, self.folder)
        rules = self.folder / "iqd-rules.yml"
        rules.write_text(rules.read_text(encoding="utf-8").replace("> 0.01", "> 0.1"), encoding="utf-8")
        self.assertNotEqual(promtool("test", "rules", self.folder / "iqd-rules-test.yml").returncode, 0)


@unittest.skipUnless(shutil.which("prometheus"), "NOT TESTED: prometheus is not installed; tools/setup installs it")
@unittest.skipIf(nats.why_not(), f"NOT TESTED: {nats.why_not()}; tools/setup installs it")
class OfWhatIsShown(pool_case.PoolTest):
    def home_and_worker(self):
        """Both, by the values of the label `instance` that they get."""
        home = self.home(self.live(self.record(20 * pool_case.BLOCK)))
        worker = self.worker()
        home.progress()
        return {"home": home.door, "worker": Door(worker)}

    def test_what_is_shown_and_watched(self):
        endpoint = iqd.endpoint()
        daemon = self.enterContext(self.daemon(PIPELINE.format(endpoint=endpoint)))
        door = Door(daemon)
        door.wait_for_state("/readyz", 200)
        self.reader(endpoint, "").take(2)
        others = self.home_and_worker()
        doors = [door, *others.values()]
        with Prometheus(self.folder, f"127.0.0.1:{door.port}",
                        {instance: f"127.0.0.1:{other.port}" for instance, other in others.items()}) as prometheus:
            # Before that, a variable might offer another instance first.
            prometheus.wait_for("a target is missing", lambda: len(
                (prometheus.ask("query", query="iqd_up") or {"result": []})["result"]) == len(doors))
            for name, dashboard in DASHBOARDS.items():
                self.every_query_gives_data(prometheus, name, dashboard)
            self.every_rule_is_evaluated(prometheus)
            # Metrics that are measured over a while appear last.
            prometheus.wait_for(lambda: f"missing: {self.asked_in_vain(doors)}",
                                lambda: not self.asked_in_vain(doors))
            self.assertEqual(daemon.stop(), 0, daemon.text)
            prometheus.wait_for("IqdDown is not even pending", lambda: [
                alert for alert in prometheus.ask("alerts")["alerts"] if alert["labels"]["alertname"] == "IqdDown"])

    def every_query_gives_data(self, prometheus, name, dashboard):
        known = dict(BUILT_IN)
        for model in dashboard["templating"]["list"]:
            known[model["name"]] = prometheus.wait_for(
                f"{name}: ${model['name']} has no values", lambda m=model: prometheus.variable(m, known))
        self.assertEqual((known["pipeline"], float(known["deadline"])), ("test", 81.92))
        for panel in panels(dashboard):
            substituted(panel["title"], known)
            for target in panel["targets"]:
                query = substituted(target["expr"], {**known, **POOLED} if "iqd_pool_" in target["expr"] else known)
                prometheus.wait_for(f"{name}: '{panel['title']}' shows nothing for {query}",
                                    lambda q=query: prometheus.values(q))

    def every_rule_is_evaluated(self, prometheus):
        def rules():
            return [rule for group in prometheus.ask("rules")["groups"] for rule in group["rules"]]
        prometheus.wait_for(lambda: str(rules()), lambda: all(rule["health"] != "unknown" for rule in rules()))
        self.assertGreater(len(rules()), 10)
        for rule in rules():
            self.assertEqual((rule["health"], rule.get("lastError", "")), ("ok", ""), rule)

    def asked_in_vain(self, doors):
        """A rule with a misspelt metric never fires, and never fails. Returns the unknown metrics."""
        there = {name for door in doors for name, _ in door.series()}
        rules = (ALERTS / "iqd-rules.yml").read_text(encoding="utf-8")
        asked = set(re.findall(r"\b(?:iqd|process)_\w+", rules))
        self.assertGreater(len(asked), 10)
        return asked - there


class OfTheFiles(unittest.TestCase):
    def test_each_alert_is_tested_and_explained(self):
        rules, tests = ((ALERTS / name).read_text(encoding="utf-8") for name in ("iqd-rules.yml", "iqd-rules-test.yml"))
        page = (iqd.ROOT / "docs" / "dashboards.md").read_text(encoding="utf-8")
        alerts = re.findall(r"- alert: (\w+)\n((?: +.*\n)+)", rules)
        self.assertGreater(len(alerts), 10)
        for name, rule in alerts:
            self.assertIn(f"alertname: {name}\n", tests)
            self.assertRegex(tests, rf"alertname: {name}, eval_time: \w+, exp_alerts: \[\]")
            self.assertRegex(rule, r"severity: (critical|warning)\}")
            self.assertIn(f"docs: docs/dashboards.md#{name.lower()}\n", rule)
            self.assertIn(f"\n### {name}\n", page)

    def test_panels_lie_side_by_side(self):
        for name, dashboard in DASHBOARDS.items():
            taken, ids = {}, set()
            for panel in dashboard["panels"]:
                self.assertNotIn(panel["id"], ids, name)
                ids.add(panel["id"])
                at = panel["gridPos"]
                self.assertLessEqual(at["x"] + at["w"], 24, panel["title"])
                for cell in ((x, y) for x in range(at["x"], at["x"] + at["w"])
                             for y in range(at["y"], at["y"] + at["h"])):
                    self.assertIsNone(taken.setdefault(cell, None), f"{taken[cell]} and {panel['title']}")
                    taken[cell] = panel["title"]

    def test_each_panel_is_explained(self):
        page = (iqd.ROOT / "docs" / "dashboards.md").read_text(encoding="utf-8")
        for dashboard in DASHBOARDS.values():
            for panel in panels(dashboard):
                self.assertIn(f"| {panel['title'].replace('$deadline', 'N')} |", page)


if __name__ == "__main__":
    unittest.main()
