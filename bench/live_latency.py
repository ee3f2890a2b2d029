#!/usr/bin/python3
# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""live_latency.py PIPELINE.yaml TOPIC --iqd IQD [--seconds N] [--backend B]: latency of results at the radio's pace.

Runs the pipeline, which must bind tcp://127.0.0.1:5555 and have no monitor, with a reader of the topic, and prints the
latency that the daemon measures: from the last sample of a block until its results are handed to ZeroMQ.
"""

import argparse
import json
import pathlib
import subprocess
import tempfile
import urllib.request

LISTEN = "127.0.0.1:9173"


def statuses():
    with urllib.request.urlopen(f"http://{LISTEN}/api/status", timeout=5) as answer:
        return json.load(answer)["pipelines"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("pipeline", type=pathlib.Path)
    parser.add_argument("topic")
    parser.add_argument("--iqd", required=True)
    parser.add_argument("--backend", default="cuda")
    parser.add_argument("--seconds", type=float, default=20)
    options = parser.parse_args()
    text = options.pipeline.read_text(encoding="utf-8")
    text += f"wait: spin\nbackend: {options.backend}\nmonitor: {{listen: \"{LISTEN}\"}}\n"
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        file.write(text)
        file.flush()
        with subprocess.Popen([options.iqd, "run", file.name]) as daemon:
            reader = [options.iqd, "sub", "tcp://127.0.0.1:5555", options.topic, "--quiet", "--json", "--seconds",
                      str(options.seconds)]
            heard = subprocess.run(reader, stdout=subprocess.PIPE, text=True, check=True)
            messages = json.loads(heard.stdout.splitlines()[-1])["summary"]["messages"]
            now = statuses()[0]
            daemon.terminate()
    print(json.dumps({"messages": messages, **{key: now[key] for key in ("latency_us", "dropped", "lost", "blocks",
                                                                         "backend", "steps", "events")}}))


if __name__ == "__main__":
    main()
