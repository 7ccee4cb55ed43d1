#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/gui/views/row_set.hpp"
#include "app/gui/views/view.hpp"
#include "core/symbols/frames.hpp"

/// What all tables, lists and boxes of the panels share: the row that has the focus, copying rows and tables, and
/// context menus.
namespace sluice::gui {

/// A value in a table: what the panel shows, and what CSV holds. Numbers are kept as numbers, and become text on demand.
class table_cell {
 public:
  [[nodiscard]] static table_cell text(std::string_view words) { return {unit::text, words, 0, 0}; }
  /// CSV has bytes.
  [[nodiscard]] static table_cell bytes(std::uint64_t amount) { return {unit::bytes, {}, amount, 0}; }
  [[nodiscard]] static table_cell bytes(double amount) { return bytes(static_cast<std::uint64_t>(amount)); }
  [[nodiscard]] static table_cell count(std::uint64_t amount) { return {unit::count, {}, amount, 0}; }
  /// A duration or a point in time. CSV has ns.
  [[nodiscard]] static table_cell duration(query::time_ns ns) {
    return {unit::duration, {}, static_cast<std::uint64_t>(ns), 0};
  }
  [[nodiscard]] static table_cell moment(query::time_ns ns) {
    return {unit::moment, {}, static_cast<std::uint64_t>(ns), 0};
  }
  /// CSV has bytes per second.
  [[nodiscard]] static table_cell rate(double bytes_per_second) { return {unit::rate, {}, 0, bytes_per_second}; }
  /// Shown in percent. CSV has 0..1.
  [[nodiscard]] static table_cell share(double part) { return {unit::share, {}, 0, part}; }
  [[nodiscard]] static table_cell address(std::uint64_t at) { return {unit::address, {}, at, 0}; }
  /// No value: CSV has an empty cell.
  [[nodiscard]] static table_cell none(std::string_view words = "-") { return {unit::none, words, 0, 0}; }
  /// Words in the panel, a number or another text in CSV.
  [[nodiscard]] static table_cell words(std::string_view shown, std::string_view plain);

  [[nodiscard]] std::string shown() const;
  [[nodiscard]] std::string plain() const;
  /// What a size holds; none for other values.
  [[nodiscard]] std::optional<std::uint64_t> size() const {
    return unit_ == unit::bytes ? std::optional(whole_) : std::nullopt;
  }
  /// True if there is no value, which the panel shows in grey.
  [[nodiscard]] bool muted() const { return unit_ == unit::none; }

 private:
  enum class unit : std::uint8_t { text, bytes, count, duration, moment, rate, share, address, none, words };
  table_cell(unit is, std::string_view text, std::uint64_t whole, double real)
      : unit_(is), text_(text), whole_(whole), real_(real) {}

  unit unit_;
  std::string text_;
  std::string plain_{};  ///< Of `words`.
  std::uint64_t whole_;
  double real_;
};

struct table_column {
  const char* title;  ///< In the panel; null: in CSV only.
  const char* csv;    ///< In the header of CSV, with the unit: "bytes", "duration_ns".
};

/// What a row, a box or a band stands for. Menus offer what can be done with the parts that are known.
struct row_target {
  selection shows{};                         ///< An event or a block.
  std::optional<query::time_range> range{};  ///< When it was.
  std::optional<symbols::frame_line> line{};
  std::optional<blocks_filter> blocks{};  ///< Its blocks.
  std::string find{};                     ///< A name that Search finds.
  bool lists_blocks = true;               ///< False where the table itself is the list of blocks.
};

/// A table of a panel. The functions are only called while it is drawn, copied, or its menu is open.
struct table_content {
  const char* name;  ///< For the name of a CSV file.
  std::span<const table_column> columns{};
  std::size_t rows = 0;
  /// Appends a cell for each column.
  std::function<void(std::size_t row, std::vector<table_cell>& to)> cells{};
  std::function<row_target(std::size_t row)> target{};  ///< May be empty.
  std::function<void(std::size_t row)> more{};          ///< Adds own entries at the top of the menu; may be empty.
  /// Copies or saves the whole table where `rows` are only a part of it; may be empty.
  std::function<void(bool save)> whole{};
};

/// The rows of `content` as CSV (RFC 4180, lines end with \n), with a header. O(rows).
[[nodiscard]] std::string csv_of(const table_content& content);
/// One row as it is shown, separated by tabs.
[[nodiscard]] std::string text_of_row(const table_content& content, std::size_t row);
/// The rows of `chosen` alone. `content` must outlive it. O(rows of `chosen`).
[[nodiscard]] table_content part_of(const table_content& content, const row_set& chosen);
/// "3 rows selected, 12.0 MiB": with the sum of the first column of sizes, if there is one; its title is said where
/// there are several. O(rows of `chosen`) then, else O(1).
[[nodiscard]] std::string words_of(const table_content& content, const row_set& chosen);
void copy_csv(const table_content& content);
/// Asks where to save the table, and saves it.
void save_csv(const view_context& with, const table_content& content);

/// Entries of an open menu: for what `target` stands for; a command by its title and key; the panel itself. Those for a
/// line of code are there, disabled, for every event and block, because its line is known a little later.
void target_entries(const view_context& with, const row_target& target);
void command_entry(const view_context& with, std::string_view id);
void panel_entries(const view_context& with);

/// A context menu for the last item, a chart: copies or saves the panel.
void panel_context_menu(const view_context& with);

/// The selection of an event of the active document; none for `event_id::none`.
[[nodiscard]] selection event_of(const view_context& with, trace::event_id event);
[[nodiscard]] selection block_of(const view_context& with, trace::block_id block);

/// The rows of the tables of one view. The row that has the keyboard focus is highlighted: a click gives it, and the
/// arrow keys move it. Shift with a click or such a key selects all rows up to there, Ctrl with a click one more,
/// `row.select_all` (Ctrl+A) all: a small text at the bottom of the panel says how many, and their size. `row.copy`
/// (Ctrl+C) copies the row or the selected rows. A right click, the Menu key or Shift+F10 opens the row's menu.
class row_menu {
 public:
  /// Begins a row of an ImGui table, its first cell included, that can be clicked anywhere. True if it was clicked. The
  /// caller has pushed one id for it; not for a click with Ctrl or Shift, which selects rows.
  bool begin_row(const view_context& with, const table_content& content, std::size_t row, bool chosen = false);
  /// The row alone, from the cursor on: the cells are drawn over it. `size`: see ImGui::Selectable.
  bool item(const view_context& with, const table_content& content, std::size_t row, bool chosen = false, int flags = 0,
            ImVec2 size = {0, 0});
  /// Makes the last item, which was given the current id, a row: Ctrl+C and the menu. For lines that are drawn otherwise.
  void follow_item(const view_context& with, const table_content& content, std::size_t row);
  /// The cells of a row, valid until the next call.
  const std::vector<table_cell>& cells(const table_content& content, std::size_t row);
  /// Draws the cells of a row: the first at the left, the others, which are of numbers, at the right.
  static void draw_cells(std::span<const table_cell> cells);
  /// Begins a row and draws all of it.
  bool draw_row(const view_context& with, const table_content& content, std::size_t row, bool chosen = false);

  /// For tables that scroll by rows and draw only `fits` of `rows`: keys that leave them scroll. Call after the rows.
  void scroll_by_keys(std::int64_t& first, std::int64_t fits, std::int64_t rows);

  /// Opens a menu about something that is drawn without items. `text`: what "Copy as text" copies. `more`: adds own
  /// entries. Call in the window that calls `draw_opened` in each frame.
  void open(row_target target, std::string name, std::string text, std::function<void(const view_context&)> more = {});
  void draw_opened(const view_context& with);
  [[nodiscard]] bool opened() const { return opened_; }

 private:
  void follow(const view_context& with, const table_content& content, std::size_t row);
  void draw_menu(const view_context& with, const table_content& content, std::size_t row);
  /// `selected`, here and below: the selected rows are meant, else the row or the whole table.
  void draw_copy_entries(const view_context& with, const table_content& content, std::size_t row, bool selected) const;
  void copy_rows(const table_content& content, std::size_t row, bool selected) const;
  void take_csv(const view_context& with, const table_content& content, bool save, bool selected) const;
  /// `row` is where a selection with Shift begins, and none is selected.
  void start_at(const table_content& content, std::size_t row);
  void extend_to(const table_content& content, std::size_t row);
  void add_or_remove(const table_content& content, std::size_t row);
  void select_all(const table_content& content);
  /// True if several rows are selected, this one among them. Without `row`: any of this table.
  [[nodiscard]] bool selects(const table_content& content, std::optional<std::size_t> row = {}) const;
  /// After each change of the selected rows.
  void note_selected(const table_content& content);
  /// Drops the selected rows where other rows have taken their places.
  void check_selected(const table_content& content);
  void draw_selected(const view_context& with) const;
  /// Fills in the line of code of an event or block, once it is known.
  void find_line(const view_context& with, row_target& target);

  screen_slot<query::details_question> details_;
  std::vector<table_cell> cells_;
  std::optional<std::size_t> focused_;  ///< The row with the focus in this frame.
  std::optional<std::size_t> focus_;    ///< The row that is to get it, once it is drawn.
  bool focus_extends_ = false;          ///< The rows up to `focus_` are to be selected.

  /// The rows that are selected together, in one table of the view at a time.
  struct {
    unsigned table = 0;       ///< Which table; 0: none yet.
    row_set rows;             ///< Empty, where only the row with the focus is meant.
    std::size_t anchor = 0;   ///< Where Shift selects from.
    bool all = false;         ///< All rows, also those that come.
    std::size_t known = 0;    ///< How many rows the table had.
    std::string first, last;  ///< The texts of the first and the last of the rows.
    std::string words;        ///< What is said of them.
    int frame = -1;           ///< ImGui's number of the frame in which a row of the table was drawn last.
  } selected_;

  struct {
    row_target target;
    std::string name;
    std::string text;
    std::function<void(const view_context&)> more;
  } about_;
  bool opened_ = false;
};

}  // namespace sluice::gui
