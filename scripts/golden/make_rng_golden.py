#!/usr/bin/env python3
"""Writes tests/golden/torch_random.txt: numbers drawn by PyTorch (1.13, CPU) after manual_seed.

One stream, so that what one call leaves behind (the cached half of a pair) meets the next call.
Each line: what was called, how many numbers, the numbers as hexadecimal floats.

    python3 scripts/golden/make_rng_golden.py > tests/golden/torch_random.txt
"""
import torch

SEED = 20170612  # the day arXiv 1706.03762 appeared
SIZES = list(range(1, 41)) + [100, 1000]


def show(kind, numbers):
    print(kind, len(numbers), *[float(x).hex() for x in numbers])


torch.manual_seed(SEED)
print("seed", SEED)
for n in SIZES:
    show("randn64", torch.randn(n, dtype=torch.float64))
    if n < 16:
        show("rand32", torch.rand(n, dtype=torch.float32))
        show("randn32", torch.randn(n, dtype=torch.float32))
    if n % 7 == 0:
        show("rand64", torch.rand(n, dtype=torch.float64))
