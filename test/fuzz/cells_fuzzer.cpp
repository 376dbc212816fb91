// libFuzzer target: the bytes of a state of kde_agg (core/grid/packed_words.h, grid_serial.cpp), which
// anyone may make up, read as anyone's are. The first byte tells what they are to be read as. What is taken for
// cells must be written and read again as the same, add to itself, and be fitted or refused; a density that
// validate() lets pass, without which none is handed on, must answer sanely (test/unit/answers.h).
#include "core/density/checks.h"
#include "core/fit/fit_cells.h"
#include "core/fit/grid_groups.h"
#include "core/grid/owned_cells.h"
#include "core/grid/packed_words.h"

#include "answers.h"
#include "finding.h"
#include "input.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <vector>

namespace {

using kde::fuzz::fail;
using kde::fuzz::Input;

struct What {
  kde::FitOptions options;
  kde::Chain chain;
  int measures;
  bool grouped;
};

What take_what(Input* in) {
  const int byte = in->choice(256);
  // Numbers, or the times that they may be.
  constexpr kde::Chain kChains[] = {kde::Chain::decimal, kde::Chain::decimal, kde::Chain::calendar,
                                    kde::Chain::milliseconds};
  What what = {{}, kChains[byte >> 6], byte >> 2 & 1, (byte & 2) != 0};
  if ((byte & 1) != 0) what.chain = kde::Chain::calendar;
  what.options.value_type = (byte & 1) != 0 ? kde::ValueType::timestamp : kde::ValueType::float8;
  what.options.method = static_cast<kde::Method>((byte >> 3) % kde::kMethods);
  what.options.measure_types[0] = kde::ValueType::float8;
  what.options.added_up = true;
  return what;
}

std::vector<char> packed(std::vector<char> words) {
  std::vector<char> out(kde::packed_size(words));
  kde::pack_words(words, out.data());
  return out;
}

std::vector<char> unpacked(const std::vector<char>& bytes) {
  std::vector<char> out(kde::unpacked_size(bytes));
  if (!out.empty()) kde::unpack_words(bytes, out.data());
  return out;
}

void fit(const What& what, kde::GridCells* cells, const kde::GridGroups* groups) {
  kde::DensityBytes density;
  kde::FitReport report;
  if (!kde::fit_cells(cells, what.options, {8192}, {}, &density, &report).ok()) return;
  kde::GroupsReport of_groups;
  if (groups != nullptr && !groups->append(what.options, 8192, {}, &density, &of_groups).ok())
    return;
  if (!kde::validate(density.data(), density.size()).ok()) return;
  if (const char* insane = kde::fitted::insane_answer(kde::DensityView(density.data()), 20))
    fail(insane);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input in(data, size);
  const What what = take_what(&in);
  if (in.spent()) return 0;
  const auto* begin = reinterpret_cast<const char*>(data);
  const std::vector<char> words = unpacked({begin + 1, begin + size});
  if (!words.empty() && unpacked(packed(words)) != words) fail("words are packed as others");
  const kde::Chain chain = what.chain;
  const auto read = [&](kde::GridCells* cells, const std::vector<char>& from) {
    return cells->deserialize(from.data(), from.size()).ok();
  };
  kde::OwnedGridCells cells(chain, what.measures), again(chain, what.measures);
  if (what.grouped) {
    // Groups alone; of all rows there are none.
    const kde::Memory memory = {[](void*, std::size_t bytes) { return std::malloc(bytes); },
                                [](void*, void* chunk) { std::free(chunk); }, nullptr};
    kde::GridGroups groups(memory, chain, what.measures);
    if (groups.deserialize(words.data(), words.size()).ok()) fit(what, &*cells, &groups);
    groups.release();
    return 0;
  }
  if (!read(&*cells, words)) return 0;
  std::vector<char> written(cells->serialized_size());
  cells->serialize(written.data());
  if (!read(&*again, written)) fail("what was read is refused when it is written");
  if (cells->merge(&*again).ok()) fit(what, &*cells, nullptr);
  return 0;
}
