// The pieces of gram.h's kernels: a warp's rows in registers as fragments of matrix units, columns
// in shared memory, and the exponents of 16 rows by 8 columns in a warp.
//
// Fragments are those of mma.m16n8k16 and mma.m16n8k8 (PTX ISA, "Matrix fragments for mma"): with
// g = lane/4 and t = lane % 4 a thread has of the result rows g and g + 8, columns 2 t and 2 t + 1.
#pragma once

#include <cuda_fp16.h>

#include <cstdint>

#include "cuda/exponential.cuh"
#include "cuda/gram.h"

namespace kde::cuda {

// d = a b + c, of halves in single precision.
__device__ __forceinline__ void multiply16(float (&d)[4], const unsigned (&a)[4], unsigned b0,
                                           unsigned b1, const float (&c)[4]) {
#if __CUDA_ARCH__ >= 800
  asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
      "{%8, %9}, {%10, %11, %12, %13};"
      : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1), "f"(c[0]), "f"(c[1]),
        "f"(c[2]), "f"(c[3]));
#endif
}
__device__ __forceinline__ void multiply8(float (&d)[4], unsigned a0, unsigned a1, unsigned b,
                                          const float (&c)[4]) {
#if __CUDA_ARCH__ >= 800
  asm("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, "
      "{%7, %8, %9, %10};"
      : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
      : "r"(a0), "r"(a1), "r"(b), "f"(c[0]), "f"(c[1]), "f"(c[2]), "f"(c[3]));
#endif
}

// Four 8 x 8 matrices of halves: of matrix k, lane 8 k + r has the address of row r.
__device__ __forceinline__ void load_matrices(unsigned (&b)[4], const void* row) {
  const auto address = static_cast<unsigned>(__cvta_generic_to_shared(row));
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(b[0]), "=r"(b[1]), "=r"(b[2]), "=r"(b[3])
               : "r"(address));
}
__device__ __forceinline__ void load_transposed(unsigned (&b)[4], const void* row) {
  const auto address = static_cast<unsigned>(__cvta_generic_to_shared(row));
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(b[0]), "=r"(b[1]), "=r"(b[2]), "=r"(b[3])
               : "r"(address));
}

// Starts to copy a strip of points to shared memory; wait_for_strips<k> returns when all but the
// last k of those started have come, to this thread's parts.
template <int C, int kThreads>
__device__ __forceinline__ void start_strip(const GramPoint<C>* from, GramPoint<C>* to) {
  constexpr int kPieces = kGramStrip * static_cast<int>(sizeof(GramPoint<C>)) / 16;
  const int thread = static_cast<int>(threadIdx.x);
  const auto address =
      static_cast<unsigned>(__cvta_generic_to_shared(reinterpret_cast<uint4*>(to) + thread));
  const uint4* source = reinterpret_cast<const uint4*>(from) + thread;
#if __CUDA_ARCH__ >= 800
#pragma unroll
  for (int k = 0; k < (kPieces + kThreads - 1) / kThreads; ++k) {
    if ((k + 1) * kThreads <= kPieces || thread < kPieces - k * kThreads)
      asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(address + 16 * k * kThreads),
                   "l"(source + k * kThreads));
  }
  asm volatile("cp.async.commit_group;");
#endif
}
template <int kLeft>
__device__ __forceinline__ void wait_for_strips() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_group %0;" ::"n"(kLeft) : "memory");
#endif
}

// The 16 rows from row0 on as the left side of products.
template <int C>
struct RowTile {
  unsigned high[C / 4], low[C / 4];
  float norm[2], rest[2];  // as of GramPoint, of rows g and g + 8

  __device__ __forceinline__ void load(const GramPoint<C>* row0) {
    const int g = static_cast<int>(threadIdx.x) % 32 / 4, t = static_cast<int>(threadIdx.x) % 4;
#pragma unroll
    for (int k = 0; k < C / 8; ++k) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const GramPoint<C>& row = row0[g + 8 * half];
        high[2 * k + half] = reinterpret_cast<const unsigned*>(row.high)[4 * k + t];
        low[2 * k + half] = reinterpret_cast<const unsigned*>(row.low)[4 * k + t];
      }
    }
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const GramPoint<C>* pair = row0 + (g / 2 * 2 + 8 * half);
      norm[half] = pair[0].norms[g % 2];
      rest[half] = pair[1].norms[g % 2];
    }
  }
};

// Eight columns as the right side of products.
template <int C>
struct ColumnTile {
  unsigned high[C / 8], low[C / 8];
};

// 16 columns of a strip.
template <int C>
__device__ __forceinline__ void load_columns(const GramPoint<C>* columns, int lane,
                                             ColumnTile<C> (&tile)[2]) {
  unsigned b[4];
  if constexpr (C == 16) {
#pragma unroll
    for (int k = 0; k < 2; ++k) {
      // high 0 to 7, high 8 to 15, low 0 to 7, low 8 to 15, which lie one after another.
      load_matrices(b, reinterpret_cast<const char*>(columns + lane % 8) + lane / 8 * 16 +
                           8 * k * sizeof(GramPoint<C>));
      tile[k].high[0] = b[0];
      tile[k].high[1] = b[1];
      tile[k].low[0] = b[2];
      tile[k].low[1] = b[3];
    }
  } else {
    load_matrices(b, reinterpret_cast<const char*>(columns + lane / 16 * 8 + lane % 8) +
                         lane / 8 % 2 * 16);
    tile[0].high[0] = b[0];
    tile[0].low[0] = b[1];
    tile[1].high[0] = b[2];
    tile[1].low[0] = b[3];
  }
}

// The norms of GramPoint as a product's accumulators begin.
template <int C>
__device__ __forceinline__ void load_norms(float (&norms)[4], const GramPoint<C>* column) {
  const float4 four = *reinterpret_cast<const float4*>(column->norms);
  norms[0] = four.x, norms[1] = four.y, norms[2] = four.z, norms[3] = four.w;
}

// E of kRowTiles times 16 rows and 16 columns but for the rows' `rest`, which is a factor of each
// row's e. e[m][k]: rows g, g, g + 8, g + 8 of tile m, columns 2 t, 2 t + 1, 2 t, 2 t + 1 of tile k.
// Products that wait for each other are as far apart as the tiles allow.
template <int C, int kRowTiles>
__device__ __forceinline__ void exponents(const RowTile<C> (&rows)[kRowTiles],
                                          const GramPoint<C>* columns, int lane,
                                          float (&e)[kRowTiles][2][4]) {
  ColumnTile<C> tile[2];
  load_columns<C>(columns, lane, tile);
  float exact[kRowTiles][2][4], norms[2][4], rests[2][4];
#pragma unroll
  for (int k = 0; k < 2; ++k) {
    load_norms<C>(norms[k], columns + 8 * k + 2 * (lane % 4));
    load_norms<C>(rests[k], columns + 8 * k + 2 * (lane % 4) + 1);
  }
  const auto each = [&](auto&& f) {
#pragma unroll
    for (int k = 0; k < 2; ++k) {
#pragma unroll
      for (int m = 0; m < kRowTiles; ++m) f(rows[m], tile[k], m, k);
    }
  };
  each([&](const RowTile<C>& row, const ColumnTile<C>& column, int m, int k) {
    if constexpr (C == 16) {
      multiply16(e[m][k], row.low, column.low[0], column.low[1], rests[k]);
    } else {
      multiply8(e[m][k], row.low[0], row.low[1], column.low[0], rests[k]);
    }
  });
  each([&](const RowTile<C>& row, const ColumnTile<C>& column, int m, int k) {
    if constexpr (C == 16) {
      multiply16(exact[m][k], row.high, column.high[0], column.high[1], norms[k]);
    } else {
      multiply8(exact[m][k], row.high[0], row.high[1], column.high[0], norms[k]);
    }
  });
  each([&](const RowTile<C>& row, const ColumnTile<C>& column, int m, int k) {
    if constexpr (C == 16) {
      multiply16(e[m][k], row.high, column.low[0], column.low[1], e[m][k]);
    } else {
      const unsigned both[4] = {row.high[0], row.high[1], row.low[0], row.low[1]};
      multiply16(e[m][k], both, column.low[0], column.high[0], e[m][k]);
    }
  });
  if constexpr (C == 16) {
    each([&](const RowTile<C>& row, const ColumnTile<C>& column, int m, int k) {
      multiply16(e[m][k], row.low, column.high[0], column.high[1], e[m][k]);
    });
  }
  each([&](const RowTile<C>& row, const ColumnTile<C>&, int m, int k) {
#pragma unroll
    for (int p = 0; p < 4; ++p) e[m][k][p] += exact[m][k][p] + row.norm[p / 2];
  });
}

}  // namespace kde::cuda
