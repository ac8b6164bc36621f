"""The port through which every use case talks to people while it works."""

from typing import Protocol


class Reporter(Protocol):
    """Takes remarks and warnings as they come."""

    def note(self, text: str) -> None:
        """A remark about what is going on."""
        ...

    def warn(self, text: str) -> None:
        """Something that people should know though the work goes on."""
        ...
