#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

/// Going on behind an event that is broken. Private to core/import.
namespace sluice::importing {

/// A JSON object as one byte after the other says it is.
struct strict_object {
  enum class state : std::uint8_t { whole, cut, broken };
  state is = state::broken;
  std::size_t end = 0;     ///< Behind its '}' if it is whole.
  bool has_phase = false;  ///< It has a member "ph" of its own: it is an event.
};

/// Reads the object that begins with the first byte of `text`. Names, colons, values and commas must follow one another as they should,
/// and strings may hold any escape. O(n); holds a bit for each level of brackets, up to 4096, beyond which an object is broken.
[[nodiscard]] strict_object read_object_strictly(std::string_view text);

/// Where to go on in the events of an array when one of them is broken.
struct resumption {
  std::size_t at = 0;       ///< The beginning of the next event that is whole, or that the text cuts off.
  std::size_t skipped = 0;  ///< Beginnings of events that were passed over: they are broken too.
  bool found = false;       ///< False: `at` is where to look again when there is more text.
  [[nodiscard]] std::size_t events_lost() const { return 1 + skipped; }
};

/// Looks behind the first byte of `text`, where a broken event begins, for the next one: a '{' behind a comma that is an object with a
/// member "ph", and behind which the array goes on or ends. `more`: the text goes on behind what is here.
/// O(n), and in what is found to be broken O(its events * their length).
[[nodiscard]] resumption find_next_event(std::string_view text, bool more);

}  // namespace sluice::importing
