#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/import/chrome/document.hpp"
#include "core/import/chrome/event.hpp"

/// Parses pieces of a Chrome trace with simdjson. Private to core/import.
namespace sluice::importing {

/// The parsed content of a piece.
struct chrome_batch {
  std::vector<chrome_event> events;
  std::vector<chrome_details> details;
  std::vector<chrome_argument> arguments;
  std::vector<chrome_fault> faults;
  std::deque<std::string> kept;         ///< Texts that had to be changed, so that they do not point into the piece.
  std::uint64_t skipped_arguments = 0;  ///< "args" objects from which nothing was read.
  std::uint64_t lost_bytes = 0;         ///< Bytes of events that are not JSON.

  void clear();
};

/// Parses a trace piece by piece, each into a batch of events. Their texts point into both, and live as long as these.
class chrome_parser {
 public:
  chrome_parser();
  ~chrome_parser();
  chrome_parser(const chrome_parser&) = delete;
  chrome_parser& operator=(const chrome_parser&) = delete;

  /// Parses the events of `piece`, writing to its margins. Invalid events are recorded as faults and left out. Bytes
  /// that are not UTF-8 become '?'. O(n).
  void parse(chrome_piece& piece, chrome_batch& into);

 private:
  struct state;
  std::unique_ptr<state> state_;
};

/// Splits an object (or an array, whose elements have no names) one level deep: names and values as text, strings
/// without quotes. Nothing if it is neither, is not JSON, or is nested deeper than `most_json_levels`.
[[nodiscard]] std::optional<std::vector<std::pair<std::string, std::string>>> json_members(std::string_view object);

}  // namespace sluice::importing
