# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""A process of the stage `python`: it computes the function of one file, block by block. The daemon starts it with these
descriptors, and no other program does:

    1, 2  lines for the daemon's log
    3     the job, as JSON: what to load, and what to keep to
    4     messages to the daemon: ready, refused, raised
    5, 6  shared memory: requests with samples, answers with results (see _worker_channel.py)

It limits itself before it loads the file (see _worker_limits.py), and ends with the daemon."""

import ctypes
import gc
import importlib.util
import json
import os
import signal
import socket
import sys
import tempfile

JOB, CONTROL, REQUESTS, ANSWERS = 3, 4, 5, 6
PROTOCOL = 2  # job.hpp: kProtocol


def part(name):
    """A module beside this one. The package's folder does not become part of the path: the interpreter may be another
    one, with modules of its own."""
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), f"_worker_{name}.py")
    spec = importlib.util.spec_from_file_location(f"_iqd_worker_{name}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def end_with_the_parent(parent=None):
    """The kernel kills this process when its parent's thread ends; children do the same with this process."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
    if parent is not None and os.getppid() != parent:
        os._exit(0)


def read_job():
    with open(JOB, "rb") as file:
        return json.loads(file.read())


class Control:
    """Messages to the daemon. None ever waits: what the daemon does not take is left out."""

    def __init__(self):
        self._socket = socket.socket(fileno=CONTROL)
        self._socket.setblocking(False)

    def say(self, kind, *lines):
        text = "\n".join([kind, *map(str, lines)]).encode("utf-8", "replace")
        try:
            self._socket.send(text[:60000])
        except OSError:
            pass

    def is_open(self):
        """False once the daemon has ended, or the function has closed the descriptor."""
        try:
            return self._socket.recv(1) != b""
        except BlockingIOError:
            return True
        except OSError:
            return False


def keep_to_limits(job):
    """Returns the device, if the job names one."""
    number = job["device"]
    if number is None:
        return part("limits").keep_to(job)
    device = part("device")
    device.load_libraries()
    return part("limits").keep_to(job, lambda: device.Device(number))


def serve(channel, calls, control):
    while True:
        if not channel.wait():
            if not control.is_open():
                return
            continue
        status, count = calls.answer(channel)
        if calls.is_lost():
            return
        channel.answer(status, count)


def main():
    end_with_the_parent(int(sys.argv[1]))
    os.closerange(ANSWERS + 1, 4096)
    job = read_job()
    control = Control()
    program = part("program")
    try:
        if job.get("protocol") != PROTOCOL:
            raise program.Refusal(f"{os.path.abspath(__file__)} belongs to another version of iqd: install the python3-iqd "
                                  "of the same version")
        device = keep_to_limits(job)
        tempfile.tempdir = "/tmp"  # it cannot be written; libraries that only ask for its name can be imported
        os.register_at_fork(after_in_child=end_with_the_parent)
        sys.stdout.reconfigure(line_buffering=True, errors="replace")
        function = program.load(job)
        names = program.parameters(function, job)
        channel = part("channel").Channel(REQUESTS, ANSWERS, job["spin_ns"])
        if device:
            device.mirror(channel)
        calls = part("calls").Calls(job, function, control, device)
    except program.Refusal as refusal:
        control.say("refused", refusal.file, refusal.line, refusal.column, refusal.what)
        return
    except BaseException as error:
        control.say("refused", "", 0, 0, f"{type(error).__name__}: {error}")
        return
    gc.collect()
    gc.freeze()  # what was loaded is not looked at again
    control.say("ready", *names)
    serve(channel, calls, control)


if __name__ == "__main__":
    main()
