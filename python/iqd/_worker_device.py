# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""A process of the stage `python` whose `device` is a GPU: arrays go there and results come back. It needs the driver
alone; CuPy, PyTorch and others take the arrays without a copy, by `__cuda_array_interface__`."""

import ctypes
import os

import numpy as np

_READ_ONLY = 8       # CU_MEMHOSTREGISTER_READ_ONLY
_DEVICE_ORDINAL = 9  # CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL


def load_libraries():
    """To find its libraries, CuPy starts other programs, which the limits forbid. If it cannot be loaded, that is of
    interest to those who use it."""
    try:
        import cupy  # noqa: F401
    except Exception:
        pass
    if len(os.listdir("/proc/self/task")) > 1:
        raise DeviceError("a library has started threads before the limits hold: set OPENBLAS_NUM_THREADS=1")


class DeviceArray:
    """An array in the memory of a GPU, in C order. It holds its block during the call only."""

    def __init__(self, shape, dtype, address):
        self.shape, self.dtype, self.ndim = shape, dtype, len(shape)
        self.__cuda_array_interface__ = {"shape": shape, "typestr": dtype.str, "data": (address, False), "strides": None,
                                         "version": 3, "stream": 1}

    def __repr__(self):
        return f"DeviceArray({self.dtype} {list(self.shape)}; cupy.asarray(x) or torch.as_tensor(x, device='cuda'))"


class DeviceError(Exception):
    """A call of the driver failed."""


class Device:
    def __init__(self, number):
        try:
            self._driver = ctypes.CDLL("libcuda.so.1")
        except OSError as error:
            raise DeviceError(f"there is no driver of a GPU ({error})") from None
        self._number = number
        self._call("cuInit", 0)
        device, self._context = ctypes.c_int(), ctypes.c_void_p()
        self._call("cuDeviceGet", ctypes.byref(device), number)
        # The context that CuPy and PyTorch use, too.
        self._call("cuDevicePrimaryCtxRetain", ctypes.byref(self._context), device)
        self._call("cuCtxSetCurrent", self._context)
        self._memory, self._host, self._staging = ctypes.c_uint64(), 0, None

    def _call(self, name, *arguments):
        code = getattr(self._driver, name)(*arguments)
        if code != 0:
            text = ctypes.c_char_p()
            self._driver.cuGetErrorString(code, ctypes.byref(text))
            raise DeviceError(f"GPU {self._number}: {name}: {(text.value or b'unknown error').decode()}")

    def mirror(self, channel):
        """Takes as much memory of the device as requests have, and some of the host for results. Copies are faster if
        the host's pages stay where they are, which some systems cannot do."""
        self._call("cuCtxSetCurrent", self._context)
        size, self._host = len(channel.requests), channel.request_at
        self._call("cuMemAlloc_v2", ctypes.byref(self._memory), ctypes.c_size_t(size))
        self._staging = np.empty(len(channel.answers), np.uint8)
        for at, bytes_, flags in ((self._host, size, _READ_ONLY), (self._staging.ctypes.data, self._staging.nbytes, 0)):
            self._driver.cuMemHostRegister_v2(ctypes.c_void_p(at), ctypes.c_size_t(bytes_), flags)

    def take(self, array):
        """The same array on the device. It is a part of the requests."""
        self._call("cuCtxSetCurrent", self._context)
        source = array.__array_interface__["data"][0]
        address = self._memory.value + source - self._host
        if array.nbytes > 0:
            self._call("cuMemcpyHtoD_v2", ctypes.c_uint64(address), ctypes.c_void_p(source), ctypes.c_size_t(array.nbytes))
        return DeviceArray(array.shape, array.dtype, address)

    def finish(self):
        """Waits until all that was launched is computed."""
        self._call("cuCtxSetCurrent", self._context)
        self._call("cuCtxSynchronize")

    def bring(self, result):
        """A result on the host, if it is on the device; else the result itself."""
        if getattr(result, "__cuda_array_interface__", None) is None:
            return result
        for name in ("resolve_conj", "resolve_neg"):  # PyTorch conjugates when it must
            result = getattr(result, name, lambda same=result: same)()
        facts = result.__cuda_array_interface__
        dtype, shape, address = np.dtype(facts["typestr"]), tuple(facts["shape"]), facts["data"][0]
        if 0 in shape:
            return np.empty(shape, dtype)
        self._check_place(address)
        strides = facts.get("strides") or _in_c_order(shape, dtype.itemsize)
        steps = [(n - 1) * s for n, s in zip(shape, strides)]
        low, high = sum(min(s, 0) for s in steps), sum(max(s, 0) for s in steps) + dtype.itemsize
        host = self._staging[:high - low] if high - low <= len(self._staging) else np.empty(high - low, np.uint8)
        self.finish()
        self._call("cuMemcpyDtoH_v2", ctypes.c_void_p(host.ctypes.data), ctypes.c_uint64(address + low),
                   ctypes.c_size_t(high - low))
        return np.ndarray(shape, dtype, host, -low, strides)

    def _check_place(self, address):
        device = ctypes.c_int(-1)
        self._call("cuPointerGetAttribute", ctypes.byref(device), _DEVICE_ORDINAL, ctypes.c_uint64(address))
        if device.value != self._number:
            raise ValueError(f"returned an array of GPU {device.value}; expected one of GPU {self._number}")


def _in_c_order(shape, size):
    strides = []
    for n in reversed(shape):
        strides.insert(0, size)
        size *= n
    return strides
