// Words of eight bytes, packed as Cap'n Proto packs its messages
// (https://capnproto.org/encoding.html#packing), but for runs of words without a 0: a byte tells which of
// a word's bytes are not 0, from the lowest on, and these follow; after one that tells of none comes how
// many words more are 0. So whole numbers, round doubles and what is not set take little.
#pragma once

#include <cstddef>
#include <span>

namespace kde {

// How many bytes that takes.
std::size_t packed_size(std::span<const char> words);
// words: a multiple of 8 bytes. out: of packed_size() bytes.
void pack_words(std::span<const char> words, char* out);

// packed: of unknown origin. How many bytes it holds; 0: it is none, or far more than what states of
// aggregates are packed from.
std::size_t unpacked_size(std::span<const char> packed);
// out: of unpacked_size() bytes, which are not 0.
void unpack_words(std::span<const char> packed, char* out);

}  // namespace kde
