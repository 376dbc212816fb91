// Every selector at the papers' sizes and beyond, each engine against the textbook's formula as
// plain sequential loops in the same run.
//
//   make bench                                              the whole table
//   build/bench/bench --benchmark_filter=PLUGIN/n=32768     a part
//
// ms       median over the runs, from values in memory to the bandwidth (or to one value of g)
// terms/s  terms of the textbook's sums over that time, whether or not an engine visits them
// ratio    milliseconds of the textbook's loops (double, one thread) over ms
// error    relative, of the bandwidth; for one value of g relative to the sum of the moduli of its
//          terms, because g itself crosses zero
//
// The ratios are the figures to trust on a machine that others use too.
#include "selectors.h"
#include "table.h"

int main(int argc, char** argv) {
  kde::bench::add_plugin();
  kde::bench::add_fast_path();
  kde::bench::add_lscv_h();
  kde::bench::add_lscv_matrix();
  kde::bench::add_joint_box();
  kde::bench::add_joint_fit();
  kde::bench::add_normal_box();
  return kde::bench::run_table(argc, argv);
}
