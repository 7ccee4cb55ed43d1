#pragma once

#include <string_view>

/// The names of members, read from how the compiler prints a pointer to them, so that no list repeats them.
namespace sluice::spelling {

/// The name of the member that `Member` points to: "block".
template <auto Member>
[[nodiscard]] constexpr std::string_view of_pointer() {
  // GCC: "[with auto Member = &sluice::trace::event_base::id; std::string_view = ...]"; clang: "[Member = &...::id]".
  constexpr std::string_view all = __PRETTY_FUNCTION__;
  constexpr std::size_t after = all.find("Member = ");
  constexpr std::size_t end = all.find_first_of(";]", after);
  constexpr std::string_view path = all.substr(after, end - after);
  constexpr std::size_t last = path.rfind("::");
  constexpr std::string_view name = path.substr(last + 2);
  return name.substr(0, name.find_first_of(" )"));
}

}  // namespace sluice::spelling
