// What is kept beside a density so that rows appended later can be added to its sample: the
// sampler's state, how far the table was read, and what the statistics said then. One bytea in
// kde_aqp.upkeep; it holds sampled values.
#pragma once

#include "pg/read/high_water.h"

#include "core/density/format.h"

extern "C" {
#include "access/attnum.h"
}

namespace kde_pg {

enum class AppendMode : uint8 { block, key };

struct AppendState {
  AppendMode mode = AppendMode::block;
  kde::ValueType value_type = kde::ValueType::float8;
  // Of the fit, >= 1: blocks read of how many. Equal: every row was read, and is to be.
  int64 blocks_read = 1, blocks_total = 1;
  int64 offered = 0;  // of mode block: blocks whose rows were appended, read or not, since the fit
  int64 found = 0;    // rows appended since the fit, as the reading counted them
  int64 block_rows = 0;  // of mode block: appended rows of one block at most
  Counters counters;     // at the fit; of leaves that came later, when they came
  HighWater marks;       // of mode block
  // Of mode key: the greatest seen, as text; null: there was no row.
  AttrNumber key = InvalidAttrNumber;
  const char* greatest = nullptr;
  // The bytes of kde::Sampler::save().
  const uint8* sampler = nullptr;
  Size sampler_size = 0;

  bool every_row() const { return blocks_read == blocks_total; }
};

// Null if it would be larger than a value can be.
bytea* append_state_to_bytea(const AppendState& state);

// False if these are not the bytes of such a state. Points into `bytes`; the rest is palloc'ed.
// The sampler's own bytes are not looked into.
bool append_state_from_bytea(bytea* bytes, AppendState* state);

}  // namespace kde_pg
