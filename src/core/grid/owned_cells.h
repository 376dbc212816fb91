// GridCells that own their memory, of malloc: those of a scan.
#pragma once

#include "core/grid/grid_cells.h"

#include <cstdlib>

namespace kde {

class OwnedGridCells {
 public:
  OwnedGridCells(Chain chain, int measures, std::size_t most = kMostGridCells)
      : cells_(Memory{&allocate, &release, nullptr}, chain, measures, most) {}
  OwnedGridCells(const OwnedGridCells&) = delete;
  OwnedGridCells& operator=(const OwnedGridCells&) = delete;
  ~OwnedGridCells() { cells_.release(); }

  GridCells& operator*() { return cells_; }
  GridCells* operator->() { return &cells_; }

 private:
  static void* allocate(void* /*context*/, std::size_t bytes) { return std::malloc(bytes); }
  static void release(void* /*context*/, void* chunk) { std::free(chunk); }

  GridCells cells_;
};

}  // namespace kde
