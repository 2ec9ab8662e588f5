"""``python -m tools.gen``: write, or with ``--check`` compare, everything generated."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
from pathlib import Path

from tools.gen import api, codes, fields, kaitai, lint, native, packages, payloads, records, targets
from tools.gen.kaitai import CompileError
from tools.gen.spec import SpecError, load_specs
from tools.gen.tables import TableError, check_and_load
from tools.gen.tables import emit as emit_tables
from tools.linkcases import rules

ROOT = Path(__file__).resolve().parents[2]

#: Folders in which every file is generated, so that a leftover is a difference too.
OWNED_FOLDERS = (
    kaitai.PACKAGE / "kaitai",
    kaitai.PACKAGE / "kaitai_debug",
    kaitai.PACKAGE / "tables",
    kaitai.PACKAGE / "json",
    *packages.FOLDERS,
    *native.FOLDERS,
    api.FOLDER,
)


def generate(root: Path, ksc: str | None = None) -> dict[Path, str]:
    """Every generated file, by its path relative to ``root``.

    Args:
        root: top folder of the project.
        ksc: command of the official compiler; ``None`` for the pinned npm one.

    Raises:
        TableError, SpecError, CompileError, RuleError: what the sources are wrong about.
    """
    tables = check_and_load(root)
    files = emit_tables(tables)
    files[payloads.FILE] = payloads.emit(tables, (root / payloads.FILE).read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory() as name:
        # the specs import cuda_codes.ksy, which is itself generated: compile against the new one
        folder = Path(name)
        for spec in (root / "ksy").glob("*.ksy"):
            shutil.copy(spec, folder)
        for path, text in files.items():
            if path.suffix == ".ksy":
                (folder / path.name).write_text(text, encoding="utf-8")
        specs = load_specs(folder)
        faults = lint.check(specs)
        contradictions = list(payloads.note_faults(tables, specs))
        if contradictions:
            raise TableError(contradictions)
        if faults:
            raise SpecError("\n".join(str(fault) for fault in faults))
        languages = [*kaitai.TARGETS, *packages.PACKAGES]
        compiled = (
            kaitai.ksc_compile(ksc, folder, languages)
            if ksc
            else kaitai.npm_compile(folder, languages)
        )
        files.update(kaitai.project_files({t: compiled[t] for t in kaitai.TARGETS}, specs))
        files.update(packages.emit(compiled, specs))
        files[kaitai.PACKAGE / "records.py"] = records.emit(specs)
        files[kaitai.PACKAGE / "record_fields.py"] = records.emit_fields(specs)
        files[kaitai.PACKAGE / "fields.py"] = fields.emit(specs)
        for name, text in codes.emit(tables, specs).items():
            files[kaitai.PACKAGE / name] = text
        files.update(native.emit(tables, specs))
        groups = codes.constants(tables, specs)
        names = {code.name: code.value for _, group in groups for code in group}
        files[kaitai.PACKAGE / "targets.py"] = targets.emit(tables, names)
        files[kaitai.PACKAGE / "producers.py"] = targets.emit_producers(tables)
    files[kaitai.PACKAGE / "py.typed"] = ""  # type checkers look for it
    files[rules.PAGE] = rules.render()
    files.update(api.emit())
    return files


def leftovers(root: Path, files: dict[Path, str]) -> list[Path]:
    """Files in generated folders that nothing generates any more."""
    return sorted(
        file.relative_to(root)
        for folder in OWNED_FOLDERS
        for file in (root / folder).rglob("*")
        if file.is_file()
        and "__pycache__" not in file.parts
        and file.relative_to(root) not in files
    )


def differences(root: Path, files: dict[Path, str]) -> list[str]:
    """One line per file on disk that is not as generated."""
    lines = []
    for path, text in sorted(files.items()):
        file = root / path
        if not file.exists():
            lines.append(f"missing: {path}")
        elif file.read_text(encoding="utf-8") != text:
            lines.append(f"differs: {path}")
    return lines + [f"left over: {path}" for path in leftovers(root, files)]


def write(root: Path, files: dict[Path, str]) -> int:
    """Write what differs and remove what is left over; returns the number of changed files."""
    changed = 0
    for path, text in sorted(files.items()):
        file = root / path
        if file.exists() and file.read_text(encoding="utf-8") == text:
            continue
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        changed += 1
    for path in leftovers(root, files):
        (root / path).unlink()
        changed += 1
    return changed


def main(argv: list[str] | None = None) -> int:
    """Run the generator; 0 when all is well, 1 when a source is wrong or a file differs."""
    parser = argparse.ArgumentParser(prog="python -m tools.gen", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing, list differences")
    parser.add_argument(
        "--ksc",
        metavar="CMD",
        default=os.environ.get("KSC") or None,
        help="official compiler to use instead of the pinned npm one (default: $KSC)",
    )
    options = parser.parse_args(argv)
    try:
        files = generate(ROOT, options.ksc)
    except (TableError, SpecError, CompileError, rules.RuleError) as error:
        print(error, file=sys.stderr)
        return 1
    if options.check:
        lines = differences(ROOT, files)
        print("\n".join(lines) if lines else f"{len(files)} generated files are up to date")
        return 1 if lines else 0
    print(f"{write(ROOT, files)} of {len(files)} generated files written")
    return 0


if __name__ == "__main__":
    sys.exit(main())
