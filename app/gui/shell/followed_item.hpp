#pragma once

#include <span>
#include <string>
#include <vector>

#include "app/gui/shell/documents.hpp"
#include "app/gui/shell/screen_text.hpp"
#include "core/query/types/block_uses.hpp"

namespace sluice::gui {

/// What is known of the selected event or block. All views light the same objects: the selected one, the kernels and
/// copies that used a selected block, and the blocks that a selected kernel or copy uses.
class followed_item {
 public:
  /// Queries the selected item. Call once per frame.
  void follow(const documents& session);
  /// Discards what is known. Call when another document becomes active.
  void reset();

  /// The details of the selected event or block; null until known, and if something else is selected.
  [[nodiscard]] const query::event_details* details() const { return details_.get(); }
  /// The uses of the selected block; null until known, and if no block is selected.
  [[nodiscard]] const query::block_use_list* uses() const { return uses_.get(); }
  [[nodiscard]] bool lights(trace::event_id event) const;
  [[nodiscard]] bool lights(trace::block_id block) const;
  /// The lit blocks, sorted.
  [[nodiscard]] std::span<const trace::block_id> blocks() const { return blocks_; }
  /// The line that allocated the selected block or issued the selected event, as text; empty if it is not known.
  [[nodiscard]] const std::string& line() const { return line_; }
  /// Changes whenever other objects are lit.
  [[nodiscard]] std::uint64_t version() const { return version_; }

  /// Sets what is known; for tests.
  void assign(const selection& chosen, std::shared_ptr<const query::event_details> details,
              std::shared_ptr<const query::block_use_list> uses);

 private:
  selection chosen_;
  screen_slot<query::details_query> details_query_;
  screen_slot<query::block_uses_query> uses_query_;
  std::shared_ptr<const query::event_details> details_;
  std::shared_ptr<const query::block_use_list> uses_;
  std::vector<trace::event_id> events_;  ///< Lit events, sorted.
  std::vector<trace::block_id> blocks_;  ///< Lit blocks, sorted.
  std::string line_;
  std::uint64_t version_ = 0;
};

}  // namespace sluice::gui
