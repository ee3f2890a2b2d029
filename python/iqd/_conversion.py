# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""Arrays as stages need them."""

import warnings

import numpy as np

from iqd._errors import ConfigError, ConversionWarning


def fits(array, dtype):
    """Whether an integer type holds all values of an array of whole numbers."""
    if array.dtype.kind not in "biu":
        return False
    limits = np.iinfo(dtype)
    return array.size == 0 or (int(array.min()) >= limits.min and int(array.max()) <= limits.max)


def convert(array, dtype, name):
    """A copy in the type and order that a stage reads. Warns, since a copy costs time, and a type may round."""
    to = np.dtype(dtype)
    if to.kind in "iu" and not fits(array, dtype):
        raise ConfigError(f"{name}: values do not fit {to.name}")
    native = array.dtype.newbyteorder("=")
    why = f"{native.name} becomes {to.name}" if native != to else "it is not contiguous, or not in native byte order"
    warnings.warn(f"input '{name}' is copied: {why}", ConversionWarning, stacklevel=3)
    with np.errstate(over="ignore", invalid="ignore"):  # NaN and infinity stay what they are
        return np.ascontiguousarray(array, dtype=to)


def plain(array, name):
    """An array of a type that stages know; unsigned integers become signed ones."""
    array = np.asarray(array)
    if array.dtype.kind == "u" and array.itemsize > 1 and fits(array, "i8"):
        return array.astype("i4" if array.itemsize == 2 else "i8")
    raise ConfigError(f"{name}: stages do not take arrays of {array.dtype}")
