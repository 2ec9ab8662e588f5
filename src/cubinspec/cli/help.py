"""The help of every command: usage, options, columns, an example, exit statuses.

It is read for ``--help``, wrong usage, completion and manual pages only.
"""

from __future__ import annotations

from cubinspec.cli.options import Option, with_common
from cubinspec.values import FrozenValue

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType

#: Width of the usage line; it is read in terminals of all sizes, and in manual pages.
_WIDTH = 79
#: Options up to this width stand in one line with their help.
_OPTION_WIDTH = 24

_READ = "1  a file could not be read, or nothing in it fits"
_DONE = "0  done"
_USAGE = "2  wrong usage; nothing was read"


class Help(FrozenValue):
    """What there is to say about a command beside its options.

    Attributes:
        example: a command line without the program's name.
        columns: column of the text -> what stands in it.
        statuses: lines ``NUMBER  MEANING``.
    """

    __match_args__ = ("example", "columns", "statuses")
    __slots__ = __match_args__
    example: str
    columns: dict[str, str]
    statuses: tuple[str, ...]

    def __init__(
        self,
        example: str,
        columns: dict[str, str] | None = None,
        statuses: tuple[str, ...] = (_DONE, _READ, _USAGE),
    ) -> None:
        put = object.__setattr__
        put(self, "example", example)
        put(self, "columns", columns or {})
        put(self, "statuses", statuses)


_EDIT = (_DONE, "1  the file cannot be read or changed like that; nothing was written", _USAGE)
_KERNELS = {
    "kind": "kernel, or function for a device function (with --all)",
    "arch": "target of the code, sm_90a",
    "type": "exe: a linked image, which a GPU can load; rel: an input of the linker",
    "reg": "registers per thread",
    "stack": "bytes of stack per thread for the whole call tree",
    "shared": "bytes of static shared memory per block",
    "local": "bytes of local memory per thread",
    "const0": "bytes of constant bank 0, parameters included",
    "bar": "named barriers",
    "threads": "most threads per block that the code was compiled for",
    "params": "number of parameters and their bytes",
    "image": "which image of the file it stands in (with --sort)",
    "name": "the demangled name (mangled with --mangled)",
}
HELP: dict[str, Help] = {
    "kernels": Help("kernels --match direct --sort reg lib.so", _KERNELS),
    "images": Help(
        "images --arch 90 lib.so",
        {
            "kind": "cubin, ptx, nvvm, lto, …",
            "arch": "sm_90a of a cubin, compute_90 of PTX and IR",
            "size": "bytes when decompressed",
            "stored": "bytes it takes in the file",
            "compression": "none, zstd, lz4, lz4-frame or zlib",
            "section": "section of the host file around it",
            "image": "the way to it: archive member, fatbin, entry",
        },
    ),
    "host": Help(
        "host lib.so",
        {
            "kind": "kernel, variable, managed variable, constant, texture, sampler or surface",
            "registered": "start-up code gives the name to the CUDA runtime; in a linked file: the"
            " name stands in its data",
            "used": "host code uses it, as separate compilation notes; - when that is not told",
            "code for": "targets of the images that define it",
            "name": "the demangled name",
        },
    ),
    "archs": Help(
        "archs --require sm_90 lib.so",
        {
            "gpu": "the GPU's architecture",
            "generation": "its generation",
            "runs": "yes, no, or partly: some have no code for it",
            "by": "the target whose code is taken, and how many take it",
            "why": "the rule of compatibility",
        },
        (_DONE, "1  a required GPU is not served, or a file could not be read", _USAGE),
    ),
    "size": Help(
        "size --by arch,kernel --top 5 lib.so",
        {
            "file bytes": "bytes of the file; they sum to its size",
            "share": "of the whole file",
            "bytes": "bytes when decompressed",
            "saving": "bytes of the file that one copy would save",
            "copies": "how often it is there",
            "by …": "what the line is about",
            "what": "the image or code that is there several times",
        },
    ),
    "params": Help("params --match direct k.cubin"),
    "report": Help("report lib.so -o report.html"),
    "diff": Help(
        "diff k.cubin k.cubin --only registers,stack --fail-on worse",
        None,
        ("0  same", "1  different by what was asked for", "2  wrong usage, or unusable input"),
    ),
    "budget": Help(
        "budget init k.cubin --budget new.toml",
        None,
        (
            "0  as budgeted",
            "1  a kernel is worse",
            _USAGE.replace("; nothing was read", ", or an input that cannot be used"),
            "3  an entry is gone",
            "4  a kernel is new",
            "5  an entry is expired",
            "6  a kernel is better",
            "7  a rule of [lint] is broken",
        ),
    ),
    "fingerprint": Help("fingerprint --level kernel lib.so"),
    "callgraph": Help("callgraph --match direct r.cubin"),
    "occupancy": Help(
        "occupancy --match direct --block 256 k.cubin",
        {
            "gpu": "what it was computed for",
            "block": "threads per block",
            "from": "where that comes from: given, .reqntid, .maxntid, or suggested as the largest"
            " block with the best occupancy",
            "reg": "registers per thread",
            "shared": "bytes of shared memory per block, without the reserved part",
            "bar": "named barriers per block",
            "blocks": "blocks that an SM holds at a time",
            "warps": "warps that it holds, and how many it has room for",
            "occupancy": "the one as a part of the other",
            "limited by": "what is used up first",
            "next step": "the smallest change that puts more warps on an SM, and what comes of it",
            "name": "the demangled name (mangled with --mangled)",
        },
    ),
    "ptx": Help(
        "ptx lib.so",
        {
            "arch": "compute_90",
            "version": "version of the PTX language",
            "entries": "number of kernels",
            "size": "bytes of text",
            "options": "ptxas options stored with it",
            "image": "the way to it",
        },
    ),
    "lines": Help(
        "lines lines.cubin saxpy",
        {
            "code": "offsets of the machine code in the function",
            "ptx": "line of the PTX text in the cubin",
            "source": "file and line",
            "inlined into": "the lines that call it, the next one first",
            "ptx register": "a register of the PTX text (with --pc)",
            "part": "0 for its low 32 bits or all of it, 1 for its high 32 bits",
            "register": "the register that holds it",
        },
        (_DONE, "1  the file could not be read, or has no lines of this code", _USAGE),
    ),
    "extract": Help("extract --arch 90 -o out lib.so"),
    "pack": Help("pack k.cubin=sm_90 -o new.fatbin", None, _EDIT),
    "scan": Help("scan --csv lib.so"),
    "spec": Help("spec --list"),
    "dump": Help("dump --section '.nv.info*' k.cubin"),
    "tree": Help("tree k.cubin header.e_flags"),
    "coverage": Help(
        "coverage k.cubin",
        {
            "size": "bytes of the file",
            "named": "bytes of fields of the spec",
            "opaque kinds": "bytes of bodies whose kind the spec names: SASS, data, DWARF, …",
            "padding": "zeros between structures",
            "unclaimed": "bytes that the spec does not explain",
            "file": "the file, or the way to the cubin in it",
        },
    ),
    "explain": Help(
        "explain EIATTR_REGCOUNT R_CUDA_ABS32_LO_32 sm_90a",
        None,
        (_DONE, "1  a word is unknown", _USAGE),
    ),
    "set": Help("set k.cubin --kernel direct --registers 40 -o new.cubin", None, _EDIT),
    "rename": Help("rename k.cubin direct first -o new.cubin", None, _EDIT),
    "strip": Help("strip k.cubin --tkinfo -o new.cubin", None, _EDIT),
    "keep": Help("keep k.cubin direct -o new.cubin", None, _EDIT),
    "remove": Help("remove k.cubin never_returns -o new.cubin", None, _EDIT),
    "retarget-note": Help("retarget-note k.cubin --toolkit 12.9 -o new.cubin", None, _EDIT),
    "roundtrip": Help(
        "roundtrip k.cubin lib.so",
        None,
        ("0  all came back the same", "1  a file could not be read, or differs", _USAGE),
    ),
    "to-yaml": Help("to-yaml k.cubin -o k.yaml"),
    "from-yaml": Help("from-yaml k.yaml -o new.cubin", None, _EDIT),
    "check": Help(
        "check k.cubin",
        None,
        ("0  no rule is broken", "1  a rule is broken, or a file could not be read", _USAGE),
    ),
    "link": Help(
        "link -arch=sm_90 r.cubin -o new.cubin",
        None,
        (
            "0  linked",
            "1  a file or option is refused",
            "255  refused, as by nvlink",
        ),
    ),
    "completion": Help("completion bash", None, (_DONE, _USAGE)),
    "man": Help("man kernels", None, (_DONE, "1  a page could not be written", _USAGE)),
}


def options_of(module: ModuleType) -> tuple[Option, ...]:
    """The options of a command; the linker, which reads its own command line, describes its own."""
    if getattr(module, "TAKES_WORDS", False):
        described: tuple[Option, ...] = module.described_options()
        return described
    return with_common(module.USAGE, module.OPTIONS)


def usage_line(command: str, module: ModuleType) -> str:
    """``usage: cubinspec …`` with every option, over as many lines as it takes."""
    words = [*_usage_words(module.USAGE)]
    named = set("".join(" " if c in "[]()|" else c for c in module.USAGE).split())
    for option in () if getattr(module, "TAKES_WORDS", False) else options_of(module):
        if named.isdisjoint(option.names):
            words.append(f"[{option.key}{f' {option.value}' if option.value else ''}]")
    head = f"usage: cubinspec {command}"
    lines = [head]
    for word in words:
        if len(lines[-1]) + 1 + len(word) > _WIDTH:
            lines.append(" " * len("usage: "))
        lines[-1] += f" {word}"
    return "\n".join(lines)


def _usage_words(text: str) -> list[str]:
    """The words of a usage; what stands in brackets stays together."""
    words: list[str] = []
    depth = 0
    for word in text.split():
        if depth:
            words[-1] += f" {word}"
        else:
            words.append(word)
        depth += sum(word.count(c) for c in "[(") - sum(word.count(c) for c in "])")
    return words


def usage(command: str, summary: str, module: ModuleType) -> str:
    """The help text of a command."""
    lines = [usage_line(command, module), "", summary]
    options = options_of(module)
    if options:
        lines += ["", "options:"]
        for option in options:
            spelled = spelling(option)
            if len(spelled) > _OPTION_WIDTH:
                lines += [f"  {spelled}", f"  {'':<{_OPTION_WIDTH}} {option.help}"]
            else:
                lines.append(f"  {spelled:<{_OPTION_WIDTH}} {option.help}")
    return "\n".join(lines + more_lines(command))


def more_lines(command: str) -> list[str]:
    """What follows the options in the help of a command."""
    lines: list[str] = []
    more = HELP[command]
    if more.columns:
        width = max(map(len, more.columns))
        lines += ["", "columns:"]
        lines += [f"  {name:<{width}}  {meaning}" for name, meaning in more.columns.items()]
    lines += ["", "example:", f"  cubinspec {more.example}"]
    return [*lines, "", "exit status:", *(f"  {line}" for line in more.statuses)]


def spelling(option: Option) -> str:
    """``-o, --output OUT``."""
    return ", ".join(option.names) + (f" {option.value}" if option.value else "")
