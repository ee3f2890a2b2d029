# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""Arrays through one stage of iqd."""

import pathlib
import tempfile

import numpy as np

import iqd


def execute(stage, inputs, outputs, keys=(), backend="cpu", rate=None, timeout=3600):
    """Runs arrays {port: array} through `iqd exec`: the arrays of the output ports. `keys`: `name=value`."""
    with tempfile.TemporaryDirectory(prefix="iqd-") as name:
        folder = pathlib.Path(name)
        arguments = ["exec", stage, "--backend", backend, *(("--rate", str(rate)) if rate else ())]
        for port, x in inputs.items():
            np.save(folder / f"{port}.npy", x)
            arguments += ["--in", f"{port}={folder}/{port}.npy"]
        for port in outputs:
            arguments += ["--out", f"{port}={folder}/{port}.out.npy"]
        for key in keys:
            arguments += ["--config", key]
        done = iqd.command(*arguments, timeout=timeout)
        if done.returncode:
            raise RuntimeError(f"{stage}: {done.stderr}")
        return [np.load(folder / f"{port}.out.npy") for port in outputs]
