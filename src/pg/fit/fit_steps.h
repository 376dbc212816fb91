// The steps that fits of one column and of several have in common, before and after the core's
// work.
#pragma once

#include "pg/catalog/catalog.h"
#include "pg/catalog/expression.h"
#include "pg/progress/progress.h"
#include "pg/read/scan.h"

extern "C" {
#include "portability/instr_time.h"
}

namespace kde_pg {

// Milliseconds since `start`.
double elapsed_ms(instr_time start);

// Refuses to write on a standby, in a read-only transaction, in parallel mode.
void check_may_write(const char* function);

// Of 53 bits, so that it survives clients that read numbers as doubles.
int64 random_seed();

// Arguments 2 to 4 of both forms of kde_fit: method, sample_rows, seed; those that are
// max_relative_error and name. `exact` is false. Errors: 22023; 42602 for a name that is none.
FitRequest read_asked(FunctionCallInfo fcinfo, int seed_argument, int max_error_argument,
                      int name_argument);

// Argument n, a name of a density's own; null: none. Error 42602 for what is none.
const char* read_alias(FunctionCallInfo fcinfo, int n);

// Argument `n`, of type kde_aqp.names: columns and expressions of a relation, text[]; null: none.
// argument: its name. Errors: those of names_list() and check_words().
ArrayType* names_argument(FunctionCallInfo fcinfo, int n, Oid relation, const char* argument);
// Argument `n`, an array, or null: also where the extension is still of a version without it.
ArrayType* array_argument(FunctionCallInfo fcinfo, int n);

// Argument `n`, or null.
text* text_argument(FunctionCallInfo fcinfo, int n);

// Bytes of a density of one column that knows every row, at most.
Size density_bytes(const FitRequest& asked);

// Bytes that maintenance_work_mem allows a fit.
Size memory_limit();
// Error 54000 if a sample of so many rows, at so many bytes each, is beyond it; with `hint`.
void check_sample_fits(int64 rows, Size bytes_per_row, const char* hint);

// Opens and locks a relation until the transaction ends. Error 42P01.
Relation open_relation(Oid relation);
// That of a relation of the caller's own. Ownership is checked before the lock, so that nobody
// queues for another's table, and again with it.
Relation open_owned_relation(Oid relation);
// That of a relation that the caller may maintain (check_may_maintain), for a fit; check_may_fit
// has to follow.
Relation open_maintained_relation(Oid relation);

// What a caller who is not the owner may fit (42501): columns, as expressions and filters would run
// his functions with the owner's rights; and such as he may read, as the result tells of them.
void check_may_fit(const DensityKey& key);

// Refuses what can have no density: 42809, 0A000.
void check_kind(Relation relation);

// The types of a key's columns, but for those that groups are by. Error 42804 for one that no
// density can hold.
struct ColumnTypes {
  kde::ValueType value_type[kde::kMaxColumns];
  double lattice_step[kde::kMaxColumns];
};
ColumnTypes check_types(const DensityKey& key);

// By which steps the cells of a key's first column end, as asked for.
kde::Chain chain_of(const DensityKey& key, const FitRequest& asked);
// Refuses (22023) steps that are none, or none of the column's.
void check_steps(const DensityKey& key, const FitRequest& asked);

// Whether a column of a key has values that are no numbers.
bool is_category(const DensityKey& key, int column);

// Rows of the whole table, of a density for `rows` of them. met: as the scan met them, whatever the
// filter; -1: not known, as to the statistics alone, which may have counted rows twice: ANALYZE
// tells them at once, a session what it added later.
double table_rows(const DensityKey& key, const Counters& counters, double met, double rows);

// Error 55000: nothing to fit a density to, and why.
[[noreturn]] void raise_nothing_to_fit(Relation relation, const DensityKey& key,
                                       const char* detail);
// Whether an error is that one, for want of rows. What is NULL in all of them is another.
bool is_nothing_to_fit(const ErrorData& error);

}  // namespace kde_pg
