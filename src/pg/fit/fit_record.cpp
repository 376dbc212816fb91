// What kde_fit returns: few columns, in units to be read.
#include "pg/fit/fit_record.h"

#include "pg/values/result_set.h"
#include "pg/catalog/short_model.h"

#include <cmath>

namespace kde_pg {

namespace {

// Of at least two digits; the largest unit of which there are two, as pg_size_pretty takes it.
const char* duration_text(double ms) {
  if (ms < 9.95) return psprintf("%.1f ms", ms);
  if (ms < 9999.5) return psprintf("%.0f ms", ms);
  if (ms < 600e3) return psprintf("%.0f s", ms / 1e3);
  return psprintf("%.0f min", ms / 60e3);
}

}  // namespace

Datum model_text(const DensityFit& fit) {
  const char* model = fit.record.model;
  return CStringGetTextDatum(model != nullptr ? short_model(model) : fit.method);
}

Datum size_text(const DensityFit& fit) {
  return DirectFunctionCall1(pg_size_pretty, Int64GetDatum(static_cast<int64>(fit.bytes)));
}

Datum took_text(const DensityFit& fit) {
  const FitRecord& r = fit.record;
  return CStringGetTextDatum(duration_text(r.scan_ms + r.select_ms + r.estimate_ms));
}

double whole_rows(const DensityFit& fit) { return std::round(fit.rows); }

Datum fit_record(FunctionCallInfo fcinfo, const DensityKey& key, const DensityFit& fit) {
  return record_of(fcinfo, density_name(key), model_text(fit), whole_rows(fit),
                   fit.record.rows_read, fit.expected_error, size_text(fit), took_text(fit),
                   fit.record.request.seed);
}

}  // namespace kde_pg
