// Seeds: a stream of random numbers for each purpose, so that what is drawn for a column or table
// depends on no other. Names by the hash FNV-1a (G. Fowler, L. Noll, P. Vo).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace kde::accuracy {

inline std::uint64_t stream(std::uint64_t seed, const std::string& name, std::size_t purpose,
                            std::size_t sample) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return (((seed * 1000003 + hash) * 1000003) + purpose) * 1000003 + sample;
}

}  // namespace kde::accuracy
