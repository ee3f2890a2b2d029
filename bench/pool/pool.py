#!/usr/bin/python3
# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""pool.py --program POOL_BENCH [--seconds N] [--only NAME]…: a pool on this machine, with work that sleeps.

Starts a server of NATS, workers and a home, and prints for each row: blocks a second, latency, samples dropped, and the
CPU time of server, home and workers for each GB of blocks.
"""

import argparse
import contextlib
import json
import os
import pathlib
import shutil
import socket
import subprocess
import tempfile
import time

SERVER = """listen: "127.0.0.1:{port}"
max_payload: 16MB
max_pending: 512MB
jetstream {{ store_dir: "{folder}/store", max_memory_store: 2GB, max_file_store: 2GB }}
"""
HOME = """name: bench
source: {{generate: {{rate: {rate}{pace}}}}}
overrun: {overrun}
block: {block}
backend: pool
pool: {{servers: ["{server}"], patience: {patience}, window: {window}, ack_wait: {ack_wait}}}
stages:
  - sleep: {{for: {sleep}, keep: 16}}
publish:
  - {{port: sleep.out, topic: out, bind: "ipc://{folder}/out"}}
"""
BLOCK = 131_072  # 1 MiB of cf32: half as many samples as of sc16, and half the rate
ROWS = {
    # name: (workers, lanes each, ms of sleep, rate in MS/s (0: as fast as it goes), keys)
    "1 worker": (1, 1, 40, 0, {}),
    "2 workers": (2, 1, 40, 0, {}),
    "4 workers": (4, 1, 40, 0, {}),
    "4 workers, half load": (4, 1, 40, 6.5536, {}),
    "246 MB/s, as 61.44 MS/s of sc16": (4, 4, 20, 30.72, {}),
    "one of 4 killed, half load": (4, 1, 40, 6.5536, {"ack_wait": "300 ms", "kill": True}),
}


def cpu_seconds(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def start(stack, *command, **how):
    process = subprocess.Popen(command, **how)
    stack.callback(process.wait)
    stack.callback(process.kill)
    return process


def run(options, row):
    workers, lanes, sleep_ms, rate, keys = row
    with contextlib.ExitStack() as stack:
        folder = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory()))
        port = free_port()
        (folder / "server.conf").write_text(SERVER.format(port=port, folder=folder), encoding="utf-8")
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        server = start(stack, shutil.which("nats-server", path=os.environ["PATH"] + ":/usr/sbin"), "-c",
                       folder / "server.conf", **quiet)
        time.sleep(0.5)
        url = f"nats://127.0.0.1:{port}"
        (folder / "home.yaml").write_text(HOME.format(
            rate=f"{rate or 100} MS/s", pace=", pace: true" if rate else "", overrun="drop" if rate else "wait",
            block=BLOCK, server=url, sleep=f"{sleep_ms} ms", folder=folder, patience=keys.get("patience", "2 s"),
            window=keys.get("window", "64 MiB"), ack_wait=keys.get("ack_wait", "600 ms")), encoding="utf-8")
        crew = [start(stack, options.program, "work", url, str(lanes), **quiet) for _ in range(workers)]
        before = [cpu_seconds(p.pid) for p in (server, *crew)]
        home = start(stack, options.program, "home", folder / "home.yaml", str(options.seconds), stdout=subprocess.PIPE,
                     stderr=subprocess.DEVNULL, text=True)
        if keys.get("kill"):
            time.sleep(options.seconds / 2)
            crew[0].kill()
        spent = 0
        while home.poll() is None:
            with contextlib.suppress(FileNotFoundError, IndexError):
                spent = cpu_seconds(home.pid)
            time.sleep(0.02)
        running, final = (json.loads(line)["pipelines"][0] for line in home.stdout.read().splitlines())
        after = [cpu_seconds(p.pid) if p.poll() is None else b for p, b in zip((server, *crew), before)]
        used = [a - b for a, b in zip(after, before)]
        gigabytes = final["pool"]["done"] * BLOCK * 8 / 1e9
        trip = final["pool"]["round_trip_us"]
        return {"trip": [trip["p50"] / 1e3, trip["p99"] / 1e3], "per_second": running["pool"]["done"] / options.seconds, "p50": final["latency_us"]["p50"] / 1e3,
                "p99": final["latency_us"]["p99"] / 1e3, "max": final["latency_us"]["max"] / 1e3,
                "dropped": sum(final["dropped"].values()), "received": final["received"],
                "cpu": [used[0] / gigabytes, spent / gigabytes, sum(used[1:]) / gigabytes]}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--program", type=lambda path: pathlib.Path(path).resolve(), required=True)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--only", action="append", choices=list(ROWS))
    options = parser.parse_args()
    first = None
    for name, row in ROWS.items():
        if options.only and name not in options.only:
            continue
        r = run(options, row)
        first = first or r["per_second"]
        print(f"{name:32} {r['per_second']:7.1f} blocks/s ({r['per_second'] / first:.2f}x)  latency p50 {r['p50']:.1f} "
              f"p99 {r['p99']:.1f} max {r['max']:.1f} ms, without work p50 {r['trip'][0]:.1f} p99 {r['trip'][1]:.1f} ms  "
              f"dropped {r['dropped']} of {r['received']}  CPU s/GB server "
              f"{r['cpu'][0]:.2f} home {r['cpu'][1]:.2f} workers {r['cpu'][2]:.2f}", flush=True)


if __name__ == "__main__":
    main()
