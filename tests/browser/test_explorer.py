"""The explorer in a browser: real files, images out of libraries, links, keys, broken files."""

from __future__ import annotations

import random
import re
import shutil
import struct
from collections.abc import Iterator
from gzip import decompress
from pathlib import Path
from typing import Any

import pytest

import cubinspec
from cubinspec.containers.fatbin_write import container, entry_for
from cubinspec.report.coverage import coverage_record
from tests.unit.page_kit import HOSTILE, SAMPLES, hostile_cubin
from tools.corpus.containers import (
    ar_of,
    elf_host,
    linked_host,
    macho_host,
    pe_host,
    simple_fatbin,
    universal_host,
)
from tools.gen.kaitai import CompileError
from tools.site.bundle import explorer_files

pytestmark = pytest.mark.browser

BUILDS = SAMPLES.parent / "builds"
#: Old and new headers, ELF32, debug data, Mercury halves, inputs of the linker.
NAMES = (
    *("calls.sm_100.exe", "calls.sm_90.rel", "cluster_sm90.sm_90.exe", "kernels.sm_75.exe"),
    *("small.sm_35.exe.11.8.89", "lines.sm_90.debug", "tcgen05_sm100a.sm_100a.exe"),
    *("launches.sm_75.link-exe", "textures.sm_75.rel", "unified.sm_90.rel"),
)
REGCOUNT = "cluster_sm90.sm_90.exe"


def sample(name: str) -> Path:
    return SAMPLES / f"{name}.cubin"


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not (shutil.which("node") and shutil.which("npm")):
        pytest.skip("node and npm are not on this machine")
    folder = tmp_path_factory.mktemp("site")
    try:
        files = explorer_files()
    except CompileError as error:
        if "npm ci" in str(error):
            pytest.skip("the packages of npm cannot be had")
        raise
    for name, contents in files.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(contents)
    return folder / "explorer" / "index.html"


class Explorer:
    """The page, what it loads and what it complains about."""

    def __init__(self, browser: Any, site: Path, **options: Any) -> None:
        self.page = browser.new_page(**options)
        self.page.set_default_timeout(30_000)
        self.requests: list[str] = []
        self.complaints: list[str] = []
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.site = site.as_uri()
        self.page.goto(self.site)

    def open(self, path: Path) -> str:
        """Open a file; what the page says when it is done."""
        self.page.evaluate("delete document.body.dataset.read; status.textContent = ''")
        self.page.evaluate("document.getElementById('status').replaceChildren()")
        self.page.set_input_files("#file", str(path))
        return self.done()

    def done(self) -> str:
        self.page.wait_for_function(
            """() => document.body.dataset.read !== undefined
                 || document.querySelector('#status .bad')"""
        )
        return str(self.page.inner_text("#status"))

    def facts(self) -> dict[str, str]:
        """The pairs of the explanation."""
        found: dict[str, str] = self.page.evaluate(
            """() => Object.fromEntries([...document.querySelectorAll('#detail dt')]
                 .map((name) => [name.textContent, name.nextSibling.textContent]))"""
        )
        return found

    def rows(self) -> list[list[str]]:
        """The rows of the table."""
        found: list[list[str]] = self.page.evaluate(
            """() => [...document.querySelectorAll('#table [data-row]')]
                 .map((row) => [...row.children].map((cell) => cell.textContent))"""
        )
        return found

    def selected(self) -> list[int]:
        """Offsets of the bytes that are marked and in sight."""
        found: list[int] = self.page.evaluate(
            """() => [...document.querySelectorAll('#hex .bytes b.sel')]
                 .map((byte) => Number(byte.dataset.at))"""
        )
        return found

    def go(self, address: str) -> None:
        self.page.evaluate("address => { location.hash = address; }", address)
        self.page.wait_for_selector("#hex b.cursor")


@pytest.fixture
def explorer(browser: Any, site: Path) -> Iterator[Explorer]:
    """A page; afterwards it may have loaded nothing but its own files, and not complained."""
    opened = Explorer(browser, site, viewport={"width": 1400, "height": 900})
    yield opened
    folder = site.parent.as_uri()
    assert [url for url in opened.requests if not url.startswith(folder)] == []
    assert opened.complaints == []
    opened.page.close()


def number(text: str) -> int | None:
    return None if text == "-" else int(text.replace(",", ""))


@pytest.mark.parametrize("name", NAMES)
def test_every_byte_is_what_the_reader_in_python_says(explorer: Explorer, name: str) -> None:
    assert "faults" not in explorer.open(sample(name))
    told = {
        key: number(value.split()[0]) for key, value in explorer.facts().items() if key != "target"
    }
    with cubinspec.Cubin.open(sample(name)) as cubin:
        wanted = coverage_record(cubin)
        assert told["sections"] == len(cubin.sections)
        assert explorer.facts()["target"] == cubin.arch
    assert told["size"] == wanted["size"]
    assert told["named fields"] == wanted["named"]
    assert (told["padding"], told["not described"]) == (wanted["padding"], wanted["unclaimed"])
    assert {kind: told[kind] for kind in wanted["opaque"]} == wanted["opaque"]


@pytest.mark.parametrize("name", NAMES)
def test_the_kernels_are_those_of_the_command(explorer: Explorer, name: str) -> None:
    explorer.open(sample(name))
    explorer.page.click("#tab-kernels")
    shown = {
        row[0]: [number(cell) for cell in row[1:8]] + [number(cell) for cell in row[8:10]]
        for row in explorer.rows()
    }
    with cubinspec.Cubin.open(sample(name)) as cubin:
        figures = [(kernel, kernel.figures()) for kernel in cubin.kernels]
        wanted = {
            kernel.name: [
                *(fact[key] for key in ("registers", "stack", "shared", "local")),
                fact["constant"].get("0"),
                fact["barriers"],
                fact["max_threads"],
                len(kernel.params),
                fact["param_size"],
            ]
            for kernel, fact in figures
        }
    assert shown == wanted


def test_a_byte_leads_to_its_field_and_what_the_tables_say(explorer: Explorer) -> None:
    explorer.open(sample(REGCOUNT))
    explorer.go("#0xa81")
    assert explorer.selected() == [0xA81]
    assert explorer.page.inner_text("#tree .on").startswith("code")
    facts = explorer.facts()
    assert facts["value"].startswith("EIATTR_REGCOUNT")
    assert facts["is"] == "attributes"
    links = explorer.page.eval_on_selector_all(
        "#detail a", "all => all.map((a) => a.getAttribute('href'))"
    )
    assert "../reference/eiattr.html#EIATTR_REGCOUNT" in links
    assert "../spec/eiattr.html#type-info_record-code" in links
    assert "../reference/sections.html#.nv.info" in links


def test_a_click_leads_either_way(explorer: Explorer) -> None:
    explorer.open(sample(REGCOUNT))
    explorer.page.click('#hex .bytes b[data-at="18"]')  # e_machine
    assert explorer.page.inner_text("#tree .on").startswith("e_machine")
    assert explorer.selected() == [18, 19]
    assert explorer.page.evaluate("location.hash") == "#0x12"
    explorer.page.locator("#tree [role=treeitem]", has_text="e_shoff").first.click()
    assert explorer.selected() == list(range(40, 48))
    assert explorer.page.evaluate("location.hash") == "#0x28"


def test_every_byte_has_a_colour(explorer: Explorer) -> None:
    explorer.open(sample(REGCOUNT))
    colours = explorer.page.eval_on_selector_all(
        "#hex .bytes b", "all => all.map((byte) => getComputedStyle(byte).backgroundColor)"
    )
    assert len(colours) > 300
    assert "rgba(0, 0, 0, 0)" not in colours
    parts = explorer.page.eval_on_selector_all(
        "#coverage i", "all => all.map((part) => part.title)"
    )
    sums = [int(part.rpartition(": ")[2].removesuffix(" bytes").replace(",", "")) for part in parts]
    assert sum(sums) == sample(REGCOUNT).stat().st_size


def test_a_link_can_be_shared(explorer: Explorer) -> None:
    explorer.page.goto(explorer.site + "#0xa80")
    explorer.open(sample(REGCOUNT))
    assert explorer.selected() == [0xA80]
    explorer.go("#0x40000000")
    assert "there is no byte 0x40000000" in explorer.page.inner_text("#status")


def test_keys_do_all_of_it(explorer: Explorer) -> None:
    page = explorer.page
    explorer.open(sample(REGCOUNT))
    explorer.go("#0x0")
    page.focus("#hex")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    assert page.evaluate("location.hash") == "#0x12"
    page.keyboard.press("n")
    assert page.inner_text("#tree .on").startswith("e_version")
    page.keyboard.press("p")
    assert page.inner_text("#tree .on").startswith("e_machine")
    page.keyboard.press("End")
    assert page.evaluate("location.hash") == hex(sample(REGCOUNT).stat().st_size - 1).join(
        ("#", "")
    )
    page.keyboard.press("Home")
    page.keyboard.press("g")
    page.keyboard.type("0x28")
    page.keyboard.press("Enter")
    assert explorer.selected() == list(range(40, 48))
    page.keyboard.press("2")
    assert len(explorer.rows()) == 4
    page.keyboard.press("1")
    page.focus("#tree")
    page.keyboard.press("ArrowDown")
    assert page.inner_text("#tree .on").startswith("e_flags")
    page.keyboard.press("ArrowLeft")
    assert page.inner_text("#tree .on").endswith("header")
    page.keyboard.press("ArrowLeft")
    assert page.get_attribute("#tree .on", "aria-expanded") == "false"
    page.keyboard.press("?")
    assert page.is_visible("#help")


def compressed(path: Path) -> list[bytes]:
    """Fatbins that hold a cubin in each way that fatbinary has."""
    modes = ("default", "speed", "balance", "size", "none")
    return [
        container([entry_for(path.read_bytes(), mode=mode, compress_all=mode != "none")])
        for mode in modes
    ]


def test_compressed_entries_are_the_cubins(explorer: Explorer, tmp_path: Path) -> None:
    inner = sample("kernels.sm_75.exe")
    with cubinspec.Cubin.open(inner) as cubin:
        wanted = coverage_record(cubin)["named"]
    seen = set()
    for index, data in enumerate(compressed(inner)):
        path = tmp_path / f"{index}.fatbin"
        path.write_bytes(data)
        images = list(cubinspec.images(path))
        seen.add(images[0].compression)
        explorer.open(path)
        assert [row[:3] for row in explorer.rows()] == [
            ["fatbin 0 → entry 0", "cubin", images[0].arch]
        ]
        explorer.page.evaluate("delete document.body.dataset.read")
        explorer.page.keyboard.press("]")
        assert "faults" not in explorer.done()
        assert number(explorer.facts()["named fields"]) == wanted
    assert {"zstd", "lz4"} <= {str(each) for each in seen}


def test_a_library_shows_its_images(explorer: Explorer, tmp_path: Path) -> None:
    library = tmp_path / "host.so"
    library.write_bytes(decompress((BUILDS / "host.so.gz").read_bytes()))
    images = [image for image in cubinspec.images(library) if image.kind != "fault"]
    explorer.open(library)
    shown = [(row[1], number(row[3])) for row in explorer.rows()]
    assert shown == [(str(image.kind), image.size) for image in images]
    facts = explorer.facts()
    assert number(facts["size"].split()[0]) == library.stat().st_size
    cubins = [index for index, image in enumerate(images) if image.kind == "cubin"]
    explorer.page.evaluate("delete document.body.dataset.read")
    explorer.go(f"#{cubins[0]}:0x12")
    explorer.done()
    assert explorer.page.inner_text("#tree .on").startswith("e_machine")
    assert explorer.page.evaluate("location.hash") == f"#{cubins[0]}:0x12"


def unpacked(name: str) -> bytes:
    return decompress((BUILDS / f"{name}.gz").read_bytes())


#: A file around device code, its format, and the sections that hold its images.
HOSTS = {
    "elf": (lambda: elf_host({".nv_fatbin": simple_fatbin()}), "ELF", {".nv_fatbin"}),
    "elf32": (lambda: linked_host([simple_fatbin()], [1], bits=32), "ELF", {".nv_fatbin"}),
    "stripped": (
        lambda: elf_host({".nv_fatbin": simple_fatbin()}, with_table=False),
        "ELF",
        {""},
    ),
    "odd": (lambda: elf_host({".rodata": b"abc" + simple_fatbin()}), "ELF", {".rodata"}),
    "code": (
        lambda: elf_host({".text": b"\xb8\x50\xed\x55\xba\xc3" * 3, ".nv_fatbin": simple_fatbin()}),
        "ELF",
        {".nv_fatbin"},
    ),
    "pe": (lambda: pe_host(simple_fatbin()), "PE", {".nv_fatb"}),
    "coff": (lambda: unpacked("host_windows.obj"), "COFF", {"__nv_relfatbin"}),
    "macho": (lambda: macho_host(simple_fatbin()), "Mach-O", {"__NV_CUDA,__nv_fatbin"}),
    "macho32": (
        lambda: macho_host(simple_fatbin(), wide=False),
        "Mach-O",
        {"__NV_CUDA,__nv_fatbin"},
    ),
    "universal": (
        lambda: universal_host([macho_host(simple_fatbin()), macho_host(simple_fatbin())]),
        "universal Mach-O",
        {"__NV_CUDA,__nv_fatbin"},
    ),
    "archive": (
        lambda: ar_of(
            {
                "odd.txt": b"x",
                "a_name_that_is_long.o": unpacked("host.o"),
                "w.obj": unpacked("host_windows.obj"),
            }
        ),
        "archive",
        {"a_name_that_is_long.o: .nv_fatbin", "w.obj: __nv_relfatbin"},
    ),
    "unknown": (lambda: b"\1\2\0unknown" + bytes(77) + simple_fatbin(), "", {""}),
}


@pytest.mark.parametrize("name", HOSTS)
def test_device_code_is_found_in_every_host(explorer: Explorer, tmp_path: Path, name: str) -> None:
    build, form, sections = HOSTS[name]
    path = tmp_path / "host"
    path.write_bytes(build())
    images = list(cubinspec.images(path))
    explorer.open(path)
    shown = explorer.rows()
    assert [(row[1], row[2], number(row[3])) for row in shown] == [
        (image.kind, image.arch, image.size) for image in images
    ]
    assert {row[6] for row in shown} == sections
    assert {image.section for image in images} - {""} <= {name.split(": ")[-1] for name in sections}
    assert explorer.facts().get("format", "") == form


def test_what_follows_a_broken_fatbin_is_found(explorer: Explorer, tmp_path: Path) -> None:
    cubin = sample("calls.sm_100.exe").read_bytes()
    broken = bytearray(container([entry_for(cubin, mode="none"), entry_for(cubin, mode="none")]))
    # the first record of the copy of .nv.compat in the header promises 65,535 bytes
    copy = 16 + 64 + 8 + 1
    assert broken[copy] == 2
    broken[copy : copy + 4] = b"\4\2\xff\xff"
    path = tmp_path / "host.so"
    path.write_bytes(elf_host({".nv_fatbin": bytes(broken) + simple_fatbin()}))
    said = explorer.open(path)
    assert "fatbin 0" in said
    assert [row[2] for row in explorer.rows()][-3:] == ["sm_90", "sm_100", "compute_80"]


def test_a_host_of_nothing_but_promises_ends(explorer: Explorer, tmp_path: Path) -> None:
    """Headers whose tables reach beyond the file, again and again, and magic numbers alone."""
    segment = struct.pack("<II16s32xIIII", 0x19, 72, b"x", 0, 0, 0xFFFFFFFF, 0)
    macho = struct.pack("<IIIIIIII", 0xFEEDFACF, 7, 3, 6, 0xFFFFFFFF, 0, 0, 0) + segment * 40_000
    magics = b"\x50\xed\x55\xba\1\0\x10\0" * 300_000
    archive = b"!<arch>\n" + b"x/".ljust(48) + b"0".ljust(10) + b"`\n"
    elf = bytearray(elf_host({".nv_fatbin": b"x"}, with_table=False))
    struct.pack_into("<Q", elf, 40, 1)
    struct.pack_into("<H", elf, 60, 0xFFFF)
    for data in (
        macho,
        magics,
        archive * 40_000,
        bytes(elf),
        b"MZ" + b"\xff" * 70,
        b"\x64\x86\xff\xff" * 20_000,
    ):
        path = tmp_path / "promises"
        path.write_bytes(data)
        assert explorer.open(path)


def test_a_bare_cubin_in_a_library_is_found(explorer: Explorer, tmp_path: Path) -> None:
    library = tmp_path / "bare.so"
    library.write_bytes(elf_host({".rodata": bytes(64) + sample(REGCOUNT).read_bytes()}))
    explorer.open(library)
    ((label, kind, arch, size, *_),) = explorer.rows()
    assert (kind, arch) == ("cubin", "sm_90")
    assert number(size) == sample(REGCOUNT).stat().st_size
    assert label.startswith("cubin at 0x")


def test_names_of_a_file_are_text(explorer: Explorer, tmp_path: Path) -> None:
    path = tmp_path / "hostile.cubin"
    path.write_bytes(hostile_cubin())
    explorer.open(path)
    explorer.page.click("#tab-kernels")
    names = [row[0] for row in explorer.rows()]
    assert HOSTILE[0] in names
    assert explorer.page.evaluate("window.harm") is None
    assert not any("\u202e" in name for name in names)


def damaged(data: bytes, seed: int) -> bytes:
    """A file with some bytes changed, or cut."""
    chance = random.Random(seed)
    if seed % 3 == 0:
        return data[: chance.randrange(len(data))]
    changed = bytearray(data)
    for _ in range(chance.randrange(1, 30)):
        # half of the changes hit headers
        end = 64 if chance.random() < 0.2 else len(changed)
        changed[chance.randrange(end)] = chance.choice((0, 1, 0x7F, 0xFF, chance.randrange(256)))
    return bytes(changed)


def test_broken_files_give_a_word_and_no_more(explorer: Explorer, tmp_path: Path) -> None:
    files = [b"", b"\x7fELF", b"not a cubin at all" * 10]
    cubin = sample("calls.sm_100.exe").read_bytes()
    files += [damaged(cubin, seed) for seed in range(14)]
    fatbin = container([entry_for(cubin, compress_all=True), entry_for(cubin, mode="none")])
    files += [damaged(fatbin, seed) for seed in range(14)]
    path = tmp_path / "broken"
    read = 0
    for data in files:
        path.write_bytes(data)
        said = explorer.open(path)
        assert said
        read += "read in" in said
        for image in range(
            explorer.page.locator("#images option").count() - 1 if "read in" in said else 0
        ):
            explorer.page.evaluate("delete document.body.dataset.read")
            explorer.page.evaluate("document.getElementById('status').replaceChildren()")
            explorer.page.keyboard.press("]")
            assert explorer.done(), image
    assert 10 < read < len(files)


def test_sections_that_share_the_file_too_often_are_refused(
    explorer: Explorer, tmp_path: Path
) -> None:
    data = bytearray(sample("calls.sm_100.exe").read_bytes())
    (table,) = struct.unpack_from("<Q", data, 40)
    (count,) = struct.unpack_from("<H", data, 60)
    for row in range(1, count):
        struct.pack_into("<QQ", data, table + 64 * row + 24, 0, len(data))
    path = tmp_path / "shared.cubin"
    path.write_bytes(data)
    assert "the sections share the bytes of the file" in explorer.open(path)


def test_only_rows_in_sight_are_in_the_page(explorer: Explorer, tmp_path: Path) -> None:
    library = tmp_path / "large.so"
    filler = random.Random(1).randbytes(6 << 20)
    library.write_bytes(elf_host({".data": filler, ".nv_fatbin": compressed(sample(REGCOUNT))[0]}))
    explorer.open(library)
    assert explorer.page.locator("#hex [data-row]").count() < 120
    explorer.go(f"#{hex(5 << 20)}")
    assert explorer.page.locator("#hex [data-row]").count() < 120
    row = explorer.page.inner_text("#hex b.cursor >> nth=0")
    assert int(row, 16) == library.read_bytes()[5 << 20]


@pytest.mark.parametrize("width", [1400, 400])
def test_the_page_fits_the_window(browser: Any, site: Path, width: int) -> None:
    opened = Explorer(browser, site, viewport={"width": width, "height": 800})
    opened.page.click("#sample")
    opened.done()
    assert opened.page.evaluate("document.documentElement.scrollWidth") <= width
    for part in ("#hex", "#tree", "#detail", "#coverage"):
        box = opened.page.locator(part).bounding_box()
        assert box["width"] > 100, part
    assert re.search(r"read in [\d,]+ ms", opened.page.inner_text("#status"))
    opened.page.close()
