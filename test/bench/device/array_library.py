#!/usr/bin/env python3
"""The selectors' sums by a compiling array library, beside device_bench on the same card in one run.

    make cuda-compare

needs a card and PyTorch with Triton. Nothing else in the project needs Python.

Two ways, as their users would write them; of each the quickest variant counts:
  Triton         tiled loops over the pairs, blocks chosen by triton.autotune
  torch.compile  the plain expression
Both are captured as CUDA graphs, so that no launch waits for Python. Terms are in float32, sums of
many of them in float64.

Formulas, samples and arguments are device_bench's (main.cpp); errors too, against float64 computed
here: of PLUGIN relative to h, of LSCV_h and LSCV_H the value's relative to its moduli (lscv_value.h),
of the gradient also its matrix relative to its largest element, of densities relative to the greatest.
Times are medians, warm, by the host's clock, from float64 in ordinary host memory to the result
there; "on the card" from points that are there already.

Sizes are powers of two, multiples of every block: no kernel here has bounds to check.
"""
import argparse
import json
import math
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np
import torch
import triton
import triton.language as tl

RUNS = 41
WARM_MS = 50
LOG2_E = 1 / math.log(2)
CARD = "cuda"
PRECISIONS = "tf32x3", "bf16x6", "ieee"  # of tl.dot

# --- samples -------------------------------------------------------------------------------------


def mix(n, d):
    """samples::mix of test/unit/samples.h: n x d, float64."""
    modulus, count = 2**31 - 1, n * (1 + 2 * d)
    s = np.empty(count, np.int64)
    s[0], have, power = 16807 * 42 % modulus, 1, 16807
    while have < count:  # s[have + k] = 16807^have s[k]
        more = min(have, count - have)
        s[have:have + more] = s[:more] * power % modulus
        have, power = have + more, power * power % modulus
    u = (s / modulus).reshape(n, 1 + 2 * d)
    z = np.sqrt(-2 * np.log(u[:, 1::2])) * np.cos(2 * np.pi * u[:, 2::2])
    shift = np.zeros(d)
    shift[0] = 3
    x = np.where(u[:, :1] < 0.6, z, z / 2 + shift)
    for k in range(1, d):
        x[:, k] += x[:, k - 1] / 2
    return x


def white(x):
    """x centred and whitened by the Cholesky factor of its covariance."""
    x = x - x.mean(0)
    return np.linalg.solve(np.linalg.cholesky(x.T @ x / (len(x) - 1)), x.T).T.copy()


def normal_reference(n, d):
    return (4 / ((d + 2) * n))**(1 / (d + 4))


def lscv_value(n, d, once, twice):
    """The criterion times det(H)^(1/2), and its moduli."""
    c4, c2 = (4 * math.pi)**(-d / 2), (2 * math.pi)**(-d / 2)
    first, second = c4 / n + 2 * c4 * once / n**2, 4 * c2 * twice / n**2
    return first - second, first + second


def plugin(n, sd, derivative):
    """h by src/core/select/plugin.cpp; derivative(r, g) = sum_{i<j} He_r(z) exp(-z^2/2)."""
    root = math.sqrt(2 * math.pi)
    psi8 = 105 / (32 * math.sqrt(math.pi) * sd**9)
    g1 = (30 / (root * psi8 * n))**(1 / 9)
    psi6 = (2 * derivative(6, g1) - 15 * n) / (root * n**2 * g1**7)
    g2 = (-6 / (root * psi6 * n))**(1 / 7)
    psi4 = (2 * derivative(4, g2) + 3 * n) / (root * n**2 * g2**5)
    return (1 / (2 * math.sqrt(math.pi) * psi4 * n))**(1 / 5)


# --- the same in float64 -------------------------------------------------------------------------


def exactly(x):
    return torch.as_tensor(x, dtype=torch.float64, device=CARD)


def squares(a, b):
    """|a_i - b_j|^2 without the cancellation of the Gram form."""
    return sum((a[:, k, None] - b[None, :, k])**2 for k in range(a.shape[1]))


def exact_derivative(x, r, g):
    x, total = exactly(x[:, 0] / g), 0.0
    for rows in x.split(1024):
        q = (rows[:, None] - x[None, :])**2
        he = ((q - 15) * q + 45) * q - 15 if r == 6 else (q - 6) * q + 3
        total += float((he * torch.exp(-q / 2)).sum())
    return (total - len(x) * (-15 if r == 6 else 3)) / 2


def exact_sweep(w, h):
    s = squares(exactly(w), exactly(w))
    sums = []
    for one in h:
        e = torch.exp(-s / (4 * one**2))
        sums.append([(float(e.sum()) - len(w)) / 2, (float((e * e).sum()) - len(w)) / 2])
    return np.array(sums)


def exact_value(w, a):
    """sum e, sum e^2, sum (-e/2 + 2 e^2) y y' over pairs."""
    y = exactly(w) @ exactly(a).T
    d = y.shape[1]
    sums, matrix = np.zeros(2), torch.zeros(d, d, dtype=torch.float64, device=CARD)
    for rows in y.split(512):
        e = torch.exp(-squares(rows, y) / 4)
        sums += [float(e.sum()), float((e * e).sum())]
        weights = -0.5 * e + 2 * e * e
        matrix += (rows * weights.sum(1, keepdim=True)).T @ rows - rows.T @ (weights @ y)
    return np.concatenate([(sums - len(w)) / 2, matrix.cpu().numpy().ravel()])


def exact_density(x, queries, a):
    y = exactly(x) @ exactly(a).T
    q = exactly(queries) @ exactly(a).T
    return np.concatenate([torch.exp(-squares(rows, y) / 2).sum(1).cpu().numpy() for rows in q.split(1024)])


# --- Triton --------------------------------------------------------------------------------------
# A program has ROWS points and goes through every SPLIT-th block of COLS others; terms are added
# element by element and only at its end to one another. Triangles: the blocks on the diagonal are
# the first program's of a row and masked, the others hold whole pairs i < j. Arguments are scaled
# such that a term is 2^-q.

C1 = tl.constexpr(2 * math.log(2))  # z^2 = C1 q
C2 = tl.constexpr((2 * math.log(2))**2)
C3 = tl.constexpr((2 * math.log(2))**3)
FAR = tl.constexpr(1e30)


def blocks(shapes, splits, warps):
    return [
        triton.Config({"ROWS": r, "COLS": c, "SPLIT": s}, num_warps=w) for r, c in shapes for s in splits for w in warps
    ]


def brief_bench(f, quantiles):
    return triton.testing.do_bench(f, warmup=5, rep=20, quantiles=quantiles)


@triton.jit
def derivative_term(a, b, R: tl.constexpr):
    z = a[:, None] - b[None, :]
    q = z * z
    if R == 6:
        he = ((C3 * q - 15 * C2) * q + 45 * C1) * q - 15
    else:
        he = (C2 * q - 6 * C1) * q + 3
    return he * tl.exp2(-q)


@triton.autotune(blocks([(64, 32), (64, 64), (128, 32)], [8], [4, 8]),
                 key=["n", "R", "TRIANGLE"], reset_to_zero=["out"], do_bench=brief_bench)
@triton.jit
def derivative_kernel(x, scale, out, n, R: tl.constexpr, TRIANGLE: tl.constexpr, ROWS: tl.constexpr,
                      COLS: tl.constexpr, SPLIT: tl.constexpr):
    first = tl.program_id(0) * ROWS
    part = tl.program_id(1)
    s = tl.load(scale)
    rows = first + tl.arange(0, ROWS)
    a = tl.load(x + rows) * s
    total = tl.zeros([ROWS, COLS], tl.float32)
    begin = part * COLS
    if TRIANGLE:
        if part == 0:
            for k in range(first, first + ROWS, COLS):
                cols = k + tl.arange(0, COLS)
                term = derivative_term(a, tl.load(x + cols) * s, R)
                total += tl.where(rows[:, None] < cols[None, :], term, 0.0)
        begin += first + ROWS
    for k in range(begin, n, SPLIT * COLS):
        total += derivative_term(a, tl.load(x + k + tl.arange(0, COLS)) * s, R)
    tl.atomic_add(out, tl.sum(tl.sum(total, 1).to(tl.float64), 0))


@triton.jit
def distance_kernel(w, s, D: tl.constexpr, BLOCK: tl.constexpr):
    """The blocks of the upper triangle one after the other, FAR where not i < j."""
    i = tl.program_id(0)
    j = tl.program_id(1)
    if i <= j:
        rows = i * BLOCK + tl.arange(0, BLOCK)
        cols = j * BLOCK + tl.arange(0, BLOCK)
        q = tl.zeros([BLOCK, BLOCK], tl.float32)
        for k in tl.static_range(D):
            z = tl.load(w + rows * D + k)[:, None] - tl.load(w + cols * D + k)[None, :]
            q += z * z
        at = tl.arange(0, BLOCK)[:, None] * BLOCK + tl.arange(0, BLOCK)[None, :]
        tile = j * (j + 1) // 2 + i
        tl.store(s + tile * BLOCK * BLOCK + at, tl.where(rows[:, None] < cols[None, :], q, FAR))


@triton.autotune([
    triton.Config({"H": h, "BLOCK": b, "SPLIT": s}, num_warps=w)
    for h, b, w in [(1, 1024, 4), (2, 512, 4), (4, 512, 4), (4, 512, 8), (8, 512, 8)]
    for s in [32, 64]
], key=["pairs"], reset_to_zero=["out"], do_bench=brief_bench)
@triton.jit
def sweep_kernel(s, scales, out, count, pairs, H: tl.constexpr, BLOCK: tl.constexpr, SPLIT: tl.constexpr):
    h = tl.program_id(1) * H + tl.arange(0, H)
    c = tl.load(scales + h, mask=h < count, other=1.0)
    once = tl.zeros([H, BLOCK], tl.float32)
    twice = tl.zeros([H, BLOCK], tl.float32)
    for k in range(tl.program_id(0) * BLOCK, pairs, SPLIT * BLOCK):
        e = tl.exp2(-tl.load(s + k + tl.arange(0, BLOCK))[None, :] * c[:, None])
        once += e
        twice += e * e
    tl.atomic_add(out + 2 * h, tl.sum(once, 1).to(tl.float64), mask=h < count)
    tl.atomic_add(out + 2 * h + 1, tl.sum(twice, 1).to(tl.float64), mask=h < count)


@triton.jit
def gram_term(a, half_a, b, half_b, PRECISION: tl.constexpr):
    """2^-|a_i - b_j|^2/2 by the Gram form; halves are half the squared norms."""
    return tl.exp2(tl.dot(a, tl.trans(b), input_precision=PRECISION) - half_a[:, None] - half_b[None, :])


@triton.jit
def points(y, rows, D: tl.constexpr):
    return tl.load(y + rows[:, None] * D + tl.arange(0, D)[None, :])


@triton.autotune(blocks([(64, 64), (128, 64), (128, 128)], [4], [4, 8]),
                 key=["n", "PRECISION"], reset_to_zero=["out"], do_bench=brief_bench)
@triton.jit
def value_kernel(y, half, out, n, D: tl.constexpr, PRECISION: tl.constexpr, ROWS: tl.constexpr,
                 COLS: tl.constexpr, SPLIT: tl.constexpr):
    first = tl.program_id(0) * ROWS
    part = tl.program_id(1)
    rows = first + tl.arange(0, ROWS)
    a = points(y, rows, D)
    half_a = tl.load(half + rows)
    once = tl.zeros([ROWS, COLS], tl.float32)
    twice = tl.zeros([ROWS, COLS], tl.float32)
    if part == 0:
        for k in range(first, first + ROWS, COLS):
            cols = k + tl.arange(0, COLS)
            e = gram_term(a, half_a, points(y, cols, D), tl.load(half + cols), PRECISION)
            e = tl.where(rows[:, None] < cols[None, :], e, 0.0)
            once += e
            twice += e * e
    for k in range(first + ROWS + part * COLS, n, SPLIT * COLS):
        cols = k + tl.arange(0, COLS)
        e = gram_term(a, half_a, points(y, cols, D), tl.load(half + cols), PRECISION)
        once += e
        twice += e * e
    tl.atomic_add(out, tl.sum(tl.sum(once, 1).to(tl.float64), 0))
    tl.atomic_add(out + 1, tl.sum(tl.sum(twice, 1).to(tl.float64), 0))


@triton.autotune(blocks([(64, 64), (128, 64)], [2, 4], [4]), key=["n", "PRECISION"],
                 reset_to_zero=["out"], do_bench=brief_bench)
@triton.jit
def scatter_kernel(y, half, out, n, D: tl.constexpr, PRECISION: tl.constexpr, ROWS: tl.constexpr,
                   COLS: tl.constexpr, SPLIT: tl.constexpr):
    """out: sum e, sum e^2 over the square, then D x D: sum_i y_i (sum_j w_ij (y_i - y_j))'."""
    first = tl.program_id(0) * ROWS
    rows = first + tl.arange(0, ROWS)
    a = points(y, rows, D)
    half_a = tl.load(half + rows)
    once = tl.zeros([ROWS, COLS], tl.float32)
    twice = tl.zeros([ROWS, COLS], tl.float32)
    drawn = tl.zeros([ROWS, D], tl.float32)
    for k in range(tl.program_id(1) * COLS, n, SPLIT * COLS):
        cols = k + tl.arange(0, COLS)
        b = points(y, cols, D)
        e = gram_term(a, half_a, b, tl.load(half + cols), PRECISION)
        if (k < first + ROWS) & (k + COLS > first):  # a point's own term is rounding here
            e = tl.where(rows[:, None] != cols[None, :], e, 0.0)
        square = e * e
        once += e
        twice += square
        drawn = tl.dot(2 * square - 0.5 * e, b, drawn, input_precision=PRECISION)
    sum_once = tl.sum(once, 1)
    sum_twice = tl.sum(twice, 1)
    pull = a * (2 * sum_twice - 0.5 * sum_once)[:, None] - drawn
    at = tl.arange(0, D)[:, None] * D + tl.arange(0, D)[None, :]
    tl.atomic_add(out + 2 + at, tl.dot(tl.trans(a), pull, input_precision="ieee").to(tl.float64))
    tl.atomic_add(out, tl.sum(sum_once.to(tl.float64), 0))
    tl.atomic_add(out + 1, tl.sum(sum_twice.to(tl.float64), 0))


@triton.autotune(blocks([(32, 64), (64, 64), (128, 32)], [1], [4, 8]), key=["n", "D"],
                 do_bench=brief_bench)
@triton.jit
def density_kernel(q, y, out, n, D: tl.constexpr, ROWS: tl.constexpr, COLS: tl.constexpr, SPLIT: tl.constexpr):
    """By differences, for D = 1, 2 and 4."""
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    a0 = tl.load(q + rows * D)
    if D > 1:
        a1 = tl.load(q + rows * D + 1)
    if D > 2:
        a2 = tl.load(q + rows * D + 2)
        a3 = tl.load(q + rows * D + 3)
    total = tl.zeros([ROWS, COLS], tl.float32)
    for k in range(0, n, COLS):
        b = y + (k + tl.arange(0, COLS)) * D
        z = a0[:, None] - tl.load(b)[None, :]
        s = z * z
        if D > 1:
            z = a1[:, None] - tl.load(b + 1)[None, :]
            s += z * z
        if D > 2:
            z = a2[:, None] - tl.load(b + 2)[None, :]
            s += z * z
            z = a3[:, None] - tl.load(b + 3)[None, :]
            s += z * z
        total += tl.exp2(-s)
    tl.store(out + rows, tl.sum(total, 1))


@triton.autotune(blocks([(64, 32), (64, 64), (128, 32)], [1], [4, 8]), key=["n", "PRECISION"],
                 do_bench=brief_bench)
@triton.jit
def gram_density_kernel(q, half_q, y, half, out, n, D: tl.constexpr, PRECISION: tl.constexpr,
                        ROWS: tl.constexpr, COLS: tl.constexpr, SPLIT: tl.constexpr):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    a = points(q, rows, D)
    half_a = tl.load(half_q + rows)
    total = tl.zeros([ROWS, COLS], tl.float32)
    for k in range(0, n, COLS):
        cols = k + tl.arange(0, COLS)
        total += gram_term(a, half_a, points(y, cols, D), tl.load(half + cols), PRECISION)
    tl.store(out + rows, tl.sum(total, 1))


def tiles(n):
    return lambda config: (n // config["ROWS"], config["SPLIT"])


def fresh(count):
    return torch.zeros(count, dtype=torch.float64, device=CARD)


def half_norms(y):
    return 0.5 * (y * y).sum(1)


def triton_derivative(r, triangle):

    def compute(x, scale):
        out, n = fresh(1), len(x)
        derivative_kernel[tiles(n)](x, scale, out, n, R=r, TRIANGLE=triangle)
        return out if triangle else (out - n * (-15 if r == 6 else 3)) / 2

    return compute


def triton_sweep(block):

    def compute(w, scales):
        n, d = w.shape
        across = n // block
        s = torch.empty(across * (across + 1) // 2 * block**2, device=CARD)
        out, count = fresh(2 * len(scales)), len(scales)
        distance_kernel[(across, across)](w, s, D=d, BLOCK=block)
        sweep_kernel[lambda c: (c["SPLIT"], triton.cdiv(count, c["H"]))](s, scales, out, count, len(s))
        return out

    return compute


def triton_value(precision):

    def compute(w, a):
        y = w @ (a.T * math.sqrt(LOG2_E / 2))
        (n, d), out = y.shape, fresh(2)
        value_kernel[tiles(n)](y, half_norms(y), out, n, D=d, PRECISION=precision)
        return out

    return compute


def triton_scatter(precision):

    def compute(w, a):
        y = w @ (a.T * math.sqrt(LOG2_E / 2))
        (n, d), out = y.shape, fresh(2 + y.shape[1]**2)
        scatter_kernel[tiles(n)](y, half_norms(y), out, n, D=d, PRECISION=precision)
        out[:2] /= 2
        out[2:] /= LOG2_E / 2
        return out

    return compute


def triton_density(d, precision=None):

    def compute(x, queries, a):
        by = a.T * math.sqrt(LOG2_E / (1 if precision else 2))
        y, q = x @ by, queries @ by
        out, n = torch.empty(len(q), device=CARD), len(y)
        if precision:
            gram_density_kernel[tiles(len(q))](q, half_norms(q), y, half_norms(y), out, n, D=d, PRECISION=precision)
        else:
            density_kernel[tiles(len(q))](q, y, out, n, D=d)
        return out

    return compute


# --- the plain expressions -----------------------------------------------------------------------
# TorchInductor fuses a pair's term with the sum over the pairs, so that no n x n array is made. A
# product of matrices it leaves to cuBLAS: there a chunk of rows is.

CHUNK = 2048


def apart(e, begin, instead):
    """Rows begin, ... of n x n without the diagonal, whose rounding would count in the sums' difference."""
    rows = torch.arange(begin, begin + e.shape[0], device=CARD)
    return torch.where(rows[:, None] != torch.arange(e.shape[1], device=CARD)[None, :], e, instead)


def row_sums(v):
    return v.sum(-1).double()


def terms(rows, y, gram):
    if not gram:
        return torch.exp2(-squares(rows, y))
    return torch.exp2(2 * (rows @ y.T) - (rows * rows).sum(1)[:, None] - (y * y).sum(1)[None, :])


def chunks(y, gram):
    """Of each chunk of rows: the rows, and their terms with all other points."""
    for k in range(0, len(y), CHUNK if gram else len(y)):
        rows = y[k:k + CHUNK] if gram else y
        yield rows, apart(terms(rows, y, gram), k, 0.0)


def sums_of(e):
    return torch.stack([row_sums(v).sum() / 2 for v in (e, e * e)])


def derivative_expression(r):

    def compute(x, scale):
        z = x * scale
        q = (z[:, None] - z[None, :])**2
        u = q * (2 * math.log(2))
        he = ((u - 15) * u + 45) * u - 15 if r == 6 else (u - 6) * u + 3
        return (row_sums(he * torch.exp2(-q)).sum() - len(x) * (-15 if r == 6 else 3)) / 2

    return compute


def sweep_expression(w, scales):
    s = apart(squares(w, w), 0, 1e30)
    e = torch.exp2(-s[None] * scales[:, None, None])
    return (torch.stack([row_sums(v).sum(1) for v in (e, e * e)]) / 2).T.reshape(-1)


def value_expression(gram):

    def compute(w, a):
        return sum(sums_of(e) for _, e in chunks(w @ (a.T * math.sqrt(LOG2_E / 4)), gram))

    return compute


def scatter_expression(w, a):
    y = w @ (a.T * math.sqrt(LOG2_E / 4))
    sums, matrix = 0, 0
    for rows, e in chunks(y, True):
        sums = sums + sums_of(e)
        weights = 2 * e * e - 0.5 * e
        matrix = matrix + rows.T @ (rows * weights.sum(1)[:, None] - weights @ y)
    return torch.cat([sums, matrix.double().reshape(-1) / (LOG2_E / 4)])


def density_expression(x, queries, a):
    by = a.T * math.sqrt(LOG2_E / 2)
    return row_sums(terms(queries @ by, x @ by, False))


# --- running them --------------------------------------------------------------------------------


class Captured:
    """computations[which](*points, *parameters) on the card, each as one graph with its copies.

    A call takes float64 arrays in ordinary memory and gives the result in float64; keep: the points
    are on the card, from a call before. Parameters are copied always.
    """

    def __init__(self, points, parameters, computations):
        arrays = [*points, *parameters]
        self.staged = [torch.empty(a.shape, pin_memory=True) for a in arrays]
        self.on_card = [torch.empty(a.shape, device=CARD) for a in arrays]
        self.kept = len(points)
        self.graphs, self.results = {}, {}
        self.fill(arrays, 0)
        for which, compute in enumerate(computations):
            for keep in (False, True):
                self.capture(which, keep, compute)

    def fill(self, arrays, first):
        for at, a in enumerate(arrays, first):
            np.copyto(self.staged[at].numpy(), a, casting="same_kind")

    def capture(self, which, keep, compute):

        def work():
            for at in range(self.kept if keep else 0, len(self.staged)):
                self.on_card[at].copy_(self.staged[at], non_blocking=True)
            out = compute(*self.on_card)
            if which not in self.results:
                self.results[which] = torch.empty(out.shape, dtype=out.dtype, pin_memory=True)
            self.results[which].copy_(out, non_blocking=True)

        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):  # compiles and tunes
                work()
        torch.cuda.synchronize()
        self.graphs[which, keep] = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graphs[which, keep]):
            work()

    def __call__(self, points, parameters, keep, which=0):
        if not keep:
            self.fill(points, 0)
        self.fill(parameters, self.kept)
        self.graphs[which, keep].replay()
        torch.cuda.current_stream().synchronize()
        return self.results[which].numpy()


def tell(text):
    """Apart from the table."""
    print(text, file=sys.stderr, flush=True)


def median_ms(work):
    end = time.perf_counter() + WARM_MS / 1000
    while time.perf_counter() < end:
        work()
    times = []
    for _ in range(RUNS):
        start = time.perf_counter()
        work()
        times.append((time.perf_counter() - start) * 1000)
    return statistics.median(times)


class Work:
    """One line of the table: what to compute, how to judge it, who computes it."""

    def __init__(self, name, ours, paper, run, error, points, parameters, variants):
        self.name, self.ours, self.paper = name, ours, paper
        self.run = run  # run(library, keep) -> result
        self.error = error  # error(result)
        self.points, self.parameters = points, parameters
        self.variants = variants  # (library, variant, make)

    def measure(self):
        """({library: (ms, error, variant)} of the quickest, from the host's memory; the same on the card)."""
        best = {}, {}
        for library, variant, make in self.variants:
            try:
                torch.cuda.empty_cache()
                begin = time.perf_counter()
                made = make(self.points, self.parameters)
                result = self.run(made, False)
                error = max(self.error(result), self.error(self.run(made, True)))
                times = [median_ms(lambda: self.run(made, keep)) for keep in (False, True)]
            except Exception as e:  # a variant that this version of the library cannot compile
                tell(f"{self.name}, {library} {variant}: {type(e).__name__}: {str(e)[:300]}")
                continue
            tell(f"{self.name}, {library} {variant}: {times[0]:.3f} ms from the host, {times[1]:.3f} on the card, "
                 f"error {error:.1e} ({time.perf_counter() - begin:.0f} s)")
            for ms, quickest in zip(times, best):
                quickest[library] = min(quickest.get(library, (math.inf,)), (ms, error, variant))
        return best


def captured(*computations):
    return lambda points, parameters: Captured(points, parameters, computations)


def compiled(*computations):
    return captured(*[torch.compile(c, dynamic=False) for c in computations])


def plugin_work(n):
    x = np.sort(mix(n, 1), axis=0)
    sd = float(x.std(ddof=1))
    column = x[:, 0]

    def run(made, keep):

        def derivative(r, g):
            scale = np.array([math.sqrt(LOG2_E / 2) / g])
            return made([column], [scale], keep or r == 4, 0 if r == 6 else 1).item()

        return plugin(n, sd, derivative)

    truth = plugin(n, sd, lambda r, g: exact_derivative(x, r, g))
    variants = [("Triton", "triangle", captured(*[triton_derivative(r, True) for r in (6, 4)])),
                ("Triton", "square", captured(*[triton_derivative(r, False) for r in (6, 4)])),
                ("torch.compile", "", compiled(*[derivative_expression(r) for r in (6, 4)]))]
    return Work(f"PLUGIN, n = {n:,}", [f"PLUGIN/n={n}/d=1/device/-/single"], 87.9, run, lambda h: abs(h / truth - 1),
                [column], [np.ones(1)], variants)


def sweep_work(n, d, count):
    w = white(mix(n, d))
    h = normal_reference(n, d) * (0.25 + 3.75 * np.arange(count) / (count - 1))
    truth = exact_sweep(w, h)
    scales = LOG2_E / (4 * h**2)

    def error(sums):
        found = lscv_value(n, d, *np.asarray(sums, np.float64).reshape(count, 2).T)
        exact = lscv_value(n, d, *truth.T)
        return float(np.max(np.abs(found[0] - exact[0]) / exact[1]))

    variants = [("Triton", f"blocks of {block}", captured(triton_sweep(block))) for block in (32, 64)]
    variants += [("torch.compile", "", compiled(sweep_expression))]
    return Work(f"LSCV_h, n = {n:,}, d = {d}, {count} values of h", [f"LSCV_h/n={n}/d={d}/device/-/single"], 14.7,
                lambda made, keep: made([w], [scales], keep), error, [w], [scales], variants)


def value_works(n, d):
    w = white(mix(n, d))
    a = np.eye(d) / normal_reference(n, d)
    truth = exact_value(w, a)

    def value_error(sums):
        found, exact = lscv_value(n, d, sums[0], sums[1]), lscv_value(n, d, truth[0], truth[1])
        return float(abs(found[0] - exact[0]) / exact[1])

    def matrix_error(sums):
        return float(np.max(np.abs(sums[2:] - truth[2:])) / np.max(np.abs(truth[2:])))

    def run(made, keep):
        return made([w], [a], keep)

    variants = [("Triton", precision, captured(triton_value(precision))) for precision in PRECISIONS]
    variants += [("torch.compile", "differences", compiled(value_expression(False))),
                 ("torch.compile", "matrix product", compiled(value_expression(True)))]
    name = f"n={n}/d={d}"
    yield Work(f"LSCV_H, n = {n:,}, d = {d}, one value", [
        f"LSCV_H-g/{name}/device/-/single", f"LSCV_H-g/{name}/device, kept/-/single"
    ], 184, run, value_error, [w], [a], variants)

    variants = [("Triton", precision, captured(triton_scatter(precision))) for precision in PRECISIONS]
    variants += [("torch.compile", "matrix product", compiled(scatter_expression))]
    yield Work(f"LSCV_H, n = {n:,}, d = {d}, value and gradient", [None, f"LSCV_H-dg/{name}/device, kept/-/single"],
               None, run, lambda s: max(value_error(s), matrix_error(s)), [w], [a], variants)


def density_work(n, m, d):
    x, queries = mix(n, d), mix(m, d)
    a = np.eye(d) / normal_reference(n, d)
    some = slice(None, None, m // 4096)
    truth = exact_density(x, queries[some], a)

    def error(found):
        return float(np.max(np.abs(found[some] - truth)) / np.max(truth))

    gram = d == 16
    variants = [("Triton", p or "differences", captured(triton_density(d, p)))
                for p in (PRECISIONS if gram else (None,))]
    variants += [("torch.compile", "differences", compiled(density_expression))]
    return Work(f"density, m = n = {n:,}, d = {d}", [f"density/n={n}/d={d}/device, m = {m}/-/single"], None,
                lambda made, keep: made([x, queries], [a], keep), error, [x, queries], [a], variants)


def works():
    """name: what makes them."""
    return {
        "PLUGIN": lambda: [plugin_work(32768)],
        "LSCV_h": lambda: [sweep_work(1024, 16, 150)],
        "LSCV_H": lambda: value_works(16384, 16),
        "density": lambda: [density_work(1 << 17, 1 << 17, d) for d in (1, 2, 4, 16)],
    }


# --- beside device_bench -------------------------------------------------------------------------


def device_bench(program, names):
    """{name: (ms, error)} of the rows of its table."""
    with tempfile.NamedTemporaryFile(suffix=".json") as out:
        subprocess.run([
            program, "--cards=1", "--without-textbook", f"--benchmark_filter=^({'|'.join(names)})/",
            f"--benchmark_out={out.name}", "--benchmark_out_format=json"
        ], check=True, stdout=sys.stderr)
        with open(out.name) as text:
            rows = json.load(text)["benchmarks"]
    found = {}
    for row in rows:
        if row.get("aggregate_name") == "median":
            for name in names:
                if row["run_name"].startswith(name + "/"):
                    found[name] = row["real_time"], row["error"]
    return found


LIBRARIES = "Triton", "torch.compile"


def cell(ms, error, variant=""):
    return f"{ms:.3f} ms {variant}".strip() + (f" ({error:.0e})" if error == error else "")


def print_line(name, ours, found, paper):
    cells = [name, cell(*ours) if ours else ""]
    cells += [cell(*found[one]) if one in found else "" for one in LIBRARIES]
    cells += [f"{min(one[0] for one in found.values()) / ours[0]:.2f}" if ours and found else ""]
    cells += [f"{paper} ms" if paper else ""]
    print("| " + " | ".join(cells) + " |", flush=True)


def main():
    parse = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parse.add_argument("--device-bench", metavar="PROGRAM", help="run it and print its times beside")
    parse.add_argument("--works", nargs="+", choices=works(), default=list(works()))
    options = parse.parse_args()
    chosen = [w for name in options.works for w in works()[name]()]
    ours = {}
    if options.device_bench:
        ours = device_bench(options.device_bench, [row for w in chosen for row in w.ours if row])
    print(f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}, Triton {triton.__version__}. "
          "In brackets the error; papers: GeForce GTX 480.\n")
    print("| work | device_bench | " + " | ".join(LIBRARIES) + " | quickest / device_bench | papers |")
    print("|---|" + "---:|" * (len(LIBRARIES) + 3), flush=True)
    for work in chosen:
        from_host, on_card = work.measure()
        print_line(work.name, ours.get(work.ours[0]), from_host, work.paper)
        print_line(f"{work.name}, points on the card", ours.get(work.ours[-1]), on_card, work.paper)


if __name__ == "__main__":
    main()
