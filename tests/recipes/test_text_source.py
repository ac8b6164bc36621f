"""Text as a stateless source: what a document is, which are held out, and which row a step takes."""

import gzip
import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsdp_qwen.config import Config, parse_config
from fsdp_qwen.data import held_out_rows, training_rows
from fsdp_qwen.data_settings import TextConfig
from fsdp_qwen.documents import is_held_out, read_documents
from fsdp_qwen.failures import TrainingFailed
from fsdp_qwen.locked_folder import LockedFolder
from fsdp_qwen.shuffle import shuffled
from fsdp_qwen.text_source import TextTokens, make_text_source
from tests.recipes.conftest import make_config
from tests.tuning_samples import make_documents, make_model, make_text, model_folder, text_data


def text_config(folder: Path, files: Mapping[str, bytes], **changes: Any) -> TextConfig:
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    locked = LockedFolder(field="data", path=folder, files=dict.fromkeys(files, "sha256:" + "0" * 64))
    settings: dict[str, Any] = {
        "field": "text",
        "documents": "paragraph",
        "held_out_percent": 10,
        "tokenizer": "bytes",
        "separator": None,
    }
    return TextConfig(folder=locked, **{**settings, **changes})


PLAIN = b"one\nstill one\n\n\n two\r\n\nthree"


@pytest.mark.parametrize(
    ("documents", "expected"),
    [
        ("paragraph", ["one\nstill one", " two", "three"]),
        ("line", ["one", "still one", " two", "three"]),
        ("file", ["one\nstill one\n\n\n two\n\nthree"]),
    ],
)
def test_plain_text_is_cut_into_documents_as_the_config_says(
    tmp_path: Path, documents: str, expected: list[str]
) -> None:
    text = text_config(tmp_path, {"a.txt": PLAIN, "empty.md": b" \n"}, documents=documents)

    assert list(read_documents(text)) == expected


def test_documents_come_in_the_order_of_the_files_paths_also_from_gzip(tmp_path: Path) -> None:
    lines = "\n".join(json.dumps({"body": word}) for word in ("b1", "", "b2"))
    files = {"b.jsonl.gz": gzip.compress(lines.encode()), "a/x.txt": b"a", "c.ndjson": b'{"body": "c"}\n\n'}

    assert list(read_documents(text_config(tmp_path, files, field="body"))) == ["a", "b1", "b2", "c"]


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("a.jsonl", b'{"text": "a"}\n{"text": 1}\n', "line 2 has no text under `text`"),
        ("a.jsonl", b"{\n", "line 1 is not JSON"),
        ("a.txt", b"fine\n\xff\n", "line 2 is not UTF-8"),
        ("a.txt.gz", b"no gzip", "is not whole, or not packed with gzip"),
        ("a.csv", b"", "is none of `.txt`, `.md`, `.jsonl`, `.ndjson`, `.parquet`, nor one of the first four packed"),
        ("a.parquet", b"PAR1", "is no Parquet file that can be read"),
    ],
)
def test_text_that_can_not_be_read_is_refused_with_its_place(
    tmp_path: Path, name: str, data: bytes, message: str
) -> None:
    with pytest.raises(TrainingFailed) as refused:
        list(read_documents(text_config(tmp_path, {name: data})))

    assert str(refused.value).startswith(f"data: `{tmp_path / name}` {message}")


def test_parquet_without_the_column_is_refused_with_the_columns_that_it_has(tmp_path: Path) -> None:
    make_text(tmp_path / "text", count=9)
    data = (tmp_path / "text/c.parquet").read_bytes()

    with pytest.raises(TrainingFailed) as refused:
        list(read_documents(text_config(tmp_path, {"c.parquet": data}, field="body")))

    assert str(refused.value).endswith("has no column `body`, only text")


def test_about_the_asked_share_of_documents_is_held_out_and_equal_ones_stay_together() -> None:
    documents = make_documents(4000)

    held = [document for document in documents if is_held_out(document, 10)]

    assert 0.08 < len(held) / len(documents) < 0.12
    assert [document for document in documents if is_held_out(document, 0)] == []
    assert set(held) <= {document for document in documents if is_held_out(document, 20)}


@given(size=st.integers(1, 300), key=st.binary(max_size=64))
def test_the_shuffle_takes_each_place_once(size: int, key: bytes) -> None:
    assert sorted(shuffled(index, size=size, key=key) for index in range(size)) == list(range(size))


def test_the_shuffle_is_the_same_on_every_machine() -> None:
    assert [shuffled(index, size=10, key=b"held-out") for index in range(10)] == SHUFFLED


SHUFFLED = [3, 2, 0, 4, 6, 7, 9, 8, 1, 5]


@pytest.fixture(scope="module")
def samples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("samples")
    make_model(folder / "model")
    make_text(folder / "text")
    return folder


def source_of(samples: Path, *, seed: int = 0, **changes: Any) -> TextTokens:
    return make_text_source(config_of(samples, seed=seed, **changes).data, config_of(samples).model, rows_per_step=8)


def config_of(samples: Path, **changes: Any) -> Config:
    data = text_data(samples / "text", **changes)
    return parse_config(make_config(data=data, model=model_folder(samples / "model")))


def test_an_epoch_takes_every_row_once_and_the_next_one_in_another_order(samples: Path) -> None:
    source, length = source_of(samples), 33
    rows = source.training.rows(length)
    taken = [source.training_row(1 + index // 8, index % 8, length) for index in range(2 * rows)]

    first, second = taken[:rows], taken[rows:]
    everything = Counter(tuple(source.training.row(index, length)) for index in range(rows))
    assert Counter(map(tuple, first)) == everything
    assert Counter(map(tuple, second)) == everything
    assert first != second


def test_rows_follow_from_seed_step_and_number_alone(samples: Path) -> None:
    together = training_rows(source_of(samples), step=3, rows=range(8), length=17)

    assert training_rows(source_of(samples), step=3, rows=range(5, 8), length=17).equal(together[5:])
    assert not training_rows(source_of(samples, seed=1), step=3, rows=range(8), length=17).equal(together)
    held = [held_out_rows(source_of(samples, seed=seed), rows=range(4), length=17) for seed in (0, 1)]
    assert held[0] == held[1]


def test_packed_rows_are_the_documents_with_a_separator_after_each(samples: Path) -> None:
    source = source_of(samples, tokenizer="bytes", held_out_percent=0)
    documents = list(read_documents(config_text(samples)))

    tokens = [source.training.row(index, 65) for index in range(source.training.rows(65))]

    joined = [tokens[0][0], *(token for row in tokens for token in row[1:])]
    whole = b"".join(document.encode() + b"\0" for document in documents)
    assert bytes(joined) == whole[: len(joined)]
    assert len(whole) - len(joined) < 64
    assert source.held_out.documents == 0
    assert source.proves.startswith("no document is held out")


def config_text(samples: Path) -> TextConfig:
    text = config_of(samples).data.text
    assert text is not None
    return text


def test_the_models_tokens_are_those_of_its_tokeniser(samples: Path) -> None:
    from tokenizers import Tokenizer

    source = source_of(samples, held_out_percent=0)
    library = Tokenizer.from_file(str(samples / "model/tokenizer.json"))

    first = next(iter(read_documents(config_text(samples))))
    tokens = source.training.tokens.tolist()
    ids = library.encode(first).ids
    assert tokens[: len(ids) + 1] == [*ids, 0]
    assert library.decode(ids) == first


@pytest.mark.parametrize(
    ("changes", "vocabulary", "message"),
    [
        ({}, 100, "data.tokenizer: has 300 tokens, and the model only 100"),
        ({"separator": "<none>"}, 320, "data.separator: the tokeniser has no token `<none>`"),
    ],
)
def test_tokens_that_do_not_fit_are_refused(
    samples: Path, changes: dict[str, Any], vocabulary: int, message: str
) -> None:
    with pytest.raises(TrainingFailed) as refused:
        source_of(samples, **changes).check(length=33, evaluation_rows=0, vocabulary=vocabulary)

    assert str(refused.value) == message
