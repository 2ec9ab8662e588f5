"""What no cubin of a target can be: refused before anything is made.

Limits stand in ``ksy/tables/arch.yaml``. A value that the tables do not limit is taken as it is.
"""

from __future__ import annotations

from cubinspec.errors import BadStructureError
from cubinspec.format import targets
from cubinspec_generated.codes import KPARAM_INFO_MOST
from cubinspec_writer.builder.images import (
    DIMENSIONS,
    INDEX_SIZE,
    SYMBOL_TYPES,
    kinds,
    offsets,
)
from cubinspec_writer.builder.parts import (
    ADDRESS,
    ADDRESS_SIZE,
    INSTANCE,
    NARROW_SIZE,
    NO_LIMIT,
    SAMPLER,
    SHARED,
    placed,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cubinspec.format.targets import Target
    from cubinspec_writer.builder.parts import (
        CubinParts,
        Function,
        Parameter,
        Relocation,
        Variable,
    )

#: Shapes of blocks are in x, y, z.
_DIMENSIONS = 3
#: What names of line and debug sections begin with; the one of frames is a part of its own.
_DEBUG, _FRAMES = (".debug_", ".nv_debug_"), ".debug_frame"
#: Modes of samplers are bytes.
_BYTE = 0xFF


def check_parts(parts: CubinParts, goal: Target) -> None:
    """Refuse parts that the target cannot have.

    Raises:
        CubinError: the first one, with its name and what would be accepted.
    """
    _check_addresses(parts, goal)
    for function in parts.functions:
        _check_code(function, goal)
        _check_resources(function, goal, relocatable=parts.relocatable)
        _check_threads(function)
        _check_parameters(function)
        _check_images(parts, function)
    for variable in parts.variables:
        _check_variable(variable)
    _check_applied(parts, goal)
    _check_mercury_contents(parts, goal)
    _check_reserved(parts, goal)
    _check_named(parts)
    _check_instances(parts)
    _check_unified(parts, goal)
    _check_samplers(parts)
    _check_debug(parts, goal)


def _check_addresses(parts: CubinParts, goal: Target) -> None:
    """Refuse sizes of addresses that no ptxas makes files of, or in an order that is not known."""
    if parts.is_64:
        return
    narrow = [one for one in targets.TOOLKITS.values() if one.narrow]
    numbers = [one.number for one in narrow]
    is_known = parts.address_size == NARROW_SIZE and parts.toolkit in numbers
    if not is_known or goal.family.finalizer:
        versions = ", ".join(f"{one.number} ({one.version})" for one in narrow)
        raise _refuse(
            goal.name,
            f"addresses of {parts.address_size} bits, toolkit {parts.toolkit}",
            f"{ADDRESS_SIZE}, or below sm_90 {NARROW_SIZE} with toolkit {versions}",
        )
    if parts.position_independent:
        raise _refuse(
            goal.name,
            f"position-independent code with addresses of {NARROW_SIZE} bits",
            f"{ADDRESS_SIZE}: the order of its symbols is not known",
        )


def _check_named(parts: CubinParts) -> None:
    """Hold names of functions that have an effect on the order alone against what is there."""
    functions = {function.name: function for function in parts.functions}
    known = {*functions, *(symbol.name for symbol in parts.undefined)}
    known |= {variable.name for variable in parts.variables if variable.space == ADDRESS}
    named = [("tool_functions", name) for name in parts.tool_functions]
    named += [("last_declared", name) for name in (parts.last_declared,) if name]
    named += [(one.name, one.owner) for one in parts.variables if one.owner]
    known |= {inner.name for one in parts.functions for inner in one.inner}
    named += [(one.name, name) for one in parts.functions for name in one.mentioned]
    for owner, name in named:
        if name not in known:
            raise _refuse(owner, f"no function {name!r}", ", ".join(sorted(known)))
    kernels = [one.name for one in parts.functions if one.kernel]
    for name in parts.stated_stacks:
        if name not in kernels:
            raise _refuse("stated_stacks", f"no kernel {name!r}", ", ".join(kernels))
    for variable in parts.variables:
        if variable.owner and variable.space != SHARED:
            raise _refuse(variable.name, f"a {variable.space} variable of code", "a shared one")
        if not variable.function:
            continue
        if variable.space != SHARED or not parts.names_shared:
            raise _refuse(
                variable.name,
                f"{variable.space} variable in the memory of {variable.function!r}",
                "a shared one, of a file for debuggers or with applied relocations",
            )
        kernel = functions.get(variable.function)
        end = (variable.offset or 0) + variable.size
        if kernel is None or kernel.shared is None or end > kernel.shared:
            raise _refuse(
                variable.name,
                f"{end} bytes of shared memory of {variable.function!r}",
                "a kernel with so much of it",
            )


def _check_instances(parts: CubinParts) -> None:
    """Refuse relocations of shared memory of dynamic size where no file has a symbol for it."""
    names = {one.name for one in parts.variables} | {one.name for one in parts.undefined}
    if (parts.extensible and parts.keeps_relocations) or INSTANCE in names:
        return
    for function in parts.functions:
        if any(row.symbol == INSTANCE for row in function.relocations):
            raise _refuse(
                function.name,
                "a relocation of shared memory of dynamic size",
                "one in extensible programs that keep applied relocations",
            )


def _check_reserved(parts: CubinParts, goal: Target) -> None:
    for variable in parts.reserved:
        if not goal.family.capsule:
            raise _refuse(
                variable.name,
                f"reserved shared memory of {goal.name} has no variables",
                "a target from sm_100 on",
            )
        _check_alignment(variable.name, "align", variable.align)
        if variable.size <= 0:
            raise _refuse(variable.name, f"a size of {variable.size}", "more than 0")


def _refuse(name: str, what: str, expected: str) -> BadStructureError:
    return BadStructureError(what, file="<built>", field=name, expected=expected)


def _check_code(function: Function, goal: Target) -> None:
    unit, size = goal.architecture.instruction_size, len(function.code)
    if not size or size % unit:
        raise _refuse(
            function.name,
            f"code of {size} bytes",
            f"a multiple of {unit}, the size of an instruction of {goal.name}, above 0",
        )
    for offset in function.exit_offsets:
        if not 0 <= offset < size or offset % unit:
            raise _refuse(
                function.name,
                f"an EXIT instruction at {offset:#x} of {size:#x} bytes",
                f"multiples of {unit} inside the code",
            )
    for relocation in function.relocations:
        if not 0 <= relocation.offset < size:
            raise _refuse(
                function.name,
                f"a relocation at {relocation.offset:#x}",
                f"offsets inside the code of {size:#x} bytes",
            )
    for inner in function.inner:
        if inner.value < 0 or inner.size < 0 or inner.value + inner.size > size:
            raise _refuse(
                function.name,
                f"{inner.name!r} takes {inner.value:#x} to {inner.value + inner.size:#x}",
                f"a part of the code of {size:#x} bytes",
            )


def _check_resources(function: Function, goal: Target, *, relocatable: bool) -> None:
    _check_range(
        function, "registers", function.registers, goal, "max_registers_per_thread", lowest=0
    )
    _check_range(function, "barriers", function.barriers, goal, "max_barriers_per_block", lowest=0)
    if function.max_registers != NO_LIMIT:
        _check_range(
            function, "max_registers", function.max_registers, goal, "max_registers_per_thread"
        )
    if function.shared is not None and not relocatable:
        # in relocatable files ptxas leaves this limit to the linker
        _check_range(function, "shared", function.shared, goal, "max_shared_per_block", lowest=0)
    _check_alignment(function.name, "shared_align", function.shared_align)
    _check_alignment(function.name, "constants_align", function.constants_align)
    for word in ("frame", "stack", "stack_limit"):
        value: int = getattr(function, word)
        if value < 0:
            raise _refuse(function.name, f"{word} {value}", "0 or more")
    for part in function.shared_variables:
        # Some variables of ptxas lie behind the size that its attributes state.
        if part.value < 0 or part.size < 0:
            raise _refuse(
                function.name,
                f"{part.name!r} has offset {part.value} and size {part.size}",
                "0 or more",
            )


def _check_range(
    function: Function, word: str, value: int, goal: Target, limit: str, *, lowest: int = 1
) -> None:
    most = targets.limit(goal.sm, limit)
    if value < lowest or (most is not None and value > most):
        expected = f"{lowest} or more" if most is None else f"{lowest} to {most} on {goal.name}"
        raise _refuse(function.name, f"{word} {value}", expected)


def _check_alignment(name: str, word: str, value: int) -> None:
    if value < 1 or value & (value - 1):
        raise _refuse(name, f"{word} {value}", "a power of two")


def _check_threads(function: Function) -> None:
    # ptxas takes more threads than a block can have, so they are no fault of the file
    for word in ("max_threads", "required_threads"):
        shape: tuple[int, int, int] | None = getattr(function, word)
        if shape is not None and (len(shape) != _DIMENSIONS or min(shape) < 1):
            raise _refuse(function.name, f"{word} {shape}", "three numbers from 1 on")


def _check_parameters(function: Function) -> None:
    if function.parameters and not function.kernel:
        raise _refuse(function.name, "parameters of a device function", "none")
    end = 0
    places, size = placed(function)
    if size > KPARAM_INFO_MOST and (function.images or any(p.image for p in function.parameters)):
        raise _refuse(
            function.name,
            f"images beside parameters of {size} bytes",
            f"at most {KPARAM_INFO_MOST} bytes; more were not seen with images",
        )
    for number, (parameter, offset) in enumerate(zip(function.parameters, places, strict=True)):
        if parameter.image:
            _check_image_parameter(function, number, parameter)
            continue
        if parameter.size < 1:
            raise _refuse(
                function.name, f"parameter {number} of {parameter.size} bytes", "1 or more"
            )
        if parameter.align is not None:
            _check_alignment(function.name, f"align of parameter {number}", parameter.align)
        if offset < end:
            raise _refuse(
                function.name,
                f"parameter {number} at {offset:#x}",
                f"an offset from {end:#x} on, behind the one before",
            )
        end = offset + parameter.size


def _check_debug(parts: CubinParts, goal: Target) -> None:
    seen: set[str] = set()
    for section in parts.debug:
        if not section.name.startswith(_DEBUG) or section.name == _FRAMES:
            expected = f"names that begin with {' or '.join(_DEBUG)}; {_FRAMES} is the frame"
            raise _refuse(section.name, "no line or debug section has this name", expected)
        if section.name in seen:
            raise _refuse(section.name, "two sections of this name", "one")
        seen.add(section.name)
        twin = section.mercury
        if (twin is not None or section.mercury_relocations) and not goal.family.capsule:
            raise _refuse(section.name, f"a Mercury copy on {goal.name}", "none before sm_100")
        for data, rows in (
            (section.data, section.relocations),
            (section.data if twin is None else twin, section.mercury_relocations),
        ):
            for row in rows:
                if not 0 <= row.offset < len(data):
                    raise _refuse(
                        section.name,
                        f"a relocation at {row.offset:#x}",
                        f"offsets inside the {len(data):#x} bytes of it",
                    )


def _check_unified(parts: CubinParts, goal: Target) -> None:
    functions = {function.name for function in parts.functions if function.unified is not None}
    for function in parts.functions:
        if function.stub_of and function.stub_of not in functions:
            known = ", ".join(functions) or "a unified function"
            raise _refuse(function.name, f"a slot of {function.stub_of!r}", known)
    variables = [variable for variable in parts.variables if variable.unified is not None]
    for name in (*functions, *(variable.name for variable in variables)):
        if not parts.relocatable or not goal.family.finalizer:
            raise _refuse(
                name, "a unified function or variable", "relocatable files for sm_90 and later"
            )
    for variable in variables:
        if variable.space != "global" or variable.data is None:
            raise _refuse(variable.name, "a unified variable", "global memory with contents")


def _check_image_parameter(function: Function, number: int, parameter: Parameter) -> None:
    if parameter.image not in SYMBOL_TYPES:
        raise _refuse(
            function.name,
            f"parameter {number} is an image {parameter.image!r}",
            ", ".join(SYMBOL_TYPES),
        )
    if not parameter.name or "\0" in parameter.name:
        raise _refuse(function.name, f"parameter {number} is named {parameter.name!r}", "a name")
    if parameter.size:
        raise _refuse(function.name, f"parameter {number} has {parameter.size} bytes", "0")


def _check_images(parts: CubinParts, function: Function) -> None:
    if not function.images:
        return
    if parts.relocatable or not function.kernel:
        raise _refuse(
            function.name,
            "indices of images",
            "kernels of files that are not relocatable; other code has relocations",
        )
    known = kinds(parts, function)
    for slot, at in zip(function.images, offsets(function), strict=True):
        if slot.image not in known:
            raise _refuse(
                function.name, f"no image is named {slot.image!r}", ", ".join(known) or "an image"
            )
        if at < 0 or at % INDEX_SIZE:
            raise _refuse(
                function.name, f"index of {slot.image!r} at {at}", f"multiples of {INDEX_SIZE}"
            )


def _check_samplers(parts: CubinParts) -> None:
    known = [one.name for one in parts.variables if one.space == SAMPLER]
    for sampler in parts.samplers:
        if sampler.name not in known:
            raise _refuse(sampler.name, "the state of no sampler", ", ".join(known) or "a sampler")
        if len(sampler.address_modes) > DIMENSIONS:
            raise _refuse(
                sampler.name,
                f"{len(sampler.address_modes)} address modes",
                f"{DIMENSIONS} at most",
            )
        for number in (*sampler.address_modes, sampler.filter_mode or 0):
            if not 0 <= number <= _BYTE:
                raise _refuse(sampler.name, f"mode {number}", f"0 to {_BYTE}")


def _check_applied(parts: CubinParts, goal: Target) -> None:
    """Refuse contents without relocations where the Mercury half has to keep some."""
    if not (parts.extensible and goal.family.capsule):
        return
    if any(function.capsule is None for function in parts.functions):
        return  # there is no Mercury half
    applied = [variable for variable in parts.variables if variable.resolved]
    resolved = [variable.name for variable in applied if not variable.resolved_sections]
    kept = (
        variable.relocations or variable.function_ids or variable.mercury_relocations
        for variable in parts.variables
    )
    if resolved and not any(kept):
        raise _refuse(
            resolved[0],
            f"applied relocations of contents in an extensible program for {goal.name}",
            "those that the Mercury half keeps, as mercury_relocations",
        )


def _check_mercury_contents(parts: CubinParts, goal: Target) -> None:
    """Refuse contents of a Mercury half that there is none of, or that do not fit."""
    has_half = goal.family.capsule and all(one.capsule is not None for one in parts.functions)
    for variable in parts.variables:
        given, rows = variable.mercury, variable.mercury_relocations
        if given is None and not rows:
            continue
        size = len(variable.data or b"")
        if not (has_half and variable.resolved):
            raise _refuse(
                variable.name,
                "contents of the Mercury half",
                "contents with capsules beside them, whose relocations are applied",
            )
        if given is not None and len(given) != size:
            raise _refuse(
                variable.name, f"{len(given)} bytes in the Mercury half", f"{size} as in the other"
            )
        _check_relocated(variable.name, rows, size)


def _check_relocated(name: str, relocations: list[Relocation], size: int) -> None:
    for relocation in relocations:
        if not 0 <= relocation.offset < size:
            raise _refuse(
                name,
                f"a relocation at {relocation.offset:#x}",
                f"offsets inside the {size:#x} bytes of it",
            )


def _check_variable(variable: Variable) -> None:
    _check_alignment(variable.name, "align", variable.align)
    size = variable.size if variable.data is None else len(variable.data)
    if variable.space in SYMBOL_TYPES and (size or variable.common or variable.offset is not None):
        raise _refuse(variable.name, f"a {variable.space} with a place", "a name alone")
    if size < 0 or (variable.offset is not None and variable.offset < 0):
        raise _refuse(variable.name, f"size {size}, offset {variable.offset}", "0 or more")
    if variable.space == ADDRESS and not variable.relocations:
        raise _refuse(variable.name, "a constant without an address", "a relocation of it")
    _check_relocated(variable.name, variable.relocations, size)
