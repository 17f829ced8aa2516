#!/usr/bin/env python3
"""What src/elementary.c and its test need in high precision, by Python's own decimal arithmetic.

    python3 scripts/golden/make_elementary.py tables    the three tables of src/elementary.c
    python3 scripts/golden/make_elementary.py rows      the rows of log1p and expm1, which stand at
                                                        the end of tests/golden/elementary.csv

A row is the function, an argument, the correctly rounded value and what is left of the true value,
in units of the rounded value's last place.
"""
import random
import sys
from decimal import Decimal, getcontext
from fractions import Fraction
from math import frexp, ldexp

getcontext().prec = 60
LAST = -1074  # the exponent of the smallest positive double


def nearest(value, unit):
    """The multiple of 2^unit nearest to a Decimal, as a double (exact for what is asked here)."""
    return ldexp(round(Fraction(value) / Fraction(2) ** unit), unit)


def leading(value, bits):
    """The nearest double of so many significant bits."""
    return nearest(value, frexp(float(value))[1] - bits) if value else 0.0


def short(x):
    """A hexadecimal literal without idle zeros."""
    if x == int(x) and abs(x) < 2:
        return str(int(x))
    digits, exponent = x.hex().split("p")
    return digits.rstrip("0").rstrip(".") + "p" + exponent


def split(value, high, bits):
    """A value as the given double and so many bits of what it leaves."""
    return [short(high), short(leading(value - Decimal(high), bits))]


def sine(angle):
    """sin of a Decimal in [0, 2] by its series."""
    total, term = Decimal(0), angle
    for n in range(1, 60, 2):
        total += term
        term = -term * angle * angle / ((n + 1) * (n + 2))
    return total


def pi():
    """By Machin's formula: 16 arctan(1/5) - 4 arctan(1/239)."""

    def arctan_of_one_over(n):
        terms = (Decimal((-1) ** k) / ((2 * k + 1) * Decimal(n) ** (2 * k + 1)) for k in range(50))
        return sum(terms)

    return 16 * arctan_of_one_over(5) - 4 * arctan_of_one_over(239)


def show(name, rows):
    print(name)
    for row in rows:
        print("    {" + ", ".join(row) + "},")


def tables():
    rows = []
    for j in range(128):
        c = round(256 / (1 + (j + 0.5) / 128)) / 256 if j else 1.0
        minus_log = -Decimal(c).ln()
        rows.append([short(c)] + split(minus_log, nearest(minus_log, -42), 30))
    show("LOGS", rows)
    rows = []
    for j in range(64):
        power = (Decimal(2).ln() * j / 64).exp()
        rows.append(split(power, leading(power, 53), 30))
    show("POWERS", rows)
    rows = []
    for j in range(33):
        value = sine(pi() * j / 64)
        rows.append(split(value, leading(value, 26), 40))
    show("SINES", rows)


def log1p(x):
    if abs(x) < Decimal("1e-25"):
        return x - x * x / 2 + x * x * x / 3
    getcontext().prec = 120
    y = (1 + x).ln()
    getcontext().prec = 60
    return +y


def expm1(x):
    if abs(x) < Decimal("1e-25"):
        return x + x * x / 2 + x * x * x / 6
    getcontext().prec = 120
    y = x.exp() - 1
    getcontext().prec = 60
    return +y


def row(name, function, x):
    true = function(Decimal(x))
    y = float(true)
    unit = Decimal(ldexp(1.0, max(frexp(y)[1] - 53, LAST)))
    rest = (true - Decimal(y)) / unit
    print(f"{name},{x.hex()},{y.hex()},{rest:.9f}")


def rows():
    draw = random.Random(1971)
    for _ in range(200):
        row("log1p", log1p, draw.uniform(-1, 1))
        row("log1p", log1p, draw.choice((-1, 1)) * 2.0 ** draw.uniform(-70, 0))
        row("log1p", log1p, 2.0 ** draw.uniform(-1074, 1024))
        row("expm1", expm1, draw.uniform(-1, 1))
        row("expm1", expm1, draw.choice((-1, 1)) * 2.0 ** draw.uniform(-1074, 0))
        row("expm1", expm1, draw.uniform(-40, 709.7))
    for name, function in (("log1p", log1p), ("expm1", expm1)):
        for power in range(40, 60):
            for x in (2.0**-power, -(2.0**-power), 3 * 2.0**-power):
                row(name, function, x)
    for x in (-1 + 2.0**-53, -1 + 2.0**-52, 2.0**-1074, sys.float_info.max):
        row("log1p", log1p, x)
    for x in (0.125, -0.125, -37.0, -37.5, 45.0, 2.0**-1074, 709.782712893384):
        row("expm1", expm1, x)


if sys.argv[1:] == ["tables"]:
    tables()
elif sys.argv[1:] == ["rows"]:
    rows()
else:
    sys.exit(__doc__)
