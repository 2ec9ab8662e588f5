"""What is done with one or two images of the files that are compared, in whichever process.

All of it is sent between processes: what is asked for, the functions by their names, results.
"""

from __future__ import annotations

from contextlib import ExitStack, suppress
from dataclasses import dataclass

from cubinspec.compare.image_reader import ImageReader, outlines_of
from cubinspec.compare.looks import read_symbols
from cubinspec.compare.names import stable_name
from cubinspec.compare.noise import differ_in_noise_only
from cubinspec.compare.pairs import (
    PairChanges,
    compare_images,
    compare_noise,
)
from cubinspec.compare.texts import are_same_texts, head_digest, tail_digest, text_digest
from cubinspec.errors import CubinError
from cubinspec.report.names import matcher

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cubinspec.compare.facts import FunctionFacts
    from cubinspec.containers import Image
    from cubinspec.containers.arena import Arena
    from cubinspec.model.cubin import Cubin

    #: An old image and a new one, ``None`` for none, and where to decompress the second.
    Images = tuple[Image | None, Image | None, Arena]
    #: What is known of the images of a file: of a cubin type, size and names, of others a digest.
    Reading = tuple[str, int, list[str]] | str

#: Images that are likely to be a pair are compared at once when this part of their names is common.
_LEAST_COMMON = 0.1


@dataclass(frozen=True, slots=True)
class Question:
    """What is compared. It is sent to other processes.

    Attributes:
        properties: see :func:`cubinspec.compare.changes.expanded`.
        pattern: of the names of functions, as commands take it; ``None``: all.
        archs: targets that are wanted; ``None``: all.
        relocatable: inputs of a device link, too, where its result is in the same file.
        digests: whether digests of changed code are told; a text only says that it changed.
    """

    properties: frozenset[str] | None = None
    pattern: str | None = None
    archs: frozenset[str] | None = None
    relocatable: bool = False
    digests: bool = True

    def wants(self, image: Image) -> bool:
        """Whether an image is compared at all.

        Raises:
            CubinError: it is broken.
        """
        if image.error is not None:
            raise image.error
        arch = image.arch if image.kind == "cubin" else image.arch.replace("compute_", "sm_")
        if image.error is not None:  # looking at the target shows what is broken
            raise image.error
        if self.archs is not None and arch not in self.archs:
            return False
        return image.kind != "cubin" or self.relocatable or not image.superseded

    def compare(self, old: ImageReader, new: ImageReader) -> PairChanges:
        """What differs between two images.

        Raises:
            CubinError: one of them is broken.
        """
        wants = matcher(self.pattern)
        return compare_images(old, new, self.properties, wants, digests=self.digests)


def read_and_compare(
    question: Question, pair: Images, arena: Arena
) -> tuple[list[Reading | CubinError | None], PairChanges | list[list[FunctionFacts]]]:
    """The names in one or two images, and what differs between them if they seem to be a pair.

    Else their functions are told, those of each image behind each other.
    """
    old, new, second = pair
    readings: list[Reading | CubinError | None] = [None, None]
    cubins: dict[int, Cubin] = {}
    names: list[list[str]] = []
    with ExitStack() as opened:
        for side, (image, memory) in enumerate(((old, arena), (new, second))):
            try:
                if image is not None and image.kind != "cubin":
                    readings[side] = head_digest(image, memory)
                elif image is not None:
                    cubins[side] = opened.enter_context(image.cubin(memory))
            except CubinError as error:
                readings[side] = error
        with suppress(CubinError):  # told by what follows
            if len(cubins) == 2 and differ_in_noise_only(*cubins.values()):
                return _noise_in(question, *cubins.values())
        for side, cubin in cubins.items():
            try:
                # a pair is most likely compared, and then its functions are needed, too
                found = cubin.functions.names
                readings[side] = _reading(cubin, found)
                names.append(found)
            except CubinError as error:
                readings[side] = error
        with suppress(CubinError):  # the second pass finds out which of them is broken
            if len(names) == 2 and _are_alike(*names):
                return readings, question.compare(*map(ImageReader, cubins.values(), names))
            if len(names) == 2 - (old, new).count(None):  # all could be read
                return readings, [*map(outlines_of, cubins.values(), names)]
        return readings, []


def _reading(cubin: Cubin, names: list[str]) -> Reading:
    return cubin.header.type_word, cubin.size, names


def _noise_in(
    question: Question, old: Cubin, new: Cubin
) -> tuple[list[Reading | CubinError | None], PairChanges]:
    """As :func:`read_and_compare`, of images that differ in noise only."""
    names = old.functions.names
    changes = compare_noise(old, new, matcher(question.pattern))
    return [_reading(old, names), _reading(new, names)], changes


def _are_alike(old: list[str], new: list[str]) -> bool:
    """Whether two images seem to be a pair; one without functions may be anybody's counterpart."""
    if not old or not new or old == new:
        return True
    one, other = set(old), set(new)
    if len(one & other) >= _LEAST_COMMON * max(len(one), len(other)):
        return True
    one, other = set(map(stable_name, old)), set(map(stable_name, new))
    return len(one & other) >= _LEAST_COMMON * max(len(one), len(other))


def digest_of_end(question: Question, pair: Images, arena: Arena) -> tuple[str, str]:
    """A digest of the last lines of an image that is no cubin."""
    old, new, _ = pair
    body = "".join(tail_digest(image, arena) for image in (old, new) if image is not None)
    return body, body


def digest_of_text(question: Question, pair: Images, arena: Arena) -> tuple[str, str]:
    """A digest of an image that is no cubin; of two, values that are equal if the texts are."""
    old, new, second = pair
    if old is not None and new is not None:
        place = f"old {old}"
        return place, place if are_same_texts(old, new, arena, second) else f"new {new}"
    body = "".join(text_digest(image, arena) for image in (old, new) if image is not None)
    return body, body


def compare_or_outline(
    question: Question, pair: Images, arena: Arena
) -> tuple[list[CubinError | None], PairChanges | list[FunctionFacts] | None]:
    """What differs between two images, or all functions of one; and what is broken in them."""
    old, new, second = pair
    faults: list[CubinError | None] = [None, None]
    readers: dict[int, ImageReader] = {}
    with ExitStack() as opened:
        for side, (image, memory) in enumerate(((old, arena), (new, second))):
            if image is not None:
                try:
                    readers[side] = ImageReader(opened.enter_context(image.cubin(memory)))
                except CubinError as error:
                    faults[side] = error
        if any(faults):
            return faults, None
        try:
            if len(readers) == 2:
                return faults, question.compare(*readers.values())
            (reader,) = readers.values()
            return faults, outlines_of(reader.cubin, reader.names, None, reader)
        except CubinError:
            for side, reader in readers.items():
                faults[side] = _fault(reader)
            if not any(faults):
                raise
            return faults, None


def facts_again(item: tuple[Image, list[int]], arena: Arena) -> list[FunctionFacts] | CubinError:
    """Some functions of an image; what is broken in it."""
    image, places = item
    try:
        with image.cubin(arena) as cubin:
            reader = ImageReader(cubin, [])  # names of the few are read with them
            return [reader.facts_of(reader.functions[place]) for place in places]
    except CubinError as error:
        return error


def _fault(reader: ImageReader) -> CubinError | None:
    """What is broken in an image."""
    try:
        for function in reader.functions:
            reader.facts_of(function)
        reader.values()
        reader.noise()
        read_symbols(reader)
    except CubinError as error:
        return error
    return None
