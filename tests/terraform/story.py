"""Steps that are taken one after the other beside the tests, each of which may be waited for."""

from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType
from typing import Self, TypeVar

Told = TypeVar("Told")


class Story:
    """What each step gave; where a step fails, it and all that follow fail with its error."""

    def __init__(self, steps: Mapping[str, Callable[[], object]]) -> None:
        self._steps = steps
        self._pool = ThreadPoolExecutor(1)
        self._futures: dict[str, Future[object]] = {}

    def __enter__(self) -> Self:
        before: Future[object] | None = None
        for name, take in self._steps.items():
            before = self._futures[name] = self._pool.submit(_after, before, take)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # What nobody has waited for is not begun any more; what was begun ends in order.
        self._pool.shutdown(cancel_futures=True)

    def wait_for(self, name: str, kind: type[Told]) -> Told:
        """What the step gave."""
        told = self._futures[name].result()
        assert isinstance(told, kind)
        return told


def _after(before: Future[object] | None, take: Callable[[], object]) -> object:
    if before is not None:
        before.result()
    return take()
