#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "app/gui/shell/settings.hpp"
#include "app/gui/views/row_menu.hpp"
#include "core/query/sql/sql_task.hpp"

namespace sluice::gui {

/// SQL queries on the recording: the text, the answer as a table, and earlier queries. A separate thread computes the
/// rows; clicking a row that refers to an event or block selects it.
class query_view final : public view {
 public:
  /// `wake` must be callable from any thread; `remembered` must outlive the view.
  query_view(std::function<void()> wake, const settings& remembered);
  ~query_view() override;

  [[nodiscard]] const char* name() const override { return "Query"; }
  [[nodiscard]] bool shown_at_first() const override { return false; }
  [[nodiscard]] bool scrolls() const override { return false; }
  void add_commands(const command_home& home) override;
  void draw(view_context& with) override;
  void reset() override;
  /// True while a query runs or a file is written.
  [[nodiscard]] bool busy() const override;
  [[nodiscard]] bool can_cancel() const override { return busy(); }
  void cancel() override;

  // Functions for commands.
  /// Runs `text` when the panel is next drawn; if empty, the text in the input box.
  void ask(std::string text);
  /// Copies the rows shown to the clipboard as CSV.
  void copy() const;
  /// Saves all rows of the query shown as a CSV file; if `path` is empty, asks the user for one.
  void save(const std::string& path);
  [[nodiscard]] bool has_rows() const { return answer_ && answer_->rows > 0; }
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
  void draw_answer(const view_context& with);
  void draw_rows(const view_context& with, const query::sql_answer& shown);
  void draw_row(const view_context& with, const table_content& content, const query::sql_answer& shown,
                std::uint64_t row);
  void measure(const view_context& with, const query::sql_answer& shown);

  std::function<void()> wake_;
  const settings& remembered_;
  std::string text_;
  bool wanted_ = false;  ///< To be run in the next frame.
  std::unique_ptr<query::sql_task> task_;
  /// Futures of cancelled queries, which end soon; nothing waits for them.
  std::vector<std::future<void>> given_up_;
  std::shared_ptr<const query::sql_answer> answer_;
  std::shared_ptr<const trace::snapshot> trace_;  ///< The snapshot that `answer_` refers to.
  std::size_t place_ = 0;                         ///< Position in the history, from 1, while browsing it.
  std::vector<float> widths_;                     ///< Of columns, in pixels.
  std::uint64_t measured_ = 0;                    ///< Number of rows measured for `widths_`.
  std::int64_t first_ = 0;

  std::shared_ptr<std::atomic<bool>> save_cancelled_;
  std::future<std::string> saving_;
  std::string said_;  ///< Result message of the last save.
  const command_registry* commands_ = nullptr;
  row_menu menu_;
};

}  // namespace sluice::gui
