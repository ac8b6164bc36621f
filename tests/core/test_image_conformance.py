"""Conformance of what runs in an image: its lock has no environment of its own."""

import json
from dataclasses import replace

from rdlc.core.conformance import WorkerReport, check_conformance, is_conforming, read_worker_report
from rdlc.core.launch import locked_environment
from tests.core.test_judging import report
from tests.image_samples import image_lock


def worker(rank: int, **other: object) -> WorkerReport:
    return read_worker_report(json.dumps(report(rank, **other)).encode(), name="worker.json")


def test_the_workers_of_an_image_are_held_against_what_the_lock_knows_of_it() -> None:
    lock = image_lock()
    assert lock.sections.image is not None
    image = replace(lock.sections.image, labels={"framework": "ray", "framework_version": "2.58.0"})
    lock = replace(lock, sections=replace(lock.sections, image=image))
    held = locked_environment(lock)
    code = lock.sections.code.digest
    workers = [worker(rank, ray="2.58.0", environment=held, code_digest=code) for rank in (0, 1)]
    other = replace(workers[1], packages={"ray": "2.56.0"})

    assert [check.name for check in check_conformance(lock, workers)] == ["ranks", "code", "ray", *held]
    assert is_conforming(check_conformance(lock, workers), accepted={})
    (wrong,) = (check for check in check_conformance(lock, [workers[0], other]) if not check.is_met)
    assert (wrong.name, wrong.locked, wrong.found) == ("ray", "2.58.0", "rank 0: 2.58.0; rank 1: 2.56.0")
