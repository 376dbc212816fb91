# The polynomials of src/core/joint/normal_tail-inl.h, by interpolation at the Chebyshev nodes and rounded
# to single precision, with their largest errors on a grid: of Mills's ratio Phi(-x) exp(x^2/2) =
# t q(t), t = 1/(1 + 0.3 x), for 0 <= x <= 9, relative; and of x = w - r(v), w = sqrt(-2 ln Phi(-x)),
# v = 1/(1 + 0.4 w), from Phi(-x) = 1/2 to exp(-9.3^2/2), absolute.
#
#   python3 test/golden/normal_tail_coefficients.py        (needs mpmath; made with Python 3.11)
import struct

from mpmath import cos, erfc, exp, findroot, linspace, log, lu_solve, matrix, mp, mpf, nstr, pi, sqrt

mp.dps = 30


def single(v):
    return struct.unpack("f", struct.pack("f", float(v)))[0]


def interpolate(f, low, high, count):
    system = matrix(count, count)
    values = matrix(count, 1)
    for i in range(count):
        t = (low + high) / 2 + (high - low) / 2 * cos(pi * (2 * i + 1) / (2 * count))
        values[i] = f(t)
        for j in range(count):
            system[i, j] = t**j
    return [single(c) for c in lu_solve(system, values)]


def value(coefficients, t):
    return sum(mpf(c) * t**j for j, c in enumerate(coefficients))


def mills(x):
    return erfc(x / sqrt(2)) / 2 * exp(x * x / 2)


def quantile(w):
    p = exp(-w * w / 2)
    start = w - 1 / w if w > 1.5 else w - mpf("1.17")
    return findroot(lambda z: log(erfc(z / sqrt(2)) / 2) - log(p), start)


A = mpf(3) / 10
q = interpolate(lambda t: mills((1 / t - 1) / A) / t, 1 / (1 + 9 * A), mpf(1), 8)
print("q, constant term first:", q)
grid = linspace(1 / (1 + 9 * A), 1, 2001)
print(
    "largest relative error:",
    nstr(max(abs(t * value(q, t) / mills((1 / t - 1) / A) - 1) for t in grid), 3),
)

B = mpf(2) / 5
LOW, HIGH = 1 / (1 + B * mpf("9.3")), 1 / (1 + B * sqrt(2 * log(2)))
r = interpolate(lambda v: (1 / v - 1) / B - quantile((1 / v - 1) / B), LOW, HIGH, 7)
print("r, constant term first:", r)
print(
    "largest absolute error:",
    nstr(
        max(
            abs(value(r, v) - ((1 / v - 1) / B - quantile((1 / v - 1) / B)))
            for v in linspace(LOW, HIGH, 301)
        ),
        3,
    ),
)
