"""`rdlc verify`: is it intact?"""

import os
from dataclasses import replace
from pathlib import Path

import click
from rich.console import Console

from rdlc.adapters.workspace.records import find_record
from rdlc.cli.console import write_line
from rdlc.cli.edge import Answer, Session, verb
from rdlc.cli.paths import project_runs, shown
from rdlc.cli.wiring import LocalArchive
from rdlc.core.document import LOCK_LIMIT_BYTES
from rdlc.errors import InputError
from rdlc.operations.online import OnlineCheck, check_online
from rdlc.operations.verify import Verification, verify_baseline, verify_lock, verify_record


@verb("verify", statuses={"intact": "everything in it fits", "invalid": "something does not fit"})
@click.argument("given", metavar="LOCK|RECORD", type=click.Path(path_type=Path))
@click.option("--online", "is_online", is_flag=True, help="Also ask whether every locked thing is still obtainable.")
@click.option("--plain-http", metavar="HOST:PORT", multiple=True, help="With --online: ask this registry without TLS.")
def command(session: Session, *, given: Path, is_online: bool, plain_http: tuple[str, ...]) -> Answer:
    """Say whether a lock, record or baseline is intact, offline.

    Every digest is computed again from the contents, the form is compared byte by byte, and a
    record's files, code, outcome and checks are held against its lock. Nothing is executed.
    """
    verification = _verify(given)
    asked: int | None = None
    warnings: tuple[str, ...] = ()
    if is_online:
        online = _check_online(session, verification, plain_http)
        asked, warnings = online.asked, online.warnings
        verification = replace(verification, findings=(*verification.findings, *online.findings))
    for warning in warnings:
        session.warn(warning)
    is_intact = not verification.findings
    return Answer(
        status="intact" if is_intact else "invalid",
        exit_code=0 if is_intact else 1,
        data={
            "kind": verification.kind,
            "path": str(verification.path),
            "id": verification.id,
            "sections": dict(verification.sections),
            "asked_online": asked,
            "warnings": list(warnings),
            "notes": list(verification.notes),
            "findings": [{"section": f.section, "file": f.file, "message": f.message} for f in verification.findings],
        },
        show=lambda console: _show(console, verification, asked),
    )


def _verify(given: Path) -> Verification:
    archive = LocalArchive()
    # Not `Path.is_dir`: to these a name that is too long is no error.
    is_folder, is_there = os.path.isdir(given), os.path.lexists(given)  # noqa: PTH112
    is_name = not is_there and not given.suffix and len(given.parts) == 1
    if is_folder or is_name or given.name == "record.json":
        return verify_record(find_record(given, project_runs()), archive=archive)
    data = archive.read(given, limit_bytes=LOCK_LIMIT_BYTES, what="the lock, record or baseline")
    check = verify_baseline if b"rdlc/baseline/" in data[:4096] else verify_lock
    return check(given, archive=archive)


def _check_online(session: Session, verification: Verification, plain_http: tuple[str, ...]) -> OnlineCheck:
    from rdlc.cli.data_source import DataPlaces
    from rdlc.cli.image_source import RegistryImages
    from rdlc.cli.package_source import IndexPackages

    if verification.kind == "baseline":
        raise InputError("a baseline names nothing that could be obtained", hint="give the lock beside it")
    path = verification.path / "lock.yaml" if verification.kind == "record" else verification.path
    stores = RegistryImages(session, route="config", plain_http=plain_http)
    index, data = IndexPackages(session), DataPlaces(session)
    return check_online(path, workspace=LocalArchive(), stores=stores, index=index, data=data)


def _show(console: Console, verification: Verification, asked: int | None) -> None:
    word = "invalid" if verification.findings else "intact"
    write_line(console, f"{word}  {verification.kind}  {shown(verification.path)}")
    if verification.id:
        write_line(console, f"lock  {verification.id}")
    for finding in verification.findings:
        write_line(console, f"  section {finding.section}: {finding.file}: {finding.message}")
    for note in verification.notes:
        write_line(console, f"note  {note}")
    if asked is not None:
        write_line(console, f"online  {asked} locked things were asked for")
