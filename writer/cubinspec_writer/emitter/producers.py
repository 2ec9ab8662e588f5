"""What each ELF writer behind public cubins does when it lays out a file.

Four writers were told apart by black-box runs of ptxas 11.8 to 13.2, nvlink 13.0/13.2, nvJitLink
12.9 and by public cubins of CUDA 8 to 13.5. Everything here is data; ``layout`` holds the rules
that read it.

* ``classic``: ptxas for sm_20 to sm_89, nvlink up to sm_90. The names of both string tables stand
  in the order in which the sections and symbols were made, including those that were dropped
  before writing.
* ``finalizer``: ptxas for sm_90. The sections were made with Mercury names first; the final names
  overwrite them in the string tables and are padded with NUL bytes. ``.nv.constant0.*`` is made
  last.
* ``mercury``: ptxas, nvlink and nvJitLink for sm_100 and up: ``finalizer`` plus the ``.nv.merc.*``
  half. ``.strtab`` keeps the Mercury names and gets the final ones at its end.
  From CUDA 13.4 on (``mercury_13_4``) the tables are made when all is known: no dropped names.
* ``table_first``: the second writer (found in CUPTI, cuBLAS, compute-sanitizer, Triton): header,
  section headers at 0x40, sections in index order, no program headers.
"""

from __future__ import annotations

from cubinspec_writer.plain import dataclass, replace

#: Sizes of the hole between .shstrtab and .strtab. The finalizer sizes its file before it drops
#: names: ``.symtab_shndx`` (14 bytes), ``.nv.merc.symtab_shndx`` (22) and, where no capsule is
#: written, one ``.nv.capmerc.text.<f>`` per function.
HOLE_SHNDX = len(".symtab_shndx") + 1
HOLE_MERC_SHNDX = HOLE_SHNDX + len(".nv.merc.symtab_shndx") + 1


@dataclass(frozen=True, slots=True)
class Producer:
    """One ELF writer.

    Attributes:
        name: key in :data:`PRODUCERS`, written into the YAML form.
        table_first: section headers stand right after the ELF header.
        constant0_deferred: ``.nv.constant0.*`` is made after everything else and stands behind the
            sections without bytes.
        mercury_names: sections were made under their Mercury names (see the module text).
        names_patched: the final names also overwrite the Mercury ones in ``.strtab``; else they
            stand at its end.
        names_by_index: ``.shstrtab`` names the sections in index order and keeps the hole as zeros
            of its own; ``.strtab`` names the symbols in table order, then the signatures.
        capsules_last: the Mercury half begins with its symbol table, capsules follow relocations.
        shstrtab_hole: bytes left free behind ``.shstrtab``.
        hole_per_function: the hole also holds one ``.nv.capmerc.text.<f>`` per function.
        strtab_hole: ``.strtab`` is followed by the space of the replaced names.
        info_is_last_local: ``sh_info`` of ``.symtab`` is the index of the last local (CUDA 8 to
            11.1), not that of the first global.
        bank_relocations_first: ``.strtab`` names ``.rel.nv.constant0.<k>`` before the bank itself.
        stale_link: ``sh_link`` of everything that uses ``.symtab`` when ``.nv.uft.entry`` was
            dropped; CUDA 12.0 to 12.3 wrote a stale index.
        text_symbols: ``sh_info`` of text sections holds the function symbol.
        info_is_total: ``sh_info`` of ``.symtab`` is the number of symbols when section symbols
            stand at its end (CUDA 13.0 and later; before it is the first global).
        compat_with_info: ``.nv.compat`` is sorted together with ``.nv.info.*`` (CUDA 12.x).
        segments: which program headers are made, a key of ``layout.SEGMENT_STYLES``.
        phentsize_when_none: ``e_phentsize`` of a file without program headers.
    """

    name: str
    table_first: bool = False
    constant0_deferred: bool = False
    mercury_names: bool = False
    names_patched: bool = False
    names_by_index: bool = False
    capsules_last: bool = False
    shstrtab_hole: int = 0
    hole_per_function: bool = False
    strtab_hole: bool = False
    info_is_last_local: bool = False
    bank_relocations_first: bool = True
    stale_link: int = 0
    text_symbols: bool = True
    info_is_total: bool = False
    compat_with_info: bool = False
    segments: str = "classic"
    phentsize_when_none: int = 56


_CLASSIC = Producer("classic")
_FINALIZER = Producer(
    "finalizer",
    constant0_deferred=True,
    mercury_names=True,
    names_patched=True,
    shstrtab_hole=HOLE_SHNDX,
    hole_per_function=True,
    info_is_total=True,
    segments="split",
    phentsize_when_none=0,
)
_MERCURY = replace(
    _FINALIZER,
    name="mercury",
    names_patched=False,
    shstrtab_hole=HOLE_MERC_SHNDX,
    hole_per_function=False,
    strtab_hole=True,
)

PRODUCERS: dict[str, Producer] = {
    producer.name: producer
    for producer in (
        _CLASSIC,
        replace(_CLASSIC, name="classic_11", segments="classic_11"),
        replace(_CLASSIC, name="classic_11_1", segments="classic_11", info_is_last_local=True),
        replace(_CLASSIC, name="classic_10", segments="classic_10", info_is_last_local=True),
        replace(_CLASSIC, name="classic_12_0", stale_link=5),
        replace(
            _CLASSIC,
            name="classic_8",
            segments="classic_10",
            info_is_last_local=True,
            bank_relocations_first=False,
        ),
        replace(_CLASSIC, name="classic_bare", segments="none"),
        replace(_CLASSIC, name="classic_bare_no_entsize", segments="none", phentsize_when_none=0),
        replace(_FINALIZER, name="finalizer_11_8", info_is_total=False, hole_per_function=False),
        replace(
            _FINALIZER,
            name="finalizer_12_0",
            info_is_total=False,
            hole_per_function=False,
            stale_link=5,
        ),
        replace(_FINALIZER, name="finalizer_12_3", info_is_total=False, stale_link=5),
        replace(_FINALIZER, name="finalizer_12", info_is_total=False),
        _FINALIZER,
        replace(
            _FINALIZER,
            name="finalizer_13_4",
            mercury_names=False,
            names_by_index=True,
            hole_per_function=False,
        ),
        replace(_MERCURY, name="mercury_12", info_is_total=False, compat_with_info=True),
        replace(
            _MERCURY,
            name="mercury_12_0",
            info_is_total=False,
            compat_with_info=True,
            shstrtab_hole=HOLE_SHNDX,
        ),
        replace(_MERCURY, name="mercury_12_9", info_is_total=False),
        _MERCURY,
        replace(
            _MERCURY,
            name="mercury_13_4",
            mercury_names=False,
            strtab_hole=False,
            names_by_index=True,
            capsules_last=True,
        ),
        Producer("table_first", table_first=True, segments="none"),
        Producer("table_first_9", table_first=True, segments="none", text_symbols=False),
        Producer(
            "table_first_no_entsize", table_first=True, segments="none", phentsize_when_none=0
        ),
    )
}
"""All known writers by name."""
