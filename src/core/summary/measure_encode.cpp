// From sums to the parts of measure_format.h, and back.
#include "core/summary/measure_encode.h"

#include "core/density/checks.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <new>

namespace kde {

namespace {

constexpr double kPowersOfTen[] = {1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6};
// Of a measure's bytes the shares of its parts, before those take what others leave.
constexpr double kShares[kMeasureParts] = {0.3, 0.3, 0.3, 0.1};

// The cells of one part as encode_histogram takes them: those without weight say only where others
// begin.
class PartCells {
 public:
  void add(double value, double weight, bool point) {
    const bool ahead = list_.empty() || list_.back().value < value;
    if (weight > 0) {
      // The first has no width.
      list_.push_back({value, weight, point || list_.empty()});
      total_ += weight;
    } else if (ahead) {
      list_.push_back({value, 0, false});
    }
  }
  const std::vector<HistogramCell>& list() const { return list_; }
  double total() const { return total_; }

 private:
  std::vector<HistogramCell> list_;
  double total_ = 0;
};

class MeasureEncoder {
 public:
  MeasureEncoder(const Summary& rows, const Measures& measures, int k,
                 const MeasureOptions& options, const Header& column)
      : rows_(rows), measures_(measures), k_(k), options_(options), column_(column) {}

  Status run() {
    choose_origin();
    describe();
    list_cells();
    if (!is_finite()) {
      Status s =
          Status::error(Code::out_of_range,
                        "the sum of the squares of measure %d is beyond double precision", k_ + 1);
      s.measure = k_;
      return s;
    }
    return encode();
  }

  // Its bytes: the header's, then the parts'.
  void write(std::vector<char>* out) {
    std::size_t size = sizeof(MeasureHeader);
    for (const DensityBytes& part : parts_) size += aligned(part.size());
    header_.bytes = static_cast<std::uint32_t>(size);
    const std::size_t at = out->size();
    out->resize(at + size, 0);
    char* to = out->data() + at;
    std::memcpy(to, &header_, sizeof header_);
    to += sizeof header_;
    for (const DensityBytes& part : parts_) {
      if (part.size() > 0) std::memcpy(to, part.data(), part.size());
      to += aligned(part.size());
    }
  }

 private:
  // Whether the sums of each part are, of the table's rows too.
  bool is_finite() const {
    for (int p = 0; p < kMeasureParts; ++p) {
      double total = cells_[p].total() * options_.scale;
      for (const Weights& special : special_) total += special.part[p] * options_.scale;
      if (!std::isfinite(total) || !all_finite_) return false;
    }
    return true;
  }

  bool whole() const { return measures_.decimals(k_) <= kDecimals; }

  void choose_origin() {
    const SummaryTotals& t = measures_.totals(k_);
    unit_ = whole() ? 1 / kPowersOfTen[measures_.decimals(k_)] : 1;
    if (!(t.count() > 0)) return;
    origin_ = t.mean();
    if (whole()) {
      const double tens = kPowersOfTen[measures_.decimals(k_)];
      origin_ = std::nearbyint(origin_ * tens) / tens;
    }
    by_ = origin_ - measures_.origin(k_);
  }

  void describe() {
    const SummaryTotals& t = measures_.totals(k_);
    const MeasureFit& fit = options_.fits[static_cast<std::size_t>(k_)];
    MeasureHeader& m = header_;
    m.value_type = fit.value_type;
    m.decimals = static_cast<std::uint8_t>(measures_.decimals(k_));
    m.origin = origin_;
    m.unit = unit_;
    m.scale = options_.scale;
    if (t.count() > 0) {
      m.min = t.min();
      m.max = t.max();
      m.mean = std::clamp(t.mean(), m.min, m.max);
      m.variance = std::min(t.variance(), std::numeric_limits<double>::max());
    }
    m.mean_error = fit.mean_error;
    std::copy(std::begin(fit.mean_variance), std::end(fit.mean_variance),
              std::begin(m.mean_variance));
  }

  // What a row's sums weigh in each part.
  struct Weights {
    double part[kMeasureParts];
  };
  Weights weights_of(const MeasureSums& given) const {
    const MeasureSums s = given.moved(by_);
    double sum = s.sum / unit_;
    double squares = s.squares / unit_ / unit_;
    if (whole()) {
      sum = std::nearbyint(sum);
      squares = std::nearbyint(squares);
    }
    return {{s.rows, std::max(sum, 0.0), std::max(-sum, 0.0), std::max(squares, 0.0)}};
  }

  void list_cells() {
    bool lattice = column_.lattice_step > 0;
    // How far rows that are not known one by one may be off: in rows, and in sums by Cauchy's and
    // Schwarz's inequality, |sum of k of n rows' y| <= sqrt(n sum of y^2).
    double before = 0, squares_before = 0;
    double slack_before = 0;
    for (std::size_t i = 0; i < rows_.cells(); ++i) {
      const HistogramCell cell = rows_.cell(i);
      const Weights w = weights_of(measures_.cell(i, k_));
      for (int p = 0; p < kMeasureParts; ++p) {
        all_finite_ = all_finite_ && std::isfinite(w.part[p]);
        cells_[p].add(cell.value, w.part[p], cell.point);
      }
      if (w.part[0] < cell.rows) nulls_ = true;
      const double squares = w.part[static_cast<int>(MeasurePart::squares)];
      const double inside = cell.point ? 0 : cell.rows;
      const double slack = rows_.slack(i);
      const double at = std::sqrt(slack * (squares + squares_before));
      worst_ = std::max(worst_, std::max(before, at) + std::sqrt(inside * squares));
      worst_squares_ =
          std::max(worst_squares_,
                   inside > 0 || slack > 0 || slack_before > 0 ? squares + squares_before : 0);
      before = at;
      squares_before = squares;
      slack_before = slack;
      if (lattice) {
        const double n =
            std::nearbyint((cell.value - column_.lattice_offset) / column_.lattice_step);
        lattice = column_.lattice_point(n) == cell.value;
      }
    }
    lattice_ = lattice;
    const Summary::Specials& s = rows_.specials();
    const double special_rows[kSpecialX] = {s.nans, s.negative_infinities, s.positive_infinities};
    const double times = options_.special_scale / options_.scale;
    for (int x = 0; x < kSpecialX; ++x) {
      special_[x] = weights_of(measures_.special(static_cast<SpecialX>(x), k_));
      if (special_[x].part[0] < special_rows[x]) nulls_ = true;
      for (double& weight : special_[x].part) weight *= times;
    }
    header_.nulls = nulls_;
    header_.slack = measures_.slack(k_);
  }

  Header part_header(MeasurePart part, double total) const {
    Header h = column_;
    h.measures = h.grouped = 0;
    h.atoms = h.blocks = 0;
    h.nulls = 0;
    if (!lattice_) h.lattice_step = h.lattice_offset = h.lattice_scale = 0;
    const auto special = [&](SpecialX x) {
      return special_[static_cast<int>(x)].part[static_cast<int>(part)];
    };
    h.nans = special(SpecialX::nan);
    h.negative_infinities = special(SpecialX::negative_infinity);
    h.positive_infinities = special(SpecialX::positive_infinity);
    h.rows = total + h.nans + h.negative_infinities + h.positive_infinities;
    if (total == 0) h.leave_specials_alone();
    h.known_below = -std::numeric_limits<double>::infinity();
    h.known_above = std::numeric_limits<double>::infinity();
    h.error = 0;
    if (part == MeasurePart::rows) {
      h.sample_rows = std::max(std::min(measures_.totals(k_).count(), column_.sample_rows), 1.0);
      const auto& counts = options_.fits[static_cast<std::size_t>(k_)].counts;
      if (counts && h.rows > 0) {
        Header table = h;
        table.rows = h.rows * options_.scale;
        counts->describe(&table);
        h.rows_variance = table.rows_variance;
        h.end_variance = table.end_variance;
        std::copy_n(&table.count_variance[0][0], kShapes * kErrorScales, &h.count_variance[0][0]);
        return h;
      }
      // Of those read so many are NULL by chance.
      const double all = rows_.totals().rows();
      const double share = all > 0 ? std::min(total / all, 1.0) : 1;
      if (share > 0 && share < 1 && column_.sample_rows > 0)
        h.rows_variance =
            std::min(h.rows_variance + h.count_variance[static_cast<int>(Shape::two_ends)][0] *
                                           (1 - share) / (share * column_.sample_rows),
                     kMostVariance);
      return h;
    }
    h.rows_variance = h.end_variance = h.mean_error = 0;
    for (auto& scales : h.count_variance) std::fill(std::begin(scales), std::end(scales), 0.0F);
    return h;
  }

  double slack_of(MeasurePart part, double total) const {
    if (!(total > 0)) return 0;
    switch (part) {
      case MeasurePart::rows:
        return rows_.error_of_cells() / total;
      case MeasurePart::squares:
        return std::min(worst_squares_ / total, 1.0);
      default:
        return std::min(worst_ / total, 1.0);
    }
  }

  Status encode() {
    // Where none is NULL the column's own density counts them.
    const bool needed = nulls_ || options_.sampled;
    double parts = 0, shares = 0;
    for (int p = 0; p < kMeasureParts; ++p) {
      if (!is_there(p, needed)) continue;
      parts += 1;
      shares += kShares[p];
    }
    const auto least = static_cast<double>(kLeastHistogramBytes);
    const auto all = static_cast<double>(options_.budget - sizeof(MeasureHeader));
    for (int p = 0; p < kMeasureParts; ++p) {
      if (!is_there(p, needed)) continue;
      const double budget = least + (all - parts * least) * kShares[p] / shares;
      if (Status s = encode_part(p, budget); !s.ok()) return s;
    }
    // What those leave that are stored as they are the others take.
    double left = all;
    double others = 0;
    for (int p = 0; p < kMeasureParts; ++p) {
      left -= static_cast<double>(aligned(parts_[p].size()));
      if (is_there(p, needed) && is_short(p)) others += kShares[p];
    }
    for (int p = 0; p < kMeasureParts && left > least / 4; ++p) {
      if (!is_there(p, needed) || !is_short(p)) continue;
      const auto size = static_cast<double>(aligned(parts_[p].size()));
      if (Status s = encode_part(p, size + left * kShares[p] / others); !s.ok()) return s;
    }
    double rows = 0;
    for (int p = 0; p < kMeasureParts; ++p)
      if (parts_[p].size() > 0) header_.parts |= static_cast<std::uint8_t>(1U << p);
    for (const Weights& special : special_) rows += special.part[0];
    header_.rows = (cells_[0].total() + rows) * options_.scale;
    return Status::success();
  }

  bool is_there(int p, bool needed) const {
    if (p == static_cast<int>(MeasurePart::rows)) return needed;
    return part_header(static_cast<MeasurePart>(p), cells_[p].total()).rows > 0;
  }
  bool is_short(int p) const { return parts_[p].header().error > 0; }

  Status encode_part(int p, double budget) {
    const auto part = static_cast<MeasurePart>(p);
    const double total = cells_[p].total();
    return encode_histogram(
        part_header(part, total), cells_[p].list(), slack_of(part, total),
        std::clamp(static_cast<std::size_t>(budget) / 8 * 8, kLeastHistogramBytes, kMaxBytes),
        &parts_[p]);
  }

  const Summary& rows_;
  const Measures& measures_;
  const int k_;
  const MeasureOptions& options_;
  const Header& column_;
  MeasureHeader header_{};
  double unit_ = 1, origin_ = 0, by_ = 0;
  PartCells cells_[kMeasureParts];
  Weights special_[kSpecialX] = {};
  bool nulls_ = false, lattice_ = false;
  double worst_ = 0, worst_squares_ = 0;  // in units
  bool all_finite_ = true;
  DensityBytes parts_[kMeasureParts];
};

// One decoded part, read from the left.
class PartReader {
 public:
  explicit PartReader(const DensityView& view) { decode_histogram(view, &cells_); }

  const std::vector<HistogramCell>& cells() const { return cells_; }
  // What lies above the last value asked for and below x; of points at x none.
  double below(double x) {
    double sum = 0;
    while (at_ < cells_.size()) {
      const HistogramCell& c = cells_[at_];
      if (c.value < x || (c.value == x && !c.point)) {
        sum += c.rows - taken_;
        taken_ = 0;
        ++at_;
        continue;
      }
      const double begin = at_ > 0 ? cells_[at_ - 1].value : c.value;
      if (!c.point && begin < x) {
        const double width = c.value / 2 - begin / 2;
        const double share = c.rows * std::clamp((x / 2 - begin / 2) / width, 0.0, 1.0);
        sum += std::max(share - taken_, 0.0);
        taken_ = std::max(taken_, share);
      }
      break;
    }
    return sum;
  }
  // What lies at x; after below(x).
  double at(double x) {
    double sum = 0;
    for (; at_ < cells_.size() && cells_[at_].point && cells_[at_].value == x; ++at_)
      sum += cells_[at_].rows;
    return sum;
  }

 private:
  std::vector<HistogramCell> cells_;
  std::size_t at_ = 0;
  double taken_ = 0;  // of the next one
};

class MeasureDecoder {
 public:
  MeasureDecoder(const Header* density, DecodedMeasures* out) : density_(density), out_(*out) {}

  void run() {
    *out_reset() = {};
    column_ = new_reader(DensityView(density_));
    count_ = static_cast<std::size_t>(density_->measures);
    for (std::size_t k = 0; k < count_; ++k) {
      views_.emplace_back(density_, static_cast<int>(k));
      for (int p = 0; p < kMeasureParts; ++p)
        parts_.push_back(views_[k].header().has(static_cast<MeasurePart>(p))
                             ? new_reader(views_[k].part(static_cast<MeasurePart>(p)))
                             : -1);
      describe(k);
    }
    std::vector<double> ends;
    for (const PartReader& r : readers_)
      for (const HistogramCell& c : r.cells()) ends.push_back(c.value);
    std::sort(ends.begin(), ends.end());
    ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
    for (const double x : ends) {
      take(x, false);
      take(x, true);
    }
  }

 private:
  DecodedMeasures* out_reset() { return &out_; }

  int new_reader(const DensityView& view) {
    readers_.emplace_back(view);
    return static_cast<int>(readers_.size()) - 1;
  }

  double taken(int reader, double x, bool point) {
    if (reader < 0) return 0;
    PartReader& r = readers_[static_cast<std::size_t>(reader)];
    return point ? r.at(x) : r.below(x);
  }

  MeasureSums sums_of(std::size_t k, double rows, double above, double below,
                      double squares) const {
    const MeasureHeader& m = views_[k].header();
    const double s = m.scale;
    return {rows * s, (above - below) * m.unit * s, squares * m.unit * m.unit * s};
  }

  void take(double x, bool point) {
    const double rows = taken(column_, x, point);
    bool any = rows > 0;
    const std::size_t at = out_.sums.size();
    for (std::size_t k = 0; k < count_; ++k) {
      double part[kMeasureParts];
      for (int p = 0; p < kMeasureParts; ++p)
        part[p] = taken(parts_[k * kMeasureParts + static_cast<std::size_t>(p)], x, point);
      MeasureSums sums = sums_of(k, part[0], part[1], part[2], part[3]);
      if (!views_[k].header().has(MeasurePart::rows)) sums.rows = rows;
      any = any || sums.rows > 0 || sums.squares > 0 || sums.sum != 0;
      out_.sums.push_back(sums);
    }
    // Ranges without rows say where others begin.
    if (any || !point) {
      out_.cells.push_back({x, rows, point});
    } else {
      out_.sums.resize(at);
    }
  }

  void describe(std::size_t k) {
    const MeasureHeader& m = views_[k].header();
    out_.origin.push_back(m.origin);
    out_.decimals.push_back(m.decimals);
    SummaryTotals totals;
    MeasureSampling sampling;
    if (m.rows > 0) {
      const double count = m.has(MeasurePart::rows)
                               ? views_[k].part(MeasurePart::rows).header().sample_rows
                               : m.rows;
      totals.merge(m.rows, std::max(count, 1.0), m.min, m.max, m.mean, m.variance);
      sampling = measure_sampling(*density_, views_[k]);
    }
    out_.totals.push_back(totals);
    out_.sampling.push_back(sampling);
    double slack = m.slack;
    for (const MeasurePart p : {MeasurePart::above, MeasurePart::below}) {
      if (!m.has(p)) continue;
      slack += error_rows(views_[k].part(p)) * m.unit * m.scale;
    }
    out_.slack.push_back(slack);
    if (out_.special.empty()) out_.special.resize(kSpecialX * count_);
    for (std::size_t x = 0; x < kSpecialX; ++x) {
      const auto of = [&](MeasurePart p) {
        if (!m.has(p)) return 0.0;
        const Header& h = views_[k].part(p).header();
        return x == 0 ? h.nans : x == 1 ? h.negative_infinities : h.positive_infinities;
      };
      MeasureSums& sums = out_.special[x * count_ + k];
      sums = sums_of(k, of(MeasurePart::rows), of(MeasurePart::above), of(MeasurePart::below),
                     of(MeasurePart::squares));
      if (m.has(MeasurePart::rows)) continue;
      sums.rows = x == 0   ? density_->nans
                  : x == 1 ? density_->negative_infinities
                           : density_->positive_infinities;
    }
  }

  const Header* density_;
  DecodedMeasures& out_;
  std::size_t count_ = 0;
  int column_ = 0;
  std::vector<PartReader> readers_;
  std::vector<MeasureView> views_;
  std::vector<int> parts_;
};

}  // namespace

Header counted_rows(const Header& density, const MeasureView& measure) {
  Header counted =
      measure.header().has(MeasurePart::rows) ? measure.part(MeasurePart::rows).header() : density;
  counted.rows = measure.header().rows;
  counted.mean_error = 0;
  return counted;
}

MeasureSampling measure_sampling(const Header& density, const MeasureView& measure) {
  const MeasureHeader& m = measure.header();
  const Header counted = counted_rows(density, measure);
  const double count = m.has(MeasurePart::rows) ? counted.sample_rows : m.rows;
  MeasureSampling out;
  out.sum_error = std::min(m.mean_error * m.rows, std::numeric_limits<double>::max());
  for (int i = 0; i < kErrorScales; ++i)
    out.weight[i] = finite_float(m.rows / count * m.mean_variance[i]);
  out.counts.add(counted);
  return out;
}

Status append_measures(const Summary& rows, const Measures& measures, const MeasureOptions& options,
                       DensityBytes* density) noexcept {
  if (measures.count() == 0) return Status::success();
  if (options.budget < kLeastMeasureBytes ||
      options.fits.size() != static_cast<std::size_t>(measures.count()))
    return Status::error(Code::invalid_argument, "a measure's budget is out of range");
  try {
    std::vector<char> bytes(density->data(), density->data() + density->size());
    bytes.resize(aligned(bytes.size()), 0);
    for (int k = 0; k < measures.count(); ++k) {
      MeasureEncoder encoder(rows, measures, k, options, density->header());
      if (Status s = encoder.run(); !s.ok()) return s;
      encoder.write(&bytes);
    }
    DensityBytes all(bytes.size());
    std::memcpy(all.data(), bytes.data(), bytes.size());
    all.header().measures = static_cast<std::uint8_t>(measures.count());
    *density = std::move(all);
  } catch (const std::bad_alloc&) {
    return Status::error(Code::out_of_memory, "out of memory while encoding measures");
  }
  return Status::success();
}

void decode_measures(const Header* density, DecodedMeasures* out) {
  MeasureDecoder(density, out).run();
}

}  // namespace kde
