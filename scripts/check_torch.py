#!/usr/bin/env python3
"""Holds attention and its gradients against PyTorch's autograd, in float64: weights, dQ, dK and dV
of random configurations, and as much of the first head's output as `trace` shows; with every mask,
rows that see no key, grouped queries, d_v other than d_k, batches, scaling rules and numbers, and
logits from flat to one-hot.

    scripts/check_torch.py [--configurations N] [--seed N] [--program build/sqrtdk]

Prints the worst error of each tensor and the configuration it is of. Exit status: 0, or 1 if an
error is above the tolerance, the program fails or PyTorch is missing.
"""
import argparse
import ast
import math
import os
import random
import subprocess
import sys
import tempfile

try:
    import torch
    from dump_attention import write_npy
except ImportError:
    torch = None

# Errors are relative to the sum of the absolute terms, so that cancelling does not count. Logits
# are up to some 100 here, sums of up to 70 terms in another order: off by some units of 1e-14, and
# weights, relative, by as much. 300 configurations came to 4e-15 at most.
TOLERANCE = 1e-13

TENSORS = ("weights", "output", "dQ", "dK", "dV")
RULES = {"none": lambda d: 1.0, "sqrt": lambda d: 1 / math.sqrt(d), "linear": lambda d: 1.0 / d}


def read_npy(path):
    """float64 as the program writes it."""
    with open(path, "rb") as file:
        head = file.read(10)
        text = file.read(int.from_bytes(head[8:10], "little")).decode("latin-1")
        shape = ast.literal_eval(text.strip())["shape"]
        return torch.frombuffer(bytearray(file.read()), dtype=torch.float64).reshape(shape)


# ---- A configuration -----------------------------------------------------------------------------


class Configuration:
    """Sizes, tensors as [B,H,T,d], and the options and files that say the same to the program."""

    def __init__(self, seed):
        draw = random.Random(seed)
        generator = torch.Generator().manual_seed(seed)
        normal = lambda *shape: torch.randn(*shape, generator=generator, dtype=torch.float64)
        self.batch, self.key_heads = draw.choice((1, 1, 2, 3)), draw.choice((1, 1, 2, 3))
        self.heads = self.key_heads * draw.choice((1, 1, 2, 3))
        self.queries, self.keys = draw.randint(1, 9), draw.randint(1, 9)
        d_k, d_v = draw.choice((1, 2, 5, 8, 64, 70)), draw.choice((1, 2, 3, 8))
        self.q = normal(self.batch, self.heads, self.queries, d_k) * draw.choice((0.1, 1, 1, 4))
        self.k = normal(self.batch, self.key_heads, self.keys, d_k)
        self.v = normal(self.batch, self.key_heads, self.keys, d_v)
        self.do = normal(self.batch, self.heads, self.queries, d_v)
        rule = draw.choice((*RULES, 0.3, -0.7, 0.0, 1e-3))
        self.scale = RULES[rule](d_k) if rule in RULES else rule
        self.options, self.files = ["--scale", str(rule)], {}
        self.seen = torch.ones(self.batch, self.heads, self.queries, self.keys, dtype=torch.bool)
        self._mask(draw, generator)
        sizes = f"B {self.batch} H {self.heads}/{self.key_heads} Tq {self.queries} Tk {self.keys}"
        self.name = f"seed {seed}: {sizes} d_k {d_k} d_v {d_v} {' '.join(self.options)}"

    def _mask(self, draw, generator):
        word = draw.choice(("none", "none", "causal-top-left", "causal-bottom-right"))
        offset = {"none": self.keys, "causal-top-left": 0}.get(word, self.keys - self.queries)
        self.seen &= torch.ones(self.queries, self.keys, dtype=torch.bool).tril(offset)
        self.options += ["--mask", word]
        if draw.random() < 0.3:
            lengths = [draw.randint(0, self.keys) for _ in range(self.batch)]
            for b, length in enumerate(lengths):
                self.seen[b, :, :, length:] = False
            self.files["key-lengths"] = torch.tensor(lengths, dtype=torch.float64)
        if draw.random() < 0.4:
            shape = (self.batch, self.heads, self.queries, self.keys)
            shape = draw.choice((shape[2:], (shape[0], *shape[2:]), shape))
            allowed = torch.rand(shape, generator=generator) < draw.choice((0.2, 0.7))
            allowed[..., 0, 0] |= not allowed.any()  # a mask that hides all is refused
            self.seen &= allowed[:, None] if allowed.dim() == 3 else allowed
            self.files["allowed"] = allowed

    def command(self, folder):
        """--q ... --scale ..., with the files written; leading sizes of 1 are left out."""
        words = list(self.options)
        ranks = 4 if self.batch > 1 else 3 if self.heads > 1 else 2
        for name in ("q", "k", "v", "do"):
            x = getattr(self, name)
            self.files[name] = x if ranks == 4 else x[0] if ranks == 3 else x[0, 0]
        if ranks == 3 and self.files.get("allowed", self.seen).dim() == 3:
            self.files["allowed"] = self.seen[0]  # of three dimensions the first is heads here
        if "allowed" in self.files and self.files["allowed"].dim() < 4:
            per = "query" if self.files["allowed"].dim() == 2 else "head" if ranks == 3 else "batch"
            words += ["--mask-per", per]  # other sizes may be the same
        for name, x in self.files.items():
            path = os.path.join(folder, name + ".npy")
            write_npy(path, x, "wb")
            words += ["--" + name, path]
        return words


# ---- Both sides ----------------------------------------------------------------------------------


def expected(c):
    """What PyTorch computes, and for each tensor the size that its errors are held against."""
    q, k, v = (x.clone().requires_grad_() for x in (c.q, c.k, c.v))
    wide_k, wide_v = (x.repeat_interleave(c.heads // c.key_heads, 1) for x in (k, v))
    alive = c.seen.any(-1, keepdim=True)
    logits = (q @ wide_k.mT * c.scale).masked_fill(~c.seen & alive, -math.inf)
    weights = torch.softmax(logits, -1) * alive  # a row that sees no key has weights 0
    out = weights @ wide_v
    out.backward(c.do)
    with torch.no_grad():
        d_weights = c.do.abs() @ wide_v.abs().mT
        d_logits = weights * (d_weights + (weights * d_weights).sum(-1, keepdim=True))
        d_scores = d_logits * abs(c.scale)
        d_k, d_v = d_scores.mT @ q.abs(), weights.mT @ c.do.abs()
        sizes = (weights, weights @ wide_v.abs(), d_scores @ wide_k.abs(), d_k, d_v)
    return (weights, out, q.grad, k.grad, v.grad), [float(x.max()) for x in sizes]


def run(program, command, words):
    done = subprocess.run([program, command, *words], capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(" ".join([program, command, *words]) + "\n" + done.stderr)
    return done.stdout


def traced_output(text):
    """As much as `trace` shows of O under the first scale."""
    rows = []
    for line in text[text.index("7. Output") :].split("\n")[1:]:
        if line.startswith("  ") and not line.startswith("  ("):
            rows.append([float(word) for word in line.split()])
        elif rows:
            break
    return torch.tensor(rows, dtype=torch.float64)


def found(program, c, folder):
    words = c.command(folder)
    made = {name: os.path.join(folder, name + ".npy") for name in ("weights", "dQ", "dK", "dV")}
    more = ["--save-weights", made["weights"], "--save-gradients", folder, "--quiet", "--force"]
    run(program, "inspect", words + more + ["--output", os.path.join(folder, "inspect.csv")])
    output = traced_output(run(program, "trace", words + ["--digits", "17", "--heads", "0"]))
    arrays = [read_npy(path) for path in made.values()]
    return arrays[0], output, *arrays[1:]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--configurations", type=int, default=300, metavar="N")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of the first one")
    parser.add_argument("--program", default="build/sqrtdk")
    options = parser.parse_args()
    if not torch:
        print("PyTorch is missing: apt-get install python3-torch", file=sys.stderr)
        return 1
    torch.set_num_threads(1)
    worst = {name: (0.0, "") for name in TENSORS}
    dead = 0
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(options.seed, options.seed + options.configurations):
            c = Configuration(seed)
            theirs, sizes = expected(c)
            dead += int((~c.seen.any(-1)).sum() > 0)
            ours = found(options.program, c, folder)
            for name, a, b, size in zip(TENSORS, ours, theirs, sizes):
                if name == "output":
                    a = a[:, : b.shape[-1]]  # beside a narrow matrix stands that of another scale
                    b = b[0, 0, : a.shape[0], : a.shape[1]]
                error = float((a.reshape(b.shape) - b).abs().max()) / (size or 1)
                if not error <= worst[name][0]:  # not a number counts as worst
                    worst[name] = (error, c.name)
    print(
        f"{options.configurations} configurations against PyTorch {torch.__version__}, "
        f"{dead} with rows that see no key"
    )
    for name, (error, of) in worst.items():
        print(f"{name:8} worst error {error:.1e}  {of}")
    bad = [name for name, (error, _) in worst.items() if not error <= TOLERANCE]
    print(f"above {TOLERANCE:g}: {', '.join(bad)}" if bad else f"all within {TOLERANCE:g}")
    return 1 if bad else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (OSError, RuntimeError) as error:
        print(error, file=sys.stderr)
        sys.exit(1)
