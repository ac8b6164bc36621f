"""Seconds to lock 5 extra packages against a base of 140 distributions, beside `uv pip compile` alone.

It prints and never fails; the aim is under 3 s with warm caches. Both are new processes that run in
turn, and the least of all rounds is taken. The index is one on loopback with 40 releases of each
package. Measured is resolving, asking what was yanked, choosing each file and checking its bytes;
uv alone gets the same requirements, constraints and stub wheels.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

from rdlc.adapters.packages.uv_program import find_uv
from rdlc.core.packages.base import Base
from tests.packages.distributions import BuiltFile, build_wheel
from tests.packages.package_index import serving_index
from tests.packages.questions import make_base

ROUNDS = 7
EXTRAS = 5
HELD = 140
RELEASES = 40
AIM_S = 3.0
REQUIREMENTS = tuple(f"extra{number}>=1" for number in range(EXTRAS))

LOCK = """
import sys
from pathlib import Path
import click
from rdlc.cli.edge import Session
from rdlc.cli.package_source import IndexPackages
from rdlc.core.packages.choice import Site, choose_file
from tests.benchmarks.lock_packages import REQUIREMENTS, build_base
from tests.packages.questions import ask
base = build_base()
with click.Context(click.Command("lock")):
    source = IndexPackages(Session(as_json=False, quiet=True), cache=Path(sys.argv[2]))
    pins = source.resolve(ask(base, *REQUIREMENTS, index=sys.argv[1]))
    site = Site(python=base.python, platform=base.uv_platform)
    files = [choose_file(pin, site, may_be_yanked=False, allow_sdist=False) for pin in pins]
    for file in source.fetch_all(files):
        print(file.sha256)
"""


def build_base() -> Base:
    """Distributions of which each requires the next."""
    chain = [(f"held{number}==1.{number}", f"held{number + 1}>=1") for number in range(HELD - 1)]
    return make_base(*chain, f"held{HELD - 1}==1.{HELD - 1}")


def build_uploads() -> list[BuiltFile]:
    """Every release of every extra, each with a requirement that leads through the base."""
    return [
        build_wheel(f"extra{number}", f"1.{release}", f"held{number * 20}>=1")
        for number in range(EXTRAS)
        for release in range(RELEASES)
    ]


def bare_command(folder: Path, url: str) -> tuple[str, ...]:
    """uv with the same question; the stub wheels are those that a lock left in its cache."""
    (stubs,) = (folder / "cache/stubs/v1").iterdir()
    held = build_base().versions
    (folder / "requirements.in").write_text("\n".join(REQUIREMENTS))
    (folder / "constraints.txt").write_text("\n".join(f"{name}=={version}" for name, version in held.items()))
    return (
        str(find_uv()), "pip", "compile", str(folder / "requirements.in"), "-c", str(folder / "constraints.txt"),
        "--no-config", "--python", sys.executable, "--default-index", url, "--find-links", str(stubs),
        "--generate-hashes", *(f"--no-emit-package={name}" for name in held),
    )  # fmt: skip


def wall_s(command: tuple[str, ...], environment: Mapping[str, str]) -> float:
    """Seconds of one process, which must succeed."""
    start = time.perf_counter()
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{command[0]} ended with {done.returncode}: {done.stderr}")
    return time.perf_counter() - start


def main() -> None:
    """Measure and print the figures."""
    with tempfile.TemporaryDirectory() as name, serving_index(*build_uploads()) as index:
        folder = Path(name)
        environment = {
            **os.environ,
            "UV_CACHE_DIR": str(folder / "uv"),
            "PYTHONPYCACHEPREFIX": str(folder / "bytecode"),
        }
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        lock = (sys.executable, "-c", LOCK, index.url, str(folder / "cache"))
        cold_s = wall_s(lock, environment)
        bare = bare_command(folder, index.url)
        wall_s(bare, environment)
        rounds = [(wall_s(lock, environment), wall_s(bare, environment)) for _ in range(ROUNDS)]
    lock_s, bare_s = (min(measured[at] for measured in rounds) for at in (0, 1))
    what = f"{EXTRAS} extras against {HELD} distributions"
    print(f"{what}, empty caches  {cold_s:6.2f} s, the first time")
    print(f"{what}, warm caches   {lock_s:6.2f} s, least of {ROUNDS} (aim: under {AIM_S:.0f} s)")
    print(f"uv pip compile alone, warm caches              {bare_s:6.2f} s, least of {ROUNDS}")
    print(f"ratio                                          {lock_s / bare_s:6.1f}")


if __name__ == "__main__":
    main()
