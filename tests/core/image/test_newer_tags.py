"""Which tags are later versions of a locked one."""

import pytest

from rdlc.core.image.newer_tags import newer_tags

TAGS = (
    "latest",
    "serve-ml-cuda-v9",
    "train-ml-cuda",
    "train-ml-cuda-v1",
    "train-ml-cuda-v1.0",
    "train-ml-cuda-v1.1",
    "train-ml-cuda-v1.1.0",
    "train-ml-cuda-v1.1.1",
    "train-ml-cuda-v1.10",
    "train-ml-cuda-v1.2",
    "train-ml-cuda-v1.2-soci",
    "train-ml-cuda-v1.2.0",
    "train-ml-cuda-v2",
    "train-ml-cuda-v99999999",
)


@pytest.mark.parametrize(
    ("tag", "newer"),
    [
        ("train-ml-cuda-v2", ()),
        ("train-ml-cuda-v1", ("train-ml-cuda-v2",)),
        (
            "train-ml-cuda-v1.1",
            ("train-ml-cuda-v1.2", "train-ml-cuda-v1.2.0", "train-ml-cuda-v1.10", "train-ml-cuda-v2"),
        ),
        (
            "train-ml-cuda-v1.1.0",
            (
                "train-ml-cuda-v1.1.1",
                "train-ml-cuda-v1.2",
                "train-ml-cuda-v1.2.0",
                "train-ml-cuda-v1.10",
                "train-ml-cuda-v2",
            ),
        ),
        ("serve-ml-cuda-v9", ()),
        ("train-ml-cuda", ()),
        ("latest", ()),
        ("train-ml-cuda-v1.1-soci", ()),
    ],
)
def test_newer_tags_are_later_versions_of_the_same_family_in_order(tag: str, newer: tuple[str, ...]) -> None:
    assert newer_tags(tag, reversed(TAGS)) == newer
