#include "core/trace/columns/row_columns.hpp"

#include <cstring>

namespace sluice::trace {
namespace {

/// Number of rows that are split at once: they stay in the cache while one column after another is extracted from them.
constexpr std::size_t rows_at_a_time = 32;

/// Copies one member of `count` rows that are `stride` bytes apart.
template <class Value>
void copy_member(const std::byte* data, std::size_t stride, std::size_t count, std::uint64_t* to) {
#pragma GCC unroll 8
  for (std::size_t i = 0; i < count; ++i) {
    Value value;
    std::memcpy(&value, data + i * stride, sizeof value);
    to[i] = value;
  }
}

void copy_member(const member_layout& member, const std::byte* rows, std::size_t stride, std::size_t count,
                 std::uint64_t* to) {
  const std::byte* const data = rows + member.offset;
  switch (member.width) {
    case 1:
      return copy_member<std::uint8_t>(data, stride, count, to);
    case 2:
      return copy_member<std::uint16_t>(data, stride, count, to);
    case 4:
      return copy_member<std::uint32_t>(data, stride, count, to);
    default:
      return copy_member<std::uint64_t>(data, stride, count, to);
  }
}

}  // namespace

growing_columns::growing_columns(const row_layout& layout)
    : layout_(&layout),
      first_(layout.bytes / sizeof(std::uint64_t)),
      differing_(first_.size()),
      columns_(layout.members.size()) {}

void growing_columns::append(const void* rows, std::size_t count) {
  const std::size_t stride = layout_->bytes;
  auto source = static_cast<const std::byte*>(rows);
  for (std::size_t some = 0; count > 0; count -= some, source += some * stride) {
    some = std::min(count, rows_at_a_time);
    if (rows_ == 0) begin(source);
    note_differences(source, some);
    for (std::size_t place = 0; place < columns_.size(); ++place) {
      const member_layout& member = layout_->members[place];
      growing_column& column = columns_[place];
      if (member.is_text()) continue;
      if (column.is_constant()) {
        if (!differs(member)) continue;
        column.vary(rows_);
      }
      copy_member(member, source, stride, some, column.append(rows_, some));
    }
    rows_ += some;
  }
}

void growing_columns::begin(const std::byte* first) {
  std::memcpy(first_.data(), first, layout_->bytes);
  std::fill(differing_.begin(), differing_.end(), 0);
  for (std::size_t place = 0; place < columns_.size(); ++place) {
    const member_layout& member = layout_->members[place];
    if (!member.is_text()) columns_[place].begin(load(member, first));
  }
}

/// Compares whole rows, two words at a time, without regard to their members.
void growing_columns::note_differences(const std::byte* rows, std::size_t count) {
  using two_words = std::uint64_t __attribute__((vector_size(2 * sizeof(std::uint64_t))));
  const std::size_t stride = layout_->bytes;
  for (std::size_t word = 0; word < first_.size(); word += 2) {
    const std::size_t at = std::min(word, first_.size() - 2);
    const std::byte* data = rows + at * sizeof(std::uint64_t);
    two_words first, differing, now;
    std::memcpy(&first, first_.data() + at, sizeof first);
    std::memcpy(&differing, differing_.data() + at, sizeof differing);
#pragma GCC unroll 4
    for (std::size_t i = 0; i < count; ++i, data += stride) {
      std::memcpy(&now, data, sizeof now);
      differing |= now ^ first;
    }
    std::memcpy(differing_.data() + at, &differing, sizeof differing);
  }
}

bool growing_columns::differs(const member_layout& member) const {
  return load(member, reinterpret_cast<const std::byte*>(differing_.data())) != 0;
}

}  // namespace sluice::trace
