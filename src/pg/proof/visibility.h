// Internal to src/pg/proof. How many blocks of a table are not proven to be as they were: by the
// visibility map, and by blocks' own headers.
#pragma once

#include "pg/base/pg.h"

#include "core/kde.h"

extern "C" {
#include "access/xlogdefs.h"
#include "storage/block.h"
#include "utils/relcache.h"
}

namespace kde_pg {

// Of a proof (proof.h).
struct Noted {
  XLogRecPtr lsn;
  bool all_set, all_ended;
};

// Headers that a judgement reads.
struct Headers {
  int64 left;
  int pages;             // of the map, of whose blocks it may read all: they are remembered
  bool all_or_nothing;   // none where they cannot prove that nothing changed
  int share = 20;        // pages are read in one of so many parts of a session's time
  bool put_off = false;  // out: others are left for the next time
};
inline constexpr Headers kHeadersOfAnswer = {4096, 1, false};
// Where the exact plan would read the blocks themselves, which costs ten times as much.
inline constexpr Headers kHeadersOfRest = {4096, 32, false, 0};
inline constexpr Headers kAllHeaders = {PG_INT64_MAX, 0, true};
inline constexpr Headers kNoHeaders = {0, 0, true};

// What was looked at.
struct Sum {
  double rows = 0, unproven = 0, blocks = 0, added = 0;
  double stamped = 0, clear = 0;  // before headers are read
  bool put_off = false;           // headers, to the next look
};

// Of the first blocks those that are not proven. What headers proved of a page of the map is
// remembered until it is stamped again.
double count_unproven(Relation rel, BlockNumber blocks, const Noted& proof, Headers* headers,
                      Sum* sum);

// Calls visit(block) for each of the first blocks that is not proven, until it returns false, as
// far as count_unproven() has read headers of blocks whose bits are set, and, read_clear, by those of
// all others. Whether it never did. visit: reads no map.
bool for_unproven(Relation rel, BlockNumber blocks, const Noted& proof, bool read_clear,
                  kde::FunctionRef<bool(BlockNumber)> visit);

// Of the first blocks those whose bits are clear.
BlockNumber count_clear(Relation rel, BlockNumber blocks);

// Line pointers of blocks: no snapshot sees more rows in them.
double count_line_pointers(Relation rel, BlockNumber first, BlockNumber end);

}  // namespace kde_pg
