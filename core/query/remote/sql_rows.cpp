#include "core/query/remote/sql_rows.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

namespace sluice::query {
namespace {

class row_writer {
 public:
  template <class Number>
  void put(Number number) {
    static_assert(std::is_arithmetic_v<Number>);
    const auto bytes = std::as_bytes(std::span(&number, 1));
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  }
  void put(const std::string& text) {
    put(static_cast<std::uint32_t>(text.size()));
    const auto bytes = std::as_bytes(std::span(text));
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  }
  [[nodiscard]] std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

/// After the first error, all numbers are 0 and all texts empty.
class row_reader {
 public:
  explicit row_reader(std::span<const std::byte> bytes) : left_(bytes) {}

  [[nodiscard]] bool failed() const { return failed_; }
  [[nodiscard]] bool at_end() const { return left_.empty(); }
  template <class Number>
  Number get() {
    Number number{};
    if (const auto bytes = take(sizeof number); !bytes.empty()) std::memcpy(&number, bytes.data(), sizeof number);
    return number;
  }
  std::string get_text() {
    const auto bytes = take(get<std::uint32_t>());
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }

 private:
  std::span<const std::byte> take(std::size_t count) {
    failed_ = failed_ || count > left_.size();
    if (failed_) return {};
    const auto taken = left_.first(count);
    left_ = left_.subspan(count);
    return taken;
  }

  std::span<const std::byte> left_;
  bool failed_ = false;
};

/// One past the last kind of id.
constexpr auto id_kinds = static_cast<std::uint8_t>(id_kind::graph) + 1;

sql_block read_block(row_reader& in, std::uint64_t cells) {
  sql_block block;
  for (std::uint64_t cell = 0; cell < cells && !in.failed(); ++cell) {
    block.numbers.push_back(in.get<std::uint8_t>() != 0);
    block.values.push_back(in.get<std::int64_t>());
    block.cells.push_back(in.get_text());
  }
  return block;
}

}  // namespace

std::vector<std::byte> encode_rows(const sql_result& result) {
  row_writer out;
  out.put(static_cast<std::uint32_t>(result.columns.size()));
  out.put(result.rows);
  out.put(static_cast<std::uint8_t>(result.cut));
  out.put(result.seconds);
  for (const sql_column& column : result.columns) {
    out.put(static_cast<std::uint8_t>(column.id));
    out.put(column.name);
  }
  for (const auto& block : result.blocks)
    for (std::size_t cell = 0; cell < block->cells.size(); ++cell) {
      out.put(static_cast<std::uint8_t>(block->numbers[cell]));
      out.put(block->values[cell]);
      out.put(block->cells[cell]);
    }
  return out.take();
}

result<sql_result> decode_rows(std::span<const std::byte> bytes) {
  row_reader in(bytes);
  sql_result came;
  const auto columns = in.get<std::uint32_t>();
  came.rows = in.get<std::uint64_t>();
  came.cut = in.get<std::uint8_t>() != 0;
  came.seconds = in.get<double>();
  bool sound = columns > 0 || came.rows == 0;
  for (std::uint32_t i = 0; i < columns && !in.failed(); ++i) {
    const auto kind = in.get<std::uint8_t>();
    sound = sound && kind < id_kinds;
    came.columns.push_back({in.get_text(), static_cast<id_kind>(kind)});
  }
  for (std::uint64_t row = 0; row < came.rows && sound && !in.failed(); row += sql_result::block_rows) {
    const std::uint64_t rows = std::min<std::uint64_t>(came.rows - row, sql_result::block_rows);
    came.blocks.push_back(std::make_shared<const sql_block>(read_block(in, rows * columns)));
  }
  if (!sound || in.failed() || !in.at_end()) return fail(error_code::corrupt, "received invalid rows");
  return came;
}

}  // namespace sluice::query
