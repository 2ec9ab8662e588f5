"""The link is its list of passes: each does what it declares, in the order that its fields need."""

from __future__ import annotations

import ast
import inspect
import json
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import cubinspec_writer.linker
from cubinspec_generated.codes import SHT_CUDA_INFO
from cubinspec_writer.linker.pipeline import PASSES, Pass, _has_mercury, _orders_lines
from cubinspec_writer.linker.state import LinkState
from tests.link.watch import CONTENTS, PARTS, ROWS, PassError, Watch, declared
from tools.linkcases import stored
from tools.linkcases.__main__ import run_stored
from tools.linkcases.compare import link
from tools.linkcases.outcomes import ACCEPTED

pytestmark = pytest.mark.pure

LINKER = Path(cubinspec_writer.linker.__file__).parent
MODULES = [step.module for step in PASSES]
#: Options that make passes and reports do more; what they read counts as well.
_MORE = (
    ["--share-constants", "--verbose", "--dump-callgraph"],
    ["--preserve-relocs", "--map=map.json"],
    ["--relocatable-link", "--verbose"],
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The inputs of all cases for three families of targets."""
    path = tmp_path_factory.mktemp("stored")
    stored.unpack(path, ["80", "90", "100"])
    return path


@pytest.mark.parametrize("module", MODULES)
def test_a_pass_is_a_module_with_one_function(module: str) -> None:
    run = import_module(f"cubinspec_writer.linker.{module}")
    assert callable(run.run)
    assert (run.__doc__ or "").strip().endswith(".")
    assert run.run.__doc__
    public = [
        name
        for name, value in vars(run).items()
        if callable(value) and getattr(value, "__module__", "") == run.__name__ and name[0] != "_"
    ]
    of_other_passes = {"twin_of", "sass_name"}
    assert set(public) - of_other_passes <= {"run"}, public
    assert all(len(step.why) > 15 for step in PASSES if step.module == module)


def _parts_of_the_state() -> dict[str, str]:
    """Name of every part -> its type, as `LinkState` makes it."""
    tree = ast.parse((LINKER / "state.py").read_text(encoding="utf-8"))
    (whole,) = (
        node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == "LinkState"
    )
    return {
        node.target.attr: ast.unparse(node.annotation)
        for node in ast.walk(whole)
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Attribute)
    }


def _parameters(function: Callable[..., Any]) -> dict[str, str]:
    return {name: p.annotation for name, p in inspect.signature(function).parameters.items()}


@pytest.mark.parametrize("step", PASSES, ids=MODULES)
def test_a_pass_takes_parts_and_never_the_whole_state(step: Pass) -> None:
    """Parameters are bound by their names, so their types are compared here and not by mypy."""
    parts = _parts_of_the_state()
    run = import_module(f"cubinspec_writer.linker.{step.module}").run
    for function in (run, step.when):
        for name, kind in _parameters(function).items() if function is not None else ():
            part = name.removeprefix("mercury_")
            assert part != "twin"
            assert kind.removesuffix(" | None" if part != name else "") == parts[part], name


def test_no_pass_and_nothing_below_it_knows_the_whole_state() -> None:
    """What they call takes parts, too."""
    for package in ("passes", "library", "finalizer"):
        for path in (LINKER / package).rglob("*.py"):
            assert "LinkState" not in path.read_text(encoding="utf-8"), path


#: Parts that hold other parts -> these.
_HOLDERS = {
    "maker": {"names", "symbols", "sections", "relocations"},
    "reach": {"symbols", "graph"},
}
#: Parts that no pass declares: what is given, messages, and what holds other parts.
_UNDECLARED = {"job", "diagnostics", "object", *_HOLDERS}


@pytest.mark.parametrize("module", MODULES)
def test_declarations_are_of_the_parts_that_a_pass_takes(module: str) -> None:
    run = import_module(f"cubinspec_writer.linker.{module}").run
    taken = {name.replace("mercury_", "mercury.") for name in _parameters(run)}
    reachable = taken.union(*(_HOLDERS.get(name, ()) for name in taken))
    fields = declared(module, "READS") | declared(module, "WRITES")
    named = {field.rpartition(".")[0] for field in fields}
    parts = {name for name in named if name.removeprefix("mercury.") in PARTS.values()}
    assert parts <= reachable
    given = {"objects", "mercury.objects", *_UNDECLARED}
    assert taken - given <= parts, "it takes parts that it does not use"


def _imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{name.name}" for name in node.names)
        elif isinstance(node, ast.Import):
            yield from (name.name for name in node.names)


def test_no_pass_imports_another_one() -> None:
    package = "cubinspec_writer.linker.passes."
    for path in (LINKER / "passes").rglob("*.py"):
        own = path.relative_to(LINKER / "passes").with_suffix("").parts[0]
        others = {
            name.removeprefix(package).split(".")[0]
            for name in _imports(path)
            if name.startswith(package)
        }
        assert others <= {own}, path
    for path in LINKER.rglob("*.py"):
        if "passes" not in path.parts:
            assert not [name for name in _imports(path) if name.startswith(package)], path


def test_declarations_name_fields_and_fit_together() -> None:
    fields = {
        f"{prefix}.{name}" for cls, prefix in {**PARTS, **ROWS}.items() for name in cls.__slots__
    }.union(CONTENTS.values())
    frozen: dict[str, str] = {}
    for module in MODULES:
        reads, writes, freezes = (declared(module, n) for n in ("READS", "WRITES", "FREEZES"))
        assert {name.removeprefix("mercury.") for name in reads | writes | freezes} <= fields, (
            module
        )
        assert not reads & writes, module
        assert freezes <= writes, module
        for name in sorted(writes):
            assert name not in frozen, f"{module} writes {name}, which {frozen[name]} froze"
        frozen |= dict.fromkeys(freezes, module)
    written = {name for module in MODULES for name in declared(module, "WRITES")}
    assert {name for name in written if not name.startswith("mercury.")} == frozen.keys()


def test_behind_relocate_only_the_finalizer_changes_code_and_data() -> None:
    later = MODULES[MODULES.index("passes.relocate") + 1 :]
    changing = [module for module in later if "section.content" in declared(module, "WRITES")]
    assert changing == ["finalizer.lines", "finalizer.join"]
    assert [p.when for p in PASSES if p.module in changing] == [_orders_lines, _has_mercury]


@pytest.mark.parametrize("arch", ["90", "100"])
def test_all_links_do_only_what_their_passes_declare(arch: str, folder: Path) -> None:
    watch = Watch()
    with watch.active():
        for case in sorted(path.name for path in folder.iterdir() if (path / arch).exists()):
            outcome = run_stored(case, arch, folder)
            assert outcome.kind in ACCEPTED, f"{case}: {outcome.detail}"
            watch.forget()


@pytest.mark.parametrize("arch", ["80", "100"])
def test_other_options_do_only_what_their_passes_declare(arch: str, folder: Path) -> None:
    watch = Watch()
    with watch.active():
        for case in sorted(path.name for path in folder.iterdir() if (path / arch).exists())[::8]:
            command = json.loads((folder / case / arch / "command.json").read_text())
            for more in _MORE:
                link([*command["words"], *more], folder / case / arch / "inputs")
                watch.forget()


def _of(item: object, name: str) -> Any:
    """A field, unseen."""
    return object.__getattribute__(item, name)


def _rename(state: LinkState) -> None:
    _of(state.symbols, "functions")[0].name = "x"


def _make_room(state: LinkState) -> None:
    _of(state.sections, "made")[0].align = 1024


def _append_entry(state: LinkState) -> None:
    _of(state.names, "entries").append(".late")


def _bind(state: LinkState) -> None:
    _of(state.objects[0], "bound")[-1] = None


def _grow_members(state: LinkState) -> None:
    for members in _of(state.sections, "members").values():
        members.append(members[0])


def _change_code(state: LinkState) -> None:
    for section in _of(state.sections, "made"):
        content = _of(section, "content")
        if isinstance(content, bytearray) and content:
            content[0] ^= 1


def _change_attributes(state: LinkState) -> None:
    for section in _of(state.sections, "made"):
        if _of(section, "sh_type") == SHT_CUDA_INFO:
            object.__setattr__(section, "content", b"")


def _read_numbers(state: LinkState) -> None:
    assert state.symbols.numbered is not None


def _read_index(state: LinkState) -> None:
    assert _of(state.symbols, "functions")[0].index is not None


def _add_to_none(state: LinkState) -> None:
    next(s for s in _of(state.sections, "made") if not _of(s, "relocs")).relocs.append(None)


#: What a pass does beside its work: its module, the work, and what the message says.
_FAULTS: dict[str, tuple[str, Callable[[LinkState], None], str]] = {
    "a frozen field of a symbol": ("passes.constants", _rename, "writes symbol.name"),
    "a frozen field of a section": ("passes.number", _make_room, "writes section.align"),
    "into a frozen list": ("passes.relocate", _append_entry, "writes names.entries"),
    "into a frozen list of an input": ("passes.merge", _bind, "writes object.bound"),
    "into a list of a frozen dict": ("passes.close", _grow_members, "writes sections.members"),
    "into bytes": ("passes.number", _change_code, "writes section.content"),
    "into attributes": ("passes.notes", _change_attributes, "writes content.attributes"),
    "reads too early": ("passes.merge", _read_numbers, "reads symbols.numbered"),
    "reads a number too early": ("passes.relocate", _read_index, "reads symbol.index"),
}


@pytest.mark.parametrize(
    ("fault", "is_declared"),
    [
        (fault, is_declared)
        for fault in _FAULTS
        for is_declared in (False, True)
        # The last pass freezes code, as the finalizer changes it.
        if not (is_declared and fault == "into bytes")
    ],
)
def test_a_fault_in_a_pass_is_seen(
    fault: str, is_declared: bool, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the pass declares what it does: it is too late, or too early, for that."""
    module, also, message = _FAULTS[fault]
    broken = import_module(f"cubinspec_writer.linker.{module}")
    if is_declared:
        name = message.split()[1]
        kind = "WRITES" if message.startswith("writes") else "READS"
        monkeypatch.setattr(broken, kind, f"{getattr(broken, kind)} {name}")
    late = "which is frozen" if message.startswith("writes") else "before it is written"
    message += f".*{late if is_declared else 'which it does not declare'}"
    with Watch(also={module: also}).active(), pytest.raises(PassError, match=message):
        run_stored("const_compiler", "80", folder)


def test_a_row_for_all_sections_without_rows_is_seen(folder: Path) -> None:
    """They share one empty list."""
    watched = Watch(refuses=False, also={"passes.relocate": _add_to_none}).active()
    with watched, pytest.raises(PassError, match="all sections that have none"):
        run_stored("const_compiler", "80", folder)


def test_nothing_is_written_after_the_passes(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from cubinspec_writer.linker.write import direct

    write = direct.write

    def write_more(state: LinkState) -> list[bytes | bytearray]:
        state.symbols.functions[0].value = 1
        return write(state)

    monkeypatch.setattr(direct, "write", write_more)
    with Watch().active(), pytest.raises(PassError, match=r"symbol\.value is written after all"):
        run_stored("const_compiler", "80", folder)
