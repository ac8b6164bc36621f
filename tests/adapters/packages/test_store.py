"""Files of an index come once, with the bytes that they should have, or not at all."""

import os
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from rdlc.adapters.packages.store import FileStore
from rdlc.adapters.packages.web import NotThereError, Web
from rdlc.core.canonical import digest_of_bytes
from rdlc.core.packages.resolution import FetchedFile, IndexFile
from rdlc.errors import InputError, OutsideError, RdlcError
from tests.packages.distributions import BuiltFile, build_sdist, build_wheel
from tests.packages.package_index import PackageIndex, Upload, serving_index
from tests.registry.http_server import Asked, Reply

PEFT = build_wheel("peft", "0.2", "torch>=2")
TRL = build_wheel("trl", "1.0")


@pytest.fixture
def web() -> Iterator[Web]:
    client = Web()
    yield client
    client.close()


@pytest.fixture
def store(tmp_path: Path, web: Web) -> FileStore:
    return FileStore(tmp_path / "cache", web=web)


def told(index: PackageIndex, file: BuiltFile, *, name: str | None = None) -> IndexFile:
    """The file as the index's page tells it."""
    return IndexFile(
        name=name or file.name,
        url=f"{index.url.removesuffix('/simple')}/files/{name or file.name}",
        size=len(file.data),
        sha256=f"sha256:{file.sha256}",
        yanked=None,
    )


def kept(tmp_path: Path) -> list[str]:
    """The names of all files in the cache."""
    return sorted(path.name for path in (tmp_path / "cache").rglob("*") if path.is_file())


def test_a_file_comes_once_with_what_is_in_it(store: FileStore, tmp_path: Path) -> None:
    with serving_index(PEFT) as index:
        first = store.fetch(told(index, PEFT))
        again = store.fetch(told(index, PEFT))
        asked = index.asked

    place = tmp_path / f"cache/files/v1/{PEFT.sha256[:2]}/{PEFT.sha256}/{PEFT.name}"
    assert (first, asked) == (again, [f"/files/{PEFT.name}"])
    assert first == FetchedFile(
        path=place,
        size=len(PEFT.data),
        sha256=f"sha256:{PEFT.sha256}",
        members=(
            "peft-0.2.dist-info/METADATA", "peft-0.2.dist-info/RECORD", "peft-0.2.dist-info/WHEEL", "peft.py",
        ),
        requires=("torch>=2",),
    )  # fmt: skip
    assert place.read_bytes() == PEFT.data


def test_a_file_without_a_digest_gets_the_one_of_its_bytes(store: FileStore) -> None:
    with serving_index(PEFT) as index:
        found = store.fetch(replace(told(index, PEFT), sha256=None, size=None))

    assert (found.sha256, found.size) == (f"sha256:{PEFT.sha256}", len(PEFT.data))


def test_other_bytes_than_locked_are_refused_with_both_digests(store: FileStore, tmp_path: Path) -> None:
    served = PEFT.data[:-1] + b"x"
    with serving_index(Upload(file=PEFT, served=served)) as index, pytest.raises(RdlcError) as caught:
        store.fetch(told(index, PEFT))

    other = digest_of_bytes(served)
    assert type(caught.value) is RdlcError
    assert caught.value.message == (
        f"the file `{PEFT.name}` of the index has other bytes: expected `sha256:{PEFT.sha256}`, got `{other}`"
    )
    assert caught.value.hint == ("somebody replaced it, or something between here and the index changes what it sends")
    assert kept(tmp_path) == []


def test_more_bytes_than_stated_are_not_taken(store: FileStore, tmp_path: Path) -> None:
    served = PEFT.data + b"x" * 1000
    with serving_index(Upload(file=PEFT, served=served)) as index, pytest.raises(RdlcError) as caught:
        store.fetch(told(index, PEFT))

    assert caught.value.message == (
        f"the file `{PEFT.name}` of the index has other bytes: more than its {len(PEFT.data)} bytes come"
    )
    assert kept(tmp_path) == []


def test_fewer_bytes_than_stated_are_refused_where_there_is_no_digest(store: FileStore) -> None:
    with serving_index(Upload(file=PEFT, served=PEFT.data[:-1])) as index, pytest.raises(RdlcError) as caught:
        store.fetch(replace(told(index, PEFT), sha256=None))

    assert caught.value.message == (
        f"the file `{PEFT.name}` of the index has other bytes: expected {len(PEFT.data)} bytes,"
        f" got {len(PEFT.data) - 1}"
    )


def test_a_connection_that_breaks_off_leaves_nothing(store: FileStore, tmp_path: Path) -> None:
    with serving_index(PEFT) as index:
        index.fault = lambda asked, right: replace(right, cut_to=10)
        with pytest.raises(OutsideError) as caught:
            store.fetch(told(index, PEFT))

    assert caught.value.message.startswith(f"`127.0.0.1` does not give the file `{PEFT.name}`: ")
    assert kept(tmp_path) == []


def test_a_damaged_file_in_the_cache_comes_anew(store: FileStore) -> None:
    with serving_index(PEFT) as index:
        path = Path(store.fetch(told(index, PEFT)).path)
        path.write_bytes(b"damaged")
        found = store.fetch(told(index, PEFT))

    assert (found.sha256, path.read_bytes()) == (f"sha256:{PEFT.sha256}", PEFT.data)


def test_what_is_gone_from_the_index_is_told(store: FileStore) -> None:
    with serving_index() as index, pytest.raises(NotThereError) as caught:
        store.fetch(told(index, PEFT))

    assert caught.value.message == f"`127.0.0.1` has no file `{PEFT.name}`"


def test_a_file_that_the_cache_has_needs_no_index(store: FileStore) -> None:
    with serving_index(PEFT) as index:
        file = told(index, PEFT)
        store.fetch(file)

    assert store.fetch(file).sha256 == f"sha256:{PEFT.sha256}"


@pytest.mark.parametrize("name", ["../peft-0.2-py3-none-any.whl", ".hidden.whl", "a/b.whl", "a\x1b.whl", ""])
def test_a_name_that_is_no_file_name_is_refused(store: FileStore, name: str) -> None:
    with pytest.raises(InputError):
        store.fetch(IndexFile(name=name, url="http://127.0.0.1:1/x", size=None, sha256=None, yanked=None))


def test_several_files_come_in_the_order_asked_for(store: FileStore) -> None:
    files = [build_wheel(f"p{number}", "1.0") for number in range(9)]
    with serving_index(*files) as index:
        found = store.fetch_all([told(index, file) for file in reversed(files)])

    assert [file.sha256 for file in found] == [f"sha256:{file.sha256}" for file in reversed(files)]


def test_several_files_are_read_at_the_same_time(store: FileStore) -> None:
    both = threading.Barrier(2, timeout=120)

    def together(asked: Asked, right: Reply) -> Reply:
        both.wait()
        return right

    with serving_index(PEFT, TRL) as index:
        index.fault = together
        found = store.fetch_all([told(index, PEFT), told(index, TRL)])

    assert len(found) == 2


def test_progress_counts_all_bytes_up_to_the_sum(tmp_path: Path, web: Web) -> None:
    seen: list[tuple[int, int]] = []
    store = FileStore(tmp_path / "cache", web=web, progress=lambda done, total: seen.append((done, total)))
    total = len(PEFT.data) + len(TRL.data)
    with serving_index(PEFT, TRL) as index:
        store.fetch_all([told(index, PEFT), told(index, TRL)])

    assert seen[-1] == (total, total)
    assert {planned for _, planned in seen} == {total}


def test_the_first_error_ends_all_that_still_runs(store: FileStore, tmp_path: Path) -> None:
    def until_stopped(asked: Asked, right: Reply) -> Reply:
        deadline_s = time.monotonic() + 120
        while asked.path.endswith(PEFT.name) and not store.is_stopped and time.monotonic() < deadline_s:
            time.sleep(0.01)
        return right

    with serving_index(PEFT, Upload(file=TRL, served=b"x")) as index:
        index.fault = until_stopped
        with pytest.raises(RdlcError) as caught:
            store.fetch_all([told(index, PEFT), told(index, TRL)])

    assert caught.value.message.startswith(f"the file `{TRL.name}` of the index has other bytes")
    assert store.is_stopped
    assert kept(tmp_path) == []


def test_two_processes_may_fetch_the_same_file(tmp_path: Path, web: Web) -> None:
    stores = [FileStore(tmp_path / "cache", web=web) for _ in range(4)]
    with serving_index(PEFT) as index:
        threads = [threading.Thread(target=store.fetch, args=(told(index, PEFT),)) for store in stores]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    assert kept(tmp_path) == [PEFT.name]


def test_a_wheelhouse_holds_the_files_and_is_filled_once(store: FileStore, tmp_path: Path, web: Web) -> None:
    source = build_sdist("source", "1.0")
    folder = tmp_path / "lock/run.wheels"
    with serving_index(PEFT, source) as index:
        files = [told(index, PEFT), told(index, source)]
        paths = store.fill(folder, files)
    (folder / "notes.txt").write_text("mine")
    again = FileStore(tmp_path / "empty", web=web).fill(folder, files)

    assert paths == again == (folder / PEFT.name, folder / source.name)
    assert [path.read_bytes() for path in paths] == [PEFT.data, source.data]
    assert sorted(path.name for path in folder.iterdir()) == sorted([PEFT.name, source.name, "notes.txt"])


def test_a_damaged_file_in_a_wheelhouse_is_replaced(store: FileStore, tmp_path: Path) -> None:
    folder = tmp_path / "wheels"
    folder.mkdir()
    (folder / PEFT.name).write_bytes(b"damaged")
    with serving_index(PEFT) as index:
        store.fill(folder, [told(index, PEFT)])

    assert (folder / PEFT.name).read_bytes() == PEFT.data


def test_a_file_that_is_changed_in_a_wheelhouse_does_not_stay_in_the_cache(store: FileStore, tmp_path: Path) -> None:
    with serving_index(PEFT) as index:
        (path,) = store.fill(tmp_path / "wheels", [told(index, PEFT)])
        path.write_bytes(b"damaged")
        found = store.fetch(told(index, PEFT))

    assert Path(found.path).read_bytes() == PEFT.data


def test_a_cache_that_cannot_be_written_is_told(tmp_path: Path, web: Web) -> None:
    (tmp_path / "cache").write_text("no folder")
    with serving_index(PEFT) as index, pytest.raises(RdlcError) as caught:
        FileStore(tmp_path / "cache", web=web).fetch(told(index, PEFT))

    assert (caught.value.message, caught.value.file) == (
        f"cannot be written: {os.strerror(20)}", str(tmp_path / "cache/files/v1"),
    )  # fmt: skip
