# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""A function in Python that gets arrays of a GPU: with a stand-in for the driver, and where there are a GPU and CuPy or
PyTorch, with these."""

import importlib.util
import os
import pathlib
import sys
import unittest
import unittest.mock

import numpy as np

import iqd

STANDIN = os.environ.get("IQD_STANDIN_CUDA", "")
# What CuPy does for a user: arrays of the device by address.
LIBRARY = '''import ctypes
import numpy as np

driver = ctypes.CDLL("libcuda.so.1")


def host(x):
    facts = x.__cuda_array_interface__
    dtype = np.dtype(facts["typestr"])
    memory = (ctypes.c_ubyte * (int(np.prod(facts["shape"])) * dtype.itemsize)).from_address(facts["data"][0])
    return np.frombuffer(memory, dtype).reshape(facts["shape"])


class Array:
    def __init__(self, y, strided=False, device=True):
        address = ctypes.c_uint64()
        base = y if y.base is None else y.base
        at = y.ctypes.data
        if device:
            assert driver.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(max(base.nbytes, 1))) == 0
            ctypes.memmove(address.value, base.ctypes.data, base.nbytes)
            at += address.value - base.ctypes.data
        self.y = y
        self.__dict__["facts"] = {"shape": y.shape, "typestr": y.dtype.str, "data": (at, False), "version": 2}
        if strided:
            self.facts["strides"] = y.strides

    @property
    def __cuda_array_interface__(self):
        return self.facts
'''
FUNCTIONS = {
    "on the host": "return 2 * host(x)",
    "on the device": "return Array(2 * host(x))",
    "backwards": "return Array(np.ascontiguousarray(2 * host(x)[:, ::-1])[:, ::-1], strided=True)",
    "every second": "y = np.zeros((1, 2 * meta.n), 'c8'); y[:, ::2] = 2 * host(x); return Array(y[:, ::2], strided=True)",
    "of another type": "return Array((2 * host(x)).astype('c16'))",
    "conjugated later": "y = Array(np.conj(2 * host(x))); y.resolve_conj = lambda: Array(np.conj(y.y)); return y",
}


def library(name):
    return importlib.util.find_spec(name) is not None and pathlib.Path("/dev/nvidiactl").exists()


class OnADevice(iqd.SystemTest):
    environment = {}

    def execute(self, body, *keys, x, code=0, more=""):
        (self.folder / "f.py").write_text(f"{more}\n\ndef f(x, meta):\n    {body}\n", encoding="utf-8")
        np.save(self.folder / "x.npy", x)
        words = [w for key in ("file=f.py", f"interpreter={sys.executable}", "memory=16 GiB", "limit=60", *keys)
                 for w in ("--config", key)]
        done = iqd.command("exec", "python", *words, "--in", "in=x.npy", "--out", "out=y.npy", cwd=self.folder,
                           env={**os.environ, **self.environment})
        self.assertEqual(done.returncode, code, done.stderr)
        return np.load(self.folder / "y.npy") if code == 0 else done.stderr


@unittest.skipUnless(STANDIN, "no stand-in for the driver")
class WithAStandIn(OnADevice):
    environment = {"LD_LIBRARY_PATH": STANDIN}

    def test_results_of_all_kinds(self):
        for count in (1, 0, 5000):
            x = (np.arange(count) + 1j).astype("c8")
            for name, body in FUNCTIONS.items():
                with self.subTest(name, count=count):
                    y = self.execute(body, "device=cuda", x=x, more=LIBRARY)
                    np.testing.assert_array_equal(y, 2 * x)

    def test_its_own_library_is_not_needed(self):
        y = self.execute("assert type(x).__name__ == 'DeviceArray' and 'cupy' in repr(x); return x", "device=cuda:0",
                         x=np.ones(10, "c8"))
        np.testing.assert_array_equal(y, np.ones(10))

    def test_what_is_not_there_is_refused(self):
        x = np.ones(10, "c8")
        self.assertIn("GPU 1: cuDeviceGet: invalid device ordinal", self.execute("return x", "device=cuda:1", x=x, code=2))
        self.assertRegex(self.execute("return x", "device=gpu", x=x, code=2), "'gpu' is not cpu, cuda or cuda:N")

    def test_arrays_of_another_gpu_are_refused(self):
        self.assertIn("returned an array of GPU 1; expected one of GPU 0",
                      self.execute("return Array(host(x).copy(), device=False)", "device=cuda", x=np.ones(10, "c8"),
                                   more=LIBRARY, code=1))

    def test_a_lost_context_costs_its_block(self):
        """The process cannot compute again, so another one takes its place."""
        (self.folder / "f.py").write_text(LIBRARY + '''
def f(x, meta):
    if meta.block % 5 == 2:
        driver.fail()
    return Array(host(x))
''', encoding="utf-8")
        # With one lane, the blocks behind each lost one need the next process.
        text = f"""name: p
block: 4096
lanes: 1
source: {{generate: {{rate: 1e6, samples: 81920}}}}
stages: [{{python: {{file: f.py, device: cuda, limit: 10 s}}}}]
publish: [{{port: python.out, topic: out, bind: "{iqd.endpoint()}"}}]
"""
        with unittest.mock.patch.dict(os.environ, self.environment), self.daemon(text) as daemon:
            self.assertEqual(daemon.wait(), 0, daemon.text)
        final = daemon.final[0]
        self.assertConserved(final)
        self.assertEqual(final["dropped"]["stage"], 4 * 4096, daemon.text)
        events = {e["event"]: e["count"] for e in final["events"] if e["count"]}
        self.assertEqual(events, {"died": 4, "restarted": 4}, daemon.text)
        self.assertIn("an illegal memory access was encountered", daemon.text)

    def test_limits_hold(self):
        """For the process and for threads of the driver."""
        own = ", ".join(repr(name) for name in ("mem", "oom_score_adj", "autogroup", "comm"))
        more = LIBRARY + f'''
import errno, os, socket, tempfile
forbidden = (errno.EACCES, errno.EPERM, errno.EROFS)
open("/dev/null", "w").write("x")
assert tempfile.gettempdir() == "/tmp"


def fails(call):
    try:
        call()
    except OSError as error:
        assert error.errno in forbidden, error
        return
    raise AssertionError("this was not forbidden")


def all_fail():
    fails(lambda: open("new", "w"))
    fails(lambda: os.mkdir("new"))
    fails(lambda: os.execv("/bin/true", ["true"]))
    fails(lambda: socket.socket())
    for name in ({own}):
        fails(lambda: open("/proc/self/" + name, "w"))
    assert driver.make_file(b"{self.folder}/new") in forbidden
    try:
        bytearray(1 << 40)
    except MemoryError:
        return
    raise AssertionError("memory has no bound")
'''
        y = self.execute("all_fail(); return x", "device=cuda", x=np.ones(10, "c8"), more=more)
        np.testing.assert_array_equal(y, np.ones(10))

    def test_a_child_that_comes_back_ends(self):
        y = self.execute("os.fork(); return Array(host(x))", "device=cuda", x=np.ones(10, "c8"),
                         more="import os\n" + LIBRARY)
        np.testing.assert_array_equal(y, np.ones(10))


@unittest.skipUnless(library("cupy") or library("torch"), "neither CuPy nor PyTorch with a GPU")
class WithAGpu(OnADevice):
    def assertSpectra(self, body, x, more):
        y = self.execute(body, "device=cuda", "out.dims='[frame][bin 100]'", "out.element=f32", "decimation=100", x=x,
                         more=more)
        np.testing.assert_allclose(y, np.abs(np.fft.fft(x.reshape(-1, 100))).reshape(y.shape), rtol=1e-3, atol=1)

    def test_cupy(self):
        if not library("cupy"):
            self.skipTest("no CuPy")
        x = (np.arange(5000) - 3j).astype("c8")
        more = "import cupy\ncupy.fft.fft(cupy.zeros(16, 'c8')); (2 * cupy.zeros(16, 'c8')).get()"
        y = self.execute("return 2 * cupy.asarray(x)", "device=cuda", x=x, more=more)
        np.testing.assert_array_equal(y, 2 * x)
        y = self.execute("return cupy.asarray(x)[:, ::-1][:, ::-1]", "device=cuda", x=x, more=more)
        np.testing.assert_array_equal(y, x)
        self.assertSpectra("return cupy.abs(cupy.fft.fft(cupy.asarray(x).reshape(1, -1, 100)))", x, more)

    def test_pytorch(self):
        if not library("torch"):
            self.skipTest("no PyTorch")
        x = (np.arange(5000) - 3j).astype("c8")
        more = "import torch"
        y = self.execute("return torch.as_tensor(x, device='cuda').conj()", "device=cuda", x=x, more=more)
        np.testing.assert_array_equal(y, x.conj())
        self.assertSpectra("return torch.fft.fft(torch.as_tensor(x, device='cuda').reshape(1, -1, 100)).abs()", x, more)

    def test_a_kernel_that_fails_costs_its_block(self):
        if not library("cupy"):
            self.skipTest("no CuPy")
        more = ("import cupy\nbad = cupy.RawKernel('extern \"C\" __global__ void bad(int* p) { *p = 1; }', 'bad')\n"
                "bad.compile()")
        says = self.execute("bad((1,), (1,), (cupy.uint64(0),)); return x", "device=cuda", x=np.ones(10, "c8"),
                            more=more, code=1)
        self.assertRegex(says, "illegal memory access")


if __name__ == "__main__":
    unittest.main()
