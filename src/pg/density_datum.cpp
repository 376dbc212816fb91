// The passage between a `kde` datum and the core's bytes; see density_datum.h.
#include "pg/density_datum.h"

#include <cstring>

namespace kde_pg {

namespace {

void check_format(const kde::Header* header, Size size) {
  // These fields have their place in every version.
  constexpr Size kPrefix = offsetof(kde::Header, flags);
  if (size < kPrefix)
    ereport(ERROR, (errcode(ERRCODE_DATA_CORRUPTED), errmsg("kde value is too short")));
  if (header->version != kde::kFormatVersion)
    ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                    errmsg("density of format version %d is not supported", header->version),
                    errhint("Install a newer version of the kde_aqp extension.")));
  if (header->kind != kde::Kind::one_column || static_cast<int>(header->kernel) >= kde::kKernels)
    ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                    errmsg("density of kind %d with kernel %d is not supported",
                           static_cast<int>(header->kind), static_cast<int>(header->kernel)),
                    errhint("Install a newer version of the kde_aqp extension.")));
  // Counts are bounded first, so that density_size cannot overflow.
  if (size < sizeof(kde::Header) || size > kde::kMaxBytes || header->atoms > kde::kMaxBytes ||
      header->knots > kde::kMaxBytes || header->knots == 1 ||
      size != kde::density_size(header->atoms, header->knots, header->lattice_atoms()) ||
      static_cast<int>(header->value_type) >= kde::kValueTypes)
    ereport(ERROR, (errcode(ERRCODE_DATA_CORRUPTED),
                    errmsg("kde value is corrupted: its length does not fit its contents")));
}

}  // namespace

const kde::Header* density_from_datum(Datum datum, bool* copied) {
  struct varlena* bytes = PG_DETOAST_DATUM(datum);
  if (copied != nullptr) *copied = reinterpret_cast<char*>(bytes) != DatumGetPointer(datum);
  const auto* header = reinterpret_cast<const kde::Header*>(bytes);
  check_format(header, VARSIZE(bytes));
  return header;
}

Datum density_to_datum(const void* bytes, Size size) {
  void* datum = palloc(size);
  std::memcpy(datum, bytes, size);
  SET_VARSIZE(datum, size);
  return PointerGetDatum(datum);
}

const char* kind_name(const kde::Header& density) {
  return density.kind == kde::Kind::histogram ? "aggregated" : "fitted";
}

}  // namespace kde_pg
