#!/usr/bin/python3
# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""Speed of predistortion, by `iqd bench`: on one core by instructions and orders; on a GPU the kernels alone, host to
host with four blocks under way, one block of 8,192 samples, and by block size, copied and in place, compared with a
model of both; and the time of a training on 65,536 samples.

Prints Markdown. With --goals, exits with 3 if a goal is missed."""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tests" / "support"))
import aph_model as model

MISSED = 3
TUNED = model.Orders(5, 3, 5)
ORDERS = [model.Orders(3, 0, 1), model.Orders(5, 0, 5), TUNED, model.Orders(7, 5, 8), model.Orders(9, 7, 16)]
SIMD = "AVX3", "AVX2", "SSE4", "NEON"
VARIANTS = "own", "paper", "three_kernels"
TYPES = {"cf32": [], "sc16": ["--item", "in=:sc16"], "sc16 to cf32": ["--item", "in=:sc16", "--config", "output=cf32"]}
BYTES = {"cf32": (8, 8), "sc16": (4, 4), "sc16 to cf32": (4, 8)}  # per sample in and out
TRAINED = 65536
DELAYS = 3.37, 3.02  # of the feedback; if it is nearly whole, training tries both ways
LARGE = 1 << 24
SMALL = 8192
LANES = 1, 4
# The goals, and whether each is a minimum or a maximum.
GOALS = {"a core with AVX2, Msample/s": (150, "least"), "training on a core, ms": (150, "most"),
         "training on a GPU, ms": (5, "most"), "kernels, Gsample/s": (100, "least"),
         "four blocks under way, cf32, Gsample/s": (5.7, "least"),
         "four blocks under way, sc16, Gsample/s": (11, "least"),
         "8,192 samples there and back, p99, us": (40, "most")}


class Bench:
    """Runs `iqd bench` and keeps its results."""

    def __init__(self, options, folder):
        self.options, self.folder = options, folder
        self.seconds = 0.05 if options.quick else options.seconds
        self.rows, self.reached, self.fits = [], {}, {}

    def measure(self, stage, *arguments, backend, blocks, seconds=None, simd=None):
        """Returns rows, or none if the CPU does not have these instructions."""
        command = [self.options.iqd, "bench", stage, "--json", "--backend", backend, "--seconds",
                   str(seconds or self.seconds), *arguments]
        for block in blocks:
            command += ["--block", str(block)]
        if simd:
            command += ["--simd", simd]
        print(" ".join(command), file=sys.stderr)
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if simd and done.returncode == 2 and "--simd" in done.stderr:
            return []
        if done.returncode:
            sys.exit(done.stderr)
        rows = [{**json.loads(line), "arguments": list(arguments), "simd": simd} for line in done.stdout.splitlines()]
        self.rows += rows
        return rows

    def predistort(self, orders, *arguments, **how):
        coefficients = self.folder / "coefficients.npy"
        rng = np.random.default_rng(1)
        np.save(coefficients, model.passing(orders) + 0.01 * rng.standard_normal(model.count(orders)))
        return self.measure("aph_predistorter", *order_keys(orders), "--config", f"coefficients=@{coefficients}",
                            "--out", "out", *arguments, **how)

    def reach(self, goal, value):
        better = max if GOALS[goal][1] == "least" else min
        self.reached[goal] = better(self.reached.get(goal, value), value)


def order_keys(orders):
    return ["--config", f"orders.main={orders.main}", "--config", f"orders.conjugate={orders.conjugate}", "--config",
            f"taps={orders.taps}"]


def order_text(orders):
    return f"{orders.main}/{orders.conjugate}, {orders.taps} taps, {model.count(orders)} coefficients"


def resident(rows):
    return [r for r in rows if r["variant"].endswith("resident")]


def whole(rows):
    return [r for r in rows if "lane" not in r["variant"] and not r["variant"].endswith("resident")]


def table(title, head, lines):
    print(f"\n## {title}\n\n| " + " | ".join(head) + " |\n|" + " --- |" * len(head))
    for line in lines:
        print("| " + " | ".join(str(cell) for cell in line) + " |")
    sys.stdout.flush()


def cpu(bench):
    """Msample/s of one core, from the median of the blocks, as other programs may use the core too."""
    columns, lines = {}, []
    for orders in [TUNED] if bench.options.quick else ORDERS:
        for simd in SIMD:
            for kind in ("cf32", "sc16"):
                for row in bench.predistort(orders, *TYPES[kind], backend="cpu", blocks=[SMALL], simd=simd):
                    reached = SMALL / row["p50_us"]
                    columns.setdefault(f"{simd} {kind}", {})[orders] = f"{reached:.0f}"
                    if (orders, simd, kind) == (TUNED, "AVX2", "cf32"):
                        bench.reach("a core with AVX2, Msample/s", reached)
        lines.append([order_text(orders), *(c[orders] for c in columns.values())])
    table(f"One core, Msample/s, blocks of {SMALL:,} samples", ["orders", *columns], lines)


def write_feedback(bench, delay):
    """Writes the sent signal and its feedback; returns the `--in` arguments."""
    sent = model.lte10(4 * TRAINED)
    heard = model.noisy(model.delayed(model.transmitter(sent), delay), 60, np.random.default_rng(1))
    files = {"sent": sent, "received": heard}
    arguments = []
    for port, samples in files.items():
        np.save(bench.folder / f"{port}.npy", samples.astype(np.complex64))
        arguments += ["--in", f"{port}={bench.folder}/{port}.npy"]
    return arguments


def check_trained(bench, arguments):
    """Checks that the training is accepted, since a refused one is cheaper."""
    report = bench.folder / "report.npy"
    subprocess.run([bench.options.iqd, "exec", "aph_estimator", *arguments, "--out", f"report={report}"], check=True)
    if np.load(report).ravel()[0] != 0:
        sys.exit("the training to be measured is refused")


def training(bench):
    lines = []
    for delay in DELAYS:
        signals = write_feedback(bench, delay)
        for orders in [TUNED] if bench.options.quick else [TUNED, ORDERS[-1]]:
            arguments = [*order_keys(orders), "--config", f"samples={TRAINED}", *signals]
            check_trained(bench, arguments)
            for backend in ["cpu", *bench.options.gpu]:
                row = whole(bench.measure("aph_estimator", *arguments, backend=backend, blocks=[TRAINED]))[0]
                if backend != "cpu" and row["backend"] == "cpu":
                    continue
                lines.append([row["backend"], order_text(orders), delay, f"{row['p50_us'] / 1e3:.2f}",
                              f"{row['p99_us'] / 1e3:.2f}"])
                if orders == TUNED and delay == DELAYS[1]:
                    where = "a core" if backend == "cpu" else "a GPU"
                    bench.reach(f"training on {where}, ms", row["p50_us"] / 1e3)
    table(f"Training on {TRAINED:,} samples, from the host's memory and back, ms",
          ["on", "orders", "delay of the feedback", "p50", "p99"], lines)


def kernels(bench):
    """Samples stay in the device's memory."""
    backend, lines = bench.options.gpu[0], []
    cases = [(TUNED, v, k) for v in VARIANTS for k in (TYPES if v == "own" else ["cf32"])]
    cases += [] if bench.options.quick else [(o, "own", "cf32") for o in ORDERS if o != TUNED]
    for orders, variant, kind in cases:
        rows = bench.predistort(orders, "--config", f"variant={variant}", *TYPES[kind], backend=backend, blocks=[LARGE])
        row, = resident(rows)
        reached = row["throughput"] / 1e9
        lines.append([variant, order_text(orders), kind, f"{reached:.1f}", f"{100 * row['fraction']:.0f} %"])
        if (orders, variant, kind) == (TUNED, "own", "cf32"):
            bench.reach("kernels, Gsample/s", reached)
    table(f"Kernels alone, {LARGE:,} samples, {row['device']}",
          ["variant", "orders", "samples", "Gsample/s", "of a copy of the same bytes"], lines)


def host(bench):
    """From the host's memory and back, by the number of blocks under way."""
    lines = []
    for kind in ("cf32", "sc16"):
        for transfer in ("copy", "mapped"):
            arguments = [*TYPES[kind], "--transfer", transfer]
            for lanes in LANES:
                arguments += ["--lanes", str(lanes)]
            blocks = [1 << n for n in ((20,) if bench.options.quick else (17, 18, 19, 20, 21, 22))]
            rows = bench.predistort(TUNED, *arguments, backend=bench.options.gpu[0], blocks=blocks)
            for block in blocks:
                flight = {n: r for n in LANES for r in rows if f", {n} lane(s)" in r["variant"]
                          and r["shape"] == str(block)}
                most = flight[LANES[-1]]
                bench.reach(f"four blocks under way, {kind}, Gsample/s", most["throughput"] / 1e9)
                lines.append([kind, transfer, f"{block:,}", *(f"{r['throughput'] / 1e9:.2f}" for r in flight.values()),
                              f"{most['bound'] / 1e9:.2f}", f"{100 * most['fraction']:.0f} %"])
    table("Host to host, Gsample/s", ["samples", "transfer", "block", "one block under way", "four",
                                      "four copies of the same bytes", "share"], lines)


def small_block(bench):
    """One small block, there and back."""
    lines = []
    for kind in ("cf32", "sc16"):
        for transfer in ("auto", "mapped", "copy"):
            row, = whole(bench.predistort(TUNED, *TYPES[kind], "--transfer", transfer, backend=bench.options.gpu[0],
                                          blocks=[SMALL], seconds=10 * bench.seconds))
            lines.append([kind, transfer, *(f"{row[p]:.1f}" for p in ("p50_us", "p99_us", "p999_us", "max_us"))])
            if (kind, transfer) == ("cf32", "auto"):
                bench.reach("8,192 samples there and back, p99, us", row["p99_us"])
    table(f"A block of {SMALL:,} samples there and back, us", ["samples", "transfer", "p50", "p99", "p99.9", "worst"],
          lines)


def times(bench, variant, kind, transfer):
    """By block size: the time there and back, and that of the kernels alone; in seconds."""
    blocks = [1 << n for n in ((10, 14, 18, 22) if bench.options.quick else range(10, 23))]
    rows = bench.predistort(TUNED, "--config", f"variant={variant}", *TYPES[kind], "--transfer", transfer,
                            backend=bench.options.gpu[0], blocks=blocks)
    return [{int(r["shape"]): r["p50_us"] / 1e6 for r in part} for part in (whole(rows), resident(rows))]


def rate_of(kernel):
    """Samples a second without the launch, from the two largest blocks."""
    few, many = sorted(kernel)[-2:]
    return (many - few) / (kernel[many] - kernel[few])


def fit_copies(sweeps):
    """Fits launch t0 and bytes a second in and out of t(N) = t0 + N in / B_in + N out / B_out + N / R, by least squares
    of relative errors, over blocks with different bytes in and out."""
    left, right = [], []
    for kind, (there, kernel) in sweeps.items():
        for n, t in there.items():
            left.append([1 / t, n * BYTES[kind][0] / t, n * BYTES[kind][1] / t])
            right.append(1 - n / rate_of(kernel) / t)
    left = np.array(left)
    scale = abs(left).max(axis=0)
    t0, a, b = np.linalg.lstsq(left / scale, np.array(right), rcond=None)[0] / scale
    return {"t0_s": t0, "bytes_per_s_in": 1 / a, "bytes_per_s_out": 1 / b}


def by_model(fit, n, rate, transfer):
    """Copies and kernels one after the other; or, in place, all at once, so that the longest of them counts."""
    parts = [n * 8 / fit["bytes_per_s_in"], n * 8 / fit["bytes_per_s_out"], n / rate]
    return fit["t0_s"] + sum(parts) if transfer == "copy" else fit["t0_mapped_s"] + max(parts)


def sweep(bench):
    """By block size, copied and in place."""
    copied = {kind: times(bench, "own", kind, "copy") for kind in BYTES}
    fit = fit_copies(copied)
    for variant in VARIANTS:
        found = {t: times(bench, variant, "cf32", t) if (variant, t) != ("own", "copy") else copied["cf32"]
                 for t in ("copy", "mapped")}
        rate = rate_of(found["copy"][1])
        least = min(found["mapped"][0])
        fit["t0_mapped_s"] = 0
        fit["t0_mapped_s"] = found["mapped"][0][least] - by_model(fit, least, rate, "mapped")
        bench.fits[variant] = {**fit, "samples_per_s": rate}
        lines = []
        for n, kernel in found["copy"][1].items():
            cells = []
            for transfer, (there, _) in found.items():
                t, modelled = there[n], by_model(fit, n, rate, transfer)
                cells += [f"{1e6 * t:.1f}", f"{1e6 * modelled:.1f}", f"{n / t / 1e9:.2f}"]
            lines.append([f"{n:,}", f"{1e6 * kernel:.1f}", *cells])
        table(f"By block size, cf32, one block under way, {variant}",
              ["N", "kernels, us", "copied, us", "by the model", "Gsample/s", "in place, us", "by the model",
               "Gsample/s"], lines)
        print(f"\nModel constants: launch {1e6 * fit['t0_s']:.1f} us, in place {1e6 * fit['t0_mapped_s']:.1f} us; "
              f"{fit['bytes_per_s_in'] / 1e9:.1f} GB/s in, {fit['bytes_per_s_out'] / 1e9:.1f} GB/s out; kernels "
              f"{rate / 1e9:.1f} Gsample/s.", flush=True)


ON_CPU = {"cpu": cpu, "training": training}
ON_GPU = {"kernels": kernels, "host": host, "block": small_block, "sweep": sweep}


def judge(bench):
    """Prints the result of each goal; returns those that are missed."""
    met = {goal: value >= GOALS[goal][0] if GOALS[goal][1] == "least" else value <= GOALS[goal][0]
           for goal, value in bench.reached.items()}
    table("Goals", ["", "goal", "reached", ""],
          [[goal, f"{'>=' if kind == 'least' else '<='} {limit}",
            f"{bench.reached[goal]:.4g}" if goal in met else "not measured",
            {True: "met", False: "MISSED"}.get(met.get(goal), "")] for goal, (limit, kind) in GOALS.items()])
    return [goal for goal, good in met.items() if not good]


def has_gpu(iqd):
    found = json.loads(subprocess.run([iqd, "probe", "--json"], stdout=subprocess.PIPE, check=True).stdout)
    return any(b["name"].startswith("cuda") and b["available"] for b in found["backends"])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--iqd", default=str(ROOT / "build/release/iqd"))
    parser.add_argument("--backend", default="auto", help="auto: also a GPU if there is one; cpu, cuda or cuda:N")
    parser.add_argument("--seconds", type=float, default=0.2, help="per row")
    parser.add_argument("--quick", action="store_true", help="fewer and shorter rows")
    parser.add_argument("--only", choices=[*ON_CPU, *ON_GPU], action="append",
                        help="only this part; repeatable")
    parser.add_argument("--goals", action="store_true", help="print the goals; exit with 3 if one is missed")
    parser.add_argument("--json", type=pathlib.Path, help="where to write the figures")
    options = parser.parse_args()
    chosen = options.only or [*ON_CPU, *ON_GPU]
    options.gpu = []
    if options.backend != "cpu" and (options.backend != "auto" or has_gpu(options.iqd)):
        options.gpu = ["cuda" if options.backend == "auto" else options.backend]
    with tempfile.TemporaryDirectory(prefix="iqd-bench-") as folder:
        bench = Bench(options, pathlib.Path(folder))
        for part, run in {**ON_CPU, **ON_GPU}.items():
            if part in chosen and (part in ON_CPU or options.gpu):
                run(bench)
    if not options.gpu:
        print(f"\nWithout a GPU: no rows of {', '.join(p for p in chosen if p in ON_GPU) or 'training on one'}.")
    missed = judge(bench) if options.goals else []
    if options.json:
        options.json.write_text(json.dumps({"rows": bench.rows, "model": bench.fits, "reached": bench.reached},
                                           indent=1) + "\n", encoding="utf-8")
    for goal in missed:
        print(f"missed: {goal}", file=sys.stderr)
    return MISSED if missed else 0


if __name__ == "__main__":
    sys.exit(main())
