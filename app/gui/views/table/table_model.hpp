#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "app/gui/shell/selection.hpp"
#include "app/gui/views/table/row_set.hpp"
#include "app/gui/views/table/table_cell.hpp"
#include "core/symbols/frames.hpp"

/// The content of the tables in the panels, which tests can read without a display. `view_tables` draws it.
namespace sluice::gui {

/// The object that a row, a box or a band represents. Menus offer the actions that apply to the members that are set.
struct row_target {
  selection shows{};                  ///< The event or block that it represents.
  std::optional<time_range> range{};  ///< The time range of the event or block.
  std::optional<symbols::frame_line> line{};
  std::optional<blocks_filter> blocks{};  ///< A filter for the blocks that it comprises.
  std::string find{};                     ///< A name to search for in the panel Search.
  bool lists_blocks = true;               ///< Offer to list the blocks; false in the list of blocks itself.
};

struct table_column {
  std::string title;  ///< The heading in the panel; empty: the column appears only in CSV.
  std::string csv;    ///< The heading in CSV, with the unit: "bytes", "duration_ns".
  cell_type type = cell_type::text;
  std::function<table_cell(std::size_t row)> cell{};
  std::string about{};        ///< Tooltip of the heading.
  float width = 0;            ///< In design pixels; 0: as wide as its content.
  bool sortable = true;       ///< A click on the heading sorts.
  bool sorted_first = false;  ///< The table is sorted by this column at first.
  int key = 0;                ///< Identifies the column for `table_model::sort`.
  bool hidden = false;        ///< Hidden until the user chooses the column in the menu of the headings.
  std::function<bool(std::size_t row)> draw{};  ///< Draws something else in the cell, such as an editor, and returns
                                                ///< true; or returns false. May be empty.

  /// Numbers are right-aligned, and first sorted in descending order.
  [[nodiscard]] bool is_number() const { return type != cell_type::text && type != cell_type::address; }

  // Set a member, and return the column.
  table_column& tip(std::string text) { return about = std::move(text), *this; }
  table_column& wide(float design_pixels) { return width = design_pixels, *this; }
  table_column& unsorted() { return sortable = false, *this; }
  table_column& sorted_at_first() { return sorted_first = true, *this; }
  table_column& hidden_at_first() { return hidden = true, *this; }
};

/// The order of a table's rows.
struct table_sort {
  static constexpr std::size_t none = std::numeric_limits<std::size_t>::max();
  std::size_t column = none;  ///< Index of the column; none: the order of the source.
  bool descending = false;
  friend bool operator==(const table_sort&, const table_sort&) = default;
};

/// A table: its columns, and functions for its rows. Views make one in each frame from a result, which must outlive it.
/// Functions take the number of a row as the panel shows it, from 0; `order` maps it to the row of the source. Use on
/// the window's thread.
class table_model {
 public:
  explicit table_model(std::string called, std::size_t row_count = 0) : name(std::move(called)), rows(row_count) {}

  /// Adds a column whose cells `get` makes; its result may be anything that `table_cell::make` accepts.
  template <class Get>
  table_column& add(cell_type type, std::string title, std::string csv, Get get) {
    table_column& made = columns.emplace_back();
    made.title = std::move(title);
    made.csv = std::move(csv);
    made.type = type;
    made.cell = [type, get = std::move(get)](std::size_t row) { return table_cell::make(type, get(row)); };
    return made;
  }

  [[nodiscard]] std::size_t source_row(std::size_t row) const { return order.empty() ? row : order[row]; }
  [[nodiscard]] table_cell cell(std::size_t row, std::size_t column) const {
    return columns[column].cell(source_row(row));
  }
  /// One row as the panel shows it, with tabs between the cells. Contains no other tabs, and no line breaks.
  [[nodiscard]] std::string text_of_row(std::size_t row) const;
  /// All rows as CSV (RFC 4180, but lines end with \n), with a header line; with `only`, the rows in it. O(rows).
  [[nodiscard]] std::string to_csv(const row_set* only = nullptr) const;
  /// Describes selected rows: "3 rows selected, 12.0 MiB". The size is the sum of the first column of sizes, if there
  /// is such a column; if there are several, the text also names the column. O(rows of `of`) if there is a sum,
  /// otherwise O(1).
  [[nodiscard]] std::string describe(const row_set& of) const;
  /// The rows of the source in the order `by`: numbers by value, texts by their bytes, rows without a value last. Rows
  /// with equal values keep their order. O(rows * log rows).
  [[nodiscard]] std::vector<std::size_t> sorted(const table_sort& by) const;

  std::string name;  ///< Also the base of the names of CSV files.
  std::vector<table_column> columns;
  std::size_t rows = 0;                ///< Rows that the functions accept.
  std::size_t total = 0;               ///< Rows that the table will have once `load` has got them; at least `rows`.
  std::vector<std::size_t> order{};    ///< Source row of each row; empty: the order of the source.
  std::shared_ptr<const void> source;  ///< The result that the rows are from. While it and `variant` stay the same, so
                                       ///< do the rows. Null: rows may change in each frame.
  std::uint64_t variant = 0;

  // Each may be empty. They take rows of the source.
  std::function<row_target(std::size_t row)> target{};
  std::function<bool(std::size_t row)> chosen{};  ///< The row is highlighted.
  std::function<void(std::size_t row, std::size_t column)>
      click{};                                          ///< The column under the mouse, or `table_sort::none`.
  std::function<void(std::size_t row)> double_click{};  ///< Called after `click`.
  std::string tip{};                                    ///< Tooltip of all rows.
  std::function<void(std::size_t row)> draw_tip{};      ///< Draws the tooltip's content.
  std::function<void(std::size_t row)> menu{};          ///< Adds entries at the top of a row's menu.
  std::function<std::uint64_t(std::size_t row)> key{};  ///< Identifies the row while its number changes.

  std::function<void(bool save)> whole{};  ///< Copies (or saves) the whole table, if it has more rows than `rows`.
  std::function<void()> load{};            ///< Called while rows after `rows` are visible.
  std::function<void(int key, bool descending)> sort{};  ///< Sorts where the rows are from, by a column's `key`. Empty:
                                                         ///< `sorted` sorts them here.
};

/// A table that has a row for each of some objects of type `Row`.
template <class Row>
class table_of : public table_model {
 public:
  /// `row` returns the object of a row; the objects must outlive the table.
  table_of(std::string called, std::size_t row_count, std::function<const Row&(std::size_t)> row)
      : table_model(std::move(called), row_count), row_(std::move(row)) {}
  table_of(std::string called, const std::vector<Row>& source_rows)
      : table_of(std::move(called), source_rows.size(),
                 [&source_rows](std::size_t row) -> const Row& { return source_rows[row]; }) {}
  /// Only the rows for which `keep` returns true.
  template <class Keep>
  table_of(std::string called, const std::vector<Row>& source_rows, Keep keep) : table_model(std::move(called)) {
    std::vector<const Row*> kept;
    for (const Row& each : source_rows)
      if (keep(each)) kept.push_back(&each);
    rows = kept.size();
    row_ = [kept = std::move(kept)](std::size_t row) -> const Row& { return *kept[row]; };
  }

  [[nodiscard]] const Row& row(std::size_t at) const { return row_(at); }

  // Add a column. `get(row object)` or `get(row object, row)` returns the value. CSV contains bytes, ns, bytes per
  // second and shares in 0..1.
  template <class Get>
  table_column& text(std::string title, std::string csv, Get get) {
    return add(cell_type::text, std::move(title), std::move(csv), of_row(std::move(get)));
  }
  template <class Get>
  table_column& bytes(std::string title, std::string csv, Get get) {
    return add(cell_type::bytes, std::move(title), std::move(csv), of_row(std::move(get)));
  }
  template <class Get>
  table_column& count(std::string title, std::string csv, Get get) {
    return add(cell_type::count, std::move(title), std::move(csv), of_row(std::move(get)));
  }
  template <class Get>
  table_column& duration(std::string title, std::string csv, Get get) {
    return add(cell_type::duration, std::move(title), std::move(csv), of_row(std::move(get)));
  }
  template <class Get>
  table_column& moment(std::string title, std::string csv, Get get) {
    return add(cell_type::moment, std::move(title), std::move(csv), of_row(std::move(get)));
  }
  template <class Get>
  table_column& rate(std::string title, std::string csv, Get get) {
    return add(cell_type::rate, std::move(title), std::move(csv), of_row(std::move(get)));
  }
  template <class Get>
  table_column& share(std::string title, std::string csv, Get get) {
    return add(cell_type::share, std::move(title), std::move(csv), of_row(std::move(get)));
  }

  /// Set the functions of the same names for row objects.
  template <class Act>
  void on_click(Act act) {
    click = [act = of_row(std::move(act))](std::size_t row, std::size_t /*column*/) { act(row); };
  }
  template <class Find>
  void leads_to(Find find) {
    target = of_row(std::move(find));
  }
  template <class Is>
  void choose(Is is) {
    chosen = of_row(std::move(is));
  }
  template <class Draw>
  void explain(Draw draw) {
    draw_tip = of_row(std::move(draw));
  }

 private:
  template <class Get>
  auto of_row(Get get) const {
    return [object = row_, get = std::move(get)](std::size_t row) {
      if constexpr (std::is_invocable_v<const Get&, const Row&, std::size_t>) {
        return get(object(row), row);
      } else {
        return get(object(row));
      }
    };
  }

  std::function<const Row&(std::size_t)> row_;
};

}  // namespace sluice::gui
