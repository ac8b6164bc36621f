"""CPU time of `python -m rdlc --help` beside that of importing Click alone.

It prints and never fails; the aim is a ratio of at most 1.5. Both commands run in turn, and the
least of all rounds is taken.
"""

import os
import subprocess
import sys

ROUNDS = 15


def cpu_s(arguments: tuple[str, ...]) -> float:
    """User and system seconds of one Python process with these arguments."""
    process = subprocess.Popen((sys.executable, *arguments), stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"python {' '.join(arguments)} ended with {process.returncode}")
    return usage.ru_utime + usage.ru_stime


def main() -> None:
    """Measure and print both figures and their ratio."""
    click, rdlc = ("-c", "import click"), ("-m", "rdlc", "--help")
    for command in (click, rdlc):
        cpu_s(command)  # bytecode caches are warm from here on
    rounds = [(cpu_s(click), cpu_s(rdlc)) for _ in range(ROUNDS)]
    click_s = min(measured[0] for measured in rounds)
    rdlc_s = min(measured[1] for measured in rounds)
    print(f"python -c 'import click'  {click_s * 1000:7.1f} ms CPU, least of {ROUNDS}")
    print(f"python -m rdlc --help     {rdlc_s * 1000:7.1f} ms CPU, least of {ROUNDS}")
    print(f"ratio                     {rdlc_s / click_s:7.2f}    (aim: at most 1.5)")


if __name__ == "__main__":
    main()
