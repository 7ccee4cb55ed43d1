#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

/// Finds where to resume reading after a broken event. Private to core/import.
namespace sluice::importing {

/// What reading a JSON object byte by byte found.
struct strict_object {
  enum class state : std::uint8_t { whole, cut, broken };
  state status = state::broken;
  std::size_t end = 0;     ///< The index after the '}' of the object, if the object is whole.
  bool has_phase = false;  ///< The object itself has a member "ph", so it is an event.
};

/// Reads the object that begins with the first byte of `text`. Names, colons, values and commas must be in the correct
/// order; strings may have any escapes. An object with more than 4096 levels of brackets counts as broken. O(n).
[[nodiscard]] strict_object read_object_strictly(std::string_view text);

/// Where to resume in an array of events when one of them is broken.
struct resumption {
  std::size_t at = 0;       ///< The start of the next event that is whole or that the end of the text truncates.
  std::size_t skipped = 0;  ///< The number of further events that the search skipped because they are also broken.
  bool found = false;       ///< If false, search again from `at` when more text is available.
  [[nodiscard]] std::size_t events_lost() const { return 1 + skipped; }
};

/// Finds the next event after the broken one that starts at the first byte of `text`. An event starts at a '{' after a
/// comma and is an object with a member "ph". The rest or the end of the array follows it. `more`: there is text after
/// `text`. O(n), plus O(number * length) for broken events.
[[nodiscard]] resumption find_next_event(std::string_view text, bool more);

}  // namespace sluice::importing
