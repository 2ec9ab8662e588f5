"""``cubinspec fingerprint``: hashes of what matters, for caches and for comparing builds."""

from __future__ import annotations

from cubinspec.cli.options import (
    JSON_OPTIONS,
    Arguments,
    Option,
    UsageError,
    cubin_targets,
    pattern_of,
)
from cubinspec.cli.output import report
from cubinspec.cli.walking import (
    CUBIN_ARCH,
    MATCH,
    RELOCATABLE,
    nothing_in,
    said_nothing_fits,
    shown,
)
from cubinspec.compare.fingerprint import LEVELS, of_file, of_function, of_image
from cubinspec.compare.read import FileFacts, read_facts
from cubinspec.errors import CubinError
from cubinspec.report.names import matcher, readable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

USAGE = "FILE... [--level LEVEL] [--functions] [--match PATTERN] [--arch SM] [--json|--jsonl]"
OPTIONS = (
    Option(
        "--level", value="LEVEL", help=f"{', '.join(LEVELS)} (default: file; kernel for functions)"
    ),
    Option("--functions", help="one line per kernel and function, not per file or image"),
    CUBIN_ARCH,
    MATCH,
    RELOCATABLE,
    Option("--mangled", help="names as they are in the file"),
    *JSON_OPTIONS,
)


def run(arguments: Arguments) -> int:
    """Print a line per file, per image (level image), or per function."""
    pattern = pattern_of(arguments)
    by_function = arguments.flag("--functions") or pattern is not None
    level = arguments.value("--level") or ("kernel" if by_function else "file")
    if level not in LEVELS:
        raise UsageError(f"--level takes one of {', '.join(LEVELS)}, not {level!r}")
    if by_function and level not in LEVELS[:2]:
        raise UsageError(
            f"--level {level}: a function has fingerprints of {' and '.join(LEVELS[:2])}"
        )
    matches = matcher(pattern)
    out = None
    if arguments.wants_json:
        from cubinspec.cli.json_output import Records

        out = Records("fingerprint", arguments)
    name_of = str if arguments.flag("--mangled") else readable
    targets = cubin_targets(arguments)
    status = count = 0
    for path in arguments.files():
        try:
            facts = read_facts(path, archs=targets, relocatable=arguments.flag("--relocatable"))
        except CubinError as error:
            report(error)
            status = 1
            continue
        for fault in facts.faults:
            report(fault)
        if not facts.images and not facts.faults:
            report(nothing_in(path, "cubin", chosen=targets is not None))
        if facts.faults or not facts.images:
            status = 1
            if level == "file":  # a hash of a part would pass for one of the whole
                continue
        rows = _functions(facts, level, matches) if by_function else _whole(facts, level)
        for row in rows:
            count += 1
            if out is not None:
                out.add({"level": level, **row})
                continue
            words = [row["fingerprint"], f"{row['arch'] or '-':<8}", row["path"]]
            words += [] if row["name"] is None else [name_of(row["name"])]
            print(shown("  ".join(words)))
    if out is not None:
        out.close()
    return 1 if said_nothing_fits(pattern, count) else status


def _whole(facts: FileFacts, level: str) -> Iterator[dict[str, Any]]:
    if level != "image":
        yield {
            "fingerprint": of_file(facts, level),
            "path": facts.path,
            "arch": None,
            "name": None,
        }
        return
    for image in facts.images:
        yield {
            "fingerprint": of_image(image, level),
            "path": image.path,
            "arch": image.arch,
            "name": None,
        }


def _functions(facts: FileFacts, level: str, matches: Any) -> Iterator[dict[str, Any]]:
    for image in facts.images:
        for function in image.functions:
            if matches(function.name):
                yield {
                    "fingerprint": of_function(function, level),
                    "path": image.path,
                    "arch": image.arch,
                    "name": function.name,
                }
