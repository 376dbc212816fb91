// What kde_check() finds: problems, each of a severity and with the command that mends it.
#pragma once

#include "pg/base/pg.h"

extern "C" {
#include "datatype/timestamp.h"
#include "utils/snapshot.h"
}

namespace kde_pg {

enum class Severity { ok, notice, warning, error };
const char* severity_name(Severity severity);

struct Finding {
  Severity severity;
  const char* problem;  // a line
  const char* action;   // a line: a command, and behind "-- " what SQL cannot do
};

class Findings {
 public:
  // palloc'ed or constant texts.
  void add(Severity severity, const char* problem, const char* action);

  // Finding*, the worst first, else in the order of add().
  List* sorted() const;
  Severity worst() const;

 private:
  List* all_ = NIL;
};

// Of the server and the extension as a whole. Queries nothing. False: the catalog is of another
// version, and what is in it is not to be looked at.
bool find_in_server(Findings* findings);

// Whether a background worker can be expected to refresh what is stale. Of densities that may be
// refreshed: when the oldest was fitted; DT_NOEND where there is none.
bool has_background_refreshes();
void find_in_launcher(TimestampTz oldest_fit, Findings* findings);

// Of the densities that the current user may read. How many there are; *oldest_fit: of those that
// may be refreshed, as above.
int find_in_densities(Snapshot snapshot, Findings* findings, TimestampTz* oldest_fit);

}  // namespace kde_pg
