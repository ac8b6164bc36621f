"""The cache of layers: shared, damaged, unusable."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from rdlc.adapters.image_contents.cache import LayerCache, default_cache_folder
from rdlc.core.contents.layer_facts import FileFact, LayerFacts

FACTS = LayerFacts(
    digest="sha256:" + "ab" * 32,
    evidence="soci-toc",
    files={"etc/nccl.conf": FileFact(size=4, content="text")},
    notes=("a note",),
)


def entry(folder: Path) -> Path:
    (path,) = folder.rglob("*.json")
    return path


def test_what_was_stored_comes_back_and_nothing_else(tmp_path: Path) -> None:
    LayerCache(tmp_path).store(FACTS)

    assert LayerCache(tmp_path).load(FACTS.digest) == FACTS
    assert LayerCache(tmp_path).load("sha256:" + "cd" * 32) is None
    assert entry(tmp_path) == tmp_path / "layers" / "v1" / "ab" / f"{'ab' * 32}.json"


@pytest.mark.parametrize("damage", [b"", b"{}", b"\xff", b'{"format": 2}', b"[" * 100_000])
def test_a_damaged_entry_is_ignored_and_written_again(tmp_path: Path, damage: bytes) -> None:
    cache = LayerCache(tmp_path)
    cache.store(FACTS)
    entry(tmp_path).write_bytes(damage)

    assert cache.load(FACTS.digest) is None
    cache.store(FACTS)
    assert cache.load(FACTS.digest) == FACTS


def test_an_entry_of_another_layer_is_not_taken(tmp_path: Path) -> None:
    cache = LayerCache(tmp_path)
    cache.store(FACTS)
    other = "sha256:" + "ab" + "0" * 62
    entry(tmp_path).rename(entry(tmp_path).with_name(f"{other[7:]}.json"))

    assert cache.load(other) is None


def test_better_evidence_is_kept(tmp_path: Path) -> None:
    cache = LayerCache(tmp_path)
    streamed = replace(FACTS, evidence="streamed")
    cache.store(FACTS)
    cache.store(streamed)
    cache.store(FACTS)

    assert cache.load(FACTS.digest) == streamed


def test_many_writers_leave_one_whole_entry(tmp_path: Path) -> None:
    some = [replace(FACTS, notes=("x" * number * 1000,)) for number in range(1, 40)]
    with ThreadPoolExecutor(max_workers=8) as pool:
        list(pool.map(LayerCache(tmp_path).store, some))

    assert LayerCache(tmp_path).load(FACTS.digest) in some
    assert [path.name for path in entry(tmp_path).parent.iterdir()] == [entry(tmp_path).name]


def test_a_folder_that_cannot_be_used_is_logged_and_does_no_harm(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "layers").write_text("a file", encoding="ascii")
    cache = LayerCache(tmp_path)

    cache.store(FACTS)

    assert cache.load(FACTS.digest) is None
    assert "cannot write the cache below" in caplog.text


@pytest.mark.parametrize(("given", "folder"), [("/x/cache", "/x/cache/rdlc"), ("", None), ("relative", None)])
def test_the_folder_follows_the_xdg_rule(given: str, folder: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", given)

    expected = Path(folder) if folder else Path("~").expanduser() / ".cache" / "rdlc"
    assert default_cache_folder() == expected
