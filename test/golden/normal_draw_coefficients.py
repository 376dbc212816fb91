# The polynomials of src/core/joint/normal_draw-inl.h, by interpolation at the Chebyshev nodes and rounded to
# single precision, with their largest absolute errors on a grid:
#
#   Phi(x) - 1/2 = x c(2 x^2/25 - 1),  |x| <= 5, scaled to be 1/2 at the end
#   Phi^-1(1/2 + y) = y g(w),  w = -ln(1 - 4 y^2):  g of 3 - w for w <= 6, of sqrt(w) - 3 above
#   ln(1 + f) = f l(f),  -1/3 <= f <= 1/3
#
#   python3 test/golden/normal_draw_coefficients.py        (needs mpmath; made with Python 3.11)
import struct

from mpmath import cos, erf, erfinv, exp, linspace, log, lu_solve, matrix, mp, mpf, nstr, pi, sqrt

mp.dps = 30


def single(v):
    return struct.unpack("f", struct.pack("f", float(v)))[0]


def interpolate(f, low, high, count, shift):
    system = matrix(count, count)
    values = matrix(count, 1)
    for i in range(count):
        t = (low + high) / 2 + (high - low) / 2 * cos(pi * (2 * i + 1) / (2 * count))
        values[i] = f(t)
        for j in range(count):
            system[i, j] = (t - shift) ** j
    return [c for c in lu_solve(system, values)]


def value(coefficients, t):
    return sum(mpf(c) * t**j for j, c in enumerate(coefficients))


def show(name, coefficients, errors):
    print(name, ", ".join(repr(c) + "F" for c in coefficients), "| largest error", nstr(max(errors), 3))


def half(x):
    return erf(x / sqrt(2)) / 2


def ratio(s):
    q = (s + 1) * 25 / 2
    return half(sqrt(q)) / sqrt(q) if q > 0 else 1 / sqrt(2 * pi)


END = 5
c = interpolate(ratio, mpf(-1), mpf(1), 13, 0)
scale = mpf("0.5") / (END * value(c, mpf(1)))
c = [single(v * scale) for v in c]
show("c:", c, [abs(x * value(c, 2 * x * x / 25 - 1) - half(x)) for x in linspace(0, END, 2001)])


# y of w, and g there.
def centre(w):
    return sqrt(1 - exp(-w)) / 2


def g(w):
    y = centre(w)
    return sqrt(2) * erfinv(2 * y) / y if y > 0 else sqrt(2 * pi)


near = [single(v) for v in interpolate(lambda t: g(3 - t), mpf(-3), mpf(3), 7, 0)]
show("near:", near, [abs(centre(w) * (value(near, 3 - w) - g(w))) for w in linspace(mpf("1e-6"), 6, 601)])
far = [single(v) for v in interpolate(lambda r: g(r * r), sqrt(mpf(6)), mpf(4), 6, 3)]
show("far:", far, [abs(value(far, r - 3) - g(r * r)) / 2 for r in linspace(sqrt(mpf(6)), 4, 601)])

third = mpf(1) / 3
ln = [single(v) for v in interpolate(lambda f: log(1 + f) / f, -third, third, 6, 0)]
show("l:", ln, [abs(f * value(ln, f) - log(1 + f)) for f in linspace(-third, third, 600)])
