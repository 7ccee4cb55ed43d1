#include "instrumentation/runtime/any_array.hpp"

#include <fmt/format.h>

namespace sluice::runtime {

namespace {

constexpr const char* call = "any_array";

// The required alignment of an element type. For a complex number: the size of one part.
std::size_t get_alignment(element_type type) {
  return type.kind == element_kind::complex ? type.bytes() / 2 : type.bytes();
}

}  // namespace

std::string to_string(element_type type) {
  const char* name = "";
  switch (type.kind) {
    case element_kind::integer:
      name = "int";
      break;
    case element_kind::unsigned_integer:
      name = "uint";
      break;
    case element_kind::floating:
      name = "float";
      break;
    case element_kind::brain_float:
      name = "bfloat";
      break;
    case element_kind::complex:
      name = "complex";
      break;
    case element_kind::boolean:
      return "bool";
  }
  return fmt::format("{}{}", name, type.bits);
}

any_array::any_array(device_span<std::byte> memory, std::size_t first, element_type type,
                     std::vector<std::int64_t> extents, std::vector<std::int64_t> strides, bool read_only)
    : memory_(std::move(memory)),
      first_(first),
      type_(type),
      extents_(std::move(extents)),
      strides_(std::move(strides)),
      read_only_(read_only) {
  if (type_.bits == 0 || type_.bits % 8 != 0) refuse(call, fmt::format("invalid element size: {} bits", type_.bits));
  if (extents_.size() != strides_.size()) {
    refuse(call, fmt::format("{} extents but {} strides", extents_.size(), strides_.size()));
  }
  size_ = element_count(extents_, type_.bytes(), call);
  if (size_ == 0) return;
  const offset_range offsets = find_offset_range(extents_, strides_, type_.bytes(), call);
  const auto item = static_cast<std::int64_t>(type_.bytes());
  const auto begin = static_cast<std::int64_t>(first_), end = static_cast<std::int64_t>(memory_.size());
  if (begin < 0 || begin > end || offsets.lowest * item < -begin || (offsets.highest + 1) * item > end - begin) {
    refuse(call, fmt::format("shape {}, strides {}: exceeds its memory of {} bytes", to_string(extents_),
                             to_string(strides_), memory_.size()));
  }
  if (reinterpret_cast<std::uintptr_t>(data()) % get_alignment(type_) != 0) {
    refuse(call, fmt::format("{} is not aligned for {}", data(), to_string(type_)));
  }
}

void any_array::require(element_type type, std::size_t rank, bool read_only) const {
  if (type != type_) {
    refuse(call, fmt::format("the elements are {}, not {}", to_string(type_), to_string(type)));
  }
  if (rank != extents_.size()) refuse(call, fmt::format("the array has {} axes, not {}", extents_.size(), rank));
  if (read_only_ && !read_only) refuse(call, "the array is read-only; use const elements");
}

any_array any_array::owned_by(memory_owner owner) const {
  any_array out = *this;
  out.memory_ = {memory_.data(), memory_.size(), std::move(owner), space(), device()};
  return out;
}

any_array checked_array(const foreign_array& array, const device_ref& device, const char* caller) {
  if (array.type.bits == 0 || array.type.bits % 8 != 0)
    refuse(caller, fmt::format("invalid element size: {} bits", array.type.bits));
  if (array.extents.size() != array.strides.size()) {
    refuse(caller, fmt::format("{} extents but {} strides", array.extents.size(), array.strides.size()));
  }
  const std::size_t item = array.type.bytes();
  if (element_count(array.extents, item, caller) == 0) {
    device_span<std::byte> nothing(nullptr, 0, {}, memory_space::device, device);
    return {std::move(nothing), 0, array.type, array.extents, array.strides, array.read_only};
  }
  const offset_range offsets = find_offset_range(array.extents, array.strides, item, caller);
  // Bytes before the element with all indices 0, and bytes from there to the end of the last element.
  const auto before = static_cast<std::uint64_t>(-offsets.lowest) * item;
  const auto address = reinterpret_cast<std::uintptr_t>(array.data);
  if (before > address) refuse(caller, fmt::format("elements start {} bytes before {}", before, array.data));
  const auto span = static_cast<std::uint64_t>(offsets.highest + 1) * item;
  std::uint64_t bytes = 0;
  if (__builtin_add_overflow(before, span, &bytes)) refuse(caller, "the size exceeds the address space");
  const unowned_buffer memory(array.data ? reinterpret_cast<void*>(address - before) : nullptr, bytes, {}, device);
  return {memory.span(), before, array.type, array.extents, array.strides, array.read_only};
}

}  // namespace sluice::runtime
