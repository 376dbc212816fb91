# The polynomial of ExpMinus in src/core/sums/simd.cpp: coefficients of c(r) in
# exp(r) = 1 + r + r^2 c(r), |r| <= ln(2)/2, by interpolation at the Chebyshev nodes, rounded to
# single precision; the largest relative error, on a grid; and ln 2 in two parts.
#
# Then that of Exp2Minus in src/core/sums/exp2_minus-inl.h: coefficients of c(r) in 2^-r =
# 1 + r c(r), |r| <= 1/2. In double likewise. In single precision by least squares of the relative
# error at Chebyshev nodes and of its means, and then the neighbour in single precision with the
# least of these: the largest relative error, sixty times the largest mean. The means are those
# of e = 2^-t and of e^2, weighted by themselves, for t with a density like t^m.
#
#   python3 test/golden/exp_coefficients.py        (needs mpmath, numpy; made with Python 3.11)
import itertools
import struct

import numpy as np
from mpmath import cos, exp, linspace, log, lu_solve, matrix, mp, mpf, nstr, pi

mp.dps = 40
NODES = 5
LIMIT = log(2) / 2 * mpf("1.0001")


def single(v):
    return struct.unpack("f", struct.pack("f", float(v)))[0]


def target(r):
    return (exp(r) - 1 - r) / r**2 if abs(r) > mpf("1e-9") else mpf(1) / 2 + r / 6


nodes = [LIMIT * cos(pi * (2 * k + 1) / (2 * NODES)) for k in range(NODES)]
system = matrix(NODES, NODES)
values = matrix(NODES, 1)
for i, node in enumerate(nodes):
    values[i] = target(node)
    for j in range(NODES):
        system[i, j] = node**j
coefficients = [single(c) for c in lu_solve(system, values)]
print("c, constant term first:", coefficients)


def error(r):
    c = sum(mpf(v) * r**j for j, v in enumerate(coefficients))
    return abs((1 + r + r * r * c) / exp(r) - 1)


print("largest relative error:", nstr(max(error(r) for r in linspace(-LIMIT, LIMIT, 4001)), 3))
high = single(mpf(int(log(2) * 2**15)) / 2**15)
print("ln 2 in two parts:", high, single(log(2) - mpf(high)))


def base_two(count):
    limit = mpf(1) / 2
    at = [limit * cos(pi * (2 * k + 1) / (2 * count)) for k in range(count)]
    system = matrix(count, count)
    wanted = matrix(count, 1)
    for i, r in enumerate(at):
        wanted[i] = (mpf(2) ** -r - 1) / r if abs(r) > mpf("1e-30") else -log(2)
        for j in range(count):
            system[i, j] = r**j
    c = [float(v) for v in lu_solve(system, wanted)]
    errors = [
        (1 + r * sum(mpf(v) * r**j for j, v in enumerate(c))) * mpf(2) ** r - 1
        for r in linspace(-limit, limit, 4001)
    ]
    print("base 2, double, r's first:", c)
    print("largest relative error:", nstr(max(abs(v) for v in errors), 3))


# A relative error is errors_of(r) @ (c, 1): linear in the coefficients.
def errors_of(r):
    return np.stack([r ** (j + 1) * 2.0**r for j in range(5)] + [2.0**r - 1], axis=-1)


# The mean relative error of e^power over pairs whose t has a density like t^m; t = u^2.
def mean_of(m, power):
    u = np.linspace(0, np.sqrt(60), 2000001)
    weights = 2.0 ** (-power * u * u) * u ** (2 * m + 1)
    return power * (errors_of(u * u - np.rint(u * u)) * (weights / weights.sum())[:, None]).sum(0)


def base_two_in_single():
    fitted = np.stack([mean_of(m, power) for m in (-0.5, 0, 0.5, 1) for power in (1, 2)])
    means = np.concatenate([fitted, [mean_of(m, p) for m in (1.5, 3, 8) for p in (1, 2)]])
    at_nodes = errors_of(np.cos(np.pi * (np.arange(400) + 0.5) / 400) / 2)
    errors = errors_of(np.linspace(-0.5, 0.5, 401))
    found = []
    for weight in (0, 1e3, 1e4, 1e5, 1e6):
        rows = np.concatenate([at_nodes, np.sqrt(weight) * fitted])
        c = np.linalg.lstsq(rows[:, :5], -rows[:, 5], rcond=None)[0].astype(np.float32)
        ulp = np.spacing(np.abs(c)).astype(float)
        first = np.array(list(itertools.product(range(-4, 5), range(-6, 7), range(-16, 17))), float)
        for last in itertools.product(range(-40, 41, 4), range(-200, 201, 20)):
            near = c.astype(float) + np.hstack([first, np.tile(last, (len(first), 1))]) * ulp
            mean = np.abs(near @ means[:, :5].T + means[:, 5]).max(1)
            for i in np.argsort(mean)[:3]:
                largest = np.abs(errors[:, :5] @ near[i] + errors[:, 5]).max()
                found.append((max(60 * mean[i], largest), largest, mean[i], list(near[i])))
    _, largest, mean, c = min(found)
    print("base 2, single, r's first:", [float(v) for v in c])
    print("largest relative error: %.3g, mean: %.3g" % (largest, mean))


base_two(11)
base_two_in_single()
