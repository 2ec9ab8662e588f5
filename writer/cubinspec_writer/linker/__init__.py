"""Links relocatable cubins as nvlink does: same inputs, same bytes, same messages.

`program` leads from the command line to a file: `inputs` finds and reads relocatable cubins,
`pipeline.PASSES` is the list of passes that link them, `write` makes the file, and `reports` tells
what was done. `state` is what the passes share, `model` what it consists of, `library` what several
passes ask, and `family` what differs between architectures.

Targets from sm_100 on carry each program twice, as SASS and as Mercury code. The passes run for
either half; `finalizer` holds what NVIDIA's finalizer does with both. Rules that are not in the
specification, each with the case that shows it, are in docs/linking.md.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any, Unpack

    from cubinspec_writer.linker.diagnostics import LinkError as LinkError
    from cubinspec_writer.linker.diagnostics import UnsupportedLinkError as UnsupportedLinkError
    from cubinspec_writer.linker.inputs.options import LinkOptions as LinkOptions
    from cubinspec_writer.linker.inputs.options import LinkSettings
    from cubinspec_writer.linker.inputs.sources import Input
    from cubinspec_writer.linker.inputs.sources import Library as Library
    from cubinspec_writer.linker.inputs.sources import Named as Named
    from cubinspec_writer.linker.program import LinkResult as LinkResult

__all__ = [
    "Library",
    "LinkError",
    "LinkOptions",
    "LinkResult",
    "Named",
    "UnsupportedLinkError",
    "link",
]

#: Public name -> module; imported on first use: who only names this package (as `cubinspec_writer`
#: does) has no need of them.
_HOMES = {
    "Library": "inputs.sources",
    "LinkError": "diagnostics",
    "LinkOptions": "inputs.options",
    "LinkResult": "program",
    "Named": "inputs.sources",
    "UnsupportedLinkError": "diagnostics",
}


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f"{__name__}.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})


def link(
    inputs: Input | Iterable[Input],
    options: LinkOptions | str | None = None,
    **settings: Unpack[LinkSettings],
) -> LinkResult:
    """Link relocatable cubins, host objects, fatbins and libraries for one target.

    Args:
        inputs: paths, bytes, `Named` bytes or `Library` names, in link order; or a single one.
        options: a `LinkOptions`, or the target.
        settings: the fields of `LinkOptions` as keywords, instead of an object.

    Raises:
        LinkError: the link cannot be done; it holds all messages and the exit code.
        NotCubinError: an input is an executable, or something else that cannot be linked. With
            `ignore_unlinkable=True` such a file is passed over, as the command line does.
        CubinError: an input is broken.
        TypeError: there is no such option, or the target is missing.
    """
    from cubinspec_writer.linker.inputs.options import LinkOptions
    from cubinspec_writer.linker.program import link_program

    if not isinstance(options, LinkOptions):
        if options is not None:
            if "arch" in settings:
                raise TypeError("the target is given twice")
            settings["arch"] = options
        _check_names(settings)
        options = LinkOptions(**settings)
    elif settings:
        raise TypeError(f"{', '.join(settings)}: options are given as an object already")
    return link_program(inputs, options)


def _check_names(settings: LinkSettings) -> None:
    """Refuse names that no option has, and say what was meant."""
    from cubinspec_writer.linker.inputs.options import LinkOptions

    known = LinkOptions.__match_args__
    for name in settings:
        if name not in known:
            from difflib import get_close_matches

            near = get_close_matches(name, known, 1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise TypeError(f"link() has no option {name!r}{hint}")
    if "arch" not in settings:
        raise TypeError("link() needs a target: arch='sm_90'")
