"""Occupancy: every stored answer of NVIDIA's public calculator, the next step, the command."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

import cubinspec
from cubinspec.cli import main
from cubinspec.report.occupancy import Launch, limits_of, next_step, residency
from cubinspec_generated.tables.arch import LIMITS
from tools.oracle.occupancy import UNKNOWN, answers, queries

DATA = Path(__file__).parents[1] / "data" / "cubins"
KERNELS = DATA / "kernels.sm_75.exe.cubin"
CLUSTER = DATA / "cluster_sm90.sm_90.exe.cubin"
ANSWERED = dict(zip(LIMITS, answers(), strict=True))


@pytest.mark.parametrize("sm", LIMITS)
def test_the_answers_of_cuda_occupancy(sm):
    limits = limits_of(f"sm_{sm}")
    most = limits["max_registers_per_thread"]
    differ = []
    for query, answer in zip(queries(sm), ANSWERED[sm], strict=True):
        # the header takes all of 3.x for 3.5; the programming guide gives sm_30 63 registers
        expected = 0 if query[1] > most else answer
        found = residency(Launch(*query), limits).blocks
        if answer != UNKNOWN and found != expected:
            differ.append((query, found, expected))
    assert not differ, differ[:5]


def test_only_the_oldest_architectures_have_no_answers():
    unknown = [sm for sm, found in ANSWERED.items() if UNKNOWN in found]
    assert unknown == [20, 21]
    assert all(len(set(found)) > 10 for sm, found in ANSWERED.items() if sm not in unknown)


@pytest.mark.parametrize("sm", [75, 80, 90, 100, 120])
def test_a_step_is_the_smallest_one_that_helps(sm):
    limits = limits_of(f"sm_{sm}")
    helped = 0
    for block in (64, 128, 256, 1024):
        for registers in range(24, 256, 9):
            for shared in (0, 9000, 30000):
                for barriers in (0, 16):
                    launch = Launch(block, registers, shared, barriers)
                    now, step = residency(launch, limits), next_step(launch, limits)
                    if step is None:
                        continue
                    helped += 1
                    then = residency(replace(launch, **step.changes), limits)
                    assert then.warps > now.warps
                    assert then.occupancy == step.occupancy
                    for name, value in step.changes.items():
                        if name != "block":
                            less = replace(launch, **{**step.changes, name: value + 1})
                            assert residency(less, limits).warps <= now.warps
    assert helped > 100


def test_words_of_a_step():
    limits = limits_of("sm_90")
    step = next_step(Launch(128, 42), limits)
    assert step is not None
    assert (step.text, step.changes) == ("2 registers fewer", {"registers": 40})
    step = next_step(Launch(128, 33), limits)
    assert step is not None
    assert step.text == "1 register fewer"


def test_a_kernel_states_its_block_size():
    found = {k.name: cubinspec.occupancy(k) for k in cubinspec.Cubin.open(KERNELS).kernels}
    assert (found["required"].launch.block, found["required"].source) == (256, ".reqntid")
    assert (found["bounded"].launch.block, found["bounded"].source) == (512, ".maxntid")
    assert (found["empty"].launch.block, found["empty"].source) == (1024, "suggested")
    given = {
        k.name: cubinspec.occupancy(k, block=1024) for k in cubinspec.Cubin.open(KERNELS).kernels
    }
    assert (given["required"].launch.block, given["required"].source) == (256, ".reqntid")
    assert (given["bounded"].launch.block, given["bounded"].source) == (512, ".maxntid")
    assert (given["empty"].launch.block, given["empty"].source) == (1024, "given")
    # sm_75 counts no barriers
    assert found["any_barrier"].residency.limits.keys() == {"warps", "blocks", "registers"}


def test_reserved_shared_memory_counts_once():
    bulk = next(k for k in cubinspec.Cubin.open(CLUSTER).kernels if k.name == "bulk")
    found = cubinspec.occupancy(bulk)
    assert bulk.shared == found.launch.shared + 1024
    more = cubinspec.occupancy(bulk, block=256, dynamic_shared=100_000, gpu="sm_86")
    assert more.residency.blocks == 0 or more.launch.shared == found.launch.shared + 100_000


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"block": 0}, "1 to 1024 threads"),
        ({"block": 1025}, "1 to 1024 threads"),
        ({"gpu": "sm_1"}, "no limits"),
        ({"dynamic_shared": -1}, "negative"),
    ],
)
def test_bad_options(options, words):
    kernel = cubinspec.Cubin.open(KERNELS).kernels[0]
    with pytest.raises(ValueError, match=words):
        cubinspec.occupancy(kernel, **options)


def test_json_follows_its_schema(capsys):
    assert main(["occupancy", "--json", "--gpu", "90,86", str(KERNELS), str(CLUSTER)]) == 0
    records = json.loads(capsys.readouterr().out)
    schema = Path(cubinspec.__file__).with_name("schema") / "occupancy.schema.json"
    Draft202012Validator(json.loads(schema.read_text())).validate(records)
    assert {record["gpu"] for record in records} == {"sm_90", "sm_86"}
    with_limits = [r for r in records if r["limited_by"]]
    assert len(with_limits) == len(records) == 2 * 13


def test_table_curve_csv_and_picture(capsys, tmp_path):
    picture = tmp_path / "curves.svg"
    assert main(["occupancy", "--match", "required", str(KERNELS)]) == 0
    assert "256  .reqntid" in capsys.readouterr().out
    words = ["occupancy", "--curve", "--svg", str(picture), "--match", "required", str(KERNELS)]
    assert main(words) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 1 + 32
    assert sum(line.endswith("<") for line in lines) == 1
    from xml.etree import ElementTree

    assert ElementTree.fromstring(picture.read_text()).tag.endswith("svg")
    assert main(["occupancy", "--csv", str(KERNELS)]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert {row["name"] for row in rows} >= {"required", "empty"}
    assert all(row["limited_by"] for row in rows)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--block", "4096"], "--block needs"),
        (["--block", "x"], "needs a number"),
        (["--gpu", "sm_7"], "--gpu sm_7"),
        (["--dynamic-shared", "-5"], "negative"),
    ],
)
def test_wrong_usage(words, message, capsys):
    assert main(["occupancy", *words, str(KERNELS)]) == 2
    assert message in capsys.readouterr().err


def test_a_file_that_cannot_be_read(tmp_path, capsys):
    broken = tmp_path / "broken.cubin"
    broken.write_bytes(KERNELS.read_bytes()[:700])
    assert main(["occupancy", str(broken), str(KERNELS)]) == 1
    out = capsys.readouterr()
    assert "required" in out.out
    assert "broken.cubin" in out.err
