#pragma once

#include <memory>
#include <string>
#include <utility>

#include "app/gui/views/row_menu.hpp"
#include "app/gui/views/search_hits.hpp"

namespace sluice::gui {

/// Finds events by a part of their name. One row per name, with links to its first and its longest event. Shows partial
/// results while a search is running.
class search_view final : public view {
 public:
  explicit search_view(std::shared_ptr<search_hits> hits) : hits_(std::move(hits)) {}
  [[nodiscard]] const char* name() const override { return "Search"; }
  void add_commands(const command_home& home) override;
  void draw(view_context& with) override;
  void reset() override;

  // Functions for commands.
  /// Searches for `text` when the panel is next drawn; if empty, for the text in the input box.
  void find(const std::string& text);
  /// Cancels the search; results found so far stay.
  void stop();
  [[nodiscard]] bool searching() const { return searching_; }

 private:
  void ask(const view_context& with);
  /// Selects the next or previous of the found events, from the selected one or the visible range on.
  void step(const documents& state, const command_registry& commands, int by) const;
  void draw_lines(const view_context& with, const query::search_results& found);
  void draw_state(const view_context& with) const;
  void draw_table(const view_context& with, const query::search_results& found);
  void draw_row(const view_context& with, const table_content& content, std::size_t at, const query::found_name& row);
  static void go_to(const view_context& with, const query::found_event& event);

  screen_slot<query::search_question> question_;
  std::string text_;
  std::shared_ptr<const query::search_results> found_;  ///< For `text_`; null if there is no result.
  std::shared_ptr<search_hits> hits_;
  float progress_ = 0;
  bool searching_ = false;
  bool stopped_ = false;  ///< Cancelled by the user before the end.
  row_menu rows_;
};

}  // namespace sluice::gui
