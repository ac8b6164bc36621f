"""The loss in chunks is the loss of all tokens at once, and so are its gradients."""

import pytest
import torch
from torch.nn.functional import cross_entropy

from fsdp_qwen.chunked_loss import measure_chunk, sum_loss

TARGETS = torch.tensor([3, 0, 6, 1, 1, 5, 2])


def make_inputs() -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    hidden = torch.randn(7, 5, generator=generator).requires_grad_()
    return hidden, torch.randn(11, 5, generator=generator).requires_grad_()


@pytest.mark.parametrize("chunk_tokens", [1, 3, 7, 100])
def test_loss_and_gradients_are_those_of_the_whole(chunk_tokens: int) -> None:
    hidden, weight = make_inputs()
    whole = cross_entropy(hidden @ weight.T, TARGETS, reduction="sum")
    (whole / 7).backward()
    wanted = [hidden.grad, weight.grad]

    hidden, weight = make_inputs()
    summed = sum_loss(hidden, weight, TARGETS, chunk_tokens, measure_chunk)
    (summed / 7).backward()

    torch.testing.assert_close(summed, whole)
    torch.testing.assert_close([hidden.grad, weight.grad], wanted)


def test_without_gradients_it_is_the_same_loss() -> None:
    hidden, weight = make_inputs()
    summed = sum_loss(hidden, weight, TARGETS, 3, measure_chunk)

    with torch.no_grad():
        alone = sum_loss(hidden, weight, TARGETS, 3, measure_chunk)

    assert (alone.item(), alone.requires_grad) == (summed.item(), False)


def test_gradients_of_bfloat16_are_as_near_as_its_digits_allow() -> None:
    hidden, weight = make_inputs()
    cross_entropy(hidden @ weight.T, TARGETS, reduction="sum").backward()
    narrow = [each.detach().bfloat16().requires_grad_() for each in (hidden, weight)]

    sum_loss(narrow[0], narrow[1], TARGETS, 2, measure_chunk).backward()

    for each, wide in zip(narrow, (hidden, weight), strict=True):
        assert each.grad is not None
        assert each.grad.dtype == torch.bfloat16
        assert wide.grad is not None
        torch.testing.assert_close(each.grad.float(), wide.grad, rtol=0.03, atol=0.03)
