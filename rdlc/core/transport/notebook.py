"""What is kept of a file while it is read: bounded tables of values and notes, each with its line."""

from collections.abc import Collection

from rdlc.core.transport import grammar
from rdlc.core.transport.envelope import Message, Process
from rdlc.core.transport.facts import Evidence, FileFacts, Note
from rdlc.core.transport.tracking import TEXT_LIMIT, Told, Tracker

_MOST_VALUES = 64
_MOST_NOTES = 4096
_MOST_OF_A_KIND = 256


class Notebook:
    """Takes messages, and gives the facts of the file."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._tracker = Tracker(name)
        self._notes: dict[tuple[str, str, Process | None], Note] = {}
        self._per_kind: dict[str, int] = {}
        self._tables: dict[str, dict[str, Evidence]] = {table: {} for _, table in grammar.TABLES}
        self._interfaces: dict[str, Evidence] = {}
        self._variables: dict[str, dict[str, Evidence]] = {}
        self._has_nccl = False
        self.num_unread = 0

    @property
    def hosts(self) -> Collection[str]:
        """The hosts whose lines were seen."""
        return self._tracker.hosts.keys()

    @property
    def num_communicators(self) -> int:
        """How many ranks of communicators have been seen."""
        return self._tracker.num_ranks

    def take(self, message: Message, number: int) -> bool:
        """Notes what a message says; True if the same line, come again, would say nothing new."""
        self._has_nccl = self._has_nccl or message.process is not None
        if self._tracker.take(message, number):
            # A network's name is of the communicator that comes next, and channels are counted: each time.
            return not message.text.startswith(("Using network", "Channel", "CollNet"))
        evidence = Evidence(file=self._name, line=number, text=message.text[:TEXT_LIMIT])
        self._take_values(message.text, evidence)
        if message.process is not None and (note := grammar.find_note(message.text, message.level)):
            self._keep_note(*note, message, evidence)
        return True

    def take_channel(self, process: Process, text: str, number: int) -> Told | None:
        """Notes a channel line of which the process is known already; gives what `take_again` needs, if it is one."""
        return self._tracker.take_channel(process, text, number)

    def take_again(self, told: Told, number: int) -> None:
        """Notes a channel line that was the same before."""
        self._tracker.take_again(told, number)

    def freeze(self, *, num_bytes: int, num_lines: int, has_gloo: bool, mentions_nccl: bool) -> FileFacts:
        """All that was kept."""
        return FileFacts(
            name=self._name,
            num_bytes=num_bytes,
            num_lines=num_lines,
            has_nccl=self._has_nccl,
            mentions_nccl=mentions_nccl,
            has_gloo=has_gloo,
            is_cut=self._tracker.is_cut,
            num_unread=self.num_unread,
            processes=self._tracker.freeze(),
            notes=tuple(self._notes.values()),
            interfaces=dict(self._interfaces),
            variables={name: dict(values) for name, values in sorted(self._variables.items())},
            versions=dict(self._tables["versions"]),
            plugins=dict(self._tables["plugins"]),
            plugin_paths=dict(self._tables["plugin_paths"]),
            plugin_names=dict(self._tables["plugin_names"]),
            libfabrics=dict(self._tables["libfabrics"]),
        )

    def _take_values(self, text: str, evidence: Evidence) -> None:
        for pattern, table in grammar.TABLES:
            if match := pattern.search(text):
                _keep(self._tables[table], next(filter(None, match.groups())), evidence)
        if match := grammar.INTERFACES.match(text):
            for name in grammar.INTERFACE.findall(match["list"])[:_MOST_VALUES]:
                _keep(self._interfaces, name, evidence)
        if match := grammar.VARIABLE.fullmatch(text):
            name, value = match["name"] or match["name2"], match["value"] or match["value2"] or ""
            if len(self._variables) < 4 * _MOST_VALUES or name in self._variables:
                _keep(self._variables.setdefault(name, {}), value[:TEXT_LIMIT], evidence)

    def _keep_note(self, kind: str, value: str, message: Message, evidence: Evidence) -> None:
        key = (kind, value[:TEXT_LIMIT], message.process)
        if key in self._notes or self._per_kind.get(kind, 0) >= _MOST_OF_A_KIND or len(self._notes) >= _MOST_NOTES:
            return
        self._per_kind[kind] = self._per_kind.get(kind, 0) + 1
        self._notes[key] = Note(kind=kind, value=key[1], evidence=evidence, process=message.process)


def _keep(table: dict[str, Evidence], value: str, evidence: Evidence) -> None:
    if len(table) < _MOST_VALUES:
        table.setdefault(value, evidence)
