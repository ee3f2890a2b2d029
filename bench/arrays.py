# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""Arrays through one stage of iqd."""

import sys

import numpy as np

import iqd


def execute(options, stage, keys, inputs, outputs, folder):
    """Runs arrays through `iqd exec`."""
    arguments = ["exec", stage, "--backend", options.backend]
    for name, x in inputs.items():
        np.save(folder / f"{name}.npy", x)
        arguments += ["--in", f"{name}={folder}/{name}.npy"]
    for name in outputs:
        arguments += ["--out", f"{name}={folder}/{name}.out.npy"]
    for key in keys:
        arguments += ["--config", key]
    done = iqd.command(*arguments, timeout=3600)
    if done.returncode:
        sys.exit(f"{stage}: {done.stderr}")
    return [np.load(folder / f"{name}.out.npy") for name in outputs]
