"""Packages of an index as the lock operations see them: pins with all that the index tells, files from the cache."""

import io
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from rich.console import Console

from rdlc.cli.edge import Session
from rdlc.cli.package_source import IndexPackages
from rdlc.core.packages.resolution import IndexFile
from rdlc.errors import OutsideError, RdlcError
from tests.packages.distributions import build_wheel
from tests.packages.package_index import Upload, serving_index
from tests.packages.questions import ask, make_base
from tests.registry.http_server import Asked, Reply

BASE = make_base("numpy==2.5.1")
PEFT = build_wheel("peft", "0.2", "numpy")


@pytest.fixture
def said() -> io.StringIO:
    """What was written to stderr."""
    return io.StringIO()


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: io.StringIO) -> Iterator[IndexPackages]:
    """With caches of its own, and without settings of this machine."""
    for name in ("UV_DEFAULT_INDEX", "UV_INDEX_URL", "PIP_INDEX_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.setenv(name, "127.0.0.1")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "uv"))
    monkeypatch.setenv("UV_HTTP_RETRIES", "0")
    session = Session(as_json=False, quiet=False)
    session.err = Console(file=said, width=10_000)
    with click.Context(click.Command("lock")):
        yield IndexPackages(session, cache=tmp_path / "cache")


def test_pins_say_which_files_were_yanked(source: IndexPackages, said: io.StringIO) -> None:
    special = build_wheel("part", "1.0", tag="cp313-cp313-manylinux_2_17_x86_64")
    plain = build_wheel("part", "1.0")
    with serving_index(Upload(file=special, yanked="crashes"), plain) as index:
        (pin,) = source.resolve(ask(BASE, "part", index=index.url))

    assert {file.name: file.yanked for file in pin.files} == {special.name: "crashes", plain.name: None}
    assert said.getvalue() == "resolving 1 package\n"


def test_sizes_that_uv_does_not_tell_come_from_the_index(source: IndexPackages) -> None:
    with serving_index(PEFT, form="html") as index:
        (pin,) = source.resolve(ask(BASE, "peft", index=index.url))
        (fetched,) = source.fetch_all(pin.files)

    assert (pin.files[0].size, pin.files[0].sha256) == (None, f"sha256:{PEFT.sha256}")
    assert fetched.size == len(PEFT.data)


def test_the_default_index_of_this_machine_is_asked_with_its_login(
    source: IndexPackages, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving_index(PEFT, login=("me", "secret")) as index:
        monkeypatch.setenv("PIP_INDEX_URL", index.url.replace("//", "//me:secret@"))
        (pin,) = source.resolve(ask(BASE, "peft"))
        fetched = source.fetch(pin.files[0])
        releases = source.releases("peft", index="")

    assert source.index_url("") == index.url
    assert fetched.sha256 == f"sha256:{PEFT.sha256}"
    assert [release.version for release in releases] == ["0.2"]
    assert "secret" not in pin.files[0].url


def test_an_index_that_answers_uv_alone_leaves_open_what_was_yanked(source: IndexPackages, said: io.StringIO) -> None:
    def for_uv(asked: Asked, right: Reply) -> Reply:
        return Reply(status=403) if asked.headers["user-agent"] == "rdlc" else right

    with serving_index(PEFT) as index:
        index.fault = for_uv
        pins = source.resolve(ask(BASE, "peft", index=index.url))

    assert [pin.version for pin in pins] == ["0.2"]
    assert said.getvalue() == (
        "resolving 1 package\nwarning: whether a package was yanked is not known:"
        " `127.0.0.1` does not give the page of `peft`: status 403\n"
    )


def test_a_warm_cache_serves_offline(source: IndexPackages, said: io.StringIO) -> None:
    with serving_index(PEFT) as index:
        question = ask(BASE, "peft", index=index.url)
        (pin,) = source.resolve(question)
        first = source.fetch(pin.files[0])
    (again,) = source.resolve(question)

    assert again == pin
    assert source.fetch(again.files[0]) == first
    assert said.getvalue() == (
        "resolving 1 package\nresolving 1 package\n"
        f"warning: the index `{index.url}` cannot be reached: resolved from uv's cache, which may be old"
        " (Connection refused (os error 111))\n"
    )


def test_a_wheelhouse_is_filled(source: IndexPackages, tmp_path: Path) -> None:
    with serving_index(PEFT) as index:
        (pin,) = source.resolve(ask(BASE, "peft", index=index.url))
        paths = source.fill_wheelhouse(tmp_path / "run.wheels", pin.files)

    assert [path.read_bytes() for path in paths] == [PEFT.data]


def test_files_come_without_anything_resolved_before(source: IndexPackages) -> None:
    with serving_index(PEFT) as index:
        url = f"{index.url.removesuffix('/simple')}/files/{PEFT.name}"
        file = IndexFile(name=PEFT.name, url=url, size=None, sha256=None, yanked=None)
        fetched = source.fetch_all((file,))

    assert [found.sha256 for found in fetched] == [f"sha256:{PEFT.sha256}"]


def test_a_package_that_is_not_there_has_no_releases(source: IndexPackages) -> None:
    with serving_index(PEFT) as index:
        assert source.releases("absent", index=index.url) == ()


def test_bytes_that_changed_after_locking_are_refused(source: IndexPackages) -> None:
    other = build_wheel("peft", "0.2", "torch")
    with serving_index(PEFT) as index:
        (pin,) = source.resolve(ask(BASE, "peft", index=index.url))
        index.replace(other)
        with pytest.raises(RdlcError) as caught:
            source.fetch(IndexFile(name=PEFT.name, url=pin.files[0].url, size=None, sha256=f"sha256:{PEFT.sha256}",
                                   yanked=None))  # fmt: skip

    assert not isinstance(caught.value, OutsideError)
    assert caught.value.message == (
        f"the file `{PEFT.name}` of the index has other bytes: expected `sha256:{PEFT.sha256}`,"
        f" got `sha256:{other.sha256}`"
    )
