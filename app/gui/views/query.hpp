#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "app/gui/shell/settings.hpp"
#include "app/gui/views/parts/view_tables.hpp"
#include "core/query/sql/sql_task.hpp"

namespace sluice::gui {

inline constexpr panel_info query_panel{.title = "Query", .scrolls = false, .shown_at_first = false};

/// SQL queries on the recording: shows the text, the result as a table, and earlier queries. A separate thread computes
/// the rows. Clicking a row that refers to an event or a block selects that event or block.
class query_view final : public view {
 public:
  /// `wake` must be callable from any thread; `remembered` must outlive the view.
  query_view(std::function<void()> wake, const settings& remembered);
  ~query_view() override;

  [[nodiscard]] panel_status status() const override { return {.busy = busy(), .can_cancel = busy()}; }
  void add_commands(const command_home& home) override;
  void draw(view_context& with) override;
  void reset() override;
  /// True while a query runs or a file is written.
  [[nodiscard]] bool busy() const;
  void cancel() override;

  // Functions for commands.
  /// Runs `text` when the panel is next drawn. If `text` is empty, runs the text in the input box.
  void ask(std::string text);
  /// Copies the rows that are shown to the clipboard, as CSV.
  void copy() const;
  /// Saves all rows of the current query as a CSV file at `path`. If `path` is empty, asks the user for a path.
  void save(const std::string& path);
  [[nodiscard]] bool has_rows() const { return result_ && result_->rows > 0; }
  /// Earlier queries, newest first.
  [[nodiscard]] const std::vector<std::string>& history() const { return remembered_.queries(); }

 private:
  void begin(const view_context& with);
  void take_saved();
  void draw_text(const view_context& with);
  void draw_controls(const view_context& with);
  void draw_history(const view_context& with);
  void draw_tables(const view_context& with);
  void draw_state(const view_context& with) const;
  void draw_result(const view_context& with);
  void draw_rows(const view_context& with, const query::sql_result& shown);
  void measure(const view_context& with, const query::sql_result& shown);

  std::function<void()> wake_;
  const settings& remembered_;
  std::string text_;
  bool wanted_ = false;  ///< The query is to be run in the next frame.
  std::unique_ptr<query::sql_task> task_;
  /// Futures of cancelled queries, which end soon. No code waits for them.
  std::vector<std::future<void>> given_up_;
  std::shared_ptr<const query::sql_result> result_;
  std::shared_ptr<const trace::snapshot> trace_;  ///< The snapshot that `result_` refers to.
  std::size_t place_ = 0;                         ///< Position in the history, counted from 1, while the user browses
                                                  ///< it; otherwise 0.
  std::vector<float> widths_;                     ///< Column widths in design pixels.
  std::uint64_t measured_ = 0;                    ///< Number of rows that `widths_` takes into account.

  std::shared_ptr<std::atomic<bool>> save_cancelled_;
  std::future<std::string> saving_;
  std::string said_;  ///< A message about the last save.
  const command_registry* commands_ = nullptr;
  view_tables tables_;
};

}  // namespace sluice::gui
