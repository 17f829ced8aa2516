#!/usr/bin/env python3
"""Repeats the runs of a stall log in PyTorch, from the same seeds, and says whether, where and why
they part. What the program does by its own hands (backward passes, optimizers, random numbers) is
here autograd, torch.optim and torch.randn, so a slip of the program shows.

    scripts/verify_torch.py results/stall.csv [--most-runs N]

Reads the log and the .meta beside it, writes nothing. Of each run it says that it

  agrees        at every logged step, within the tolerances below
  parts         where a twin in PyTorch that differs by rounding alone parts as well: training
                amplifies rounding, and from there on nothing is claimed
  is DIFFERENT  where the twin does not part: one of the two is wrong

Exit status: 0, or 1 if a run is DIFFERENT or PyTorch is missing, 2 if the input cannot be used.
"""
import argparse
import csv
import itertools
import math
import os
import sys

try:
    import torch
    from torch.autograd import forward_ad
except ImportError:
    torch = None

# The columns compared, and how far they may be off, relative. Sums of hundreds of terms run in
# another order here, and updates carry that on: 1e-14 to 1e-12 where nothing amplifies it.
# Gradients and entropies are sums whose terms cancel in sharp rows, which costs some digits more.
TOLERANCE = {
    "loss": 1e-9,
    "loss_uniform": 1e-9,
    "grad_wq": 1e-7,
    "grad_wk": 1e-7,
    "logit_step": 1e-7,
    "entropy_mean": 1e-7,
    "logit_std": 1e-9,
    "temperature": 1e-9,
    "moved": 1e-9,
}

# What rounding leaves unknown of a sum, relative to its terms: some tens of units in the last
# place. Where they cancel (O - Y of a trained student, W - first W) that may be all there is.
ROUNDING = 1e-14

# A run parts as its twin does if the twin is at least 1/FACTOR as far away, in any column and up to
# that step, as the program is. Both errors start at random, at 1e-16 or so, and grow by the same
# dynamics, so that their ratio is that of two random numbers of like scale. |normal| is below 1/100
# of its scale once in 125 times; the largest of nine columns and of all steps so far hardly ever
# is. A slip starts many orders above 1e-16, so the twin is that many orders nearer.
FACTOR = 100
APART = 1e7  # tolerances: where a relative difference is 1, the most that it can be

SIZES = ("batch", "tokens", "d-model", "d-v", "steps", "every")
FLAGS = ("fixed-batch", "train-values")
KEY = ("seed", "d_k", "scale", "optimizer", "lr")
TEXTS = ("scale", "optimizer", "init", "schedule", "target")
FIELDS = KEY + ("init", "init_gain", "momentum", "beta1", "beta2", "eps", "weight_decay", "clip",
                "schedule", "warm_up", "temperature_lr", "temperature_from", "target",
                "target_gain")


# ---- The log -----------------------------------------------------------------------------------


def read_meta(path):
    with open(path, encoding="utf-8") as file:
        meta = dict(line.rstrip("\n").split(" = ", 1) for line in file if " = " in line)
    if meta.get("program") != "sqrtdk stall" or any(name not in meta for name in SIZES + FLAGS):
        raise ValueError("its .meta is not of sqrtdk stall")
    numbers = {name: int(meta[name]) for name in SIZES}
    if min(numbers.values()) < 1:
        raise ValueError("its .meta has a size below 1")
    return {**numbers, **{name: meta[name] == "yes" for name in FLAGS}}


def is_logged(step, meta):
    return step < meta["steps"] and (step % meta["every"] == 0 or step == meta["steps"] - 1)


def read_runs(path, meta):
    """The recipe of each run and its rows by step."""
    with open(path, encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file)
        for name in ("step", *FIELDS, *TOLERANCE):
            if name not in (reader.fieldnames or ()):
                raise ValueError(f"not a log of sqrtdk stall, it has no column {name}")
        rows = list(reader)
    if not rows or any(None in row or None in row.values() for row in rows):
        raise ValueError("no rows, or one that is too short or too long")
    runs = []
    for _, run in itertools.groupby(rows, lambda row: [row[name] for name in KEY]):
        run = list(run)
        steps = {int(row["step"]): {name: float(row[name]) for name in TOLERANCE} for row in run}
        if not all(is_logged(step, meta) for step in steps):
            raise ValueError("its steps are not those of its .meta")
        runs.append((Recipe(run[0]), steps))
    return runs


class Recipe:
    """How a run trains; None where its row is empty."""

    def __init__(self, row):
        for name in FIELDS:
            text = row[name]
            setattr(self, name, text if name in TEXTS else float(text) if text else None)
        self.seed, self.d_k = int(row["seed"]), int(row["d_k"])
        self.name = "d_k {d_k} {scale} {optimizer} lr {lr} seed {seed}".format(**row)
        points = [point.split(":") for point in self.schedule.split()]
        self.points = [(int(start), float(factor)) for start, factor in points]
        # RULE, NUMBER or RULE*NUMBER
        rule, _, number = self.scale.rpartition("*")
        self.rule = rule or (self.scale if self.scale in RULES else "none")
        self.number = 1 if self.scale in RULES else float(number)
        if self.optimizer not in OPTIMIZERS:
            raise ValueError(f"unknown optimizer {self.optimizer}")
        for name in ("lr", "init_gain", "weight_decay", "target_gain", *NEEDS[self.optimizer]):
            if getattr(self, name) is None:
                raise ValueError(f"{name} is empty")

    def rate_factor(self, step):
        reached = [factor for start, factor in self.points if start <= step]
        return (reached[-1] if reached else 1) * min(1, (step + 1) / (self.warm_up or 1))


# ---- The experiment ----------------------------------------------------------------------------


def cosine(q, k):
    return (q / q.norm(dim=-1, keepdim=True)) @ (k / k.norm(dim=-1, keepdim=True)).mT


# Logits of Q, K [B,T,d_k].
RULES = {
    "none": lambda q, k: q @ k.mT,
    "sqrt": lambda q, k: q @ k.mT / math.sqrt(q.shape[-1]),
    "linear": lambda q, k: q @ k.mT / q.shape[-1],
    "log": lambda q, k: q @ k.mT * (0.43 * math.log(k.shape[-2]) / math.sqrt(q.shape[-1])),
    "keys": lambda q, k: q @ k.mT / k.norm(dim=-1).sum(-1)[:, None, None],
    "cosine": lambda q, k: cosine(q, k) * math.log2(k.shape[-2] ** 2 - k.shape[-2]),
    "t5": lambda q, k: q @ k.mT,
    "rms": lambda q, k: cosine(q, k) * math.sqrt(q.shape[-1]),
}

OPTIMIZERS = {
    "sgd": lambda groups, r: torch.optim.SGD(groups, r.lr),
    "momentum": lambda groups, r: torch.optim.SGD(groups, r.lr, r.momentum),
    "adam": lambda groups, r: torch.optim.Adam(groups, r.lr, (r.beta1, r.beta2), r.eps),
    "adamw": lambda groups, r: torch.optim.AdamW(groups, r.lr, (r.beta1, r.beta2), r.eps),
}


ADAM = ("beta1", "beta2", "eps")
NEEDS = {"sgd": (), "momentum": ("momentum",), "adam": ADAM, "adamw": ADAM}


class Teacher:
    """Draws all numbers, in the program's order, and makes the targets."""

    def __init__(self, recipe, meta):
        self.recipe, self.meta, self.x = recipe, meta, None
        self.generator = torch.Generator().manual_seed(recipe.seed)
        widths = [recipe.d_k, recipe.d_k, meta["d-v"], recipe.d_k, recipe.d_k]
        widths += [meta["d-v"]] * meta["train-values"]
        drawn = [self.draw(meta["d-model"], width) / math.sqrt(meta["d-model"]) for width in widths]
        self.wq, self.wk, self.wv, *self.first = drawn

    def draw(self, *shape):
        return torch.randn(*shape, generator=self.generator, dtype=torch.float64)

    def next_batch(self):
        """X, V and Y of the next step."""
        if self.x is None or not self.meta["fixed-batch"]:
            self.x = self.draw(self.meta["batch"], self.meta["tokens"], self.meta["d-model"])
        logits = RULES["sqrt"](self.x @ self.wq, self.x @ self.wk) * self.recipe.target_gain
        weights = torch.softmax(logits, -1)
        if self.recipe.target == "hard":
            weights = torch.nn.functional.one_hot(logits.argmax(-1), logits.shape[-1]).double()
        values = self.x @ self.wv
        return self.x, values, weights @ values


def norm(x):
    """Frobenius, by squares that neither overflow nor underflow."""
    largest = x.abs().max()
    return largest * (x / largest).norm() if largest > 0 else largest


def shift(grad, weights):
    """dP less its value at the row's largest weight: of dL/dZ that changes rounding alone."""
    return grad - grad.gather(-1, weights.argmax(-1, keepdim=True))


class Student:
    """Learns to attend. A twin does the same by other roundings: its first weights, V and Y are
    larger by a unit in the last place, and dP is shifted before the softmax's backward, as in the
    program. (Without that PyTorch rounds w (dP - sum w dP) of a one-hot row's largest weight to 0,
    whatever the last bits are; it is as large as all others of the row together.)"""

    def __init__(self, recipe, teacher, twin=False):
        self.recipe, self.twin = recipe, twin
        self.nudge = 1 + 2.0**-52 if twin else 1
        wq, wk, *wv = (w * self.nudge for w in teacher.first)
        if recipe.init == "teacher":
            wq, wk = teacher.wq * self.nudge, teacher.wk * self.nudge
        query_gain = recipe.d_k ** -0.5 if recipe.rule == "t5" else 1
        self.first = [wq * (recipe.init_gain * query_gain), wk * recipe.init_gain]
        self.trained = [w.clone().requires_grad_() for w in [*self.first, *wv]]
        self.tau = torch.zeros((), dtype=torch.float64, requires_grad=True)
        groups = [dict(params=self.trained, weight_decay=recipe.weight_decay, rate=recipe.lr),
                  dict(params=[self.tau], weight_decay=0, rate=recipe.temperature_lr or 0)]
        self.optimizer = OPTIMIZERS[recipe.optimizer](groups, recipe)

    def logits(self, x, wq, wk, tau):
        return RULES[self.recipe.rule](x @ wq, x @ wk) * self.recipe.number * tau.exp()

    def learn(self, step, x, values, target, logged):
        """One step, and if it is logged its row; None where the program would not log it."""
        wq, wk, *wv = self.trained
        target = target * self.nudge
        values = x @ wv[0] if wv else values * self.nudge
        logits = self.logits(x, wq, wk, self.tau)
        weights = torch.softmax(logits, -1)
        if self.twin:
            weights.register_hook(lambda grad: shift(grad, weights.detach()))
        loss = (weights @ values - target).square().mean()
        self.optimizer.zero_grad()
        loss.backward()
        if not logged:
            return self.update(step)
        before = [w.detach().clone() for w in (wq, wk, self.tau)]
        with torch.no_grad(), forward_ad.dual_level():
            moved = [a - b for a, b in zip(before, self.first)]
            row = {
                "loss": loss,
                "loss_uniform": (values.mean(-2, keepdim=True) - target).square().mean(),
                "grad_wq": norm(wq.grad),
                "grad_wk": norm(wk.grad),
                "entropy_mean": -(weights * torch.log_softmax(logits, -1)).sum(-1).mean(),
                "logit_std": logits.std(unbiased=False),
                "temperature": self.tau.exp(),
                "moved": torch.cat(moved).norm() / torch.cat(self.first).norm(),
            }
            self.update(step)
            change = [a - b for a, b in zip((wq, wk, self.tau), before)]
            moving = self.logits(x, *map(forward_ad.make_dual, before, change))
            row["logit_step"] = norm(forward_ad.unpack_dual(moving).tangent) / logits.numel() ** 0.5
        row = {name: value.item() for name, value in row.items()}
        return row if all(map(math.isfinite, row.values())) else None

    def update(self, step):
        if self.recipe.clip is not None:
            torch.nn.utils.clip_grad_norm_(self.trained[:2], self.recipe.clip)
        if self.recipe.temperature_lr is None or step < self.recipe.temperature_from:
            self.tau.grad = None  # the optimizer then passes over it, and its state starts later
        for group in self.optimizer.param_groups:
            group["lr"] = group["rate"] * self.recipe.rate_factor(step)
        self.optimizer.step()


# ---- The comparison ----------------------------------------------------------------------------


def difference(name, row, ours):
    """Of a column: relative to its size, or where that is more, such that what rounding leaves
    unknown is within the tolerance."""
    size, unknown = max(abs(row[name]), abs(ours[name])), 0
    if name in ("loss", "grad_wq", "grad_wk", "logit_step") and ours["loss_uniform"] > 0:
        left = math.sqrt(max(row["loss"], ours["loss"]) / ours["loss_uniform"])  # of O - Y
        unknown = size / max(left, ROUNDING)
    if name == "logit_step":
        unknown += ours["logit_std"]
    elif name in ("moved", "entropy_mean"):
        unknown = 1
    room = size + ROUNDING * unknown / TOLERANCE[name]
    return abs(row[name] - ours[name]) / room if room else 0


def distance(row, ours):
    """The largest difference of two rows in units of its tolerance, and its column."""
    if row is None or ours is None:
        return (0 if row is ours else math.inf), "loss"
    return max((difference(name, row, ours) / TOLERANCE[name], name) for name in TOLERANCE)


def off(far):
    share, name = far
    return f"{name} off by {share * TOLERANCE[name]:.1g}" if share < math.inf else "finite in one"


def ratio(row):
    return f"{row['loss'] / row['loss_uniform']:.3g}" if row else "not finite"


def verify(recipe, rows, meta):
    """Repeats one run and prints its line. Its verdict, the step it parts at, how far it is off."""
    teacher = Teacher(recipe, meta)
    student, twin = Student(recipe, teacher), Student(recipe, teacher, twin=True)
    far = twin_far = (0, "loss")
    verdict, parted = "agrees", None
    for step in range(meta["steps"]):
        batch = (*teacher.next_batch(), is_logged(step, meta))
        ours, others = student.learn(step, *batch), twin.learn(step, *batch)
        if is_logged(step, meta) and verdict == "agrees":
            far = max(far, distance(rows.get(step), ours))
            twin_far = max(twin_far, distance(others, ours))
            if far[0] > 1:
                verdict = "parts" if twin_far[0] >= min(far[0], APART) / FACTOR else "DIFFERENT"
                parted = step
    text = f"agrees within {far[0] * TOLERANCE[far[1]]:.1g} ({far[1]})"
    if verdict != "agrees":
        text = f"{verdict} at step {parted}, {off(far)}, the twin {off(twin_far)}"
    ends = f"final ratio {ratio(rows.get(step))}, PyTorch's {ratio(ours)}"
    print(f"{recipe.name}: {text}; {ends}", flush=True)
    return verdict, parted, far


def summary(results):
    agree = [far for verdict, _, far in results if verdict == "agrees"]
    parts = [step for verdict, step, _ in results if verdict == "parts"]
    within = f" within {max(s * TOLERANCE[name] for s, name in agree):.1g}" if agree else ""
    first = f" (rounding amplified), first at step {min(parts)}" if parts else ""
    return (f"{len(results)} run{'s' * (len(results) != 1)}: {len(agree)} agree to the end{within}, "
            f"{len(parts)} part as PyTorch's own twin does{first}; "
            f"{len(results) - len(agree) - len(parts)} DIFFERENT")


def fail(status, message):
    print(f"verify_torch: {message}", file=sys.stderr)
    return status


def main():
    parser = argparse.ArgumentParser(description="Repeats the runs of a stall log in PyTorch.")
    parser.add_argument("log", help="results/stall.csv, with stall.meta beside it")
    parser.add_argument("--most-runs", type=int, metavar="N", help="N runs, evenly from the log")
    args = parser.parse_args()
    if args.most_runs is not None and args.most_runs < 1:
        parser.error("--most-runs: at least 1")
    if torch is None:
        return fail(1, "PyTorch is needed (Debian: python3-torch)")
    try:
        meta = read_meta(os.path.splitext(args.log)[0] + ".meta")
        runs = read_runs(args.log, meta)
        count = min(args.most_runs or len(runs), len(runs))
        results = [verify(*runs[i * len(runs) // count], meta) for i in range(count)]
    except OSError as error:
        return fail(2, f"{error.filename or 'output'}: {error.strerror}")
    except (ValueError, RuntimeError, csv.Error) as error:  # RuntimeError: no memory
        return fail(2, f"{args.log}: {str(error).splitlines()[0]}")
    print(summary(results))
    return 1 if any(verdict == "DIFFERENT" for verdict, *_ in results) else 0


if __name__ == "__main__":
    sys.exit(main())
