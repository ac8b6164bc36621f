"""The index that this machine's installers use is found where they look for it."""

from pathlib import Path

import pytest
from inline_snapshot import snapshot

from rdlc.adapters.packages.default_index import IndexAddress, default_index, index_address
from rdlc.errors import InputError

VARIABLES = {
    "UV_DEFAULT_INDEX": "https://one.example/simple/",
    "UV_INDEX_URL": "https://two.example/simple",
    "PIP_INDEX_URL": "https://three.example/simple",
}


@pytest.fixture
def machine(tmp_path: Path) -> dict[str, str]:
    """An environment whose pip configuration lies below a folder of the test."""
    return {"HOME": str(tmp_path / "home"), "XDG_CONFIG_DIRS": str(tmp_path / "xdg")}


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def found(machine: dict[str, str]) -> tuple[str, str] | None:
    address = default_index(machine)
    return (address.url, address.source) if address else None


def test_a_machine_without_settings_has_no_index_of_its_own(machine: dict[str, str]) -> None:
    assert default_index(machine) is None


def test_variables_of_uv_come_before_those_of_pip(machine: dict[str, str]) -> None:
    names = list(VARIABLES)
    said = [found({**machine, **{name: VARIABLES[name] for name in names[start:]}}) for start in range(3)]

    assert said == [
        ("https://one.example/simple", "`UV_DEFAULT_INDEX`"),
        ("https://two.example/simple", "`UV_INDEX_URL`"),
        ("https://three.example/simple", "`PIP_INDEX_URL`"),
    ]


def test_pips_files_overrule_each_other_as_for_pip(machine: dict[str, str], tmp_path: Path) -> None:
    paths = [
        write(tmp_path / "xdg/pip/pip.conf", "[global]\nindex-url = https://a.example/simple\n"),
        write(tmp_path / "home/.pip/pip.conf", "[global]\nindex_url = https://b.example/simple\n"),
        write(tmp_path / "home/.config/pip/pip.conf", "[global]\nindex-url = https://c.example/simple\n"),
        write(tmp_path / "given.conf", "[global]\nindex-url = https://d.example/simple\n"),
    ]
    said = [found({**machine, "PIP_CONFIG_FILE": str(paths[3])})]
    for path in reversed(paths[:3]):
        said.append(found(machine))
        path.unlink()

    assert said == [
        ("https://d.example/simple", f"`{paths[3]}`"),
        ("https://c.example/simple", f"`{paths[2]}`"),
        ("https://b.example/simple", f"`{paths[1]}`"),
        ("https://a.example/simple", f"`{paths[0]}`"),
    ]


def test_what_is_said_for_install_comes_before_what_is_said_for_all(machine: dict[str, str], tmp_path: Path) -> None:
    write(tmp_path / "xdg/pip/pip.conf", "[install]\nindex-url = https://install.example/simple\n")
    write(tmp_path / "home/.config/pip/pip.conf", "[global]\nindex-url = https://global.example/simple\n")

    assert default_index(machine) is not None
    assert (found(machine) or ("", ""))[0] == "https://install.example/simple"


def test_pip_told_to_read_no_file_reads_none(machine: dict[str, str], tmp_path: Path) -> None:
    write(tmp_path / "home/.config/pip/pip.conf", "[global]\nindex-url = https://c.example/simple\n")

    assert default_index({**machine, "PIP_CONFIG_FILE": "/dev/null"}) is None


def test_other_settings_of_pip_say_nothing(machine: dict[str, str], tmp_path: Path) -> None:
    write(tmp_path / "home/.config/pip/pip.conf", "[global]\nextra-index-url = file:///x\nno-index = true\ncert = %x\n")

    assert default_index(machine) is None


def test_user_info_is_kept_apart_and_never_shown(machine: dict[str, str]) -> None:
    address = default_index({**machine, "PIP_INDEX_URL": "https://me:p%40ss@one.example:8443/simple/"})

    assert address == IndexAddress(
        url="https://one.example:8443/simple", source="`PIP_INDEX_URL`", login=("me", "p@ss")
    )
    assert repr(address) == "IndexAddress(url='https://one.example:8443/simple', source='`PIP_INDEX_URL`')"
    assert address.url_with_login == "https://me:p%40ss@one.example:8443/simple"


def test_an_address_without_a_login_is_given_to_installers_as_it_is() -> None:
    assert index_address("https://[::1]:1/a", source="x").url_with_login == "https://[::1]:1/a"


def test_a_name_before_the_address_is_uvs_own_matter(machine: dict[str, str]) -> None:
    given = "internal=https://one.example/simple?a=b"

    assert found({**machine, "UV_DEFAULT_INDEX": given}) == (
        "https://one.example/simple?a=b", "`UV_DEFAULT_INDEX`",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("file:///srv/simple", snapshot("the index that `PIP_INDEX_URL` names is no http address: `file:...`")),
        ("/srv/simple", snapshot("the index that `PIP_INDEX_URL` names is no http address")),
        ("https://", snapshot("the index that `PIP_INDEX_URL` names is no http address: `https:...`")),
        ("https://me:secret@one.example:port/x", snapshot("the index that `PIP_INDEX_URL` names is no address")),
        ("ftp://me:secret@x/\u202e", snapshot("the index that `PIP_INDEX_URL` names is no http address: `ftp:...`")),
    ],
)
def test_an_index_that_cannot_be_asked_over_http_is_refused(machine: dict[str, str], url: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        default_index({**machine, "PIP_INDEX_URL": url})

    assert caught.value.message == message


@pytest.mark.parametrize("text", ["index-url = https://me:secret@x/\n", "[global]\nindex-url\n", "\udcff"])
def test_a_configuration_that_pip_could_not_read_is_refused_without_its_words(
    machine: dict[str, str], tmp_path: Path, text: str
) -> None:
    path = tmp_path / "home/.config/pip/pip.conf"
    path.parent.mkdir(parents=True)
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(InputError) as caught:
        default_index(machine)

    assert (caught.value.file, caught.value.message) == (
        str(path), "pip's configuration is no file that pip could read",
    )  # fmt: skip
