// See labels.h.
#include "pg/plot/labels.h"

extern "C" {
#include "mb/pg_wchar.h"
}

#include <algorithm>
#include <cmath>

namespace kde_pg {

namespace {

using kde::ValueType;
using Of = RoundStep::Of;

constexpr int kDots = 3;

// Of one character, which XML has no place for.
bool is_noncharacter(const char* at, int bytes) {
  return GetDatabaseEncoding() == PG_UTF8 && bytes == 3 && at[0] == '\xEF' && at[1] == '\xBF' &&
         (at[2] == '\xBE' || at[2] == '\xBF');
}

// Its columns; a character without a place is given up for a blank.
int columns_of(const char* at, int bytes) {
  const int columns = pg_encoding_dsplen(GetDatabaseEncoding(), at);
  return columns < 0 || is_noncharacter(at, bytes) ? -1 : columns;
}

// As the calendar of the session's time zone has it. False where the type has no such value.
bool civil_time(ValueType type, double x, pg_tm* tm, fsec_t* fraction) {
  Datum value;
  if (!try_double_to_value(type == ValueType::date ? ValueType::timestamp : type, x, &value))
    return false;
  int zone;
  const char* name;
  return timestamp2tm(DatumGetTimestamp(value), type == ValueType::timestamptz ? &zone : nullptr,
                      tm, fraction, type == ValueType::timestamptz ? &name : nullptr, nullptr) == 0;
}

// A time of day, to the digits that there are.
char* clock_text(const pg_tm& tm, fsec_t fraction) {
  if (fraction == 0 && tm.tm_sec == 0) return psprintf("%02d:%02d", tm.tm_hour, tm.tm_min);
  if (fraction == 0) return psprintf("%02d:%02d:%02d", tm.tm_hour, tm.tm_min, tm.tm_sec);
  char* text =
      psprintf("%02d:%02d:%02d.%06d", tm.tm_hour, tm.tm_min, tm.tm_sec, static_cast<int>(fraction));
  for (char* end = text + strlen(text) - 1; *end == '0'; --end) *end = '\0';
  return text;
}

char* tick_text(ValueType type, double x, const RoundStep& step) {
  const bool has_calendar =
      type == ValueType::date || type == ValueType::timestamp || type == ValueType::timestamptz;
  pg_tm tm;
  fsec_t fraction;
  if (type == ValueType::time) {
    int64 us = std::llround(x * 1e6);
    tm.tm_hour = static_cast<int>(us / USECS_PER_HOUR);
    tm.tm_min = static_cast<int>(us % USECS_PER_HOUR / USECS_PER_MINUTE);
    tm.tm_sec = static_cast<int>(us % USECS_PER_MINUTE / USECS_PER_SEC);
    return clock_text(tm, static_cast<fsec_t>(us % USECS_PER_SEC));
  }
  if (!has_calendar || !civil_time(type, x, &tm, &fraction) || tm.tm_year <= 0)
    return place_to_text(type, x);
  const bool at_midnight = tm.tm_hour == 0 && tm.tm_min == 0 && tm.tm_sec == 0 && fraction == 0;
  if (step.of == Of::seconds && !at_midnight) return clock_text(tm, fraction);
  if (step.of == Of::years) return psprintf("%d", tm.tm_year);
  if (step.of == Of::months) return psprintf("%d-%02d", tm.tm_year, tm.tm_mon);
  return psprintf("%d-%02d-%02d", tm.tm_year, tm.tm_mon, tm.tm_mday);
}

// Whether each label has room beside the one before it.
bool have_room(const AxisTicks& axis, double columns_a_unit) {
  constexpr double kBetween = 3;
  for (int i = 1; i < axis.count; ++i) {
    const kde::Tick& a = axis.ticks[i - 1];
    const kde::Tick& b = axis.ticks[i];
    if ((b.at - a.at) * columns_a_unit < (a.label.width + b.label.width) / 2.0 + kBetween)
      return false;
  }
  return true;
}

AxisTicks ticks_of(ValueType type, double lower, double upper, const RoundBins& wanted) {
  AxisTicks out = {nullptr, 0, {Of::numbers, 0, nullptr}};
  int bins;
  const double* edges = round_edges(type, wanted, &bins, &out.step);
  if (edges == nullptr) return out;
  out.ticks = static_cast<kde::Tick*>(palloc(sizeof(kde::Tick) * (bins + 1)));
  for (int i = 0; i <= bins; ++i) {
    if (edges[i] < lower || edges[i] > upper) continue;
    constexpr int kMostLabel = 40;
    out.ticks[out.count++] = {edges[i], label_of(tick_text(type, edges[i], out.step), kMostLabel)};
  }
  return out;
}

}  // namespace

kde::Label label_of(std::string_view text, int most) {
  StringInfoData out;
  initStringInfo(&out);
  int columns = 0;
  int cut = 0;  // where dots still have room
  int cut_columns = 0;
  const char* end = text.data() + text.size();
  for (const char* at = text.data(); at < end;) {
    const int bytes = std::min<int>(pg_mblen(at), static_cast<int>(end - at));
    int width = columns_of(at, bytes);
    if (columns <= most - kDots) {
      cut = out.len;
      cut_columns = columns;
    }
    if (columns + std::max(width, 1) > most && width != 0) {
      out.len = cut;
      out.data[cut] = '\0';
      appendStringInfoString(&out, "...");
      columns = cut_columns + kDots;
      break;
    }
    if (width < 0) {
      appendStringInfoChar(&out, ' ');
      width = 1;
    } else {
      appendBinaryStringInfo(&out, at, bytes);
    }
    columns += width;
    at += bytes;
  }
  return {std::string_view(out.data, out.len), columns};
}

AxisTicks round_ticks(ValueType type, double lower, double upper, double lattice_step,
                      int characters) {
  constexpr int kLeastRoom = 3, kMostTicks = 200;
  AxisTicks best = {nullptr, 0, {Of::numbers, 0, nullptr}};
  for (int n = std::clamp(characters / kLeastRoom, 1, kMostTicks);; n = n * 3 / 4) {
    const RoundBins wanted = {lower, upper, true, std::max(n, 1), kMostTicks * 2, lattice_step};
    const AxisTicks ticks = ticks_of(type, lower, upper, wanted);
    if (best.count == 0 || ticks.count > 0) best = ticks;
    if (n <= 1 || (ticks.count > 0 && have_room(ticks, characters / (upper - lower)))) return best;
  }
}

}  // namespace kde_pg
