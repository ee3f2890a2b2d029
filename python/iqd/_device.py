# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""Results that stay on a CUDA device."""

import numpy as np

from iqd._array import Array, Known

DL_CUDA = 2


class DeviceArray(Known):
    """A result in the memory of a CUDA device, for every library that reads `__dlpack__` or
    `__cuda_array_interface__`: torch.from_dlpack(y), cupy.asarray(y). It is complete, so no stream has to wait. It knows
    what an iqd.Array does; `numpy()` copies it to the host."""

    def __init__(self, memory):
        self._memory = memory
        self.shape, self.dtype = tuple(memory.shape), np.dtype(memory.dtype)

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
        if copy or (dl_device is not None and tuple(dl_device) != self.__dlpack_device__()):
            raise BufferError("the array is not copied, and stays on its device; numpy() copies it to the host")
        return self._memory.dlpack()

    def numpy(self):
        """A copy in the host's memory."""
        made = self._memory.on_host().view(Array)
        made.format, made.items, made._first, made._picks = self.format, self.items, self._first, self._picks
        return made

    def __array__(self, dtype=None, copy=None):
        if copy is False:
            raise ValueError("an array of a device has to be copied to the host")
        return np.asarray(self._memory.on_host(), dtype=dtype)

    def __len__(self):
        return self.shape[0]

    def __repr__(self):
        return f"<iqd.DeviceArray {self.port} {self.dtype}{list(self.shape)} on {self.device}>"
