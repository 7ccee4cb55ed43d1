#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/gui/views/row_menu.hpp"
#include "core/figures/report.hpp"

namespace sluice::gui {

/// The columns of the list of blocks.
enum class block_cell : std::uint8_t {
  size,
  line,
  category,
  born,
  died,
  lifetime,
  last_use,
  idle,
  step,
  address,
  name,
  layer,
  kind,
  first_use,
  uses,
  process
};

/// The blocks that were live in the selected range, at a moment, or in the whole recording, with filters. Scrolls by row
/// index, because a float cannot address the rows of a long recording in pixels.
class blocks_view final : public view {
 public:
  [[nodiscard]] const char* name() const override { return "Blocks"; }
  [[nodiscard]] bool offers_choices() const override { return true; }
  [[nodiscard]] bool scrolls() const override { return false; }
  void add_commands(const command_home& home) override;
  void reset() override;
  void follow(const view_context& with) override;
  void draw(view_context& with) override;
  void keep(document_id of, kept_view& into) const override;
  void restore(const view_context& with, const kept_view& from) override;

  /// What the list is limited to; for tests.
  [[nodiscard]] const blocks_filter& filter() const { return filter_; }
  /// The blocks whose rows were drawn in the last frame; for tests.
  [[nodiscard]] const std::vector<trace::block_id>& blocks_on_screen() const { return on_screen_; }
  /// How many blocks pass the filter, as far as is known; for tests.
  [[nodiscard]] std::uint64_t count() const { return count_; }

 private:
  /// A block to scroll to, once it is among the rows.
  struct wanted_block {
    trace::block_id block{};
    query::time_ns born = 0;
    int tries = 0;
  };

  void start_over();
  void look_for_wanted(const query::block_table& table);
  void draw_filters(const view_context& with, const query::answer<analysis::report>& report);
  void draw_filter_choices(const view_context& with, const query::answer<analysis::report>& report);
  void draw_moment_filter(const view_context& with, const analysis::report* report);
  void draw_group_filter(const view_context& with);
  void draw_footer(const view_context& with, const query::block_table& table) const;
  void draw_table(const view_context& with, const query::block_table& table, bool footer);
  void sort_as_wanted();
  static void draw_headings();
  void draw_row(const view_context& with, const table_content& content, const query::block_table& table,
                std::size_t at);
  static void draw_cell(const view_context& with, const query::block_table& table, std::size_t at, block_cell what);
  [[nodiscard]] static table_cell cell(const view_context& with, const query::block_table& table, std::size_t at,
                                       block_cell what);
  [[nodiscard]] table_content content_of(const view_context& with, const query::block_table& table);
  void filter_entries(const view_context& with, const query::block_table& table, std::size_t at);
  void take_whole(const view_context& with, const table_content& content, const query::block_table& table);
  static void draw_category(const view_context& with, const analysis::block_category& is);

  screen_slot<query::blocks_question> question_;
  screen_slot<query::blocks_question> ahead_;  ///< So that the blocks of a long recording are listed before a sort.
  screen_slot<query::report_question> report_;
  std::size_t wanted_rows_ = query::block_table::first_rows;  ///< All rows once the user scrolls to the end of these.
  blocks_filter filter_;
  document_id document_ = document_id::none;  ///< Of which the list is.
  bool layer_chosen_ = false;                 ///< False: the innermost layer will be.
  std::optional<symbols::attribution> by_;    ///< None: `grouping_of`.
  query::block_column sort_ = query::block_column::bytes;
  bool descending_ = true;
  std::string sort_wanted_;  ///< Title of the column to sort by next; empty: none.
  std::int64_t first_ = 0;
  std::uint64_t revealed_ = 0;  ///< Number of the last `reveal_request` that was followed.
  wanted_block wanted_;
  std::vector<trace::block_id> on_screen_;
  std::uint64_t count_ = 0;
  std::optional<std::int64_t> scroll_to_;
  row_menu menu_;
  std::optional<bool> whole_wanted_;  ///< The table is to be copied (false) or saved once all its rows are known.
};

}  // namespace sluice::gui
