"""A cubin from scratch: what ptxas 13.0 would have written around the same code.

The caller gives what an assembler knows: code, resources, relocations, call graph. All else follows
from that: the sections and their order, ``.nv.info*``, the parameter bank, ``.nv.compat``, notes,
prototypes, symbols, names and the layout; ``assemble`` makes it.
"""

from __future__ import annotations

from dataclasses import astuple, dataclass
from struct import error as StructError

from cubinspec.allowance import Budget
from cubinspec.errors import BadStructureError
from cubinspec.format.packing import symbol_info
from cubinspec.format.sections import STUB
from cubinspec.format.strings import is_utf8
from cubinspec_generated.codes import (
    STB_GLOBAL,
    STB_LOCAL,
    STB_WEAK,
    STO_CUDA_MANAGED,
    STT_CUDA_OBJECT,
    STT_FUNC,
    STT_NOTYPE,
    STT_OBJECT,
    STV_INTERNAL,
)
from cubinspec_generated.records import SINGLE_WORD
from cubinspec_writer.builder.assemble import assemble
from cubinspec_writer.builder.parts import (
    ADDRESS,
    ADDRESS_PREFIX,
    ADDRESS_TAKEN,
    CALLS,
    GLOBAL,
    INDIRECT_CALLS,
    LOCAL,
    REFERENCES,
    SAMPLER,
    SURFACE,
    TEXTURE,
    Bank,
    CubinParts,
    DebugSection,
    Function,
    Parameter,
    Relocation,
    ReservedVariable,
    Sampler,
    Undefined,
    Variable,
    binding_of,
    space_of,
)
from cubinspec_writer.checker import require_good
from cubinspec_writer.emitter.bodies import NoBytes
from cubinspec_writer.emitter.layout import plan
from cubinspec_writer.emitter.serialise import plan_parts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from cubinspec_writer.emitter.model import Description


@dataclass(slots=True, repr=False)
class CubinBuilder(CubinParts):
    """Collects the parts of a cubin; :meth:`to_bytes` puts them together."""

    def __repr__(self) -> str:
        kind = "relocatable" if self.relocatable else "executable"
        kind = "extensible" if self.extensible else kind
        counts = f"{len(self.functions)} functions, {len(self.variables)} variables"
        return f"<CubinBuilder {self.arch} {kind}: {counts}>"

    def kernel(
        self,
        name: str,
        code: bytes,
        *,
        registers: int,
        parameters: Sequence[Parameter | int] = (),
        exit_offsets: Sequence[int] = (),
    ) -> Function:
        """Add a kernel; further facts are set on the result. A parameter may be just its size."""
        function = Function(name, code, True, registers)
        function.parameters = [Parameter(p) if isinstance(p, int) else p for p in parameters]
        function.exit_offsets = list(exit_offsets)
        self.functions.append(function)
        return function

    def function(self, name: str, code: bytes, *, registers: int) -> Function:
        """Add a device function; further facts are set on the result."""
        function = Function(name, code, False, registers)
        self.functions.append(function)
        return function

    def stub(self, unified: Function, code: bytes, *, registers: int) -> Function:
        """Add the slot of a unified function, behind it: code that jumps to the function."""
        stub = self.function(STUB + unified.name, code, registers=registers)
        stub.stub_of = unified.name
        stub.binding = LOCAL
        return stub

    def variable(
        self, name: str, space: str, data: bytes | None = None, *, size: int = 0, align: int = 4
    ) -> Variable:
        """Add a variable in ``global`` or ``constant`` memory."""
        variable = Variable(name, space, data, size, align)
        self.variables.append(variable)
        return variable

    def address(self, symbol: str, *, binding: str = GLOBAL, offset: int | None = None) -> Variable:
        """Add the constant with the address of a symbol, for position-independent code.

        Its name, which relocations of the code need, is ``$ADDRESS$`` and that of the symbol.
        """
        variable = Variable(ADDRESS_PREFIX + symbol, ADDRESS, bytes(8), align=8, offset=offset)
        variable.binding = binding
        variable.relocations.append(Relocation(0, "R_CUDA_64", symbol))
        self.variables.append(variable)
        return variable

    def reserved_variable(self, name: str, size: int, *, align: int = 1) -> ReservedVariable:
        """Add a variable in the shared memory that the system reserves (sm_100 and up)."""
        variable = ReservedVariable(name, size, align)
        self.reserved.append(variable)
        return variable

    def texture(self, name: str) -> Variable:
        """Add a texture reference."""
        return self._image(name, TEXTURE)

    def surface(self, name: str) -> Variable:
        """Add a surface reference."""
        return self._image(name, SURFACE)

    def sampler(
        self,
        name: str,
        *,
        address_modes: tuple[int, ...] = (),
        filter_mode: int | None = None,
        unnormalized: bool = False,
    ) -> Variable:
        """Add a sampler, with which textures are read that have none of their own.

        Args:
            address_modes: of up to three dimensions, numbers of ``sampler_addr_mode``.
            filter_mode: a number of ``sampler_filter_mode``.
            unnormalized: whether it forces coordinates that are not normalised.
        """
        self.independent_samplers = True
        self.samplers.append(Sampler(name, address_modes, filter_mode, unnormalized))
        return self._image(name, SAMPLER)

    def _image(self, name: str, kind: str) -> Variable:
        variable = Variable(name, kind)
        self.variables.append(variable)
        return variable

    def extern(self, name: str, *, signature: str | None = None, binding: str = GLOBAL) -> None:
        """Name a function that another file defines; what is called needs its signature.

        Args:
            binding: ``global``, or ``weak`` where it may stay undefined.
        """
        self.undefined.append(Undefined(name, symbol_info(binding_of(binding), STT_FUNC)))
        if signature is not None:
            self.signatures[name] = signature

    def extern_variable(
        self, name: str, space: str, *, size: int = 0, managed: bool = False
    ) -> None:
        """Name a variable that another file defines, or (``shared``, size 0) the launch."""
        info = symbol_info(STB_GLOBAL, STT_CUDA_OBJECT)
        other = space_of(space) | (STO_CUDA_MANAGED if managed else 0)
        at = len(self.variables)
        self.undefined.append(Undefined(name, info, other, size, at))

    def size_symbol(self, name: str, *, value: int | None = None) -> None:
        """Name a size that code asks for, such as ``.nv.surfrefDescSize``.

        Args:
            value: what the file says of it (``.nv.ptx.const0.size``); by default the driver does.
        """
        kind, other = symbol_info(STB_WEAK, STT_OBJECT), 0
        if value is not None:
            kind, other = symbol_info(STB_LOCAL, STT_OBJECT), STV_INTERNAL
        self.undefined.append(Undefined(name, kind, other, SINGLE_WORD.size, value=value))

    def label(self, name: str) -> None:
        """Name a label that debug data refers to and no code has: a symbol without a place."""
        self.undefined.append(Undefined(name, symbol_info(STB_LOCAL, STT_NOTYPE)))

    def bank(
        self,
        number: int,
        data: bytes,
        *,
        align: int = 8,
        relocations: Sequence[Relocation] = (),
        function: str = "",
    ) -> None:
        """Add the module's constant bank ``number``, such as bank 4 with addresses.

        Args:
            function: whose code needs it first; by default that of the first function.
        """
        before = len(self.variables)
        self.banks.append(Bank(number, data, align, list(relocations), before, function))

    def debug_section(
        self,
        name: str,
        data: bytes,
        *,
        relocations: Sequence[Relocation] = (),
        names_strings: bool = False,
    ) -> DebugSection:
        """Add a section of line or debug data; ``DebugSection`` says what the arguments mean."""
        section = DebugSection(name, data, list(relocations), names_strings)
        self.debug.append(section)
        return section

    def alias(self, name: str, function: str) -> None:
        """Give a function of the file a second name."""
        self.aliases[name] = function

    def metadata_node(self, number: int, name: str, values: Sequence[int | str] = ()) -> None:
        """Add a node of ``.nv.metadata``, as a ``.metadata`` directive of PTX does.

        Args:
            values: words and texts.
        """
        self.metadata.append((number, name, list(values)))

    def call(self, caller: str, callee: str) -> None:
        """Record a direct call."""
        self.edges.append((CALLS, caller, callee))

    def address_taken(self, function: str, signature: str) -> None:
        """Record that the address of a function is taken."""
        self.edges.append((ADDRESS_TAKEN, function, signature))

    def indirect_call(self, caller: str, signature: str) -> None:
        """Record an indirect call of functions with that signature."""
        self.edges.append((INDIRECT_CALLS, caller, signature))

    def reference(self, function: str, referenced: str) -> None:
        """Record that a function may reach another through data."""
        self.edges.append((REFERENCES, function, referenced))

    def description(self) -> Description:
        """What is to be written, open to further changes.

        Raises:
            CubinError: parts contradict each other, or name something that is not there.
        """
        try:
            made = assemble(self)
        except StructError as error:
            raise BadStructureError(f"a number does not fit its field: {error}") from error
        except UnicodeEncodeError as error:
            raise BadStructureError("a name or text is no UTF-8", field=error.object) from error
        names = [named.name for named in (*made.history, *made.symbols)]
        for text in (*names, *astuple(self.tool)):
            if not is_utf8(text):
                raise BadStructureError("a name or text is no UTF-8", field=text)
        return made

    def to_bytes(self) -> bytes:
        """The file.

        Raises:
            CubinError: as :meth:`description`, a number does not fit its field, or the file would
                break a rule of the spec.
        """
        laid_out = plan(self.description())
        contents = zip(laid_out.sizes, laid_out.draft.bodies, strict=True)
        given = sum(size for size, body in contents if not isinstance(body, NoBytes))
        # alignments can ask for gigabytes of zeros, as they do in files of ptxas
        largest = given + Budget("<built>", given).allowed("zeros")
        data = b"".join(plan_parts(laid_out, largest))
        require_good(data, "<built>")
        return data
