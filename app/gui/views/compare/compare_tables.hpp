#pragma once

#include <optional>
#include <unordered_set>
#include <vector>

#include "app/gui/views/compare/side_picker.hpp"
#include "app/gui/views/parts/view_tables.hpp"
#include "core/metrics/comparison/comparison.hpp"

namespace sluice::gui {

/// Draws the table of the metrics of both sides. `tables`: the tables of the view.
void draw_metric_table(const view_context& with, const std::vector<metrics::compared_value>& values,
                       view_tables& tables);

/// The table of the groups of memory that grew. Clicking a row goes to the largest block of the row's group.
class growth_table {
 public:
  /// Draws the groups of `memory`. `tables`: the tables of the view.
  void draw(const view_context& with, const metrics::memory_difference& memory, const open_side& before,
            const open_side& after, view_tables& tables);
  /// Goes to the largest block of the clicked group, once the block is known. Call once per frame.
  void follow(const view_context& with);
  /// True while a clicked group's largest block is not known yet.
  [[nodiscard]] bool busy() const { return jump_.has_value(); }

 private:
  /// A pending request to go to the largest block of a group.
  struct jump {
    document_id document = document_id::none;
    time_ns time = 0;
    query::blocks_query query;
    trace::device_id device{};
    trace::memory_kind kind = trace::memory_kind::unknown;
    std::unordered_set<std::uint64_t> stacks;
    std::optional<index::category> category;
  };
  enum class grouping : std::uint8_t { line, module, category };

  void draw_rows(const view_context& with, const metrics::memory_difference& memory,
                 const std::vector<metrics::grown_group>& groups, const open_side& before, const open_side& after,
                 view_tables& tables);
  void go_to(const metrics::memory_difference& memory, const metrics::grown_group& group, const open_side& before,
             const open_side& after);

  grouping by_ = grouping::line;
  bool by_chosen_ = false;
  std::optional<jump> jump_;
  screen_slot<query::blocks_query> jump_query_;
};

}  // namespace sluice::gui
