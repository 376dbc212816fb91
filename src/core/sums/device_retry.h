// What becomes of sums over pairs whose device has failed, decided anew by predicted time:
//
//   the processor goes on   where it is done before the device could be back:
//                           predicted_processor_ms(what is left)
//                             <= kServiceReturnMs + predicted_device_ms(what is left)
//   the device goes on      else, once it is back: it is waited for, and given the sample again
//   nobody does             where it does not come back in time, or fails a second time: the sums
//                           end with its error, and whoever asked for them decides what is worth
//                           the time, and says so
//
// One that only had no room has not failed yet.
#pragma once

#include <memory>
#include <span>

#include "core/control.h"
#include "core/sums/device_choice.h"
#include "core/sums/device.h"
#include "core/status.h"
#include "core/sums/pair_sums.h"

namespace kde {

// Whether the device is waited for. engine: of kind device; left.sums: of the plan, what is done
// taken off; threads as predicted_processor_ms().
bool is_worth_return(const Engine& engine, const SumsWork& left, int threads);

// The sample on the device again, once that is back. trouble: why it went. Waits no longer than the
// plan's patience nor than the processor would take for what is left. Errors: cancelled;
// unavailable, failed: without the device, then.
Status load_again(const Engine& engine, const SumsWork& left, Code trouble,
                  std::span<const double> points, const Control& control,
                  std::unique_ptr<DeviceSample>* out);

// A pause between two tries, of a few milliseconds. Errors: cancelled.
Status pause_between_tries(const Control& control);

}  // namespace kde
