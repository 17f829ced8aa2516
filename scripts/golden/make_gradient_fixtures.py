#!/usr/bin/env python3
"""Writes tests/golden/gradients/*.npy: causal attention and its gradients as PyTorch (float32)
computes them, for the test of `sqrtdk gradcheck --q ...`; dk_wrong.npy has one sign flipped. Those
in bfloat16/ are computed in bfloat16 and stored as float32, as a framework's export does.

    python3 scripts/golden/make_gradient_fixtures.py tests/golden/gradients
"""
import os
import sys

import numpy as np
import torch

folder = sys.argv[1]
os.makedirs(folder, exist_ok=True)
B, H, G, T, D = 2, 4, 2, 5, 3  # four query heads share two heads of keys and values


def attention(q, k, v):
    """Causal, with 1/sqrt(d_k)."""
    keys, values = (x.repeat_interleave(H // k.shape[1], dim=1) for x in (k, v))
    scores = q @ keys.transpose(-1, -2) / q.shape[-1] ** 0.5
    visible = torch.tril(torch.ones(scores.shape[-2:], dtype=torch.bool))
    return torch.softmax(scores.masked_fill(~visible, float("-inf")), -1) @ values


def save(to, q, k, v, dout):
    os.makedirs(to, exist_ok=True)
    arrays = dict(q=q, k=k, v=v, do=dout, dq=q.grad, dk=k.grad, dv=v.grad)
    for name, array in arrays.items():
        np.save(os.path.join(to, name + ".npy"), array.detach().float().numpy())


torch.manual_seed(1706)
q = torch.randn(B, H, T, D, requires_grad=True)
k = torch.randn(B, G, T, D, requires_grad=True)
v = torch.randn(B, G, T, D, requires_grad=True)
out = attention(q, k, v)
dout = torch.randn_like(out)
out.backward(dout)
save(folder, q, k, v, dout)
wrong = k.grad.numpy().copy()
wrong[1, 0, 2, 1] *= -1
np.save(os.path.join(folder, "dk_wrong.npy"), wrong)

q, k, v, dout = (torch.randn(1, H, 12, 8).bfloat16() for _ in range(4))
for x in (q, k, v):
    x.requires_grad_()
attention(q, k, v).backward(dout)
save(os.path.join(folder, "bfloat16"), q, k, v, dout)
