# The polynomial of ExpMinus in src/core/sums/simd.cpp: coefficients of c(r) in
# exp(r) = 1 + r + r^2 c(r), |r| <= ln(2)/2, by interpolation at the Chebyshev nodes, rounded to
# single precision; the largest relative error, on a grid; and ln 2 in two parts.
#
#   python3 test/golden/exp_coefficients.py        (needs mpmath; made with Python 3.11)
import struct

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
