// Internal to src/pg/plain_sql: what the path and the node of rest.h share.
#pragma once

#include "pg/plain_sql/rest.h"

extern "C" {
#include "nodes/extensible.h"
}

namespace kde_pg {

inline constexpr const char* kRestName = "KdeAqpRest";
extern const CustomScanMethods rest_scan_methods;

}  // namespace kde_pg
