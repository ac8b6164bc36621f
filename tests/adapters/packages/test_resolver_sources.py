"""Where packages are resolved from: indexes that are down or want a login, caches, and this machine's settings."""

import os
from pathlib import Path

import pytest

from rdlc.errors import OutsideError, RdlcError
from tests.adapters.packages.conftest import Bench
from tests.packages.distributions import build_wheel
from tests.packages.package_index import serving_index
from tests.packages.questions import ask, make_base
from tests.registry.http_server import Reply
from tests.registry.processes import free_port

BASE = make_base(
    "numpy==2.5.1", ("torch==2.13.0+cu130", "numpy>=1", "nvidia-nccl-cu13==2.29.7"), "nvidia-nccl-cu13==2.29.7"
)
PEFT = build_wheel("peft", "0.2", "torch>=2", "numpy")


def test_a_warm_cache_serves_without_the_index_and_says_so(bench: Bench) -> None:
    with serving_index(PEFT) as index:
        bench.resolve(ask(BASE, "peft"), index=index.url)
        index.fault = lambda asked, right: Reply(status=503)
        resolution = bench.resolution(ask(BASE, "peft"), index=index.url)

    assert [pin.version for pin in resolution.pins] == ["0.2"]
    assert resolution.is_offline
    (warning,) = bench.warnings
    assert warning.startswith(
        f"the index `{index.url}` cannot be reached: resolved from uv's cache, which may be old ("
    )


def test_an_index_that_is_down_is_an_outside_error(bench: Bench) -> None:
    url = f"http://127.0.0.1:{free_port()}/simple"
    with pytest.raises(OutsideError) as caught:
        bench.resolve(ask(BASE, "peft"), index=url)

    assert caught.value.message.startswith(f"the index `{url}` cannot be reached: ")
    assert caught.value.hint == "check the network, `HTTPS_PROXY` and the address"


@pytest.mark.parametrize(("status", "words"), [(401, "401 Unauthorized"), (403, "403 Forbidden")])
def test_an_index_that_wants_a_login_is_an_outside_error(bench: Bench, status: int, words: str) -> None:
    with serving_index(PEFT) as index:
        index.fault = lambda asked, right: Reply(status=status)
        with pytest.raises(OutsideError) as caught:
            bench.resolve(ask(BASE, "peft"), index=index.url)

    assert caught.value.message == f"the index `{index.url}` does not answer without a login: {words}"
    assert caught.value.hint == "put the user name and the password for `127.0.0.1` into `~/.netrc`"


def test_a_login_comes_from_netrc_or_with_the_default_index(bench: Bench, tmp_path: Path) -> None:
    with serving_index(PEFT, login=("some", "p@ss: word")) as index:
        given = bench.resolution(ask(BASE, "peft"), index=index.url, login=("some", "p@ss: word"))
        index.login = ("some", "other")
        (tmp_path / "home").mkdir()
        (tmp_path / "home/.netrc").write_text("machine 127.0.0.1 login some password other\n")
        kept = bench.resolution(ask(BASE, "peft"), index=index.url)

    assert [pin.version for pin in (*given.pins, *kept.pins)] == ["0.2", "0.2"]
    assert not any("ss: word" in file.read_text("latin-1") for file in tmp_path.rglob("*") if file.is_file())


def test_an_answer_that_is_no_page_is_told(bench: Bench) -> None:
    with serving_index(PEFT) as index:
        index.fault = lambda asked, right: Reply(body=b"hello", headers={"Content-Type": "text/plain"})
        with pytest.raises(RdlcError) as caught:
            bench.resolve(ask(BASE, "peft"), index=index.url)

    assert caught.value.message == (
        f'uv failed: Unsupported `Content-Type` "text/plain" for `{index.url}/peft/`. Expected JSON or HTML.'
    )


def test_settings_of_this_machine_do_not_move_the_answer(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pip-constraints.txt").write_text("peft==0.1\n")
    (tmp_path / "uv.toml").write_text('exclude-newer = "2001-01-01"\n')
    settings = {
        "UV_CONFIG_FILE": str(tmp_path / "uv.toml"),
        "UV_CONSTRAINT": str(tmp_path / "pip-constraints.txt"),
        "UV_EXCLUDE_NEWER": "2001-01-01",
        "UV_RESOLUTION": "lowest",
        "UV_INDEX": "http://127.0.0.1:1/simple",
        "UV_OFFLINE": "1",
        "PIP_CONSTRAINT": str(tmp_path / "pip-constraints.txt"),
        "TZ": "Asia/Tokyo",
        "PYTHONPATH": os.devnull,
    }
    for name, text in settings.items():
        monkeypatch.setenv(name, text)
    with serving_index(PEFT, build_wheel("peft", "0.1")) as index:
        pins = bench.resolve(ask(BASE, "peft"), index=index.url)

    assert pins == ["peft==0.2"]


def test_the_same_base_is_read_from_one_folder_of_stubs(bench: Bench, tmp_path: Path) -> None:
    with serving_index(PEFT, build_wheel("trl", "1.0")) as index:
        for requirement in ("peft", "trl", "peft"):
            bench.resolve(ask(BASE, requirement), index=index.url)

    folders = list((tmp_path / "cache/stubs/v1").iterdir())
    assert [sorted(file.name for file in folder.iterdir()) for folder in folders] == [
        [
            "numpy-2.5.1-py3-none-any.whl",
            "nvidia_nccl_cu13-2.29.7-py3-none-any.whl",
            "torch-2.13.0+cu130-py3-none-any.whl",
        ]
    ]


def test_a_cache_that_cannot_be_written_costs_time_only(bench: Bench, tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("no folder")
    with serving_index(PEFT) as index:
        pins = bench.resolve(ask(BASE, "peft"), index=index.url)

    assert pins == ["peft==0.2"]
