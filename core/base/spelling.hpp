#pragma once

#include <string_view>

/// Names of members. The names are taken from the text that the compiler prints for a member pointer, so no list has to
/// repeat them.
namespace sluice::spelling {

/// Returns the name of the member that `Member` points to, for example "block".
template <auto Member>
[[nodiscard]] constexpr std::string_view of_pointer() {
  // GCC: "[with auto Member = &sluice::trace::event_base::id; std::string_view = ...]"; Clang: "[Member = &...::id]".
  constexpr std::string_view text = __PRETTY_FUNCTION__;
  constexpr std::size_t after = text.find("Member = ");
  constexpr std::size_t end = text.find_first_of(";]", after);
  constexpr std::string_view path = text.substr(after, end - after);
  constexpr std::size_t last = path.rfind("::");
  constexpr std::string_view name = path.substr(last + 2);
  return name.substr(0, name.find_first_of(" )"));
}

}  // namespace sluice::spelling
