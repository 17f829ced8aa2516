#!/usr/bin/env python3
"""Holds the program's attention weights against the reference implementation of ONNX's operator
Attention (opset 23) in the Python package onnx, on the operator's own backend test cases, in
float64: grouped queries, caches, masks, windows, causal or not, inputs of three dimensions.

    scripts/check_onnx.py [--program build/sqrtdk]

A mask that adds numbers goes in as further columns: Q' = [scale Q, mask], K' = [K, 1 in the column
of its own number]. Cases with softcapped logits are counted and left out: the program has none.

Exit status: 0, or 1 if an error is above the tolerance or nothing was compared; 77, and a line,
where there is no onnx of version 1.19.1 or later. Before that its reference gave grouped queries
the heads of K in another order, and took inputs of three dimensions apart otherwise.
"""
import argparse
import math
import os
import re
import subprocess
import sys
import tempfile

SKIPPED = 77
NEEDS = (1, 19, 1)

try:
    import numpy as np
    import onnx
    from onnx.backend.test.case.node import collect_testcases
    from onnx.reference import ReferenceEvaluator
except ImportError:
    onnx = None

# Sums of some ten terms in another order, logits below 10: some units of 1e-15. float32 where the
# operator itself rounds to that (softmax_precision): 24 bits of weights of order 1.
TOLERANCE = {"float64": 1e-13, "float32": 1e-6}


def version():
    """(1, 20, 0) of 1.20.0rc1; None without the package."""
    return onnx and tuple(int(n) for n in re.findall(r"\d+", onnx.__version__)[:3])


# ---- The operator ------------------------------------------------------------------------------

INPUTS = ("Q", "K", "V", "attn_mask", "past_key", "past_value", "nonpad_kv_seqlen")


class Case:
    """A node with its inputs by name, in float64, and attributes."""

    def __init__(self, test):
        node = test.model.graph.node[0]
        given = dict(zip([i.name for i in test.model.graph.input], test.data_sets[0][0]))
        self.name = test.name
        self.attributes = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
        self.inputs = {}
        for name, wire in zip(INPUTS, node.input):
            if wire:
                x = np.asarray(given[wire])
                self.inputs[name] = x.astype(np.float64) if x.dtype.kind == "f" else x
        self.softcap = self.attributes.get("softcap", 0.0)

    def reference(self):
        """The weights [B,H,Tq,Tk] that onnx computes, and in which format."""
        wires = [name if name in self.inputs else "" for name in INPUTS]
        while not wires[-1]:
            wires.pop()
        attributes = dict(self.attributes, qk_matmul_output_mode=3)
        outputs = ["Y", "present_key", "present_value", "weights"]
        node = onnx.helper.make_node("Attention", wires, outputs, **attributes)
        weights = ReferenceEvaluator(node).run(["weights"], self.inputs)[0]
        narrow = self.attributes.get("softmax_precision", 11) != 11
        return np.nan_to_num(np.asarray(weights, np.float64)), "float32" if narrow else "float64"

    def heads(self, x, attribute):
        """[B,H,T,d], as the operator reshapes inputs of three dimensions."""
        if x.ndim == 4:
            return x
        count = self.attributes[attribute]
        return x.reshape(*x.shape[:2], count, x.shape[2] // count).transpose(0, 2, 1, 3)

    def seen(self, queries, keys, past):
        """Which key each query attends to, besides the mask, [B,1,Tq,Tk]."""
        i, j = np.arange(queries)[:, None], np.arange(keys)[None, :]
        lengths = self.inputs.get("nonpad_kv_seqlen")
        offset, seen = np.full((1, 1, 1, 1), past), np.ones((1, 1, queries, keys), bool)
        if lengths is not None:
            lengths = lengths.reshape(-1, 1, 1, 1)
            offset, seen = lengths - queries, seen & (j < lengths)
        if self.attributes.get("is_causal", 0):
            seen = seen & (j <= i + offset)
        for name, sign in (("left_window_size", -1), ("right_window_size", 1)):
            size = self.attributes.get(name, -1)
            if size >= 0:
                seen = seen & (sign * (j - i - offset) <= size)
        return seen

    def program(self):
        """Q, K and the allowed keys, so that the program's logits are Q K^T."""
        q = self.heads(self.inputs["Q"], "q_num_heads")
        k = self.heads(self.inputs["K"], "kv_num_heads")
        past = self.inputs.get("past_key")
        if past is not None:
            k = np.concatenate((past, k), 2)
        (batch, heads, queries, width), keys = q.shape, k.shape[2]
        q = q * self.attributes.get("scale", 1 / math.sqrt(width))
        seen = self.seen(queries, keys, 0 if past is None else past.shape[2])
        mask = self.inputs.get("attn_mask")
        if mask is not None:
            none = False if mask.dtype == bool else -np.inf
            short = [(0, 0)] * (mask.ndim - 1) + [(0, keys - mask.shape[-1])]
            mask = np.pad(mask, short, constant_values=none)
            mask = np.broadcast_to(mask, (batch, heads, queries, keys))
            seen = seen & (mask if mask.dtype == bool else mask > -np.inf)
            if mask.dtype != bool:
                own = np.broadcast_to(np.eye(keys), (*k.shape[:2], keys, keys))
                q = np.concatenate((q, np.where(mask > -np.inf, mask, 0)), 3)
                k = np.concatenate((k, own), 3)
        return q, k, np.broadcast_to(seen, (batch, heads, queries, keys))


def found(program, case, folder):
    files = {name: os.path.join(folder, name + ".npy") for name in ("q", "k", "allowed", "weights")}
    for name, x in zip(files, case.program()):
        np.save(files[name], np.ascontiguousarray(x))
    words = [program, "inspect", "--scale", "none", "--quiet", "--force"]
    words += ["--output", os.path.join(folder, "inspect.csv"), "--save-weights", files["weights"]]
    for name in ("q", "k", "allowed"):
        words += ["--" + name, files[name]]
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{case.name}: {' '.join(words)}\n{done.stderr}")
    return np.load(files["weights"])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--program", default="build/sqrtdk")
    options = parser.parse_args()
    if not onnx or version() < NEEDS:
        print(f"skipped: expected the Python package onnx, {'.'.join(map(str, NEEDS))} or later")
        return SKIPPED
    tests = collect_testcases("Attention")  # also of the operator spelled out in others
    cases = [Case(t) for t in tests if [n.op_type for n in t.model.graph.node] == ["Attention"]]
    errors = []
    with tempfile.TemporaryDirectory() as folder:
        for case in cases:
            if not case.softcap:
                theirs, width = case.reference()
                apart = np.abs(found(options.program, case, folder) - theirs).max()
                errors.append((float(apart), case.name, width))
    for width in TOLERANCE:
        of = [e for e in errors if e[2] == width]
        if of:
            print(f"{len(of)} cases in {width}, worst error {max(of)[0]:.1e} ({max(of)[1]})")
    print(f"onnx {onnx.__version__}; {len(cases) - len(errors)} cases with softcapping left out")
    bad = [f"{name} ({error:.1e})" for error, name, of in errors if not error <= TOLERANCE[of]]
    print(f"above the tolerance: {', '.join(bad)}" if bad else "all within the tolerance")
    return 1 if bad or not errors else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (OSError, RuntimeError) as error:
        print(error, file=sys.stderr)
        sys.exit(1)
