#pragma once

#include <memory>
#include <string>
#include <utility>

#include "app/gui/views/parts/search_hits.hpp"
#include "app/gui/views/parts/view_tables.hpp"

namespace sluice::gui {

inline constexpr panel_info search_panel{
    .title = "Search",
    .open = {"search.open", "Find events by name...", "Edit", icon::search, ImGuiMod_Ctrl | ImGuiKey_F}};

/// Searches for events whose name contains a text. Shows one row per name, with links to the first and the longest
/// event of that name. While a search is running, shows its partial results.
class search_view final : public view {
 public:
  explicit search_view(std::shared_ptr<search_hits> hits) : view(search_panel), hits_(std::move(hits)) {}
  void add_commands(const command_home& home) override;
  void draw(view_context& with) override;
  void reset() override;

  // Functions for commands.
  /// Searches for `text` when the panel is next drawn. If `text` is empty, searches for the text in the input box.
  void find(const std::string& text);
  /// Cancels the search. Results found so far stay visible.
  void stop();
  [[nodiscard]] bool searching() const { return searching_; }

 private:
  void ask(const view_context& with);
  /// Selects the next (`by` = 1) or previous (-1) of the found events, relative to the selected event, or to the
  /// visible range if no event is selected.
  void step(const documents& state, const command_registry& commands, int by) const;
  void draw_lines(const view_context& with, const query::search_results& found);
  void draw_state(const view_context& with) const;
  void draw_table(const view_context& with, const query::search_results& found);

  screen_slot<query::search_query> query_;
  std::string text_;
  std::shared_ptr<const query::search_results> found_;  ///< The results for `text_`; null if there are none.
  std::shared_ptr<search_hits> hits_;
  float progress_ = 0;
  bool searching_ = false;
  bool stopped_ = false;  ///< The user cancelled the search before it was complete.
  view_tables tables_;
};

}  // namespace sluice::gui
