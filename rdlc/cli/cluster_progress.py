"""The progress of a run on a cluster: one live table of its pods, then the job's line; or plain lines."""

import time
from collections.abc import Callable
from types import TracebackType

from rich.live import Live
from rich.table import Table
from rich.text import Text

from rdlc.cli.edge import Session
from rdlc.cli.progress import RunProgress
from rdlc.core.kube.pod_states import PodState
from rdlc.core.kube.waiting import Outlook
from rdlc.core.transport.report import TransportReport
from rdlc.operations.follow import Progress

_SHOWN_PODS = 20
_PLAIN_EVERY_S = 30.0


class ClusterProgress:
    """Shows pods while they come up, then phases and steps; use it as a context manager around the run."""

    def __init__(self, session: Session, *, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._session = session
        self._monotonic = monotonic
        self._job: RunProgress | None = None
        self._said = ""
        self._said_at = float("-inf")
        is_live = session.err.is_terminal and not session.is_quiet
        self._live = Live(console=session.err, transient=True, refresh_per_second=4) if is_live else None

    def __enter__(self) -> "ClusterProgress":
        if self._live:
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live:
            self._live.stop()
        if self._job:
            self._job.__exit__(kind, error, trace)

    def pods(self, pods: tuple[PodState, ...], outlook: Outlook, elapsed_s: float) -> None:
        """What the pods do now, and what is waited for."""
        words = "all pods are ready" if outlook.is_ready else outlook.waits_for
        if self._live:
            self._live.update(pod_table(pods, words, elapsed_s))
            return
        now = self._monotonic()
        if words and (words != self._said or now - self._said_at >= _PLAIN_EVERY_S):
            self._said, self._said_at = words, now
            self._session.note(f"{elapsed_s:.0f} s  {words}")

    def phase(self, name: str) -> None:
        """A phase of the job begins."""
        self._of_job().phase(name)

    def step(self, progress: Progress) -> None:
        """A step was done."""
        self._of_job().step(progress)

    def transport(self, report: TransportReport) -> None:
        """Warm-up is over, and this is what its files show of the transport."""
        self._of_job().transport(report)

    def tick(self) -> None:
        """Nothing new came, and it goes on."""
        if self._job:
            self._job.tick()

    def _of_job(self) -> RunProgress:
        if self._job is None:
            # Two live displays on one terminal are not possible.
            if self._live:
                self._live.stop()
                self._live = None
            self._job = RunProgress(self._session, monotonic=self._monotonic)
            self._job.__enter__()
        return self._job


def pod_table(pods: tuple[PodState, ...], words: str, elapsed_s: float) -> Table:
    """Pod, node, what it does; the longest waiting ones where there are too many."""
    table = Table(box=None, pad_edge=False, title=Text(f"{elapsed_s:.0f} s  {words}"), title_justify="left")
    for name in ("pod", "node", "phase", "is", "restarts"):
        table.add_column(name)
    shown = sorted(pods, key=lambda pod: (pod.is_ready, not pod.is_head, pod.name))[:_SHOWN_PODS]
    for pod in shown:
        restarts = sum(container.restarts for container in pod.containers)
        cells = (pod.name, pod.node or "-", pod.phase, pod.words, str(restarts))
        table.add_row(*(Text(cell) for cell in cells))
    if len(pods) > len(shown):
        table.add_row(Text(f"and {len(pods) - len(shown)} more"))
    return table
