"""Pass 10: notes and `.nv.compat`.

The tool note lists the linker first, then the notes of all inputs unchanged. By default the
linker's entry names this project; the entry of an existing cubin can be taken instead, because its
length moves every later offset.
"""

from __future__ import annotations

import struct

from cubinspec_generated.tables.arch import ARCHES

from .liveness import defined_here
from .model import SHT_CUDA_COMPAT, STT_FUNC, InfoRecord, align_up, info_records
from .state import LinkState

OWNER = b"NVIDIA Corp\0"
_HEAD = struct.Struct("<III")
NT_CUINFO, NT_TKINFO = 1000, 2000
SHF_TKINFO = 0x2000000
#: CUDA version of the rules: major * 10 + minor.
_TOOLKIT = 130
TOOL, TOOL_VERSION = "cubinspec", "cubinspec 0.1.0"
(
    ISA_CLASS,
    TENSORMAP,
    TCGEN05,
    OPPORTUNISTIC,
    ISA_VERSION,
    ISA_PATCH,
    TARGET,
    FASTPATH,
) = (2, 3, 5, 6, 7, 8, 9, 11)


def split_notes(data: bytes) -> list[bytes]:
    """The single notes of a note section, each with its header and padding."""
    notes, at = [], 0
    while at + _HEAD.size <= len(data):
        namesz, descsz, _ = _HEAD.unpack_from(data, at)
        size = _HEAD.size + align_up(namesz, 4) + align_up(descsz, 4)
        notes.append(data[at : at + size])
        at += size
    return notes


def make_note(kind: int, desc: bytes) -> bytes:
    return _HEAD.pack(len(OWNER), len(desc), kind) + OWNER + desc + bytes(-len(desc) % 4)


def own_tkinfo(arguments: str) -> bytes:
    """Our own tool note."""
    texts = ["", TOOL, TOOL_VERSION, "", arguments]
    pool, offsets = bytearray(), []
    for text in texts:
        offsets.append(len(pool))
        pool += text.encode() + b"\0"
    pool += bytes(-len(pool) % 4)
    return make_note(NT_TKINFO, struct.pack("<6I", 2, *offsets) + pool)


def tool_notes(state: LinkState) -> bytes:
    """Contents of `.note.nv.tkinfo`."""
    first = state.options.tkinfo or own_tkinfo(state.options.arguments)
    inputs = [] if state.options.relocatable else state.objects
    rest = (s.data for o in inputs for s in o.sections if s.name == ".note.nv.tkinfo")
    return first + b"".join(rest)


def cuda_note(state: LinkState) -> bytes:
    """Contents of `.note.nv.cuinfo`: the lowest virtual target of the inputs."""
    found = []
    for obj in state.objects:
        section = obj.find(".note.nv.cuinfo")
        if section is not None and len(section.data) >= 32:
            found.append(int.from_bytes(section.data[26:28], "little"))
    virtual = min(found, default=target_sm(state.options.arch))
    return make_note(NT_CUINFO, struct.pack("<HHHH", 2, virtual, _TOOLKIT, 0))


def compat_bytes(state: LinkState) -> bytes:
    """Contents of `.nv.compat`, merged value by value."""
    inputs = []
    for obj in state.objects:
        section = next((s for s in obj.sections if s.sh_type == SHT_CUDA_COMPAT), None)
        if section is not None:
            inputs.append({r.code: r for r in info_records(section.data)})

    def value(table: dict[int, InfoRecord], code: int) -> int:
        return table[code].value & 0xFF if code in table else 0

    def column(code: int) -> list[int]:
        return [value(t, code) for t in inputs]

    records = [InfoRecord(2, TARGET, 1 if ARCHES[state.options.arch][1] == "a" else 0)]
    if any(ISA_PATCH in t for t in inputs):
        patch = max(t[ISA_PATCH].value for t in inputs if ISA_PATCH in t)
        records.append(InfoRecord(3, ISA_PATCH, patch))
    fast_path = InfoRecord(4, FASTPATH, 0, _fast_path(state).to_bytes(8, "little"))
    if not inputs:
        records += [fast_path] if state.profile.compat_keeps_finalizer else []
        return b"".join(r.encode() for r in records)
    classes = column(ISA_CLASS)
    records.append(InfoRecord(2, ISA_CLASS, 0 if 0 in classes else max(classes)))
    tcgen = column(TCGEN05)
    fields = 0
    for shift in (0, 2):
        part = [(v >> shift) & 3 for v in tcgen]
        fields |= (0 if 0 in part else max(part)) << shift
    records.append(InfoRecord(2, TCGEN05, (tcgen[0] & 0xF0) | fields))
    versions = [t[ISA_VERSION].value for t in inputs if ISA_VERSION in t]
    records.append(InfoRecord(3, ISA_VERSION, max(versions, default=0)))
    tensormap = 0
    for v in column(TENSORMAP):
        tensormap |= v
    records.append(InfoRecord(2, TENSORMAP, tensormap))
    modes = set(column(OPPORTUNISTIC))
    records.append(InfoRecord(2, OPPORTUNISTIC, modes.pop() if len(modes) == 1 else 1))
    if state.profile.compat_keeps_finalizer:
        records.append(fast_path)
    return b"".join(r.encode() for r in records)


def _fast_path(state: LinkState) -> int:
    """What the finalizer may do fast: bits that all linked code allows.

    An input says it for all its functions together. Where only some of them are linked, the answer
    is that of the linked ones: arithmetic in double precision and the slow paths of division and
    square root in single precision forbid something, other code nothing.
    """
    found = False
    allowed = _UNRESTRICTED.get(ARCHES[state.options.arch][0], 0)
    for obj in state.objects:
        section = next((s for s in obj.sections if s.sh_type == SHT_CUDA_COMPAT), None)
        own = [r for r in info_records(section.data) if r.code == FASTPATH] if section else []
        code = [
            (row, symbol)
            for row, symbol in zip(obj.symbols, obj.bound, strict=True)
            if row.kind == STT_FUNC and row.shndx and symbol is not None
        ]
        linked = [row for row, symbol in code if symbol.live and defined_here(obj, row.index)]
        if not own or not linked:
            continue
        found = True
        partly = len(linked) < len(code)
        if not partly or any(_restricts(obj.sections[row.shndx].data) for row in linked):
            allowed &= int.from_bytes(own[0].payload, "little")
    return allowed if found else 0


def _restricts(code: bytes) -> bool:
    """Whether SASS has an operation that is not finalized fast (low nine bits of the opcode)."""
    return any(
        (code[at] | (code[at + 1] & 1) << 8) in _SLOW_OPCODES for at in range(0, len(code) - 1, 16)
    )


#: DMUL, DADD, DFMA; FFMA, which the slow paths of division and square root have.
_SLOW_OPCODES = frozenset((0x28, 0x29, 0x2B, 0x23))
#: The value of code that forbids nothing, by target.
_UNRESTRICTED = {100: 9, 120: 0x50}


def target_sm(arch: str) -> int:
    return ARCHES[arch][0]
