"""Rules for whole libraries: code that should not be shipped."""

from __future__ import annotations

from dataclasses import dataclass, replace

from cubinspec.compare.facts import UNKNOWN
from cubinspec_generated.codes import ST_BIND_SHIFT, STB_GLOBAL, STB_WEAK
from cubinspec_generated.tables.arch import LIMITS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from cubinspec.compare.facts import FunctionFacts, ImageFacts

    #: Rule, name of the kernel (or of the image), target, where it is, what is wrong.
    Fault = tuple[str, str, str, str, str]


@dataclass(frozen=True, slots=True)
class Lint:
    """What is asked of a library.

    Attributes:
        line: where the budget asks for it.
        rules: names of rules.
        targets: targets that every kernel needs code for (rule ``missing-target``).
    """

    line: int
    rules: tuple[str, ...]
    targets: tuple[str, ...] = ()

    def among(self, targets: frozenset[str] | None) -> Lint:
        """The same for some targets only; ``None``: all."""
        if targets is None:
            return self
        return replace(self, targets=tuple(arch for arch in self.targets if arch in targets))


def _binding(kernel: FunctionFacts) -> int:
    info, _ = kernel["symbol"]
    bits: int = info
    return bits >> ST_BIND_SHIFT


def _weak(image: ImageFacts, kernel: FunctionFacts) -> str:
    return "the symbol of the kernel is weak" if _binding(kernel) == STB_WEAK else ""


def _external(image: ImageFacts, kernel: FunctionFacts) -> str:
    return "the symbol of the kernel is global" if _binding(kernel) == STB_GLOBAL else ""


def _spills(image: ImageFacts, kernel: FunctionFacts) -> str:
    stack = kernel["frame"] or kernel["local"]
    return f"the kernel uses {stack} bytes of local memory per thread" if stack else ""


def _at_limit(image: ImageFacts, kernel: FunctionFacts) -> str:
    registers, most = kernel["registers"], kernel["max_registers"]
    number = image.arch.removeprefix("sm_").rstrip("af")
    limits = LIMITS.get(int(number), {}) if number.isdecimal() else {}
    known = [limit for limit in (most, limits.get("max_registers_per_thread")) if limit]
    reached = bool(known) and registers is not None and registers >= min(known)
    return f"the kernel uses all {min(known)} registers that a thread may have" if reached else ""


def _open_stack(image: ImageFacts, kernel: FunctionFacts) -> str:
    return (
        "the stack size of the kernel is unknown, as it is recursive"
        if kernel["stack"] == UNKNOWN
        else ""
    )


_OF_KERNELS: dict[str, Callable[[ImageFacts, FunctionFacts], str]] = {
    "weak-kernel": _weak,
    "external-kernel": _external,
    "spills": _spills,
    "register-limit": _at_limit,
    "unknown-stack": _open_stack,
}
#: Every rule, and why one would ask for it.
LINT_RULES = {
    "weak-kernel": "copies of a weak kernel in several libraries are merged to any one of them",
    "external-kernel": "a kernel with a global name can clash with that of another library",
    "spills": "a stack frame or local memory means that registers or arrays were spilled",
    "register-limit": "a kernel at its limit of registers probably spills or runs at low occupancy",
    "unknown-stack": "recursion: the driver cannot tell how much stack it has to reserve",
    "missing-target": "a GPU without code for a kernel fails at the first launch",
    "duplicate-image": "the same image twice takes space twice",
    "debug-data": "debug data is large and shows names and sources",
}


def lint(images: Iterable[ImageFacts], asked: Lint) -> Iterator[Fault]:
    """What is wrong with a library, by the rules that are asked for."""
    images = list(images)
    rules = [(rule, _OF_KERNELS[rule]) for rule in asked.rules if rule in _OF_KERNELS]
    for image in images:
        for kernel in image.kernels:
            for rule, says in rules:
                text = says(image, kernel)
                if text:
                    yield rule, kernel.name, image.arch, image.path, text
    if "missing-target" in asked.rules:
        yield from _missing(images, asked.targets)
    if "duplicate-image" in asked.rules:
        yield from _duplicates(images)
    if "debug-data" in asked.rules:
        for image in images:
            debug = [name for name in image.noise["debug"] if name != ".debug_frame"]
            if debug:
                text = f"the image has debug data: {' '.join(debug)}"
                yield "debug-data", "", image.arch, image.path, text


def _missing(images: list[ImageFacts], targets: tuple[str, ...]) -> Iterator[Fault]:
    homes: dict[str, set[str]] = {}
    for image in images:
        for kernel in image.kernels:
            homes.setdefault(kernel.name, set()).add(image.arch)
    for name, archs in homes.items():
        for target in targets:
            if target not in archs:
                text = "there is no code for this target"
                yield "missing-target", name, target, "", text


def _duplicates(images: list[ImageFacts]) -> Iterator[Fault]:
    first: dict[str, ImageFacts] = {}
    for image in images:
        same = first.setdefault(image.body, image)
        if same is not image:
            text = f"the image is the same, byte for byte, as {same.path}"
            yield "duplicate-image", "", image.arch, image.path, text
