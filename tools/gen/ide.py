"""``python -m tools.gen.ide``: the specs in the Kaitai Web IDE, in a headless Chromium.

``WEBIDE`` names the folder of a built IDE (``out`` of its repository). Each file is opened as a
person does it: the specs and the file are dropped onto the page, the tree is unfolded, "disable
lazy parsing" is set, and the tree is exported as JSON. Without ``WEBIDE`` the same files are read
by the compiler and the JavaScript runtime that the IDE consists of, every getter of every object.

Files: sm_90, sm_100, ELF32, a fatbin, and one with 12,000 sections, whose time is printed.
"""

from __future__ import annotations

import base64
import functools
import http.server
import importlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cubinspec_generated import record_fields, records
from tools.gen import kaitai
from tools.gen.languages.__main__ import make_fatbins
from tools.gen.languages.builds import ROOT, BuildError
from tools.gen.packages.names import camel
from tools.gen.spec import load_specs

KSY = ROOT / "ksy"
SAMPLES = ROOT / "tests" / "data" / "cubins"
CHROMIUM = ("chromium", "chromium-browser", "google-chrome")
MANY_SECTIONS = 12_000

#: A tree with fewer nodes was not unfolded.
_LEAST_NODES = 50

#: Seconds of CPU in which a file opens and the list of its sections unfolds, in all threads of the
#: page: what a person waits for on a machine that does nothing else is less.
_MOST_SECONDS = 3.0

#: Milliseconds that one step in the browser may take; a broken spec ends the run, not the day.
_PATIENCE = 120_000


@dataclass(frozen=True)
class Case:
    """One file to open.

    Attributes:
        name: what it stands for.
        spec: the spec that reads it.
        file: the file.
        is_whole: whether everything is read eagerly, too.
    """

    name: str
    spec: str
    file: Path
    is_whole: bool = True


def many_sections(data: bytes) -> bytes:
    """An ELF64 cubin with 12,000 sections: the last one again and again, without contents."""
    row = records.SECTION_HEADER_64.size
    file = bytearray(data)
    fields = list(records.ELF_HEADER_64.unpack_from(file, records.ELF_IDENT.size))
    header = dict(zip(record_fields.ELF_HEADER_64_FIELDS, fields, strict=True))
    start, count = header["e_shoff"], header["e_shnum"]
    rows = bytes(file[start : start + count * row])
    header |= {"e_shoff": len(file), "e_shnum": MANY_SECTIONS}
    names = record_fields.SECTION_HEADER_64_FIELDS
    last = dict(zip(names, records.SECTION_HEADER_64.unpack(rows[-row:]), strict=True))
    more = records.SECTION_HEADER_64.pack(*(last | {"sh_size": 0}).values())
    file += rows + more * (MANY_SECTIONS - count)
    records.ELF_HEADER_64.pack_into(file, records.ELF_IDENT.size, *header.values())
    return bytes(file)


def cases(folder: Path) -> list[Case]:
    """The files; those that are made stand in the folder."""
    by_class = {file.read_bytes()[4]: file for file in sorted(SAMPLES.glob("*.cubin"))}
    hopper = SAMPLES / "cluster_sm90.sm_90.exe.cubin"
    blackwell = SAMPLES / "calls.sm_100.rel.cubin"
    fatbin, _ = make_fatbins(folder, [hopper, blackwell])
    many = folder / "many.cubin"
    many.write_bytes(many_sections(blackwell.read_bytes()))
    return [
        Case("sm_90", "elf_cuda", hopper),
        Case("sm_100", "elf_cuda", blackwell),
        Case("ELF32", "elf_cuda", by_class[1]),
        Case("fatbin", "fatbin", fatbin),
        # every field of so many sections at once is more than a tab can hold
        Case(f"{MANY_SECTIONS:,} sections", "elf_cuda", many, is_whole=False),
    ]


# ---------------------------------------------------------------- without the IDE


def walk(case: Case) -> str:
    """What reading every getter in node says; raises ``CalledProcessError`` when one fails."""
    kaitai.ensure_npm()
    script = str(kaitai.HERE / "walk.js")
    command = ["node", script, str(KSY), case.spec, str(case.file)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return done.stdout.strip().rpartition(": ")[2]


# ---------------------------------------------------------------- with it

_DROP = """
async ({ specs, file, main }) => {
  const app = kaitaiIde.app;
  window.complaints = [];
  const handle = app.errors.handle.bind(app.errors);
  app.errors.handle = (error) => {
    if (error) window.complaints.push(String(error.message || error));
    return handle(error);
  };
  const bytes = Uint8Array.from(atob(file.data), (letter) => letter.charCodeAt(0)).buffer;
  const drop = (name, content) => ({ file: { name }, read: () => Promise.resolve(content) });
  const dropped = specs.map((spec) => drop(spec.name, spec.text));
  dropped.push(drop(file.name, bytes));
  await app.addNewFiles(dropped);
  const open = (name) => app.loadFsItem({ fsType: "local", type: "file", fn: name }, false);
  await open(file.name);
  await open(main);
  app.formatReady = Promise.resolve();
  await app.recompile();
  const root = kaitaiIde.root && kaitaiIde.root.object;
  return { read: !!root };
}
"""

#: Reads the file and unfolds the list of its sections or blocks.
_OPEN = """
async () => {
  const app = kaitaiIde.app;
  const begin = performance.now();
  await app.reparse();
  const parsed = performance.now();
  let tree, list;
  for (let tries = 0; tries < 500 && !list; tries++) {
    tree = app.ui.parsedDataTreeHandler.jstree;
    const nodes = tree.get_json("#", { flat: true, no_data: true });
    list = nodes.find((node) => /^(sections|blocks)$/.test(node.text.replace(/<[^>]*>/g, "")));
    if (!list) await new Promise((done) => setTimeout(done, 10));
  }
  if (!list) return { read: false };
  await new Promise((done) => tree.open_node(list.id, () => done(), false));
  const seconds = [parsed - begin, performance.now() - parsed].map((span) => span / 1000);
  return { read: true, seconds };
}
"""

#: Unfolds what is closed, some levels deep, as clicks do.
_UNFOLD = """
async ({ levels, width }) => {
  const tree = kaitaiIde.app.ui.parsedDataTreeHandler.jstree;
  for (let level = 0; level < levels; level++) {
    const nodes = tree.get_json("#", { flat: true, no_data: true }).map((node) => node.id);
    for (const id of nodes.filter((id) => tree.is_closed(id)).slice(0, width)) {
      await new Promise((done) => {
        tree.open_node(id, () => done(), false);
        setTimeout(done, 5000);
      });
    }
  }
  const nodes = tree.get_container()[0].querySelectorAll(".jstree-anchor");
  return [...nodes].map((node) => node.textContent.trim());
}
"""

#: Every value of the tree with "disable lazy parsing", and the same exported as JSON.
_WHOLE = """
async () => {
  const app = kaitaiIde.app;
  app.vm.disableLazyParsing = true;
  await app.reparse();
  const faults = [];
  let values = 0;
  (function visit(value) {
    if (!value) return;
    values++;
    const fault = value.instanceError || value.validationError;
    if (fault || value.incomplete) {
      faults.push(value.path.join("/") + ": " + (fault ? fault.message || fault : "incomplete"));
    }
    (value.arrayItems || []).forEach(visit);
    if (value.object) Object.values(value.object.fields).forEach(visit);
  })(kaitaiIde.root);
  const exported = await new Promise((done) => {
    app.vm.ui.layout.addEditorTab = (title, text) => done(text);
    app.vm.exportToJson(false);
    setTimeout(() => done(""), 60000);
  });
  return { values, faults, exported };
}
"""


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """The address of a folder on this machine."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, format: str, *args: Any) -> None:
            pass

    handler = functools.partial(Quiet, directory=str(folder))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()


def shown_types() -> set[str]:
    """Class names in JavaScript of the types whose values must stand beside their name."""
    return {
        camel(kind.name)
        for spec in load_specs(KSY).values()
        for kind in spec.root.walk()
        if "-webide-representation" in kind.raw
    }


def silent(texts: list[str], types: set[str]) -> list[str]:
    """Nodes of such types that show nothing but name and type."""
    found = []
    for text in texts:
        rest = text.partition(" [")[2]
        kind, _, value = rest.partition("]")
        if rest and kind in types and not value.removeprefix(":").strip():
            found.append(text)
    return found


def page_seconds(page: Any) -> float:
    """Seconds of CPU that the processes of pages have used so far."""
    session = page.context.browser.new_browser_cdp_session()
    processes = session.send("SystemInfo.getProcessInfo")["processInfo"]
    session.detach()
    return float(sum(each["cpuTime"] for each in processes if each["type"] == "renderer"))


def opened(page: Any, case: Case) -> str:
    """What the IDE says about a file.

    Raises:
        BuildError: it does not open or takes too long, a value cannot be read, or a record shows
            nothing.
    """
    specs = [{"name": f.name, "text": f.read_text(encoding="utf-8")} for f in KSY.glob("*.ksy")]
    file = {"name": case.file.name, "data": base64.b64encode(case.file.read_bytes()).decode()}
    arguments = {"specs": specs, "file": file, "main": f"{case.spec}.ksy"}
    compiled = page.evaluate(_DROP, arguments)
    before = page_seconds(page)
    result = page.evaluate(_OPEN) if compiled["read"] else compiled
    if not result["read"]:
        raise BuildError(f"{case.name}: {page.evaluate('window.complaints')}")
    used = page_seconds(page) - before
    if used > _MOST_SECONDS:
        raise BuildError(f"{case.name}: {used:.1f} s of CPU to open, over {_MOST_SECONDS} s")
    texts = page.evaluate(_UNFOLD, {"levels": 8, "width": 25})
    quiet = silent(texts, shown_types())
    if quiet or len(texts) < _LEAST_NODES:
        raise BuildError(f"{case.name}: {len(texts)} nodes, without a value: {quiet[:5]}")
    parsed, unfolded = result["seconds"]
    said = (
        f"read in {parsed:.1f} s, list unfolded in {unfolded:.1f} s ({used:.1f} s of CPU), "
        f"{len(texts)} nodes looked at"
    )
    if not case.is_whole:
        return said
    whole = page.evaluate(_WHOLE)
    if whole["faults"] or not whole["exported"].startswith("{"):
        faults = whole["faults"][:5] or ["the export to JSON gave nothing"]
        raise BuildError(f"{case.name}: {faults}")
    exported = json.loads(whole["exported"])
    return f"{said}, {whole['values']} values eagerly, JSON with {', '.join([*exported][:3])}, …"


@contextmanager
def browser_page(ide: Path) -> Iterator[Any]:
    """A page of the IDE in a fresh browser; nothing but this machine is asked for anything."""
    # no stubs: only this check and the tests of pages have the package
    api = importlib.import_module("playwright.sync_api")
    program = next(filter(None, map(shutil.which, CHROMIUM)), None)
    with served(ide) as address, api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1600, "height": 1000})
        page.set_default_timeout(_PATIENCE)
        page.route(lambda url: not url.startswith(address), lambda route: route.abort())
        page.add_init_script("localStorage.setItem('doNotShowWelcome', 'true')")
        page.goto(f"{address}?noAutoCompile")
        page.wait_for_function("window.kaitaiIde && kaitaiIde.app && kaitaiIde.app.formatReady")
        page.evaluate("Promise.all([kaitaiIde.app.inputReady, kaitaiIde.app.formatReady])")
        try:
            yield page
        except api.Error as error:
            raise BuildError(str(error)) from error
        finally:
            browser.close()


def main() -> int:
    """Check all files; 0 when none has a fault."""
    given = os.environ.get("WEBIDE")
    picture = os.environ.get("SHOT")
    status = 0
    with tempfile.TemporaryDirectory() as name:
        for case in cases(Path(name)):
            begin = time.monotonic()
            try:
                if given:
                    with browser_page(Path(given)) as page:
                        said = opened(page, case)
                        if picture:
                            page.screenshot(path=picture.replace("%", case.spec + case.name))
                else:
                    said = f"{walk(case)}, {time.monotonic() - begin:.1f} s with compiling"
            except (BuildError, subprocess.CalledProcessError) as error:
                status = 1
                said = f"FAILED: {getattr(error, 'stdout', '') or error}"
            print(f"{case.name}: {said}")
    if not given:
        print("SKIPPED the IDE itself: WEBIDE names no built IDE (see docs/targets.md)")
    return status


if __name__ == "__main__":
    sys.exit(main())
