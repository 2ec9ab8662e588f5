"""One image of device code, wherever it was found."""

from __future__ import annotations

from cubinspec.containers import fatbin
from cubinspec.containers.arena import Arena
from cubinspec.containers.elf_host import cubin_length
from cubinspec.containers.source import BytesSource, Source
from cubinspec.errors import CubinError
from cubinspec.values import FrozenValue

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cubinspec.containers.fatbin import Entry
    from cubinspec.containers.wrappers import Wrapper
    from cubinspec.model.cubin import Cubin


class Step(FrozenValue):
    """One step on the way from the file to an image.

    Attributes:
        kind: ``file``, ``member`` (of an archive), ``compressed`` (a single compressed file),
            ``fatbin``, ``entry``, ``cubin`` (one that lies bare in a host file) or ``section``
            (of a cubin).
        name: path, member name, or ``fatbin 3``.
        offset: bytes from the start of the thing that the step before names.
        size: bytes there.
        section: name of the host's section that holds it; empty when there is none.
        wrapper: the wrapper through which the host finds this container; ``None`` for none.
    """

    __match_args__ = ("kind", "name", "offset", "size", "section", "wrapper")
    __slots__ = __match_args__
    kind: str
    name: str
    offset: int
    size: int
    section: str
    wrapper: Wrapper | None

    def __init__(
        self,
        kind: str,
        name: str,
        offset: int = 0,
        size: int = 0,
        section: str = "",
        wrapper: Wrapper | None = None,
    ) -> None:
        put = object.__setattr__
        put(self, "kind", kind)
        put(self, "name", name)
        put(self, "offset", offset)
        put(self, "size", size)
        put(self, "section", section)
        put(self, "wrapper", wrapper)

    def __repr__(self) -> str:
        return f"Step({self.kind}, {self.name!r})"

    def as_dict(self) -> dict[str, object]:
        """The step as JSON knows it."""
        out: dict[str, object] = {
            "kind": self.kind,
            "name": self.name,
            "offset": self.offset,
            "size": self.size,
        }
        if self.section:
            out["section"] = self.section
        if self.wrapper is not None:
            out["wrapper"] = {"offset": self.wrapper.offset, "version": self.wrapper.version}
        return out


class Image:
    """An image and where it came from. Nothing is read until it is asked for.

    Attributes:
        provenance: the steps from the file to here.
        kind: ``cubin``, ``ptx``, ``nvvm``, ``lto``, another name of
            :data:`cubinspec.containers.fatbin.KIND_NAMES`, ``unknown``; ``fault`` for a place
            that could not be read, whose ``error`` says why.
        stored_size: bytes it takes in its container, without padding where that is known.
        compression: ``none``, ``zstd``, ``lz4``, ``lz4-frame`` or ``zlib``.
        entry: header of its fatbin entry; ``None`` outside of fatbins.
        module: the name under which the host object registers it; empty when that is not said.
        error: what is wrong with it; ``None`` for images that look right so far. Asking for more
            (``arch``) can show that one is broken.
    """

    __slots__ = (
        "_arch",
        "_is_paid",
        "_offset",
        "_size",
        "_source",
        "_superseded",
        "compression",
        "entry",
        "error",
        "kind",
        "module",
        "provenance",
        "stored_size",
    )
    compression: str
    stored_size: int

    def __init__(
        self,
        provenance: tuple[Step, ...],
        kind: str,
        source: Source,
        offset: int = 0,
        size: int = 0,
        entry: Entry | None = None,
        arch: str | None = None,
        error: CubinError | None = None,
        superseded: bool | None = False,
        module: str = "",
    ) -> None:
        self.provenance: tuple[Step, ...] = provenance
        self.kind: str = kind
        self.entry: Entry | None = entry
        self.error = error
        self.module: str = module
        self._source = source
        self._offset = offset
        self._size = size
        self._arch = arch
        self._is_paid = False
        self._superseded = superseded
        self.stored_size = entry.stored_size if entry else size
        self.compression = entry.compression if entry else "none"

    def __repr__(self) -> str:
        return f"<Image {self.kind} {self.arch} {self}>"

    def __str__(self) -> str:
        return " → ".join([step.name for step in self.provenance])

    @property
    def file(self) -> str:
        """Name of the file, with the members of archives on the way: no fatbin numbers."""
        return " → ".join(
            s.name for s in self.provenance if s.kind in ("file", "member", "compressed")
        )

    @property
    def place(self) -> tuple[str, str]:
        """The file, and the way in it to the image; for a file that is the image "" and the file.

        Lists show the first once, as a heading.
        """
        first, *rest = [step.name for step in self.provenance]
        return (first, " → ".join(rest)) if rest else ("", first)

    @property
    def is_shareable(self) -> bool:
        """Whether this process and one forked off it may both read it."""
        return self._source.is_shareable

    @property
    def section(self) -> str:
        """Name of the host section around it; empty when there is none."""
        for step in reversed(self.provenance):
            if step.section:
                return step.section
        return ""

    @property
    def offset(self) -> int:
        """Where the stored bytes begin, in the innermost file or archive member."""
        return self.entry.payload_offset if self.entry else self._offset

    @property
    def arch(self) -> str:
        """``sm_90a`` for cubins, ``compute_90a`` for PTX and IR; empty for faults.

        It never raises: a cubin outside of a fatbin whose own headers are broken has an empty one,
        and :attr:`error` says what is wrong.
        """
        if self._arch is None:
            try:
                self._arch = self._find_arch()
            except CubinError as error:
                self._arch = ""
                self.error = error
        return self._arch

    def _find_arch(self) -> str:
        if self.entry is not None:
            prefix = "sm_" if self.kind == "cubin" else "compute_"
            return f"{prefix}{self.entry.sm}{self.entry.variant}"
        if self.kind == "cubin":
            return self.cubin().arch
        return ""

    @property
    def superseded(self) -> bool:
        """Whether it is an input of a device link whose result is in the same host file.

        A program that is built with separate compilation keeps the relocatable images of its
        parts; a driver only sees the linked one. The host's section names tell which is which.
        Without a section table the type of the cubin does, which costs a look into it.
        """
        if self._superseded is None:
            self._superseded = self.kind == "cubin" and self._is_relocatable()
        return self._superseded

    def _is_relocatable(self) -> bool:
        try:
            return self.cubin().header.is_relocatable
        except CubinError:
            return False

    @property
    def size(self) -> int:
        """Bytes of the image when decompressed, as the headers say.

        PTX counts with the NUL that ends it. A stored cubin in a fatbin counts without its
        padding, which costs a look at its section table.
        """
        entry = self.entry
        if entry is None:
            return self._size
        if self.compression == "none" and self.kind == "cubin":
            name = self._source.name
            return _cubin_size(self._source.part(entry.payload_offset, entry.payload_size, name))
        return entry.size

    @property
    def scrambled(self) -> bool:
        """Whether its bytes are unreadable by intent of the producer (compressed LTO IR)."""
        return self.entry is not None and self.entry.scrambled

    @property
    def options(self) -> str:
        """ptxas options stored with PTX, or options stored with IR; else empty."""
        if self.entry is None or self.kind == "cubin":
            return ""
        extension = fatbin.extension(self._source, self.entry)
        return extension.rstrip(b"\0").decode("utf-8", "replace") if extension else ""

    @property
    def data(self) -> bytes:
        """The image, decompressed, without padding; PTX without the NUL that ends it.

        Read anew each time; nothing is kept. For many images see :meth:`view`.

        Raises:
            CubinError: it cannot be read or decompressed.
        """
        return bytes(self.view(Arena()))

    def view(self, arena: Arena) -> memoryview:
        """:attr:`data` without a copy of its own, for walking many images.

        Args:
            arena: where to decompress; the view is valid until the arena is used again.

        Raises:
            CubinError: it cannot be read or decompressed.
        """
        self._refuse_fault()
        entry = self.entry
        if entry is None:
            return memoryview(self._source.exactly(self._offset, self._size, "image"))
        data = fatbin.image_into(self._source, entry, arena, is_paid=self._is_paid)
        self._is_paid = True
        if self.kind == "ptx":
            end = len(data)
            while end and not data[end - 1]:
                end -= 1
            return data[:end]
        if self.kind == "cubin" and entry.compression == "none":
            return data[: _cubin_size(BytesSource(bytes(data), self._source.name))]
        return data

    def start(self, arena: Arena, size: int) -> memoryview:
        """The first bytes of :meth:`view`; the rest may be damaged, as it may not be read.

        Args:
            size: how many; the image may have fewer, and a NUL behind the text of PTX.

        Raises:
            CubinError: it cannot be read or decompressed.
        """
        self._refuse_fault()
        if self.entry is None or self.compression != "zstd":
            return self.view(arena)[:size]
        return fatbin.image_into(self._source, self.entry, arena, is_paid=self._is_paid, most=size)[
            :size
        ]

    def stored_bytes(self) -> bytes:
        """The bytes as they are stored, compressed or not."""
        self._refuse_fault()
        if self.entry is None:
            return self.data
        return fatbin.payload(self._source, self.entry)

    def stored_view(self, arena: Arena) -> bytes | memoryview:
        """:meth:`stored_bytes` without a copy of its own.

        Args:
            arena: where to read; the view is valid until the arena is used again.
        """
        self._refuse_fault()
        if self.entry is None:
            return self.view(arena)
        return fatbin.payload_into(self._source, self.entry, arena)

    def _refuse_fault(self) -> None:
        """The bytes of a broken image can be read, those of a place without one cannot."""
        if self.kind == "fault" and self.error is not None:
            raise self.error

    def cubin(self, arena: Arena | None = None) -> Cubin:
        """The image as a :class:`cubinspec.Cubin`.

        Args:
            arena: where to decompress; the cubin is valid until the arena is used again.

        Raises:
            CubinError: it is something else, or broken.
        """
        from cubinspec.model.cubin import Cubin

        return Cubin(self.view(Arena() if arena is None else arena), str(self))

    def as_dict(self) -> dict[str, object]:
        """The image as JSON knows it."""
        out: dict[str, object] = {
            "kind": self.kind,
            "arch": self.arch,
            "offset": self.offset,
            "stored_size": self.stored_size,
            "size": self.size,
            "compression": self.compression,
            "scrambled": self.scrambled,
            "provenance": [step.as_dict() for step in self.provenance],
        }
        if self.module:
            out["module"] = self.module
        if self.error is not None:
            out["error"] = self.error.as_dict()
        return out


def _cubin_size(padded: Source) -> int:
    """Length of a cubin that padding may follow; all of it when its headers are broken."""
    try:
        return cubin_length(padded, 0)
    except CubinError:
        return padded.size
