// The pieces of the kernels for sums by matrix units (gram.h has the formula): a warp's rows in
// registers as the left side of products, columns in shared memory as the right, and the exponents
// of their pairs, by instructions of a warp (mma.sync, from compute capability 8.0 on) or of four
// at once (wgmma, 9.0 alone), whose right side comes from shared memory by itself.
//
// Fragments are those of mma.m16n8k16 and wgmma.m64nNk16 (PTX ISA, "Matrix fragments"): with g =
// lane/4 and t = lane % 4 a thread has of the left side's and of the result's 16 rows g and g + 8,
// and of eight columns of the result 2 t and 2 t + 1.
#pragma once

#include <cuda_fp16.h>

#include <cstdint>
#include <type_traits>

#include "cuda/exponential.cuh"
#include "cuda/gram.h"

namespace kde::cuda {

// ---- instructions ------------------------------------------------------------------------------

// d += a b, of halves in single precision.
__device__ __forceinline__ void multiply(float (&d)[4], const unsigned (&a)[4], unsigned b0,
                                         unsigned b1) {
#if __CUDA_ARCH__ >= 800
  asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
      "{%8, %9}, {%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
#endif
}

// Four 8 x 8 matrices of halves: of matrix k, lane 8 k + r has the address of row r.
__device__ __forceinline__ void load_matrices(unsigned (&b)[4], const char* row) {
  const auto address = static_cast<unsigned>(__cvta_generic_to_shared(row));
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(b[0]), "=r"(b[1]), "=r"(b[2]), "=r"(b[3])
               : "r"(address));
}
__device__ __forceinline__ void load_transposed(unsigned (&b)[4], const char* row) {
  const auto address = static_cast<unsigned>(__cvta_generic_to_shared(row));
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(b[0]), "=r"(b[1]), "=r"(b[2]), "=r"(b[3])
               : "r"(address));
}

// Results of four warps, 64 rows by 32 columns: of columns 8 k to 8 k + 7, those of a warp's
// fragment are d[4 k] to d[4 k + 3].
struct GroupResult {
  float d[16];
};

// d = a b, or with kAdd d += a b, begun but not ended; b by a descriptor (PTX ISA, "Shared memory
// matrix layout", no swizzling).
template <bool kAdd>
__device__ __forceinline__ void begin_multiply(GroupResult* result, const unsigned (&a)[4],
                                               std::uint64_t b) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  float(&d)[16] = result->d;
  asm volatile(
      "{\n.reg .pred add;\nsetp.ne.b32 add, %21, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n32k16.f32.f16.f16 {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, "
      "%10, %11, %12, %13, %14, %15}, {%16, %17, %18, %19}, %20, add, 1, 1, 0;\n}"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]),
        "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]),
        "+f"(d[14]), "+f"(d[15])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "n"(kAdd ? 1 : 0));
#endif
}
__device__ __forceinline__ void before_multiplications() {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#endif
}
// Ends those begun since; results are named so that nobody reads them before.
__device__ __forceinline__ void end_multiplications(GroupResult* one, GroupResult* two) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
  float(&d)[16] = one->d;
  float(&f)[16] = two->d;
  asm volatile("wgmma.wait_group.sync.aligned 0;"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]),
                 "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]),
                 "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(f[0]), "+f"(f[1]), "+f"(f[2]),
                 "+f"(f[3]), "+f"(f[4]), "+f"(f[5]), "+f"(f[6]), "+f"(f[7]), "+f"(f[8]), "+f"(f[9]),
                 "+f"(f[10]), "+f"(f[11]), "+f"(f[12]), "+f"(f[13]), "+f"(f[14]),
                 "+f"(f[15])::"memory");
#endif
}

// ---- strips ------------------------------------------------------------------------------------

// Starts to copy a strip of points to shared memory; wait_for_strips<k> returns when all but the
// last k of those started have come, to this thread's parts, and wgmma may read them.
template <int C, int kThreads>
__device__ __forceinline__ void start_strip(const char* from, char* to) {
  constexpr int kPieces = GramLayout<C>::kStripBytes / 16;
  static_assert(kPieces % kThreads == 0);
#if __CUDA_ARCH__ >= 800
  const int thread = static_cast<int>(threadIdx.x);
  const auto address = static_cast<unsigned>(__cvta_generic_to_shared(to + 16 * thread));
  const char* source = from + 16 * thread;
#pragma unroll
  for (int k = 0; k < kPieces / kThreads; ++k)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(address + 16 * k * kThreads),
                 "l"(source + 16 * k * kThreads));
  asm volatile("cp.async.commit_group;");
#endif
}
template <int kLeft>
__device__ __forceinline__ void wait_for_strips() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_group %0;" ::"n"(kLeft) : "memory");
#endif
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
}

// ---- exponents ---------------------------------------------------------------------------------

// 16 rows as the left sides of products.
template <int C>
struct RowTile {
  using L = GramLayout<C>;
  // u and v as fragments, two numbers for each eight coordinates; and what meets the blocks of
  // norms: 1, 1 and the row's own.
  unsigned high[C / 4], low[C / 4], norm[2], rest[2];

  // row0: of the first of the 16, a multiple of 8 from where points begin.
  __device__ __forceinline__ void load(const char* row0) {
    constexpr unsigned kOnes = 0x3c003c00;
    const int g = static_cast<int>(threadIdx.x) % 32 / 4, t = static_cast<int>(threadIdx.x) % 4;
    const auto word = [&](int half, int block, int w) {
      return *reinterpret_cast<const unsigned*>(row0 + half * L::kGroupBytes + block * 128 +
                                                g * 16 + w * 4);
    };
#pragma unroll
    for (int half = 0; half < 2; ++half) {
#pragma unroll
      for (int k = 0; k < C / 8; ++k) {
        high[2 * k + half] = word(half, L::kHigh + k, t);
        low[2 * k + half] = word(half, L::kLow + k, t);
      }
      norm[half] = t == 0 ? kOnes : t == 1 ? word(half, L::kNorm, 0) : 0;
      rest[half] = t == 0 ? kOnes : t == 1 ? word(half, L::kRest, 0) : 0;
    }
  }

  // f(left side, number of the block of the first eight of the right side, distance of the block of
  // the others, whether it is the first): the products of either sum.
  template <typename F>
  __device__ __forceinline__ void exact_products(const F& f) const {
    if constexpr (C == 16) {
      f(high, L::kHigh, 1, std::true_type());
      const unsigned norms[4] = {norm[0], norm[1], 0, 0};
      f(norms, L::kNorm, 1, std::false_type());
    } else {
      const unsigned both[4] = {high[0], high[1], norm[0], norm[1]};
      f(both, L::kHigh, L::kNorm - L::kHigh, std::true_type());
    }
  }
  template <typename F>
  __device__ __forceinline__ void rest_products(const F& f) const {
    if constexpr (C == 16) {
      // The smallest first: with a point itself all of its terms have one sign, and beside greater
      // ones their truncation would be a bias.
      const unsigned norms[4] = {0, 0, rest[0], rest[1]};
      f(low, L::kLow, 1, std::true_type());
      f(norms, L::kNorm, 1, std::false_type());
      f(high, L::kLow, 1, std::false_type());
      f(low, L::kHigh, 1, std::false_type());
    } else {
      const unsigned norms[4] = {low[0], low[1], rest[0], rest[1]};
      f(norms, L::kLow, L::kRest - L::kLow, std::true_type());
      const unsigned both[4] = {low[0], low[1], high[0], high[1]};
      f(both, L::kHigh, L::kLow - L::kHigh, std::false_type());
    }
  }
};

// E of kRowTiles times 16 rows and 16 columns: e[m][k] of tile m and columns 8 k to 8 k + 7.
template <int C, int kRowTiles>
__device__ __forceinline__ void exponents(const RowTile<C> (&rows)[kRowTiles], const char* columns,
                                          int lane, float (&e)[kRowTiles][2][4]) {
  using L = GramLayout<C>;
  // Eight columns' blocks as right sides.
  unsigned b[2][L::kBlocks];
#pragma unroll
  for (int k = 0; k < 2; ++k) {
    unsigned four[4];
    load_matrices(four, columns + k * L::kGroupBytes + lane * 16);
#pragma unroll
    for (int p = 0; p < 4; ++p) b[k][p] = four[p];
  }
  if constexpr (C == 16) {
    unsigned four[4];
    load_matrices(four, columns + lane / 16 * L::kGroupBytes + 4 * 128 + lane % 16 * 16);
    b[0][4] = four[0], b[0][5] = four[1], b[1][4] = four[2], b[1][5] = four[3];
  }
  float rest[kRowTiles][2][4] = {};
#pragma unroll
  for (int k = 0; k < 2; ++k) {
#pragma unroll
    for (int m = 0; m < kRowTiles; ++m) {
#pragma unroll
      for (int p = 0; p < 4; ++p) e[m][k][p] = 0;
      rows[m].exact_products([&](const unsigned(&a)[4], int block, int next, auto) {
        multiply(e[m][k], a, b[k][block], b[k][block + next]);
      });
      rows[m].rest_products([&](const unsigned(&a)[4], int block, int next, auto) {
        multiply(rest[m][k], a, b[k][block], b[k][block + next]);
      });
#pragma unroll
      for (int p = 0; p < 4; ++p) e[m][k][p] += rest[m][k][p];
    }
  }
}

// Calls use(j, e, second) for the 16 columns from j on of a strip, j = 0, 16, ..., `second` being
// false and true in turn, as constants.
template <int C, bool kGroups, int kRowTiles, typename F>
__device__ __forceinline__ void for_exponents(const RowTile<C> (&rows)[kRowTiles],
                                              const char* columns, int lane, const F& use) {
  using L = GramLayout<C>;
  if constexpr (kGroups) {
    static_assert(kRowTiles == 1);
    const auto address = static_cast<std::uint64_t>(__cvta_generic_to_shared(columns));
    constexpr std::uint64_t kStride = std::uint64_t{L::kGroupBytes / 16} << 32U;
#pragma unroll 1
    for (int j = 0; j < kGramStrip; j += 32) {
      const std::uint64_t at = (address + j / 8 * L::kGroupBytes) / 16 + kStride;
      GroupResult exact, rest;
      before_multiplications();
      rows[0].exact_products([&](const unsigned(&a)[4], int block, int next, auto is_first) {
        begin_multiply<!decltype(is_first)::value>(
            &exact, a, at + block * 8 + (static_cast<std::uint64_t>(next) * 8 << 16U));
      });
      rows[0].rest_products([&](const unsigned(&a)[4], int block, int next, auto is_first) {
        begin_multiply<!decltype(is_first)::value>(
            &rest, a, at + block * 8 + (static_cast<std::uint64_t>(next) * 8 << 16U));
      });
      end_multiplications(&exact, &rest);
      float e[2][1][2][4];
#pragma unroll
      for (int p = 0; p < 16; ++p) e[p / 8][0][p / 4 % 2][p % 4] = exact.d[p] + rest.d[p];
      use(j, e[0], std::false_type());
      use(j + 16, e[1], std::true_type());
    }
  } else {
#pragma unroll 1
    for (int j = 0; j < kGramStrip; j += 32) {
      float e[kRowTiles][2][4];
      exponents<C, kRowTiles>(rows, columns + j / 8 * L::kGroupBytes, lane, e);
      use(j, e, std::false_type());
      exponents<C, kRowTiles>(rows, columns + (j / 8 + 2) * L::kGroupBytes, lane, e);
      use(j + 16, e, std::true_type());
    }
  }
}

}  // namespace kde::cuda
