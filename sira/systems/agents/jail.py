"""Runs one pipeline behind the walls that the kernel offers: a program of its own, `python -I -S jail.py`.

It reads an order as JSON from standard input (see sira.systems.agents.sandbox, which writes it), builds the walls,
starts the programs, waits for them, and writes the names of the walls, then the exit codes, each a line of JSON, to the
descriptor of the order. It has one thread and the standard library alone, so that it may fork where sira, with Java and
threads in it, may not. What each wall holds:

* landlock (Linux 5.13): files are read in the folder alone, beside the programs and their libraries; nothing is
  written; from 6.7 on no TCP.
* seccomp: no socket, no new process (threads go), no signal to another, nothing opened for writing, no change of any
  file or mount, no memory shared.
* network namespace, where seccomp is not to be had: no way out but a loopback of its own.
* limits of CPU, memory, open files; no file grows; no capability of root is left; all ends with whoever started it.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import platform
import resource
import signal
import struct
import sys
from typing import Any

_PR_SET_PDEATHSIG, _PR_CAPBSET_DROP, _PR_SET_NO_NEW_PRIVS, _PR_SET_SECCOMP = 1, 24, 38, 22
_CAPABILITIES = 64
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446  # the same on every processor
_EXECUTE, _READ_FILE, _READ_DIR = 1 << 0, 1 << 2, 1 << 3
_CLONE_NEWUSER, _CLONE_NEWNET = 0x10000000, 0x40000000
_CLONE_THREAD = 0x10000
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
_EPERM, _ENOSYS = 1, 38
_ALLOW, _KILL, _ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06

_NEW_ON_BOTH = {
    "io_uring_setup": 425, "open_tree": 428, "move_mount": 429, "fsopen": 430, "pidfd_open": 434, "pidfd_getfd": 438,
    "fchmodat2": 452, "pidfd_send_signal": 424,
}  # fmt: skip
_X86 = {
    "socket": 41, "connect": 42, "accept": 43, "bind": 49, "listen": 50, "socketpair": 53, "accept4": 288, "fork": 57,
    "vfork": 58, "kill": 62, "tkill": 200, "ptrace": 101, "setsid": 112, "setpgid": 109, "mknod": 133, "mknodat": 259,
    "mkdir": 83, "mkdirat": 258, "rmdir": 84, "unlink": 87, "unlinkat": 263, "rename": 82, "renameat": 264,
    "renameat2": 316, "link": 86, "linkat": 265, "symlink": 88, "symlinkat": 266, "truncate": 76, "ftruncate": 77,
    "chmod": 90, "fchmod": 91, "fchmodat": 268, "chown": 92, "fchown": 93, "lchown": 94, "fchownat": 260,
    "setxattr": 188, "lsetxattr": 189, "fsetxattr": 190, "utime": 132, "utimes": 235, "utimensat": 280,
    "futimesat": 261, "creat": 85, "mount": 165, "umount2": 166, "pivot_root": 155, "chroot": 161, "setns": 308,
    "unshare": 272, "bpf": 321, "perf_event_open": 298, "add_key": 248, "request_key": 249, "keyctl": 250,
    "memfd_create": 319, "userfaultfd": 323, "process_vm_readv": 310, "process_vm_writev": 311, "execveat": 322,
    "open_by_handle_at": 304, "rt_sigqueueinfo": 129, "rt_tgsigqueueinfo": 297, "shmget": 29,
    "msgget": 68, "semget": 64, "mq_open": 240, **_NEW_ON_BOTH,
}  # fmt: skip
_ARM = {
    "socket": 198, "socketpair": 199, "bind": 200, "listen": 201, "accept": 202, "connect": 203, "accept4": 242,
    "kill": 129, "tkill": 130, "ptrace": 117, "setsid": 157, "setpgid": 154, "mknodat": 33, "mkdirat": 34,
    "unlinkat": 35, "symlinkat": 36, "linkat": 37, "renameat": 38, "renameat2": 276, "truncate": 45, "ftruncate": 46,
    "fchmod": 52, "fchmodat": 53, "fchownat": 54, "fchown": 55, "setxattr": 5, "lsetxattr": 6, "fsetxattr": 7,
    "utimensat": 88, "mount": 40, "umount2": 39, "pivot_root": 41, "chroot": 51, "setns": 268, "unshare": 97,
    "bpf": 280, "perf_event_open": 241, "add_key": 217, "request_key": 218, "keyctl": 219, "memfd_create": 279,
    "userfaultfd": 282, "process_vm_readv": 270, "process_vm_writev": 271, "execveat": 281, "open_by_handle_at": 265,
    "rt_sigqueueinfo": 138, "rt_tgsigqueueinfo": 240, "shmget": 194, "msgget": 186, "semget": 190,
    "mq_open": 180,
    **_NEW_ON_BOTH,
}  # fmt: skip
_CLONE3, _OPENAT2, _SECCOMP_OF = 435, 437, {"x86_64": 317, "aarch64": 277}
_MACHINES = {"x86_64": (0xC000003E, _X86, 56, 234, 257, 2), "aarch64": (0xC00000B7, _ARM, 220, 131, 56, None)}
"""By `uname -m`: the audit number, the refused calls, and the numbers of clone, tgkill, openat and open."""

_libc: Any = ctypes.CDLL(None, use_errno=True)


def _syscall(number: int, *arguments: Any) -> int:
    return int(_libc.syscall(ctypes.c_long(number), *arguments))


def _prctl(option: int, *arguments: int) -> bool:
    given = [ctypes.c_ulong(value) for value in (*arguments, 0, 0, 0, 0)[:4]]
    return hasattr(_libc, "prctl") and _libc.prctl(ctypes.c_int(option), *given) == 0


def landlock(folder: str, files: list[str], folders: list[str]) -> str | None:
    """Close all files but these to this process and its children; the wall's name, None where the kernel has none."""
    if not sys.platform.startswith("linux"):
        return None
    version = _syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint(1))
    if version < 1:
        return None
    every = (1 << {1: 13, 2: 14, 3: 15, 4: 15}.get(version, 16)) - 1
    parts = [every, *([3] if version >= 4 else []), *([3] if version >= 6 else [])]  # TCP; signals, abstract sockets
    attributes = struct.pack(f"={len(parts)}Q", *parts)
    rules = _syscall(_CREATE_RULESET, attributes, ctypes.c_size_t(len(attributes)), ctypes.c_uint(0))
    if rules < 0:
        return None
    reading = _READ_FILE | _READ_DIR
    wanted = [(folder, reading)] + [(path, _READ_FILE | _EXECUTE) for path in files]
    for path, rights in wanted + [(path, reading | _EXECUTE) for path in folders]:
        try:
            beneath = os.open(path, os.O_PATH | os.O_CLOEXEC)
        except OSError:
            continue
        rule = struct.pack("=Qi", rights, beneath)
        done = _syscall(_ADD_RULE, ctypes.c_int(rules), ctypes.c_int(1), rule, ctypes.c_uint(0))
        os.close(beneath)
        if done < 0:
            return None
    if _syscall(_RESTRICT_SELF, ctypes.c_int(rules), ctypes.c_uint(0)) < 0:
        return None
    os.close(rules)
    return f"landlock {version}"


def filter_program(machine: str, process: int) -> bytes | None:
    """The filter of system calls of a process in the kernel's notation (classic BPF); None for a processor that is not
    known."""
    if machine not in _MACHINES:
        return None
    audit, refused, clone, tgkill, openat, open_ = _MACHINES[machine]
    code = [(_LOAD, 0, 0, 4), (_EQUAL, 1, 0, audit), (_RETURN, 0, 0, _KILL), (_LOAD, 0, 0, 0)]
    if machine == "x86_64":  # the calls of x32, which have numbers of their own
        code += [(_AT_LEAST, 0, 1, 0x40000000), (_RETURN, 0, 0, _ERRNO | _EPERM)]
    for number in refused.values():
        code += [(_EQUAL, 0, 1, number), (_RETURN, 0, 0, _ERRNO | _EPERM)]
    for number in (_CLONE3, _OPENAT2):  # what they ask for stands in memory: the libraries then use the older ones
        code += [(_EQUAL, 0, 1, number), (_RETURN, 0, 0, _ERRNO | _ENOSYS)]
    code += [(_EQUAL, 0, 4, clone), (_LOAD, 0, 0, 16), (_ANY_BIT, 1, 0, _CLONE_THREAD)]
    code += [(_RETURN, 0, 0, _ERRNO | _EPERM), (_RETURN, 0, 0, _ALLOW)]
    # A process may signal itself, as sort does to end by the signal that it caught.
    code += [(_EQUAL, 0, 4, tgkill), (_LOAD, 0, 0, 16), (_EQUAL, 1, 0, process)]
    code += [(_RETURN, 0, 0, _ERRNO | _EPERM), (_RETURN, 0, 0, _ALLOW)]
    for number, flags in ((openat, 32), (open_, 24)):
        if number is not None:
            code += [(_EQUAL, 0, 4, number), (_LOAD, 0, 0, flags), (_ANY_BIT, 0, 1, _WRITING)]
            code += [(_RETURN, 0, 0, _ERRNO | _EPERM), (_RETURN, 0, 0, _ALLOW)]
    code.append((_RETURN, 0, 0, _ALLOW))
    return b"".join(struct.pack("=HBBI", *line) for line in code)


def has_seccomp() -> bool:
    """Whether the kernel knows the action that the filter takes, and this file the processor."""
    number = _SECCOMP_OF.get(platform.machine())
    if number is None or not sys.platform.startswith("linux"):
        return False
    action = ctypes.c_uint32(_ERRNO)
    return _syscall(number, ctypes.c_uint(2), ctypes.c_uint(0), ctypes.byref(action)) == 0


def seccomp() -> bool:
    """Set the filter for this process and what it becomes."""
    program = filter_program(platform.machine(), os.getpid())
    if program is None:
        return False
    kept = ctypes.create_string_buffer(program, len(program))
    header = ctypes.create_string_buffer(struct.pack("@HP", len(program) // 8, ctypes.addressof(kept)))
    return _prctl(_PR_SET_SECCOMP, 2, ctypes.addressof(header))


def network_namespace() -> bool:
    unshare: Any = getattr(_libc, "unshare", None)
    return unshare is not None and any(unshare(flags) == 0 for flags in (_CLONE_NEWNET, _CLONE_NEWUSER | _CLONE_NEWNET))


def _processes() -> int:
    """Of this machine, threads aside; some number where it does not tell."""
    return sum(1 for name in os.listdir("/proc") if name.isdigit()) if os.path.isdir("/proc") else 1000  # noqa: PTH112, PTH208


def _bound(order: dict[str, Any]) -> None:
    """The limits of one program. That of processes counts all of the user, and for root it does not count."""
    limits = [
        (resource.RLIMIT_CPU, order["cpu_s"]),
        (resource.RLIMIT_AS, order["memory_bytes"]),
        (resource.RLIMIT_NOFILE, order["open_files"]),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
    ]
    if order["processes"] is not None:
        limits.append((resource.RLIMIT_NPROC, order["processes"]))
    for what, most in limits:
        hard = resource.getrlimit(what)[1]
        least = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(what, (least, least))


def _start(argv: list[str], order: dict[str, Any], ends: tuple[int, int], jailer: int) -> int:
    """One program between two descriptors; its process number."""
    child = os.fork()
    if child:
        return child
    try:
        _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != jailer:
            os._exit(1)
        os.dup2(ends[0], 0)
        os.dup2(ends[1], 1)
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        for capability in range(_CAPABILITIES):
            _prctl(_PR_CAPBSET_DROP, capability)
        _bound(order)
        if order["processes"] is None and not seccomp():
            raise OSError(ctypes.get_errno(), "seccomp failed")
        os.execve(order["programs"][argv[0]], argv, order["environment"])
    except (OSError, ValueError) as error:
        os.write(2, f"{argv[0]}: cannot be run: {error}\n".encode())
    finally:
        os._exit(127)


def _end(children: list[int], jailer: int) -> None:
    """Told to end before the programs did: kill them, and leave when they are gone."""
    if os.getpid() == jailer:  # not in a child that has not become a program yet
        for child in children:
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
        for child in children:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(child, 0)
    os._exit(1)


def main() -> None:
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    order: dict[str, Any] = json.loads(sys.stdin.buffer.read())
    if os.getppid() != order["parent"]:
        sys.exit(1)
    signal.alarm(order["wall_s"])
    status: int = order["status"]
    os.set_inheritable(status, False)
    os.chdir(order["folder"])
    nothing = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
    walls = ["no new privileges"] if _prctl(_PR_SET_NO_NEW_PRIVS, 1) else []
    filtered = "seccomp" not in order["without"] and has_seccomp()
    order["processes"] = None if filtered else _processes() + 100
    if filtered:
        walls.append("seccomp")
    elif network_namespace():
        walls.append("network namespace")
    files = [*order["programs"].values(), *order["libraries"]]
    if "landlock" not in order["without"] and (wall := landlock(order["folder"], files, order["folders"])):
        walls.append(wall)
    os.write(status, json.dumps(walls).encode() + b"\n")
    children: list[int] = []
    jailer = os.getpid()

    def told(_number: int, _frame: object) -> None:
        _end(children, jailer)

    signal.signal(signal.SIGTERM, told)
    source = nothing
    for place, argv in enumerate(order["pipeline"]):
        last = place == len(order["pipeline"]) - 1
        following, sink = (-1, 1) if last else os.pipe()
        children.append(_start(argv, order, (source, sink), jailer))
        os.close(source)
        if not last:
            os.close(sink)
        source = following
    os.close(1)
    codes: list[int] = []
    while children:
        codes.append(os.waitstatus_to_exitcode(os.waitpid(children[0], 0)[1]))
        del children[0]
    os.write(status, json.dumps(codes).encode() + b"\n")


if __name__ == "__main__":
    main()
