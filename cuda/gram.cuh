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

// kRowTiles times 16 rows to a warp: so often is a column that was loaded used.
inline constexpr int kRowTiles = kGramStrip / 16 / (kGramThreads / 32);

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
template <int C>
__device__ __forceinline__ void start_strip(const GramPoint<C>* from, GramPoint<C>* to) {
  constexpr int kPieces = kGramStrip * static_cast<int>(sizeof(GramPoint<C>)) / 16;
#pragma unroll
  for (int piece = static_cast<int>(threadIdx.x); piece < kPieces; piece += kGramThreads) {
#if __CUDA_ARCH__ >= 800
    const auto address =
        static_cast<unsigned>(__cvta_generic_to_shared(reinterpret_cast<uint4*>(to) + piece));
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(address),
                 "l"(reinterpret_cast<const uint4*>(from) + piece));
#endif
  }
#if __CUDA_ARCH__ >= 800
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
  float minus_norm[2], minus_rest[2];  // of rows g and g + 8

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
      minus_norm[half] = row0[g + 8 * half].minus_norm;
      minus_rest[half] = row0[g + 8 * half].minus_rest;
    }
  }
};

// Eight columns as the right side of products.
template <int C>
struct ColumnTile {
  unsigned high[C / 8], low[C / 8];
  float2 norms[2];  // minus_norm and minus_rest of columns 2 t and 2 t + 1
};

// 16 columns of a strip.
template <int C>
__device__ __forceinline__ void load_columns(const GramPoint<C>* columns, ColumnTile<C> (&tile)[2]) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  unsigned b[4];
  if constexpr (C == 16) {
#pragma unroll
    for (int k = 0; k < 2; ++k) {
      // high 0 to 7, high 8 to 15, low 0 to 7, low 8 to 15, which lie one after another.
      const GramPoint<C>& point = columns[8 * k + lane % 8];
      load_matrices(b, reinterpret_cast<const char*>(point.high) + lane / 8 * 16);
      tile[k].high[0] = b[0];
      tile[k].high[1] = b[1];
      tile[k].low[0] = b[2];
      tile[k].low[1] = b[3];
    }
  } else {
    const GramPoint<C>& point = columns[lane / 16 * 8 + lane % 8];
    load_matrices(b, reinterpret_cast<const char*>(point.high) + lane / 8 % 2 * 16);
    tile[0].high[0] = b[0];
    tile[0].low[0] = b[1];
    tile[1].high[0] = b[2];
    tile[1].low[0] = b[3];
  }
#pragma unroll
  for (int k = 0; k < 2; ++k) {
#pragma unroll
    for (int c = 0; c < 2; ++c)
      tile[k].norms[c] =
          *reinterpret_cast<const float2*>(&columns[8 * k + 2 * (lane % 4) + c].minus_norm);
  }
}

// E of the rows and columns of a thread but for the rows' minus_rest, which is a factor of each
// row's e: rows g, g, g + 8, g + 8, columns 2 t, 2 t + 1, 2 t, 2 t + 1.
template <int C>
__device__ __forceinline__ void exponents(const RowTile<C>& rows, const ColumnTile<C>& columns,
                                          float (&e)[4]) {
  const float norms[4] = {columns.norms[0].x, columns.norms[1].x, columns.norms[0].x,
                          columns.norms[1].x};
  const float rests[4] = {columns.norms[0].y, columns.norms[1].y, columns.norms[0].y,
                          columns.norms[1].y};
  float exact[4], rest[4];
  if constexpr (C == 16) {
    multiply16(exact, rows.high, columns.high[0], columns.high[1], norms);
    multiply16(rest, rows.low, columns.low[0], columns.low[1], rests);
    multiply16(rest, rows.high, columns.low[0], columns.low[1], rest);
    multiply16(rest, rows.low, columns.high[0], columns.high[1], rest);
  } else {
    multiply8(exact, rows.high[0], rows.high[1], columns.high[0], norms);
    multiply8(rest, rows.low[0], rows.low[1], columns.low[0], rests);
    const unsigned both[4] = {rows.high[0], rows.high[1], rows.low[0], rows.low[1]};
    multiply16(rest, both, columns.low[0], columns.high[0], rest);
  }
#pragma unroll
  for (int k = 0; k < 4; ++k) e[k] = (exact[k] + rows.minus_norm[k / 2]) + rest[k];
}

}  // namespace kde::cuda
