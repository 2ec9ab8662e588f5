"""What is compared of a cubin: facts about its kernels and functions, and about the whole image.

Facts are small: code, constants and data are there as digests. They leave out on purpose what does
not matter to who runs the code: where things lie in the file, the order of tables, numbers of
symbols and sections, and names that hold a hash of the build. One pass over a file makes them, in
other processes too, and what compares them never opens the file again.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from cubinspec.compare.streams import attributes_of, params_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from cubinspec.compare.streams import Stream

#: Value of a stack that nobody can know; one that the file does not state is ``None``.
UNKNOWN = "unknown"
#: What is read of a function, in this order; what its attributes say comes behind.
READ = (
    *("registers", "stack", "frame", "max_stack", "shared", "local", "constants", "barriers"),
    *("mbarriers", "max_ntid", "reqntid", "cluster", "max_cluster_rank", "max_registers"),
    *("param_size", "param_bank", "code_size", "code", "data", "relocations", "capsule"),
    *("symbol", "section_registers", "sections"),
)
#: Where each of them stands.
PLACES = {word: place for place, word in enumerate(READ)}


@dataclass(slots=True)
class FunctionFacts:
    """A kernel or device function.

    Two functions whose ``read`` and ``stream`` are equal have the same properties; most functions
    of two builds are such, and nobody asks for more.

    Attributes:
        name: the mangled name.
        kind: ``kernel`` or ``function``.
        read: the values of :data:`READ`.
        stream: its attributes, not yet taken apart.
        place: which of the functions of its image it is, where the rest may have to be read.
        head: tells most code of one size apart, where the code itself was not read.
        is_whole: whether all is known.
    """

    name: str
    kind: str
    read: tuple[Any, ...]
    stream: Stream
    place: int | None = None
    head: int = 0
    is_whole: bool = True

    def __getitem__(self, word: str) -> Any:
        """A property of :data:`READ`."""
        return self.read[PLACES[word]]

    @property
    def values(self) -> dict[str, Any]:
        """Property -> value, made anew each time.

        Values are numbers, texts, tuples, or dictionaries of these; a property that the file does
        not state is ``None``.
        """
        known = dict(zip(READ, self.read, strict=True))
        return {**known, "params": self.params, "attributes": attributes_of(self.stream)}

    @property
    def params(self) -> tuple[bytes, ...]:
        """The records of its parameters."""
        return params_of(self.stream)

    def without_details(self) -> FunctionFacts:
        """The same with only those facts that are shown of a function whose changes are known."""
        read = [*NOTHING]
        for place in _SHOWN_PLACES:
            read[place] = self.read[place]
        return FunctionFacts(self.name, self.kind, tuple(read), (b"", ()))

    def learn(self, more: FunctionFacts) -> None:
        """Take over all that is known of the same function."""
        self.read, self.stream, self.is_whole = more.read, more.stream, True


#: Facts that are shown beside the changes of a function.
_SHOWN = frozenset(("registers", "shared", "barriers", "max_ntid", "reqntid", "code_size"))
_SHOWN_PLACES = [PLACES[word] for word in _SHOWN]
#: The values of a function of which nothing was read.
NOTHING: list[Any] = [None] * len(READ)


@dataclass(slots=True)
class ImageOutline:
    """What tells one cubin from the others in its file.

    Attributes:
        steps: the way from the file to it, as JSON knows it.
        path: the same as text.
        arch: the target.
        type: ``exe`` or ``rel``.
        size: bytes when decompressed.
        body: digest of its bytes as they are stored.
        names: its functions, in the order of the file.
    """

    steps: list[dict[str, object]]
    path: str
    arch: str
    type: str
    size: int
    body: str
    names: list[str] = field(default_factory=list)


@dataclass(slots=True)
class ImageFacts(ImageOutline):
    """A cubin.

    Attributes:
        functions: its kernels and functions, in the order of the file.
        values: property of the whole image -> value, as in :class:`FunctionFacts`.
        noise: what may differ between builds of the same thing: notes, tool options, debug data,
            tables of the Mercury half that repeat those of the SASS half.
    """

    functions: list[FunctionFacts] = field(default_factory=list)
    values: dict[str, Any] = field(default_factory=dict)
    noise: dict[str, Any] = field(default_factory=dict)

    @property
    def kernels(self) -> list[FunctionFacts]:
        """The functions that the host can launch."""
        return [function for function in self.functions if function.kind == "kernel"]
