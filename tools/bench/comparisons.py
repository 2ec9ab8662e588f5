"""What is compared with what, as data. A new promise is a new line here.

Words of a command in braces are filled in by the runner: `{many}` the path of an input of
inputs.py, `{python}`, `{cubinspec}`, `{peers}` (the folder beside this file), and the paths of the
other tools.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Command:
    """A process: how the tables call it, and how it is started."""

    label: str
    argv: tuple[str, ...]

    @property
    def has_modes(self) -> bool:
        """Whether it is ours or bare Python, and so runs as what it is compared with."""
        head, *words = self.argv
        return head == "{cubinspec}" or words[:1] == ["-c"] or "{peers}/ours_" in " ".join(words)

    def on(self, name: str) -> Command:
        """The same command on an input."""
        return Command(f"{self.label} {name}", (*self.argv, f"{{{name}}}"))


@dataclass(frozen=True)
class Comparison:
    """Ours beside a peer: the ratio of wall times has to stay below a limit."""

    group: str
    ours: Command
    theirs: Command
    limit: float | None
    """Largest ratio that keeps the promise; None when the peer only stands beside it."""
    compiled: float | None = None
    """The same with compiled modules, where it is another one."""


@dataclass(frozen=True)
class PeakLimit:
    """Our peak memory has to stay below a number of bytes, or below a multiple of the file."""

    group: str
    ours: Command
    bytes: int | None = None
    times_file: tuple[float, str] | None = None
    """Factor and name of the input."""
    times_peer: tuple[float, Command] | None = None
    """Factor, and the peer whose peak it is a multiple of."""


@dataclass(frozen=True)
class Inside:
    """Our linker beside nvJitLink, both as functions in one process (inside.py)."""

    group: str
    name: str
    """The input."""
    limit: float | None
    """Largest ratio."""
    seconds: float | None = None
    """Longest time of ours."""
    compiled: float | None = None
    """Largest ratio with compiled modules, where it is another one."""


BARE = Command("python -c pass", ("{python}", "-c", "pass"))
VERSION = Command("cubinspec --version", ("{cubinspec}", "--version"))
KERNELS = Command("cubinspec kernels", ("{cubinspec}", "kernels"))
#: As JSON, which has every figure and every parameter; it costs at most twice the table.
JSON = Command("cubinspec kernels --json", ("{cubinspec}", "kernels", "--json"))
JSON_LIMIT = 2.0
DECODE = Command("cubinspec, everything decoded:", ("{python}", "{peers}/ours_decode.py"))
RES_USAGE = Command("cuobjdump -res-usage", ("{cuobjdump}", "-res-usage"))
DUMP_ELF = Command("cuobjdump -elf", ("{cuobjdump}", "-elf"))
READELF = Command("readelf -aW", ("{readelf}", "-aW"))
LIEF = Command("LIEF", ("{python}", "{peers}/lief_decode.py"))
ELFTOOLS = Command("pyelftools", ("{python}", "{peers}/elftools_decode.py"))
GALLERY = Command("elf.ksy in Python", ("{python}", "{peers}/gallery_decode.py", "{gallery}"))

_LINKED = ("-o", "{scratch}/linked.cubin")
#: The other tools do not wait for the disk either, and it is not what is measured.
UNSYNCED = "--no-fsync"
LINK = Command("cubinspec link", ("{cubinspec}", "link", UNSYNCED, "-arch=sm_90", *_LINKED))
NVLINK = Command("nvlink", ("{nvlink}", "-arch=sm_90", *_LINKED))
#: A target whose files have a Mercury half: what the finalizer makes of it is imitated.
LINK_100 = Command("cubinspec link", ("{cubinspec}", "link", UNSYNCED, "-arch=sm_100", *_LINKED))
NVLINK_100 = Command("nvlink", ("{nvlink}", "-arch=sm_100", *_LINKED))

REEMIT = Command("cubinspec, described and emitted:", ("{python}", "{peers}/ours_emit.py"))
#: Lays everything out once more, from the description alone, and compares.
ROUNDTRIP = Command("cubinspec roundtrip", ("{cubinspec}", "roundtrip"))
LIEF_WRITE = Command("LIEF, parsed and written:", ("{python}", "{peers}/lief_write.py"))
COPY = Command("one write and a rename:", ("{python}", "{peers}/copy_file.py"))

IMAGES = Command("cubinspec images", ("{cubinspec}", "images"))
LIST_ELF = Command("cuobjdump -lelf", ("{cuobjdump}", "-lelf"))
# cuobjdump prints names as they are in the file; readable ones have a row of their own.
MANGLED_1 = Command(
    "cubinspec kernels --mangled --jobs 1", ("{cubinspec}", "kernels", "--mangled", "--jobs", "1")
)
MANGLED = Command("cubinspec kernels --mangled", ("{cubinspec}", "kernels", "--mangled"))
CSV = Command("cubinspec kernels --csv", ("{cubinspec}", "kernels", "--csv"))
MANGLED_JSON = Command(
    "cubinspec kernels --mangled --json", ("{cubinspec}", "kernels", "--mangled", "--json")
)
_FOLDER = "{scratch}/extracted"
EXTRACT = Command(
    "cubinspec extract --kind cubin",
    ("{cubinspec}", "extract", "-q", "--kind", "cubin", "-o", _FOLDER),
)
EXTRACT_ELF = Command(
    "cuobjdump -xelf all", ("env", "-C", "{scratch}", "{cuobjdump}", "-xelf", "all")
)
_PARQUET = (UNSYNCED, "-o", "{scratch}/scan.parquet")
SCAN_1 = Command("cubinspec scan --jobs 1", ("{cubinspec}", "scan", "--jobs", "1", *_PARQUET))
SCAN = Command("cubinspec scan", ("{cubinspec}", "scan", *_PARQUET))
#: The same images decompressed by the same libraries and nothing else: what no scan can go below.
DECOMPRESS = Command("decompression alone:", ("{python}", "{peers}/decompress_all.py"))
#: With the hash of each image, which is a column.
HASH = Command("decompression and SHA-256:", ("{python}", "{peers}/decompress_all.py", "sha256"))

_DIFF = ("{cubinspec}", "diff", "--fail-on", "never")


def _of(label: str, words: tuple[str, ...], *names: str) -> Command:
    return Command(f"{label} {' '.join(names)}", (*words, *(f"{{{name}}}" for name in names)))


DIFF_SAME = _of("cubinspec diff", _DIFF, "library", "library")
LIST_SAME = _of("cubinspec kernels", KERNELS.argv, "library", "library")
DIFF_VERSIONS = _of("cubinspec diff", _DIFF, "library_before", "library")
LIST_VERSIONS = _of("cubinspec kernels", KERNELS.argv, "library_before", "library")

CONTAINERS = "Containers"
EMIT = "Emission"
START, TABLE, ALL = "Start-up", "Kernel table", "Everything decoded"
LINKING = "Linking"

COMPARISONS = (
    Comparison(START, VERSION, BARE, 1.5),
    Comparison(START, KERNELS.on("small"), BARE, 2.0),
    Comparison(TABLE, KERNELS.on("many"), RES_USAGE.on("many"), 0.75, compiled=0.5),
    Comparison(TABLE, KERNELS.on("sections_30k"), RES_USAGE.on("sections_30k"), 0.4),
    Comparison(
        TABLE, KERNELS.on("sections_66k"), RES_USAGE.on("sections_66k"), 0.18, compiled=0.12
    ),
    Comparison(TABLE, KERNELS.on("big"), RES_USAGE.on("big"), 0.5),
    Comparison(TABLE, JSON.on("small"), KERNELS.on("small"), JSON_LIMIT),
    Comparison(TABLE, JSON.on("many"), KERNELS.on("many"), JSON_LIMIT),
    Comparison(TABLE, JSON.on("sections_66k"), KERNELS.on("sections_66k"), JSON_LIMIT),
    Comparison(ALL, DECODE.on("many"), LIEF.on("many"), 0.11, compiled=0.05),
    Comparison(ALL, DECODE.on("many"), ELFTOOLS.on("many"), 0.2),
    Comparison(ALL, DECODE.on("many"), GALLERY.on("many"), 0.2),
    Comparison(ALL, DECODE.on("many"), READELF.on("many"), 1.0),
    Comparison(ALL, DECODE.on("many"), DUMP_ELF.on("many"), 0.1),
    Comparison(ALL, DECODE.on("sections_66k"), DECODE.on("many"), 6.0),
    Comparison(EMIT, REEMIT.on("many"), DECODE.on("many"), 1.5, compiled=1.0),
    Comparison(EMIT, REEMIT.on("many"), LIEF_WRITE.on("many"), None),
    Comparison(EMIT, ROUNDTRIP.on("many"), DECODE.on("many"), None),
    Comparison(EMIT, REEMIT.on("big"), COPY.on("big"), 2.0),
    Comparison(EMIT, REEMIT.on("big"), LIEF_WRITE.on("big"), None),
    Comparison(LINKING, LINK.on("pair"), BARE, 2.1, compiled=1.6),
    Comparison(LINKING, LINK.on("many"), NVLINK.on("many"), 2.3, compiled=1.0),
    Comparison(LINKING, LINK_100.on("mercury"), NVLINK_100.on("mercury"), 2.5, compiled=1.0),
    Comparison(LINKING, LINK.on("objects"), NVLINK.on("objects"), 1.6, compiled=0.75),
    Comparison(LINKING, LINK.on("sections_66k"), NVLINK.on("sections_66k"), 1.7, compiled=0.75),
    Comparison(LINKING, LINK.on("sections_200k"), NVLINK.on("sections_200k"), 1.0, compiled=0.5),
    Comparison(CONTAINERS, IMAGES.on("library"), LIST_ELF.on("library"), 0.1),
    Comparison(CONTAINERS, MANGLED_1.on("library"), RES_USAGE.on("library"), 0.7),
    Comparison(CONTAINERS, MANGLED.on("library"), RES_USAGE.on("library"), 0.4),
    Comparison(CONTAINERS, KERNELS.on("library"), RES_USAGE.on("library"), 0.4),
    Comparison(CONTAINERS, JSON.on("library"), KERNELS.on("library"), 1.3),
    Comparison(CONTAINERS, MANGLED_JSON.on("library"), MANGLED.on("library"), 1.3),
    Comparison(CONTAINERS, CSV.on("library"), KERNELS.on("library"), 1.3),
    Comparison(CONTAINERS, EXTRACT.on("library"), EXTRACT_ELF.on("library"), 1.0),
    Comparison(CONTAINERS, DIFF_SAME, LIST_SAME, 1.5),
    Comparison(CONTAINERS, DIFF_VERSIONS, LIST_VERSIONS, 1.5),
    Comparison(CONTAINERS, SCAN_1.on("library"), DECOMPRESS.on("library"), 2.0),
    Comparison(CONTAINERS, SCAN_1.on("library"), HASH.on("library"), None),
    Comparison(CONTAINERS, SCAN.on("library"), DECOMPRESS.on("library"), 1.2),
)

PEAK_LIMITS = (
    PeakLimit(CONTAINERS, KERNELS.on("library"), times_peer=(0.25, RES_USAGE.on("library"))),
    PeakLimit(TABLE, KERNELS.on("big"), bytes=25 << 20),
    PeakLimit(ALL, DECODE.on("many"), times_file=(8.0, "many")),
    PeakLimit(EMIT, REEMIT.on("many"), times_file=(4.0, "many")),
    PeakLimit(EMIT, REEMIT.on("big"), times_file=(4.0, "big")),
    PeakLimit(LINKING, LINK.on("many"), times_peer=(1.5, NVLINK.on("many"))),
    PeakLimit(LINKING, LINK_100.on("mercury"), times_peer=(1.5, NVLINK_100.on("mercury"))),
    PeakLimit(LINKING, LINK.on("objects"), times_peer=(1.5, NVLINK.on("objects"))),
    PeakLimit(LINKING, LINK.on("sections_66k"), times_peer=(1.5, NVLINK.on("sections_66k"))),
    PeakLimit(LINKING, LINK.on("sections_200k"), times_peer=(1.5, NVLINK.on("sections_200k"))),
)

INSIDE = (
    Inside(LINKING, "pair", None, seconds=0.005, compiled=1.0),
    Inside(LINKING, "many", 4.0, compiled=1.0),
    Inside(LINKING, "objects", 4.0),
)
