#!/usr/bin/python3
# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""Measures what viewers of the live page cost a running pipeline.

Runs the pipeline without viewers and with them, in turn, several times. Prints the medians of the daemon's CPU time,
its memory and the latency of its blocks, and what a viewer received. Needs only Python.
"""

import argparse
import base64
import json
import os
import re
import selectors
import socket
import statistics
import subprocess
import sys
import threading
import time
import urllib.request


def connect(port, query):
    """A viewer's socket, behind the upgrade."""
    viewer = socket.create_connection(("127.0.0.1", port), timeout=10)
    viewer.sendall((f"GET /api/live{query} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: Upgrade\r\n"
                    "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
                    f"Sec-WebSocket-Key: {base64.b64encode(os.urandom(16)).decode()}\r\n\r\n").encode())
    answer = viewer.recv(4096)
    if b" 101 " not in answer.split(b"\r\n", 1)[0]:
        sys.exit(f"no viewer is accepted: {answer[:200]!r}")
    return viewer


class Viewers(threading.Thread):
    """Read everything, and count the bytes."""

    def __init__(self, port, count, query):
        super().__init__(daemon=True)
        self.bytes, self.ends = 0, False
        self.all = selectors.DefaultSelector()
        for _ in range(count):
            self.all.register(connect(port, query), selectors.EVENT_READ)

    def run(self):
        while not self.ends:
            for key, _ in self.all.select(0.2):
                data = key.fileobj.recv(1 << 18)
                self.bytes += len(data)
                if not data:
                    self.all.unregister(key.fileobj)


class Answers(threading.Thread):
    """Asks for the metrics four times a second, as a scraper that is in a hurry."""

    def __init__(self, port):
        super().__init__(daemon=True)
        self.port, self.ms, self.ends = port, [], False

    def run(self):
        while not self.ends:
            began = time.monotonic()
            urllib.request.urlopen(f"http://127.0.0.1:{self.port}/metrics", timeout=10).read()
            self.ms.append(1e3 * (time.monotonic() - began))
            time.sleep(0.25)


def cpu_s(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
        user, system = file.read().rsplit(")", 1)[1].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def rss_mb(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        return int(re.search(r"VmRSS:\s+(\d+)", file.read()).group(1)) / 1e3


def listening_port(process):
    """Reads the log up to the line that names the port; another thread reads the rest."""
    for line in process.stderr:
        if found := re.search(r"http: listening on \S+:(\d+)", line):
            threading.Thread(target=process.stderr.read, daemon=True).start()
            return int(found.group(1))
    sys.exit("iqd has ended, or has no HTTP port")


def measure(options, viewers):
    """One run: {name: number}."""
    with subprocess.Popen([options.iqd, "run", options.pipeline, "--status", "json"], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True) as process:
        lines = []
        reader = threading.Thread(target=lambda: lines.extend(process.stdout), daemon=True)
        reader.start()
        port = listening_port(process)
        time.sleep(options.settle)
        watching = Viewers(port, viewers, options.query)
        asking = Answers(port)
        watching.start()
        asking.start()
        time.sleep(1)  # the first messages are larger
        began, cpu, read = time.monotonic(), cpu_s(process.pid), watching.bytes
        time.sleep(options.seconds)
        took = time.monotonic() - began
        found = {"CPU, % of a core": 100 * (cpu_s(process.pid) - cpu) / took, "RSS, MB": rss_mb(process.pid),
                 "kB/s a viewer": (watching.bytes - read) / took / 1e3 / max(viewers, 1)}
        watching.ends = asking.ends = True
        asking.join()
        began = time.monotonic()
        process.terminate()
        process.wait(30)
        found["stop, s"] = time.monotonic() - began
        reader.join()
    pipelines = json.loads(lines[-1])["pipelines"]
    for p in pipelines:
        of = f"{p['name']} " if len(pipelines) > 1 else ""
        found |= {f"{of}{q}, ms": p["latency_us"][q] / 1e3 for q in ("p50", "p99", "p999")}
        found[f"{of}dropped samples"] = sum(p["dropped"].values()) + p["lost"]
    return found | {"/metrics median, ms": statistics.median(asking.ms), "/metrics max, ms": max(asking.ms)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pipeline", help="a file with monitor: {listen: …} and a paced source")
    parser.add_argument("--iqd", default="build/release/iqd")
    parser.add_argument("--viewers", type=int, default=24)
    parser.add_argument("--query", default="", help="what each of them wants, such as '?trace=0&trace=1'")
    parser.add_argument("--seconds", type=float, default=10, help="of a run that are measured")
    parser.add_argument("--settle", type=float, default=3, help="seconds before that")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()

    runs = {0: [], options.viewers: []}
    for n in range(options.rounds):
        for viewers in sorted(runs, reverse=n % 2 == 1):
            runs[viewers].append(measure(options, viewers))
    print(f"| {options.pipeline}, medians of {options.rounds} | " +
          " | ".join(f"{n} viewers" if n else "nobody looks" for n in runs) + " |\n| --- | --- | --- |")
    for name in runs[0][0]:
        print(f"| {name} | " + " | ".join(f"{statistics.median(r[name] for r in all_of):.4g}" for all_of in runs.values()) +
              " |")


if __name__ == "__main__":
    main()
