// See ask.h: to each form its own evidence.
#include "core/ask/ask.h"

#include "core/answer/column_evidence.h"
#include "core/answer/measure_evidence.h"
#include "core/answer/word_evidence.h"
#include "core/joint/box_evidence.h"

namespace kde {

namespace {

// Of one column: what its side asks for.
struct OneSide {
  Range range;
  const WordSet* words = nullptr;
};

OneSide side_of(Box box) { return box.empty() ? OneSide() : OneSide{box[0].range, box[0].words}; }

MeasureView measure_of(const AnyDensity& density, int target) {
  return MeasureView(density.one_column, target - 1, density.sums.cuts);
}

RangeMoments range_moments(const JointMoments& m) {
  RangeMoments out;
  out.count = m.count;
  out.mean = m.mean;
  out.variance = m.variance;
  out.finite = m.finite;
  out.nans = m.nans;
  out.negative_infinities = m.negative_infinities;
  out.positive_infinities = m.positive_infinities;
  return out;
}

}  // namespace

double count_in(const AnyDensity& density, Box box, int target) {
  if (density.joint != nullptr)
    return joint_moments(JointView(density.joint), box, kRowsThemselves).count;
  const DensityView view = density.view();
  const OneSide side = side_of(box);
  const bool measured = target > 0;
  if (side.words == nullptr)
    return measured ? measure_count(view, measure_of(density, target), side.range)
                    : count(view, side.range);
  const WordsView words(density.one_column);
  return measured
             ? words_measure_moments(view, words, measure_of(density, target), *side.words).count
             : words_count(view, words, *side.words);
}

RangeMoments moments_in(const AnyDensity& density, Box box, int target) {
  if (density.joint != nullptr)
    return range_moments(joint_moments(JointView(density.joint), box, target));
  const DensityView view = density.view();
  const OneSide side = side_of(box);
  if (target <= 0) return moments(view, side.range);
  const MeasureView measure = measure_of(density, target);
  return side.words == nullptr
             ? measure_moments(view, measure, side.range)
             : words_measure_moments(view, WordsView(density.one_column), measure, *side.words);
}

Evidence ask(Wanted wanted, const AnyDensity& density, Box box, int target,
             const IntervalOptions& options) {
  if (density.joint != nullptr) {
    const JointView view(density.joint);
    return evidence_of(wanted, view, box, joint_moments(view, box, target), options);
  }
  const DensityView view = density.view();
  const OneSide side = side_of(box);
  const bool measured = target > 0;
  if (side.words == nullptr)
    return measured ? evidence_of(wanted, view, measure_of(density, target), side.range, options)
                    : evidence_of(wanted, view, side.range, options);
  const WordsView words(density.one_column);
  return measured
             ? evidence_of(wanted, view, words, measure_of(density, target), *side.words, options)
             : evidence_of(wanted, view, words, *side.words, options);
}

}  // namespace kde
