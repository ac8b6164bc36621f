"""What `rdlc lock` refuses: secrets, links, and what does not fit."""

import os
from pathlib import Path

import pytest

from tests.conftest import Rdlc
from tests.projects import make_project, make_repository

LOCK = Path("lock/toy.lock.yaml")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project outside git, and the current folder."""
    folder = make_project(tmp_path / "project")
    monkeypatch.chdir(folder)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    return folder


TOKEN = "hf_" + "a1B2c3D4" * 5


@pytest.mark.parametrize(
    ("name", "text", "arguments", "place"),
    [
        ("run.yaml", f"claim: {TOKEN}\n", (), "run.yaml:10"),
        ("run.yaml", f"# {TOKEN}\n", (), "run.yaml:10"),
        ("recipes/toy/configs/toy.yaml", f"token: {TOKEN}\n", (), "recipes/toy/configs/toy.yaml:3"),
        ("run.yaml", "", ("--set", f"recipe.token={TOKEN}"), "--set recipe.token:1"),
    ],
)
def test_a_secret_is_refused_with_its_place_and_never_repeated(
    project: Path, rdlc: Rdlc, name: str, text: str, arguments: tuple[str, ...], place: str
) -> None:
    with (project / name).open("a") as file:
        file.write(text)

    said = rdlc("lock", "run.yaml", *arguments)

    shown = place.replace("recipes/", f"{project}/recipes/")
    assert (said.code, said.out, said.err) == (
        1,
        "",
        (
            f"error: {shown}: holds what looks like a Hugging Face token\n"
            "hint: take it out, and name it: `secrets: [{name: NAME, from: env}]`\n"
        ),
    )
    assert not LOCK.exists()


def test_a_secret_in_an_uncommitted_change_is_refused_with_file_and_line(
    tmp_path: Path, rdlc: Rdlc, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = make_repository(tmp_path)
    monkeypatch.chdir(folder)
    with (folder / "recipes/toy/train.py").open("a") as file:
        file.write(f"token = '{TOKEN}'\n")

    said = rdlc("lock", "run.yaml")

    assert (said.code, said.out, said.err) == (
        1,
        "",
        (
            "error: recipes/toy/train.py:2: the uncommitted change holds what looks like a Hugging Face token\n"
            "hint: take it out, and hand it over as `secrets: [{name: NAME, from: env}]`\n"
        ),
    )
    assert not LOCK.exists()


@pytest.mark.parametrize("kind", ["link", "pipe"])
def test_a_link_or_pipe_in_the_recipe_is_refused(project: Path, rdlc: Rdlc, kind: str) -> None:
    path = project / "recipes/toy/odd.py"
    if kind == "link":
        path.symlink_to("train.py")
    else:
        os.mkfifo(path)

    said = rdlc("lock", "run.yaml")

    assert (said.code, said.out, said.err) == (
        2,
        "",
        f"error: {path}: a link or special file cannot be shipped\n",
    )
    assert not LOCK.exists()


@pytest.mark.parametrize(
    ("change", "arguments", "err"),
    [
        ({}, ("--set", "recipe"), "error: `--set recipe` must have the form PATH=VALUE\nhint: `--set recipe.seed=1`\n"),
        ({}, ("-o", "run.yaml"), "error: run.yaml: the output exists and is not a run lock: it is left alone\n"),
        ({}, ("--like", "run.yaml"),
         "error: run.yaml: this is not a run lock\nhint: `rdlc lock run.yaml` makes a lock from a run spec\n"),
        ({"toy.train": "tay.train"}, (),
         ("error: recipe.module: the recipe folder `tay` is neither `{project}/recipes/tay` nor `{project}/tay`\n"
          "hint: `rdlc init DIR --target local` makes a folder with the recipe in it\n")),
        ({"toy.yaml": "absent.yaml"}, (),
         "error: {project}/recipes/toy/configs/absent.yaml: the recipe's config does not exist\n"),
        ({"module: toy.train": "module: toy.train\n  deterministic: false"}, (),
         ("error: claim: `outcome-bitwise` cannot be claimed with `recipe.deterministic: false`\n"
          "hint: claim `execution`, or set `recipe.deterministic: true`\n")),
    ],
)  # fmt: skip
def test_what_cannot_be_locked_is_refused_and_nothing_is_written(
    project: Path, rdlc: Rdlc, change: dict[str, str], arguments: tuple[str, ...], err: str
) -> None:
    spec = (project / "run.yaml").read_text()
    for old, new in change.items():
        spec = spec.replace(old, new)
    (project / "run.yaml").write_text(spec)

    said = rdlc("lock", "run.yaml", *arguments)

    assert (said.code, said.out, said.err) == (2, "", err.format(project=project))
    assert (not LOCK.parent.exists(), (project / "run.yaml").read_text()) == (True, spec)


@pytest.mark.parametrize("epoch", ["soon", "99999999999999999999", "-1e3"])
def test_a_source_date_that_is_no_date_is_refused(
    project: Path, rdlc: Rdlc, monkeypatch: pytest.MonkeyPatch, epoch: str
) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", epoch)

    said = rdlc("lock", "run.yaml")

    assert (said.code, said.err) == (2, f"error: `SOURCE_DATE_EPOCH` must be seconds since 1970, not `{epoch}`\n")
    assert not LOCK.exists()
