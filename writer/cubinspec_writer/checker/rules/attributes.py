"""Rules about attribute streams."""

from __future__ import annotations

from struct import calcsize, iter_unpack

from cubinspec.errors import CubinError
from cubinspec.format.attributes import info_rows
from cubinspec.format.sections import INFO_TYPES
from cubinspec.format.targets import is_later
from cubinspec_generated.codes import (
    EIATTR_CBANK_PARAM_SIZE,
    EIATTR_FRAME_SIZE,
    EIATTR_MAX_STACK_SIZE,
    EIATTR_MIN_STACK_SIZE,
    EIATTR_PARAM_CBANK,
    EIATTR_REGCOUNT,
    EIFMT_SVAL,
    SHT_CUDA_COMPAT_INFO,
    STT_FUNC,
)
from cubinspec_generated.records import PARAM_CBANK
from cubinspec_generated.tables import eiattr
from cubinspec_writer.checker.rules.base import CENSUS, CORPUS, rule

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from cubinspec_writer.checker.rules.base import Found
    from cubinspec_writer.checker.view import View

#: Attributes whose payload begins with the symbol of a function.
_OF_FUNCTIONS = frozenset(
    (EIATTR_FRAME_SIZE, EIATTR_MIN_STACK_SIZE, EIATTR_MAX_STACK_SIZE, EIATTR_REGCOUNT)
)
#: Attribute sections of the module.
_MODULE_INFO = (".nv.info", ".nv.merc.nv.info")
#: Bytes of a symbol number.
_WORD = 4


def _layout_of(code: int) -> tuple[str, str, tuple[str, ...], tuple[str, ...]]:
    """Shape, struct format, names and semantics of an attribute's payload."""
    layout = eiattr.ATTRIBUTES.get(code, eiattr.UNKNOWN).layout
    return layout.kind, layout.format, layout.names, layout.references


@rule(
    "CUB009",
    "Attribute streams end with a whole record.",
    CENSUS,
    "The size word of the last record is wrong or the section is cut off.",
)
def _streams(view: View) -> Iterator[Found]:
    for index in view.of_type(*INFO_TYPES):
        try:
            info_rows(view.body(index), view.sections[index].sh_offset, view.file, "")
        except CubinError as error:
            yield error.offset, view.path(index), error.reason


@rule(
    "CUB010",
    "Every attribute has a format that its code is known with.",
    "ksy/tables/eiattr.yaml, formats",
    "Write the record in the format of the table; loaders dispatch on it.",
)
def _formats(view: View) -> Iterator[Found]:
    for index, records in view.attributes():
        for number, (offset, form, code, _, _) in enumerate(records):
            seen = eiattr.ATTRIBUTES.get(code, eiattr.UNKNOWN).formats
            if seen and form not in seen:
                yield *view.record_place(index, number, offset), f"format {form}"


@rule(
    "CUB011",
    "Symbols named by attributes exist.",
    CENSUS,
    "Renumber the attribute; symbol indices change when symbols are added or removed.",
)
def _attribute_symbols(view: View) -> Iterator[Found]:
    for index, records in view.infos.items():
        count = len(view.symbols_for(index))
        if view.sections[index].sh_type == SHT_CUDA_COMPAT_INFO or not count:
            continue
        for number, (offset, form, code, _, payload) in enumerate(records):
            if form != EIFMT_SVAL:
                continue
            for symbol in _symbol_fields(code, payload):
                if symbol >= count:
                    place = view.record_place(index, number, offset)
                    yield *place, f"symbol {symbol} of {count}"


def _symbol_fields(code: int, payload: bytes) -> Iterator[int]:
    """The symbol numbers in the payload of an attribute."""
    shape, form, _, semantics = _layout_of(code)
    if shape not in ("struct", "array"):
        return
    size = calcsize(form)
    if not size or len(payload) % size or (shape == "struct" and len(payload) != size):
        return
    for row in iter_unpack(form, payload):
        for value, semantic in zip(row, semantics, strict=True):
            if semantic == "symbol":
                yield value


@rule(
    "CUB012",
    "Register counts and frame sizes in .nv.info are given for functions.",
    CENSUS,
    "Point the record at the function symbol (STT_FUNC), not at its section.",
)
def _function_attributes(view: View) -> Iterator[Found]:
    for index, records in view.attributes():
        symbols = view.symbols_for(index)
        for number, (offset, form, code, _, payload) in enumerate(records):
            if code not in _OF_FUNCTIONS or form != EIFMT_SVAL or len(payload) < _WORD:
                continue
            symbol = int.from_bytes(payload[:_WORD], "little")
            if 0 < symbol < len(symbols) and symbols[symbol].st_type != STT_FUNC:
                place = view.record_place(index, number, offset)
                yield *place, f"symbol {symbol} is no function"


@rule(
    "CUB013",
    "Instruction offsets in attributes lie inside the code of their function.",
    CENSUS,
    "Offsets count from the start of .text.<f> (of the Mercury code in the Mercury half).",
)
def _instruction_offsets(view: View) -> Iterator[Found]:
    for index, records in view.infos.items():
        owner = view.sections[index].sh_info
        if view.is_mercury(index) or not 0 < owner < len(view.sections):
            continue
        code_size = view.sections[owner].sh_size
        for number, (offset, form, code, _, payload) in enumerate(records):
            shape, layout, fields, semantics = _layout_of(code)
            if form != EIFMT_SVAL or shape != "array" or semantics != ("code",):
                continue
            if len(payload) % calcsize(layout):
                continue
            for (value,) in iter_unpack(layout, payload):
                if value >= code_size:
                    where, path = view.record_place(index, number, offset)
                    message = f"{value:#x}, the code has {code_size:#x} bytes"
                    yield where, f"{path}.{fields[0]}", message


@rule(
    "CUB027",
    "The parameters of a kernel lie inside its constant bank 0.",
    CENSUS,
    "sh_size of .nv.constant0.<k> is the parameter offset plus the parameter bytes.",
)
def _parameters(view: View) -> Iterator[Found]:
    for index, records in view.infos.items():
        if view.is_mercury(index):
            continue
        for number, (offset, _, code, _, payload) in enumerate(records):
            if code != EIATTR_PARAM_CBANK or len(payload) != PARAM_CBANK.size:
                continue
            symbol, start, size = PARAM_CBANK.unpack(payload)
            if symbol >= len(view.symbols):
                continue
            bank = view.symbols[symbol].st_shndx
            if not 0 < bank < len(view.sections):
                continue
            room = view.sections[bank].sh_size
            if start + size > room:
                place = view.record_place(index, number, offset)
                yield *place, f"{start:#x} + {size:#x} in {room:#x} bytes"


@rule(
    "CUB031",
    "An attribute stands where it belongs: with its function or with the module, in the Mercury "
    "half if it is copied there.",
    "ksy/tables/eiattr.yaml, places and mercury; " + CENSUS,
    "Move the record to .nv.info or .nv.info.<f>, or take it out of the wrong half.",
)
def _attribute_places(view: View) -> Iterator[Found]:
    for index, records in view.attributes():
        owner = "module" if view.names[index] in _MODULE_INFO else "function"
        wrong_half = "never" if view.is_mercury(index) else "only"
        for number, (offset, _, code, _, _) in enumerate(records):
            place = view.record_place(index, number, offset)
            attribute = eiattr.ATTRIBUTES.get(code, eiattr.UNKNOWN)
            if attribute.places and owner not in attribute.places:
                yield *place, f"{attribute.name} is no attribute of a {owner}"
            if attribute.mercury == wrong_half:
                yield *place, f"{attribute.name} does not belong into this half"


@rule(
    "CUB032",
    "An attribute about certain instructions stands only in files for architectures that have "
    "them.",
    "ksy/tables/eiattr.yaml, min_sm: the targets that the PTX documentation gives; " + CENSUS,
    "Remove the attribute, or correct the architecture in e_flags.",
)
def _attribute_architectures(view: View) -> Iterator[Found]:
    for index, records in view.attributes():
        for number, (offset, _, code, _, _) in enumerate(records):
            attribute = eiattr.ATTRIBUTES.get(code, eiattr.UNKNOWN)
            if is_later(attribute.min_sm, view.sm):
                place = view.record_place(index, number, offset)
                yield *place, f"{attribute.name} in sm_{view.sm}, it needs sm_{attribute.min_sm}"


@rule(
    "CUB033",
    "The two attributes with the size of a kernel's parameters agree.",
    "16,025 of 16,025 kernels of " + CORPUS,
    "Give EIATTR_CBANK_PARAM_SIZE and the last field of EIATTR_PARAM_CBANK the same value.",
)
def _parameter_sizes(view: View) -> Iterator[Found]:
    for index, records in view.attributes():
        sizes = [value for _, _, code, value, _ in records if code == EIATTR_CBANK_PARAM_SIZE]
        for number, (offset, _, code, _, payload) in enumerate(records):
            if code != EIATTR_PARAM_CBANK or len(payload) != PARAM_CBANK.size or not sizes:
                continue
            _, _, stated = PARAM_CBANK.unpack(payload)
            if stated != sizes[0]:
                place = view.record_place(index, number, offset)
                yield *place, f"{stated} bytes, EIATTR_CBANK_PARAM_SIZE says {sizes[0]}"
