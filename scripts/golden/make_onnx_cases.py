#!/usr/bin/env python3
"""Writes tests/golden/onnx/: small cases of ONNX's operator Attention, derived from its public
description (opset 23; key lengths of a cache are opset 24's, windows opset 25's) sum by sum over
plain numbers, and rounded once.

    python3 scripts/golden/make_onnx_cases.py tests/golden/onnx

Of each case: q, k, v, float32, as the operator has them after reshaping and appending to its
cache, [B,H,T,d]; seen, which key each query attends to; weights and y, float64; and key lengths.
index.txt has a line for each case, its name and the program's options; @ stands for its folder.
"""
import math
import os
import sys

import numpy as np

random = np.random.default_rng(1706)


def normal(*shape):
    return random.standard_normal(shape).astype("<f4")


def heads_first(x, heads):
    """[B,T,H*d] -> [B,H,T,d], as the operator takes inputs of three dimensions."""
    batch, tokens, width = x.shape
    return x.reshape(batch, tokens, heads, width // heads).transpose(0, 2, 1, 3)


class Operator:
    """Inputs and attributes by their names in the description."""

    def __init__(self, q, k, v, q_num_heads=None, kv_num_heads=None, past_key=None, past_value=None,
                 attn_mask=None, nonpad_kv_seqlen=None, is_causal=0, scale=None,
                 left_window_size=-1, right_window_size=-1):  # fmt: skip
        if q.ndim == 3:
            q, k, v = (heads_first(q, q_num_heads), *(heads_first(x, kv_num_heads) for x in (k, v)))
        self.past = 0
        if past_key is not None:
            self.past = past_key.shape[2]
            k, v = np.concatenate((past_key, k), 2), np.concatenate((past_value, v), 2)
        self.q, self.k, self.v, self.mask = q, k, v, attn_mask
        self.nonpad, self.is_causal = nonpad_kv_seqlen, is_causal
        self.left, self.right = left_window_size, right_window_size
        self.scale = 1 / math.sqrt(q.shape[3]) if scale is None else scale

    def attends(self, b, h, i, j):
        offset = self.past
        if self.nonpad is not None:
            offset = self.nonpad[b] - self.q.shape[2]
            if j >= self.nonpad[b]:
                return False
        if self.is_causal and j > i + offset:
            return False
        if self.left >= 0 and j < i + offset - self.left:
            return False
        if self.right >= 0 and j > i + offset + self.right:
            return False
        return self.bias(b, h, i, j) > -math.inf

    def bias(self, b, h, i, j):
        """What is added to a logit: 0, or minus infinity; keys beyond a short mask are masked."""
        if self.mask is None:
            return 0
        if j >= self.mask.shape[-1]:
            return -math.inf
        wide = self.mask.reshape((1,) * (4 - self.mask.ndim) + self.mask.shape)
        at = [n if size > 1 else 0 for n, size in zip((b, h, i), wide.shape)]
        x = wide[at[0], at[1], at[2], j]
        return float(x) if wide.dtype != bool else 0 if x else -math.inf

    def row(self, b, h, i):
        """Weights and output of one query; zeros where it attends to nothing."""
        of = h * self.k.shape[1] // self.q.shape[1]
        logits = {}
        for j in range(self.k.shape[2]):
            if self.attends(b, h, i, j):
                products = (float(x) * float(y) for x, y in zip(self.q[b, h, i], self.k[b, of, j]))
                logits[j] = self.scale * math.fsum(products) + self.bias(b, h, i, j)
        most = max(logits.values(), default=0)
        total = math.fsum(math.exp(z - most) for z in logits.values())
        weights = {j: math.exp(z - most) / total for j, z in logits.items()}
        columns = range(self.v.shape[3])
        y = [math.fsum(p * float(self.v[b, of, j, c]) for j, p in weights.items()) for c in columns]
        return weights, y

    def run(self):
        shape = (*self.q.shape[:3], self.k.shape[2])
        seen, weights = np.zeros(shape, bool), np.zeros(shape)
        y = np.zeros((*self.q.shape[:3], self.v.shape[3]))
        for place in np.ndindex(*self.q.shape[:3]):
            given, y[place] = self.row(*place)
            for j, p in given.items():
                weights[(*place, j)], seen[(*place, j)] = p, True
        return seen, weights, y


B, T, D = 2, 4, 3
SEEN, LENGTHS = "--allowed @/seen.npy", "--key-lengths @/lengths.npy"


def qkv(heads=2, key_heads=2, queries=T, keys=T, d_v=D):
    q = normal(B, heads, queries, D)
    return q, normal(B, key_heads, keys, D), normal(B, key_heads, keys, d_v)


def flat(x):
    return x.transpose(0, 2, 1, 3).reshape(x.shape[0], x.shape[2], -1)


def past(tokens=3, heads=2):
    return {"past_key": normal(B, heads, tokens, D), "past_value": normal(B, heads, tokens, D)}


def mask(*shape):
    return random.random(shape) < 0.6


def cases():
    """Name, operator, and what says the same to the program."""
    yield "cross", Operator(*qkv(keys=6)), ""
    yield "grouped", Operator(*qkv(4, 2, keys=5)), ""
    yield "one_key_head", Operator(*qkv(3, 1)), ""
    yield "other_value_width", Operator(*qkv(d_v=5)), ""
    yield "scaled", Operator(*qkv(), scale=0.01), "--scale 0.01"
    yield "causal", Operator(*qkv(), is_causal=1), "--causal"
    yield "causal_cross", Operator(*qkv(keys=6), is_causal=1), "--mask causal-top-left"
    yield "past_causal", Operator(*qkv(), **past(), is_causal=1), "--mask causal-bottom-right"
    yield "past_grouped", Operator(*qkv(4), **past(), scale=0.7), "--scale 0.7"
    yield "past_causal_chunk", Operator(*qkv(queries=2), **past(), is_causal=1), SEEN
    yield "mask_of_all", Operator(*qkv(keys=5), attn_mask=mask(T, 5)), SEEN
    yield "mask_by_head", Operator(*qkv(4), attn_mask=mask(B, 4, T, T)), SEEN
    yield "mask_and_causal", Operator(*qkv(), attn_mask=mask(B, 1, T, T), is_causal=1), SEEN
    minus = np.where(mask(T, T), 0, -np.inf).astype("<f4")
    yield "mask_of_numbers", Operator(*qkv(), attn_mask=minus), SEEN
    yield "mask_shorter_than_keys", Operator(*qkv(keys=6), attn_mask=mask(T, 4)), SEEN
    lengths = [6, 2]  # fewer keys than queries: where causal the first of these attend to none
    yield "key_lengths", Operator(*qkv(keys=6), nonpad_kv_seqlen=lengths), LENGTHS
    yield "key_lengths_causal", Operator(*qkv(keys=6), nonpad_kv_seqlen=lengths, is_causal=1), SEEN
    yield "window", Operator(*qkv(keys=6), left_window_size=2, right_window_size=1), SEEN
    window = Operator(*qkv(), **past(), left_window_size=1, is_causal=1)
    yield "window_causal_past", window, SEEN
    q, k, v = qkv(4, 2)
    three = Operator(flat(q), flat(k), flat(v), q_num_heads=4, kv_num_heads=2, is_causal=1)
    yield "three_dimensions", three, "--causal"


def main():
    folder = sys.argv[1]
    lines = []
    for name, operator, options in cases():
        seen, weights, y = operator.run()
        to = os.path.join(folder, name)
        os.makedirs(to, exist_ok=True)
        arrays = {"q": operator.q, "k": operator.k, "v": operator.v}
        arrays.update(seen=seen, weights=weights, y=y)
        if options == LENGTHS:
            arrays["lengths"] = np.array(operator.nonpad, "<i8")
        for key, array in arrays.items():
            np.save(os.path.join(to, key + ".npy"), np.ascontiguousarray(array))
        lines.append(f"{name} {options}".strip() + "\n")
    with open(os.path.join(folder, "index.txt"), "w", encoding="utf-8") as file:
        file.writelines(lines)


if __name__ == "__main__":
    main()
