"""The command `cubinspec link`: options as nvlink spells them, checked in nvlink's order."""

from __future__ import annotations

import sys

from cubinspec.cli import outlive
from cubinspec.errors import CubinError, FileAccessError
from cubinspec.format.notes import split_notes
from cubinspec.format.targets import WRITTEN
from cubinspec.output_files import set_sync
from cubinspec.reader.elf import Elf
from cubinspec_writer.linker import link
from cubinspec_writer.linker.diagnostics import (
    EXIT_ERRORS,
    EXIT_FATAL,
    Diagnostics,
    LinkError,
    UnsupportedLinkError,
)
from cubinspec_writer.linker.inputs.arguments import OPTIONS as LINE_OPTIONS
from cubinspec_writer.linker.inputs.arguments import Line, Takes, c_number, read_line, usage
from cubinspec_writer.linker.inputs.gather import NO_INPUTS
from cubinspec_writer.linker.inputs.options import TOOL_VERSION, LinkOptions
from cubinspec_writer.linker.inputs.sources import Library, contents

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from cubinspec.cli.options import Option
    from cubinspec_writer.linker.inputs.sources import HostObject
    from cubinspec_writer.linker.program import LinkResult

    #: Writes a file, which may be in parts that follow each other.
    Write = Callable[[str, bytes | list[bytes | bytearray]], object]

#: The version of nvlink whose rules this linker follows; build systems look for this text.
_VERSION = f"""\
cubinspec link: links CUDA device code as nvlink does
{TOOL_VERSION}
Cuda compilation tools, release {WRITTEN.version}, V{WRITTEN.release} (rules of)
"""
#: First line of the file that `--time` writes to.
_TIME_HEADER = (
    "source file name , phase name , phase input files , phase output file , "
    "arch , tool, metric , unit\n"
)

USAGE = "[OPTION ...] OBJECT ..."
OPTIONS = ()
#: The order of inputs and libraries matters, so that the linker reads its command line itself.
TAKES_WORDS = True


def described_options() -> tuple[Option, ...]:
    """The options as help pages and shell completion want them."""
    from cubinspec.cli.options import Option

    return tuple(
        Option(
            *([f"-{option.short}"] if option.short else []),
            f"--{option.name}",
            value=None if option.kind == Takes.FLAG else "VALUE",
            help=option.about,
        )
        for option in LINE_OPTIONS
    )


def run_words(words: list[str]) -> int:
    """``cubinspec link``: link as the words say; the exit status is nvlink's."""
    from cubinspec.output_files import write_file

    return run(words, write_file)


def _write_bytes(path: str, data: bytes | list[bytes | bytearray]) -> None:
    with open(path, "wb") as file:
        file.writelines(data if isinstance(data, list) else [data])


def run(words: Sequence[str], write: Write = _write_bytes) -> int:
    """Link as the words say.

    Args:
        write: writes a whole file.

    Returns:
        The exit status.
    """
    line, diagnostics = Line(), Diagnostics()
    try:
        read_line(words, line, diagnostics)
        return _Command(line, diagnostics, write).run()
    except UnsupportedLinkError as error:
        _print(line, diagnostics.messages + error.messages)
        return error.exit_code
    except LinkError as error:
        _print(line, error.messages)
        return error.exit_code
    except (CubinError, OSError) as error:
        _print(line, [*diagnostics.messages, ("fatal", str(error))])
        return EXIT_FATAL


def _help() -> str:
    from cubinspec.cli.help import more_lines

    return usage() + "\n".join(more_lines("link")) + "\n"


class _Command:
    """One run of the command."""

    def __init__(self, line: Line, diagnostics: Diagnostics, write: Write) -> None:
        self.line = line
        self.diagnostics = diagnostics
        self.write = _checked(write) if "check-output" in line.flags else write
        set_sync("no-fsync" not in line.flags)

    def run(self) -> int:
        """Do what the line says; returns the exit status."""
        line, diagnostics = self.line, self.diagnostics
        if line.flags & {"help", "version"}:
            _print(line, diagnostics.take())
            print(_help() if "help" in line.flags else _VERSION, end="")
            return 0
        arch, output = line.last("arch") or "", line.last("output-file")
        if "report-arch" in line.flags:  # all later messages name the target (rule M26)
            diagnostics.target = arch
        has_files = any(not isinstance(item, Library) for item in line.inputs)
        script = line.last("gen-host-linker-script")
        if script is not None:
            if has_files:
                raise diagnostics.fatal(
                    "Input files are not allowed with -ghls option; use --help for more information"
                )
            self._host_script(whole=script == "lcs-abs")
            return 0
        if not arch:
            raise diagnostics.fatal("Unknown arch name '(null)'")
        if output is None and arch.startswith("sm_"):
            raise diagnostics.fatal("Must specify output file with -o option")
        if not has_files:  # libraries alone do not count (rule M11)
            raise diagnostics.fatal(NO_INPUTS)
        _check_conflicts(line, diagnostics)
        index = self._index(arch)
        _append_times(line, diagnostics)
        _print(line, diagnostics.take())
        line.program = line.last("tool-name") or line.program
        dot_file = line.last("dot-file")
        try:
            result = link(line.inputs, _options(line, arch, index))
            outlive(result)
        except LinkError as error:
            if dot_file is not None and error.plain_dot:
                self._file(dot_file, _encoded(error.plain_dot))
            if error.exit_code == EXIT_ERRORS and error.hosts is not None:
                self._register(error.hosts)  # rule M80
            raise
        _print(line, result.messages)
        if output is not None:
            self._file(output, result.parts)
        self._reports(result)
        return 0

    def _index(self, arch: str) -> bytes | None:
        """The index file of unified functions and data."""
        path = self.line.last("uidx-file")
        if path is None:
            return None
        from cubinspec_writer.linker.program import tell_of_options

        try:
            data = contents(path)
        except OSError:
            tell_of_options(_options(self.line, arch, None), self.diagnostics)
            raise self.diagnostics.fatal(f"Could not open input file '{path}'") from None
        if not data:
            tell_of_options(_options(self.line, arch, None), self.diagnostics)
            raise self.diagnostics.fatal(f"Could not read file '{path}'")
        return data

    def _host_script(self, *, whole: bool) -> None:
        from cubinspec_writer.linker.write import host_script

        text = host_script.text(whole, self.diagnostics)
        _print(self.line, self.diagnostics.take())
        output = self.line.last("output-file")
        if output is None:
            print(text, end="")
        else:
            self._file(output, _encoded(text))

    def _reports(self, result: LinkResult) -> None:
        """Write the files that options ask for beside the cubin."""
        line = self.line
        self._register(result.hosts)
        link_map = line.last("map")
        if link_map is not None:
            import json

            self._file(link_map, _encoded(json.dumps(result.map, indent=1) + "\n"))
        dot = line.last("callgraph-dot")
        if dot is not None:
            self._file(dot, _encoded(result.callgraph_dot))
        dot_file = line.last("dot-file")
        if dot_file is not None:
            self._file(dot_file, _encoded(result.plain_dot))
        svg = line.last("callgraph-svg")
        if svg is not None:
            self._file(svg, result.callgraph_svg)
        if "summary" in line.flags:
            _summary(line.last("output-file") or "output", result)
        for name in line.listed("why"):
            print(_shown("\n".join(result.why(name))))

    def _register(self, hosts: Sequence[HostObject]) -> None:
        """Write the file of `--register-link-binaries`."""
        path = self.line.last("register-link-binaries")
        if path is not None:
            from cubinspec_writer.linker.inputs.host import register_text

            self._file(path, _encoded(register_text(hosts)))

    def _file(self, path: str, data: bytes | list[bytes | bytearray]) -> None:
        try:
            self.write(path, data)
        except (OSError, FileAccessError):
            raise self.diagnostics.fatal(f"Could not open output file '{path}'") from None


def _summary(name: str, result: LinkResult) -> None:
    """Print what was done, and the table of kernels that `cubinspec kernels` prints."""
    from cubinspec.cli.kernels import rows_text
    from cubinspec.cli.options import Arguments
    from cubinspec.cli.output import table_width
    from cubinspec.model.cubin import Cubin
    from cubinspec.report.kernel_rows import rows_of
    from cubinspec_writer.linker.reports.summary import summary_lines

    print(_shown("\n".join(summary_lines(name, result.summary))))
    with Cubin.parse(result.bytes, name) as cubin:
        rows = rows_of(cubin, cubin.kernels, cubin.arch, every=False)
    rows.sort(key=lambda row: row[-1])
    width = table_width(Arguments([], {}))
    print(rows_text(rows, kinds=False, mangled=False, width=width), end="")


def _checked(write: Write) -> Write:
    """A function that writes a cubin only if it follows the rules of the spec."""

    def check_and_write(path: str, data: bytes | list[bytes | bytearray]) -> None:
        from cubinspec_writer.checker import require_good

        whole = b"".join(data) if isinstance(data, list) else data
        if whole.startswith(b"\x7fELF"):
            require_good(whole, path)
        write(path, whole)

    return check_and_write


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _check_conflicts(line: Line, diagnostics: Diagnostics) -> None:
    """Refuse options that exclude each other or need another one, in nvlink's order."""
    flags = line.flags
    optimise = flags & {"dlto", "link-time-opt"}
    conflicts = (
        ("suppress-debug-info" in flags and "debug" not in flags, "-suppress-debug-info", "no -g"),
        (
            {"use-host-info", "ignore-host-info"} <= flags,
            "-use-host-info",
            "-ignore-host-info",
        ),
        (
            "force-partial-lto" in flags and not optimise,
            "-force-partial-lto",
            "no -dlto",
        ),
        ("emit-ptx" in flags and not optimise, "-emit-ptx", "no -dlto"),
        ("Ofast-compile" in line.values and not optimise, "--Ofast-compile", "no -dlto"),
        (
            {"dump-callgraph", "dump-callgraph-no-demangle"} <= flags,
            "-dump-callgraph",
            "-dump-callgraph-no-demangle",
        ),
    )
    for is_conflict, first, second in conflicts:
        if is_conflict:
            raise diagnostics.fatal(f"Conflicting options '{first}' and '{second}'")
    if optimise and line.last("nvvmpath") is None:
        raise diagnostics.fatal("-nvvmpath should be specified with -lto")
    if optimise:
        raise UnsupportedLinkError("link-time optimisation")
    for name in ("force-rela", "reserve-null-pointer"):
        if name in flags:
            raise UnsupportedLinkError(f"--{name}")


def _options(line: Line, arch: str, uidx: bytes | None) -> LinkOptions:
    flags = line.flags
    # these do not change the output
    noted = sorted(flags - {"check-output", "no-fsync", "summary"})
    source = line.last("tkinfo-from")
    return LinkOptions(
        arch,
        relocatable="relocatable-link" in flags,
        debug="debug" in flags,
        preserve_relocs="preserve-relocs" in flags,
        kernels_used=line.listed("kernels-used"),
        variables_used=line.listed("variables-used"),
        ignore_host_info="ignore-host-info" in flags,
        use_host_info="use-host-info" in flags,
        warnings_are_errors="warning-as-error" in flags,
        stack_warnings="suppress-stack-size-warning" not in flags,
        extra_warnings="extra-warnings" in flags,
        arch_warnings="suppress-arch-warning" not in flags,
        # As in nvlink 13.0, -disable-infos hides warnings and -w hides nothing.
        warnings="disable-infos" not in flags,
        report_arch="report-arch" in flags,
        tkinfo=linker_note(contents(source), source) if source else None,
        uidx=uidx,
        cpu_arch=line.last("cpu-arch") or "unknown",
        arguments=f"-arch {arch}" + "".join(f" --{flag}" for flag in noted),
        library_paths=line.listed("library-path"),
        keep_system_libraries="keep-system-libraries" in flags,
        ptxas=line.last("ptxas") or "ptxas",
        ptxas_options=_ptxas_options(line),
        toolkit=line.last("toolkit"),
        share_constants="share-constants" in flags,
        drop_debug="suppress-debug-info" in flags,
        verbose="verbose" in flags,
        ignore_unlinkable=True,
        undefined_globals="allow-undefined-globals" in flags,
        reserve_shared=line.last("disable-smem-reservation") != "true",
        dump_callgraph=bool(flags & {"dump-callgraph", "dump-callgraph-no-demangle"}),
    )


def _ptxas_options(line: Line) -> list[str]:
    """Words for ptxas; of an option that is given twice it takes the last value."""
    words = line.listed("Xptxas")
    registers = c_number(line.last("maxrregcount") or "0") or 0
    threads = c_number(line.last("split-compile") or "1")
    protector = line.last("device-stack-protector")
    if registers > 0:
        words.append(f"-maxrregcount={registers}")
    if threads != 1:
        words.append(f"-split-compile={threads}")
    if protector is not None:
        words.append(f"-device-stack-protector={protector}")
    return words


def linker_note(data: bytes, name: str) -> bytes:
    """The first tool note of a linked cubin, which names the linker.

    Raises:
        CubinError: the file is no cubin or has no tool note.
    """
    elf = Elf(data, name)
    for index, section in enumerate(elf.section_names):
        if section == ".note.nv.tkinfo":
            found = split_notes(elf.section_bytes(index))
            if found:
                return found[0]
    raise CubinError("no tool note", file=name, field=".note.nv.tkinfo")


def _append_times(line: Line, diagnostics: Diagnostics) -> None:
    """Write the table of `--time`: only its header, as no other program runs."""
    path = line.last("time")
    if path == "-":
        print(_TIME_HEADER, end="")
    elif path is not None:
        try:
            with open(path, "a", encoding="utf-8") as file:
                if file.tell() == 0:
                    file.write(_TIME_HEADER)
        except OSError:
            raise diagnostics.fatal(f"Cannot open file '{path}'") from None


#: Level -> how a line names it; other levels are named as they are.
_LEVEL_WORDS = {"note": "info", "usage": "info"}


def _print(line: Line, messages: list[tuple[str, str]]) -> None:
    with_notes = "summary" in line.flags
    for level, text in messages:
        if level in ("text", "ptxas"):
            print(_shown(text), file=sys.stderr)
        elif level != "note" or with_notes:
            word = _LEVEL_WORDS.get(level, level)
            print(f"{line.program} {word:<7} : {_shown(text)}", file=sys.stderr)


def _shown(text: str) -> str:
    """The lines of a text with names as all commands print them."""
    from cubinspec.cli.output import printable

    return "\n".join([printable(line) for line in text.split("\n")])
