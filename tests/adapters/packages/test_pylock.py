"""uv's answer is read field by field; anything odd is refused."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdlc.adapters.packages.pylock import read_pylock, write_preferences
from rdlc.core.packages.resolution import IndexFile, Pin
from rdlc.errors import OutsideError

DIGEST = "ab" * 32


def test_packages_come_by_name_with_wheels_and_sdist() -> None:
    data = f"""
lock-version = "1.0"
[[packages]]
name = "trl"
version = "1.0"
sdist = {{ url = "https://x.example/trl-1.0.tar.gz", size = 5, hashes = {{ sha256 = "{DIGEST}" }} }}
[[packages]]
name = "PEFT"
version = "0.2+cu1"
wheels = [{{ url = "https://me:secret@x.example/peft-0.2%2Bcu1-py3-none-any.whl?a=b", hashes = {{}} }}]
""".encode()

    assert read_pylock(data) == (
        Pin(
            name="peft",
            version="0.2+cu1",
            files=(
                IndexFile(
                    name="peft-0.2+cu1-py3-none-any.whl",
                    url="https://x.example/peft-0.2%2Bcu1-py3-none-any.whl?a=b",
                    size=None,
                    sha256=None,
                    yanked=None,
                ),
            ),
        ),
        Pin(
            name="trl",
            version="1.0",
            files=(
                IndexFile(
                    name="trl-1.0.tar.gz",
                    url="https://x.example/trl-1.0.tar.gz",
                    size=5,
                    sha256=f"sha256:{DIGEST}",
                    yanked=None,
                ),
            ),
        ),
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[[", "uv's answer is no TOML"),
        ("packages = 3", "uv's answer has no list of packages"),
        ("packages = [3]", "uv's answer has a package without name or version"),
        ('[[packages]]\nname = "a"', "uv's answer has a package without name or version"),
        ('[[packages]]\nname = "a"\nversion = "1"', "uv's answer has no file for `a`"),
        ('[[packages]]\nname = "a"\nversion = "1"\nwheels = [{path = "stubs/a.whl"}]',
         "uv's answer takes `a` from elsewhere than an index"),
        ('[[packages]]\nname = "a"\nversion = "1"\nwheels = [{url = "file:///a.whl"}]',
         "uv's answer takes `a` from elsewhere than an index"),
        ('[[packages]]\nname = "a"\nversion = "1"\nwheels = [{url = "https://x/", name = "../a"}]',
         "uv's answer has a file of `a` without a proper name"),
    ],
)  # fmt: skip
def test_what_is_odd_is_refused(text: str, message: str) -> None:
    with pytest.raises(OutsideError) as caught:
        read_pylock(text.encode())

    assert caught.value.message == message


@given(st.binary() | st.text().map(lambda text: f"[[packages]]\nname = '{text}'\nversion = '1'".encode()))
def test_no_bytes_raise_any_other_error(data: bytes) -> None:
    with contextlib.suppress(OutsideError):
        read_pylock(data)


def test_preferences_are_a_lock_of_names_and_versions() -> None:
    assert write_preferences({"trl": "1.0", "peft": '0.2"\n'}) == (
        'lock-version = "1.0"\ncreated-by = "rdlc"\n'
        '[[packages]]\nname = "peft"\nversion = "0.2\\"\\n"\n'
        '[[packages]]\nname = "trl"\nversion = "1.0"\n'
    )
