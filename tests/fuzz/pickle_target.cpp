// Reads bytes as a pickle and walks all its values. The torch_snapshot target covers imports of pickles.
#include "core/import/torch/pickle.hpp"

#include <nlohmann/json.hpp>

#include "tests/core/import/snapshot_of.hpp"
#include "tests/fuzz/target.hpp"

namespace sluice::fuzz::pickle {
namespace {

using importing::pickle_kind;
using importing::pickle_value;

/// A value may occur in many places and contain itself, so the walk stops after this many values.
constexpr std::size_t max_values = 20'000;

/// Reads the whole content of a value, so that a wrong size causes an invalid read.
std::size_t weight(const importing::pickle_document& read, const pickle_value& value) {
  const std::string_view text = read.text(value);
  return text.size() + (text.empty() ? 0U : static_cast<unsigned char>(text.back())) +
         static_cast<std::size_t>(read.integer(value)) + (read.real(value) > 0 ? 1 : 0);
}

void walk(const importing::pickle_document& read) {
  std::vector<pickle_value> waiting{read.root()};
  std::size_t sum = 0;
  for (std::size_t at = 0; at < waiting.size() && at < max_values; ++at) {
    const pickle_value value = waiting[at];
    sum += weight(read, value);
    for (const pickle_value& item : read.items(value)) waiting.push_back(item);
    const auto pairs = read.pairs(value);
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      sum += weight(read, pairs.key(i));
      waiting.push_back(pairs.value(i));
    }
    if (value.is(pickle_kind::dictionary)) sum += read.find(value, "size") != nullptr ? 1 : 0;
    if (waiting.size() > 8 * max_values) break;
  }
  volatile std::size_t seen = sum;
  (void)seen;
}

void run(std::span<const std::uint8_t> input) {
  // The limit on memory for an input: read_pickle promises 100 bytes per byte of input, plus a constant.
  const auto read = importing::read_pickle(std::as_bytes(input), std::size_t{16} << 20);
  if (read) walk(*read);
}

std::vector<bytes> seeds() {
  using nlohmann::json;
  const json values = {{"none", nullptr},
                       {"truths", {true, false}},
                       {"numbers", {0, 255, 65535, 65536, -1, 1LL << 40, -(1LL << 62)}},
                       {"texts", {"", "a", std::string(300, 'b')}},
                       {"nested", {{{"size", 1}}, {{"size", 2}}, json::array({json::array({json::array()})})}}};
  const std::string text = testing::pickled(values);
  // Protocol 2: a long integer, a float, tuples, bytes, and a numbered memo.
  static constexpr char old[] =
      "\x80\x02]q\x00(K\x01\x8a\x05\x00\x00\x00\x00\x01\x87q\x01h\x01\x85X\x01\x00\x00\x00\x61r\x02\x00\x00\x00}"
      "(j\x02\x00\x00\x00N\x88\x89uG\x3f\xf0\x00\x00\x00\x00\x00\x00C\x02xye.";
  return {bytes(text.begin(), text.end()), bytes(std::begin(old), std::end(old) - 1)};
}

}  // namespace
}  // namespace sluice::fuzz::pickle

sluice::fuzz::target sluice::fuzz::pickle_target() { return {"pickle", pickle::run, pickle::seeds}; }
