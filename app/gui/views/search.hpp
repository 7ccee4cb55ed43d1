#pragma once

#include <memory>
#include <string>

#include "app/gui/views/view.hpp"

namespace sluice::gui {

/// Events by a part of their name: a row for each name, which leads to its first event, and to its longest. Shows what was found so far
/// while a search goes on.
class search_view final : public view {
 public:
  [[nodiscard]] const char* name() const override { return "Search"; }
  void add_commands(const command_home& home) override;
  void draw(view_context& with) override;
  void reset() override;

  // What commands do.
  /// Searches for `text`, or for what stands in the box if it is empty, when the panel is drawn next.
  void find(const std::string& text);
  /// Ends the search; what was found stays.
  void stop();
  [[nodiscard]] bool searching() const { return searching_; }

 private:
  void ask(const view_context& with);
  void draw_state(const view_context& with) const;
  static void draw_table(const view_context& with, const query::search_results& found);
  static void draw_row(const view_context& with, const query::found_name& row);
  static void go_to(const view_context& with, const query::found_event& event);

  screen_slot<query::search_question> question_;
  std::string text_;
  std::shared_ptr<const query::search_results> found_;  ///< Of `text_`; null while nothing is.
  float progress_ = 0;
  bool searching_ = false;
  bool stopped_ = false;  ///< By the user, before all was looked through.
};

}  // namespace sluice::gui
