"""What git knows of the shipped files, in repositories of every shape."""

from pathlib import Path

import pytest

from rdlc.adapters.workspace.code import list_code
from rdlc.adapters.workspace.git import find_commit, read_git_state
from rdlc.core.provenance import GitState
from tests.projects import commit_all, git, make_project, make_repository


def state(folder: Path) -> GitState | None:
    root = folder / "recipes"
    return read_git_state(root / "toy", tuple(list_code(root, "toy")), root=root)


def known(folder: Path) -> GitState:
    found = state(folder)
    assert found is not None
    return found


def test_a_clean_checkout_is_its_commit_branch_and_tree(tmp_path: Path) -> None:
    folder = make_repository(tmp_path)

    assert state(folder) == GitState(
        commit=git(folder, "rev-parse", "HEAD"),
        branch="main",
        tree=git(folder, "rev-parse", "HEAD:recipes/toy"),
        patch="",
        patch_omitted="",
        untracked=(),
    )


def test_without_a_repository_or_a_commit_there_is_no_state(tmp_path: Path) -> None:
    make_project(tmp_path)
    outside = state(tmp_path)
    git(tmp_path, "init", "--quiet")

    assert (outside, state(tmp_path)) == (None, None)


def test_without_the_program_git_there_is_no_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = make_repository(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))

    assert state(folder) is None


def test_a_detached_head_says_so(tmp_path: Path) -> None:
    folder = make_repository(tmp_path)
    git(folder, "checkout", "--quiet", "--detach")

    assert known(folder).branch == "(detached)"


def test_the_patch_restores_what_was_shipped_also_where_a_file_was_deleted(tmp_path: Path) -> None:
    folder = make_repository(tmp_path / "project")
    toy = folder / "recipes/toy"
    (toy / "gone.py").write_text("gone\n")
    (toy / "specs").mkdir()
    (toy / "specs/x.yaml").write_text("a\n")
    commit_all(folder, "second")
    (toy / "gone.py").unlink()
    (toy / "train.py").write_text("changed\n")
    (toy / "specs/x.yaml").write_text("not shipped\n")
    (toy / "configs/toy.yaml").write_text("steps: 4\n")
    (folder / "run.yaml").write_text("not shipped either\n")

    found = known(folder)
    other = tmp_path / "other"
    git(tmp_path, "clone", "--quiet", str(folder), str(other))
    (tmp_path / "patch").write_text(found.patch)
    git(other, "apply", str(tmp_path / "patch"))

    assert list_code(other / "recipes", "toy") == list_code(folder / "recipes", "toy")
    assert git(other, "status", "--porcelain").split() == ["D", "recipes/toy/gone.py", "M", "recipes/toy/train.py"]


def test_only_deleting_a_file_is_a_change_too(tmp_path: Path) -> None:
    folder = make_repository(tmp_path)
    (folder / "recipes/toy/train.py").unlink()

    assert "deleted file mode" in known(folder).patch


def test_the_users_own_git_settings_do_not_change_the_patch(tmp_path: Path) -> None:
    folder = make_repository(tmp_path)
    (folder / "recipes/toy/train.py").write_text("changed\n")
    before = known(folder)
    for setting in ("diff.noprefix=true", "diff.mnemonicPrefix=true", "color.ui=always", "diff.relative=true"):
        git(folder, "config", *setting.split("="))

    assert known(folder) == before
    assert before.patch.startswith("diff --git a/recipes/toy/train.py b/recipes/toy/train.py\n")


def test_shipped_files_that_git_does_not_know_are_named_also_ignored_ones(tmp_path: Path) -> None:
    folder = make_repository(tmp_path)
    (folder / ".gitignore").write_text("ignored.py\n")
    for name in ("new.py", "ignored.py", ".hidden", "configs/new.yaml"):
        (folder / "recipes/toy" / name).write_text("x\n")

    assert known(folder).untracked == ("toy/ignored.py", "toy/new.py")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("x = '" + "y" * 300_000 + "'\n", "larger than 256 KiB; the record keeps the code in shipped.tar"),
        ("x = '\x1b'\n", "holds bytes that are no plain text; the record keeps the code in shipped.tar"),
        ("x = '\u00e4'\n", "holds bytes that are no plain text; the record keeps the code in shipped.tar"),
    ],
)
def test_a_patch_that_cannot_be_kept_says_why(tmp_path: Path, text: str, words: str) -> None:
    folder = make_repository(tmp_path)
    (folder / "recipes/toy/train.py").write_text(text, encoding="utf-8")

    assert (known(folder).patch, known(folder).patch_omitted) == ("", words)


def test_a_commit_with_the_tree_is_found_after_a_squash(tmp_path: Path) -> None:
    folder = make_repository(tmp_path)
    (folder / "recipes/toy/train.py").write_text("second\n")
    old = commit_all(folder, "second")
    tree = known(folder).tree
    git(folder, "reset", "--quiet", "--soft", "HEAD~1")
    git(folder, "commit", "--quiet", "--amend", "--message", "squashed")
    git(folder, "reflog", "expire", "--expire=now", "--all")
    git(folder, "gc", "--quiet", "--prune=now")
    new = git(folder, "rev-parse", "HEAD")
    (folder / "recipes/toy/train.py").write_text("third\n")
    commit_all(folder, "third")

    assert find_commit(folder / "recipes/toy", tree=tree, first=old) == new
    assert find_commit(folder / "recipes/toy", tree="0" * 40, first=old) is None
    assert find_commit(folder / "recipes/toy", tree=tree, first="--git-dir=/") == new


def test_a_variable_of_a_git_hook_does_not_lead_to_another_repository(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, other = make_repository(tmp_path / "one"), make_repository(tmp_path / "two")
    (other / "recipes/toy/train.py").write_text("other\n")
    commit_all(other, "second")
    before = state(folder)
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(other / ".git/index"))

    assert state(folder) == before
