// Decodes a chunk's payload as rows of each kind: | kind u16 | rows u16 | columns |.
#include <cstring>
#include <random>

#include "core/trace/columns/codec.hpp"
#include "core/trace/model/row_type.hpp"
#include "tests/core/trace/random_rows.hpp"
#include "tests/fuzz/target.hpp"

namespace sluice::fuzz::trace_codec {
namespace {

struct input_header {
  std::uint16_t type;
  std::uint16_t rows;
};

/// Rows that were decoded must encode and decode again to the same number of rows.
template <class Row>
void decode(std::span<const std::byte> payload, std::size_t rows) {
  std::vector<Row> decoded;
  if (!trace::decode_rows<Row>(payload, rows, decoded)) return;
  std::vector<std::byte> again;
  trace::row_encoder().encode<Row>(decoded, again);
  std::vector<Row> twice;
  if (!trace::decode_rows<Row>(again, decoded.size(), twice) || twice.size() != decoded.size()) __builtin_trap();
}

void run(std::span<const std::uint8_t> input) {
  input_header header{};
  if (input.size() < sizeof header) return;
  std::memcpy(&header, input.data(), sizeof header);
  const auto payload = std::as_bytes(input.subspan(sizeof header));
  switch (static_cast<trace::row_type>(header.type)) {
#define SLUICE_DECODE(row, kind)              \
  case trace::row_type::kind:                 \
    decode<trace::row>(payload, header.rows); \
    break;
    SLUICE_FOR_EACH_ROW(SLUICE_DECODE)
#undef SLUICE_DECODE
    default:
      break;
  }
}

template <class Row>
bytes seed(trace::row_type type) {
  std::mt19937_64 random(static_cast<std::uint64_t>(type));
  std::vector<Row> rows;
  for (int i = 0; i < 5; ++i) rows.push_back(trace::testing::random_row<Row>(random));
  std::vector<std::byte> payload;
  trace::row_encoder().encode<Row>(rows, payload);
  const input_header header{static_cast<std::uint16_t>(type), static_cast<std::uint16_t>(rows.size())};
  bytes input(sizeof header + payload.size());
  std::memcpy(input.data(), &header, sizeof header);
  std::memcpy(input.data() + sizeof header, payload.data(), payload.size());
  return input;
}

std::vector<bytes> seeds() {
  std::vector<bytes> items;
#define SLUICE_SEED(row, kind) items.push_back(seed<trace::row>(trace::row_type::kind));
  SLUICE_FOR_EACH_ROW(SLUICE_SEED)
#undef SLUICE_SEED
  return items;
}

}  // namespace
}  // namespace sluice::fuzz::trace_codec

sluice::fuzz::target sluice::fuzz::trace_codec_target() {
  return {"trace_codec", trace_codec::run, trace_codec::seeds};
}
