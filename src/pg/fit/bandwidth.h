// What the functions that choose a bandwidth have in common.
#pragma once

#include "pg/base/interrupts.h"
#include "pg/base/options.h"
#include "pg/device/device.h"
#include "pg/progress/progress.h"

#include "core/kde.h"

namespace kde_pg {

// The kernel of that name. Error 22023 if there is none.
kde::Kernel read_kernel(const text* name);

// A NOTICE of what a core function found worth telling; nothing if it is empty.
void show_notice(const char* notice);

// Does core work on an array by work(engine, control): by a device where that is faster, anew where
// it fails. much: by threads, and shown. Raises what it met.
template <typename Work>
void compute(const kde::SumsWork& sums, bool much, Operation operation, const char* doing,
             Work work) {
  const bool estimates = operation == Operation::evaluate;
  if (much) progress_begin(operation, estimates ? Phase::estimating : Phase::selecting);
  DeviceChoice device;
  kde::Engine engine = chosen_engine();
  choose_device(sums, &engine, &device);
  kde::Status status;
  do {
    status = work(engine, begin_core_work(much ? chosen_threads() : 1));
  } while (begin_anew(status, sums, &engine, &device));
  check_status(status, doing);
  if (much) progress_end();
  report_device(device);
}

}  // namespace kde_pg
