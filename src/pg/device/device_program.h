// The device service's program as a child process of the worker: starting it, hearing whether it is
// alive, ending it.
//
// Its standard input is one end of a socket pair. It writes 'r' there when it serves, answers each
// 'p' with 'p', and ends at once when the other end is closed, which the kernel does however the
// worker ends.
#pragma once

#include "pg/base/pg.h"

#include <sys/types.h>

namespace kde_pg {

// Exit statuses of the program that mean something.
inline constexpr int kExitNoDevice = 3;
inline constexpr int kExitDeviceLost = 4;

struct Program {
  pid_t pid = 0;       // 0: none runs
  int control = -1;    // our end of the socket pair, not blocking
  bool ready = false;  // it has said so
  // Why the worker ended it, or null: "did not answer", "talked nonsense".
  const char* failure = nullptr;
  double started = 0;  // on the clock of now_ms()
  double ready_at = 0;
  double asked = 0;      // when the last ping was sent
  bool waiting = false;  // for the answer to that
  double kill_at = 0;    // when it is killed if it has not ended as it was told; 0: nobody told it
};

// Milliseconds of a clock that nobody sets.
double now_ms();

// argv: ends with a null. The program gets descriptors 0, 1 (as 2) and 2 and no other, no signal
// blocked, ignored or handled, and a session of its own, so that signals meant for the worker's
// process group pass it by. False, with errno, if there is no process or no socket pair.
bool start_program(const char* path, char* const argv[], Program* program);

// Sends a ping when one is due, reads once what the program has written, ends it when it has been
// silent for too long or writes anything else than it should, and kills it a second later if it
// has not ended.
void attend_program(Program* program);

// When attend_program wants to be called again, on the clock of now_ms().
double next_attention(const Program& program);

// Tells it to end, and whatever else is in its session, without waiting for it; attend_program
// kills what does not. May be called when none runs.
void end_program(Program* program);

// end_program(), and waits for its end for up to 200 ms, of which a program that lives needs a few.
// For an exit callback. One that takes longer ends with status 0, whoever is its parent by then.
void end_program_and_wait(Program* program);

// True, once, with its exit status when it has ended; forgets it.
bool reap_program(Program* program, int* status);

}  // namespace kde_pg
