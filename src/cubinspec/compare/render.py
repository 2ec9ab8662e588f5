"""A difference as text, as Markdown for a pull request, and as JSON."""

from __future__ import annotations

from collections import Counter
from functools import lru_cache
from html import escape

from cubinspec.compare.changes import COSTS, Change
from cubinspec.compare.diff import NOISE, Difference, FunctionChange
from cubinspec.compare.match import SAME_NAME
from cubinspec.format.escapes import escaped
from cubinspec.model.parameter import read_parameters
from cubinspec.report.names import readable
from cubinspec.report.occupancy import Launch, limits_of, residency
from cubinspec_generated.codes import EIFMT_SVAL

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any

    from cubinspec.compare.facts import FunctionFacts, ImageOutline
    from cubinspec.compare.match import Placed

    NameOf = Callable[[str], str]

#: Kernels that a table of Markdown shows before the rest is folded.
_SHOWN = 20
#: New or gone images that stand above the functions; more of them are counted there.
_FEW_IMAGES = 5
#: Characters of a comment in Markdown; GitHub takes 65,536.
_MOST_MARKDOWN = 60_000
#: Properties with a column of their own in a table.
_COLUMNS = ("registers", "stack", "shared", "code_size")
#: Threads per block for the occupancy of kernels that state none.
_USUAL_BLOCK = 256
#: Launches of which the occupancy is kept; most kernels share a few.
_KEPT = 1 << 12
#: Names of which the shown form is kept.
_KEPT_NAMES = 1 << 16
#: Properties of which only a digest is known.
_DIGESTS = frozenset(("code", "capsule", "calls", "data", "image_data", "mercury_tables"))
#: What is known of the header of a section; the size where it is no property of a function.
_HEADER = ("type", "flags", "alignment", "size")
#: Other changes of a function that stand in its row of a table.
_IN_ROW = 2
_UNITS = {
    "stack": "stack",
    "frame": "stack frame",
    "max_stack": "stack before the link",
    "local": "local memory",
    "shared": "shared memory",
    "code_size": "code bytes",
    "param_size": "parameter bytes",
}


def summary(found: Difference) -> str:
    """One line: what differs, in numbers."""
    matches = found.matches
    kernels = [f for f in found.functions if f.changes]
    worse = sum(function.worse for function in kernels)
    renamed = sum(function.renamed for function in found.functions)
    parts = [
        (len(kernels), "changed"),
        (worse, "worse"),
        (len(matches.new), "new"),
        (len(matches.gone), "gone"),
        (renamed, "renamed"),
    ]
    words = ", ".join(f"{count:,} {word}" for count, word in parts if count)
    images = len([image for image in found.images if image.changes])
    if images:
        words += f"{', ' if words else ''}{_counted(images, 'image')} changed as a whole"
    compared = []
    if found.compared or not found.same_images:
        compared.append(_counted(found.compared, "function") + " compared")
    if found.same_images:
        compared.append(_counted(found.same_images, "image") + " the same byte for byte")
    return f"{_status(found)}: {', '.join(compared)}" + (f": {words}" if words else "")


def _status(found: Difference) -> str:
    """The status in words; what nobody asked for is no noise."""
    if found.only is not None and found.status == NOISE:
        return "the same in what was asked for"
    return found.status


def _counted(count: int, word: str) -> str:
    return f"{count:,} {word}{'s' * (count != 1)}"


def text_lines(found: Difference, name_of: NameOf = readable) -> Iterator[str]:
    """The lines of the text form, safe for a terminal, the worst function first."""

    # a library has the same names for each of its targets, and they are most of the text
    @lru_cache(maxsize=_KEPT_NAMES)
    def safe_name(name: str) -> str:
        return _plain(name_of(name))

    yield _plain(summary(found))
    yield from map(_plain, file_lines(found))
    for function in found.functions:
        yield from _function_lines(function, safe_name)
    for word, placed in (("new", found.matches.new), ("gone", found.matches.gone)):
        for image, one in placed:
            yield f"{word:<7} {image.arch}  {safe_name(one.name)}  {brief(one)}"
    for change in found.images:
        if change.changes or (change.noise and found.status == NOISE):
            yield _plain(f"image   {change.new.arch}  {change.new.path}")
            yield from (_plain(f"          {change_text(one)}") for one in change.changes)
            yield from (_plain(f"          noise: {change_text(one)}") for one in change.noise)
    for word, images in image_sides(found):
        if len(images) > _FEW_IMAGES:
            yield from (_plain(_image_line(word, image)) for image in images)


def image_sides(found: Difference) -> tuple[tuple[str, list[ImageOutline]], ...]:
    """The images of one file only: what happened to them, and which they are."""
    return ("new", found.matches.new_images), ("gone", found.matches.gone_images)


def _image_line(word: str, image: ImageOutline) -> str:
    """An image and the way to it in its file."""
    return f"{word} image  {image.arch} {image.type}  {way_to(image)}"


def way_to(image: ImageOutline) -> str:
    """The way to an image in its file; the file when it is one itself."""
    return " → ".join(str(step["name"]) for step in image.steps[1:]) or image.path


def file_lines(found: Difference) -> Iterator[str]:
    """What differs between the files as a whole, and what could not be compared."""
    for word, faults in zip(("old", "new"), found.unread, strict=True):
        yield from (f"unread  {word}  {fault}" for fault in faults)
    old, new = found.size
    if old != new:
        yield f"size    {old:,} → {new:,} ({new - old:+,})"
    before, after = found.targets
    if before != after:
        yield f"targets {' '.join(before) or '-'} → {' '.join(after) or '-'}"
    for word, images in image_sides(found):
        if len(images) > _FEW_IMAGES:
            counts = Counter(f"{image.arch} {image.type}" for image in images)
            said = (f"{count} {which}" for which, count in counts.items())
            yield f"{word} images  {', '.join(said)}"
        else:
            yield from (_image_line(word, image) for image in images)
    for (word, kind, arch), count in Counter(found.others).items():
        yield f"{word} {kind}  {arch or '-'}{f'  {count} times' * (count > 1)}"


def _function_lines(function: FunctionChange, safe_name: NameOf) -> Iterator[str]:
    image, one = function.pair.new
    yield f"{function_mark(function):<7} {image.arch}  {safe_name(one.name)}"
    if function.renamed:
        yield f"          {function.pair.how}: was {safe_name(function.pair.old[1].name)}"
    for change in function.changes:
        yield _plain(f"          {change_text(change)}")
    occupied = occupancy_text(function)
    if occupied:
        yield f"          occupancy {occupied}"


def function_mark(function: FunctionChange) -> str:
    """What happened to a function, in one word."""
    return "worse" if function.worse else "changed" if function.changes else "renamed"


def change_text(change: Change) -> str:
    """``registers 40 → 48 (+8)``."""
    word = _UNITS.get(change.name, change.name)
    if change.name in ("code", "capsule", "calls") or change.name.startswith(
        ("data.", "image_data.")
    ):
        return f"{word} differs" if change.old and change.new else _one_sided(word, change)
    if change.name in ("params", "relocations"):
        return f"{word}: {_list_text(change)}"
    group, _, section = change.name.partition(".")
    if group in ("sections", "image_sections"):
        return f"section {section}: {_header_text(change)}"
    delta = "" if change.delta is None else f" ({change.delta:+})"
    return f"{word} {_value(change.old)} → {_value(change.new)}{delta}"


def _header_text(change: Change) -> str:
    """What differs in the header of a section."""
    if not change.old or not change.new:
        return "new" if change.new else "gone"
    both = zip(_HEADER, change.old, change.new, strict=False)
    return ", ".join(f"{word} {old:#x} → {new:#x}" for word, old, new in both if old != new)


def _one_sided(word: str, change: Change) -> str:
    return f"{word} {'is new' if change.new else 'is gone'}"


def _list_text(change: Change) -> str:
    show = _parameter if change.name == "params" else str
    old = [show(item) for item in change.old or ()]
    new = [show(item) for item in change.new or ()]
    olds, news = set(old), set(new)
    gone = [f"-{item}" for item in old if item not in news]
    fresh = [f"+{item}" for item in new if item not in olds]
    items = [*gone, *fresh] or [f"{len(old)} → {len(new)}"]
    return ", ".join(items[:8]) + (f" and {len(items) - 8} more" if len(items) > 8 else "")


def _parameter(record: bytes) -> str:
    """A parameter record: ordinal, place and size."""
    (found,) = read_parameters([(0, EIFMT_SVAL, record[0], len(record) - 1, record[1:])]) or (None,)
    if found is None:
        return record.hex()
    return f"{found.ordinal}: {found.size} bytes at {found.offset}"


def _value(value: Any) -> str:
    if value is None:
        return "none"
    if isinstance(value, tuple):
        return "x".join(map(str, value)) if value else "none"
    if isinstance(value, int) and value > 1 << 20:
        return hex(value)
    return str(value)


def brief(function: FunctionFacts) -> str:
    """A function in a few words, for one that is new or gone."""
    registers = function["registers"]
    said = "" if registers is None else f"{registers} registers, "
    return f"{said}{function['code_size']} bytes of code"


def occupancy_text(function: FunctionChange) -> str:
    """How the occupancy changed, ``75 % → 62 %``; empty when it did not."""
    before, after = occupancies(function)
    if before is None or after is None or before == after:
        return ""
    return f"{100 * before:.0f} % → {100 * after:.0f} %"


def occupancies(function: FunctionChange) -> tuple[float | None, float | None]:
    """Occupancy of a kernel in both files, at the block size that the old one states."""
    pair = function.pair
    block = _block(pair.old[1]) or _block(pair.new[1])
    return _occupancy(pair.old, block), _occupancy(pair.new, block)


def _block(function: FunctionFacts) -> int | None:
    shape = function["reqntid"] or function["max_ntid"]
    return None if shape is None else shape[0] * shape[1] * shape[2]


def _occupancy(placed: Placed, block: int | None) -> float | None:
    image, function = placed
    registers = function["registers"]
    if function.kind != "kernel" or registers is None:
        return None
    return _occupancy_of(
        image.arch, block, registers, function["shared"], function["barriers"] or 0
    )


@lru_cache(maxsize=_KEPT)
def _occupancy_of(
    arch: str, block: int | None, registers: int, shared: int, barriers: int
) -> float | None:
    try:
        limits = limits_of(arch)
    except ValueError:
        return None
    most = limits["max_threads_per_block"]
    size = block if block is not None and 0 < block <= most else _USUAL_BLOCK
    return residency(Launch(size, registers, shared, barriers), limits).occupancy


def markdown(found: Difference, old: str, new: str) -> str:
    """A comment for a pull request: the worst first, totals, the rest folded."""
    lines = [f"### Device code: {_status(found)}", "", summary(found) + ".", ""]
    lines += [f"`{_code(old)}` → `{_code(new)}`", ""]
    lines += [f"- {_marked(line)}" for line in file_lines(found)] + [""]
    rows = [_row(function) for function in found.functions if function.changes]
    lines += _table(rows[:_SHOWN])
    room = _MOST_MARKDOWN - _length(lines)
    for title, items in _details(found, rows[_SHOWN:]):
        kept = _fitting(items, room)
        room -= _length(kept)
        lines += _folded(title, kept)
    return "\n".join(lines).rstrip() + "\n"


def _length(lines: list[str]) -> int:
    return sum(len(line) + 1 for line in lines)


def _fitting(lines: list[str], room: int) -> list[str]:
    """As many of the lines as there is room for, and how many more there are."""
    kept = []
    for line in lines:
        room -= len(line) + 1
        if room < 0:
            break
        kept.append(line)
    left = len(lines) - len(kept)
    more = ["", f"{left} more lines have no room here; `--html` and `--json` have all."]
    return [*kept, *more] if left else kept


def _details(found: Difference, rows: list[list[str]]) -> Iterator[tuple[str, list[str]]]:
    """What is folded: the title and the lines of each part.

    Args:
        rows: of the table, which have no place above.
    """
    if rows:
        yield f"{len(rows)} more changed functions", _table(rows)
    renamed = [
        f"- {_marked(readable(f.pair.old[1].name))} → {_marked(readable(f.pair.new[1].name))}"
        for f in found.functions
        if f.renamed
    ]
    for title, rest, items in (
        ("function", " with all changes", _change_items(found)),
        ("renamed function", "", renamed),
        ("new function", "", _items(found.matches.new)),
        ("function", " gone", _items(found.matches.gone)),
        ("image", " changed as a whole", _image_items(found)),
    ):
        if items:
            yield _counted(len(items), title) + rest, items
    for word, images in image_sides(found):
        if len(images) > _FEW_IMAGES:
            items = [f"- {_marked(_image_line(word, image))}" for image in images]
            yield f"{len(images)} {word} images", items


def _items(placed: Iterable[Placed]) -> list[str]:
    return [
        f"- {image.arch}: {_marked(readable(one.name))}, {_marked(brief(one))}"
        for image, one in placed
    ]


def _change_items(found: Difference) -> list[str]:
    """All changes of the functions whose rows have not room for them."""
    items = []
    for function in found.functions:
        if len(_others(function)) > _IN_ROW:
            image, one = function.pair.new
            texts = "; ".join(map(change_text, function.changes))
            items.append(f"- {image.arch}: {_marked(readable(one.name))}: {_marked(texts)}")
    return items


def _image_items(found: Difference) -> list[str]:
    return [
        f"- {change.new.arch}: {_marked('; '.join(map(change_text, change.changes)))}"
        for change in found.images
        if change.changes
    ]


def _folded(title: str, lines: list[str]) -> list[str]:
    return ["", f"<details><summary>{title}</summary>", "", *lines, "", "</details>"]


def _row(function: FunctionChange) -> list[str]:
    image, one = function.pair.new
    costs = {change.name: change for change in function.changes if change.name in COSTS}
    words = [_cost(costs.get(name)) for name in _COLUMNS]
    others = _others(function)
    other = "; ".join(others[:_IN_ROW])
    if len(others) > _IN_ROW:
        other += f"; and {len(others) - _IN_ROW} more"
    mark = "worse" if function.worse else ""
    cells = [mark, image.arch, *words, occupancy_text(function), other]
    return [*map(_marked, cells), f"`{_code(readable(one.name))}`"]


def _others(function: FunctionChange) -> list[str]:
    """Changes without a column of their own."""
    return [change_text(change) for change in function.changes if change.name not in _COLUMNS]


def _cost(change: Change | None) -> str:
    if change is None:
        return ""
    delta = "" if change.delta is None else f" ({change.delta:+})"
    return f"{_value(change.old)} → {_value(change.new)}{delta}"


def _table(rows: list[list[str]]) -> list[str]:
    if not rows:
        return []
    head = ("", "arch", "registers", "stack", "shared", "code", "occupancy", "other", "function")
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    return [*lines, *(f"| {' | '.join(row)} |" for row in rows)]


def _marked(text: str) -> str:
    """Text in which Markdown and HTML mean nothing."""
    safe = escape(_plain(text), quote=False)
    for character in "\\`*_[]|":
        safe = safe.replace(character, f"\\{character}")
    return safe


def _code(text: str) -> str:
    """Text for between backticks in a table."""
    return _plain(text).replace("`", "'").replace("|", "\\|")


def _plain(text: str) -> str:
    """Text in one line and one direction; what no page can show stands as an escape."""
    return text if text.isprintable() else escaped(text)


def record(found: Difference) -> dict[str, Any]:
    """The difference as JSON knows it (``diff.schema.json``)."""
    matches = found.matches
    return {
        "status": found.status,
        "worse": found.is_worse,
        "size": {"old": found.size[0], "new": found.size[1]},
        "targets": {"old": list(found.targets[0]), "new": list(found.targets[1])},
        "compared": found.compared,
        "same_images": found.same_images,
        "functions": [_function_record(function) for function in found.functions],
        "new": [_placed_record(placed) for placed in matches.new],
        "gone": [_placed_record(placed) for placed in matches.gone],
        "images": [
            {
                "arch": change.new.arch,
                "old": change.old.steps,
                "new": change.new.steps,
                "changes": [one.as_dict() for one in change.changes],
                "noise": [one.as_dict() for one in change.noise],
            }
            for change in found.images
        ],
        "others": [{"what": word, "kind": kind, "arch": arch} for word, kind, arch in found.others],
        "new_images": [_image_record(image) for image in matches.new_images],
        "gone_images": [_image_record(image) for image in matches.gone_images],
        "unread": [
            {"side": side, "file": fault.file, "error": fault.as_dict()}
            for side, faults in zip(("old", "new"), found.unread, strict=True)
            for fault in faults
        ],
    }


def _image_record(image: Any) -> dict[str, Any]:
    return {"arch": image.arch, "type": image.type, "provenance": image.steps}


def _placed_record(placed: Placed) -> dict[str, Any]:
    image, function = placed
    return {
        "name": function.name,
        "demangled": readable(function.name),
        "kind": function.kind,
        "arch": image.arch,
        "provenance": image.steps,
    }


def _function_record(function: FunctionChange) -> dict[str, Any]:
    pair = function.pair
    before, after = occupancies(function)
    old_name = pair.old[1].name
    return {
        **_placed_record(pair.new),
        "matched": pair.how,
        "old_name": old_name if pair.how != SAME_NAME else pair.new[1].name,
        "worse": function.worse,
        "occupancy": {"old": before, "new": after},
        "changes": [change.as_dict() for change in function.changes],
    }
