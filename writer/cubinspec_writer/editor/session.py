"""An editing session: reads a file, changes it, and writes it back with all else as it was."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cubinspec.errors import BadStructureError
from cubinspec_writer.checker import require_good
from cubinspec_writer.editor import notes, removal, rename, resources, strip
from cubinspec_writer.emitter import describe, emit
from cubinspec_writer.emitter.layout import Planner, plan
from cubinspec_writer.emitter.roundtrip import unwritable
from cubinspec_writer.emitter.serialise import plan_parts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from cubinspec_writer.editor.notes import NoteChange
    from cubinspec_writer.editor.resources import Resources
    from cubinspec_writer.emitter.model import Description, Section
    from cubinspec_writer.emitter.plan import Plan

#: Header fields that follow from the layout.
_LAYOUT_FIELDS = ("e_shoff", "e_phoff", "e_shnum", "e_shstrndx", "e_phnum")


class Edit:
    """An editing session.

    After an error the session cannot be used any more: its description is half changed.

    Attributes:
        description: the file; may be changed directly.
        remarks: what was left as it is although a change concerns it, one sentence each.
    """

    description: Description

    def __init__(self, data: bytes, file: str = "<bytes>") -> None:
        """Read a file.

        Raises:
            CubinError: it is no cubin, or it cannot be written back byte for byte.
        """
        self.file = file
        self._data = data
        self.description = describe(data, file)
        self.remarks: list[str] = []
        self._before = plan(self.description)
        if b"".join(plan_parts(self._before)) != data:
            raise unwritable(file)
        self._holes = self._measure_holes()

    def __repr__(self) -> str:
        return f"<Edit of {self.file!r}, {len(self._data)} bytes>"

    def set(self, function: str, new: Resources) -> None:
        """Change registers, threads, stack, barriers or attributes of a function."""
        self._run(
            lambda: self.remarks.extend(resources.set_resources(self.description, function, new))
        )

    def rename(self, old: str, new: str) -> None:
        """Rename a kernel, device function or variable everywhere."""

        def run() -> None:
            for section in rename.rename(self.description, old, new):
                self.remarks.append(f"{section}: still holds the name {old!r}")

        self._run(run)

    def strip(
        self, *, debug: bool = False, lineinfo: bool = False, tkinfo: bool = False
    ) -> list[str]:
        """Remove debug data, line tables or the tool note; the names of the removed sections."""
        removed: list[str] = []
        self._run(
            lambda: removed.extend(
                strip.strip(self.description, debug=debug, lineinfo=lineinfo, tkinfo=tkinfo)
            )
        )
        return removed

    def keep(self, kernels: str | Iterable[str]) -> list[str]:
        """Remove all kernels but these; the names of the removed ones."""
        removed: list[str] = []
        self._run(lambda: removed.extend(removal.keep_kernels(self.description, kernels)))
        return removed

    def remove(self, kernels: str | Iterable[str]) -> None:
        """Remove these kernels."""
        self._run(lambda: removal.remove_kernels(self.description, kernels))

    def retarget_note(self, change: NoteChange) -> None:
        """Change what the notes say about target and toolkit."""
        self._run(lambda: notes.retarget(self.description, change))

    def to_bytes(self, *, checked: bool = True) -> bytes:
        """The changed file.

        Args:
            checked: refuse a result that breaks a rule of the spec which the file kept before.

        Raises:
            CubinError: the layout of this file follows no known rule and would have to change;
                the result cannot be read, or breaks a rule.
        """
        self._restore_layout()
        data = emit(self.description)
        # what was written must be readable
        describe(data, self.file)
        if checked and data != self._data:
            require_good(data, self.file, self._data)
        return data

    def _run(self, change: Callable[[], None]) -> None:
        try:
            change()
        except BadStructureError as error:
            error.file = error.file or self.file
            raise

    # -- layouts without a rule ------------------------------------------------------------------

    def _measure_holes(self) -> dict[int, int]:
        """Distance of sections with a kept offset from the place that the rule gives them."""
        pinned = [s for s in self.description.sections if "sh_offset" in s.pins]
        return {id(section): self._distance(section) for section in pinned}

    def _distance(self, section: Section) -> int:
        kept = section.pins.pop("sh_offset")
        planner = Planner(self.description)
        planner.prepare()
        offsets, _ = planner.offsets()
        section.pins["sh_offset"] = kept
        return kept - offsets[planner.sections.index(section)]

    def _restore_layout(self) -> None:
        """Correct kept offsets for changes in front of them.

        Raises:
            CubinError: something else has a place without a rule and would move.
        """
        if not _moved(self._before, plan(self.description)):
            return
        pins = self.description.pins
        fixed = [field for field in _LAYOUT_FIELDS if field in self.description.header.pins]
        kept = {
            "program headers": pins.segments is not None,
            "the size of the file": pins.file_size is not None,
            "bytes outside of sections": bool(self.description.fills),
            f"header field {', '.join(fixed)}": bool(fixed),
        }
        for what, is_kept in kept.items():
            if is_kept:
                raise BadStructureError(
                    f"no rule is known for {what}, and the change would move them", file=self.file
                )
        planner = Planner(self.description)
        for section in planner.sections:
            hole = self._holes.get(id(section))
            if hole is not None:
                section.pins["sh_offset"] += hole - self._distance(section)


def _moved(before: Plan, after: Plan) -> bool:
    """Whether a section has another size or place."""
    return _places(before) != _places(after)


def _places(laid_out: Plan) -> list[tuple[int, int]]:
    """sh_offset and sh_size of all sections."""
    return [
        (sh_offset, sh_size) for _, _, _, _, sh_offset, sh_size, _, _, _, _ in laid_out.section_rows
    ]
