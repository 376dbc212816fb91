// The protocol between the device service (cuda/) and its clients: messages over a Unix stream
// socket, both ends on one machine, so numbers have that machine's byte order and alignment.
//
//   client                              service
//   hello              ->               welcome; other versions are told so and hung up on
//   devices            ->               device_list
//   load + descriptor  ->   working*    done            one sample a connection
//   derivative, sweep, full, density -> working* done + numbers
//
// A message is a Head, then a body of head.bytes: the type's struct, then numbers where it says
// so. Every message tells its version, so nobody need say hello before a load; whatever is asked,
// an error is answered by `done`. One request at a time; while one waits or runs, `working` comes
// at least every kBeatMs. A client that hears nothing for kSilenceMs takes the service for dead;
// one that wants no more hangs up, which cancels what runs. Numbers that are many pass in memory
// files (memfd_create), sealed against change, their descriptor beside the Head as SCM_RIGHTS.
#pragma once

#include <cstdint>

#include "core/sums/sums_device.h"

namespace kde::wire {

inline constexpr std::uint32_t kMagic = 0x71656b64;
// Raised with any change to this file or to DeviceInfo.
inline constexpr std::uint16_t kVersion = 1;

inline constexpr int kBeatMs = 200;
inline constexpr int kSilenceMs = 3000;

enum class Type : std::uint16_t {
  hello = 1,
  devices = 2,
  load = 3,
  derivative = 4,
  sweep = 5,
  full = 6,
  density = 7,
  welcome = 101,
  device_list = 102,
  working = 103,
  done = 104,
};

struct Head {
  std::uint32_t magic = kMagic;
  std::uint16_t version = kVersion;
  Type type = Type::hello;
  std::uint64_t bytes = 0;  // of the body, at most kMaxBody
};

// Of density's results, the longest body there is.
inline constexpr std::uint64_t kMaxBody = 512 + 8 * static_cast<std::uint64_t>(kMaxQueries);

// hello: no body.
struct Welcome {
  char program[64] = {};     // its name and version, for people
  double pair_rate[2] = {};  // Device::pair_rate of single and double precision
  std::int32_t devices = 0;
  std::int32_t padding = 0;
};

// devices: no body. device_list: DeviceInfo, as many as the body holds.

// With the descriptor of a sealed memory file of n * d doubles.
struct Load {
  std::int64_t n = 0;
  std::int32_t d = 0;
  std::int32_t padding = 0;
};

// deadline_ms: from when the service reads the request; beyond it the job ends as `unavailable`.
struct Derivative {
  double g = 0;
  double deadline_ms = 0;
  std::int32_t r = 0;
  std::int32_t precision = 0;  // as Precision
};

// Then `count` bandwidths.
struct Sweep {
  double deadline_ms = 0;
  std::int32_t count = 0;
  std::int32_t slopes = 0;
  std::int32_t precision = 0;
  std::int32_t padding = 0;
};

// Then d x d numbers, A. scatter 0: DeviceSample::full, 1: DeviceSample::scatter.
struct Full {
  double deadline_ms = 0;
  double once = 0, twice = 0;
  std::int32_t scatter = 0;
  std::int32_t precision = 0;
};

// Then d x d numbers, A; and the descriptor of a sealed memory file of m * d doubles.
struct Density {
  double deadline_ms = 0;
  std::int64_t m = 0;
  std::int32_t precision = 0;
  std::int32_t padding = 0;
};

// working: no body.

// Then the numbers of the result, none after an error.
struct Done {
  std::int32_t code = 0;  // as Code
  std::int32_t padding = 0;
  double busy_ms = 0;  // that the job was in the Device, waiting for it included
  char message[240] = {};
};

}  // namespace kde::wire
