"""The ``cubinspec`` command: one module per sub-command, imported when it is called.

A command's module has ``USAGE`` (the arguments), ``OPTIONS`` and ``run(arguments) -> exit status``.
With ``TAKES_WORDS`` it has ``run_words(words)`` instead and reads its command line itself. Status 0
is success, 1 a failed file or check, 2 wrong usage.

Commands that only read stand in this package, those that write beside what they call in
``cubinspec_writer``. The table names modules by strings, so that nothing here imports the writer.
"""

from __future__ import annotations

import gc
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import NoReturn

#: Sub-command -> its module and what it is for, in the order in which the help shows them.
COMMANDS: dict[str, tuple[str, str]] = {
    "kernels": (
        "cubinspec.cli.kernels",
        "registers, stack, shared memory, constants, barriers and parameters of every kernel",
    ),
    "images": (
        "cubinspec.cli.images",
        "the images in a library, object, fatbin, wheel or archive, and where they are",
    ),
    "host": (
        "cubinspec.cli.host",
        "which kernels and variables host code registers and uses, and for which GPUs they are",
    ),
    "archs": (
        "cubinspec.cli.archs",
        "which GPUs a file runs on: cubin, same major number, family, or PTX",
    ),
    "size": (
        "cubinspec.cli.size",
        "where the bytes go: member, content, architecture, section, kernel, duplicates",
    ),
    "report": (
        "cubinspec.cli.report",
        "one page of HTML about files: sizes, kernels, occupancy, calls, changes",
    ),
    "occupancy": (
        "cubinspec.cli.occupancy",
        "how full kernels make an SM, what limits them, and what would help",
    ),
    "budget": (
        "cubinspec.cli.budget",
        "what kernels may take, as a reviewed file: make, check, renew it",
    ),
    "fingerprint": (
        "cubinspec.cli.fingerprint",
        "hashes that are equal for the same code built elsewhere, at another time",
    ),
    "callgraph": (
        "cubinspec.cli.callgraph",
        "who calls whom, what the deepest path takes, and why a stack is unknown",
    ),
    "diff": (
        "cubinspec.cli.diff",
        "what changed between two builds: kernels, images, sizes, targets",
    ),
    "params": (
        "cubinspec.cli.params",
        "parameters of every kernel: ordinal, offset and size",
    ),
    "ptx": (
        "cubinspec.cli.ptx",
        "list the PTX in a file, print it, or write it to files",
    ),
    "lines": (
        "cubinspec.cli.lines",
        "from offsets of machine code to lines of PTX and source, and to PTX registers",
    ),
    "extract": (
        "cubinspec.cli.extract",
        "write cubins and PTX out of libraries, wheels and archives into a folder",
    ),
    "pack": (
        "cubinspec.cli.pack",
        "build a fatbin out of cubins and PTX, as fatbinary 13.0 does",
    ),
    "scan": (
        "cubinspec.cli.scan",
        "one table of all images and kernels below files, folders and URLs",
    ),
    "dump": (
        "cubinspec.cli.dump",
        "headers, sections, symbols, relocations, attributes, notes: all of it, named",
    ),
    "tree": (
        "cubinspec.cli.tree",
        "the fields of the Kaitai spec with absolute byte ranges and values",
    ),
    "coverage": (
        "cubinspec.cli.coverage",
        "every byte of a file as named field, opaque body, padding or unclaimed",
    ),
    "explain": (
        "cubinspec.cli.explain",
        "what an attribute, relocation, section, flag, note or architecture is",
    ),
    "spec": (
        "cubinspec.cli.spec",
        "the files of the spec: list them, copy them, or print a table as JSON",
    ),
    "set": (
        "cubinspec_writer.editor.commands.set",
        "change registers, threads, stack, barriers or any attribute of a function",
    ),
    "rename": (
        "cubinspec_writer.editor.commands.rename",
        "rename a kernel, function or variable in symbols, sections and references",
    ),
    "strip": (
        "cubinspec_writer.editor.commands.strip",
        "remove debug data, line tables or the tool note",
    ),
    "keep": (
        "cubinspec_writer.editor.commands.keep",
        "remove all kernels but the named ones; device functions and data stay",
    ),
    "remove": (
        "cubinspec_writer.editor.commands.remove",
        "remove kernels with their sections, relocations and call graph records",
    ),
    "retarget-note": (
        "cubinspec_writer.editor.commands.retarget_note",
        "change virtual architecture, toolkit and tool texts in the notes",
    ),
    "roundtrip": (
        "cubinspec_writer.emitter.command",
        "re-emit files from their description and compare the bytes",
    ),
    "to-yaml": (
        "cubinspec_writer.yaml_form.commands.to_yaml",
        "write a cubin as YAML",
    ),
    "from-yaml": (
        "cubinspec_writer.yaml_form.commands.from_yaml",
        "make a cubin from YAML",
    ),
    "check": (
        "cubinspec_writer.checker.command",
        "check files against the rules of the spec",
    ),
    "link": (
        "cubinspec_writer.linker.command",
        "link relocatable cubins, host objects, fatbins and libraries as nvlink does",
    ),
    "completion": (
        "cubinspec.cli.completion",
        "print a script that completes command lines in bash, zsh or fish",
    ),
    "man": (
        "cubinspec.cli.man",
        "print or write manual pages",
    ),
}
#: The code of all modules, which only a compiled wheel has.
_BUNDLE = "modules.bundle"
#: Package of the writing commands; an installation may lack it.
_WRITER = "cubinspec_writer"

EXIT_FAULT = 1
EXIT_USAGE = 2
#: A fault of the program itself, as `sysexits.h` has it.
EXIT_CRASH = 70
#: Status of a process that a signal ended, without the signal's number, as shells count.
_SIGNALLED = 128


def main(argv: list[str] | None = None) -> int:
    """Run one command line; returns the exit status."""
    words = sys.argv[1:] if argv is None else argv
    status: int | None = None
    try:
        status = _dispatch(words)
        sys.stdout.flush()
    except BrokenPipeError:
        # the program that read our output has ended (`cubinspec ... | head`): not an error, but
        # where 0 means that all is well nobody knows yet
        _drop_output()
        return _fault_status(words, 0) if status is None else status
    except OSError as error:
        from cubinspec.cli.output import complain

        _drop_output()
        complain(str(error))
        return _fault_status(words)
    except KeyboardInterrupt:
        return 130
    return status


def _fault_status(words: list[str], usual: int = EXIT_FAULT) -> int:
    """The status of a fault; another than the usual for commands to which 1 means something."""
    path = COMMANDS[words[0]][0] if words and words[0] in COMMANDS else ""
    return getattr(sys.modules.get(path), "FAULT_STATUS", usual)


def _drop_output() -> None:
    """Discard what is buffered for stdout; flushing it at the end would fail a second time."""
    import os

    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


#: What `outlive` was given; none while `main` runs inside of another program.
_kept: list[object] | None = None


def outlive(thing: object) -> None:
    """Do not free an object when its command returns: :func:`entry` ends the process anyway."""
    if _kept is not None:
        _kept.append(thing)


def entry() -> NoReturn:
    """The console script: :func:`main`, then end the process without freeing its memory.

    Freeing the rows of a large file one by one would take a quarter of the run time.
    """
    import os

    global _kept
    _kept = []
    # a large file becomes many tuples without cycles; searching them for cycles costs a third
    gc.disable()
    if sys.stdout is None:  # started with the stream closed
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115
    from _codecs import register_error  # all of `codecs` takes longer to import

    register_error("cubinspec.plain", _plain)
    sys.stdout.reconfigure(errors="cubinspec.plain")  # type: ignore[union-attr]
    _end_by_signals()
    bundle = f"{__path__[0]}/{_BUNDLE}"
    if os.access(bundle, os.R_OK):
        from cubinspec.cli.bundle import install

        install(bundle)
    elif sys.argv[1:] and not sys.argv[1].startswith("-"):
        from cubinspec.cli import cached

        cached.install("cubinspec", "cubinspec_writer", "cubinspec_generated")
    _expect_objects(sys.argv[1:])
    try:
        status = main()
        sys.stdout.flush()
        sys.stderr.flush()
    except _EndedError as ended:
        status = ended.status
    except Exception:
        import traceback

        traceback.print_exc()
        status = EXIT_CRASH  # Python's own would be 1
    os._exit(status)


#: What is printed for our own arrows and lines where the output's encoding lacks them.
_PLAIN = {"→": "->", "…": "...", "█": "#", "├": "|", "└": "`", "│": "|", "─": "-"}


def _plain(error: UnicodeError) -> tuple[str, int]:
    """Handler of what an encoding lacks: our own characters in ASCII, those of names as escapes."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    lacking = error.object[error.start : error.end]
    plain = (_PLAIN.get(c) or c.encode("ascii", "backslashreplace").decode() for c in lacking)
    return "".join(plain), error.end


#: Commands that make objects of all that a file holds, and up to which size of files memory is
#: prepared for these; from which size on, and how many bytes of objects come of a byte, but not
#: more than a process may ask for at once. A larger file of kernels is mostly a library, of which
#: one image is read at a time.
_MAKERS = {"link": 1 << 28, "kernels": 1 << 26}
_LARGE = 1 << 20
_GROWTH, _MOST = 4, 1 << 28


def _expect_objects(words: list[str]) -> None:
    """Let a command that reads large files take its memory in large pieces, if that is possible."""
    import os

    if not words or words[0] not in _MAKERS:
        return
    size = 0
    for word in words[1:]:
        try:
            size += os.stat(word).st_size
        except (OSError, ValueError):
            continue  # no file: an option, or what the command will complain about
    if _LARGE <= size <= _MAKERS[words[0]]:
        from cubinspec.format.bulk import expect

        expect(min(_GROWTH * size, _MOST))


class _EndedError(BaseException):
    """A signal ends the process; what it is writing is removed on the way out."""

    def __init__(self, status: int) -> None:
        self.status = status


def _end_by_signals() -> None:
    """Let the signals that ask a process to end pass through it as an exception."""
    # `signal` takes longer to import than some commands take
    import _signal  # type: ignore[import-not-found]

    def end(number: int, _frame: object) -> None:
        raise _EndedError(_SIGNALLED + number)

    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(_signal, name, None)
        if number is not None and _signal.getsignal(number) == _signal.SIG_DFL:
            _signal.signal(number, end)


def _dispatch(words: list[str]) -> int:
    command = words[0] if words else "--help"
    if command == "help" and words[1:]:
        return _dispatch([*words[1:], "--help"])
    if command in ("--version", "-V"):
        from cubinspec import __version__

        print(f"cubinspec {__version__}")
        return 0
    if command in ("--help", "-h", "help"):
        _print_overview()
        return 0 if words else EXIT_USAGE
    if command not in COMMANDS:
        from cubinspec.cli.suggest import did_you_mean

        near = did_you_mean(command, list(COMMANDS)) or "; see 'cubinspec --help'"
        print(f"cubinspec: no command {command!r}{near}", file=sys.stderr)
        return EXIT_USAGE
    from cubinspec.errors import MissingPackageError

    try:
        module = load(command)
    except MissingPackageError as error:
        print(f"cubinspec: {error}", file=sys.stderr)
        return 1
    if sys.stderr is None or not sys.stderr.isatty():
        return _call(command, module, words[1:])
    from cubinspec.cli.waiting import Waiting

    with Waiting(f"cubinspec {command}"):
        return _call(command, module, words[1:])


def _call(command: str, module: ModuleType, words: list[str]) -> int:
    if getattr(module, "TAKES_WORDS", False):
        raw_status: int = module.run_words(words)
        return raw_status
    return _run(command, module, words)


def _run(command: str, module: ModuleType, words: list[str]) -> int:
    """Parse the words behind the command's name and run it."""
    from cubinspec.cli.options import UsageError, parse, with_common
    from cubinspec.cli.output import complain, forget_complaints, report
    from cubinspec.errors import CubinError
    from cubinspec.limits import GIVEN

    forget_complaints()
    _, summary = COMMANDS[command]
    options = words[: words.index("--")] if "--" in words else words
    if "--help" in options or "-h" in options:
        from cubinspec.cli.help import usage

        print(usage(command, summary, module))
        return 0
    try:
        arguments = parse(with_common(module.USAGE, module.OPTIONS), words)
        arguments.check_forms()
        GIVEN.clear()
        if given := arguments.limits():
            from cubinspec.allowance import set_limits

            set_limits(given)
        _set_sync(not arguments.flag("--no-fsync"))
        status: int = module.run(arguments)
    except UsageError as error:
        from cubinspec.cli.help import usage_line

        complain(str(error), command)
        print(usage_line(command, module), file=sys.stderr)
        print(f"'cubinspec {command} --help' tells more", file=sys.stderr)
        return EXIT_USAGE
    except CubinError as error:  # mostly an output that cannot be written
        report(error)
        return _fault_status([command])
    return status


def load(command: str) -> ModuleType:
    """The module of a sub-command.

    Raises:
        MissingPackageError: the command writes, and the writer is not installed.
    """
    path, _ = COMMANDS[command]
    try:
        # `importlib` would have to be imported first, and a short start-up is a promise
        module: ModuleType = __import__(path, fromlist=["run"])
    except ModuleNotFoundError as error:
        if error.name != _WRITER:
            raise
        from cubinspec.errors import MissingPackageError

        raise MissingPackageError(
            f"the Python package {_WRITER} is needed for {command!r} and is not installed",
            expected="pip install cubinspec",
        ) from error
    return module


def _print_overview() -> None:
    print("usage: cubinspec COMMAND [OPTION ...] [ARGUMENT ...]\n\ncommands:")
    width = max(map(len, COMMANDS))
    for command, (_, summary) in COMMANDS.items():
        print(f"  {command:<{width}}  {summary}")
    print("\n'cubinspec COMMAND --help' tells more; 'cubinspec --version' the version.")


def _set_sync(is_synced: bool) -> None:
    """Say whether files are on the disk before they get their names; they are by default.

    Most commands write no file, and start faster without the module that does.
    """
    if is_synced and "cubinspec.output_files" not in sys.modules:
        return
    from cubinspec.output_files import set_sync

    set_sync(is_synced)
