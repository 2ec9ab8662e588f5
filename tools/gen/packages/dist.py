"""``make dist-languages``: one archive per language in ``dist/``, and one of the specs.

Languages with a package in ``generated`` give that package; the others the compiler's output. Each
archive holds the program of ``docs/languages`` and the license. The archives of the same sources
are the same, byte for byte. C++11 is written by the command-line compiler alone, which ``KSC``
names.
"""

from __future__ import annotations

import io
import os
import sys
import zipfile
from pathlib import Path

from tools.gen import kaitai
from tools.gen.languages.builds import EXAMPLES, LANGUAGES, ROOT
from tools.gen.native import hexpat, json_document
from tools.gen.native.c_header import HEADER
from tools.gen.native.rust_crate import FOLDER as CODES
from tools.gen.packages import PACKAGES

DIST = ROOT / "dist"
LICENSE = ROOT / "LICENSES" / "CC0-1.0.txt"

#: The archive of the specs; the site has it, too.
SPECS = "cubinspec-ksy"

#: The earliest date that an archive can hold.
_DATE = (1980, 1, 1, 0, 0, 0)


def _folder(folder: Path) -> dict[str, bytes]:
    root = ROOT / folder
    files = sorted(file for file in root.rglob("*") if file.is_file())
    return {str(file.relative_to(root)): file.read_bytes() for file in files}


def specs() -> dict[str, bytes]:
    """Every spec and the license, side by side: imports are looked up beside the spec."""
    files = {file.name: file.read_bytes() for file in (ROOT / "ksy").glob("*.ksy")}
    return files | {"LICENSE": LICENSE.read_bytes()}


def file_name(target: str) -> str:
    """The name of a target's archive; a colon cannot stand in one on Windows."""
    return (target or "c").replace(":c++", "-")


def contents(ksc: str = "") -> dict[str, dict[str, bytes]]:
    """Name of an archive -> path in it -> bytes.

    Args:
        ksc: the command-line compiler; without it what it alone writes is left out.

    Raises:
        CompileError: a spec does not compile for a language.
    """
    ours = [x for x in LANGUAGES.values() if x.target and x.target not in PACKAGES]
    specs = ROOT / "ksy"
    compiled = kaitai.npm_compile(specs, sorted(x.target for x in ours if not x.needs_ksc))
    if ksc:
        compiled |= kaitai.ksc_compile(ksc, specs, [x.target for x in ours if x.needs_ksc])
    archives = {}
    for language in LANGUAGES.values():
        target = language.target
        if language.needs_ksc and not ksc:
            continue
        if target in PACKAGES:
            files = _folder(PACKAGES[target].FOLDER)
        elif target:
            files = {Path(name).name: text.encode() for name, text in compiled[target].items()}
        else:
            files = {HEADER.name: (ROOT / HEADER).read_bytes()}
        example = EXAMPLES / language.example
        files[f"example/{example.name}"] = example.read_bytes()
        archives[file_name(target)] = files
    archives["rust-codes"] = _folder(CODES)
    archives["json"] = _folder(json_document.FOLDER)
    archives["imhex"] = _folder(hexpat.FOLDER)
    return archives


def packed(name: str, files: dict[str, bytes]) -> bytes:
    """An archive with a folder of its own name; the same files give the same bytes."""
    result = io.BytesIO()
    with zipfile.ZipFile(result, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, data in sorted(files.items()):
            entry = zipfile.ZipInfo(f"{name}/{path}", _DATE)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, data)
    return result.getvalue()


def main() -> int:
    """Write all archives; 0 when done, 1 when a spec does not compile."""
    ksc = os.environ.get("KSC", "")
    try:
        archives = contents(ksc)
    except kaitai.CompileError as error:
        print(error, file=sys.stderr)
        return 1
    DIST.mkdir(exist_ok=True)
    license_text = LICENSE.read_bytes()
    named = {f"cubinspec-{n}": f | {"LICENSE": license_text} for n, f in archives.items()}
    for name, files in sorted((named | {SPECS: specs()}).items()):
        file = DIST / f"{name}.zip"
        file.write_bytes(packed(name, files))
        print(f"{file.relative_to(ROOT)}: {len(files)} files, {file.stat().st_size:,} bytes")
    for name, language in LANGUAGES.items():
        if language.needs_ksc and not ksc:
            print(f"SKIPPED {name}: no command-line compiler: KSC names none")
    return 0


if __name__ == "__main__":
    sys.exit(main())
