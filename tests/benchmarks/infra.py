"""What rdlc adds to Terraform: time of an offline fingerprint and of a second plan, and memory while it runs.

It prints and never fails. All of it is against a stand-in for AWS on this machine, with the sample's 39
resources applied. Each time is the least of all rounds, of the wall and of all processes together on a CPU: on a
machine with other work the latter says more. rdlc and bare `terraform plan` run in turn, with the same
environment and work copy. The aims: under 5 s, at most 1.2 times, under 100 MiB.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from rdlc.adapters.terraform_offline import OfflineTerraform
from rdlc.adapters.terraform_tree import read_tree
from rdlc.core.infra.fingerprint import plan_fingerprint
from rdlc.core.infra.offline import OfflinePlan
from tests.terraform.moto.world import extended_moto
from tests.terraform.program import provider_folder, terraform_program
from tests.terraform.sample import LOCK, Sample, lock_sample

ROUNDS = 5
APPLY = ("apply", LOCK, "--bind", "bind.yaml")
ROOT = Path(__file__).resolve().parents[2] / "terraform"
# Terraform, which writes down how long each of its commands took, of the wall and on a CPU.
TIMED = """#!{python}
import os, subprocess, sys, time
started = time.monotonic()
ended = subprocess.run(["{program}", *sys.argv[1:]]).returncode
with open("{times}", "a") as file:
    print(sys.argv[1], time.monotonic() - started, sum(os.times()[:4]), file=file)
sys.exit(ended)
"""


def spend(work: Callable[[], object]) -> tuple[float, float]:
    """Seconds that the work took, of the wall and on a CPU with all its processes."""
    started, before = time.monotonic(), os.times()
    work()
    lasted, after = time.monotonic() - started, os.times()
    return lasted, sum(after[:4]) - sum(before[:4])


def fingerprint(sample: Sample, folder: Path) -> list[tuple[float, float]]:
    """Seconds of plan, show and hash together, without `init`, of each round."""
    variables = (sample.stack / "work/rdlc.tfvars.json").read_bytes()
    times, program = folder / "times", folder / "terraform"
    program.write_text(TIMED.format(python=sys.executable, program=terraform_program(), times=times))
    program.chmod(0o755)
    planner = OfflineTerraform(program, environment=sample.environment())
    files = {path: data for path, data in read_tree(ROOT).items() if not path.startswith("tests/")}

    def take() -> None:
        planned = planner.plan(files, variables, configured=("aws",))
        assert isinstance(planned, OfflinePlan), planned
        plan_fingerprint(planned.shown)

    found = []
    for _ in range(ROUNDS):
        times.unlink(missing_ok=True)
        lasted, spent = spend(take)
        told = next(line.split() for line in times.read_text().splitlines() if line.startswith("init"))
        found.append((lasted - float(told[1]), spent - float(told[2])))
    return found


def plan(sample: Sample) -> None:
    """Bare `terraform plan` on what is applied."""
    sample.terraform("plan", "-input=false", "-detailed-exitcode", "-lock=false", "-var-file=rdlc.tfvars.json")


def look(sample: Sample, peaks: list[float]) -> None:
    """`rdlc apply --plan` on what is applied; the most MiB that its own process held is added to the peaks."""
    code, peak = followed(sample, *APPLY, "--plan")
    assert code == 0
    peaks.append(peak)


def followed(sample: Sample, *arguments: str) -> tuple[int, float]:
    """The exit code of rdlc, and the most MiB that its own process held at any moment."""
    with subprocess.Popen(
        (sys.executable, "-m", "rdlc", *arguments), cwd=sample.folder, env=sample.environment(),
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    ) as process:  # fmt: skip
        peak = 0.0
        while process.poll() is None:
            peak = max(peak, peak_mib(process.pid))
            time.sleep(0.02)
    return process.returncode, peak


def peak_mib(process: int) -> float:
    """The most that the process has held so far; nothing where it has just ended."""
    try:
        text = Path("/proc", str(process), "status").read_text(encoding="ascii")
    except OSError:
        return 0.0
    lines = dict(line.split(":", 1) for line in text.splitlines() if ":" in line)
    return int(lines.get("VmHWM", "0 kB").split()[0]) / 1024


def main() -> None:
    """Apply the sample once, measure and print each figure; without Terraform or its provider, say so."""
    try:
        terraform_program()
        provider_folder()
    except pytest.skip.Exception as lack:
        print(f"not measured: this machine {lack}")
        return
    measure()


def measure() -> None:
    """Apply the sample once, measure and print each figure."""
    with tempfile.TemporaryDirectory() as name, extended_moto(Path(name)) as world:
        folder = Path(name)
        sample = lock_sample(folder, endpoint=world.endpoint)
        code, applying = followed(sample, *APPLY, "--yes")
        assert code == 0
        peaks, looks, plans = [applying], [], []
        for _ in range(ROUNDS):
            looks.append(spend(lambda: look(sample, peaks)))
            plans.append(spend(lambda: plan(sample)))
        offline = fingerprint(sample, folder)
        for number, what in enumerate(("of the wall", "on a CPU")):
            least = min(found[number] for found in offline)
            print(f"offline fingerprint, {what:11} {least:6.2f} s without `init` (aim: 5)")
            ours, bare = min(found[number] for found in looks), min(found[number] for found in plans)
            print(
                f"second plan, {what:11}         {ours:6.2f} s, bare {bare:.2f} s: {ours / bare:.2f} times (aim: 1.2)"
            )
        print(f"rdlc's own process, at most      {max(peaks):6.1f} MiB while it applied and planned (aim: 100)")


if __name__ == "__main__":
    main()
