#include "instrumentation/runtime/shape.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace sluice::runtime {

namespace {

constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max();

}  // namespace

void refuse(const char* call, std::string why) { throw error({status::invalid_value, 0, call, std::move(why)}); }

std::string to_string(std::span<const std::int64_t> extents) {
  std::string out = "(";
  for (std::size_t i = 0; i < extents.size(); ++i) out += fmt::format("{}{}", i == 0 ? "" : ", ", extents[i]);
  return out + (extents.size() == 1 ? ",)" : ")");
}

std::uint64_t element_count(std::span<const std::int64_t> extents, std::size_t item_bytes, const char* call) {
  if (extents.size() > max_axes) refuse(call, fmt::format("{} axes: expected at most {}", extents.size(), max_axes));
  for (const std::int64_t extent : extents) {
    if (extent < 0) refuse(call, fmt::format("shape {}: negative extent", to_string(extents)));
  }
  // An empty array has no bytes, even if the product of its other extents would overflow.
  if (std::find(extents.begin(), extents.end(), 0) != extents.end()) return 0;
  std::int64_t bytes = static_cast<std::int64_t>(std::max<std::size_t>(item_bytes, 1));
  for (const std::int64_t extent : extents) {
    if (__builtin_mul_overflow(bytes, extent, &bytes)) {
      refuse(call, fmt::format("shape {} of {}-byte elements: the size exceeds the address space", to_string(extents),
                               item_bytes));
    }
  }
  return static_cast<std::uint64_t>(bytes) / std::max<std::size_t>(item_bytes, 1);
}

void dense_strides(std::span<const std::int64_t> extents, storage_order order, std::span<std::int64_t> strides) {
  const std::size_t rank = extents.size();
  std::int64_t stride = 1;
  for (std::size_t i = 0; i < rank; ++i) {
    const std::size_t axis = order == storage_order::c ? rank - 1 - i : i;
    strides[axis] = stride;
    // The other extents of an empty array may overflow. Its strides do not matter.
    if (__builtin_mul_overflow(stride, std::max<std::int64_t>(extents[axis], 1), &stride)) stride = largest;
  }
}

bool is_contiguous(std::span<const std::int64_t> extents, std::span<const std::int64_t> strides,
                   storage_order order) noexcept {
  if (std::find(extents.begin(), extents.end(), 0) != extents.end()) return true;
  const std::size_t rank = extents.size();
  std::int64_t expected = 1;
  for (std::size_t i = 0; i < rank; ++i) {
    const std::size_t axis = order == storage_order::c ? rank - 1 - i : i;
    if (extents[axis] == 1) continue;
    if (strides[axis] != expected) return false;
    expected *= extents[axis];
  }
  return true;
}

offset_range find_offset_range(std::span<const std::int64_t> extents, std::span<const std::int64_t> strides,
                               std::size_t item_bytes, const char* call) {
  offset_range out;
  for (std::size_t i = 0; i < extents.size(); ++i) {
    std::int64_t step = 0;
    std::int64_t& end = strides[i] < 0 ? out.lowest : out.highest;
    if (__builtin_mul_overflow(extents[i] - 1, strides[i], &step) || __builtin_add_overflow(end, step, &end)) {
      refuse(call, fmt::format("shape {}, strides {}: an offset past 64 bits", to_string(extents), to_string(strides)));
    }
  }
  std::int64_t bytes = 0;
  const auto item = static_cast<std::int64_t>(item_bytes);
  if (out.highest == largest || out.lowest == -largest - 1 || __builtin_mul_overflow(out.highest + 1, item, &bytes) ||
      __builtin_mul_overflow(out.lowest, item, &bytes)) {
    refuse(call, fmt::format("shape {}, strides {}: an offset past 64 bits", to_string(extents), to_string(strides)));
  }
  return out;
}

void complete_extents(std::span<std::int64_t> extents, std::uint64_t count, const char* call) {
  const auto open = std::find(extents.begin(), extents.end(), -1);
  const std::string asked = to_string(extents);
  if (open != extents.end()) {
    *open = 1;
    const std::uint64_t others = element_count(extents, 1, call);
    if (others == 0 || count % others != 0) {
      refuse(call, fmt::format("{} elements cannot have the shape {}", count, asked));
    }
    *open = static_cast<std::int64_t>(count / others);
  }
  if (element_count(extents, 1, call) != count) {
    refuse(call, fmt::format("{} elements cannot have the shape {}", count, asked));
  }
}

}  // namespace sluice::runtime
