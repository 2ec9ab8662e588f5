"""The order in which ptxas writes the attributes of a function.

Two orders were found in the output of ptxas 8 to 13.2: one for sm_20 to sm_89, one for sm_90 and
later. No pair of attributes in any attribute section of the samples contradicts them; where the
banks of images stand before sm_90 is what ptxas 13.0 made of a kernel with a texture and a barrier.
The Mercury copy of a section has the second order. nvlink copies most records in reverse. Two names
with ``=`` have one place: their records stand as they were made.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cubinspec_generated import codes
from cubinspec_generated.codes import EIFMT_BVAL, EIFMT_HVAL, EIFMT_NVAL, EIFMT_SVAL

if TYPE_CHECKING:
    from cubinspec_writer.emitter.bodies import AttributeRecord

_CLASSIC = """
LANGUAGE SW_WAR CUDA_API_VERSION SW2393858_WAR SW1850030_WAR SW2861232_WAR PARAM_CBANK
CBANK_PARAM_SIZE KPARAM_INFO EXPLICIT_CACHING WMMA_USED KPARAM_INFO_V2 MAXREG_COUNT
S2RCTAID_INSTR_OFFSETS LD_CACHEMOD_INSTR_OFFSETS TOOLS_PATCH_FUNC NUM_BARRIERS
BINDLESS_TEXTURE_BANK=BINDLESS_SURFACE_BANK EXTERNS ANNOTATIONS SANITIZE MERCURY_ISA_VERSION
INT_WARP_WIDE_INSTR_OFFSETS ATOM_SYS_INSTR_OFFSETS COOP_GROUP_MASK_REGIDS COOP_GROUP_INSTR_OFFSETS
ATOM16_EMUL_INSTR_REG_MAP INSTR_REG_MAP MBARRIER_INSTR_OFFSETS NUM_MBARRIERS SYSCALL_OFFSETS
UNUSED_LOAD_BYTE_OFFSET
EXIT_INSTR_OFFSETS INDIRECT_BRANCH_TARGETS CTAIDZ_USED MAX_THREADS REQNTID CRS_STACK_SIZE
"""
_FINALIZER = """
STUB_FUNCTION_KIND BLOCKS_ARE_CLUSTERS LANGUAGE CUDA_API_VERSION MERCURY_FINALIZER_OPTIONS
KPARAM_INFO CTA_PER_CLUSTER MAX_CLUSTER_RANK EXPLICIT_CLUSTER KPARAM_INFO_V2 TOOLS_PATCH_FUNC
AT_ENTRY_FRAGMENTS RESERVED_SMEM_USED SPARSE_MMA_MASK WMMA_USED TCGEN05_1CTA_USED TCGEN05_2CTA_USED
CLUSTER_LAUNCH_CONTROL_USED MAXREG_COUNT NUM_BARRIERS EXTERNS ANNOTATIONS SANITIZE
MERCURY_ISA_VERSION INT_WARP_WIDE_INSTR_OFFSETS COOP_GROUP_MASK_REGIDS COOP_GROUP_INSTR_OFFSETS
UNUSED_LOAD_BYTE_OFFSET VRC_CTA_INIT_COUNT ATOM16_EMUL_INSTR_REG_MAP SYSCALL_OFFSETS
MBARRIER_INSTR_OFFSETS NUM_MBARRIERS REG_RECONFIG EXIT_INSTR_OFFSETS MAX_THREADS REQNTID
INDIRECT_BRANCH_TARGETS CRS_STACK_SIZE CBANK_PARAM_SIZE PARAM_CBANK SW_WAR
BINDLESS_TEXTURE_BANK=BINDLESS_SURFACE_BANK NVSAL_SW_WAR
"""


def _ranks(names: str) -> dict[int, int]:
    return {
        getattr(codes, f"EIATTR_{name}"): rank
        for rank, same in enumerate(names.split())
        for name in same.split("=")
    }


_RANKS = {False: _ranks(_CLASSIC), True: _ranks(_FINALIZER)}


def rank(code: int, *, finalizer: bool) -> int:
    """Place of an attribute among those of its function; unknown ones come last.

    Args:
        finalizer: whether ptxas writes such a file through its finalizer (sm_90 and later).
    """
    ranks = _RANKS[finalizer]
    return ranks.get(code, len(ranks))


def insert(records: list[AttributeRecord], record: AttributeRecord, *, finalizer: bool) -> None:
    """Put a record where ptxas would have written it."""
    own = rank(record_code(record), finalizer=finalizer)
    for at, (_, code, _, _) in enumerate(records):
        if rank(code, finalizer=finalizer) > own:
            records.insert(at, record)
            return
    records.append(record)


def add_late(
    records: list[AttributeRecord], late: list[AttributeRecord], *, finalizer: bool
) -> None:
    """Put records behind all that ptxas has made; the finalizer adds others behind them."""
    first = rank(codes.EIATTR_CBANK_PARAM_SIZE, finalizer=finalizer)
    own = [rank(record_code(one), finalizer=finalizer) < first for one in records]
    at = own.count(True) if finalizer else len(records)
    records[at:at] = late


def record_code(record: AttributeRecord) -> int:
    """The attribute that a record is about."""
    _, code, _, _ = record
    return code


def flag(code: int) -> AttributeRecord:
    """A record without a value."""
    return EIFMT_NVAL, code, 0, b""


def byte(code: int, value: int) -> AttributeRecord:
    """A record with one byte."""
    return EIFMT_BVAL, code, value, b""


def half(code: int, value: int) -> AttributeRecord:
    """A record with two bytes."""
    return EIFMT_HVAL, code, value, b""


def sized(code: int, payload: bytes) -> AttributeRecord:
    """A record with a payload."""
    return EIFMT_SVAL, code, len(payload), payload


#: Attributes that the Mercury copy of a function's section never has.
SASS_ONLY = frozenset(
    (
        codes.EIATTR_PARAM_CBANK,
        codes.EIATTR_CBANK_PARAM_SIZE,
        codes.EIATTR_SW_WAR,
        codes.EIATTR_BINDLESS_TEXTURE_BANK,
        codes.EIATTR_BINDLESS_SURFACE_BANK,
    )
)
