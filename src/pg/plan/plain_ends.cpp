// See plain_ends.h. The functions return their argument: what a density knows better takes the
// whole call's place in the plan (plain_plan.h).
#include "pg/plan/plain_ends.h"

extern "C" {
#include "access/transam.h"
#include "nodes/nodeFuncs.h"
}

KDE_FUNCTION(kde_approx_lower) { PG_RETURN_DATUM(PG_GETARG_DATUM(0)); }
KDE_FUNCTION(kde_approx_upper) { PG_RETURN_DATUM(PG_GETARG_DATUM(0)); }

namespace kde_pg {

PlainEnd end_asked(Node* node) {
  if (!IsA(node, FuncExpr) || list_length(castNode(FuncExpr, node)->args) != 1 ||
      castNode(FuncExpr, node)->funcid < FirstNormalObjectId)
    return PlainEnd::none;
  FmgrInfo function;
  fmgr_info(castNode(FuncExpr, node)->funcid, &function);
  return function.fn_addr == kde_approx_lower   ? PlainEnd::lower
         : function.fn_addr == kde_approx_upper ? PlainEnd::upper
                                                : PlainEnd::none;
}

}  // namespace kde_pg
