// Whether this process was asked to cancel: by a session, by a timeout, by whom it keeps waiting.
//
// PostgreSQL forgets a request when it raises the error for it, and an error of the same SQLSTATE
// may be raised by any function. But every request comes by SIGINT, so that one who counts these
// knows whether there was any.
#pragma once

#include "pg/base/pg.h"

namespace kde_pg {

// May be nested. Trivially destructible: whoever begins must catch what is raised, and end.
class CancelWatch {
 public:
  void begin();
  void end();
  // Whether a request came between the two; also after end().
  bool requested() const { return requested_; }

 private:
  unsigned before_ = 0;
  bool requested_ = false;
};

}  // namespace kde_pg
