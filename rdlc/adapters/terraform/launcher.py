"""Becomes Terraform, after asking the kernel for one SIGINT in case rdlc dies.

It runs as a file in a bare interpreter: `launcher.py RDLC_PID PROGRAM ARGUMENT...`. One SIGINT is what
makes Terraform end its calls, write its state and let go of its lock; a killed rdlc could not send it.
"""

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1
_ORPHANED = 125


def main() -> None:
    """Replaces this process by the program; returns only if that fails."""
    parent, program = int(sys.argv[1]), sys.argv[2]
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_PDEATHSIG, ctypes.c_ulong(signal.SIGINT), *[ctypes.c_ulong(0)] * 3) != 0:
        raise OSError(ctypes.get_errno(), "prctl failed")
    if os.getppid() != parent:  # it died before the line above could notice
        sys.exit(_ORPHANED)
    # What is ignored stays so after exec: by this interpreter, or by whoever started rdlc.
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    # This interpreter sets it for itself where the locale is plain C.
    os.environ.pop("LC_CTYPE", None)
    os.execv(program, sys.argv[2:])  # noqa: S606 - no shell is meant


if __name__ == "__main__":
    main()
