#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/gui/views/parts/view_tables.hpp"
#include "core/metrics/report/report.hpp"

namespace sluice::gui {

inline constexpr panel_info blocks_panel{.title = "Blocks", .scrolls = false, .offers_choices = true};

/// Lists the blocks that were live in the selected range, at a moment, or in the whole recording, with filters. The
/// engine filters and sorts them.
class blocks_view final : public view {
 public:
  blocks_view() : view(blocks_panel) {}
  void add_commands(const command_home& home) override;
  void reset() override;
  void follow(const view_context& with) override;
  void draw(view_context& with) override;
  void keep(document_id id, kept_view& into) const override;
  void restore(const view_context& with, const kept_view& source) override;

  /// The filter of the list; for tests.
  [[nodiscard]] const blocks_filter& filter() const { return filter_; }
  /// The blocks whose rows were drawn in the last frame; for tests.
  [[nodiscard]] const std::vector<trace::block_id>& blocks_on_screen() const { return on_screen_; }
  /// The number of blocks that pass the filter, as far as it is known; for tests.
  [[nodiscard]] std::uint64_t count() const { return count_; }

 private:
  bool take(const blocks_filter* wanted);
  /// A block to scroll to once it is among the rows.
  struct wanted_block {
    trace::block_id block{};
    time_ns born = 0;
    int tries = 0;
  };

  void start_over();
  void look_for_wanted(const query::block_table& table);
  void draw_filters(const view_context& with, const query::query_result<metrics::report>& report);
  void draw_filter_choices(const view_context& with, const query::query_result<metrics::report>& report);
  void draw_moment_filter(const view_context& with, const metrics::report* report);
  void draw_group_filter(const view_context& with);
  void draw_footer(const view_context& with, const query::block_table& table) const;
  void draw_table(const view_context& with, const query::block_table& table, bool footer);
  [[nodiscard]] table_model make_table(const view_context& with, const query::block_table& table);
  void filter_entries(const view_context& with, const query::block_table& table, std::size_t at);
  void take_whole(const view_context& with, const query::block_table& table);

  screen_slot<query::blocks_query> query_;
  screen_slot<query::blocks_query> ahead_;  ///< Lists the blocks of a long recording until the sorted list is ready.
  screen_slot<query::report_query> report_;
  std::size_t wanted_rows_ = query::block_table::first_rows;  ///< Set to the number of all rows once the user scrolls
                                                              ///< to the end.
  blocks_filter filter_;
  document_id document_ = document_id::none;  ///< The document whose blocks are listed.
  bool layer_chosen_ = false;                 ///< False: the view chooses the innermost layer.
  std::optional<symbols::attribution> by_;    ///< None: the attribution of `choose_grouping` applies.
  query::block_column sort_ = query::block_column::bytes;
  bool descending_ = true;
  std::uint64_t revealed_ = 0;  ///< Number of the last `reveal_request` that this view handled.
  wanted_block wanted_;
  std::vector<trace::block_id> on_screen_;
  std::uint64_t count_ = 0;
  view_tables tables_;
  std::optional<bool> whole_wanted_;  ///< Once all rows are known, copy (false) or save (true) the whole table; none:
                                      ///< do neither.
};

}  // namespace sluice::gui
