"""The parts that a cubin is built from. All sizes and offsets are bytes.

Lists are in the order in which ptxas would come upon their items; it decides the order of symbols
and sections.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from cubinspec.errors import BadStructureError
from cubinspec.format.packing import align_up
from cubinspec.format.sections import TEXT, UFT_REL
from cubinspec.format.targets import WRITTEN, toolkit_of
from cubinspec_generated.codes import (
    KPARAM_INFO_MOST,
    ST_TYPE_MASK,
    STB_GLOBAL,
    STB_LOCAL,
    STB_WEAK,
    STO_CUDA_CONSTANT,
    STO_CUDA_GLOBAL,
    STO_CUDA_SHARED,
    STO_CUDA_SPACE_SHIFT,
    STT_CUDA_OBJECT,
    STT_OBJECT,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cubinspec.format.targets import Target, Toolkit
    from cubinspec_writer.emitter.bodies import AttributeRecord

GLOBAL, WEAK, LOCAL = "global", "weak", "local"
BINDINGS = {LOCAL: STB_LOCAL, GLOBAL: STB_GLOBAL, WEAK: STB_WEAK}
SHARED = "shared"
#: Memory of a symbol, in ``st_other``.
SPACES = {
    "global": STO_CUDA_GLOBAL << STO_CUDA_SPACE_SHIFT,
    SHARED: STO_CUDA_SHARED << STO_CUDA_SPACE_SHIFT,
    "constant": STO_CUDA_CONSTANT << STO_CUDA_SPACE_SHIFT,
}
#: Symbol for the shared memory of dynamic size of a kernel; each kernel has its own.
INSTANCE = "externsharedinstance"
#: Bits of an address.
ADDRESS_SIZE, NARROW_SIZE = 64, 32
#: Images, which are in no memory of the module.
IMAGES = TEXTURE, SAMPLER, SURFACE = "texture", "sampler", "surface"
#: Constants with addresses, which position-independent code reads.
ADDRESS = "address"
#: Name of the constant with the address of a symbol.
ADDRESS_PREFIX = "$ADDRESS$"
#: The lists of a call graph.
CALLS, ADDRESS_TAKEN, INDIRECT_CALLS, REFERENCES = range(4)
#: ``EIATTR_MAXREG_COUNT`` of a kernel that was compiled without a limit.
NO_LIMIT = 0xFF
#: The stack of a call tree that has no bound.
UNKNOWN_STACK = 0xFFFFFFFF
#: ``cbank`` of a parameter that states no constant bank.
NO_BANK = 0x1F


@dataclass(slots=True)
class Parameter:
    """One kernel parameter.

    Attributes:
        size: its size.
        align: power of two; by default the size rounded down to one, at most 8.
        offset: in the parameter block; by default behind the previous one, aligned.
        log_alignment, space, cbank, is_smem: further fields of ``EIATTR_KPARAM_INFO``.
        image: ``texture``, ``sampler`` or ``surface`` where it refers to one (size 0).
        name: of such a parameter.
    """

    size: int
    align: int | None = None
    offset: int | None = None
    log_alignment: int = 0
    space: int = 0
    cbank: int = NO_BANK
    is_smem: bool = False
    image: str = ""
    name: str = ""


@dataclass(slots=True)
class ImageSlot:
    """An index of an image behind the parameters of a kernel; the driver fills it in.

    Attributes:
        image: name of a texture, sampler or surface, or of a parameter that refers to one.
        offset: from the first index on; by default the next word. Before sm_90 a texture and the
            sampler that it is read with have the same place.
    """

    image: str
    offset: int | None = None


@dataclass(slots=True)
class Sampler:
    """The state that the declaration of a sampler gives (``texmode_independent``).

    Attributes:
        address_modes: of up to three dimensions, numbers of ``sampler_addr_mode``.
        filter_mode: a number of ``sampler_filter_mode``; ``None``: not given.
        unnormalized: whether it forces coordinates that are not normalised.
    """

    name: str
    address_modes: tuple[int, ...] = ()
    filter_mode: int | None = None
    unnormalized: bool = False


@dataclass(slots=True)
class Relocation:
    """A place in code or data that is filled in when the file is linked or loaded.

    Attributes:
        offset: in the code or data it stands with.
        kind: ``R_CUDA_…`` or its number.
        symbol: name of a symbol, or of a section for its section symbol; empty: none.
        addend: ``None`` before sm_90: the addend stands in the place itself (a REL entry). ``None``
            from sm_90 on: 0.
        applied: whether the bytes hold its value and a linker has nothing to do. Names in the file
            tell that it was there; see ``CubinParts.keeps_relocations``. Of type ``R_CUDA_NONE``
            it stays in no file: one that the finalizer drops, or of an image.
    """

    offset: int
    kind: str | int
    symbol: str
    addend: int | None = None
    applied: bool = False


@dataclass(slots=True)
class Inner:
    """A function inside the code of another, named ``$caller$callee`` by ptxas.

    Attributes:
        value, size: its place in the code.
        frame: its stack frame; ``None``: not stated.
        stack: what it needs with all that it calls; executables of 32 bits state it.
        mercury: its place in the Mercury code, as ``(value, size)``.
        mercury_frame: what the Mercury half states as its frame.
    """

    name: str
    value: int
    size: int
    binding: str = GLOBAL
    frame: int | None = 0
    mercury: tuple[int, int] = (0, 0)
    mercury_frame: int = 0
    stack: int = 0


@dataclass(slots=True)
class SharedVariable:
    """A named part of a function's static shared memory (relocatable files, and for debuggers).

    Attributes:
        used_at: where the code first uses it, if its relocations are applied; by default behind all
            that are left.
        binding: ``local``, or ``global`` where other files may see it.
    """

    name: str
    value: int
    size: int
    used_at: int | None = None
    binding: str = LOCAL


@dataclass(slots=True)
class ReservedVariable:
    """A variable in the shared memory that the system reserves, as tensor memory needs one."""

    name: str
    size: int
    align: int = 1


@dataclass(slots=True)
class Capsule:
    """The Mercury half of a function; it is taken as it is, as no rule for its contents is known.

    Attributes:
        data: ``.nv.capmerc.text.<f>`` behind its first word (the section index).
        size: size of the Mercury code (``st_size``).
        attributes: records of ``.nv.merc.nv.info.<f>`` that differ from those of the SASS half
            (instruction offsets, ``EIATTR_MERCURY_FINALIZER_OPTIONS``); they replace by code.
        relocations: of ``.nv.merc.rela.text.<f>``, kinds ``R_MERCURY_…``.
        constants: of ``.nv.merc.nv.constant.optimizer.<f>``; by default those of the SASS half.
        constants_relocations: of ``.nv.merc.rela.nv.constant.optimizer.<f>``.
    """

    data: bytes
    size: int
    attributes: list[AttributeRecord] = field(default_factory=list)
    relocations: list[Relocation] = field(default_factory=list)
    constants: bytes | None = None
    constants_relocations: list[Relocation] = field(default_factory=list)


@dataclass(slots=True, repr=False)
class Function:
    """A kernel or device function.

    Attributes:
        code: SASS.
        kernel: whether it can be launched.
        registers: per thread.
        parameters: of a kernel.
        exit_offsets: of the EXIT instructions in the code.
        frame: own stack frame.
        stack: stack of the call tree, ``EIATTR_MIN_STACK_SIZE`` of executables; extensible
            programs say only that it is not known (:data:`UNKNOWN_STACK`).
        stack_limit: ``EIATTR_MAX_STACK_SIZE`` of relocatable files; nvlink refuses a function
            that needs more, 0 sets no limit.
        barriers: named barriers.
        max_threads, required_threads: ``.maxntid`` and ``.reqntid``.
        max_registers: ``EIATTR_MAXREG_COUNT``, 255 without a limit.
        shared: static shared memory; ``None``: no section is made.
        shared_variables: names for parts of it.
        images: what a kernel reads and writes as images; not of relocatable files, whose code has
            relocations for them.
        binding: ``global``, ``weak`` or ``local``.
        unified: the two numbers of its ``.unified`` attribute.
        stub_of: the unified function that this code jumps to; see ``CubinBuilder.stub``.
        signature: of a device function that others may call, such as ``#ii``.
        externs: functions of other files that its code calls (``EIATTR_EXTERNS``); kernels of
            executables for debuggers also state those of their callees, as they do with registers
            and barriers.
        attributes: further records of ``.nv.info.<f>``; they replace computed ones by code.
        relocations: of the code, in ascending order.
        resolved: executables: the code had relocations, all of them applied. Before sm_90 only
            device functions show it.
        resolved_sections: ``.rel`` and ``.rela`` as they were made for such relocations and left
            their names; of device functions instead of what ``resolved`` does.
        reserved_cap: whether the code asks for the end of the reserved shared memory
            (``.nv.reservedSmem.cap``, sm_90 and up) by a relocation that is applied already.
        inner: functions inside the code, in the order in which ptxas makes them.
        mentioned: functions, and constants with addresses of helper symbols, that ptxas names in
            front of the code's relocations; of code that is not optimized inner functions, too,
            which it names in front of a helper.
        constants: contents of ``.nv.constant2.<f>``, with its alignment, symbol and relocations;
            with a symbol alone they stand in those of the kernels that call it.
        constants_parts: symbols of what inner functions brought, with place and size; the one of
            the constants ends where the first of them begins.
        constants_own: where the function's own constants end, if what others brought has no symbol.
        constants_first: whether they are made in front of the code's relocations; by default with
            the first one that names their symbol, or in front of all if none does.
        constants_last: whether they are made behind the code's relocations.
        constants_resolved: executables: the constants had relocations, all of them applied.
        jump_tables: from sm_90 on: the constants are places in the code, so that their relocations,
            all applied, were made with those of the code; without a symbol of constants those of
            a kernel have them.
        capsule: Mercury half, sm_100 and up.
    """

    name: str
    code: bytes
    kernel: bool
    registers: int
    parameters: list[Parameter] = field(default_factory=list)
    exit_offsets: list[int] = field(default_factory=list)
    frame: int = 0
    stack: int = 0
    stack_limit: int = 0
    barriers: int = 0
    max_threads: tuple[int, int, int] | None = None
    required_threads: tuple[int, int, int] | None = None
    max_registers: int = NO_LIMIT
    shared: int | None = None
    shared_align: int = 16
    shared_variables: list[SharedVariable] = field(default_factory=list)
    images: list[ImageSlot] = field(default_factory=list)
    binding: str = GLOBAL
    unified: tuple[int, int] | None = None
    stub_of: str = ""
    signature: str | None = None
    externs: list[str] = field(default_factory=list)
    attributes: list[AttributeRecord] = field(default_factory=list)
    relocations: list[Relocation] = field(default_factory=list)
    resolved: bool = False
    resolved_sections: list[str] = field(default_factory=list)
    reserved_cap: bool = False
    inner: list[Inner] = field(default_factory=list)
    constants: bytes | None = None
    constants_align: int = 4
    constants_symbol: str | None = None
    constants_parts: dict[str, tuple[int, int]] = field(default_factory=dict)
    constants_own: int | None = None
    constants_relocations: list[Relocation] = field(default_factory=list)
    constants_resolved: bool = False
    constants_first: bool = False
    constants_last: bool = False
    jump_tables: bool = False
    mentioned: list[str] = field(default_factory=list)
    capsule: Capsule | None = None

    @property
    def section(self) -> str:
        """Name of the section with its code."""
        return UFT_REL + self.stub_of if self.stub_of else TEXT + self.name

    def __repr__(self) -> str:
        kind = "kernel" if self.kernel else "function"
        return f"<Function: {kind} {self.name}, {len(self.code)} bytes, {self.registers} registers>"


@dataclass(slots=True)
class Variable:
    """A variable of the module.

    Attributes:
        space: ``global``, ``constant``, or where shared variables have symbols ``shared``; for
            images ``texture``, ``sampler`` or ``surface``, for constants with an address
            ``address``.
        data: initial contents; ``None``: zeros (global memory only).
        size: without ``data``: its size.
        align: alignment.
        offset: in its section; by default behind the previous one, aligned.
        managed: whether it is ``__managed__``.
        unified: the two numbers of its ``.unified`` attribute (``global``, with contents).
        common: whether the linker merges it with others of its name (``.common``).
        relocations: of the initial contents.
        resolved: executables: the contents had relocations, all of them applied.
        resolved_sections: ``.rel`` and ``.rela`` as they were made for these, if not ``.rel``,
            behind which the finalizer makes ``.rela``.
        function_ids: extensible programs: functions that the contents name, relocated by number.
        mercury, mercury_relocations: its contents in the Mercury half, sm_100 and up, where their
            relocations are kept although those of the SASS half are applied.
        owner: of a shared variable that code declares: the function with which it is made, as ptxas
            makes those of the module with the first function.
        function: of a shared variable in a file that is not relocatable: the kernel in whose memory
            it stands, at ``offset``. Only files for debuggers or with applied relocations have it.
    """

    name: str
    space: str
    data: bytes | None = None
    size: int = 0
    align: int = 4
    offset: int | None = None
    binding: str = GLOBAL
    managed: bool = False
    unified: tuple[int, int] | None = None
    common: bool = False
    relocations: list[Relocation] = field(default_factory=list)
    resolved: bool = False
    resolved_sections: list[str] = field(default_factory=list)
    function_ids: list[str] = field(default_factory=list)
    mercury: bytes | None = None
    mercury_relocations: list[Relocation] = field(default_factory=list)
    owner: str = ""
    function: str = ""


@dataclass(slots=True)
class Undefined:
    """A symbol that the file does not define.

    Attributes:
        num_variables: how many variables were added before it; an undefined variable stands behind
            them, anything else where it is first needed.
        value: of a size that the file itself tells; others than objects hold it, and only its name
            is left in them.
    """

    name: str
    st_info: int
    st_other: int = 0
    size: int = 0
    num_variables: int = 0
    value: int | None = None

    @property
    def is_variable(self) -> bool:
        """Whether it is data."""
        return self.st_info & ST_TYPE_MASK == STT_CUDA_OBJECT

    @property
    def is_size(self) -> bool:
        """Whether it is a size that the driver or the file tells."""
        return self.st_info & ST_TYPE_MASK == STT_OBJECT


@dataclass(slots=True)
class Frame:
    """The contents of ``.debug_frame`` or of its Mercury copy."""

    data: bytes
    relocations: list[Relocation] = field(default_factory=list)


@dataclass(slots=True)
class DebugSection:
    """A section of line or debug data; it is taken as it is.

    Attributes:
        name: such as ``.debug_line`` or ``.nv_debug_line_sass``.
        relocations: those that are left.
        names_strings: whether it had relocations of offsets in ``.debug_str``; in executables
            they are applied.
        resolved: whether it had other relocations that are all applied.
        labels: labels without a place that applied relocations named.
        mercury, mercury_relocations: its Mercury copy, sm_100 and up; by default the same bytes.
    """

    name: str
    data: bytes
    relocations: list[Relocation] = field(default_factory=list)
    names_strings: bool = False
    resolved: bool = False
    labels: list[str] = field(default_factory=list)
    mercury: bytes | None = None
    mercury_relocations: list[Relocation] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Tool:
    """What the tool note says."""

    name: str = "cubinspec"
    version: str = ""
    branch: str = ""
    arguments: str = ""
    object_file: str = ""


@dataclass(slots=True)
class Bank:
    """A constant bank of the module that is not made of variables.

    Attributes:
        num_variables: how many variables were added before it: it is made behind them.
        function: whose code needs it first; empty: that of the first one.
    """

    number: int
    data: bytes
    align: int
    relocations: list[Relocation]
    num_variables: int = 0
    function: str = ""


@dataclass(slots=True)
class CubinParts:
    """All parts of a cubin; :class:`~cubinspec_writer.builder.CubinBuilder` collects them.

    Functions and variables keep the order in which they are added.

    Attributes:
        arch: such as ``sm_90a``; sm_75 and later.
        relocatable: input for nvlink instead of an executable.
        position_independent: what ``ptxas -pic true`` makes: code finds all addresses in constants,
            and symbols of unified tables are made where code first needs them.
        extensible: a whole program that may be linked with more (``ptxas -ewp``).
        address_size: 64, or 32 (``ELFCLASS32``, ``ptxas -m32``) where ``toolkit`` has it, below
            sm_90.
        toolkit: 10 * major + minor of the toolkit version that the notes state; files of 32 bits
            are laid out as by that toolkit.
        virtual_sm: architecture of the PTX; by default that of the code.
        tool: what the tool note says.
        compat: further records of ``.nv.compat``; they replace computed ones by code.
        frame, mercury_frame: ``.debug_frame`` of both halves; by default simple ones are made.
        debug: line and debug sections, in the order in which they stand.
        optimized: the code is not of ``ptxas -O0``, which comes upon some things in another order.
        for_debugger: ``ptxas -g``: executables keep the symbols of shared variables, and have no
            shared memory of the system.
        keeps_relocations: applied relocations and the symbols that they name stay in the file
            (``.nv.resolvedrela.*``): ``ptxas -preserve-relocs`` before sm_90, ``-sanitize``.
        instrumented: the code is of ``ptxas -sanitize=memcheck``, which comes upon things as
            for ``-O0``.
        tool_functions: functions that ``ptxas -sanitize`` adds, in the order of their symbols,
            which stand behind what the first function names.
        errors_at_exit: functions wait for errors before they end (``EIATTR_GEN_ERRBAR_AT_EXIT``),
            as with ``-g`` and ``-make-errors-visible-at-exit``.
        last_declared: the function that is the last in the PTX, of modules without kernels whose
            code is not optimized; by default the last one here.
        stated_stacks: kernels in the order in which executables state their stacks, if another.
        undefined: symbols of other files, and labels that no code has.
        signatures: undefined function -> its signature.
        declared: signatures in the order in which the PTX declares functions; by default those of
            functions here, then those of others.
        samplers: states of samplers in the order of their declarations.
        independent_samplers: whether textures and samplers are apart (``texmode_independent``).
        reserved: variables in the shared memory of the system.
        banks: constant banks that are not made of variables.
        aliases: second name of a function -> the function.
        metadata: nodes of ``.nv.metadata`` (``.metadata_section``): number, name and values.
        edges: rows of the call graph: which list, function, function or signature.
        queries: code asks for sizes and formats of images (``txq``, ``suq``); ptxas then writes no
            call graph into executables.
        tools_patch: code that tools patch into kernels (``ptxas -compile-as-tools-patch``).
    """

    arch: str
    relocatable: bool = False
    extensible: bool = False
    position_independent: bool = False
    address_size: int = ADDRESS_SIZE
    toolkit: int = WRITTEN.number
    queries: bool = False
    tools_patch: bool = False
    virtual_sm: int | None = None
    tool: Tool = field(default_factory=Tool)
    compat: list[AttributeRecord] = field(default_factory=list)
    frame: Frame | None = None
    mercury_frame: Frame | None = None
    functions: list[Function] = field(default_factory=list)
    variables: list[Variable] = field(default_factory=list)
    optimized: bool = True
    for_debugger: bool = False
    keeps_relocations: bool = False
    instrumented: bool = False
    tool_functions: list[str] = field(default_factory=list)
    errors_at_exit: bool = False
    debug: list[DebugSection] = field(default_factory=list)
    last_declared: str = ""
    stated_stacks: list[str] = field(default_factory=list)
    undefined: list[Undefined] = field(default_factory=list)
    signatures: dict[str, str] = field(default_factory=dict)
    declared: list[str] = field(default_factory=list)
    samplers: list[Sampler] = field(default_factory=list)
    independent_samplers: bool = False
    reserved: list[ReservedVariable] = field(default_factory=list)
    banks: list[Bank] = field(default_factory=list)
    aliases: dict[str, str] = field(default_factory=dict)
    metadata: list[tuple[int, str, list[int | str]]] = field(default_factory=list)
    edges: list[tuple[int, str, str]] = field(default_factory=list)

    @property
    def is_64(self) -> bool:
        """Whether addresses have 64 bits."""
        return self.address_size == ADDRESS_SIZE

    @property
    def written(self) -> Toolkit:
        """The toolkit whose ptxas writes such files."""
        return WRITTEN if self.is_64 else toolkit_of(self.toolkit)

    @property
    def names_shared(self) -> bool:
        """Whether shared variables have symbols, although the file is not relocatable."""
        return not self.relocatable and (self.for_debugger or self.keeps_relocations)

    @property
    def has_call_graph(self) -> bool:
        """Whether ptxas writes a call graph."""
        has_one = self.written.notes or self.extensible or self.for_debugger
        return self.relocatable or (has_one and not self.queries)

    @property
    def makes_linker_names(self) -> bool:
        """Whether names that only a linker needs are left, as older toolkits do for debuggers."""
        return self.extensible or (self.names_shared and not self.written.notes)

    @property
    def states_stacks(self) -> bool:
        """Whether a file states the stacks of inner functions, having no call graph."""
        return not (self.has_call_graph or self.written.notes)

    @property
    def is_library(self) -> bool:
        """Whether it is a module without kernels, of which ptxas makes data before functions.

        Without optimizations it does not.
        """
        # of a whole program without kernels only helpers are left, which are made late
        has_own = self.functions and (self.for_debugger or not self.extensible)
        is_late = has_own and not self.is_optimized
        return not (self.tools_patch or is_late or self.has_kernel)

    @property
    def is_optimized(self) -> bool:
        """Whether code was optimized; code for debuggers and instrumented code never is."""
        return self.optimized and not (self.for_debugger or self.instrumented)

    @property
    def has_kernel(self) -> bool:
        """Whether one of the functions is a kernel."""
        return any(function.kernel for function in self.functions)


def space_of(space: str) -> int:
    """``st_other`` of a symbol in a kind of memory.

    Raises:
        CubinError: there is no such memory.
    """
    return _number_of(space, SPACES, "memory")


def binding_of(binding: str) -> int:
    """The binding of a symbol.

    Raises:
        CubinError: there is no such binding.
    """
    return _number_of(binding, BINDINGS, "binding")


def _number_of(word: str, numbers: dict[str, int], what: str) -> int:
    if word not in numbers:
        raise BadStructureError(f"no such {what} {word!r}", expected=", ".join(numbers))
    return numbers[word]


def param_base(goal: Target, size: int) -> int:
    """Where in its bank the parameters of a kernel begin, by the bytes of them all."""
    if size > KPARAM_INFO_MOST and goal.family.large_param_base:
        return goal.family.large_param_base
    return goal.architecture.param_base


def placed(function: Function) -> tuple[list[int], int]:
    """Offset of every parameter, and the size of them all."""
    offsets = []
    end = 0
    for parameter in function.parameters:
        if parameter.image:
            offsets.append(end)
            continue
        align = parameter.align
        if align is None:
            align = min(1 << max(parameter.size.bit_length() - 1, 0), 8)
        at = align_up(end, align) if parameter.offset is None else parameter.offset
        offsets.append(at)
        end = max(end, at + parameter.size)
    return offsets, end
