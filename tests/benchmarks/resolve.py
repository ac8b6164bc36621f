"""CPU time of one resolve, whole process, beside `skopeo inspect` on the same registry.

It prints and never fails; the aims are a ratio of at most 5, and under 1 ms of CPU for a resolve in a
process that keeps its connection open. Both programs run in turn, and the least of all rounds is
taken. The registry is a real one on loopback, over plain HTTP; the image has two layers, and comes as a
single manifest (two requests) and in an index (three).
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from rdlc.adapters.registry.client import Registry
from rdlc.core.image.reference import ImageReference, parse_reference
from tests.registry.images import build_image, build_index, make_layer
from tests.registry.push import push
from tests.registry.registries import plain_registry

ROUNDS = 25
LOOPS = 60

RESOLVE = """
import sys
from rdlc.adapters.registry.client import Registry
from rdlc.core.image.reference import parse_reference
with Registry(warn=print) as registry:
    print(registry.resolve(parse_reference(sys.argv[1])).digest)
"""


def cpu_s(command: tuple[str, ...], *, bytecode: Path) -> float:
    """User and system seconds of one process; Python keeps its bytecode, as an installation does."""
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": str(bytecode)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, env=environment)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{command[0]} ended with {process.returncode}")
    return usage.ru_utime + usage.ru_stime


def in_process_s(name: str) -> float:
    """CPU seconds of this process for one resolve with a connection that is kept open."""
    reference = parse_reference(name)
    with Registry(warn=print) as registry:
        registry.resolve(reference)
        return min(batch_s(registry, reference) for _ in range(ROUNDS)) / LOOPS


def batch_s(registry: Registry, reference: ImageReference) -> float:
    """CPU seconds of as many resolves as one batch has."""
    start = time.process_time()
    for _ in range(LOOPS):
        registry.resolve(reference)
    return time.process_time() - start


def main() -> None:
    """Measure and print the figures."""
    layers = [make_layer({"etc/one": b"1"}), make_layer({"etc/two": b"2"})]
    images = [build_image(layers, architecture=name) for name in ("amd64", "arm64")]
    with tempfile.TemporaryDirectory() as name, plain_registry(Path(name)) as address:
        bytecode = Path(name) / "bytecode"
        push(address, "bench/ray", build_index(images), "index")
        push(address, "bench/ray", images[0], "single")
        image = f"{address}/bench/ray:index"
        inspect = ("skopeo", "inspect", "--tls-verify=false", f"docker://{image}")
        resolve = (sys.executable, "-c", RESOLVE, image)
        for command in (inspect, resolve):
            cpu_s(command, bytecode=bytecode)  # bytecode and file caches are warm from here on
        rounds = [tuple(cpu_s(command, bytecode=bytecode) for command in (inspect, resolve)) for _ in range(ROUNDS)]
        inspect_s = min(measured[0] for measured in rounds)
        resolve_s = min(measured[1] for measured in rounds)
        kept_s = {form: in_process_s(f"{address}/bench/ray:{form}") for form in ("single", "index")}
    print(f"skopeo inspect            {inspect_s * 1000:7.2f} ms CPU, least of {ROUNDS}")
    print(f"one resolve, new process  {resolve_s * 1000:7.2f} ms CPU, least of {ROUNDS}")
    print(f"ratio                     {resolve_s / inspect_s:7.2f}    (aim: at most 5)")
    for form, form_s in kept_s.items():
        print(f"kept open, {form:14} {form_s * 1000:7.2f} ms CPU, least of {ROUNDS} batches (aim: under 1)")


if __name__ == "__main__":
    main()
