// normal_box.h for one box in double, one or two columns, to 1e-12: the truth it is held against.
#pragma once

namespace kde {

// R: k x k, k <= 2; c and moment may be null; as of NormalBox otherwise.
void normal_box_reference(const double* R, int k, const double* lower, const double* upper,
                          const double* c, double* probability, double* moment);

}  // namespace kde
