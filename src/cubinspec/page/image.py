"""What a page shows of one image. It is small, and is sent between processes."""

from __future__ import annotations

from dataclasses import dataclass, field

from cubinspec.errors import CubinError
from cubinspec.model.function import attribute_names
from cubinspec.page.drawing import Drawings, drawings_of
from cubinspec.report.archs import kernel_names
from cubinspec.report.callgraph import call_graph
from cubinspec.report.coverage import coverage_record
from cubinspec.report.occupancy import Occupancy, occupancy
from cubinspec.report.size import ImageSizes, sizes_or_fault
from cubinspec.report.stack import reason_text, reasons_of
from cubinspec_generated.codes import EIFMT_SVAL

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from cubinspec.containers import Image
    from cubinspec.containers.arena import Arena
    from cubinspec.format.attributes import InfoRow
    from cubinspec.model.cubin import Cubin
    from cubinspec.model.function import Function

#: Numbers of a function that a page shows; the names are those of :class:`Function`.
FIGURES = (
    *("registers", "stack", "frame_size", "shared", "local", "const0", "barriers", "mbarriers"),
    *("max_threads", "param_size", "param_offset", "code_size", "max_registers"),
    "max_cluster_rank",
)
#: Shapes of blocks and clusters.
SHAPES = ("max_ntid", "reqntid", "cluster")
#: Payloads up to this size are shown by their fields.
_SHORT_PAYLOAD = 16


@dataclass(slots=True)
class FunctionPart:
    """A kernel or device function.

    Attributes:
        name: the mangled name.
        is_kernel: whether the host can launch it.
        figures: in the order of ``FIGURES``.
        shapes: in the order of ``SHAPES``.
        params: ordinal, offset, size, alignment and space of what it points to, for each.
        attributes: name and text of each attribute, but those of parameters.
        occupancy: ``None`` for a device function, or when it is not known.
        open_stack: why its stack is not known; empty when it is.
    """

    name: str
    is_kernel: bool
    figures: tuple[int | None, ...]
    shapes: tuple[tuple[int, int, int] | None, ...]
    params: tuple[tuple[int, ...], ...]
    attributes: tuple[tuple[str, str], ...]
    occupancy: Occupancy | None = None
    open_stack: str = ""


@dataclass(slots=True)
class ImagePart:
    """An image.

    Attributes:
        sizes: where its bytes go, or why they cannot be had.
        kernels: mangled names of its kernels; of PTX, too.
        type: ``exe`` or ``rel`` of a cubin, else empty.
        tool: what made it.
        functions: in the order of the file.
        drawings: its call graph.
        coverage: how many bytes the spec names; ``None`` when that was not measured.
        error: why the rest of it could not be read.
    """

    sizes: ImageSizes | CubinError
    kernels: list[str] = field(default_factory=list)
    type: str = ""
    tool: str = ""
    functions: list[FunctionPart] = field(default_factory=list)
    drawings: Drawings | None = None
    coverage: dict[str, Any] | None = None
    error: CubinError | None = None


@dataclass(frozen=True, slots=True)
class Choice:
    """What is read of the images of a file.

    Attributes:
        archs: targets whose functions are shown; ``None``: all.
        relocatable: functions of inputs of a device link, too.
        covered: the ways to the images whose coverage is measured.
    """

    archs: frozenset[str] | None = None
    relocatable: bool = False
    covered: frozenset[str] = frozenset()


def read_part(choice: Choice, image: Image, arena: Arena) -> ImagePart:
    """Read what a page shows of an image; what is wrong with it is part of that."""
    part = ImagePart(sizes_or_fault(image, arena))
    if isinstance(part.sizes, CubinError):
        return part
    try:
        if image.kind == "ptx":
            part.kernels = kernel_names(image, arena)
        elif image.kind == "cubin":
            with image.cubin(arena) as cubin:
                _read_cubin(cubin, image, choice, part)
    except CubinError as error:
        part.error = error
    return part


def _read_cubin(cubin: Cubin, image: Image, choice: Choice, part: ImagePart) -> None:
    """Read the functions of a cubin, its call graph and its coverage."""
    functions = cubin.functions
    part.type = cubin.header.type_word
    part.kernels = [function.name for function in functions if function.is_kernel]
    for note in cubin.notes:
        if note.tool_name is not None:
            part.tool = " ".join(filter(None, (note.tool_name, note.tool_version)))
            break
    if str(image) in choice.covered:
        part.coverage = coverage_record(cubin)
    arch = image.arch
    if choice.archs is not None and arch not in choice.archs:
        return
    if image.superseded and not choice.relocatable:
        return
    reasons = reasons_of(cubin, functions)
    part.functions = [
        _function(function, arch, reasons.get(place)) for place, function in enumerate(functions)
    ]
    part.drawings = drawings_of(call_graph([cubin]), [function.name for function in functions])


def _function(
    function: Function, arch: str, reason: tuple[str, tuple[str, ...]] | None
) -> FunctionPart:
    return FunctionPart(
        function.name,
        function.is_kernel,
        tuple([getattr(function, name) for name in FIGURES]),
        tuple([getattr(function, name) for name in SHAPES]),
        tuple(
            [
                (p.ordinal, p.offset, p.size, p.pointee_log_alignment, p.pointee_space)
                for p in function.params
            ]
        ),
        _attributes(function),
        _occupancy(function, arch) if function.is_kernel else None,
        "" if reason is None else reason_text(reason),
    )


#: Results by all that they depend on; a library has few different ones.
_occupancies: dict[tuple[Any, ...], Occupancy | None] = {}


def _occupancy(kernel: Function, arch: str) -> Occupancy | None:
    key = (
        *(arch, kernel.registers, kernel.shared, kernel.barriers, kernel.max_threads),
        *(kernel.reqntid is None, kernel.table.file.header.is_relocatable),
    )
    if key not in _occupancies:
        try:
            _occupancies[key] = occupancy(kernel, gpu=arch)
        except ValueError:  # no limits are known for the target
            _occupancies[key] = None
    return _occupancies[key]


def _attributes(function: Function) -> tuple[tuple[str, str], ...]:
    """Name and text of each record, those of parameters left out."""
    from cubinspec.model.parameter import UNPACKERS

    rows = function.info_rows
    codes = [code for _, _, code, _, _ in rows]
    return tuple(
        [
            (name, _attribute_text(row))
            for row, code, name in zip(rows, codes, attribute_names(codes), strict=True)
            if code not in UNPACKERS
        ]
    )


#: Texts by format, code, word and payload.
_texts: dict[tuple[int, int, int, bytes], str] = {}
_MOST_TEXTS = 1 << 14


def _attribute_text(row: InfoRow) -> str:
    """What a record says, in a few words."""
    from cubinspec.model.info import InfoRecord

    offset, form, code, word, payload = row
    if form != EIFMT_SVAL:
        return str(word)
    if len(payload) > _SHORT_PAYLOAD:
        return f"{len(payload)} bytes"
    key = (form, code, word, payload)
    if key not in _texts:
        if len(_texts) >= _MOST_TEXTS:
            _texts.clear()
        record = InfoRecord(offset, form, code, word, payload)
        fields = None if record.references else record.fields
        # lists are mostly offsets of instructions, which differ everywhere
        if fields is None or "entries" in fields:
            _texts[key] = f"{len(payload)} bytes"
        else:
            _texts[key] = ", ".join(f"{name} {value}" for name, value in fields.items())
    return _texts[key]
