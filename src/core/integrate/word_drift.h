// The test of a fresh sample of a category's rows against its density.
//
// Of m rows drawn, q_r m have the value r, which the density gives the share p_r. Of values of
// which both samples have rows enough,
//
//   X^2 = m sum (q_r - p_r)^2 / p_r,
//
// whose terms vary together as rows of a block do. With d_ri the differences of the residuals
// c_ri - q_r m_i between neighbouring blocks, over sqrt 2 (words.h), D_rs = sum_i d_ri d_si /
// (m sqrt(p_r p_s)), T its trace and F the sum of its squares, X^2/T is distributed as F with nu =
// T^2/F and nu (blocks - 1) degrees of freedom (J. N. K. Rao and A. J. Scott, On chi-squared tests
// for multiway contingency tables, Annals of Statistics 12, 1984: the second-order correction). T
// is that of independent rows at least, and has the variance of the density's own sample beside it.
// Where the density knows every row, values of fewer rows are put together, as many as it takes.
//
// The rows of all other values together are tested by themselves. Where none or few are expected
// the blocks that have some count, as a Poisson variable. Of a sample's density, those values that
// have the most rows in it have more there than in the table: by the sum of their errors at most,
// which the difference must exceed, and of values of few rows those that are kept may be as many
// fewer as three standard deviations of each.
//
//   distance = sum |q_r - p_r| / 2, beyond what it is where nothing changed, which hides changes of
//              many small shares; or that of the most frequent values, or of the others, together,
//              where that is more
//   p        = the least of the tests', times their number
#pragma once

#include "core/control.h"
#include "core/density/word_format.h"
#include "core/integrate/drift.h"

namespace kde {

// sample: finished, of ranks, with one row that is not NULL or more. Errors: out_of_memory,
// cancelled.
Status word_drift(const DensityView& density, const WordsView& words, const Sample& sample,
                  const Control& control, Drift* out) noexcept;

}  // namespace kde
