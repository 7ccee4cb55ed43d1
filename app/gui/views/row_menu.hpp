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

/// Features that all tables, lists and boxes of the panels share: the focused row, copying of rows and tables, and
/// context menus.
namespace sluice::gui {

/// A value in a table, in two formats: as the panel shows it, and as CSV contains it. Numbers are stored as numbers and
/// formatted on demand.
class table_cell {
 public:
  [[nodiscard]] static table_cell text(std::string_view words) { return {unit::text, words, 0, 0}; }
  /// CSV contains bytes.
  [[nodiscard]] static table_cell bytes(std::uint64_t amount) { return {unit::bytes, {}, amount, 0}; }
  [[nodiscard]] static table_cell bytes(double amount) { return bytes(static_cast<std::uint64_t>(amount)); }
  [[nodiscard]] static table_cell count(std::uint64_t amount) { return {unit::count, {}, amount, 0}; }
  /// CSV contains ns.
  [[nodiscard]] static table_cell duration(time_ns ns) {
    return {unit::duration, {}, static_cast<std::uint64_t>(ns), 0};
  }
  [[nodiscard]] static table_cell moment(time_ns ns) { return {unit::moment, {}, static_cast<std::uint64_t>(ns), 0}; }
  /// CSV contains bytes per second.
  [[nodiscard]] static table_cell rate(double bytes_per_second) { return {unit::rate, {}, 0, bytes_per_second}; }
  /// The panel shows percent. CSV contains 0..1.
  [[nodiscard]] static table_cell share(double part) { return {unit::share, {}, 0, part}; }
  [[nodiscard]] static table_cell address(std::uint64_t at) { return {unit::address, {}, at, 0}; }
  /// The cell has no value; it is empty in CSV.
  [[nodiscard]] static table_cell none(std::string_view words = "-") { return {unit::none, words, 0, 0}; }
  /// The panel shows `shown`. CSV contains `plain`, a number or another text.
  [[nodiscard]] static table_cell words(std::string_view shown, std::string_view plain);

  [[nodiscard]] std::string shown() const;
  [[nodiscard]] std::string plain() const;
  /// The number of bytes if the cell was made by `bytes`; otherwise none.
  [[nodiscard]] std::optional<std::uint64_t> size() const {
    return unit_ == unit::bytes ? std::optional(whole_) : std::nullopt;
  }
  /// True if the cell has no value; the panel then shows it in grey.
  [[nodiscard]] bool muted() const { return unit_ == unit::none; }

 private:
  enum class unit : std::uint8_t { text, bytes, count, duration, moment, rate, share, address, none, words };
  table_cell(unit current, std::string_view text, std::uint64_t whole, double real)
      : unit_(current), text_(text), whole_(whole), real_(real) {}

  unit unit_;
  std::string text_;
  std::string plain_{};  ///< Set only if `unit_` is `words`.
  std::uint64_t whole_;
  double real_;
};

struct table_column {
  const char* title;  ///< The heading in the panel; null: the column appears only in CSV.
  const char* csv;    ///< The heading in CSV, with the unit: "bytes", "duration_ns".
};

/// The object that a row, a box or a band represents. Menus offer the actions that apply to the members that are set.
struct row_target {
  selection shows{};                  ///< The event or block that it represents.
  std::optional<time_range> range{};  ///< The time range of the event or block.
  std::optional<symbols::frame_line> line{};
  std::optional<blocks_filter> blocks{};  ///< A filter for the blocks that it comprises.
  std::string find{};                     ///< A name to search for in the panel Search.
  bool lists_blocks = true;               ///< Offer to list the blocks; false in the list of blocks itself.
};

/// The content of a panel's table. The functions are called only while the table is drawn or copied, or its menu is
/// open.
struct table_content {
  const char* name;  ///< Base of the names of CSV files.
  std::span<const table_column> columns{};
  std::size_t rows = 0;
  /// Appends one cell for each column to `to`.
  std::function<void(std::size_t row, std::vector<table_cell>& to)> cells{};
  std::function<row_target(std::size_t row)> target{};  ///< The object that the row represents; may be empty.
  std::function<void(std::size_t row)> more{};          ///< Adds entries at the top of the menu; may be empty.
  /// Copies (or, if `save`, saves) the whole table, if the table has more rows than `rows`; may be empty.
  std::function<void(bool save)> whole{};
};

/// The rows of `content` as CSV (RFC 4180, but lines end with \n), with a header line. O(rows).
[[nodiscard]] std::string to_csv(const table_content& content);
/// One row as the panel shows it, with tabs between the cells.
[[nodiscard]] std::string text_of_row(const table_content& content, std::size_t row);
/// A table that contains only the rows in `chosen`. `content` must outlive the result. O(rows of `chosen`).
[[nodiscard]] table_content get_part(const table_content& content, const row_set& chosen);
/// Describes the selected rows: "3 rows selected, 12.0 MiB". The size is the sum of the first column of sizes, if there
/// is such a column; if there are several, the text also names the column. O(rows of `chosen`) if there is a sum,
/// otherwise O(1).
[[nodiscard]] std::string get_words(const table_content& content, const row_set& chosen);
void copy_csv(const table_content& content);
/// Asks the user for a path, and saves the table there.
void save_csv(const view_context& with, const table_content& content);

/// Adds entries to an open menu: the actions on `target`; a command with its title and key; the actions on the panel.
/// The entries for a line of code are always present for events and blocks, but disabled until the line is known.
void target_entries(const view_context& with, const row_target& target);
void command_entry(const view_context& with, std::string_view id);
void panel_entries(const view_context& with);

/// Adds a context menu to the last item, a chart. Its entries copy or save the panel.
void panel_context_menu(const view_context& with);

/// A selection that consists of an event of the active document; an empty selection for `event_id::none`.
[[nodiscard]] selection make_event_selection(const view_context& with, trace::event_id event);
[[nodiscard]] selection select_block(const view_context& with, trace::block_id block);

/// The rows of the tables of one view. The row with the keyboard focus is highlighted. A click focuses a row, and the
/// arrow keys move the focus. A click or an arrow key with Shift selects all rows up to the new focus, Ctrl with a
/// click adds or removes one row, and `row.select_all` (Ctrl+A) selects all rows; a small text at the bottom of the
/// panel then shows their number and size. `row.copy` (Ctrl+C) copies the focused row or the selected rows. A right
/// click, the Menu key or Shift+F10 opens the row's menu.
class row_menu {
 public:
  /// Begins a row of an ImGui table, and its first cell. The whole row can be clicked. Returns true if the row was
  /// clicked without Ctrl or Shift, which select rows. The caller must have pushed exactly one ImGui id for the row.
  bool begin_row(const view_context& with, const table_content& content, std::size_t row, bool chosen = false);
  /// Draws only the row, from the cursor on, without cells; the caller draws the cells over it. `size`: see
  /// ImGui::Selectable.
  bool item(const view_context& with, const table_content& content, std::size_t row, bool chosen = false, int flags = 0,
            ImVec2 size = {0, 0});
  /// Makes the last item, which must have the current id, a row with Ctrl+C and a menu. Used for lines that are not
  /// drawn by the functions above.
  void follow_item(const view_context& with, const table_content& content, std::size_t row);
  /// The cells of a row. The result is valid until the next call.
  const std::vector<table_cell>& cells(const table_content& content, std::size_t row);
  /// Draws the cells of a row: the first is left-aligned; the others, which contain numbers, are right-aligned.
  static void draw_cells(std::span<const table_cell> cells);
  /// Begins a row, and draws all of its cells.
  bool draw_row(const view_context& with, const table_content& content, std::size_t row, bool chosen = false);

  /// For tables that scroll by rows and draw only `fits` of their `rows`: scrolls when a key moves the focus past the
  /// visible rows. Call after the rows have been drawn.
  void scroll_by_keys(std::int64_t& first, std::int64_t fits, std::int64_t rows);

  /// Opens a menu for something that is not an ImGui item. `text`: what the entry "Copy as text" copies. `more`: adds
  /// further entries. Call in the window that calls `draw_opened` in each frame.
  void open(row_target target, std::string name, std::string text, std::function<void(const view_context&)> more = {});
  void draw_opened(const view_context& with);
  [[nodiscard]] bool opened() const { return opened_; }

 private:
  void follow(const view_context& with, const table_content& content, std::size_t row);
  void draw_menu(const view_context& with, const table_content& content, std::size_t row);
  /// `selected`, here and in the next two functions: apply to the selected rows instead of only to `row` or the whole
  /// table.
  void draw_copy_entries(const view_context& with, const table_content& content, std::size_t row, bool selected) const;
  void copy_rows(const table_content& content, std::size_t row, bool selected) const;
  void take_csv(const view_context& with, const table_content& content, bool save, bool selected) const;
  /// Makes `row` the anchor of Shift selections, and clears the selected rows.
  void start_at(const table_content& content, std::size_t row);
  void extend_to(const table_content& content, std::size_t row);
  void add_or_remove(const table_content& content, std::size_t row);
  void select_all(const table_content& content);
  /// True if several rows are selected and `row` is one of them. Without `row`: true if several rows of this table are
  /// selected.
  [[nodiscard]] bool selects(const table_content& content, std::optional<std::size_t> row = {}) const;
  /// Updates `selected_` after a change of the selected rows. Call after each change.
  void note_selected(const table_content& content);
  /// Clears the selected rows if their positions are now taken by other rows.
  void check_selected(const table_content& content);
  void draw_selected(const view_context& with) const;
  /// Sets `target.line` for an event or block, once the line of code is known.
  void find_line(const view_context& with, row_target& target);

  screen_slot<query::details_query> details_;
  std::vector<table_cell> cells_;
  std::optional<std::size_t> focused_;  ///< The row that has the focus in this frame.
  std::optional<std::size_t> focus_;    ///< The row that gets the focus once it is drawn.
  bool focus_extends_ = false;          ///< Also select the rows up to `focus_`.

  /// The selected rows. They are all in one table of the view.
  struct {
    unsigned table = 0;       ///< Key of the table; 0: no table yet.
    row_set rows;             ///< Empty if only the focused row is selected.
    std::size_t anchor = 0;   ///< The row at which a Shift selection starts.
    bool all = false;         ///< All rows are selected, including rows that are added later.
    std::size_t known = 0;    ///< The number of rows that the table had when the rows were selected.
    std::string first, last;  ///< The texts of the first and the last selected row.
    std::string words;        ///< Text that describes the selected rows.
    int frame = -1;           ///< ImGui's number of the last frame in which a row of the table was drawn.
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
