"""A small project folder: a spec and a recipe of two files, ready to lock."""

import subprocess
from pathlib import Path

SPEC = """\
schema: rdlc/run-spec/v1
name: toy
target: local
cluster: {workers: 2}
recipe:
  module: toy.train
  config: configs/toy.yaml
data: {kind: markov, seed: 7}
claim: outcome-bitwise
"""
CONFIG = """\
steps: 3
learning_rate: "1e-2"
"""
FILES = {
    "run.yaml": SPEC,
    "recipes/toy/__init__.py": '"""A toy."""\n',
    "recipes/toy/train.py": "print('training')\n",
    "recipes/toy/configs/toy.yaml": CONFIG,
}


def make_project(folder: Path) -> Path:
    """The folder, with the project in it."""
    for name, text in FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


def git(folder: Path, *arguments: str) -> str:
    """What git prints."""
    done = subprocess.run(
        ("git", "-c", "init.defaultBranch=main", "-c", "protocol.file.allow=always", *arguments),
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def commit_all(folder: Path, message: str) -> str:
    """Commits everything there is; gives the commit's id."""
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", message)
    return git(folder, "rev-parse", "HEAD")


def make_repository(folder: Path) -> Path:
    """The project as a git repository with one commit."""
    make_project(folder)
    git(folder, "init", "--quiet")
    commit_all(folder, "first")
    return folder
