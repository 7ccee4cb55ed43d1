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
#include "core/import/trace_events/event.hpp"

/// Parses pieces of a Chrome trace with simdjson. Private to core/import.
namespace sluice::importing {

/// The parsed events of one piece.
struct chrome_batch {
  std::vector<chrome_event> events;
  std::vector<chrome_details> details;
  std::vector<chrome_argument> arguments;
  std::vector<chrome_fault> faults;
  std::deque<std::string> kept;         ///< Texts that differ from those in the piece, such as unescaped strings.
  std::uint64_t skipped_arguments = 0;  ///< The number of "args" objects that were ignored.
  std::uint64_t lost_bytes = 0;         ///< The number of bytes of events that are not valid JSON.

  void clear();
};

/// Parses a trace piece by piece, each piece into a batch of events. The texts of events are valid as long as both the
/// piece and the batch exist.
class chrome_parser {
 public:
  chrome_parser();
  ~chrome_parser();
  chrome_parser(const chrome_parser&) = delete;
  chrome_parser& operator=(const chrome_parser&) = delete;

  /// Parses the events of `piece`, whose text and margins are modified. Invalid events are recorded as faults and
  /// skipped. Bytes that are not UTF-8 become '?'. O(n).
  void parse(chrome_piece& piece, chrome_batch& into);

 private:
  struct state;
  std::unique_ptr<state> state_;
};

/// Returns the names and values of the members of a JSON object, or the elements of an array with empty names. Values
/// are JSON texts, strings without their quotes. Returns nullopt if the text is neither an object nor an array, is not
/// valid JSON, or is nested deeper than `max_json_levels`.
[[nodiscard]] std::optional<std::vector<std::pair<std::string, std::string>>> json_members(std::string_view object);

}  // namespace sluice::importing
