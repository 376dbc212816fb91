// The passage between a `kde` datum and the core's bytes, and what is checked on it.
#include "pg/type/density_datum.h"

#include "core/kde.h"

#include <cstring>

namespace kde_pg {

namespace {

// Whether all of a density's parts are within its `size` bytes and its enumerations are known, as
// reads of them rely on.
bool fits(const kde::Header* header, Size size) {
  if (size < sizeof(kde::Header) || size > kde::kMostDensityBytes ||
      static_cast<int>(header->value_type) >= kde::kValueTypes ||
      static_cast<int>(header->method) >= kde::kMethods)
    return false;
  return size == kde::density_size(header, size);
}

[[noreturn]] void raise_corrupted() {
  ereport(ERROR, (errcode(ERRCODE_DATA_CORRUPTED),
                  errmsg("kde value is corrupted: its length does not fit its contents")));
  pg_unreachable();
}

void check_format(const kde::Header* header, Size size) {
  // These fields have their place in every version.
  constexpr Size kPrefix = offsetof(kde::Header, flags);
  if (size < kPrefix)
    ereport(ERROR, (errcode(ERRCODE_DATA_CORRUPTED), errmsg("kde value is too short")));
  if (header->version != kde::kFormatVersion)
    ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                    errmsg("density of format version %d is not supported", header->version),
                    errhint("Install a newer version of the kde_aqp extension.")));
  if (header->kind == kde::Kind::joint) {
    if (!kde::joint_fits(header, size)) raise_corrupted();
    return;
  }
  if (header->kind != kde::Kind::one_column)
    ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                    errmsg("density of kind %d is not supported", static_cast<int>(header->kind)),
                    errhint("Install a newer version of the kde_aqp extension.")));
  if (!fits(header, size)) raise_corrupted();
}

// The bytes of a datum in a known format. The fields up to the kind have their place in every kind.
const kde::Header* checked(Datum datum, bool* copied) {
  struct varlena* bytes = PG_DETOAST_DATUM(datum);
  if (copied != nullptr) *copied = reinterpret_cast<char*>(bytes) != DatumGetPointer(datum);
  const auto* header = reinterpret_cast<const kde::Header*>(bytes);
  check_format(header, VARSIZE(bytes));
  return header;
}

}  // namespace

AnyDensity any_density_from_datum(Datum datum) {
  return cached_any_density(reinterpret_cast<const struct varlena*>(checked(datum, nullptr)));
}

AnyDensity cached_any_density(const struct varlena* value) {
  const auto* header = reinterpret_cast<const kde::Header*>(value);
  if (header->kind == kde::Kind::joint)
    return {nullptr, reinterpret_cast<const kde::JointHeader*>(header)};
  return {header, nullptr};
}

void raise_several_columns() {
  ereport(ERROR,
          (errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("the density is of several columns"),
           errdetail("What is asked for is of one column."),
           errhint("Name one column, as in 'table.column'. Of several there are approx_count, "
                   "approx_sum, approx_avg, approx_variance and approx_stddev.")));
  pg_unreachable();
}

const kde::Header* density_from_datum(Datum datum, bool* copied) {
  const kde::Header* header = checked(datum, copied);
  if (header->kind == kde::Kind::joint) raise_several_columns();
  return header;
}

Datum density_to_datum(const void* bytes, Size size) {
  void* datum = palloc(size);
  std::memcpy(datum, bytes, size);
  SET_VARSIZE(datum, size);
  return PointerGetDatum(datum);
}

const char* kind_name(const kde::Header& density) {
  return (density.flags & kde::kFitted) != 0 ? "fitted" : "aggregated";
}

}  // namespace kde_pg
