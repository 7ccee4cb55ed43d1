// The payloads of version 1, read only. A run of columns:
//
//   | number u16 | encoding u8 | 0 u8 | bytes u32 | data ... |
//
// Integers are stored once if all are equal, else as zigzag varints of the value or of the difference from the row before; reals as
// 8 bytes; texts as varint lengths, then the bytes.
#include <type_traits>

#include "core/trace/columns/byte_cursor.hpp"
#include "core/trace/columns/codec.hpp"
#include "core/trace/columns/column_values.hpp"
#include "core/trace/columns/integers.hpp"

namespace sluice::trace {
namespace {

enum class encoding : std::uint8_t { constant = 0, varint = 1, delta = 2, real = 3, text = 4 };

bool get_integers(encoding how, byte_cursor& data, std::span<std::uint64_t> values) {
  switch (how) {
    case encoding::constant: {
      const std::uint64_t value = unzigzag(data.varint());
      for (std::uint64_t& each : values) each = value;
      break;
    }
    case encoding::varint:
      for (std::uint64_t& each : values) each = unzigzag(data.varint());
      break;
    case encoding::delta: {
      std::uint64_t value = 0;
      for (std::uint64_t& each : values) each = value += unzigzag(data.varint());
      break;
    }
    default:
      return false;
  }
  return !data.failed() && data.at_end();
}

template <class Row, class Class, class Member>
bool get_column(encoding how, std::span<const std::byte> bytes, const field<Class, Member>& column, std::span<Row> rows,
                std::vector<std::uint64_t>& scratch) {
  byte_cursor data(bytes);
  if constexpr (std::is_same_v<Member, std::string>) {
    if (how != encoding::text) return false;
    scratch.assign(rows.size(), 0);
    for (std::uint64_t& length : scratch) length = data.varint();
    for (std::size_t i = 0; i < rows.size() && !data.failed(); ++i) {
      const auto text = data.take(scratch[i]);
      (rows[i].*column.member).assign(reinterpret_cast<const char*>(text.data()), text.size());
    }
    return !data.failed() && data.at_end();
  } else if constexpr (std::is_same_v<Member, double>) {
    if (how != encoding::real) return false;
    for (Row& row : rows) row.*column.member = data.get<double>();
    return !data.failed() && data.at_end();
  } else {
    scratch.assign(rows.size(), 0);
    if (!get_integers(how, data, scratch)) return false;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (!from_bits(scratch[i], rows[i].*column.member)) return false;
    }
    return true;
  }
}

}  // namespace

template <class Row>
result<void> decode_rows_v1(std::span<const std::byte> payload, std::size_t rows, std::vector<Row>& decoded) {
  if (rows > max_chunk_rows) return fail(error_code::corrupt, "a chunk claims " + std::to_string(rows) + " rows");
  decoded.assign(rows, Row{});
  std::vector<std::uint64_t> scratch;
  byte_cursor at(payload);
  while (!at.at_end()) {
    const std::size_t begin = at.at();
    const auto number = at.get<std::uint16_t>();
    const auto how = static_cast<encoding>(at.get<std::uint16_t>() & 0xff);
    const auto bytes = at.take(at.get<std::uint32_t>());
    bool sound = !at.failed();
    const auto decode_if_known = [&](const auto& column) {
      if (sound && column.number == number) sound = get_column(how, bytes, column, std::span(decoded), scratch);
    };
    schema<Row>::apply([&](const auto&... columns) { (decode_if_known(columns), ...); });
    if (!sound) {
      return fail(error_code::corrupt, "column " + std::to_string(number) + " does not decode", {}, {}, begin);
    }
  }
  return {};
}

#define SLUICE_INSTANTIATE(row, kind) \
  template result<void> decode_rows_v1<row>(std::span<const std::byte>, std::size_t, std::vector<row>&);
SLUICE_FOR_EACH_ROW(SLUICE_INSTANTIATE)
SLUICE_INSTANTIATE(index_row, index)
#undef SLUICE_INSTANTIATE

}  // namespace sluice::trace
