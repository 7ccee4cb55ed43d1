#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "app/gui/shell/settings.hpp"
#include "app/gui/views/view.hpp"
#include "core/query/sql/sql_task.hpp"

namespace pfd {
class save_file;
}

namespace sluice::gui {

/// SQL over the recording: a text, its answer as a table, and what was asked before. The answer's rows are made by a thread of their
/// own; a row that names an event or a block selects it.
class query_view final : public view {
 public:
  /// `wake` may be called from any thread; `remembered` outlives the view.
  query_view(std::function<void()> wake, const settings& remembered);
  ~query_view() override;

  [[nodiscard]] const char* name() const override { return "Query"; }
  [[nodiscard]] bool scrolls() const override { return false; }
  void add_commands(const command_home& home) override;
  void draw(view_context& with) override;
  void reset() override;
  /// A query runs or a file is written.
  [[nodiscard]] bool busy() const override;
  [[nodiscard]] bool can_cancel() const override { return busy(); }
  void cancel() override;

  // What commands do.
  /// Asks `text`, or what stands in the box if it is empty, when the panel is drawn next.
  void ask(std::string text);
  /// What is shown, as CSV, on the clipboard.
  void copy() const;
  /// All rows of the query that is shown, as CSV, into a file; an empty path asks for one.
  void save(const std::string& path);
  [[nodiscard]] bool has_rows() const { return answer_ && answer_->rows > 0; }
  /// What was asked, the newest first.
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
  void draw_row(const view_context& with, const query::sql_answer& shown, std::uint64_t row);
  void measure(const view_context& with, const query::sql_answer& shown);

  std::function<void()> wake_;
  const settings& remembered_;
  std::string text_;
  bool wanted_ = false;  ///< To be asked with the next frame.
  std::unique_ptr<query::sql_task> task_;
  /// Of tasks that were given up: each ends soon, and nobody waits for it here.
  std::vector<std::future<void>> given_up_;
  std::shared_ptr<const query::sql_answer> answer_;
  std::shared_ptr<const trace::snapshot> trace_;  ///< That it is about.
  std::size_t place_ = 0;                         ///< In the history, counted from 1, while going through it.
  std::vector<float> widths_;                     ///< Of columns, in pixels.
  std::uint64_t measured_ = 0;                    ///< Rows that `widths_` have been taken from.
  std::int64_t first_ = 0;

  std::unique_ptr<pfd::save_file> dialog_;
  std::shared_ptr<std::atomic<bool>> save_cancelled_;
  std::future<std::string> saving_;
  std::string said_;  ///< What became of the last file.
};

}  // namespace sluice::gui
