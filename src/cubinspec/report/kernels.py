"""The resource table: one record per function."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from cubinspec.model.cubin import Cubin
    from cubinspec.model.function import Function
    from cubinspec.model.parameter import Parameter


def kernel_records(cubin: Cubin, *, every_function: bool = False) -> list[dict[str, Any]]:
    """One JSON-ready object per kernel, sorted by name (schema ``kernels.schema.json``).

    Args:
        every_function: device functions too.
    """
    functions = cubin.functions if every_function else cubin.kernels
    records = [function_record(cubin, function) for function in functions]
    records.sort(key=lambda record: (record["kind"] != "kernel", record["name"]))
    return records


def function_record(cubin: Cubin, function: Function) -> dict[str, Any]:
    """Everything known about one function; sizes in bytes, ``None`` where the file is silent."""
    return {
        "file": cubin.name,
        "name": function.name,
        "kind": function.kind,
        "arch": cubin.arch,
        "registers": function.registers,
        "stack": function.stack,
        "frame_size": function.frame_size,
        "min_stack_size": function.min_stack_size,
        "max_stack_size": function.max_stack_size,
        "shared": function.shared,
        "local": function.local,
        "constant": {str(bank): size for bank, size in sorted(function.constant.items())},
        "barriers": function.barriers,
        "mbarriers": function.mbarriers,
        "max_threads": function.max_threads,
        "max_ntid": _list(function.max_ntid),
        "reqntid": _list(function.reqntid),
        "cluster": _list(function.cluster),
        "max_cluster_rank": function.max_cluster_rank,
        "max_registers": function.max_registers,
        "param_size": function.param_size,
        "param_offset": function.param_offset,
        "params": [parameter_record(parameter) for parameter in function.params],
        "code_size": function.code_size,
        "exit_offsets": function.exit_offsets,
        "attributes": _attribute_names(function),
    }


def parameter_record(parameter: Parameter) -> dict[str, Any]:
    """One kernel parameter."""
    return {
        "ordinal": parameter.ordinal,
        "offset": parameter.offset,
        "size": parameter.size,
        "pointee_log_alignment": parameter.pointee_log_alignment,
        "pointee_space": parameter.pointee_space,
        "constant_bank": parameter.constant_bank,
        "in_shared": parameter.in_shared,
    }


def _list(triple: tuple[int, int, int] | None) -> list[int] | None:
    return None if triple is None else list(triple)


def _attribute_names(function: Function) -> list[str]:
    from cubinspec_generated.tables import eiattr

    codes = dict.fromkeys(code for _, _, code, _, _ in function.info_rows)
    return [eiattr.NAMES.get(code) or f"{code:#x}" for code in codes]
