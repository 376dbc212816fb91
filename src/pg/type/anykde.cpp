// Input, output and casts of the SQL type `anykde`.
//
// Text form: that of a `kde` where it begins as one (`\x`, which no name does unquoted), else the name
// itself. Binary form: that of a `kde` where its first byte is a version, else the name.
#include "pg/type/anykde.h"

#include "pg/type/density_datum.h"

extern "C" {
#include "libpq/pqformat.h"
}

#include <cstring>

extern "C" {
Datum kde_in(PG_FUNCTION_ARGS);
Datum kde_out(PG_FUNCTION_ARGS);
Datum kde_recv(PG_FUNCTION_ARGS);
Datum kde_send(PG_FUNCTION_ARGS);
}

namespace kde_pg {

namespace {

// What no text that is meant as a name begins with: a space is the least character that may.
bool begins_a_name(char first) { return static_cast<unsigned char>(first) >= ' '; }

bool begins_a_value(const char* text) { return std::strncmp(text, "\\x", 2) == 0; }

}  // namespace

text* name_in(Datum datum) {
  // A value is told by its first byte, without fetching the rest of it.
  auto* bytes = reinterpret_cast<struct varlena*>(DatumGetPointer(datum));
  if (VARATT_IS_EXTENDED(bytes))
    bytes = reinterpret_cast<struct varlena*>(PG_DETOAST_DATUM_SLICE(datum, 0, 1));
  if (VARSIZE_ANY_EXHDR(bytes) > 0 && !begins_a_name(*VARDATA_ANY(bytes))) return nullptr;
  return DatumGetTextPP(datum);
}

}  // namespace kde_pg

// anykde_in(cstring) -> anykde. Errors: those of kde_in for a value's text; 42602 for a text that
// is neither.
KDE_EXPORT(anykde_in);
Datum anykde_in(PG_FUNCTION_ARGS) {
  const char* input = PG_GETARG_CSTRING(0);
  if (kde_pg::begins_a_value(input)) return kde_in(fcinfo);
  if (*input != '\0' && !kde_pg::begins_a_name(*input))
    ereturn(fcinfo->context, static_cast<Datum>(0),
            (errcode(ERRCODE_INVALID_NAME), errmsg("invalid density name \"%s\"", input)));
  PG_RETURN_TEXT_P(cstring_to_text(input));
}

// anykde_out(anykde) -> cstring.
KDE_EXPORT(anykde_out);
Datum anykde_out(PG_FUNCTION_ARGS) {
  text* name = kde_pg::name_in(PG_GETARG_DATUM(0));
  if (name == nullptr) return kde_out(fcinfo);
  PG_RETURN_CSTRING(text_to_cstring(name));
}

// anykde_recv(internal) -> anykde. Errors: those of kde_recv and of text.
KDE_EXPORT(anykde_recv);
Datum anykde_recv(PG_FUNCTION_ARGS) {
  auto* message = reinterpret_cast<StringInfo>(PG_GETARG_POINTER(0));
  if (message->cursor < message->len && !kde_pg::begins_a_name(message->data[message->cursor]))
    return kde_recv(fcinfo);
  return textrecv(fcinfo);
}

// anykde_send(anykde) -> bytea.
KDE_EXPORT(anykde_send);
Datum anykde_send(PG_FUNCTION_ARGS) {
  if (kde_pg::name_in(PG_GETARG_DATUM(0)) == nullptr) return kde_send(fcinfo);
  return textsend(fcinfo);
}

// The cast from text; one that is a value's text is read as that.
KDE_EXPORT(anykde_of_text);
Datum anykde_of_text(PG_FUNCTION_ARGS) {
  text* name = PG_GETARG_TEXT_PP(0);
  const Size length = VARSIZE_ANY_EXHDR(name);
  if (length >= 2 && kde_pg::begins_a_value(VARDATA_ANY(name)))
    return DirectFunctionCall1(kde_in, CStringGetDatum(text_to_cstring(name)));
  if (length > 0 && !kde_pg::begins_a_name(*VARDATA_ANY(name)))
    ereport(ERROR, (errcode(ERRCODE_INVALID_NAME),
                    errmsg("invalid density name \"%s\"", text_to_cstring(name)),
                    errhint("Write 'table.column' or 'table (column, ...)'.")));
  PG_RETURN_TEXT_P(name);
}

// The cast from regclass, which is none: Error 42804 with the form that was meant.
KDE_EXPORT(anykde_of_regclass);
Datum anykde_of_regclass(PG_FUNCTION_ARGS) {
  const char* table =
      DatumGetCString(DirectFunctionCall1(regclassout, ObjectIdGetDatum(PG_GETARG_OID(0))));
  const char* column = quote_literal_cstr(psprintf("%s.column", table));
  ereport(ERROR,
          (errcode(ERRCODE_DATATYPE_MISMATCH), errmsg("a table is no density: \"%s\"", table),
           errhint("Name table and column in one text, as %s, or pass the value kde_density(%s, "
                   "'column').",
                   column, quote_literal_cstr(table))));
  PG_RETURN_NULL();
}
