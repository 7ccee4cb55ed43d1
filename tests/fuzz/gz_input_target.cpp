// Inflates bytes as importers do: unchanged, and after a gzip header, so that mutations reach the compressed data.
#include <zlib.h>

#include <algorithm>
#include <array>

#include "core/import/input.hpp"
#include "tests/fuzz/memory_file.hpp"

namespace sluice::fuzz::gz_input {
namespace {

/// One byte can expand to a thousand, so the output is bounded here, as importers bound it by their memory limit.
constexpr std::size_t max_read = std::size_t{1} << 20;

void read(std::span<const std::uint8_t> content) {
  const memory_file file(content);
  auto opened = importing::input::open(file.path());
  if (!opened) return;
  static std::array<std::byte, 1U << 14> into;
  for (std::size_t total = 0; total < max_read;) {
    const auto got = opened->read(into);
    if (got && *got > into.size()) __builtin_trap();
    if (!got && opened->read(into)) __builtin_trap();  // After a failure, reads keep failing.
    if (!got || *got == 0) break;
    total += *got;
    const double share = opened->share_read();
    if (!(share >= 0 && share <= 1)) __builtin_trap();
  }
}

void run(std::span<const std::uint8_t> input) {
  read(input);
  static constexpr std::uint8_t head[] = {0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3};
  bytes packed(std::begin(head), std::end(head));
  packed.insert(packed.end(), input.begin(), input.end());
  read(packed);
}

/// `text` as one gzip member.
bytes packed(const std::string& text, int level) {
  bytes into(compressBound(text.size()) + 64);
  z_stream stream{};
  if (deflateInit2(&stream, level, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK) __builtin_trap();
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = into.data();
  stream.avail_out = static_cast<uInt>(into.size());
  if (deflate(&stream, Z_FINISH) != Z_STREAM_END) __builtin_trap();
  into.resize(stream.total_out);
  deflateEnd(&stream);
  return into;
}

std::vector<bytes> seeds() {
  const std::string text = R"([{"ph":"X","name":"aten::mm","ts":10.5,"dur":3.25},{"ph":"i","name":"b"}])";
  const bytes stored = packed(text, 0);
  const bytes fixed = packed(text, 9);
  const bytes dynamic = packed(text + std::string(9000, 'x') + text, 6);
  bytes two = fixed;
  two.insert(two.end(), stored.begin(), stored.end());
  bytes padded = dynamic;
  padded.resize(padded.size() + 8);
  bytes cut = dynamic;
  cut.resize(cut.size() / 2);
  constexpr std::size_t head = 10;
  return {stored, fixed, two, padded, cut, bytes(dynamic.begin() + head, dynamic.end())};
}

}  // namespace
}  // namespace sluice::fuzz::gz_input

sluice::fuzz::target sluice::fuzz::gz_input_target() { return {"gz_input", gz_input::run, gz_input::seeds}; }
