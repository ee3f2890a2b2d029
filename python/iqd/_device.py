# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""Results that stay on a CUDA device."""

import numpy as np

DL_CUDA = 2


class DeviceArray:
    """A result in the memory of a CUDA device, for every library that reads `__dlpack__` or
    `__cuda_array_interface__`: torch.from_dlpack(y), cupy.asarray(y). It is complete, so no stream has to wait. It knows
    what an iqd.Array does; `numpy()` copies it to the host."""

    format = None
    items = None
    _first = 0

    def __init__(self, memory):
        self._memory = memory
        self.shape, self.dtype = tuple(memory.shape), np.dtype(memory.dtype)

    rate = property(lambda self: self.format.rate if self.format else 0.0)
    frequency = property(lambda self: self.format.frequency if self.format else 0.0)
    port = property(lambda self: self.format.port if self.format else "")
    ndim = property(lambda self: len(self.shape))
    size = property(lambda self: int(np.prod(self.shape)))
    device = property(lambda self: f"cuda:{self._memory.device}")

    @property
    def __cuda_array_interface__(self):
        strides = None if self.size == 0 else tuple(self._memory.strides)
        address = self._memory.address if self.size else 0
        return {"shape": self.shape, "typestr": self._memory.dtype, "data": (address, False), "strides": strides,
                "version": 3, "stream": None}

    def __dlpack_device__(self):
        return DL_CUDA, self._memory.device

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        return self._memory.dlpack()

    def numpy(self):
        from iqd import _array
        return _array.wrapped(self._memory.on_host(), self.format, self._first,
                              None if self.items is None else [(k, self.items[k]) for k in self.items.dtype.names])

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self._memory.on_host(), dtype=dtype)

    def __len__(self):
        return self.shape[0]

    def __repr__(self):
        return f"<iqd.DeviceArray {self.port} {self.dtype}{list(self.shape)} on {self.device}>"
