#include "app/gui/views/table/row_selection.hpp"

namespace sluice::gui {

void row_selection::start_at(unsigned table, const table_model& model, std::size_t row) {
  table_ = table;
  anchor_ = row;
  rows_.clear();
  note(model);
}

void row_selection::extend_to(unsigned table, const table_model& model, std::size_t row) {
  if (table_ != table || anchor_ >= model.rows) start_at(table, model, row);
  rows_.choose(anchor_, row);
  note(model);
}

void row_selection::toggle(unsigned table, const table_model& model, std::size_t row) {
  if (table_ != table || anchor_ >= model.rows) {
    start_at(table, model, row);
  } else if (rows_.empty() && row != anchor_) {
    rows_.choose(anchor_, anchor_);
  }
  rows_.toggle(row);
  anchor_ = row;
  note(model);
}

void row_selection::select_all(unsigned table, const table_model& model) {
  if (model.rows == 0) return;
  table_ = table;
  rows_.choose(0, model.rows - 1);
  note(model);
}

void row_selection::follow(const table_model& model) {
  if (words_.empty()) return;
  const std::size_t last = rows_.runs().back().end - 1;
  const bool same =
      last < model.rows && first_ == model.text_of_row(rows_.runs().front().begin) && last_ == model.text_of_row(last);
  if (!same) {
    start_at(table_, model, anchor_);
  } else if (all_ && model.rows > known_) {
    select_all(table_, model);
  }
}

std::string row_selection::text(const table_model& model) const {
  constexpr std::size_t max_rows = 100'000;  // the same as for a query
  std::string text;
  std::size_t copied = 0;
  for (const row_set::run& each : rows_.runs())
    for (std::size_t at = each.begin; at < each.end && copied < max_rows; ++at, ++copied) {
      if (copied > 0) text += '\n';
      text += model.text_of_row(at);
    }
  return text;
}

void row_selection::note(const table_model& model) {
  const std::size_t count = rows_.size();
  words_.clear();
  if (count < 2) return;
  known_ = model.rows;
  all_ = count == model.rows;
  first_ = model.text_of_row(rows_.runs().front().begin);
  last_ = model.text_of_row(rows_.runs().back().end - 1);
  // The panel may have only the first rows of the table.
  words_ = all_ && model.whole ? "All rows selected" : model.describe(rows_);
}

}  // namespace sluice::gui
