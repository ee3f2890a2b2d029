# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""like_the_unit.py PROGRAM ARGUMENTS…: becomes the program, with the system calls that systemd/iqd@.service allows and
without its privileges. systemd-analyze knows the calls. Exits with 77 if that is not possible here."""

import ctypes
import functools
import os
import re
import subprocess
import sys

ALLOW, EPERM = 0x7FFF0000, 0x00050000 | 1
MASKED_EQ = 7
WRITE, EXECUTE = 2, 4
NOBODY = 65534


class Comparison(ctypes.Structure):
    _fields_ = [("argument", ctypes.c_uint), ("operation", ctypes.c_int), ("a", ctypes.c_uint64), ("b", ctypes.c_uint64)]


@functools.cache
def calls_of(group):
    text = subprocess.run(["systemd-analyze", "syscall-filter", group], check=True, capture_output=True, text=True).stdout
    names = set()
    for line in text.splitlines()[1:]:
        name = line.strip()
        if name.startswith("@"):
            names |= calls_of(name)
        elif name and not name.startswith("#"):
            names.add(name)
    return frozenset(names)


def main():
    unit = (os.path.dirname(os.path.abspath(__file__)) + "/../../systemd/iqd@.service.in")
    with open(unit, encoding="utf-8") as file:
        filters = re.findall(r"^SystemCallFilter=(~?)(@\S+)$", file.read(), re.MULTILINE)
    try:
        allowed = set()
        for no, group in filters:
            allowed = allowed - calls_of(group) if no else allowed | calls_of(group)
        library = ctypes.CDLL("libseccomp.so.2")
    except (OSError, subprocess.SubprocessError) as error:
        print(error, file=sys.stderr)
        sys.exit(77)
    library.seccomp_init.restype = ctypes.c_void_p
    context = ctypes.c_void_p(library.seccomp_init(ctypes.c_uint32(EPERM)))

    def allow(name, *comparisons):
        number = library.seccomp_syscall_resolve_name(name.encode())
        array = (Comparison * max(len(comparisons), 1))(*comparisons)
        library.seccomp_rule_add_array(context, ctypes.c_uint32(ALLOW), number, len(comparisons), array)

    for name in allowed - {"mmap", "mmap2", "mprotect", "pkey_mprotect"}:
        allow(name)
    for protection in (0, WRITE, EXECUTE):  # MemoryDenyWriteExecute
        allow("mmap", (2, MASKED_EQ, WRITE | EXECUTE, protection))
    for name in ("mprotect", "pkey_mprotect"):
        allow(name, (2, MASKED_EQ, EXECUTE, 0))
    if os.geteuid() == 0:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
    ctypes.CDLL(None).prctl(38, 1, 0, 0, 0)  # NoNewPrivileges
    if library.seccomp_load(context) != 0:
        sys.exit(77)
    if "ASAN_OPTIONS" in os.environ:  # looking for leaks needs ptrace, which the unit forbids
        os.environ["ASAN_OPTIONS"] += ":detect_leaks=0"
    os.execv(sys.argv[1], sys.argv[1:])


if __name__ == "__main__":
    main()
