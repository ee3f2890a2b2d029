# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""The data types of SigMF, scaled as iqd's file source scales them (docs/recordings.md): integers have a full scale of
1, an unsigned one its zero between two numbers."""

import re

import numpy as np

_NAME = re.compile(r"([cr])(f16|f32|f64|i8|i16|i24|i32|u8|u16|u32)(?:_(le|be))?")
KNOWN = "c (complex) or r (real) with f32, f64, i8, i16, i32, u8, u16 or u32, and _le or _be: cf32_le, ci16_le, cu8 …"


class Datatype:
    """How samples lie in a file."""

    def __init__(self, name):
        found = _NAME.fullmatch(name) if isinstance(name, str) else None
        if not found:
            raise ValueError(f"{name!r} is not a data type that iqd knows: {KNOWN}")
        self.is_complex, number = found[1] == "c", found[2]
        self.kind, self.bits = number[0], int(number[1:])
        self.is_big = found[3] == "be" and self.bits > 8
        self.name = found[1] + number + ("" if self.bits == 8 else "_be" if self.is_big else "_le")
        self.parts = 2 if self.is_complex else 1
        self.bytes = self.parts * self.bits // 8  # one sample of one channel
        order = ">" if self.is_big else "<"
        # NumPy has no integers of three bytes.
        self.part = np.dtype("3u1") if self.bits == 24 else np.dtype(f"{order}{self.kind}{self.bits // 8}")

    def __eq__(self, other):
        return isinstance(other, Datatype) and self.name == other.name

    def __hash__(self):
        return hash(self.name)

    @property
    def zero(self):
        """What the file has for 0, which need not be a whole number."""
        return (2**self.bits - 1) / 2 if self.kind == "u" else 0

    def numbers(self, raw):
        """The numbers in the bytes [frame][bytes], as the file has them: [frame][channel], or [frame][channel][part] of
        complex integers. A view, except for 24 bits."""
        shape = len(raw), raw.shape[1] // self.bytes, self.parts
        if self.bits == 24:
            digits = raw.reshape(*shape, 3)[..., ::-1 if self.is_big else 1].astype(np.int32)
            numbers = digits[..., 0] | digits[..., 1] << 8 | (digits[..., 2] ^ 0x80) - 0x80 << 16
        elif self.is_complex and self.kind == "f" and self.bits > 16:
            return raw.view(f"{self.part.str[0]}c{self.bytes}")
        else:
            numbers = raw.view(self.part).reshape(shape)
        return numbers if self.is_complex else numbers[..., 0]

    def to_samples(self, numbers):
        """What `numbers` gave as complex64 or float32, full scale 1; a view if it is that already."""
        wanted = np.complex64 if self.is_complex else np.float32
        if self.kind == "f" and (not self.is_complex or self.bits > 16):
            return numbers.astype(wanted, copy=False)
        # A float32 holds integers of 24 bits exactly.
        wide = np.float64 if self.bits == 32 else np.float32
        if self.kind == "u":
            scaled = (numbers.astype(wide) * wide(2) - wide(2**self.bits - 1)) * wide(2.0**-self.bits)
        else:
            scaled = np.multiply(numbers, wide(1 if self.kind == "f" else 2.0 ** (1 - self.bits)), dtype=wide)
        scaled = np.ascontiguousarray(scaled, np.float32)
        return scaled.view(np.complex64)[..., 0] if self.is_complex else scaled

    def from_samples(self, samples):
        """(the bytes [frame][bytes] for samples [frame][channel] of full scale 1, how many numbers were clipped). NaN
        becomes 0 where it has to become an integer."""
        values = np.ascontiguousarray(samples)
        values = values.view(values.real.dtype).reshape(len(values), -1)
        if self.kind == "f":
            return self._bytes(values.astype(self.part)), 0
        signed = self.kind == "i"
        least = -2.0 ** (self.bits - 1) if signed else 0.0
        most = least + 2.0**self.bits - 1
        x = values.astype(np.float64) * 2.0 ** (self.bits - 1) + self.zero
        clipped = int(np.count_nonzero(~((x <= most + 0.5) & (x >= least - 0.5))))
        x[np.isnan(x)] = self.zero
        whole = np.clip(np.trunc(np.clip(x, least, most) + np.copysign(0.5, x)), least, most).astype(np.int64)
        if self.bits == 24:
            digits = whole.astype("<i8").view(np.uint8).reshape(*whole.shape, 8)[..., :3]
            return self._bytes(np.ascontiguousarray(digits[..., ::-1] if self.is_big else digits)), clipped
        return self._bytes(whole.astype(self.part)), clipped

    @staticmethod
    def _bytes(numbers):
        return np.ascontiguousarray(numbers).view(np.uint8).reshape(len(numbers), -1)
