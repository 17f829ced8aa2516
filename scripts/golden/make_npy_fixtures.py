#!/usr/bin/env python3
"""Writes tests/golden/npy/: every layout of .npy that the reader accepts, by NumPy itself.

Value i of an array, in C order, is (i - 7) / 4, which all float sizes hold exactly. Integers are
i - 7 (i for unsigned), booleans are i % 3 == 0. Usage: make_npy_fixtures.py [DIRECTORY]
"""
import os
import sys

import numpy as np

SHAPES = {"2d": (3, 4), "3d": (2, 3, 4), "4d": (2, 1, 3, 2)}


def save(directory, name, array, version=(1, 0)):
    with open(os.path.join(directory, name + ".npy"), "wb") as file:
        np.lib.format.write_array(file, array, version=version)


def ramp(shape):
    return (np.arange(np.prod(shape)).reshape(shape) - 7) / 4


def floats(directory):
    for size in (2, 4, 8):
        for order, order_name in (("<", "le"), (">", "be")):
            for layout in "CF":
                for name, shape in SHAPES.items():
                    array = np.array(ramp(shape), dtype=f"{order}f{size}", order=layout)
                    save(directory, f"f{size}_{order_name}_{layout.lower()}_{name}", array)
    for major in (2, 3):
        save(directory, f"version{major}", ramp((3, 4)).astype("<f4"), (major, 0))


def halves(directory):
    """All signs and exponents of binary16 with telling fractions, and what NumPy widens them to."""
    bits = [s << 15 | e << 10 | f
            for s in (0, 1) for e in range(32) for f in (0, 1, 2, 341, 512, 1023)]
    array = np.array(bits, dtype="<u2").view("<f2").reshape(2, -1)
    save(directory, "half", array)
    save(directory, "half_as_f8", array.astype("<f8"))


def masks(directory):
    count = np.arange(12).reshape(3, 4)
    save(directory, "mask_b1", count % 3 == 0)
    for dtype in ("u1", "<u2", "<u4", "<u8"):
        save(directory, "mask_" + dtype.strip("<"), count.astype(dtype))
    for dtype in ("i1", "<i2", "<i4", "<i8", ">i4"):
        name = dtype.strip("<").replace(">", "be_")
        save(directory, "mask_" + name, (count - 7).astype(dtype))
    save(directory, "lengths_i8", np.array([5, 3, 8], dtype="<i8"))


def main():
    directory = sys.argv[1] if len(sys.argv) > 1 else "tests/golden/npy"
    os.makedirs(directory, exist_ok=True)
    floats(directory)
    halves(directory)
    masks(directory)


if __name__ == "__main__":
    main()
