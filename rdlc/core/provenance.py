"""Where a lock came from: kept for people and to restore code with, never hashed or compared."""

from collections.abc import Mapping
from dataclasses import dataclass

from rdlc.core.canonical import Json
from rdlc.core.fields import Fields


@dataclass(frozen=True, kw_only=True, slots=True)
class GitState:
    """The state of the git work tree around the shipped files.

    `tree` is git's own id of the folder of the code in `commit`; it outlives squashing. `patch` is
    the change from `commit` to the shipped files, empty when there is none, and `patch_omitted` says
    why it is not here.
    """

    commit: str
    branch: str
    tree: str
    patch: str
    patch_omitted: str
    untracked: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Provenance:
    """When and by which rdlc the lock was made, and from which git state; `git` None without git."""

    created: str
    tool: str
    git: GitState | None

    def payload(self) -> Mapping[str, Json]:
        """The mapping that is written."""
        payload: dict[str, Json] = {"created": self.created, "tool": self.tool}
        if git := self.git:
            state: dict[str, Json] = {"commit": git.commit, "branch": git.branch, "tree": git.tree}
            if git.patch:
                state["patch"] = git.patch
            if git.patch_omitted:
                state["patch_omitted"] = git.patch_omitted
            if git.untracked:
                state["untracked"] = list(git.untracked)
            payload["git"] = state
        return payload


def read_provenance(fields: Fields) -> Provenance:
    """The provenance of a lock."""
    git = _read_git(fields.below("git")) if fields.has("git") else None
    provenance = Provenance(created=fields.text("created"), tool=fields.text("tool"), git=git)
    fields.finish()
    return provenance


def _read_git(fields: Fields) -> GitState:
    state = GitState(
        commit=fields.text("commit"),
        branch=fields.text("branch"),
        tree=fields.text("tree"),
        patch=fields.remark("patch"),
        patch_omitted=fields.remark("patch_omitted"),
        untracked=fields.texts("untracked"),
    )
    fields.finish()
    return state
