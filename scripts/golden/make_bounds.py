#!/usr/bin/env python3
"""Writes tests/golden/bounds.txt: the error bounds of experiments/gradcheck/bounds.h for small heads,
from the formulas, written down anew as sums over plain lists, without bounds.c's sharing and scaling.

    python3 scripts/golden/make_bounds.py > tests/golden/bounds.txt

A case is a line "case FORMAT INPUT_UNIT RULE CAUSAL Tq Tk d_k d_v" and one line each for Q, K, V, dO
and B of dQ, dK, dV.
"""
import math
import random

# unit, underflow, sums in float32
FORMATS = {
    "bfloat16": (2.0**-8, 2.0**-134, True),
    "float16": (2.0**-11, 2.0**-25, True),
    "float32": (2.0**-24, 2.0**-150, False),
    "float64": (2.0**-53, 2.0**-1074, False),
}


def root(*terms):
    return math.hypot(*terms)


def coherent(errors, factors):
    return root(root(*(e * x for e, x in zip(errors, factors))),
                sum(e * x for e, x in zip(errors, factors)))


def norm(row):
    return root(*row)


def bounds(name, input_unit, rule, causal, q, k, v, g):
    u, eta, wide = FORMATS[name]
    cast = input_unit / u
    tq, tk, d, dv = len(q), len(k), len(q[0]), len(v[0])

    def c(n):
        return n * 2.0**-24 if wide else u * max(1, n / 16)

    def norm_error(row):
        size = norm(row)
        return root(c(d) / 2, 1.5 * u, eta / size, (d + 1) * eta / size**2 / 2)

    cosine = rule == "cosine"
    unit_q = [[x / norm(row) for x in row] for row in q] if cosine else q
    unit_k = [[x / norm(row) for x in row] for row in k] if cosine else k
    rounded_q = root(cast, cosine)  # how often, in u, as a root
    rho = 3 * u + c(tk)
    ds_errors, ds_values, p_errors, weights, shares = [], [], [], [], []
    b_dq = []
    for i in range(tq):
        sees = [j for j in range(tk) if not causal or j <= i]
        n = len(sees)
        inverse = 1 / sum(norm(k[j]) for j in sees)
        s = {"none": 1, "sqrt": 1 / math.sqrt(d), "log": 0.43 * math.log(n) / math.sqrt(d),
             "cosine": math.log2(tk * tk - tk), "keys": inverse}[rule]
        pair = [0.0] * tk
        if cosine:
            pair = [root(norm_error(q[i]), norm_error(k[j])) for j in range(tk)]
        if rule == "keys":
            pair = [root(max(map(norm_error, k)), c(tk))] * tk
        products = [[a * b for a, b in zip(unit_q[i], unit_k[j])] for j in range(tk)]
        z = [s * sum(p) for p in products]
        e_z = []
        for j in range(tk):
            size, spread = sum(map(abs, products[j])), root(*products[j])
            once = 0 if s == 1 else 1
            e_s = root(c(d) * size, u * sum(products[j]), once * u * spread, cast * u * spread,
                       cosine * math.sqrt(2) * u * spread)
            e_z.append(root(s * e_s, once * 2 * u * z[j], pair[j] * z[j],
                            eta * (1 + abs(s) * d)))
        most = max(z[j] for j in sees)
        w = [math.exp(z[j] - most) if j in sees else 0.0 for j in range(tk)]
        p = [x / sum(w) for x in w]
        a = [root(e_z[j], u * (most - z[j])) if j in sees else 0.0 for j in range(tk)]
        mean = sum(x * y for x, y in zip(p, a))
        a = [x * math.exp(min(600, x + mean)) for x in a]
        dp_terms = [[x * y for x, y in zip(g[i], v[j])] if j in sees else [0.0] for j in range(tk)]
        dp = [sum(t) for t in dp_terms]
        big_a = [sum(map(abs, t)) for t in dp_terms]
        e_dp = [root(c(dv) * big_a[j], u * dp[j], math.sqrt(2) * cast * u * root(*dp_terms[j]),
                     eta * (1 + dv)) for j in range(tk)]
        total = sum(x * y for x, y in zip(p, dp))
        out = [sum(p[j] * v[j][x] for j in range(tk)) for x in range(dv)]
        e_total = root(u * root(*(x * y for x, y in zip(p, big_a))),
                       math.sqrt(2) * u * root(*(x * y for x, y in zip(g[i], out))),
                       c(tk) * sum(x * y for x, y in zip(p, big_a)),
                       c(dv) * sum(x * y for x, y in zip(p, big_a)),
                       u * total, eta * (tk + dv + 1))
        round_p = [root(rho * x, eta) for x in p]
        e_p = [p[j] * root((1 - p[j]) * a[j], *(p[l] * a[l] for l in range(tk) if l != j))
               for j in range(tk)]
        e_row = root(root(*(r * x for r, x in zip(round_p, dp))),
                     root(*(x * e for x, e in zip(p, e_dp))), e_total, rho * total)
        dz = [p[j] * (dp[j] - total) for j in range(tk)]
        e_dz, e_ds = [0.0] * tk, [0.0] * tk
        for j in sees:
            by_logits = root(dz[j] * (1 - 2 * p[j]) * a[j],
                             *(dz[j] * p[l] * a[l] for l in range(tk) if l != j),
                             *(p[j] * dz[l] * a[l] for l in range(tk) if l != j))
            e_dz[j] = root(by_logits, round_p[j] * (dp[j] - total), p[j] * e_dp[j], p[j] * e_row,
                           2 * u * dz[j], eta) + (round_p[j] + e_p[j]) * (e_dp[j] + e_row)
            e_ds[j] = root(s * e_dz[j], 2 * u * s * dz[j], pair[j] * s * dz[j], eta)
        r = sum(x * y for x, y in zip(dz, z))
        e_over = [e / abs(s) if s else 0.0 for e in e_ds]
        e_r = root(*(e * x for e, x in zip(e_over, z)), *(x * y for x, y in zip(dz, a)),
                   *(u * x * y for x, y in zip(dz, z)), sum(e * x for e, x in zip(e_over, z)),
                   sum(x * y for x, y in zip(dz, a)), 2 * u * r,
                   c(tk) * sum(abs(x * y) for x, y in zip(dz, z)))
        shares.append((r, e_r, inverse))
        ds = [s * x for x in dz]
        row, values = [], []
        for x in range(d):
            column = [unit_k[j][x] for j in range(tk)]
            terms = [ds[j] * column[j] for j in range(tk)]
            values.append(sum(terms))
            row.append(root(coherent(e_ds, column), c(tk) * sum(map(abs, terms)), u * sum(terms),
                            rounded_q * u * root(*terms)))
        if cosine:
            row = through_norm(q[i], row, values, norm_error(q[i]), c(d), u, eta)
        b_dq.append([root(x, eta * (tk + 1)) for x in row])
        ds_errors.append(e_ds)
        ds_values.append(ds)
        p_errors.append([root(e_p[j], rho * p[j], eta) if j in sees else 0.0 for j in range(tk)])
        weights.append(p)
    b_dk, b_dv = [], []
    for j in range(tk):
        seeing = [i for i in range(tq) if not causal or j <= i]
        row, values = [], []
        for x in range(d):
            column = [unit_q[i][x] for i in range(tq)]
            terms = [ds_values[i][j] * column[i] for i in range(tq)]
            values.append(sum(terms))
            row.append(root(coherent([e[j] for e in ds_errors], column),
                            c(tq) * sum(map(abs, terms)), u * sum(terms),
                            root(max(1, cast), cosine) * u * root(*terms)))
        if cosine:
            row = through_norm(k[j], row, values, norm_error(k[j]), c(d), u, eta)
        if rule == "keys":
            terms = [shares[i][0] * shares[i][2] for i in seeing]
            error = root(coherent([shares[i][1] for i in seeing], [shares[i][2] for i in seeing]),
                         c(tq) * sum(map(abs, terms)), u * sum(terms),
                         math.sqrt(2) * norm_error(k[j]) * sum(terms), 3 * u * sum(terms))
            row = [root(row[x], k[j][x] / norm(k[j]) * error) for x in range(d)]
        b_dk.append([root(x, eta * (tq + 1)) for x in row])
        row = []
        for x in range(dv):
            column = [g[i][x] for i in range(tq)]
            terms = [weights[i][j] * column[i] for i in range(tq)]
            row.append(root(coherent([e[j] for e in p_errors], column),
                            c(tq) * sum(map(abs, terms)), u * sum(terms), cast * u * root(*terms),
                            eta * (tq + 1)))
        b_dv.append(row)
    return b_dq, b_dk, b_dv


def through_norm(x, row, values, error, c_d, u, eta):
    size = norm(x)
    unit = [y / size for y in x]
    along = sum(a * b for a, b in zip(unit, values))
    terms = sum(abs(a * b) for a, b in zip(unit, values))
    return [root(root(b, y * root(*row), y * c_d * terms, root(2 * u, error) * y * along,
                      root(2 * u, error) * value, u * (value - y * along)) / size, eta)
            for b, y, value in zip(row, unit, values)]


def show(matrix):
    print(*[x.hex() for row in matrix for x in row])


draw = random.Random(2017)
for name in FORMATS:
    for rule in ("none", "sqrt", "log", "cosine", "keys"):
        for causal in (0, 1):
            tq, tk, d, dv = 3, 20 if rule == "sqrt" and not causal else 4, 2, 3
            if causal:
                tq = tk

            def matrix(rows, cols):
                return [[draw.gauss(0, 1) for _ in range(cols)] for _ in range(rows)]

            q, k, v, g = matrix(tq, d), matrix(tk, d), matrix(tk, dv), matrix(tq, dv)
            input_unit = draw.choice((0, FORMATS[name][0], 3 * FORMATS[name][0]))
            print("case", name, float(input_unit).hex(), rule, causal, tq, tk, d, dv)
            for m in (q, k, v, g, *bounds(name, input_unit, rule, causal, q, k, v, g)):
                show(m)
