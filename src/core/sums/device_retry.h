// What becomes of sums over pairs whose device has failed, or has no room, decided anew by
// predicted time:
//
//   the processor goes on   where it is done before the device could be back:
//                           predicted_processor_ms(what is left)
//                             <= kServiceReturnMs + predicted_device_ms(what is left)
//   the device goes on      else, once it is back and has room: it is waited for, and given the
//                           sample again
//   nobody does             where it fails a second time, will never take the sample, or all waits
//                           together last too long: the sums end with its error, and whoever asked
//                           for them decides what is worth the time, and says so
#pragma once

#include <memory>
#include <span>

#include "core/control.h"
#include "core/status.h"
#include "core/sums/sums_device.h"
#include "core/sums/device_choice.h"
#include "core/sums/pair_sums.h"

namespace kde {

// Whether the device is waited for. engine: of kind device, not without `use`; left.sums: of the
// plan, what is done taken off; threads as predicted_processor_ms().
bool is_worth_return(const Engine& engine, const SumsWork& left, int threads);

// Into engine.use, if there is one.
void note_trouble(const Engine& engine, const Status& trouble);

// The sample on the device again, after `trouble`, by which lost_ms were lost. engine.use is not
// null and has all troubles and waits of the work: waits together last no longer than the plan's
// patience, nor than the processor would take for what is left, and time lost for want of room
// counts as one. *out is empty meanwhile, or it would be in its own way. Errors: cancelled,
// out_of_memory, invalid_argument; unavailable, failed: without the device, then.
Status load_again(const Engine& engine, const SumsWork& left, const Status& trouble, double lost_ms,
                  std::span<const double> points, const Control& control,
                  std::unique_ptr<DeviceSample>* out);

// A pause between two tries, of a few milliseconds. Errors: cancelled.
Status pause_between_tries(const Control& control);

}  // namespace kde
