#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

/// Finds where to resume reading after a broken event. Private to core/import.
namespace sluice::importing {

/// The outcome of reading a JSON object byte by byte.
struct strict_object {
  enum class state : std::uint8_t { whole, cut, broken };
  state is = state::broken;
  std::size_t end = 0;     ///< Index after its '}' if it is whole.
  bool has_phase = false;  ///< The object itself has a member "ph": it is an event.
};

/// Reads the object that begins with the first byte of `text`. Names, colons, values and commas must be in correct
/// order; strings may hold any escape. O(n); holds a bit per level of brackets, up to 4096. Deeper objects are broken.
[[nodiscard]] strict_object read_object_strictly(std::string_view text);

/// Where to resume in an array of events when one of them is broken.
struct resumption {
  std::size_t at = 0;       ///< Begin of the next event that is whole, or that the text cuts off.
  std::size_t skipped = 0;  ///< Number of begins of events that were skipped: they are broken too.
  bool found = false;       ///< False: search again from `at` when there is more text.
  [[nodiscard]] std::size_t events_lost() const { return 1 + skipped; }
};

/// Finds the next event after the broken one that begins at the first byte of `text`: a '{' behind a comma that begins
/// an object with a member "ph", after which the array goes on or ends. `more`: there is text after `text`. O(n); for
/// broken events O(their number * their length).
[[nodiscard]] resumption find_next_event(std::string_view text, bool more);

}  // namespace sluice::importing
