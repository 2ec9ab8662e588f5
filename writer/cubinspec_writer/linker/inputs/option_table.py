"""The options of the linker's command line as a table, and the text of `--help`."""

from __future__ import annotations

from cubinspec.format.targets import link_target_names, linker_toolkits


class Takes:
    """What an option takes."""

    FLAG = "nothing"
    TEXT = "one text"
    #: The value may be missing at the end of the line or in front of another option.
    OPTIONAL = "a text or nothing"
    CHOICE = "one of a few texts"
    OPTIONAL_CHOICE = "one of a few texts or nothing"
    LIST = "texts separated by commas, any number of times"
    NUMBER = "a number"
    TRUTH = "true or false"


class LineOption:
    """One option.

    Attributes:
        name: the long form, without its two hyphens.
        short: the short form, without its hyphen; empty when there is none.
        kind: what it takes, one of `Takes`.
        about: its line in `--help`.
        allowed: the values of a choice.
        glued: whether the short form may stand directly in front of its value.
        ours: whether it is an option that nvlink does not have.
    """

    __slots__ = ("about", "allowed", "glued", "kind", "name", "ours", "short")

    def __init__(
        self,
        name: str,
        short: str,
        kind: str,
        about: str,
        allowed: tuple[str, ...] = (),
        glued: bool = False,
        ours: bool = False,
    ) -> None:
        self.name: str = name
        self.short: str = short
        self.kind: str = kind
        self.about: str = about
        self.allowed: tuple[str, ...] = allowed
        self.glued: bool = glued
        self.ours: bool = ours


def _targets() -> tuple[str, ...]:
    """Names that the linker takes as architecture."""
    names = link_target_names()
    return tuple(n.replace("sm_", prefix) for prefix in ("sm_", "compute_", "lto_") for n in names)


_LTO_ONLY = "for link-time optimisation, which this linker does not do; no effect"
OPTIONS = (
    LineOption("arch", "arch", Takes.CHOICE, "target, such as sm_90a", _targets()),
    LineOption("output-file", "o", Takes.TEXT, "the file to write"),
    LineOption("library-path", "L", Takes.LIST, "folders to search for libraries", glued=True),
    LineOption("library", "l", Takes.LIST, "libraries: NAME stands for libNAME.a", glued=True),
    LineOption("machine", "m", Takes.NUMBER, "64", ("64",), glued=True),
    LineOption("relocatable-link", "r", Takes.FLAG, "the output is an input of another link"),
    LineOption("debug", "g", Takes.FLAG, "remove nothing, keep names of shared variables"),
    LineOption("verbose", "v", Takes.FLAG,
               "print resources of kernels, and inputs that are ignored"),
    LineOption("disable-warnings", "w", Takes.FLAG,
               "no effect, as with nvlink 13.0; --disable-infos hides warnings"),
    LineOption("disable-infos", "disable-infos", Takes.FLAG,
               "print no warnings, as nvlink 13.0 does, and no notes"),
    LineOption("warning-as-error", "Werror", Takes.FLAG, "warnings are errors"),
    LineOption("extra-warnings", "extrawarn", Takes.FLAG, "accepted; there are no extra warnings"),
    LineOption("report-arch", "report-arch", Takes.FLAG, "name the target in messages"),
    LineOption("kernels-used", "kernels-used", Takes.LIST,
               "remove kernels that have none of these texts in their name (* fits anything)"),
    LineOption("variables-used", "variables-used", Takes.LIST,
               "remove kernels that --kernels-used does not keep; variables stay, as with nvlink"),
    LineOption("use-host-info", "use-host-info", Takes.FLAG,
               "remove kernels that no host object names; "
               "this is the default when all inputs say it"),
    LineOption("ignore-host-info", "ignore-host-info", Takes.FLAG,
               "keep kernels that no host object names"),
    LineOption("keep-system-libraries", "keep-system-libraries", Takes.FLAG,
               "keep device runtime code that nothing uses"),
    LineOption("preserve-relocs", "preserve-relocs", Takes.FLAG, "list applied relocations"),
    LineOption("suppress-arch-warning", "suppress-arch-warning", Takes.FLAG,
               "do not warn about inputs without code for the target"),
    LineOption("suppress-stack-size-warning", "suppress-stack-size-warning", Takes.FLAG,
               "do not warn when a stack size is unknown"),
    LineOption("suppress-debug-info", "suppress-debug-info", Takes.FLAG,
               "leave out names of shared variables (with --debug)"),
    LineOption("dump-callgraph", "dump-callgraph", Takes.FLAG, "print who calls whom"),
    LineOption("dump-callgraph-no-demangle", "dump-callgraph-no-demangle", Takes.FLAG,
               "the same; nvlink demangles here, too"),
    LineOption("register-link-binaries", "", Takes.TEXT,
               "write the names of the register functions of all inputs to this file"),
    LineOption("gen-host-linker-script", "ghls", Takes.OPTIONAL_CHOICE,
               "write a linker script for host objects", ("lcs-abs", "lcs-aug")),
    LineOption("options-file", "optf", Takes.LIST, "files with more options"),
    LineOption("cpu-arch", "cpu-arch", Takes.CHOICE, "processor of the host; no effect",
               ("AARCH64", "ARMv7", "PPC64LE", "X86", "X86_64", "unknown")),
    LineOption("time", "time", Takes.TEXT, "append a table of times to this file"),
    LineOption("uidx-file", "uidx", Takes.TEXT, "index of the unified functions and data"),
    LineOption("device-stack-protector", "device-stack-protector", Takes.TRUTH, _LTO_ONLY),
    LineOption("dlto", "dlto", Takes.FLAG, "link-time optimisation; not supported"),
    LineOption("link-time-opt", "lto", Takes.FLAG, "the same"),
    LineOption("emit-ptx", "emit-ptx", Takes.FLAG, _LTO_ONLY),
    LineOption("nvvmpath", "nvvmpath", Takes.TEXT, _LTO_ONLY),
    LineOption("Xnvvm", "Xnvvm", Takes.LIST, _LTO_ONLY),
    LineOption("Xptxas", "Xptxas", Takes.LIST, _LTO_ONLY),
    LineOption("maxrregcount", "maxrregcount", Takes.NUMBER, _LTO_ONLY),
    LineOption("split-compile", "split-compile", Takes.NUMBER, _LTO_ONLY),
    LineOption("split-compile-extended", "split-compile-extended", Takes.NUMBER, _LTO_ONLY),
    LineOption("Ofast-compile", "Ofc", Takes.OPTIONAL, _LTO_ONLY),
    LineOption("host-ccbin", "host-ccbin", Takes.TEXT, "compiler that nvcc uses; no effect"),
    LineOption("shared", "shared", Takes.FLAG, "nvcc makes a shared library; no effect"),
    LineOption("verbose-tkinfo", "verbose-tkinfo", Takes.TRUTH, "no effect"),
    LineOption("dot-file", "dot", Takes.TEXT, "write the call graph to this file, for Graphviz"),
    LineOption("tool-name", "tool-name", Takes.TEXT,
               "name of the linker in nvlink's tool note; no effect"),
    LineOption("allow-undefined-globals", "allow-undefined-globals", Takes.FLAG,
               "variables may stay undefined"),
    LineOption("disable-smem-reservation", "disable-smem-reservation", Takes.TRUTH,
               "shared memory that the hardware keeps does not count"),
    LineOption("enable-extended-smem", "enable-extended-smem", Takes.TRUTH, "no effect"),
    LineOption("syscall-const-offset", "syscall-const-offset", Takes.NUMBER, "no effect"),
    LineOption("uumn", "uumn", Takes.FLAG, "no effect"),
    LineOption("host-linker-options", "Xlinker", Takes.LIST, "no effect"),
    LineOption("force-rela", "force-rela", Takes.FLAG, "not supported"),
    LineOption("reserve-null-pointer", "reserve-null-pointer", Takes.FLAG, "not supported"),
    LineOption("force-partial-lto", "force-partial-lto", Takes.FLAG, _LTO_ONLY),
    LineOption("help", "h", Takes.FLAG, "print this text"),
    LineOption("version", "V", Takes.FLAG, "print the version"),
    LineOption("tkinfo-from", "tkinfo-from", Takes.TEXT,
               "take the linker's own tool note from this cubin", ours=True),
    LineOption("ptxas", "ptxas", Takes.TEXT, "assembler for PTX (default ptxas)", ours=True),
    LineOption("toolkit", "toolkit", Takes.CHOICE,
               "imitate the nvlink of this CUDA version (default: that of the newest input)",
               tuple(linker_toolkits()), ours=True),
    LineOption("summary", "summary", Takes.FLAG,
               "print what was linked, dropped and shared, the sizes, and a table of the kernels",
               ours=True),
    LineOption("map", "map", Takes.TEXT,
               "write a link map (JSON) to this file: what went where and why, who shares memory",
               ours=True),
    LineOption("why", "why", Takes.LIST, "print why these symbols are, or are not, in the output",
               ours=True),
    LineOption("callgraph-dot", "callgraph-dot", Takes.TEXT,
               "write the call graph to this file, for Graphviz", ours=True),
    LineOption("callgraph-svg", "callgraph-svg", Takes.TEXT,
               "draw the call graph into this file, as SVG", ours=True),
    LineOption("share-constants", "share-constants", Takes.FLAG,
               "equal constants of the compiler take their place once", ours=True),
    # off by default, as loading the rules takes longer than a small link
    LineOption("check-output", "check-output", Takes.FLAG,
               "write no cubin that breaks a rule of `cubinspec check`", ours=True),
    LineOption("no-fsync", "no-fsync", Takes.FLAG,
               "do not wait until the output is on the disk", ours=True),
)  # fmt: skip
#: Options by the long form, by the short form, and the short forms that may be glued.
LONG = {option.name: option for option in OPTIONS}
SHORT = {option.short: option for option in OPTIONS if option.short}
GLUED = tuple(option.short for option in OPTIONS if option.glued)


def usage() -> str:
    """The text of `--help`."""
    lines = ["usage: cubinspec link [options] <objects>", ""]
    lines.append("Links relocatable cubins, host objects, fatbins and libraries as nvlink does.")
    for title, ours in (("Options", False), ("Options that nvlink does not have", True)):
        lines += ["", f"{title}:"]
        for option in OPTIONS:
            if option.ours is ours:
                short = f", -{option.short}" if option.short not in ("", option.name) else ""
                value = "" if option.kind == Takes.FLAG else " VALUE"
                lines.append(f"  --{option.name}{short}{value}")
                lines.append(f"        {option.about}")
    return "\n".join(lines) + "\n"
