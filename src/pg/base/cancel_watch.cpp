// Counts the requests to cancel by a handler of SIGINT before the one that is there.
#include "pg/base/cancel_watch.h"

#include <signal.h>

namespace kde_pg {

namespace {

int watches = 0;
struct sigaction before;  // the first of them
volatile sig_atomic_t requests = 0;

void count_request(int signal, siginfo_t* info, void* context) {
  requests = requests + 1;
  if ((before.sa_flags & SA_SIGINFO) != 0) {
    before.sa_sigaction(signal, info, context);
  } else if (before.sa_handler != SIG_IGN && before.sa_handler != SIG_DFL) {
    before.sa_handler(signal);
  }
}

}  // namespace

void CancelWatch::begin() {
  if (watches++ == 0) {
    sigaction(SIGINT, nullptr, &before);
    struct sigaction counting = before;
    counting.sa_flags |= SA_SIGINFO;
    counting.sa_sigaction = count_request;
    sigaction(SIGINT, &counting, nullptr);
  }
  before_ = static_cast<unsigned>(requests);
}

void CancelWatch::end() {
  requested_ = static_cast<unsigned>(requests) != before_;
  if (--watches == 0) sigaction(SIGINT, &before, nullptr);
}

}  // namespace kde_pg
