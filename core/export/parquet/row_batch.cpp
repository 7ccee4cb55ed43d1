#include "core/export/parquet/row_batch.hpp"

#include <cstring>

namespace sluice::exports {
namespace {

void append(std::vector<std::byte>& to, const void* source, std::size_t bytes) {
  const auto* begin = static_cast<const std::byte*>(source);
  to.insert(to.end(), begin, begin + bytes);
}

}  // namespace

void row_batch::clear() {
  for (column& each : columns_) {
    each.values.clear();
    each.known.clear();
    each.nulls = false;
  }
  rows_ = 0;
}

std::vector<std::byte>& batch_encoder::fresh() {
  if (used_ == held_.size()) held_.emplace_back();
  held_[used_].clear();
  return held_[used_++];
}

void batch_encoder::add_bits(std::size_t rows, const std::function<bool(std::size_t)>& is_set) {
  std::vector<std::byte>& bits = fresh();
  bits.resize((rows + 7) / 8);
  for (std::size_t i = 0; i < rows; ++i)
    if (is_set(i)) bits[i / 8] |= std::byte{1} << (i % 8);
  add(bits);
}

void batch_encoder::add_texts(const row_batch::column& column, const string_table& texts) {
  codes_.resize(texts.size());
  ++time_;
  std::vector<std::byte>& codes = fresh();
  std::vector<std::byte>& offsets = fresh();
  std::vector<std::byte>& content = fresh();
  codes.resize(column.values.size() * sizeof(std::int32_t));
  std::int32_t count = 0, end = 0;
  append(offsets, &end, sizeof end);
  for (std::size_t i = 0; i < column.values.size(); ++i) {
    if (column.known[i] == 0) continue;
    const auto number = static_cast<string_table::number>(column.values[i]);
    if (codes_[number].time != time_) {
      codes_[number] = {time_, count++};
      const std::string_view text = texts[number];
      append(content, text.data(), text.size());
      end = static_cast<std::int32_t>(content.size());
      append(offsets, &end, sizeof end);
    }
    std::memcpy(codes.data() + i * sizeof(std::int32_t), &codes_[number].value, sizeof(std::int32_t));
  }
  add(codes);
  add(offsets);
  add(content);
}

batch_encoder::buffers batch_encoder::encode(const row_batch& rows, std::span<const parquet_column> columns,
                                             const string_table& texts) {
  parts_.clear();
  used_ = 0;
  for (std::size_t c = 0; c < columns.size(); ++c) {
    const row_batch::column& column = rows.columns()[c];
    if (column.nulls) {
      add_bits(rows.rows(), [&](std::size_t i) { return column.known[i] != 0; });
    } else {
      add({});
    }
    if (columns[c].type == parquet_type::text) {
      add_texts(column, texts);
    } else if (columns[c].type == parquet_type::flag) {
      add_bits(rows.rows(), [&](std::size_t i) { return column.values[i] != 0; });
    } else {
      add(std::as_bytes(std::span(column.values)));
    }
  }
  return parts_;
}

}  // namespace sluice::exports
