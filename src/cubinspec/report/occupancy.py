"""How many blocks of a kernel an SM holds at a time, what limits them, and what would help.

The rules are those of the public ``cuda_occupancy.h`` (CUDA 13.5); the limits of each architecture
stand in ``ksy/tables/arch.yaml``. Everything is computed from the file: no GPU and no driver is
asked. What a file does not tell is not counted: the shared memory that a launch asks for beside the
static one is a parameter, and clusters, which have to fit into groups of SMs, are left out.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from cubinspec.errors import CubinError
from cubinspec.format.targets import ARCHITECTURES, family_of
from cubinspec_generated.tables.arch import LIMITS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from cubinspec.model.function import Function

#: Words for what can limit the number of resident blocks.
BLOCKS = "blocks"
WARPS = "warps"
REGISTERS = "registers"
SHARED = "shared memory"
BARRIERS = "barriers"
#: Where a block size comes from.
GIVEN = "given"
REQUIRED = ".reqntid"
MOST = ".maxntid"
SUGGESTED = "suggested"


@dataclass(frozen=True, slots=True)
class Launch:
    """What a block of a kernel takes.

    Attributes:
        block: threads per block.
        registers: registers per thread.
        shared: bytes of shared memory per block, static and dynamic, without the reserved part.
        barriers: named barriers per block.
    """

    block: int
    registers: int
    shared: int = 0
    barriers: int = 0


@dataclass(frozen=True, slots=True)
class Residency:
    """What an SM holds at a time.

    Attributes:
        blocks: resident blocks; 0: the kernel cannot be launched like that.
        warps: resident warps.
        max_warps: warps that an SM has room for.
        limits: limit -> blocks that it alone would allow; only limits that apply.
    """

    blocks: int
    warps: int
    max_warps: int
    limits: dict[str, int]

    @property
    def occupancy(self) -> float:
        """Resident warps as a part of those that fit, 0 to 1."""
        return self.warps / self.max_warps

    @property
    def limited_by(self) -> tuple[str, ...]:
        """The limits that are reached first."""
        return tuple(name for name, blocks in self.limits.items() if blocks == self.blocks)


@dataclass(frozen=True, slots=True)
class Step:
    """The smallest change that puts more warps on an SM.

    Attributes:
        changes: what a block takes -> the value it would have to have.
        text: the change in words, such as ``2 registers fewer``.
        occupancy: what comes of it, 0 to 1.
    """

    changes: dict[str, int]
    text: str
    occupancy: float


@dataclass(frozen=True, slots=True)
class Occupancy:
    """The occupancy of a kernel.

    Attributes:
        arch: the GPU that it was computed for, such as ``sm_90``.
        launch: what a block takes.
        source: where the block size comes from: given, ``.reqntid``, ``.maxntid`` or suggested.
        residency: what an SM holds.
        step: the smallest change that helps; ``None`` when nothing does.
    """

    arch: str
    launch: Launch
    source: str
    residency: Residency
    step: Step | None

    def _repr_html_(self) -> str:
        from cubinspec.model.frames import html_table

        launch, found, step = self.launch, self.residency, self.step
        rows = [
            ("threads per block", f"{launch.block} ({self.source})"),
            ("occupancy", f"{100 * found.occupancy:.0f} %"),
            ("blocks", found.blocks),
            ("warps", f"{found.warps} of {found.max_warps}"),
            ("limited by", ", ".join(found.limited_by)),
            ("next step", None if step is None else f"{step.text} → {100 * step.occupancy:.0f} %"),
        ]
        return html_table(f"occupancy on {self.arch}", (), rows)

    def as_dict(self) -> dict[str, Any]:
        """Everything, ready for JSON (``occupancy.schema.json``)."""
        launch, residency, step = self.launch, self.residency, self.step
        return {
            "gpu": self.arch,
            "block": launch.block,
            "block_source": self.source,
            "registers": launch.registers,
            "shared": launch.shared,
            "barriers": launch.barriers,
            "blocks_per_sm": residency.blocks,
            "warps_per_sm": residency.warps,
            "max_warps_per_sm": residency.max_warps,
            "occupancy": round(residency.occupancy, 4),
            "limits": residency.limits,
            "limited_by": list(residency.limited_by),
            "next_step": None
            if step is None
            else {
                "changes": step.changes,
                "text": step.text,
                "occupancy": round(step.occupancy, 4),
            },
        }


def occupancy(
    kernel: Function, *, block: int | None = None, dynamic_shared: int = 0, gpu: str | None = None
) -> Occupancy | None:
    """The occupancy of a kernel at one block size.

    Args:
        kernel: of a final image or of a relocatable one, whose registers may still grow.
        block: threads per block, where the kernel can be launched with so many: what it requires
            (``.reqntid``) or allows at most (``.maxntid``) comes first. ``None``: that, else the
            largest size that has the best occupancy.
        dynamic_shared: bytes of shared memory that the launch asks for.
        gpu: such as ``sm_89``; ``None``: the target of the kernel.

    Returns:
        ``None`` when the file does not tell the number of registers.

    Raises:
        ValueError: no limits are known for the GPU, or the block size cannot be launched on any.
        CubinError: no limits are known for the target that the file names.
    """
    name = gpu or kernel.arch
    try:
        limits = limits_of(name)
    except ValueError as error:
        if gpu:
            raise
        raise CubinError(str(error), file=kernel.table.file.name) from error
    registers = kernel.registers
    if registers is None:
        return None
    if dynamic_shared < 0:
        raise ValueError("the dynamic shared memory cannot be negative")
    launch = Launch(0, registers, static_shared(kernel) + dynamic_shared, kernel.barriers or 0)
    size, source = _block_of(kernel, block, launch, limits)
    launch = replace(launch, block=size)
    return Occupancy(name, launch, source, residency(launch, limits), next_step(launch, limits))


def known_gpus() -> list[str]:
    """The GPUs that :func:`limits_of` knows, such as ``sm_90``."""
    return [f"sm_{sm}" for sm in LIMITS if sm in ARCHITECTURES]


def limits_of(gpu: str) -> dict[str, int]:
    """The limits of an SM by their names in ``arch.yaml``, and whether barriers count.

    Raises:
        ValueError: no limits are known for the GPU.
    """
    digits = gpu.removeprefix("sm_").rstrip("af")
    sm = int(digits) if digits.isdecimal() else -1
    if sm not in ARCHITECTURES or sm not in LIMITS:
        raise ValueError(f"no limits of an SM are known for {gpu!r}")
    limits = dict(LIMITS[sm])
    if not family_of(sm).barriers_limit_blocks:
        limits.pop("barriers_per_sm", None)
    return limits


def static_shared(kernel: Function) -> int:
    """Bytes of static shared memory without the part that the linker reserves for the system."""
    header = kernel.table.file.header
    if header.is_relocatable or not kernel.shared:
        return kernel.shared
    return max(0, kernel.shared - family_of(header.sm).reserved_shared)


def _block_of(
    kernel: Function, given: int | None, launch: Launch, limits: dict[str, int]
) -> tuple[int, str]:
    most = limits["max_threads_per_block"]
    if given is not None and not 0 < given <= most:
        raise ValueError(f"a block has 1 to {most} threads, not {given}")
    stated = kernel.max_threads
    if stated is not None and 0 < stated <= most:
        # other sizes are refused when the kernel is launched
        if kernel.reqntid is not None:
            return stated, REQUIRED
        if given is None or given > stated:
            return stated, MOST
    if given is not None:
        return given, GIVEN
    curve = occupancy_curve(launch, limits)
    best = max(curve, key=lambda point: (point[1].warps, point[0]))
    return best[0], SUGGESTED


def occupancy_curve(launch: Launch, limits: dict[str, int]) -> list[tuple[int, Residency]]:
    """The residency for every block size in whole warps."""
    warp, most = limits["warp_size"], limits["max_threads_per_block"]
    sizes = range(warp, most + 1, warp)
    return [(size, residency(replace(launch, block=size), limits)) for size in sizes]


def residency(launch: Launch, limits: dict[str, int]) -> Residency:
    """How many blocks fit on an SM.

    Args:
        limits: of :func:`limits_of`.
    """
    warps = -(-launch.block // limits["warp_size"])
    found = {
        WARPS: limits["max_warps_per_sm"] // warps,
        BLOCKS: limits["max_blocks_per_sm"],
    }
    if launch.registers:
        found[REGISTERS] = _blocks_by_registers(launch.registers, warps, limits)
    taken = _allocated_shared(launch.shared, limits)
    if taken:
        found[SHARED] = _blocks_by_shared(launch.shared, taken, limits)
    if launch.barriers and "barriers_per_sm" in limits:
        found[BARRIERS] = limits["barriers_per_sm"] // launch.barriers
    blocks = min(found.values())
    return Residency(blocks, blocks * warps, limits["max_warps_per_sm"], found)


def _blocks_by_registers(registers: int, warps: int, limits: dict[str, int]) -> int:
    if registers > limits["max_registers_per_thread"]:
        return 0
    unit = limits["register_unit"]
    per_warp = _up(registers * limits["warp_size"], unit)
    parts = limits["sub_partitions"]
    most = limits.get("launch_sub_partitions", parts)
    for count in {parts, most}:
        # A launch is checked as if the warps filled all parts of an SM evenly.
        if per_warp * _up(warps, count) > limits["max_registers_per_block"]:
            return 0
    if most != parts and not _warps_in(per_warp, most, limits) // warps:
        return 0
    return _warps_in(per_warp, parts, limits) // warps


def _warps_in(per_warp: int, parts: int, limits: dict[str, int]) -> int:
    """Warps whose registers fit; each part of an SM has registers of its own."""
    return limits["registers_per_sm"] // parts // per_warp * parts


def _allocated_shared(shared: int, limits: dict[str, int]) -> int:
    return _up(shared + limits["reserved_shared_per_block"], limits["shared_unit"])


def _blocks_by_shared(shared: int, taken: int, limits: dict[str, int]) -> int:
    reserved = limits["reserved_shared_per_block"]
    if taken > max(limits["max_shared_per_block"], limits["max_shared_per_block_optin"]) + reserved:
        return 0
    return limits["shared_per_sm"] // taken


def _up(value: int, unit: int) -> int:
    return -(-value // unit) * unit


def next_step(launch: Launch, limits: dict[str, int]) -> Step | None:
    """The smallest change of what a block takes that puts more warps on an SM.

    Where registers, shared memory or barriers are in the way, those are made smaller, as few of
    them as possible. Where it is the number of warps or blocks, the block size changes.
    """
    now = residency(launch, limits)
    if now.warps >= now.max_warps:
        return None
    if {WARPS, BLOCKS}.isdisjoint(now.limited_by):
        return _smaller(launch, now, limits)
    return _other_block(launch, now, limits)


def _smaller(launch: Launch, now: Residency, limits: dict[str, int]) -> Step | None:
    changed, changes, words = launch, {}, []
    for name, field, unit in (
        (REGISTERS, "registers", "registers"),
        (SHARED, "shared", "bytes of shared memory"),
        (BARRIERS, "barriers", "barriers"),
    ):
        if name not in now.limited_by:
            continue
        value = _largest_below(changed, field, name, now.blocks, limits)
        if value is None:
            return None
        words.append(_fewer(getattr(launch, field) - value, unit))
        changes[field] = value
        changed = replace(changed, **{field: value})
    then = residency(changed, limits)
    return Step(changes, " and ".join(words), then.occupancy)


def _fewer(count: int, unit: str) -> str:
    return f"{count} {unit.removesuffix('s') if count == 1 and unit.endswith('s') else unit} fewer"


def _largest_below(
    launch: Launch, field: str, name: str, blocks: int, limits: dict[str, int]
) -> int | None:
    """The largest value of a field with which its limit allows more than so many blocks."""
    low, high = 0, getattr(launch, field)
    if residency(replace(launch, **{field: low}), limits).limits.get(name, blocks + 1) <= blocks:
        return None
    while high - low > 1:
        middle = (low + high) // 2
        allowed = residency(replace(launch, **{field: middle}), limits).limits.get(name, blocks + 1)
        low, high = (middle, high) if allowed > blocks else (low, middle)
    return low


def _other_block(launch: Launch, now: Residency, limits: dict[str, int]) -> Step | None:
    better = [
        (abs(size - launch.block), size, then.occupancy)
        for size, then in occupancy_curve(launch, limits)
        if then.warps > now.warps
    ]
    if not better:
        return None
    _, size, reached = min(better)
    return Step({"block": size}, f"{size} threads per block", reached)
