#!/usr/bin/python3
# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""Throughput of the MIMO detectors, by `iqd bench`: kernels alone, and host to host with one block in flight
(synchronous transfer) or several (asynchronous), with PCIe's bound; the same for `variant: paper`, the algorithm as
first written; compared with what LTE needs; and instructions per vector compared with the count of operations.

Prints Markdown. With --goals, exits with 3 if a goal is missed."""

import argparse
import csv
import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
BITS = {"qpsk": 2, "16qam": 4, "64qam": 6}
PAPER = 8 * 16384, 8 * 8192  # vectors per batch in the publication
LARGE = 1 << 20
LANES = 1, 4
# LTE, normal prefix: carriers in use; 14 symbols per millisecond; everything must be detected within 5 ms.
LTE = {5: 300, 10: 600, 15: 900, 20: 1200}
SYMBOLS_A_SECOND = 14_000
DEADLINE_S = 5e-3
# Gbit/s on one H200: (antennas, modulation) of the kernel, and host to host with one channel for twelve vectors.
KERNEL_GOALS = {(4, "64qam"): 15, (4, "16qam"): 40, (4, "qpsk"): 90, (2, "64qam"): 20}
HOST_GOALS = {(4, "64qam"): 10}
HOST_SHARE = {(4, "16qam"): 0.8, (4, "qpsk"): 0.8}


def measure(options, stage, antennas, modulation, block, keys=(), of_channel=1, lanes=()):
    """Rows of `iqd bench`, each with its bits a second."""
    command = [options.iqd, "bench", stage, "--json", "--backend", options.backend, "--seconds", str(options.seconds),
               "--block", str(block), "--out", "llr", "--item", f"y={antennas}",
               "--item", f"h={antennas}x{antennas}/{of_channel}", "--item", f"noise=1/{of_channel}",
               "--config", f"modulation={modulation}"]
    for key in keys:
        command += ["--config", key]
    for n in lanes:
        command += ["--lanes", str(n)]
    print(" ".join(command), file=sys.stderr)
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    for row in rows:
        row.update(gbit=row["throughput"] * antennas * BITS[modulation] / 1e9, antennas=antennas, modulation=modulation,
                   of_channel=of_channel, keys=" ".join(keys))
    return rows


def kernel_of(rows):
    """The row `resident`; on the CPU there is only one row."""
    return next((row for row in rows if row["variant"].endswith("resident")), rows[0])


def table(title, head, lines):
    print(f"\n## {title}\n\n| " + " | ".join(head) + " |\n|" + " --- |" * len(head))
    for line in lines:
        print("| " + " | ".join(str(cell) for cell in line) + " |")


def kernels(options, rows, missed):
    lines = []
    for antennas in (2, 4):
        for modulation in BITS:
            cells = []
            for keys in (["variant=paper"], [], ["lists=pooled"], ["llr=i8"]):
                best = None
                for block in options.blocks:
                    new = measure(options, "mtt_detector", antennas, modulation, block, keys)
                    rows += new
                    row = kernel_of(new)
                    best = max(best or row, row, key=lambda r: r["gbit"])
                cells.append(best["gbit"])
            others = []
            for stage in ("one_pass_detector", "kbest_detector", "lmmse_detector"):
                new = measure(options, stage, antennas, modulation, options.blocks[-1])
                rows += new
                others.append(kernel_of(new)["gbit"])
            goal = KERNEL_GOALS.get((antennas, modulation))
            if goal and cells[1] < goal:
                missed.append(f"{antennas}x{antennas} {modulation}: kernel {cells[1]:.1f} Gbit/s, goal {goal}")
            lines.append([f"{antennas}x{antennas} {modulation}", *(f"{c:.3g}" for c in cells),
                          goal or "", *(f"{c:.3g}" for c in others)])
    table("Kernels, Gbit/s, a random channel for every vector, sorted QR included",
          ["", "MTT as written (paper)", "MTT", "MTT, pooled", "MTT, i8", "goal", "one pass", "K-best", "LMMSE"], lines)


def host_to_host(options, rows, missed):
    lines = []
    for modulation in BITS:
        for of_channel in (1, 12):
            for block in options.blocks:
                block = block // 12 * 12
                new = measure(options, "mtt_detector", 4, modulation, block, ["llr=i8"], of_channel, LANES)
                rows += new
                flight = {int(r["variant"].split(", ")[1].split()[0]): r for r in new if "lane" in r["variant"]}
                if not flight:
                    continue
                best = flight[max(LANES)]
                lines.append([modulation, of_channel, block, *(f"{flight[n]['gbit']:.3g}" for n in LANES),
                              f"{best['bound'] * 4 * BITS[modulation] / 1e9:.3g}", f"{100 * best['fraction']:.0f} %"])
                if of_channel == 12 and block > LARGE // 2:
                    goal, share = HOST_GOALS.get((4, modulation), 0), HOST_SHARE.get((4, modulation), 0)
                    if best["gbit"] < goal or best["fraction"] < share:
                        missed.append(f"4x4 {modulation} host to host: {best['gbit']:.1f} Gbit/s, "
                                      f"{100 * best['fraction']:.0f} % of PCIe; goal {goal or f'{100 * share:.0f} %'}")
    if lines:
        table("Host to host, 4x4, LLRs of 8 bits, Gbit/s",
              ["", "vectors per channel", "vectors per block", "synchronous", "asynchronous", "PCIe's bound", "share"],
              lines)


def lte(options, rows, missed):
    lines = []
    for bandwidth in options.lte:
        for modulation in BITS:
            rate = LTE[bandwidth] * SYMBOLS_A_SECOND
            vectors = int(rate * DEADLINE_S) // 14 * 14
            for antennas in (2, 4):
                new = measure(options, "mtt_detector", antennas, modulation, vectors, [], 14, LANES[:1])
                rows += new
                row = next((r for r in new if "lane" in r["variant"]), new[0])
                needed = rate * antennas * BITS[modulation] / 1e9
                good = row["gbit"] >= needed and row["p99_us"] <= DEADLINE_S * 1e6
                if not good:
                    missed.append(f"LTE {bandwidth} MHz {antennas}x{antennas} {modulation}")
                lines.append([f"{bandwidth} MHz, {antennas}x{antennas} {modulation}", f"{needed:.3g}", f"{row['gbit']:.3g}",
                              f"{row['gbit'] / needed:.1f}", f"{row['p99_us'] / 1e3:.3g}", "yes" if good else "no"])
    table("Against LTE: host to host, 5 ms of vectors at once",
          ["", "needed, Gbit/s", "reached", "times", "p99, ms (5)", "kept"], lines)


def operations(antennas, points, variant):
    """By the specification's count: a Q^2 step has 7 operations per pair. As written there are M - 1 reductions and
    M (M - 1) / 2 extensions of that kind."""
    steps = antennas - 1 + antennas * (antennas - 1) // 2
    return steps * points**2 * 7 if variant == "paper" else None


def instructions(options):
    """Thread instructions per vector, counted by the profiler over one launch."""
    lines = []
    block = 1 << 16
    for antennas in (2, 4):
        for modulation, bits in BITS.items():
            for variant in ("paper", "fast"):
                command = ["ncu", "--clock-control", "none", "--csv", "--metrics", "smsp__thread_inst_executed.sum",
                           "--launch-skip", "8", "--launch-count", "8", options.iqd, "bench", "mtt_detector",
                           "--backend", options.backend, "--seconds", "0.01", "--block", str(block), "--out", "llr",
                           "--item", f"y={antennas}", "--item", f"h={antennas}x{antennas}",
                           "--config", f"modulation={modulation}", "--config", f"variant={variant}"]
                done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
                text = [line for line in done.stdout.splitlines() if line.startswith('"')]
                counts = [float(r["Metric Value"].replace(",", "")) for r in csv.DictReader(text)
                          if r["Metric Name"] == "smsp__thread_inst_executed.sum"]
                counted = operations(antennas, 2**bits, variant)
                lines.append([f"{antennas}x{antennas} {modulation}", variant, f"{max(counts) / block:.0f}",
                              counted if counted else ""])
    table("Thread instructions per vector, by the profiler", ["", "variant", "executed", "operations by count"], lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--iqd", default=str(ROOT / "build/release/iqd"))
    parser.add_argument("--backend", default="auto")
    parser.add_argument("--seconds", type=float, default=0.1, help="per row")
    parser.add_argument("--blocks", type=lambda t: [int(n) for n in t.split(",")], default=[*sorted(PAPER), LARGE],
                        help="vectors per block")
    parser.add_argument("--lte", type=lambda t: [int(n) for n in t.split(",")], default=[], help="bandwidths: 5,20")
    parser.add_argument("--only", choices=("kernels", "host", "lte"), action="append")
    parser.add_argument("--profile", action="store_true", help="count instructions with Nsight Compute")
    parser.add_argument("--goals", action="store_true", help="exit with 3 if one is missed")
    parser.add_argument("--save", help="file for the rows, one JSON object per line")
    a = parser.parse_args()
    rows, missed = [], []
    chosen = lambda part: not a.only or part in a.only
    if chosen("kernels"):
        kernels(a, rows, missed)
    if chosen("host"):
        host_to_host(a, rows, missed)
    if chosen("lte") and a.lte:
        lte(a, rows, missed)
    if a.profile:
        instructions(a)
    if a.save:
        pathlib.Path(a.save).write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    for miss in missed:
        print(f"missed: {miss}", file=sys.stderr)
    return 3 if a.goals and missed else 0


if __name__ == "__main__":
    sys.exit(main())
