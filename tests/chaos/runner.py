#!/usr/bin/python3
# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""Runs seeds of the chaos test side by side, and says which of them broke an invariant."""

import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "support")]
PER_WORKER = 50  # seeds until a new worker is started
SECONDS_A_SEED = 180  # a worker that takes longer hangs


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1, help="the first one (1)")
    parser.add_argument("--seeds", type=int, default=100, help="how many (100)")
    parser.add_argument("--hours", type=float, help="run for this long, ignoring --seeds")
    parser.add_argument("--jobs", type=int, default=3 * (os.cpu_count() or 1), help="parallel daemons (three per CPU)")
    parser.add_argument("--seconds", type=float, default=2.5, help="of faults in a seed (2.5)")
    parser.add_argument("--only", action="append", default=[], help="only faults with this prefix, e.g. peers or host.clock")
    parser.add_argument("--keep", action="append", type=int, default=[], help="for one seed: these lines of its schedule")
    parser.add_argument("--failures", type=pathlib.Path, help="folder for the results of broken seeds")
    parser.add_argument("--print", action="store_true", help="print schedules, run nothing")
    parser.add_argument("--verbose", action="store_true", help="a line for each seed")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args()


def command(options, seed):
    """The command that repeats it."""
    words = ["tools/soak", "--seed", str(seed), "--seeds", "1", "--verbose"]
    if options.seconds != 2.5:
        words += ["--seconds", str(options.seconds)]
    return " ".join(words + [f"--only {name}" for name in options.only])


def trial_options(options):
    from trial import Options
    sanitized = bool(os.environ.get("IQD_SANITIZED"))
    preload = "" if sanitized else os.environ.get("IQD_HOST_FAULTS_LIBRARY", "")
    return Options(options.seconds, tuple(options.only), tuple(options.keep), preload, 4.0 if sanitized else 1.0,
                   not sanitized)


def work(options):
    """A worker: reads one seed per line, and writes its result."""
    from trial import Trial
    for line in sys.stdin:
        trial = Trial(int(line), trial_options(options)).run()
        log = trial.daemon.text if hasattr(trial, "daemon") else ""
        print(json.dumps({"seed": trial.seed, "broken": trial.broken, "schedule": trial.schedule(), "log": log,
                          "document": trial.world.text(trial.world.plan), "faults": [e.name for e in trial.entries],
                          "figures": trial.figures}), flush=True)


class Worker:
    """A process that runs seeds, so that its own death or hang is distinguished from the daemon's."""

    def __init__(self):
        self._process, self._left = None, 0

    def run(self, seed):
        if self._left == 0:
            self.close()
            self._process = subprocess.Popen([sys.executable, "-B", __file__, "--worker", *sys.argv[1:]],
                                             stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            self._left = PER_WORKER
        self._left -= 1
        watch = threading.Timer(SECONDS_A_SEED, self._process.kill)
        watch.start()
        try:
            self._process.stdin.write(f"{seed}\n")
            self._process.stdin.flush()
            return json.loads(self._process.stdout.readline())
        except (OSError, ValueError) as error:
            self._left = 0
            return {"seed": seed, "broken": [(0, "the test itself works", f"the worker died or hung: {error!r}")],
                    "schedule": "", "log": "", "document": "", "faults": [], "figures": {}}
        finally:
            watch.cancel()

    def close(self):
        if self._process:
            self._process.stdin.close()
            self._process.wait()
            self._process.stdout.close()


class Tally:
    """The results of all seeds."""

    def __init__(self, options):
        self._options, self._began = options, time.monotonic()
        self.done, self.failed = 0, []
        self.invariants = collections.Counter()
        self.by_fault = collections.defaultdict(collections.Counter)
        self._most = {}

    def add(self, outcome):
        self.done += 1
        for key, value in outcome["figures"].items():
            self._most[key] = max(self._most.get(key, 0), value)
        if self._options.verbose:
            print(f"seed {outcome['seed']}: {self._figures(outcome['figures'])}", flush=True)
        if outcome["broken"]:
            self._add_broken(outcome)
        if self.done % 100 == 0:
            print(self.line(), flush=True)

    def _add_broken(self, outcome):
        seed = outcome["seed"]
        self.failed.append(seed)
        for invariant in {invariant for _, invariant, _ in outcome["broken"]}:
            self.invariants[invariant] += 1
            for name in set(outcome["faults"]):
                self.by_fault[invariant][name] += 1
        text = [f"seed {seed} is broken; to repeat it: {command(self._options, seed)}", outcome["schedule"]]
        text += [f"{at:7.3f} s  {invariant}: {detail}" for at, invariant, detail in outcome["broken"]]
        print("\n".join(text), flush=True)
        if self._options.failures:
            self._options.failures.mkdir(parents=True, exist_ok=True)
            (self._options.failures / f"seed-{seed}.txt").write_text(
                "\n".join([*text, "", outcome["document"], "", outcome["log"]]) + "\n", encoding="utf-8")

    @staticmethod
    def _figures(figures):
        units = {"stop": "SIGTERM {:.2f} s", "memory": "memory +{:.0f} MB", "slowest": "answers {:.2f} s",
                 "recovery": "recovery {:.2f} s",
                 "took": "took {:.1f} s"}
        return ", ".join(text.format(figures[key]) for key, text in units.items() if key in figures)

    def line(self):
        took = time.monotonic() - self._began
        return (f"{self.done} seeds in {took:.0f} s, {len(self.failed)} broken; at most: {self._figures(self._most)}")


def seeds(options):
    ends = time.monotonic() + options.hours * 3600 if options.hours else None
    seed = options.seed
    while time.monotonic() < ends if ends else seed < options.seed + options.seeds:
        yield seed
        seed += 1


def print_schedules(options):
    import random
    import schedule
    import trial
    for seed in seeds(options):
        one = trial.Trial(seed, trial_options(options))
        one.folder = pathlib.Path("/tmp/chaos")
        one._draw()
        print(f"seed {seed}: {one.schedule()}")


def run(options):
    tally, source, lock = Tally(options), seeds(options), threading.Lock()

    def lane():
        worker = Worker()
        while True:
            with lock:
                seed = next(source, None)
            if seed is None:
                break
            outcome = worker.run(seed)
            with lock:
                tally.add(outcome)
        worker.close()

    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for future in [pool.submit(lane) for _ in range(options.jobs)]:
            future.result()
    for invariant, count in tally.invariants.most_common():
        faults = ", ".join(f"{name} {n}" for name, n in tally.by_fault[invariant].most_common(6))
        print(f"broken in {count} seeds: {invariant} (with {faults})")
    if tally.failed:
        print(f"broken: seeds {' '.join(map(str, sorted(tally.failed)))}")
    print(tally.line())
    return 1 if tally.failed else 0


def main():
    options = arguments()
    if options.worker:
        work(options)
        return 0
    if options.print:
        print_schedules(options)
        return 0
    return run(options)


if __name__ == "__main__":
    sys.exit(main())
