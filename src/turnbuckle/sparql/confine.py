"""Take from the index process what it never needs: the network, other programs, endless memory, a core file.

pyoxigraph would follow SERVICE to any address. `text.py` refuses it by name; here the system refuses it as well.
"""

import ctypes
import errno
import resource
import struct
import sys
from platform import machine

# audit architecture, then the numbers of: socket, connect, execve, execveat, io_uring_setup
_CALLS = {
    "x86_64": (0xC000003E, (41, 42, 59, 322, 425)),
    "aarch64": (0xC00000B7, (198, 203, 221, 281, 425)),
}
_X32_BIT = 0x40000000  # a second set of numbers for the same calls
_LOAD, _IF_EQUAL, _IF_AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
_ALLOW, _REFUSE = 0x7FFF0000, 0x00050000 | errno.EPERM
_NR, _ARCH = 0, 4  # where the filter finds them
_PR_SET_SECCOMP, _PR_SET_NO_NEW_PRIVS, _MODE_FILTER = 22, 38, 2


def limit_memory(most_bytes: int) -> None:
    """What asks for more address space than that ends the process, not the machine."""
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    most = most_bytes if hard == resource.RLIM_INFINITY else min(most_bytes, hard)
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def allow_files() -> None:
    """As many open files as the system lets it have: each graph's store keeps about twenty."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def close_doors() -> bool:
    """Refuse new sockets and programs to this process for good. False where the system has no such filter.

    Call it before the first thread: the filter is the calling thread's and that of its children.
    """
    known = _CALLS.get(machine())
    if not sys.platform.startswith("linux") or known is None:
        return False
    prctl = ctypes.CDLL(None).prctl
    prctl.argtypes = (ctypes.c_int, *[ctypes.c_ulong] * 4)
    if prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
        return False
    rules = _rules(*known)
    code = ctypes.create_string_buffer(b"".join(rules))
    program = ctypes.create_string_buffer(struct.pack("@HP", len(rules), ctypes.addressof(code)))
    return bool(prctl(_PR_SET_SECCOMP, _MODE_FILTER, ctypes.addressof(program), 0, 0) == 0)


def _rules(architecture: int, refused: tuple[int, ...]) -> list[bytes]:
    """A filter program: allow all but the refused numbers, and nothing of another architecture."""
    allow = len(refused) + 1  # rules between the first test of a number and `allow`
    return [
        _rule(_LOAD, _ARCH),
        _rule(_IF_EQUAL, architecture, on_no=allow + 2),
        _rule(_LOAD, _NR),
        _rule(_IF_AT_LEAST, _X32_BIT, on_yes=allow),
        *(_rule(_IF_EQUAL, number, on_yes=allow - 1 - i) for i, number in enumerate(refused)),
        _rule(_RETURN, _ALLOW),
        _rule(_RETURN, _REFUSE),
    ]


def _rule(code: int, value: int, on_yes: int = 0, on_no: int = 0) -> bytes:
    return struct.pack("=HBBI", code, on_yes, on_no, value)
