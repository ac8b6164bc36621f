"""Hypothesis strategies for the data section of a lock."""

from hypothesis import strategies as st

from rdlc.core.canonical import Json
from rdlc.core.data.files import EVIDENCE, LISTING, LockedFile, LockedFiles
from rdlc.core.data.origin import Origin
from rdlc.core.derivation import derive_data
from rdlc.core.sections import DataSection
from tests.core.value_strategies import counts, hashes, paths, tables, texts, values


@st.composite
def locked_files(draw: st.DrawFn) -> LockedFiles:
    evidence = draw(st.sampled_from(EVIDENCE))
    digests = st.just("") | hashes.map("sha256:".__add__) if evidence == LISTING else hashes.map("sha256:".__add__)
    extras = st.just("") | texts
    file = st.builds(LockedFile, size=counts, sha256=digests, version=extras, etag=extras)
    return LockedFiles(evidence=evidence, files=draw(st.dictionaries(paths, file, max_size=3)), commit=draw(extras))


@st.composite
def data_requests(draw: st.DrawFn, *, is_text: bool, origin: Origin) -> dict[str, Json]:
    """What is asked for: text from the origin, or a generated source."""
    if is_text:
        return {
            "kind": "text",
            "seed": draw(counts),
            **origin.payload(),
            "field": draw(texts),
            "documents": "line",
            "held_out_percent": draw(st.integers(0, 50)),
            "tokenizer": "bytes",
        }
    kind = draw(st.sampled_from(("markov", "random-tokens")))
    others = {key: value for key, value in draw(tables(values)).items() if key != "model"}
    return {**others, "kind": kind, "seed": draw(counts)}


@st.composite
def data_sections(draw: st.DrawFn) -> DataSection:
    """Generated data or text, with or without pretrained weights."""
    places = (
        Origin(kind="hub", place="org/name", revision="main", files=("*.parquet",)),
        Origin(kind="folder", place="corpus"),
        Origin(kind="s3", place="s3://bucket/prefix"),
    )
    has_model, is_text = draw(st.booleans()), draw(st.booleans())
    data = draw(data_requests(is_text=is_text, origin=draw(st.sampled_from(places))))
    return DataSection(
        requested=data,
        resolved=derive_data(data),
        model_origin=draw(st.sampled_from(places[:2])) if has_model else None,
        model=draw(locked_files()) if has_model else None,
        dataset=draw(locked_files()) if is_text else None,
    )
