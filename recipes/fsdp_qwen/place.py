"""Where a process stands among the ranks of a run."""

from dataclasses import dataclass

import torch


@dataclass(frozen=True, kw_only=True, slots=True)
class Place:
    """One rank's place, the device it computes on, and which attempt at the run this is."""

    rank: int
    local_rank: int
    node_rank: int
    world_size: int
    attempt: int
    device: torch.device

    def share(self, rows: int) -> range:
        """This rank's part of so many global rows; the ranks' parts in order are all rows."""
        each = rows // self.world_size
        return range(self.rank * each, (self.rank + 1) * each)
