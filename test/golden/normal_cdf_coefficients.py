# The rational function of HalfNormal in src/core/joint/normal-inl.h: Phi(x) - 1/2 = x P(x^2)/Q(x^2),
# |x| <= 6, P of degree 7 and Q of degree 8, by interpolation in x at the positive Chebyshev nodes,
# rounded to double precision; the largest absolute error, on a grid, and what is left at 6.
#
#   python3 test/golden/normal_cdf_coefficients.py        (needs mpmath; made with Python 3.11)
from mpmath import cos, erf, erfc, linspace, lu_solve, matrix, mp, mpf, nstr, pi, sqrt

mp.dps = 50
LIMIT = mpf("6")
P, Q = 7, 8


def target(x):
    return erf(x / sqrt(2)) / 2


count = P + Q + 1
system = matrix(count, count)
values = matrix(count, 1)
for i in range(count):
    x = LIMIT * cos(pi * (2 * i + 1) / (4 * count))
    values[i] = target(x) / x
    for j in range(P + 1):
        system[i, j] = x ** (2 * j)
    for j in range(1, Q + 1):
        system[i, P + j] = -values[i] * x ** (2 * j)
solution = lu_solve(system, values)
p = [float(v) for v in solution[: P + 1]]
q = [1.0] + [float(v) for v in solution[P + 1 :]]
print("P, constant term first:", p)
print("Q, constant term first:", q)


def error(x):
    top = sum(mpf(v) * x ** (2 * j) for j, v in enumerate(p))
    bottom = sum(mpf(v) * x ** (2 * j) for j, v in enumerate(q))
    return abs(x * top / bottom - target(x))


print("largest absolute error:", nstr(max(error(x) for x in linspace(0, LIMIT, 4001)), 3))
print("1 - Phi(6):", nstr(erfc(LIMIT / sqrt(2)) / 2, 3))
