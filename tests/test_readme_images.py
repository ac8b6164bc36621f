"""The image example of the README is what the command says."""

from pathlib import Path

import pytest

from tests.readme_images import image_example
from tests.registry.needs import need_programs

README = Path(__file__).resolve().parents[1] / "README.md"


def test_the_example_of_the_readme_is_what_rdlc_image_says_now() -> None:
    need_programs("docker-registry")

    example = image_example()

    assert README.read_text(encoding="utf-8").count(example) == 1


def test_the_example_fails_loudly_without_a_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")

    with pytest.raises(RuntimeError) as caught:
        image_example()

    assert str(caught.value) == "the example is made with `docker-registry`, which is not installed"
