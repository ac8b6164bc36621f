"""What `rdlc image` refuses, and what it says when a registry does not give the image."""

from pathlib import Path

import pytest

from tests.cli.image_registry import Images
from tests.conftest import Rdlc
from tests.registry.dlc_pair import FIXED, MOVING, REPOSITORY
from tests.registry.http_server import Reply, serving
from tests.registry.logged_out import log_out
from tests.registry.processes import free_port


@pytest.mark.parametrize(
    ("arguments", "code", "err"),
    [
        (
            ("nope",),
            1,
            f'error: `registry.example` has no image `registry.example/{REPOSITORY}:nope`: "manifest unknown"\n',
        ),
        (
            (FIXED, "--platform=linux/arm64"),
            1,
            f"error: the image `registry.example/{REPOSITORY}:{FIXED}` is for `linux/amd64`, not for `linux/arm64`\n",
        ),
        (
            (FIXED, "--platform=windows"),
            2,
            "error: the platform `windows` is not of the form `linux/amd64` or `linux/arm64/v8`\n",
        ),
        ((FIXED, "--requires=nope"), 2, "error: the image holds no Python package `nope`, as far as was read\n"),
        (
            (FIXED, MOVING, "--all"),
            2,
            "error: `--all` and `--requires` are about one image\nhint: leave the second one out\n",
        ),
        (
            (FIXED, MOVING, "--requires=ray"),
            2,
            "error: `--all` and `--requires` are about one image\nhint: leave the second one out\n",
        ),
        ((FIXED, "--exit-code"), 2, "error: `--exit-code` is about two images\nhint: name the second one too\n"),
    ],
)
def test_what_cannot_be_answered_is_refused_in_words(
    image: Images, arguments: tuple[str, ...], code: int, err: str
) -> None:
    said = image(*arguments)

    assert (said.code, said.out, said.err) == (code, "", err)


def test_a_registry_that_is_down_is_exit_3_with_the_next_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rdlc: Rdlc
) -> None:
    log_out(monkeypatch, tmp_path)
    place = f"127.0.0.1:{free_port()}"

    said = rdlc("image", f"{place}/r:v1")

    assert (said.code, said.out, said.err) == (
        3,
        "",
        (
            f"error: `{place}` does not answer: [Errno 111] Connection refused\n"
            "hint: check the name, the network and `HTTPS_PROXY`\n"
        ),
    )


def test_a_registry_that_wants_a_login_is_exit_3_with_the_next_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rdlc: Rdlc
) -> None:
    log_out(monkeypatch, tmp_path)
    refused = Reply(status=401, headers={"WWW-Authenticate": 'Basic realm="tests"'})

    with serving(lambda asked: refused) as server:
        said = rdlc("image", f"{server.address}/r:v1")

    assert (said.code, said.out, said.err.replace(server.address, "registry.example")) == (
        3,
        "",
        (
            "error: `registry.example` does not give the image `registry.example/r:v1` without credentials, "
            "if it has it at all\n"
            "hint: `docker login registry.example`, or AWS credentials for a private ECR registry\n"
        ),
    )
