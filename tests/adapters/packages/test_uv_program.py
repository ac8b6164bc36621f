"""uv is found beside rdlc or on PATH, and sees nothing that could move its answer."""

import sys
from pathlib import Path

import pytest

from rdlc.adapters.packages.uv_program import UvProgram, find_uv, own_index, uv_environment
from rdlc.errors import RdlcError


def test_uv_is_the_one_that_is_installed_beside_rdlc() -> None:
    assert find_uv().parent == Path(sys.prefix, "bin")


def test_uv_on_the_path_will_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "uv", None)
    program = tmp_path / "uv"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))

    assert find_uv() == program


def test_a_missing_uv_is_told_with_the_command_that_installs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "uv", None)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(RdlcError) as caught:
        find_uv()

    assert caught.value.message == "extra packages are resolved by uv, which is not installed"
    assert caught.value.hint == "`pip install 'rdlc[packages]'`"


def test_a_program_that_cannot_be_started_is_told(tmp_path: Path) -> None:
    with pytest.raises(RdlcError) as caught:
        UvProgram(tmp_path / "uv").run("version", folder=tmp_path)

    assert (caught.value.message, caught.value.file) == (
        "uv cannot be started: No such file or directory", str(tmp_path / "uv"),
    )  # fmt: skip


def test_settings_stay_out_and_ways_to_the_network_stay_in() -> None:
    given = {
        "HOME": "/home/me", "PATH": "/bin", "NETRC": "/n", "HTTPS_PROXY": "http://proxy", "PIP_CERT": "/ca.pem",
        "UV_CACHE_DIR": "/cache", "UV_HTTP_TIMEOUT": "5", "UV_EXCLUDE_NEWER": "2001-01-01", "UV_INDEX": "x",
        "PIP_INDEX_URL": "https://me:secret@x/", "PYTHONPATH": "/x", "TZ": "Asia/Tokyo",
    }  # fmt: skip

    assert uv_environment(given, login=("me", "secret")) == {
        "HOME": "/home/me", "PATH": "/bin", "NETRC": "/n", "HTTPS_PROXY": "http://proxy", "SSL_CERT_FILE": "/ca.pem",
        "UV_CACHE_DIR": "/cache", "UV_HTTP_TIMEOUT": "5", "UV_HTTP_RETRIES": "2", "TZ": "UTC", "LC_ALL": "C.UTF-8",
        "NO_COLOR": "1", "UV_INDEX_RDLC_USERNAME": "me", "UV_INDEX_RDLC_PASSWORD": "secret",
    }  # fmt: skip


def test_uv_tells_the_index_that_it_asks_by_default() -> None:
    address = own_index(UvProgram(find_uv()))

    assert address.startswith("https://")
    assert address.endswith("/simple")
