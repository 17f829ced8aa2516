#!/usr/bin/env python3
"""Is attention here fast, or only faster than it was? The same shapes in PyTorch, which takes its
products from a BLAS: build/bench and PyTorch in turn, forward and backward, float64, one thread.

    [PYTHON=/path/of/python3] scripts/bench_peers.py [PROGRAM]

PROGRAM is build/bench unless given, PYTHON whose torch is used /usr/bin/python3. The table's times
are medians over the turns, CPU time of one forward and backward.

Two things beside PyTorch itself decide how it fares. Where a tape keeps its memory, it gives large
results back to the system, and may pay more for fresh pages than for all arithmetic; so it runs as
it is and, "kept", with a C library (glibc) that is told to keep memory, which is the one to judge
arithmetic by. And one BLAS is ten times as fast as another, so what it has loaded is named, with a
warning if that is the reference BLAS.

Exit status: 0, or 1 with one line if PyTorch or PROGRAM is missing or fails.
"""
import csv
import json
import math
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time

TURNS = 3
RUNS = 9
SHORTEST = 5e-3  # seconds of a run, as in tests/bench/bench.c
CHILD = "--torch"  # the argument that makes this file PyTorch's side
KEEP = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": str(2**40)}  # of glibc


# ---- PyTorch's side ----------------------------------------------------------------------------


def measure(call):
    """Seconds of a call, as bench.c measures them."""

    def time_calls(calls):
        start = time.process_time()
        for _ in range(calls):
            call()
        return time.process_time() - start

    call()
    calls = 1
    while time_calls(calls) < SHORTEST:
        calls *= 2
    return statistics.median(time_calls(calls) / calls for _ in range(RUNS))


def loaded_blas():
    """Files of this process that are a BLAS by their names; links are followed."""
    try:
        with open("/proc/self/maps", encoding="utf-8") as maps:
            paths = {line.split(None, 5)[5].strip() for line in maps if line.count("/")}
    except OSError:
        return None
    pattern = re.compile(r"(blas|mkl|blis|atlas).*\.so", re.IGNORECASE)
    return sorted(path for path in paths if pattern.search(os.path.basename(path)))


def torch_side(names):
    try:
        import torch
    except ImportError:
        sys.exit(f"bench_peers: {sys.executable} has no torch; PYTHON names another")
    torch.set_num_threads(1)
    torch.manual_seed(1)
    seconds = {}
    for name in names:
        shape = [int(size) for size in name.split("x")]
        q, k, v = (torch.randn(shape, dtype=torch.float64, requires_grad=True) for _ in range(3))
        cotangent = torch.randn(shape, dtype=torch.float64)
        scale = math.sqrt(shape[2])

        def attend():
            weights = torch.softmax(q @ k.transpose(-2, -1) / scale, -1)
            (weights @ v).backward(cotangent)

        seconds[name] = measure(attend)
    build = re.search(r"BLAS_INFO=\w+", torch.__config__.show())
    mkl = re.search(r"MKL not found|Math Kernel Library.*", torch.__config__.parallel_info())
    said = [found.group() for found in (build, mkl) if found]
    json.dump({"seconds": seconds, "version": torch.__version__, "build": said,
               "threads": torch.get_num_threads(), "blas": loaded_blas()}, sys.stdout)


# ---- Both, in turn -----------------------------------------------------------------------------


def run(command, env):
    try:
        done = subprocess.run(command, env=env, stdout=subprocess.PIPE, text=True, check=False)
    except OSError as error:
        sys.exit(f"bench_peers: {command[0]}: {error.strerror}")
    if done.returncode != 0:
        sys.exit(1 if done.returncode > 0 else f"bench_peers: {command[0]} was killed")
    return done.stdout


def our_side(program, folder):
    """Seconds by shape, and the kernel."""
    path = os.path.join(folder, "bench.csv")
    run([program, "--csv", path], None)
    with open(path, encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["group"] == "attention"]
    return {row["name"]: float(row["seconds_median"]) for row in rows}, rows[0]["kernel"]


def say_blas(report):
    print(f"PyTorch {report['version']}, {report['threads']} thread; "
          + "; ".join(report["build"]) + ".")
    blas = report["blas"]
    if blas is None:
        print("Which BLAS it has loaded cannot be seen on this system.")
        return
    print("It has loaded: " + (", ".join(blas) or "no BLAS of its own file") + ".")
    # Others install themselves as libblas too, in a folder of their name, and may be loaded beside
    # the reference BLAS for the sake of another library.
    known = re.compile(r"openblas|mkl|blis|atlas", re.IGNORECASE)
    reference = [path for path in blas
                 if os.path.basename(path).startswith("libblas.") and not known.search(path)]
    if reference:
        print(f"WARNING: {reference[0]} is the reference BLAS, which is not made for speed; with\n"
              "OpenBLAS or MKL PyTorch's times would be others.")


def main():
    program = sys.argv[1] if len(sys.argv) > 1 else "build/bench"
    python = os.environ.get("PYTHON") or "/usr/bin/python3"
    # One thread of whatever BLAS, and the code it would choose for this processor by itself.
    env = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1",
           "MKL_NUM_THREADS": "1"}
    env.pop("OPENBLAS_CORETYPE", None)
    run([python, __file__, CHILD], env)  # is there a torch? Before anything takes its time
    ours, plain, kept = [], [], []
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(TURNS):
            seconds, kernel = our_side(program, folder)
            ours.append(seconds)
            for turns, more in ((plain, {}), (kept, KEEP)):
                report = json.loads(run([python, __file__, CHILD, *seconds], {**env, **more}))
                turns.append(report["seconds"])
    print(f"Attention forward and backward, microseconds, medians of {TURNS} turns; kernel {kernel}")
    print(f"{'B x T x d':<12} {'ours':>11} {'PyTorch':>11} {'ratio':>7} {'kept':>11} {'ratio':>7}")
    for name in ours[0]:
        own, other, keeping = (statistics.median(turn[name] for turn in turns)
                              for turns in (ours, plain, kept))
        print(f"{name:<12} {1e6 * own:11.1f} {1e6 * other:11.1f} {other / own:7.2f} "
              f"{1e6 * keeping:11.1f} {keeping / own:7.2f}")
    print("Ratios are PyTorch's time over ours.")
    say_blas(report)


if __name__ == "__main__":
    if sys.argv[1:2] == [CHILD]:
        torch_side(sys.argv[2:])
    else:
        main()
