#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/query/types/memory_groups.hpp"
#include "core/query/types/result_types.hpp"

namespace sluice::gui {

enum class document_id : std::uint32_t { none = 0 };

enum class selection_kind : std::uint8_t {
  none,
  event,
  block,
  track,
  frame  ///< A frame of the call tree; `id` is its id in a query::stack_view.
};

/// The selected item. The window has exactly one selection.
struct selection {
  document_id document = document_id::none;
  selection_kind kind = selection_kind::none;
  std::uint64_t id = 0;
  friend bool operator==(const selection&, const selection&) = default;
};

/// The filter of the list of blocks. Members that are not set do not filter.
struct blocks_filter {
  std::string text{};                 ///< See `query::blocks_query::filter`.
  std::optional<time_range> range{};  ///< Only blocks that are live at some time in this range; none: blocks of the
                                      ///< whole recording.
  std::optional<trace::layer> layer{};
  std::optional<index::category> category{};
  std::uint64_t min_bytes = 0;
  bool only_unfreed = false;
  bool only_unused = false;
  std::optional<trace::device_id> device{};
  std::optional<trace::memory_kind> kind{};
  trace::process_id process{};                  ///< Only blocks of this process; none: all processes.
  std::optional<query::block_groups> groups{};  ///< Only blocks in these groups of the panel Memory over time.
  std::string group_words{};                    ///< The combined name of device, kind and groups; printable.
  friend bool operator==(const blocks_filter&, const blocks_filter&) = default;
};

/// A request to bring a selected event or block onto the screen. Each view that can show the item compares `number`
/// with that of the last request it handled.
struct reveal_request {
  std::uint64_t number = 0;
  selection target;
  time_range span;          ///< Time range of the event, or lifetime of the block.
  std::uint64_t track = 0;  ///< The track that shows the item; 0: none.
};

/// The user's position, which the navigation history stores.
struct location {
  selection selected;
  std::optional<time_range> range;  ///< The selected range, in the document's time.
  time_range visible;
  std::optional<time_ns> moment{};  ///< The moment whose memory is shown; none if the user has not chosen a moment.
  friend bool operator==(const location&, const location&) = default;
};

}  // namespace sluice::gui
