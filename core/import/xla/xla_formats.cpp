#include "core/import/xla/xla_formats.hpp"

#include <cstdint>
#include <optional>

namespace sluice::importing {
namespace {

constexpr char first_message = 0x0a;  ///< The key of field 1, which is a message.

std::optional<std::uint64_t> take_varint(std::string_view& source) {
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < 63 && !source.empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(source.front());
    source.remove_prefix(1);
    value |= std::uint64_t{byte & 0x7fU} << shift;
    if (byte < 0x80) return value;
  }
  return std::nullopt;
}

}  // namespace

bool is_pprof_head(std::string_view head) {
  constexpr char type = 0x08, unit = 0x10, second_message = 0x12;
  if (!head.starts_with(first_message)) return false;
  head.remove_prefix(1);
  const auto size = take_varint(head);
  if (!size || *size < 2 || *size > 22 || *size > head.size()) return false;
  std::string_view inside = head.substr(0, static_cast<std::size_t>(*size));
  head.remove_prefix(inside.size());
  for (const char key : {type, unit}) {
    if (!inside.starts_with(key)) continue;
    inside.remove_prefix(1);
    if (!take_varint(inside)) return false;
  }
  return inside.empty() && (head.starts_with(first_message) || head.starts_with(second_message));
}

bool is_xspace_head(std::string_view head) {
  constexpr char id = 0x08, name = 0x12;
  if (!head.starts_with(first_message)) return false;
  head.remove_prefix(1);
  if (!take_varint(head)) return false;
  if (head.starts_with(id)) {
    head.remove_prefix(1);
    if (!take_varint(head)) return false;
  }
  if (!head.starts_with(name)) return false;
  head.remove_prefix(1);
  const auto size = take_varint(head);
  if (!size || *size > 256 || *size > head.size()) return false;
  const std::string_view text = head.substr(0, static_cast<std::size_t>(*size));
  for (const std::string_view known : {"/host:", "/device:", "Task Environment", "#Chip", "SparseCore"})
    if (text.find(known) != std::string_view::npos) return true;
  return false;
}

}  // namespace sluice::importing
