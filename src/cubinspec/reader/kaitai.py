"""The authoritative reader: the Kaitai Struct classes with the byte range of every field.

The classes of ``cubinspec_generated.kaitai_debug`` note where each field starts and ends in the
stream it was read from. A sized field has a stream of its own, so :func:`walk` adds up where those
streams begin and gives absolute offsets. ``cubinspec_generated.fields`` says which instances own
bytes and what the opaque bodies are. All of it follows from ``ksy/*.ksy``.

Slow (about 2 µs per field): the bulk readers do not go through here.
"""

from __future__ import annotations

from struct import error as StructError

from kaitaistruct import KaitaiStruct, KaitaiStructError

from cubinspec.errors import (
    BadStructureError,
    CubinError,
    LimitError,
    NotCubinError,
    TruncatedError,
)
from cubinspec.limits import MAX_SHARED_FACTOR
from cubinspec_generated.fields import BIT_FIELDS, CLASS_FIELDS, OPAQUE, OWNED_INSTANCES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    #: path, absolute start and end, value, kind
    Piece = tuple[str, int, int, Any, str]

#: Kind of a field that the spec resolves.
FIELD = "field"
#: Kind of bytes that only align what follows, all zero.
PADDING = "padding"
#: Kind of bytes that nothing in the spec describes.
UNCLAIMED = ""

#: What the spec writes for :data:`UNCLAIMED` in ``-opaque``.
_UNCLAIMED_IN_SPEC = "unclaimed"

#: What :func:`walk` calls the bytes between fields.
_GAPS = "gaps"

#: Everything a generated class can raise on bytes that do not follow the spec.
_PARSE_ERRORS = (
    KaitaiStructError,
    EOFError,
    UnicodeDecodeError,
    ValueError,
    IndexError,
    StructError,
    OverflowError,
)


def parse(data: bytes, name: str | None = None) -> Any:
    """Read a file as the ``ElfCuda`` object of the spec; sections are read when touched.

    Args:
        data: the whole file.
        name: file name for errors.

    Raises:
        NotCubinError: no ELF file, or one of another machine.
        TruncatedError: shorter than its header.
    """
    from io import BytesIO

    from kaitaistruct import KaitaiStream

    from cubinspec_generated.kaitai_debug.elf_cuda import ElfCuda

    root = ElfCuda(KaitaiStream(BytesIO(data)))
    try:
        root._read()
    except EOFError as error:
        raise TruncatedError(
            "the file ends inside the ELF header",
            file=name,
            offset=len(data),
            field="header",
            expected="a whole header",
        ) from error
    except KaitaiStructError as error:
        # the path looks like /types/elf_ident/seq/1: the field is found by how far reading got
        raise NotCubinError(
            f"not a CUDA device binary: {error}",
            file=name,
            offset=0,
            field=_spec_path(error),
            expected="the ELF header of a cubin",
        ) from error
    root._cubin_name = name
    return root


def _spec_path(error: KaitaiStructError) -> str:
    return str(getattr(error, "src_path", ""))


def walk(root: Any, path: str = "") -> Iterator[Piece]:
    """Every byte of the file as a leaf field, an opaque body, padding or unclaimed.

    Args:
        root: what :func:`parse` gave.
        path: only what lies at or below this path is read; empty for all.

    Yields:
        ``(path, start, end, value, kind)`` with absolute offsets: fields and bodies in the order
        of the spec, then what lies between them as ``gaps[n]``. ``kind`` is :data:`FIELD`,
        :data:`PADDING`, :data:`UNCLAIMED` or the kind of an opaque body (``SASS``, ``DWARF`` …).
        ``value`` is ``bytes`` for bodies. Sections that share bytes give the same range twice;
        strings that are only looked up in a string table are not repeated.

    Raises:
        CubinError: a part does not follow the spec; names its place and path.
        LimitError: sections share the same bytes too often.
    """
    data_size = root._io.size()
    # gaps between fields are known only after all fields were read
    wanted = "" if path.startswith(_GAPS) else path
    context = _Context(root, wanted)
    if context.wants("sections"):
        context.attempt(lambda: _check_work(root, data_size), "sections", root.e_shoff)
    claimed: list[tuple[int, int]] = []
    for piece in _struct(root, "", 0, context):
        if piece[2] > piece[1]:
            claimed.append((piece[1], piece[2]))
        if wanted == path:
            yield piece
    if wanted:
        return
    at = 0
    number = 0
    for start, end in [*sorted(claimed), (data_size, data_size)]:
        if start > at:
            root._io.seek(at)
            gap = root._io.read_bytes(start - at)
            where = f"{_GAPS}[{number}]"
            if path in ("", _GAPS, where):
                yield where, at, start, gap, UNCLAIMED if any(gap) else PADDING
            number += 1
        at = max(at, end)


def _check_work(root: Any, data_size: int) -> None:
    """Refuse a file whose sections share bytes so often that reading them all would never end.

    Raises:
        LimitError: the contents of all sections together are too large for the file.
    """
    total = 0
    for section in root.sections:
        total += section.len_body
        if section.uses_names and section.has_names:
            total += root.sections[section.names_section].len_body
    if total > MAX_SHARED_FACTOR * data_size:
        raise LimitError(
            f"the sections share the {data_size} bytes of the file, {total} bytes in all",
            file=getattr(root, "_cubin_name", None),
            offset=root.e_shoff,
            field="section_headers",
            expected=f"at most {MAX_SHARED_FACTOR} times the size of the file",
        )


class Code(int):
    """A number that stands for something, with its name in the spec's enum."""

    name: str

    def __new__(cls, number: int, name: str) -> Code:
        """The number with its name."""
        code = super().__new__(cls, number)
        code.name = name
        return code


class _Context:
    """File name, error translation and limits of one walk."""

    def __init__(self, root: Any, path: str = "") -> None:
        self.name: str | None = getattr(root, "_cubin_name", None)
        self._path = path

    def wants(self, where: str) -> bool:
        """Whether a field can hold or be part of what was asked for."""
        path = self._path
        return not path or where == path or _below(where, path) or _below(path, where)

    def attempt(self, read: Any, path: str, offset: int) -> Any:
        """The result of ``read()``, with faults of the file as :class:`CubinError`."""
        try:
            return read()
        except CubinError:
            raise
        except EOFError as error:
            raise TruncatedError(
                f"the data ends inside this field: {error}",
                file=self.name,
                offset=offset,
                field=path,
                expected="all bytes of its layout",
            ) from error
        except _PARSE_ERRORS as error:
            raise BadStructureError(
                f"the field does not follow the spec: {error}",
                file=self.name,
                offset=offset,
                field=path,
                expected="the layout and the values that ksy/ states",
            ) from error


def _below(path: str, parent: str) -> bool:
    return path.startswith(parent) and path[len(parent) :][:1] in (".", "[")


def _struct(obj: Any, path: str, base: int, context: _Context) -> Iterator[Piece]:
    """Pieces of one object whose stream begins at absolute offset ``base``."""
    name = type(obj).__qualname__
    opaque = OPAQUE.get(name, {})
    names = CLASS_FIELDS.get(name, {})
    for field in obj.SEQ_FIELDS:
        where = _join(path, names.get(field, field))
        yield from _field(obj, field, field, where, base, opaque, context)
    for field in OWNED_INSTANCES.get(name, ()):
        yield from _field(obj, field, f"_m_{field}", _join(path, field), base, opaque, context)


def _join(path: str, field: str) -> str:
    return f"{path}.{field}" if path else field


def _field(
    obj: Any,
    field: str,
    key: str,
    where: str,
    base: int,
    opaque: dict[str, str],
    context: _Context,
) -> Iterator[Piece]:
    if not context.wants(where):
        return
    if key is field:
        value = vars(obj).get(field)  # absent when its condition does not hold
    else:
        value = context.attempt(lambda: getattr(obj, field), where, base)
    if value is None:
        return
    place = obj._debug[key]
    if isinstance(value, list):
        for index, item in enumerate(value):
            spot, here = place["arr"][index], f"{where}[{index}]"
            if context.wants(here):
                yield from _value(obj, item, here, base, spot["start"], spot["end"], FIELD, context)
        return
    kind = opaque.get(field, FIELD)
    yield from _value(
        obj,
        value,
        where,
        base,
        place["start"],
        place["end"],
        UNCLAIMED if kind == _UNCLAIMED_IN_SPEC else kind,
        context,
    )


def _value(
    obj: Any,
    value: Any,
    path: str,
    base: int,
    start: int,
    end: int,
    kind: str,
    context: _Context,
) -> Iterator[Piece]:
    if not isinstance(value, KaitaiStruct):
        if end > start:
            yield path, base + start, base + end, _named(value), kind
    elif type(value).__qualname__ in BIT_FIELDS:
        yield path, base + start, base + end, _bits_value(value), kind
    else:
        own_stream = value._io is not obj._io
        yield from _struct(value, path, base + start if own_stream else base, context)


def _named(value: Any) -> Any:
    name = getattr(value, "name", None)
    return Code(int(value), name) if isinstance(value, int) and isinstance(name, str) else value


def _bits_value(obj: Any) -> dict[str, Any]:
    """The bit fields of an integer by name."""
    return {field: _named(getattr(obj, field)) for field in obj.SEQ_FIELDS}
