#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/import/chrome/document.hpp"
#include "core/import/chrome/event.hpp"

/// Parsing pieces of a Chrome trace with simdjson. Private to core/import.
namespace sluice::importing {

/// What a piece's text says.
struct chrome_batch {
  std::vector<chrome_event> events;
  std::vector<chrome_details> details;
  std::vector<chrome_argument> arguments;
  std::vector<chrome_fault> faults;
  std::deque<std::string> kept;         ///< Texts that are not in the piece as they are.
  std::uint64_t skipped_arguments = 0;  ///< Objects of arguments that nothing was taken of.
  std::uint64_t lost_bytes = 0;         ///< Of events that are no JSON.

  void clear();
};

/// Parses pieces. The batch's texts point into the piece and the batch, and are valid until one of them is used again.
class chrome_parser {
 public:
  chrome_parser();
  ~chrome_parser();
  chrome_parser(const chrome_parser&) = delete;
  chrome_parser& operator=(const chrome_parser&) = delete;

  /// Parses the events of `piece`, whose margins it writes to. An event that is not right is a fault, and is left out; bytes that are
  /// not UTF-8 become '?'. O(n).
  void parse(chrome_piece& piece, chrome_batch& into);

 private:
  struct state;
  std::unique_ptr<state> state_;
};

/// A member of the document, or of a member that is an object, taken apart one level: names and values as text, strings without
/// quotes. Empty for what is no object. An array gives its elements, without names.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> json_members(std::string_view object);

}  // namespace sluice::importing
