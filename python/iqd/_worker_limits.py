# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""What a process of the stage `python` may not do, whatever its function tries: reach the network, write files, start
programs, signal or trace other processes, take more memory than it was given. The daemon's limits hold as well."""

import ctypes
import errno
import glob
import os
import resource

_PR_SET_NO_NEW_PRIVS = 38
_ALLOW, _ERRNO = 0x7FFF0000, 0x00050000
_NE, _EQ, _MASKED_EQ = 1, 4, 7
_KILL = 9
_ALL_THREADS = 4  # SCMP_FLTATR_CTL_TSYNC

_SILENT = """io_uring_setup io_uring_enter io_uring_register clone3 openat2"""  # as on a kernel without them
_FORBIDDEN = """
    socket execve execveat ptrace process_vm_readv process_vm_writev process_madvise pidfd_getfd kcmp
    tkill rt_sigqueueinfo rt_tgsigqueueinfo pidfd_send_signal setsid setpgid
    unshare setns chroot pivot_root mount umount2 open_tree move_mount fsopen fsconfig fsmount fspick mount_setattr
    bpf perf_event_open userfaultfd keyctl add_key request_key open_by_handle_at
    swapon swapoff reboot kexec_load kexec_file_load init_module finit_module delete_module acct quotactl quotactl_fd
    iopl ioperm settimeofday clock_settime clock_adjtime adjtimex sethostname setdomainname syslog vhangup nfsservctl
    sched_setscheduler sched_setparam sched_setattr setpriority ioprio_set migrate_pages move_pages
    mq_open shmget semget msgget
    creat mkdir mkdirat rmdir unlink unlinkat rename renameat renameat2 link linkat symlink symlinkat mknod mknodat
    truncate chmod fchmod fchmodat fchmodat2 chown fchown lchown fchownat utime utimes utimensat futimesat
    setxattr lsetxattr fsetxattr setxattrat removexattr lremovexattr fremovexattr removexattrat fallocate"""
_NAMESPACES = (0x00020000, 0x02000000, 0x04000000, 0x08000000, 0x10000000, 0x20000000, 0x40000000, 0x80)
_SET_OWNER = (8, 15, 10)  # fcntl: signals for another process
_IOCTLS = (0x5412, 0x541C, 0x8901, 0x8902, 0x40086602)  # typing into a terminal, owners of signals, flags of files
_OPENS_TO_WRITE = ((0o3, 0o1), (0o3, 0o2), (0o100, 0o100), (0o1000, 0o1000), (0o20000000, 0o20000000))


class _Comparison(ctypes.Structure):
    _fields_ = [("argument", ctypes.c_uint), ("operation", ctypes.c_int), ("a", ctypes.c_uint64), ("b", ctypes.c_uint64)]


class _Filter:
    """System calls that return an error: libseccomp knows their numbers on this machine."""

    def __init__(self, all_threads):
        try:
            self._library = ctypes.CDLL("libseccomp.so.2")
        except OSError:
            raise OSError("libseccomp.so.2 is not installed (`sudo apt install libseccomp2`)") from None
        self._library.seccomp_init.restype = ctypes.c_void_p
        self._context = ctypes.c_void_p(self._library.seccomp_init(ctypes.c_uint32(_ALLOW)))
        if all_threads and self._library.seccomp_attr_set(self._context, _ALL_THREADS, ctypes.c_uint32(1)) != 0:
            raise OSError("a GPU's driver starts threads, and system calls cannot be filtered in all of them: this service "
                          "needs SystemCallFilter=seccomp")

    def forbid(self, name, *comparisons, error=errno.EPERM):
        """If all comparisons (argument, operation, a, b) hold; a call that this machine does not have is left out."""
        number = self._library.seccomp_syscall_resolve_name(name.encode())
        array = (_Comparison * max(len(comparisons), 1))(*comparisons)
        done = self._library.seccomp_rule_add_array(self._context, ctypes.c_uint32(_ERRNO | error), number,
                                                    len(comparisons), array)
        if done != 0 and number >= 0:
            raise OSError(-done, f"the system call {name} cannot be forbidden")

    def load(self):
        done = self._library.seccomp_load(self._context)
        self._library.seccomp_release(self._context)
        if done != 0:
            raise OSError(-done, f"system calls cannot be filtered (seccomp): {os.strerror(-done)}")


def _forbid(calls, may_open_to_write):
    for name in _SILENT.split():
        calls.forbid(name, error=errno.ENOSYS)
    for name in _FORBIDDEN.split():
        calls.forbid(name)
    for name in ("kill", "tgkill"):
        calls.forbid(name, (0, _NE, os.getpid(), 0))
    calls.forbid("prlimit64", (0, _NE, 0, 0))
    calls.forbid("prctl", (0, _EQ, 1, 0), (1, _NE, _KILL, 0))
    for flag in _NAMESPACES:
        calls.forbid("clone", (0, _MASKED_EQ, flag, flag))
    for command in _SET_OWNER:
        calls.forbid("fcntl", (1, _EQ, command, 0))
    for request in _IOCTLS:
        calls.forbid("ioctl", (1, _MASKED_EQ, 0xFFFFFFFF, request))
    for mask, value in () if may_open_to_write else _OPENS_TO_WRITE:
        calls.forbid("open", (1, _MASKED_EQ, mask, value), error=errno.EROFS)
        calls.forbid("openat", (2, _MASKED_EQ, mask, value), error=errno.EROFS)


class _PathBeneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = [("access", ctypes.c_uint64), ("parent", ctypes.c_int32)]


def _make_files_read_only(writable):
    """By Landlock; False if the kernel does not have it, or the service manager forbids it."""
    library = ctypes.CDLL(None, use_errno=True)
    version = library.syscall(444, None, 0, 1)  # landlock_create_ruleset
    if version < 1:
        return False
    write_file, all_but_reading = 1 << 1, 0x1FFF & ~(1 << 2 | 1 << 3)
    truncate = 1 << 14 if version >= 3 else 0
    files = all_but_reading | (1 << 13 if version >= 2 else 0) | truncate
    attributes = (ctypes.c_uint64 * 3)(files, 3, 3)  # files, TCP, signals and sockets outside
    rules = library.syscall(444, attributes, 8 if version < 4 else 16 if version < 6 else 24, 0)
    if rules < 0:
        return False
    for path in writable:
        try:
            parent = os.open(path, os.O_PATH | os.O_CLOEXEC)
        except OSError:
            continue
        library.syscall(445, rules, 1, ctypes.byref(_PathBeneath(write_file | truncate, parent)), 0)  # landlock_add_rule
        os.close(parent)
    done = library.syscall(446, rules, 0)  # landlock_restrict_self
    os.close(rules)
    return done == 0


def _be_the_first_to_go():
    """When memory runs out, rather this process than the daemon."""
    try:
        with open("/proc/self/oom_score_adj", "w", encoding="ascii") as file:
            file.write("500")
    except OSError:
        pass


def keep_to(job, open_device=None):
    """From now on these limits hold, for children and threads too, and nothing removes them. Raises OSError if one cannot
    be set. Returns what `open_device` does, which is called when files are read-only, all but those of GPUs: a driver
    opens its files once, and starts threads."""
    calls = _Filter(all_threads=job["device"] is not None)
    _be_the_first_to_go()
    if job["memory"]:
        # The address space of a process with a GPU holds the GPU's, so only its own data are bounded.
        kind = resource.RLIMIT_AS if job["device"] is None else resource.RLIMIT_DATA
        resource.setrlimit(kind, (job["memory"], job["memory"]))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))
    if ctypes.CDLL(None).prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
        raise OSError("no_new_privs cannot be set")
    files = ["/dev/null"]
    device = None
    if job["device"] is not None:
        files += glob.glob("/dev/nvidia*")
        _make_files_read_only([*files, "/proc/self"])  # where the driver names the threads that it starts
        device = open_device()
    may_open_to_write = _make_files_read_only(files)
    _forbid(calls, may_open_to_write)
    calls.load()
    return device
