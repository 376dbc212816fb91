# The polynomial of ExpMinus in src/core/sums/simd.cpp: coefficients of c(r) in
# exp(r) = 1 + r + r^2 c(r), |r| <= ln(2)/2, by interpolation at the Chebyshev nodes, rounded to
# single precision; the largest relative error, on a grid; and ln 2 in two parts.
#
# Then that of Exp2Minus in src/core/sums/exp2_minus-inl.h: coefficients of c(r) in 2^-r =
# 1 + r c(r), |r| <= 1/2, likewise, rounded to single and to double precision; the largest relative
# error, and its mean over r.
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


def base_two(count, rounded):
    limit = mpf(1) / 2
    at = [limit * cos(pi * (2 * k + 1) / (2 * count)) for k in range(count)]
    matrix_ = matrix(count, count)
    wanted = matrix(count, 1)
    for i, r in enumerate(at):
        wanted[i] = (mpf(2) ** -r - 1) / r if abs(r) > mpf("1e-30") else -log(2)
        for j in range(count):
            matrix_[i, j] = r**j
    c = [rounded(v) for v in lu_solve(matrix_, wanted)]
    errors = [
        (1 + r * sum(mpf(v) * r**j for j, v in enumerate(c))) * mpf(2) ** r - 1
        for r in linspace(-limit, limit, 4001)
    ]
    print("base 2, r's first:", c)
    print("largest relative error:", nstr(max(abs(v) for v in errors), 3))
    print("mean relative error:", nstr(sum(errors) / len(errors), 3))


base_two(5, single)
base_two(11, float)
