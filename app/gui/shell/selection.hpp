#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/query/answers/answer_types.hpp"
#include "core/query/answers/panels/memory_groups.hpp"

namespace sluice::gui {

enum class document_id : std::uint32_t { none = 0 };

enum class selection_kind : std::uint8_t {
  none,
  event,
  block,
  track,
  frame  ///< A frame of the call tree; `id` is its id in a query::stack_view.
};

/// The selection; the window has exactly one.
struct selection {
  document_id document = document_id::none;
  selection_kind kind = selection_kind::none;
  std::uint64_t id = 0;
  friend bool operator==(const selection&, const selection&) = default;
};

/// Which blocks the list of blocks shall show; what is not set stays out of the filter.
struct blocks_filter {
  std::string text{};                        ///< See `query::blocks_question::filter`.
  std::optional<query::time_range> range{};  ///< Live at some time in it; none: in the whole recording.
  std::optional<trace::layer> layer{};
  std::optional<analysis::category> category{};
  std::uint64_t least_bytes = 0;
  bool only_unfreed = false;
  bool only_unused = false;
  std::optional<trace::device_id> device{};
  std::optional<trace::memory_kind> kind{};
  trace::process_id process{};                  ///< None: of all.
  std::optional<query::block_groups> groups{};  ///< Of memory over time.
  std::string group_words{};                    ///< What device, kind and groups are called together; printable.
  friend bool operator==(const blocks_filter&, const blocks_filter&) = default;
};

/// A request to bring a selected event or block onto the screen. Each view that can show it compares `number` with the
/// last one it has seen.
struct reveal_request {
  std::uint64_t number = 0;
  selection what;
  query::time_range span;   ///< Of the event, or the block's life.
  std::uint64_t track = 0;  ///< The track that shows it; 0: none.
};

/// The user's position, as stored in the history for going back.
struct location {
  selection selected;
  std::optional<query::time_range> range;  ///< The selected range, in the document's time.
  query::time_range visible;
  std::optional<query::time_ns> moment{};  ///< The moment whose memory is shown; none if not chosen.
  friend bool operator==(const location&, const location&) = default;
};

}  // namespace sluice::gui
