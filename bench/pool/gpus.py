#!/usr/bin/python3
# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""gpus.py --iqd IQD [--backends cuda:0 cuda:1] [--blocks N]: a pool of workers on this machine, one for each backend.

Long filters, so that a block takes milliseconds on a GPU. Prints blocks a second of each worker alone and of all
together; the time of a short stream is taken away from that of a long one, and the best of three counts. Exits with 1 if
the workers together are less than --least times as fast as the mean worker.
"""

import argparse
import contextlib
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import time

SERVER = """listen: "127.0.0.1:{port}"
max_payload: 16MB
max_pending: 512MB
jetstream {{ store_dir: "{folder}/store", max_memory_store: 4GB, max_file_store: 1GB }}
"""
WORKER = """work: {{servers: ["nats://127.0.0.1:{port}"], pools: [gpus], backend: "{backend}", lanes: {lanes}}}
"""
FILTER = "  - fir: {{name: f{n}, method: direct, design: {{type: low_pass, cutoff: 1e5, ntaps: {taps}}}{more}}}\n"
HOME = """name: gpus
source: {{generate: {{rate: 10 MS/s, samples: {samples}}}}}
overrun: wait
block: {block}
backend: pool
pool: {{servers: ["nats://127.0.0.1:{port}"], patience: 20 s, window: 512 MiB}}
stages:
{filters}publish:
  - {{port: f{last}.out, topic: out, bind: "ipc://{folder}/out"}}
"""


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


@contextlib.contextmanager
def started(*command):
    process = subprocess.Popen([str(word) for word in command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield process
    finally:
        process.terminate()
        process.wait()


def seconds_of(options, folder, port, blocks):
    """How long a stream of so many blocks takes."""
    last = options.filters - 1
    filters = "".join(FILTER.format(n=n, taps=options.taps, more=", decimation: 64" if n == last else "")
                      for n in range(options.filters))
    home = folder / "home.yaml"
    home.write_text(HOME.format(samples=blocks * options.block, block=options.block, port=port, filters=filters, last=last,
                                folder=folder), encoding="utf-8")
    begin = time.monotonic()
    done = subprocess.run([options.iqd, "run", home], capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(done.stderr)
    return time.monotonic() - begin


def rate_with(options, backends):
    """Blocks a second with a worker for each of these backends."""
    with contextlib.ExitStack() as stack:
        folder = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory()))
        port = free_port()
        (folder / "server.conf").write_text(SERVER.format(port=port, folder=folder), encoding="utf-8")
        stack.enter_context(started(options.server, "-c", folder / "server.conf"))
        time.sleep(1)
        for n, backend in enumerate(backends):
            worker = folder / f"worker{n}.yaml"
            worker.write_text(WORKER.format(port=port, backend=backend, lanes=options.lanes), encoding="utf-8")
            stack.enter_context(started(options.iqd, "run", worker))
        time.sleep(options.wait)
        few = options.blocks // 5
        seconds_of(options, folder, port, few)  # builds the workers' plans
        best = min(seconds_of(options, folder, port, options.blocks) - seconds_of(options, folder, port, few)
                   for _ in range(3))
        return (options.blocks - few) / best


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--iqd", type=lambda path: pathlib.Path(path).resolve(), required=True)
    parser.add_argument("--server", default=shutil.which("nats-server", path="/usr/sbin:/usr/bin:/usr/local/bin"))
    parser.add_argument("--backends", nargs="+", default=["cuda:0", "cuda:1"])
    parser.add_argument("--lanes", type=int, default=2, help="of a worker")
    parser.add_argument("--block", type=int, default=1_048_576, help="samples")
    parser.add_argument("--filters", type=int, default=6)
    parser.add_argument("--taps", type=int, default=8193, help="of a filter")
    parser.add_argument("--blocks", type=int, default=300)
    parser.add_argument("--wait", type=float, default=5, help="seconds until the workers are ready")
    parser.add_argument("--least", type=float, default=0)
    options = parser.parse_args()
    alone = []
    for backend in options.backends:
        alone.append(rate_with(options, [backend]))
        print(f"{backend:24} {alone[-1]:8.1f} blocks/s", flush=True)
    together = rate_with(options, options.backends)
    times = together / (sum(alone) / len(alone))
    print(f"{' and '.join(options.backends):24} {together:8.1f} blocks/s, {times:.2f} times", flush=True)
    return times < options.least


if __name__ == "__main__":
    sys.exit(main())
