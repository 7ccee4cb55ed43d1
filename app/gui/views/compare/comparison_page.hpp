#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "app/gui/shell/comparison_tabs.hpp"
#include "app/gui/views/compare/compare_tables.hpp"
#include "app/gui/views/compare/comparison_picture.hpp"
#include "app/gui/views/compare/difference_flames.hpp"
#include "app/gui/views/parts/view_tables.hpp"
#include "core/metrics/verdict/setting_changes.hpp"
#include "core/query/types/comparison.hpp"

namespace sluice::gui {

/// The comparison of two recordings, which fills the window below the bars: what changed in one sentence, a picture of
/// both, tables, findings, and what else differs. Panels compare parts of recordings: see `compare_view`.
class comparison_page {
 public:
  comparison_page();
  ~comparison_page();
  comparison_page(const comparison_page&) = delete;
  comparison_page& operator=(const comparison_page&) = delete;

  /// Draws into the current window.
  void draw(view_context& with, compared_documents which);
  /// True if the last frame lacked results.
  [[nodiscard]] bool waiting() const { return waiting_; }
  /// Forgets that results were lacking. Call in frames without this page.
  void rest() { waiting_ = false; }

  /// What the page says; null while the reports are not complete. For tests.
  [[nodiscard]] const metrics::run_change* change() const { return content_ ? &content_->change : nullptr; }
  [[nodiscard]] const comparison_picture& picture() const { return picture_; }

 private:
  /// All that is made from both reports.
  struct content {
    std::array<std::shared_ptr<const metrics::report>, 2> reports;
    metrics::run_change change;
    metrics::changed_values values;
    std::vector<metrics::setting_change> settings;
  };
  /// A tab with a table of values.
  struct table_tab {
    const char* title;
    const std::vector<metrics::changed_value>* rows;
    const char* nothing;  ///< The text if there are no rows.
  };

  [[nodiscard]] bool ask_reports(const view_context& with, const std::array<const document*, 2>& sides);
  /// Asks for the memory of both sides, by line. Returns the largest one; null if there is none or it is not known yet.
  [[nodiscard]] const metrics::memory_difference* ask_memory(const std::array<const document*, 2>& sides);
  void draw_content(view_context& with, const std::array<const document*, 2>& sides);
  void draw_left(view_context& with, const std::array<const document*, 2>& sides, bool findings);
  void draw_tabs(view_context& with, const std::array<const document*, 2>& sides, bool findings);
  void draw_memory_tab(view_context& with, const std::array<const document*, 2>& sides, bool flames);
  void draw_side_column(const view_context& with, const std::array<const document*, 2>& sides);

  compared_documents shown_;
  std::array<screen_slot<query::report_query>, 2> report_queries_;
  std::array<screen_slot<query::compared_side_query>, 2> side_queries_;
  screen_slot<query::comparison_query> query_;
  std::shared_ptr<const metrics::comparison> memory_;
  std::shared_ptr<const content> content_;
  std::string failure_;
  comparison_picture picture_;
  growth_table growth_;
  difference_flames flames_;
  view_tables tables_;
  bool waiting_ = false;
};

}  // namespace sluice::gui
