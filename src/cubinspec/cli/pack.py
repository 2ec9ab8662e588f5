"""``cubinspec pack``: a fatbin out of cubins and PTX."""

from __future__ import annotations

from cubinspec.cli.options import Arguments, Option, UsageError
from cubinspec.cli.output import report, write_output
from cubinspec.errors import CubinError

USAGE = "IMAGE[=TARGET]... -o OUT.fatbin [--compress MODE] [--compress-all]"
OPTIONS = (
    Option("-o", "--output", value="FILE", help="the fatbin to write"),
    Option("--compress", value="MODE", help="default, balance, size, speed (LZ4) or none"),
    Option("--compress-all", help="compress cubins too"),
    Option("-g", "--debug", help="mark as debug code; compresses cubins too"),
    Option("--options", value="TEXT", help="ptxas options to store with PTX"),
    Option("--ident", value="NAME", help="identifier to store with each entry"),
)


def run(arguments: Arguments) -> int:
    """Write the fatbin."""
    from cubinspec.containers.fatbin_write import MODES

    output = arguments.value("--output")
    if output is None:
        raise UsageError("no output given (-o FILE)")
    mode = arguments.value("--compress") or "default"
    if mode not in MODES:
        raise UsageError(f"--compress is one of {', '.join(MODES)}, not {mode!r}")
    try:
        write_output(output, _pack(arguments, mode))
    except CubinError as error:
        report(error)
        return 1
    return 0


def _pack(arguments: Arguments, mode: str) -> bytes:
    from cubinspec.containers.fatbin_write import container, entry_for
    from cubinspec.containers.source import PathSource

    ident = arguments.value("--ident")
    entries = []
    for word in arguments.files():
        path, sm, variant = _target(word)
        source = PathSource(path)
        entries.append(
            entry_for(
                source.read(0, source.size),
                name=path,
                sm=sm,
                variant=variant,
                mode=mode,
                compress_all=arguments.flag("--compress-all"),
                debug=arguments.flag("--debug"),
                options=(arguments.value("--options") or "").encode(),
                ident=None if ident is None else ident.encode(),
            )
        )
        source.close()
    return container(entries)


def _target(word: str) -> tuple[str, int | None, str | None]:
    """``k.cubin=sm_100f`` is a path, a number and a variant; the target may be missing."""
    path, equals, target = word.rpartition("=")
    number = target.removeprefix("sm_").removeprefix("compute_")
    digits = number.rstrip("af")
    if not equals or number == target or not digits.isdecimal():
        return word, None, None
    return path, int(digits), number[len(digits) :]
