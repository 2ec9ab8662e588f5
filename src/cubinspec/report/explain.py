"""What the tables of the spec say about a name or a number."""

from __future__ import annotations

import json
import re
from fnmatch import fnmatchcase
from importlib.resources import files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    Entry = dict[str, Any]

#: Table -> what its subject is called.
TABLES = {
    "eiattr": "attribute of .nv.info",
    "relocations": "relocation type",
    "sections": "section",
    "symbols": "symbol",
    "compat": "record of .nv.compat",
    "elf_header": "ELF header",
    "arch": "architecture",
    "notes": "note",
    "fatbin": "fat binary",
}
_NAMING_KEYS = frozenset(("name", "pattern", "sm"))
_NUMBER_KEYS = ("code", "type", "value", "mask")
#: The one-bit names of st_other are printed without a prefix by NVIDIA's tools.
_ST_OTHER_PREFIX = "STO_CUDA_"
#: Starts the name by which nvdisasm prints the architecture in e_flags.
_FLAGS_PREFIX = "EF_CUDA_SM"


_HOLE = re.compile(r"[*<%\[]")


def explain(word: str) -> list[Entry]:
    """Every table entry that a word names.

    Args:
        word: a name (``EIATTR_REGCOUNT``, with or without its prefix), a number (``0x2f``), a
            section name (``.nv.info.k``) or its start (``.nv.constant``), an architecture
            (``sm_90a``, ``EF_CUDA_SM90``) or a generation (``Hopper``).

    Returns:
        Objects with ``table``, ``group``, ``subject`` and the ``entry`` itself, exact names first.
    """
    number = _number(word)
    found: list[tuple[int, Entry]] = []
    for table, subject in TABLES.items():
        document = load_table(table)
        for group, entry in entries_of(document):
            rank = _rank(word, number, table, entry)
            if rank is not None:
                match = {"table": table, "group": group, "subject": subject, "entry": entry}
                found.append((rank, match))
    if not found:
        return [*_of_dwarf(word), *_of_start(word)]
    found.sort(key=lambda item: item[0])
    # of several patterns of section names the longest one is meant
    longest = max(
        (len(match["entry"]["pattern"]) for _, match in found if "pattern" in match["entry"]),
        default=0,
    )
    return [match for _, match in found if len(match["entry"].get("pattern", "")) in (0, longest)]


def _of_dwarf(word: str) -> Iterator[Entry]:
    """The name of DWARF that a word is: as the spec has it, else as pyelftools knows it."""
    if not word.upper().startswith("DW_"):
        return
    from elftools.dwarf import constants, enums

    known = {**vars(constants), **enums.ENUM_DW_AT, **enums.ENUM_DW_FORM, **enums.ENUM_DW_TAG}
    spellings = {name.upper(): name for name in known if name.startswith("DW_")}
    for group, entry in entries_of(load_table("constants")):
        if word.upper() in names_of(entry):
            # tables have capitals only, as names in generated code do
            named = {**entry, "name": spellings.get(entry["name"], entry["name"])}
            yield {"table": "constants", "group": group, "subject": "DWARF", "entry": named}
            return
    name = word if word in known else spellings.get(word.upper(), "")
    if isinstance(known.get(name), int):
        entry = {"name": name, "value": known[name], "evidence": "documented"}
        yield {"table": "DWARF", "group": "names", "subject": "DWARF", "entry": entry}


def _of_start(word: str) -> Iterator[Entry]:
    """The names that begin with a word, such as ``.nv.constant``; one for each kind of section.

    What stands behind it in the pattern of a table or of ``printf`` does not count.
    """
    start = _HOLE.split(word)[0].rstrip("._")
    if not start.startswith("."):
        return
    seen = set()
    for table in ("sections", "symbols"):
        for group, entry in entries_of(load_table(table)):
            pattern = entry.get("pattern", "")
            rest, kind = pattern.removeprefix(start), entry.get("kind", pattern)
            if rest != pattern and not rest[:1].isalpha() and kind not in seen:
                seen.add(kind)
                subject = TABLES[table]
                yield {"table": table, "group": group, "subject": subject, "entry": entry}


def load_table(table: str) -> Entry:
    """One table of the spec as JSON."""
    text = files("cubinspec_generated").joinpath("json", f"{table}.json").read_text("utf-8")
    document: Entry = json.loads(text)
    return document


def similar(word: str) -> list[str]:
    """Names that look like a word that explains nothing."""
    from difflib import get_close_matches

    names = {
        str(entry[key])
        for table in TABLES
        for _, entry in entries_of(load_table(table))
        for key in ("name", "pattern")
        if entry.get(key)
    }
    return get_close_matches(word, sorted(names), n=3, cutoff=0.6)


def entries_of(value: Any, path: str = "") -> Iterator[tuple[str, Entry]]:
    """Every object of a table that names something, with the path of the list it stands in."""
    if isinstance(value, dict):
        if not _NAMING_KEYS.isdisjoint(value):
            yield path, value
        for key, item in value.items():
            # a payload's fields explain their attribute, not themselves
            if isinstance(item, (list, dict)) and key not in ("layout", "actions"):
                yield from entries_of(item, f"{path}.{key}" if path else key)
    elif isinstance(value, list):
        for item in value:
            yield from entries_of(item, path)


def _number(word: str) -> int | None:
    try:
        return int(word, 0)
    except ValueError:
        return None


def _rank(word: str, number: int | None, table: str, entry: Entry) -> int | None:
    """How well a word fits an entry: 0 is its very name; ``None`` is not at all."""
    if number is not None:
        return 0 if any(entry.get(key) == number for key in _NUMBER_KEYS) else None
    if "sm" in entry:
        return 0 if _is_architecture(word, entry) else None
    if "pattern" in entry:
        return 0 if fnmatchcase(word, entry["pattern"]) else None
    upper = word.upper()
    for name in names_of(entry):
        if upper == name.upper():
            return 0
        if name.upper().endswith(f"_{upper}") and table != "relocations":
            return 1
    return None


def names_of(entry: Entry) -> list[str]:
    """The names of an entry: its own, and for a bit of st_other those by symbol type."""
    return [
        *([str(entry["name"])] if "name" in entry else []),
        *(_ST_OTHER_PREFIX + entry[k] for k in ("func_name", "object_name") if k in entry),
        *([str(entry["flag"])] if "flag" in entry else []),
    ]


def _is_architecture(word: str, entry: Entry) -> bool:
    if word.upper() == f"{_FLAGS_PREFIX}{entry['sm']}":
        return True
    if entry.get("generation") and word.lower() == str(entry["generation"]).lower():
        return True
    for variant in entry["variants"]:
        suffix = "" if variant == "plain" else variant
        if word.lower() in (f"sm_{entry['sm']}{suffix}", f"compute_{entry['sm']}{suffix}"):
            return True
    return False
