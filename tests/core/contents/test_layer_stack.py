"""Layers laid on each other: what hides what, and where files land."""

import pytest

from rdlc.core.contents.layer_facts import LayerFacts
from rdlc.core.contents.layer_stack import follow_links, read_whiteout, stack_layers
from tests.layer_samples import layer


def paths_of(*layers: LayerFacts) -> list[str]:
    return sorted(stack_layers(layers).files)


def test_an_upper_layer_replaces_a_file_and_is_where_it_comes_from() -> None:
    stack = stack_layers([layer("etc/nccl.conf"), layer(), layer("etc/nccl.conf")])

    assert {path: file.layer for path, file in stack.files.items()} == {"etc/nccl.conf": 2}


def test_a_whiteout_removes_a_file_or_a_whole_folder_of_the_layers_below() -> None:
    below = layer("a/x", "a/b/y", "ab/z", "c")

    assert paths_of(below, layer(removed=("a/x", "c"))) == ["a/b/y", "ab/z"]
    assert paths_of(below, layer(removed=("a",))) == ["ab/z", "c"]


def test_an_opaque_folder_hides_what_lies_below_it_and_keeps_what_comes_with_it() -> None:
    below = layer("a/x", "a/b/y", "c")

    assert paths_of(below, layer("a/new", emptied=("a",))) == ["a/new", "c"]
    assert paths_of(below, layer("new", emptied=("",))) == ["new"]


def test_a_whiteout_does_not_remove_what_its_own_layer_adds() -> None:
    assert paths_of(layer("a/x"), layer("a/x", removed=("a/x",))) == ["a/x"]


def test_a_link_hides_the_folder_it_replaces() -> None:
    below = layer("opt/venv/x", "opt/venv2/x")

    stack = stack_layers([below, layer(links={"opt/venv": "venv2"})])

    assert list(stack.files) == ["opt/venv2/x"]
    found = stack.find("opt/venv/x")
    assert found is not None
    assert found.path == "opt/venv2/x"


def test_a_path_through_a_link_lands_where_the_link_leads() -> None:
    below = layer("usr/lib/a", links={"lib": "usr/lib", "usr/lib64": "/lib"})

    stack = stack_layers([below, layer("usr/lib64/b"), layer(removed=("lib/a",))])

    assert {path: file.stored_path for path, file in stack.files.items()} == {"usr/lib/b": "usr/lib64/b"}


def test_a_folder_that_replaces_a_link_holds_its_own_files() -> None:
    below = layer(links={"opt/venv": "/data/venv"})

    assert paths_of(below, layer("opt/venv/x", folders=("opt/venv",))) == ["opt/venv/x"]
    assert paths_of(below, layer("opt/venv/x")) == ["data/venv/x"]


def test_links_in_a_circle_end() -> None:
    links = {"a": "b", "b": "a", "up": "../../etc"}

    assert follow_links("a/x", links) == "a/x"
    assert follow_links("up/os-release", links) == "etc/os-release"


@pytest.mark.parametrize(
    ("path", "hidden"),
    [
        ("a/.wh.b", ("a/b", False)),
        (".wh.b", ("b", False)),
        ("a/.wh..wh..opq", ("a", True)),
        (".wh..wh..opq", ("", True)),
        ("a/.wh..wh.plnk", None),
        ("a/.wh.", None),
        ("a/.wh...", None),
        ("a/b", None),
    ],
)
def test_whiteouts_are_told_from_files(path: str, hidden: tuple[str, bool] | None) -> None:
    found = read_whiteout(path)

    assert (found and (found.path, found.is_opaque)) == hidden
