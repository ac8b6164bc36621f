"""Did what ran conform to what was locked? Judged from what each worker itself reported."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from rdlc.core.kube.conformance import check_cluster
from rdlc.core.kube.lock_due import due_of_lock
from rdlc.core.kube.sightings import Sightings
from rdlc.core.launch import locked_environment
from rdlc.core.lines import read_json_file
from rdlc.core.lockfile import RunLock
from rdlc.core.packages.base import NOT_KNOWN
from rdlc.core.packages.installed import Installed, package_questions, read_installed
from rdlc.core.record import Check, Rank

REPORT_LIMIT_BYTES = 1 << 20
NONE_REPORTED = "none reported"
_PACKAGES = ("torch", "transformers", "ray")
_NOT_SEEN = Sightings()


@dataclass(frozen=True, kw_only=True, slots=True)
class WorkerReport:
    """What one rank said of itself in `workers/<rank>/worker.json`."""

    place: Rank
    python: str
    packages: Mapping[str, str]
    environment: Mapping[str, str]
    switches: Mapping[str, str]
    code_digest: str
    cpu_capability: str
    cpu_threads: int
    device: str
    network: str
    peak_rss_bytes: int | None
    installed: Installed


def read_worker_report(data: bytes, *, name: str) -> WorkerReport:
    """The report in the bytes of a `worker.json`; raises InputError naming file and field."""
    fields = read_json_file(data, name=name, limit_bytes=REPORT_LIMIT_BYTES)
    packages = {package: fields.text(package) for package in _PACKAGES if fields.has(package)}
    switches = {key: str(value) for key, value in fields.scalars("switches").items()}
    return WorkerReport(
        place=Rank(
            rank=fields.count("rank"),
            local_rank=fields.count("local_rank"),
            node_rank=fields.count("node_rank"),
            host=fields.text("host"),
        ),
        python=fields.text("python"),
        packages=packages,
        environment=fields.remarks("environment"),
        switches=switches,
        code_digest=fields.digest("code_digest"),
        cpu_capability=fields.text("cpu_capability"),
        cpu_threads=fields.count("cpu_threads"),
        device=fields.text("device"),
        network=fields.text("network_used"),
        peak_rss_bytes=fields.count("peak_rss_bytes") if fields.has("peak_rss_bytes") else None,
        installed=read_installed(fields),
    )


def check_conformance(
    lock: RunLock, workers: Sequence[WorkerReport], sightings: Sightings = _NOT_SEEN
) -> tuple[Check, ...]:
    """One check for each question; a worker that did not report leaves its questions unmeasured.

    `sightings` are of the cluster of a lock that has one; what was not seen of it is unmeasured, too.
    """
    checks = _check_workers(lock, workers)
    if (due := due_of_lock(lock, sightings.asked)) is not None:
        checks += check_cluster(due, sightings, [worker.place for worker in workers])
    return tuple(checks)


def _check_workers(lock: RunLock, workers: Sequence[WorkerReport]) -> list[Check]:
    sections = lock.sections
    world = sections.recipe.world_size
    ranks = sorted(worker.place.rank for worker in workers)
    checks = [
        Check(
            name="ranks",
            locked=f"0 to {world - 1}",
            found=", ".join(map(str, ranks)) or NONE_REPORTED,
            is_met=ranks == list(range(world)),
        ),
        _check("code", sections.code.digest, [worker.code_digest for worker in workers]),
        *_check_python(lock, workers),
    ]
    extras = {extra.name for extra in sections.packages.extras} if sections.packages else set()
    versions = _locked_versions(lock)
    for package in _PACKAGES:
        locked = versions.get(package)
        # One that an extra replaces is asked for by its own question, with the version of the extra.
        if locked is not None and package not in extras:
            seen = [worker.packages.get(package) for worker in workers]
            checks.append(_check(package, locked, seen))
    if sections.packages is not None and sections.packages.extras:
        held = [worker.installed for worker in workers]
        base = None if sections.environment is None else sections.environment.distributions
        questions = package_questions(sections.packages, base, held)
        checks += [_check(asked.name, asked.locked, asked.found) for asked in questions]
    for variable, value in locked_environment(lock).items():
        checks.append(_check(variable, value, [worker.environment.get(variable) for worker in workers]))
    return checks


def _check_python(lock: RunLock, workers: Sequence[WorkerReport]) -> Iterator[Check]:
    pythons = [worker.python for worker in workers]
    environment = lock.sections.environment
    if environment is None:
        if locked := _locked_versions(lock).get("python"):
            yield _check("python", locked, pythons)
        return
    yield _check("python", environment.python, pythons)
    threads = [str(worker.cpu_threads) for worker in workers]
    yield _check("cpu threads", str(environment.threads_per_worker), threads)


def _locked_versions(lock: RunLock) -> Mapping[str, str]:
    """The versions that a lock knows: of an image, what it says of itself or was read in its layers."""
    sections = lock.sections
    if sections.environment is not None:
        return sections.environment.distributions
    if sections.image is None:
        return {}
    versions: dict[str, str] = {}
    origin = lock.provenance.image
    # A tag's name and an environment variable are hints; several copies have several versions.
    if origin is not None and origin.evidence != NOT_KNOWN:
        told = {name: version for name, version in origin.components.items() if "," not in version}
        versions |= {name: told[name] for name in ("python", *_PACKAGES) if name in told}
    labels = sections.image.labels
    if labels.get("framework") == "ray" and labels.get("framework_version"):
        versions["ray"] = labels["framework_version"]
    if sections.packages is not None:
        versions["python"] = sections.packages.python
    return versions


def is_conforming(checks: Sequence[Check], *, accepted: Mapping[str, str]) -> bool:
    """Whether every check is met, leaving out what was allowed to drift; unmeasured is not met."""
    of_section = {"code": "code", "python": "environment", "cpu threads": "environment"}
    of_section |= dict.fromkeys((*_PACKAGES, "other packages"), "environment")
    return all(check.is_met or of_section.get(check.name) in accepted for check in checks)


def common_network(workers: Sequence[WorkerReport]) -> str:
    """What all ranks talked over; "" where they differ or none reported."""
    networks = {worker.network for worker in workers}
    return networks.pop() if len(networks) == 1 else ""


def describe_workers(workers: Sequence[WorkerReport]) -> dict[str, str]:
    """What was observed, by name; a value in which the ranks differ lists them all."""
    rows: dict[str, list[str]] = {}
    for worker in sorted(workers, key=lambda worker: worker.place.rank):
        found = {
            "python": worker.python,
            **worker.packages,
            "cpu capability": worker.cpu_capability,
            "cpu threads": str(worker.cpu_threads),
            "device": worker.device,
            "network": worker.network,
            **{f"switch {name}": value for name, value in worker.switches.items()},
        }
        for name, value in found.items():
            rows.setdefault(name, []).append(value)
    observed = {name: _joined(values) for name, values in sorted(rows.items())}
    peaks = [worker.peak_rss_bytes for worker in workers if worker.peak_rss_bytes is not None]
    if len(peaks) == len(workers) and peaks:
        observed["peak memory of a rank"] = f"{max(peaks) / (1 << 20):.0f} MiB"
    return {"world size": str(len(workers)), **observed}


def _check(name: str, locked: str, found: Sequence[str | None]) -> Check:
    if not found or any(value is None for value in found):
        seen = _joined([value or "not measured" for value in found]) if found else "not measured"
        known = [value for value in found if value is not None]
        is_met = None if all(value == locked for value in known) else False
        return Check(name=name, locked=locked, found=seen, is_met=is_met)
    values = [value for value in found if value is not None]
    return Check(name=name, locked=locked, found=_joined(values), is_met=all(value == locked for value in values))


def _joined(values: Sequence[str]) -> str:
    distinct = list(dict.fromkeys(values))
    if len(distinct) == 1:
        return distinct[0] or "(empty)"
    return "; ".join(f"rank {rank}: {value}" for rank, value in enumerate(values))
