"""The messages of NCCL 2.18 to 2.32 and of aws-ofi-nccl 1.7 to 1.22 that tell of a transport.

Each pattern ends behind a word that follows the value: a line cut inside a value says nothing.
"""

import re
from dataclasses import dataclass
from functools import lru_cache

# What a line without its digits must hold to be worth reading; a superset of all patterns below.
WORTH_READING = re.compile(
    rb"NCCL (?:WARN|version|error|ABORT)| via |Using network|: Using | Using (?:aws|Lib)"
    rb"|comm x.{0,400} (?:nNodes|Init )|lugin (?!name)|lugins|set by env|environment variable to|rovider|platform"
    rb"|No device|libibverbs|Unable to open|ibv_|GDR disabled|\.(?:cc|h|cu|cpp):|network .{0,64} not found"
    rb"|NET/OFI .{0,64}(?:ail|rror|RC: -|annot|ould|nable|protocol that)|NET/Plugin"
    rb"|(?i:security.group|unreachable|unresponsive)|shared memory|/dev/shm|Mismatched|no socket interface|CUDA|memlock"
    rb"|Cannot alloc"
)
# The one form of channel lines that a log has by the million, without its digits (so `PP` is P2P).
BULK = re.compile(
    rb"[^\n]{0,400}:: \[\] NCCL INFO Channel /? ?: \[[a-f]*\] -> \[[a-f]*\] (?:\[(?:send|receive)\] )?"
    rb"via (?:PP|SHM|NET)/[^\n\[]{1,80}"
)

CHANNEL = re.compile(
    r"Channel (?P<channel>\d+)(?:/\d+)? : (?P<source>\d+)\[\w+\] -> (?P<target>\d+)\[\w+\] "
    r"(?:\[(?P<way>send|receive)\] )?via (?P<kind>P2P|SHM|NET)/(?P<rest>.+)"
)
COLLNET = re.compile(r"CollNet \d+(?:/\d+)? : (?P<source>\d+) \[(?:send|receive)\] via COLLNET/(?P<name>.+)/\d+")
# Names may hold a space or a slash: the name ends before the last number. What holds more is two lines in one.
NET_PATH = re.compile(r"(?P<name>[\w.+/ -]+)/\d+(?:\(\d+\))?(?P<suffixes>(?:/[A-Za-z][\w()+-]*)*)\s*")
COMM_NODES = re.compile(
    r"comm (?P<pointer>0x[0-9a-f]+) rank (?P<rank>\d+) nRanks (?P<ranks>\d+) nNodes (?P<nodes>\d+) "
    r"localRanks \d+ localRank \d+(?: MNNVL (?P<mnnvl>\d))?"
)
COMM_INIT = re.compile(
    r"comm (?P<pointer>0x[0-9a-f]+) rank (?P<rank>\d+) nranks (?P<ranks>\d+) (?P<middle>.*?)"
    r"- Init (?P<state>START|COMPLETE)"
)
COMM_ID = re.compile(r"\bcommId (0x[0-9a-f]+)")
COMM_PARENT = re.compile(r"\bparent (0x[0-9a-f]+)(?: (?:splitCount|childCount) (\d+))?(?: color (-?\d+))?")
PROVIDER = re.compile(
    r"NET/OFI Selected [Pp]rovider is (?P<name>[\w;.:-]+)(?:, fabric is (?P<fabric>[\w;.:/-]+))? "
    r"\(found (?P<nics>\d{1,6}) nics"
)
VERSION = re.compile(r"NCCL version (\d+\.\d+(?:\.\d+)?)")
VARIABLE = re.compile(
    r"(?P<name>(?:NCCL|FI|OFI_NCCL)_[A-Z0-9_]{1,64}) set by environment to (?P<value>.*?)\.?\s*"
    r"|NET/OFI Setting (?P<name2>(?:NCCL|FI|OFI_NCCL)_[A-Z0-9_]{1,64}) environment variable to (?P<value2>\S*?)\.?\s*"
)
INTERFACES = re.compile(r"(?:NET/Socket|Bootstrap) ?: Using (?P<list>.+)")
INTERFACE = re.compile(r"(?:\[\d+\])?([\w.@-]{1,32}):[0-9A-Za-z.:%\[\]-]{2,64}<\d+>")
IB_DEVICES = re.compile(r"NET/IB ?: Using \[\d+\].*?:\d+/(?:IB|RoCE)\b")

KNOWN_NETWORKS = ("AWS Libfabric", "Libfabric", "OFI", "Socket", "IB")
_NEVER_LONGER = ("Socket", "AWS Libfabric", "Libfabric")
NETWORK_NAME = re.compile(r"[\w.+-]{1,64}(?: [\w.+-]{1,64}){0,2}")
# Behind a name that is cut another line goes on.
_OTHER_LINE = re.compile(r"\b(?:NCCL|INFO|WARN|Init|START|COMPLETE|Channel|comm\w*|n?[rR]anks?|via|Using|NET)\b")


@dataclass(frozen=True, kw_only=True, slots=True)
class NoteRule:
    """A message that becomes a note: its kind, and what of it is the value."""

    kind: str
    pattern: re.Pattern[str]
    versions: str


def _rule(kind: str, versions: str, pattern: str) -> NoteRule:
    return NoteRule(kind=kind, pattern=re.compile(pattern), versions=versions)


# In this order; the first that fits is taken. The value is the first group, if there is one.
NOTE_RULES = (
    # A library that the plugin itself needs is missing: dlopen names that one.
    _rule(
        "plugin-load-failed",
        "NCCL 2.18-2.21",
        r"NET/Plugin ?: .*?(?:returned \d+ : |dlerror=)(?!\S*libnccl-net)(\S+: cannot open shared object.*)",
    ),
    _rule("plugin-missing", "NCCL 2.18", r"NET/Plugin ?: Plugin load \((\S+)\) returned 2 : "),
    _rule("plugin-missing", "NCCL 2.18", r"NET/Plugin ?: No plugin found, using internal"),
    _rule(
        "plugin-missing",
        "NCCL 2.19-2.20",
        r"NET/Plugin ?: dlerror=.*cannot open shared object.* No plugin found \((\S+)\)",
    ),
    _rule("plugin-load-failed", "NCCL 2.19-2.20", r"NET/Plugin ?: dlerror=(.*?) No plugin found"),
    _rule("plugin-missing", "NCCL 2.21", r"NET/Plugin ?: No plugin found \((\S+?)\)"),
    _rule("plugin-missing", "NCCL 2.19-2.21", r"NET/Plugin ?: Plugin load returned 2 : .*No such file"),
    _rule("plugin-load-failed", "NCCL 2.18-2.21", r"NET/Plugin ?: Plugin load (?:\(\S+\) )?returned \d+ : (.*)"),
    _rule("plugin-missing", "NCCL 2.22-2.32", r"NET/Plugin ?: Could not find:? (.+?)\.?(?: Using internal .*)?\s*$"),
    _rule("plugin-loaded", "NCCL 2.18-2.32", r"NET/Plugin ?: Loaded net plugin (.+?) \(v\d+\)"),
    _rule("plugin-loaded", "NCCL 2.27-2.32", r"Successfully loaded external (?:network )?plugin (\S+)"),
    _rule("plugin-loaded", "NCCL 2.18-2.20", r"P2P plugin (\S+)"),
    _rule("plugin-refused", "NCCL 2.28-2.32", r"External network plugin (\S+) is unsupported"),
    _rule("plugin-refused", "NCCL 2.27-2.32", r"Disabling external plugins: (.*)"),
    _rule("plugin-init-failed", "NCCL 2.28-2.32", r"Failed to initialize NET plugin (?!IB\b|Socket\b)(.+)"),
    _rule("network-missing", "NCCL 2.18-2.26", r"Error: network (.+?) not found"),
    _rule("network-missing", "NCCL 2.27-2.32", r"Failed to initialize any NET plugin()"),
    _rule("version-mismatch", "NCCL 2.23-2.32", r"Mismatched NCCL version detected ?: (.*)"),
    _rule(
        "plugin-load-failed",
        "NCCL 2.22-2.32",
        r"NET/Plugin ?: (?:\S+: )?(\S+: .*(?:not found|undefined symbol|cannot open|ELF).*)",
    ),
    _rule("gdr-check-failed", "plugin 1.7-1.22", r"NET/OFI .*GDR disabled on GDR-supported instance type (\S+)"),
    _rule(
        "ofi-no-provider",
        "plugin 1.7-1.22",
        r"NET/OFI .*(Couldn't find any optimal provider|No eligible providers were found)",
    ),
    _rule(
        "memory-lock", "plugin 1.7-1.22", r"(?:NET/OFI|NET/IB|.*ibv_reg_mr).*(RC: -12\b|Cannot allocate memory|memlock)"
    ),
    _rule(
        "ofi-failed",
        "plugin 1.7-1.22",
        r"NET/OFI .*(Failed to find CUDA Runtime library.*|CUDA initialization failed|EFA provider requires at least.*"
        r"|Only EFA provider is supported.*|Unable to find a protocol that worked.*)",
    ),
    _rule(
        "plugin-init-failed",
        "plugin 1.7-1.22",
        r"NET/OFI .*(aws-ofi-nccl initialization failed|Initializing plugin failed)",
    ),
    _rule(
        "security-group",
        "plugin 1.7-1.22",
        r"NET/OFI .*(?i:(security.group|unreachable remote|Couldn't open AV|unresponsive receiver))",
    ),
    _rule("platform", "plugin 1.7-1.22", r"NET/OFI Running on (\S+) platform"),
    _rule("no-interface", "NCCL 2.18-2.32", r"Bootstrap ?: (no socket interface found)"),
    _rule("ib-no-device", "NCCL 2.18-2.32", r"NET/IB ?: (No device found)|(Failed to open libibverbs\S*)"),
    _rule("ib-unusable", "NCCL 2.18-2.32", r".*(Unable to open device \S+|Call to ibv_open_device failed)"),
    _rule("shm", "NCCL 2.18-2.32", r".*(?:Error while creating shared memory segment|/dev/shm/nccl-)(.*)"),
    _rule("error", "NCCL 2.18-2.32", r"\S+\.(?:cc|h|cu|cpp):\d+ (?:\(\S+\) )?-> (\d+)"),
)
PLUGIN_VERSION = re.compile(r"NET/OFI (?:Initializing|Using) aws-ofi-nccl v?(\d[\w.]*?)(?:-aws)?\s*(?:\(.*\))?$")
LIBFABRIC_VERSION = re.compile(r"NET/OFI Using Libfabric version (\d+\.\d+)")
PLUGIN_PATH = re.compile(r"(?:Successfully loaded external (?:network )?plugin|Plugin Path :) (\S+)")
PLUGIN_NAME = re.compile(r"(?:NET/Plugin ?: Loaded net plugin (.+?) \(v\d+\)|P2P plugin (\S+))$")
# Values that a file keeps as a table: the pattern and the table's name.
TABLES: tuple[tuple[re.Pattern[str], str], ...] = (
    (VERSION, "versions"),
    (PLUGIN_VERSION, "plugins"),
    (LIBFABRIC_VERSION, "libfabrics"),
    (PLUGIN_PATH, "plugin_paths"),
    (PLUGIN_NAME, "plugin_names"),
)


def find_note(text: str, level: str) -> tuple[str, str] | None:
    """The kind and value of the note that a message is; None if it is none.

    A warning that no rule knows is a note of kind `warning`, except the plugin's own.
    """
    for rule in NOTE_RULES:
        if match := rule.pattern.match(text):
            return rule.kind, next((group for group in match.groups() if group), "").strip()
    if level in ("WARN", "ABORT"):
        return ("ofi-warning" if text.startswith("NET/") else "warning"), text
    return None


@lru_cache(maxsize=1024)
def network_name(text: str) -> str:
    """The name of a network in the rest of a line; empty if it is cut."""
    name = text.strip()
    if name in KNOWN_NETWORKS:
        return name
    # Glued to what another line said: of these, no longer name is known.
    if glued := next((known for known in _NEVER_LONGER if name.startswith(known)), ""):
        return glued
    if any(known.startswith(name) for known in KNOWN_NETWORKS):
        return ""
    if NETWORK_NAME.fullmatch(name) and not _OTHER_LINE.search(name):
        return name
    return next((known for known in KNOWN_NETWORKS if name.startswith(f"{known} ")), "")
