"""What extras must not do to the base."""

import pytest

from rdlc.core.packages.refusals import Shadow, find_shadows, is_protected

NAMES = ("torch", "numpy", "my-tool", "pillow")


def shadows(*members: str, names: tuple[str, ...] = NAMES, files: dict[str, str] | None = None) -> list[Shadow]:
    return list(find_shadows("extra", members, names=names, files=files or {}))


@pytest.mark.parametrize(
    "name",
    ["ray", "ray-cpp", "torch", "torchvision", "torchaudio", "pytorch-triton", "triton", "nvidia-nccl-cu13",
     "cuda-bindings", "flash-attn", "flash-attn-3", "transformer-engine-torch", "deepspeed", "xformers"],
)  # fmt: skip
def test_the_training_stack_is_protected(name: str) -> None:
    assert is_protected(name)


@pytest.mark.parametrize(
    "name",
    [
        "peft",
        "trl",
        "torchmetrics",
        "torch-geometric",
        "pytorch-lightning",
        "nvidia-ml-py",
        "rayon",
        "array",
        "numpy",
        "tritonclient",
    ],
)
def test_other_packages_are_not(name: str) -> None:
    assert not is_protected(name)


@pytest.mark.parametrize("member", ["torch/__init__.py", "torch.py", "extra-1.data/purelib/torch/__init__.py"])
def test_a_module_of_the_base_is_shadowed_by_its_name(member: str) -> None:
    found = shadows("extra/__init__.py", member)

    assert [(shadow.distribution, shadow.message) for shadow in found] == [
        ("torch", f"`extra` holds `{member.removeprefix('extra-1.data/purelib/')}`, which is of `torch` in the base")
    ]


@pytest.mark.parametrize(
    "members",
    [
        ("extra/torch/__init__.py", "torch_extra/__init__.py", "torch/"),
        ("torch/sub/module.py",),
        ("torch-2.0.dist-info/METADATA", "extra-1.data/scripts/torch.py"),
    ],
)
def test_what_only_looks_like_it_is_no_shadow(members: tuple[str, ...]) -> None:
    assert shadows(*members) == []


def test_names_with_another_module_are_known_by_it() -> None:
    assert [shadow.distribution for shadow in shadows("PIL/__init__.py", "my_tool.py")] == ["pillow", "my-tool"]


def test_where_files_are_known_a_file_of_the_base_is_found_too_once_for_each_owner() -> None:
    files = {"torch/sub/module.py": "torch", "torch/other.py": "torch", "gone/x.py": "gone"}

    found = shadows("torch/sub/module.py", "torch/other.py", "gone/x.py", files=files)

    assert found == [Shadow(extra="extra", distribution="torch", file="torch/sub/module.py")]


def test_what_may_be_replaced_is_no_shadow() -> None:
    assert shadows("torch/__init__.py", names=("numpy",), files={"torch/__init__.py": "torch"}) == []


def test_its_own_files_are_no_shadow() -> None:
    assert list(find_shadows("torch", ["torch/__init__.py"], names=("torch",), files={})) == []
