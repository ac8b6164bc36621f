"""The record as a file."""

import json
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rdlc.core.kube.cluster_record import ClusterRecord, Placement
from rdlc.core.level import CLAIMS, LEVELS
from rdlc.core.record import KINDS, STATUSES, Check, Drift, Rank, RunRecord, read_record, write_record
from rdlc.core.transport.judged import FINDINGS, PROOFS, Expectation, JudgedTransport, SeenTransport
from rdlc.core.transport.report import VERDICTS, LikelyCause, TransportReport
from rdlc.errors import InputError
from tests.core.value_strategies import counts, hashes, text_tables, texts
from tests.diff_samples import make_lock, make_record

remarks = st.just("") | texts
DATA = write_record(make_record(make_lock()))
transports = st.builds(
    TransportReport,
    judged=st.builds(
        JudgedTransport,
        finding=st.sampled_from(FINDINGS),
        seen=st.builds(
            SeenTransport,
            verdict=st.sampled_from(VERDICTS),
            transport=texts,
            is_applicable=st.booleans(),
            proof=st.sampled_from(PROOFS),
            has_disagreement=st.booleans(),
            reason=remarks,
        ),
        due=st.builds(Expectation, transport=remarks, origin=remarks),
    ),
    predicted_bytes=st.none() | counts,
    moved_bytes=st.none() | counts,
    lines=st.lists(texts, max_size=2).map(tuple),
    causes=st.lists(st.builds(LikelyCause, cause=texts, fix=remarks, line=remarks), max_size=2).map(tuple),
    observed=text_tables(),
    warnings=st.lists(texts, max_size=2).map(tuple),
    cost=st.lists(texts, max_size=2).map(tuple),
)
clusters = st.builds(
    ClusterRecord,
    name=texts,
    namespace=texts,
    uid=texts,
    kuberay=remarks,
    placements=st.lists(st.builds(Placement, rank=counts, pod=remarks, node=remarks), max_size=2).map(tuple),
    images=st.dictionaries(texts, counts, max_size=2),
    unseen=text_tables(),
)
records = st.builds(
    RunRecord,
    id=st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._-]{0,20}", fullmatch=True),
    kind=st.sampled_from(KINDS),
    name=st.from_regex(r"[a-z0-9][a-z0-9._-]{0,20}", fullmatch=True),
    lock_id=hashes.map(lambda digits: f"sha256:{digits}"),
    tool=texts,
    status=st.sampled_from(STATUSES),
    claim=st.sampled_from(CLAIMS),
    level=st.sampled_from(LEVELS),
    started=texts,
    token=texts,
    ended=remarks,
    reason=remarks,
    scratch=remarks,
    steps_done=counts,
    steps_total=st.none() | counts,
    accepted=text_tables(),
    drift=st.lists(st.builds(Drift, section=texts, address=texts, locked=remarks, found=remarks), max_size=2).map(
        tuple
    ),
    checks=st.lists(
        st.builds(Check, name=texts, locked=remarks, found=remarks, is_met=st.none() | st.booleans()), max_size=2
    ).map(tuple),
    outcome=remarks,
    evidence=st.lists(texts, max_size=2).map(tuple),
    ignored=st.lists(texts, max_size=2).map(tuple),
    observed=text_tables(),
    ranks=st.lists(st.builds(Rank, rank=counts, local_rank=counts, node_rank=counts, host=texts), max_size=2).map(
        tuple
    ),
    transport=st.none() | transports,
    cluster=st.none() | clusters,
    files=text_tables(hashes),
).map(lambda record: replace(record, lock_id="", claim="recorded") if record.kind == "collect" else record)


@settings(max_examples=50)
@given(records)
def test_a_record_reads_back_as_it_was_written(record: RunRecord) -> None:
    data = write_record(record)

    assert read_record(data, name="record.json") == record
    assert data.isascii()


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "the record is not JSON"),
        (b"[" * 100_000, "the record is not JSON"),
        (b"[]", "must be a mapping of `key: value` lines, not a list"),
        (b"{}", "this is not a run record"),
        (DATA.replace(b'"format": 1', b'"format": 2'), "this rdlc reads format 1"),
        (DATA.replace(b'"status": "finished"', b'"status": "fine"'),
         "must be one of `running`, `finished`, `failed`, `stopped`, `interrupted`, `collected`, not `fine`"),
        (DATA.replace(b'"steps_done": 0', b'"steps_done": 9'),
         "the record was changed after it was written: its digest does not fit"),
        (DATA.replace(b'"steps_done": 0', b'"steps_done":  0'),
         "the record was changed after it was written: its digest does not fit"),
        (DATA.replace(b'{\n', b'{\n "surplus": 1,\n', 1), "this key is not known here"),
        (DATA.replace(b'"name": "tiny"', b'"name": "ti\\tny"'),
         "must be letters, digits, `.`, `_`, `-`, not `ti\\tny`"),
        (DATA.replace(b'"id": "2026', b'"id": "../2026'),
         "must be letters, digits, `.`, `_`, `-`, not `../20261130T120000Z-1a2b`"),
        (b" " * (17 << 20), "the record is larger than 16 MiB"),
    ],
)  # fmt: skip
def test_what_is_no_whole_record_is_refused(data: bytes, message: str) -> None:
    assert data != DATA

    with pytest.raises(InputError) as caught:
        read_record(data, name="record.json")

    assert caught.value.message == message


def test_the_keys_of_the_file_are_sorted_and_its_digest_is_over_the_rest() -> None:
    document = json.loads(DATA)

    assert list(document) == sorted(document)
    assert len(document["digest"]) == 71
