"""The ``cubinspec`` command: one module per sub-command, imported when it is called.

A command module has ``SUMMARY`` (one line), ``USAGE`` (the arguments), ``OPTIONS`` and
``run(arguments) -> exit status``. 0 is success, 1 a failed file or check, 2 wrong usage.
"""

from __future__ import annotations

import gc
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import NoReturn

#: Sub-command -> module of this package, in the order the help shows them.
COMMANDS: dict[str, str] = {
    "kernels": "kernels",
    "images": "images",
    "archs": "archs",
    "size": "size",
    "params": "params",
    "ptx": "ptx",
    "extract": "extract",
    "pack": "pack",
    "scan": "scan",
    "dump": "dump",
    "tree": "tree",
    "coverage": "coverage",
    "explain": "explain",
    "set": "set",
    "rename": "rename",
    "strip": "strip",
    "keep": "keep",
    "remove": "remove",
    "retarget-note": "retarget_note",
    "roundtrip": "roundtrip",
    "to-yaml": "to_yaml",
    "from-yaml": "from_yaml",
    "check": "check",
    "link": "link",
}

EXIT_USAGE = 2


def main(argv: list[str] | None = None) -> int:
    """Run one command line; returns the exit status."""
    words = sys.argv[1:] if argv is None else argv
    try:
        status = _dispatch(words)
        sys.stdout.flush()
    except BrokenPipeError:
        # the reader of our output has gone: not an error, and nothing is left to be said
        _drop_output()
        return 0
    except OSError as error:
        _drop_output()
        print(f"cubinspec: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return status


def _drop_output() -> None:
    """Send what is still buffered for stdout nowhere, or leaving would fail a second time."""
    import os

    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def entry() -> NoReturn:
    """The console script: :func:`main`, then leave without tearing down.

    Freeing the rows of a large file one by one takes a quarter of the run time, only for the
    process to end.
    """
    import os

    # rows are hundreds of thousands of tuples without cycles: looking for cycles costs a third
    gc.disable()
    if sys.stdout is None:  # started with stdout closed
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115
    # a name that the terminal's encoding lacks is no reason to fail
    sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    status = main()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


def _dispatch(words: list[str]) -> int:
    command = words[0] if words else "--help"
    if command in ("--version", "-V"):
        from cubinspec import __version__

        print(f"cubinspec {__version__}")
        return 0
    if command in ("--help", "-h", "help"):
        _print_overview()
        return 0 if words else EXIT_USAGE
    if command not in COMMANDS:
        print(f"cubinspec: no command {command!r}; see 'cubinspec --help'", file=sys.stderr)
        return EXIT_USAGE
    module = _load(command)
    if getattr(module, "TAKES_WORDS", False):
        raw_status: int = module.run_words(words[1:])
        return raw_status
    from cubinspec.cli.options import UsageError, parse, usage

    if "--help" in words[1:] or "-h" in words[1:]:
        print(usage(command, module))
        return 0
    try:
        arguments = parse(module.OPTIONS, words[1:])
        status: int = module.run(arguments)
    except UsageError as error:
        print(f"cubinspec {command}: {error}", file=sys.stderr)
        print(usage(command, module), file=sys.stderr)
        return EXIT_USAGE
    return status


def _load(command: str) -> ModuleType:
    # `__import__` instead of importlib: start-up time is a promise (docs/performance.md)
    name = COMMANDS[command]
    module: ModuleType = getattr(__import__(f"cubinspec.cli.{name}").cli, name)
    return module


def _print_overview() -> None:
    print("usage: cubinspec COMMAND [OPTION ...] [ARGUMENT ...]\n\ncommands:")
    for command in COMMANDS:
        print(f"  {command:<12} {_load(command).SUMMARY}")
    print("\n'cubinspec COMMAND --help' tells more; 'cubinspec --version' the version.")
