# The constants c_r in the error bound of src/core/sums/spectral.h:
#   c_r^2 = integral of z^r exp(-z^2/2) a(z)^2 dz/(2 pi),  theta = z/12,
#   a(z) = sum over m != 0 of |theta/(theta + 2 pi m)|^10
# Python 3, no packages. Prints them, by the trapezoidal rule (which converges faster than any power
# of the step for a smooth integrand that vanishes at the ends).
from math import exp, pi, sqrt

ORDER, NODES, STEP = 10, 12, 0.001


def alias(z):
    theta = z / NODES
    return sum(abs(theta / (theta + 2 * pi * m)) ** ORDER for m in range(-20, 21) if m)


for r in range(0, 11, 2):
    z = [i * STEP for i in range(-14000, 14001)]
    print(r, sqrt(sum(STEP * v**r * exp(-v * v / 2) * alias(v) ** 2 for v in z) / (2 * pi)))
