"""Occupancy beside what the driver answers; it needs a GPU, and is skipped where there is none."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import cubinspec
from cubinspec import Cubin

DATA = Path(__file__).parents[1] / "data" / "cubins"
#: Numbers of CUdevice_attribute in cuda.h: the two halves of the target.
_MAJOR, _MINOR = 75, 76
#: Static and dynamic shared memory that a launch may have without asking for more.
_MOST_SHARED = 48 << 10
BLOCKS = (32, 64, 96, 128, 192, 256, 384, 512, 768, 1024)
DYNAMIC = (0, 1, 4096, 10_000, 32_768)


class Driver:
    """The few calls of the driver that are asked; each raises where the driver gives an error."""

    def __init__(self) -> None:
        self.library = ctypes.CDLL("libcuda.so.1")
        self.call("cuInit", 0)
        device, context = ctypes.c_int(), ctypes.c_void_p()
        self.call("cuDeviceGet", ctypes.byref(device), 0)
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self.call("cuCtxSetCurrent", context)
        halves = []
        for attribute in (_MAJOR, _MINOR):
            value = ctypes.c_int()
            self.call("cuDeviceGetAttribute", ctypes.byref(value), attribute, device)
            halves.append(value.value)
        major, minor = halves
        self.target = f"sm_{major}{minor}"

    def call(self, name: str, *arguments: Any) -> None:
        status = getattr(self.library, name)(*arguments)
        if status:
            raise OSError(f"{name} gives {status}")

    def blocks(self, kernel: ctypes.c_void_p, block: int, dynamic: int) -> int:
        """Resident blocks per SM."""
        found = ctypes.c_int()
        self.call(
            "cuOccupancyMaxActiveBlocksPerMultiprocessor",
            *(ctypes.byref(found), kernel, ctypes.c_int(block), ctypes.c_size_t(dynamic)),
        )
        return found.value

    def kernels(self, data: bytes, names: list[str]) -> Iterator[ctypes.c_void_p]:
        """The kernels of a cubin, loaded."""
        module = ctypes.c_void_p()
        self.call("cuModuleLoadData", ctypes.byref(module), ctypes.c_char_p(data))
        for name in names:
            kernel = ctypes.c_void_p()
            self.call("cuModuleGetFunction", ctypes.byref(kernel), module, name.encode())
            yield kernel
        self.call("cuModuleUnload", module)


@pytest.fixture(scope="module")
def driver() -> Driver:
    try:
        return Driver()
    except (OSError, AttributeError) as error:
        pytest.skip(f"no GPU is on this machine: {error}")


def test_the_driver_gives_the_same_blocks(driver):
    asked, differ = 0, []
    files = [
        file
        for word in (driver.target, f"{driver.target}a")
        for file in sorted(DATA.glob(f"*.{word}.exe.cubin"))
    ]
    for file in files:
        with Cubin.open(file) as cubin:
            kernels = list(cubin.kernels)
            loaded = driver.kernels(file.read_bytes(), [kernel.name for kernel in kernels])
            for kernel, handle in zip(kernels, loaded, strict=True):
                most = kernel.max_threads or max(BLOCKS)
                for block in (block for block in BLOCKS if block <= most):
                    for dynamic in DYNAMIC:
                        found = cubinspec.occupancy(kernel, block=block, dynamic_shared=dynamic)
                        # a kernel that requires a block size is asked with that only
                        if found.launch.block != block or kernel.shared + dynamic > _MOST_SHARED:
                            continue
                        asked += 1
                        answer = driver.blocks(handle, block, dynamic)
                        if found.residency.blocks != answer:
                            row = file.name, kernel.name, block, dynamic
                            differ.append((*row, answer, found.residency.blocks))
    if not files:
        pytest.skip(f"no sample is for {driver.target}")
    assert asked
    assert not differ, differ[:5]
