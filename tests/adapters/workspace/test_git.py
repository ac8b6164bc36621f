"""What git knows of the shipped files, in repositories of every shape."""

from pathlib import Path

import pytest

from rdlc.adapters.workspace.code import list_code
from rdlc.adapters.workspace.git import find_commit, read_git_state
from rdlc.core.provenance import GitState
from rdlc.errors import RdlcError
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


SHOUT = "#!/bin/sh\ntouch {mark}\ncat\n"


def test_no_program_that_the_repository_names_is_started(tmp_path: Path) -> None:
    folder = make_repository(tmp_path / "project")
    mark, program = tmp_path / "ran", tmp_path / "program"
    program.write_text(SHOUT.format(mark=mark))
    program.chmod(0o755)
    for hook in ("post-index-change", "pre-auto-gc"):
        (folder / ".git/hooks").mkdir(exist_ok=True)
        (folder / ".git/hooks" / hook).symlink_to(program)
    for setting in (
        "filter.x.clean", "filter.x.smudge", "filter.x.process", "diff.x.textconv", "diff.x.command",
        "diff.external", "core.pager", "core.fsmonitor", "core.sshCommand", "gpg.program", "pager.log",
    ):  # fmt: skip
        git(folder, "config", setting, str(program))
    for setting in ("log.showSignature=true", "filter.x.required=true"):
        git(folder, "config", *setting.split("="))
    (folder / ".git/info").mkdir(exist_ok=True)
    (folder / ".git/info/attributes").write_text("* filter=x diff=x\n")
    (folder / "recipes/toy/.gitattributes").write_text("* filter=x diff=x\n")
    signed = git(folder, "cat-file", "commit", "HEAD").replace(
        "\n\n", "\ngpgsig -----BEGIN PGP SIGNATURE-----\n \n x\n -----END PGP SIGNATURE-----\n\n", 1
    )
    (tmp_path / "commit").write_text(signed + "\n")
    commit = git(folder, "hash-object", "-t", "commit", "-w", str(tmp_path / "commit"))
    git(folder, "update-ref", "HEAD", commit)
    (folder / "recipes/toy/train.py").write_text("changed\n")
    mark.unlink(missing_ok=True)

    found = known(folder)
    find_commit(folder / "recipes/toy", tree=found.tree, first="")

    assert found.patch.endswith("@@ -1 +1 @@\n-print('training')\n+changed\n")
    assert not mark.exists()


@pytest.mark.parametrize("damaged", [".git/index", "blob"])
def test_a_git_that_fails_is_not_taken_for_no_change(tmp_path: Path, damaged: str) -> None:
    folder = make_repository(tmp_path)
    blob = git(folder, "rev-parse", "HEAD:recipes/toy/train.py")
    path = folder / (f".git/objects/{blob[:2]}/{blob[2:]}" if damaged == "blob" else damaged)
    path.chmod(0o644)
    path.write_bytes(b"damaged")
    (folder / "recipes/toy/train.py").write_text("changed\n")

    found = known(folder)

    assert found.patch == ""
    assert found.patch_omitted.startswith("git failed to ")
    assert found.patch_omitted.endswith("; the record keeps the code in shipped.tar")


TEXTS = ("", "a\n", "a", "a\nb\n", "a\nb", "a\n\n", "-- a\n", "a\r\nb\n", "".join(f"{n}\n" for n in range(40)),
         "".join(f"{n if n % 9 else 'x'}\n" for n in range(40)))  # fmt: skip


def test_git_applies_the_patch_of_any_text(tmp_path: Path) -> None:
    folder = make_repository(tmp_path / "project")
    toy = folder / "recipes/toy"
    pairs = [(old, new) for old in (*TEXTS, None) for new in (*TEXTS, None) if (old, new) != (None, None)]
    for number, (old, _) in enumerate(pairs):
        if old is not None:
            (toy / f"file {number}.py").write_bytes(old.encode())
    commit_all(folder, "second")
    for number, (_, new) in enumerate(pairs):
        path = toy / f"file {number}.py"
        path.unlink(missing_ok=True)
        if new is not None:
            path.write_bytes(new.encode())
    git(folder, "add", "--all")

    found = known(folder)
    other = tmp_path / "other"
    git(tmp_path, "clone", "--quiet", str(folder), str(other))
    (tmp_path / "patch").write_bytes(found.patch.encode())
    git(other, "apply", "--whitespace=nowarn", str(tmp_path / "patch"))

    assert (found.patch_omitted, found.untracked) == ("", ())
    assert list_code(other / "recipes", "toy") == list_code(folder / "recipes", "toy")


@pytest.mark.parametrize("size", [0, 300_000])
def test_a_secret_in_the_change_is_refused_also_where_the_patch_is_not_kept(tmp_path: Path, size: int) -> None:
    folder = make_repository(tmp_path)
    (folder / "recipes/toy/train.py").write_text("x\n" + "y" * size + "\nkey = 'AKIA" + "A" * 16 + "'\n")

    with pytest.raises(RdlcError) as caught:
        state(folder)

    assert caught.value.message == "the uncommitted change holds what looks like an AWS access key"
    assert caught.value.file == "recipes/toy/train.py:3"


def test_a_recipe_that_is_in_no_commit_is_untracked(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "commit", "--quiet", "--allow-empty", "--message", "empty")
    make_project(tmp_path)

    found = known(tmp_path)

    assert (found.tree, found.patch, found.patch_omitted) == ("(not committed)", "", "")
    assert found.untracked == ("toy/__init__.py", "toy/train.py")


def test_a_repository_with_the_other_hash_is_read_too(tmp_path: Path) -> None:
    make_project(tmp_path)
    git(tmp_path, "init", "--quiet", "--object-format=sha256")
    commit_all(tmp_path, "first")
    clean = known(tmp_path)
    (tmp_path / "recipes/toy/train.py").write_text("changed\n")

    assert (clean.patch, clean.patch_omitted, len(clean.tree)) == ("", "", 64)
    assert known(tmp_path).patch.startswith("diff --git a/recipes/toy/train.py b/recipes/toy/train.py\n")
