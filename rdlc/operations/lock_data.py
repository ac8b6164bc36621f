"""The data of a lock: files of the project read again each time, files from elsewhere kept while unchanged."""

from dataclasses import dataclass
from pathlib import Path

from rdlc.core.data.files import LISTING, LockedFiles
from rdlc.core.data.origin import DATASET, MODEL, Origin, describe_unusable
from rdlc.core.data.request import dataset_origin
from rdlc.core.derivation import derive_data
from rdlc.core.sections import DataSection
from rdlc.core.spec import RunSpec
from rdlc.core.text import one_line
from rdlc.errors import InputError, OutsideError, RdlcError
from rdlc.operations.data_source import DataSource
from rdlc.operations.reporting import Reporter


@dataclass(frozen=True, kw_only=True, slots=True)
class DataAsked:
    """What data is resolved with: the project, an earlier lock's section, and whether it may move."""

    project: Path
    previous: DataSection | None
    is_upgrade: bool


def resolve_data(spec: RunSpec, asked: DataAsked, *, source: DataSource | None, reporter: Reporter) -> DataSection:
    """The data section of a spec; `source` may be None for generated data without pretrained weights."""
    text = dataset_origin(spec.data)
    needs_tokenizer = spec.data.get("tokenizer") == "model"
    previous = asked.previous
    kept = (previous.model_origin, previous.model) if previous else (None, None)
    model = _find(spec.model, kept, MODEL, asked, source, reporter)
    kept = (dataset_origin(previous.requested), previous.dataset) if previous else (None, None)
    dataset = _find(text, kept, DATASET, asked, source, reporter)
    for origin, found, what in ((spec.model, model, MODEL), (text, dataset, DATASET)):
        if origin is not None and found is not None:
            _refuse_unusable(origin, found, what, needs_tokenizer=needs_tokenizer)
    return DataSection(
        requested=spec.data,
        resolved=derive_data(spec.data),
        model_origin=spec.model,
        model=model,
        dataset=dataset,
    )


def _find(
    origin: Origin | None,
    kept: tuple[Origin | None, LockedFiles | None],
    what: str,
    asked: DataAsked,
    source: DataSource | None,
    reporter: Reporter,
) -> LockedFiles | None:
    if origin is None:
        return None
    if source is None:
        raise InputError("a spec with files to learn from is locked first", field=what, hint="`rdlc lock SPEC`")
    before = kept[1] if kept[0] == origin else None
    if before is not None and origin.kind != "folder" and not asked.is_upgrade:
        _say_if_moved(origin, before, what, source, reporter)
        return before
    found = source.find_files(origin, what=what, project=asked.project)
    if found.evidence == LISTING:
        reporter.warn(describe_listing(origin, found))
    return found


def describe_listing(origin: Origin, found: LockedFiles) -> str:
    """What a listing without digests is worth, for people."""
    known = [file for file in found.files.values() if file.sha256]
    unversioned = [file for file in found.files.values() if not file.version and not file.sha256]
    words = f"of {len(found.files) - len(known)} of {len(found.files)} files in `{origin.place}` only the size and "
    if unversioned:
        return (
            f"{words}the ETag are known, and the bucket keeps no versions: a file that is replaced is refused, "
            "and can't be had again"
        )
    return f"{words}the version are known, no sha256: what comes is taken for what was there"


def _say_if_moved(origin: Origin, before: LockedFiles, what: str, source: DataSource, reporter: Reporter) -> None:
    if origin.kind != "hub" or origin.is_pinned:
        return
    try:
        now = source.find_commit(origin, what=what)
    except RdlcError as error:
        kind = "could not be asked" if isinstance(error, OutsideError) else "does not say"
        reporter.note(f"`{origin.place}`: the Hub {kind} what `{origin.revision}` names now: {error.message}")
        return
    if now != before.commit:
        reporter.note(
            f"`{origin.describe()}` is commit {now} now, and {before.commit} is kept; "
            "`rdlc lock SPEC --upgrade data` takes the new one"
        )


def _refuse_unusable(origin: Origin, found: LockedFiles, what: str, *, needs_tokenizer: bool) -> None:
    reason = describe_unusable(sorted(found.files), what=what, needs_tokenizer=needs_tokenizer)
    if reason is not None:
        patterns = f" (looked for {', '.join(f'`{one_line(each)}`' for each in origin.files)})" if origin.files else ""
        raise InputError(f"`{origin.describe()}` {reason}{patterns}", field="model" if what == MODEL else "data")
