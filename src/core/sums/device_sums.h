// Internal to src/core/sums: the engines of pair_sums.h and gaussian_sums.h over a device.
//
// A sum that the device cannot compute (unavailable, failed) is computed by whom
// device_retry.h says: by the processor, and so is every later one of the same object; by the
// device once it is back; or by nobody, and then the error is the device's. The caller is told in
// DeviceUse. So a selector needs to know nothing of devices. In one dimension a GaussianPairSums is
// gaussian_line.cpp's over derivative sums, which leave distant pairs out.
#pragma once

#include <memory>
#include <span>

#include "core/control.h"
#include "core/status.h"
#include "core/sums/gaussian_sums.h"
#include "core/sums/pair_sums.h"

namespace kde {

// engine.kind is device; x, points, d: as make_pair_sums and make_gaussian_sums, already checked.
// Errors: cancelled, out_of_memory, those of the processor's engine; with Engine::plan also
// unavailable and failed. May throw std::bad_alloc.
Status make_device_sums(const Engine& engine, std::span<const double> x, const Control& control,
                        std::unique_ptr<PairSums>* out);
Status make_device_gaussian_sums(const Engine& engine, std::span<const double> points, int d,
                                 const Control& control, std::unique_ptr<GaussianPairSums>* out);

}  // namespace kde
