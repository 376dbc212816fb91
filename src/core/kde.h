// All of the core that the glue uses: what follows needs the standard library alone, so that it is
// quickly compiled. What talks to the device service includes core/device/ besides.
//
//   summary/       rows added up, and merged      Summary, Measures
//   grid/          cells with round ends           GridCells
//   sampling/      what a scan reads and feeds    choose_blocks, Sampler, Sample
//   fit/, joint/   from a sample to a density     fit_column, fit_joint, finish
//   density/       a density's bytes              DensityBytes, DensityView, validate, to_wire
//   integrate/     answers                        count, moments, quantile
//   answer/        their intervals                interval_of
//   ask/           one way to ask any density     ask, Total
//   picture/       densities drawn                draw_terminal, draw_svg
//   select/        bandwidths                     select_bandwidth, select_bandwidth_matrix
//   estimate/      the estimate at points         kernel_estimate
//   sums/          who computes, and for how long Engine, predicted_device_ms
#pragma once

#include "core/control.h"
#include "core/density/format.h"
#include "core/density/group_format.h"
#include "core/density/histogram.h"
#include "core/density/histogram_view.h"
#include "core/density/joint_format.h"
#include "core/density/names.h"
#include "core/density/round_ends.h"
#include "core/density/single_values.h"
#include "core/density/wire.h"
#include "core/density/word_format.h"
#include "core/estimate/kernel_estimate.h"
#include "core/fit/fit.h"
#include "core/fit/fit_cells.h"
#include "core/fit/grid_groups.h"
#include "core/fit/groups.h"
#include "core/fit/splice_groups.h"
#include "core/fit/word_sums.h"
#include "core/fit/words.h"
#include "core/grid/add_densities.h"
#include "core/grid/owned_cells.h"
#include "core/grid/packed_words.h"
#include "core/grid/value_sums.h"
#include "core/integrate/drift.h"
#include "core/integrate/last_cuts.h"
#include "core/integrate/word_drift.h"
#include "core/integrate/integrate.h"
#include "core/answer/column_evidence.h"
#include "core/answer/measure_evidence.h"
#include "core/answer/word_evidence.h"
#include "core/ask/add_up.h"
#include "core/ask/ask.h"
#include "core/joint/conditional.h"
#include "core/joint/fit_joint.h"
#include "core/joint/joint_moments.h"
#include "core/joint/box_evidence.h"
#include "core/kernel/normal.h"
#include "core/picture/picture.h"
#include "core/picture/scale.h"
#include "core/picture/steps.h"
#include "core/random.h"
#include "core/sampling/block_choice.h"
#include "core/sampling/sampler.h"
#include "core/select/bandwidth_matrix.h"
#include "core/select/line_bandwidth.h"
#include "core/share_items.h"
#include "core/sums/device_choice.h"
#include "core/sums/engine.h"
