# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""The framings `json` and `struct` of docs/wire.md: from two frames to a header and an array."""

import json
import struct

import numpy as np


class Malformed(Exception):
    """Frames that are not a message of the wire format; the text says why."""


_DTYPES = {name: np.dtype(name) for name in ("<c8", "<c16", "<f8", "<f4", "<f2", "<i8", "<i4", "<i2", "<i1", "<u1",
                                             "<u2", "<u4", "<u8", "|i1", "|u1", "|b1")}
_STRUCT = struct.Struct("<4s2BbBQ5q2I")
_MAGIC = b"iqd1"
# By the number of the element: SigMF's name, NumPy's name. sc16 is two numbers.
_ELEMENTS = (("ci16_le", "<i2"), ("cf32_le", "<c8"), ("rf32_le", "<f4"), ("rf16_le", "<f2"), ("ri64_le", "<i8"),
             ("ri32_le", "<i4"), ("ri16_le", "<i2"), ("ri8", "<i1"), ("ru8", "<u1"))


def _refuse(constant):
    raise ValueError(f"{constant} is not JSON")


_decode = json.JSONDecoder(parse_constant=_refuse).raw_decode


def array_of(frame, dtype, shape):
    """The bytes of a frame as a read-only array, without a copy."""
    kind = _DTYPES.get(dtype) if isinstance(dtype, str) else None
    if kind is None:
        raise Malformed(f"dtype {dtype!r} is not part of the wire format")
    if not isinstance(shape, list):
        raise Malformed("there is no valid shape")
    view = memoryview(frame).toreadonly()
    try:
        x = np.ndarray(shape, kind, view)
    except (TypeError, ValueError, OverflowError):
        x = None
    if x is None or x.nbytes != view.nbytes:
        raise Malformed(f"shape {shape!r:.200} of {dtype} does not match {view.nbytes} bytes of payload")
    return x


def _read_json(text, payload):
    try:
        header, end = _decode(text)
    except (ValueError, RecursionError):
        header, end = None, 0
    if type(header) is not dict or text[end:].strip():
        raise Malformed("the header is not a JSON object, or nested too deeply")
    return header, array_of(payload, header.get("dtype"), header.get("shape"))


def _read_struct(head, payload):
    _, element, ndim, varying, flags, seq, sample, time_ns, extent, gap, dropped, halo, item = _STRUCT.unpack(head)
    if element >= len(_ELEMENTS):
        raise Malformed(f"element {element} is not part of the wire format")
    datatype, dtype = _ELEMENTS[element]
    step = _DTYPES[dtype].itemsize * (2 if element == 0 else 1)
    if extent < 0 or (extent * item and len(payload) % (extent * item * step)):
        raise Malformed(f"{len(payload)} bytes of payload are no whole rows of {extent} times {item} elements")
    # The header has no sizes before the varying dimension: their product follows from the length of the payload.
    shape = [len(payload) // (extent * item * step) if extent * item else 0] if varying > 0 else []
    shape += [extent] if varying >= 0 else []
    shape += [item] if varying < ndim - 1 else []
    header = {"seq": seq, "sample": sample, "time_ns": time_ns, "time": "radio" if flags & 1 else "host",
              "datatype": datatype, "dtype": dtype, "shape": shape + ([2] if element == 0 else []), "gap": gap,
              "dropped": dropped, "halo": halo}
    return header, array_of(payload, dtype, header["shape"])


def read_frames(head, payload):
    """(topic, header, array) of the two frames. The header of `struct` is a dict with the same keys, as far as it has
    them; all dimensions before the varying one are one dimension of the array, and so are those behind it."""
    topic, space, rest = head.partition(b" ")
    if not space:
        raise Malformed("the first frame has no space between topic and header")
    try:
        name = topic.decode()
        if len(rest) == _STRUCT.size and rest.startswith(_MAGIC):
            return (name, *_read_struct(rest, payload))
        return (name, *_read_json(rest.decode(), payload))
    except UnicodeDecodeError:
        raise Malformed("the first frame is not UTF-8") from None
