#!/usr/bin/python3
# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""live_together.py PIPELINE.yaml:TOPIC[:SHARE]… --iqd IQD [OPTION…]: pipelines on one GPU.

Runs each pipeline alone, then all in one process, then all with their shares of the GPU (`noma.yaml:symbols:64 SM`),
and prints the latency that the daemon measures (from the start), what was dropped, and how long samples take to the
GPU, with what they wait for other lanes' samples. The pipelines bind tcp://127.0.0.1:5555, and have no monitor and none
of the keys `wait`, `backend` and `gpu`. `--keys 'transfer: copy'` gives all of them more keys. `--only alone`,
`together` or `shares`, which may be repeated, leaves out the other runs.
"""

import argparse
import contextlib
import pathlib
import subprocess
import tempfile

from live_latency import LISTEN, statuses


class Live:
    """A pipeline of the command line."""

    def __init__(self, argument, number):
        path, self.topic, self.share = (argument.split(":") + ["", ""])[:3]
        if not self.topic:
            raise argparse.ArgumentTypeError(f"{argument}: which topic?")
        self.folder = pathlib.Path(path).parent
        self.where = f"tcp://127.0.0.1:{5555 + number}"
        text = pathlib.Path(path).read_text(encoding="utf-8").replace("tcp://127.0.0.1:5555", self.where)
        self.lines = [line for line in text.splitlines() if line and not line.startswith("#")]

    def item(self, keys, with_share):
        """As an entry of `pipelines:`."""
        share = [f"gpu: {{share: {self.share}}}"] if with_share and self.share else []
        return "  - " + "\n    ".join([*self.lines, *keys, *share]) + "\n"


def run(options, lives, with_shares=False):
    keys = ["wait: spin", f"backend: {options.backend}", *options.keys]
    text = "pipelines:\n" + "".join(live.item(keys, with_shares) for live in lives)
    with contextlib.ExitStack() as stack:
        file = stack.enter_context(tempfile.NamedTemporaryFile("w", suffix=".yaml", dir=lives[0].folder))
        file.write(text + f"monitor: {{listen: \"{LISTEN}\"}}\n")
        file.flush()
        daemon = stack.enter_context(subprocess.Popen([options.iqd, "run", file.name]))
        stack.callback(daemon.terminate)
        readers = [stack.enter_context(subprocess.Popen(
            [options.iqd, "sub", live.where, live.topic, "--quiet", "--seconds", str(options.seconds)],
            stdout=subprocess.DEVNULL)) for live in lives]
        if any([reader.wait() for reader in readers]):
            raise SystemExit("a reader got nothing")
        return statuses()


def rows(what, found):
    for p in found:
        latency = p["latency_us"]
        copied = [s["time_us"]["p50"] for s in p["steps"] if s["step"] == "~source.device"]
        print(f"| {what} | {p['name']} | {p.get('gpu_share') or 'all'} | {latency['p50']:.0f} | {latency['p99']:.0f} | "
              f"{copied[0] if copied else 0:.1f} | {sum(p['dropped'].values())} | {p['published']} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("pipelines", nargs="+")
    parser.add_argument("--iqd", required=True)
    parser.add_argument("--backend", default="cuda")
    parser.add_argument("--keys", action="append", default=[])
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--only", action="append", choices=["alone", "together", "shares"], metavar="RUN")
    options = parser.parse_args()
    try:
        lives = [Live(argument, number) for number, argument in enumerate(options.pipelines)]
    except argparse.ArgumentTypeError as error:
        parser.error(str(error))
    print("| run | pipeline | multiprocessors | p50, us | p99, us | copy to the GPU, us | dropped | published |\n"
          "| --- | --- | --- | --- | --- | --- | --- | --- |", flush=True)
    wanted = options.only or ["alone", "together", "shares"]
    for live in lives if "alone" in wanted else []:
        rows("alone", run(options, [live]))
    if "together" in wanted and len(lives) > 1:
        rows("together", run(options, lives))
    if "shares" in wanted and any(live.share for live in lives):
        rows("with shares", run(options, lives, with_shares=True))


if __name__ == "__main__":
    main()
