#!/usr/bin/env python3
"""Writes tests/golden/gradients/*.npy: causal attention and its gradients as PyTorch (float32)
computes them, for the test of `sqrtdk gradcheck --q ...`; dk_wrong.npy has one sign flipped.

    python3 scripts/golden/make_gradient_fixtures.py tests/golden/gradients
"""
import os
import sys

import numpy as np
import torch

folder = sys.argv[1]
os.makedirs(folder, exist_ok=True)
torch.manual_seed(1706)
B, H, G, T, D = 2, 4, 2, 5, 3  # four query heads share two heads of keys and values
q = torch.randn(B, H, T, D, requires_grad=True)
k = torch.randn(B, G, T, D, requires_grad=True)
v = torch.randn(B, G, T, D, requires_grad=True)
keys, values = (x.repeat_interleave(H // G, dim=1) for x in (k, v))
scores = q @ keys.transpose(-1, -2) / D**0.5
visible = torch.tril(torch.ones(T, T, dtype=torch.bool))
weights = torch.softmax(scores.masked_fill(~visible, float("-inf")), -1)
out = weights @ values
dout = torch.randn_like(out)
out.backward(dout)
arrays = dict(q=q, k=k, v=v, do=dout, dq=q.grad, dk=k.grad, dv=v.grad)
for name, array in arrays.items():
    np.save(os.path.join(folder, name + ".npy"), array.detach().numpy())
wrong = k.grad.numpy().copy()
wrong[1, 0, 2, 1] *= -1
np.save(os.path.join(folder, "dk_wrong.npy"), wrong)
