#include "app/gui/views/query.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <system_error>

#include "app/gui/views/widgets.hpp"
#include "app/gui/window/format.hpp"
#include "core/base/csv_text.hpp"
#include "core/base/printable.hpp"
#include "core/base/threads/worker_thread.hpp"
#include "core/export/result.hpp"
#include "core/query/sql/sql_track.hpp"
#include "imgui_internal.h"
#include "imgui_stdlib.h"

namespace sluice::gui {
namespace {

constexpr std::size_t max_columns = 200;  // ImGui's tables support up to 512.
constexpr std::uint64_t rows_to_measure = 256;
constexpr std::uint64_t max_copied = 100'000;

struct example {
  const char* title;
  const char* text;
};
constexpr std::array<example, 6> examples = {
    {{"Kernel time by name",
      "SELECT name, count(*) AS count, sum(duration) AS ns, max(duration) AS longest\nFROM kernels GROUP BY name ORDER "
      "BY ns DESC"},
     {"Largest blocks",
      "SELECT id, bytes, layer, kind, category, born, lifetime, line\nFROM blocks ORDER BY bytes DESC LIMIT 1000"},
     {"Copies far below the link peak",
      "SELECT id, time, direction, bytes, bandwidth, source_kind, line FROM transfers\nWHERE bandwidth < 0.5 * (SELECT "
      "link_peak FROM device WHERE id = transfers.device) ORDER BY bytes DESC"},
     {"Unfreed memory by line",
      "SELECT line, layer, kind, count(*) AS count, sum(bytes) AS bytes FROM blocks\nWHERE died IS NULL GROUP BY line, "
      "layer, kind ORDER BY bytes DESC"},
     {"Peak of each step",
      "SELECT step.number, memory.layer, memory.kind, memory.maximum\nFROM step JOIN memory_use(step.begin, step.end) "
      "AS memory"},
     {"Findings of the report", "SELECT severity, text, advice, event, block FROM finding"}}};

bool ready(const std::future<void>& one) { return one.wait_for(std::chrono::seconds(0)) == std::future_status::ready; }

/// The event or block to which a cell refers, as a selection; nullopt if the cell contains no id of such an item.
std::optional<selection> find_target(const query::sql_result& shown, std::uint64_t row, std::size_t column,
                                     document_id in) {
  const query::id_kind kind = shown.columns[column].id;
  const bool event = kind == query::id_kind::event;
  if (!event && kind != query::id_kind::block) return std::nullopt;
  const std::uint64_t id = shown.id(row, column);
  if (id == 0) return std::nullopt;
  return selection{in, event ? selection_kind::event : selection_kind::block, id};
}

/// The selection for the first cell in the row that refers to an event or block.
std::optional<selection> find_target(const query::sql_result& shown, std::uint64_t row, document_id in) {
  for (std::size_t i = 0; i < shown.columns.size(); ++i)
    if (const auto found = find_target(shown, row, i, in)) return found;
  return std::nullopt;
}

/// Works like ImGui::TableHeadersRow(), but right-aligns the names of numeric columns, as their numbers are.
void draw_headings(const query::sql_result& shown, std::size_t columns) {
  ImGui::TableNextRow(ImGuiTableRowFlags_Headers);
  for (std::size_t i = 0; i < columns; ++i) {
    if (!ImGui::TableSetColumnIndex(static_cast<int>(i))) continue;
    const std::string name = make_label(printable(shown.columns[i].name));
    const float room = ImGui::GetContentRegionAvail().x - ImGui::CalcTextSize(name.c_str()).x;
    if (shown.is_number(0, i) && room > 0) ImGui::SetCursorPosX(ImGui::GetCursorPosX() + room);
    ImGui::PushID(static_cast<int>(i));
    ImGui::TableHeader(name.c_str());
    ImGui::PopID();
  }
}

}  // namespace

query_view::query_view(std::function<void()> wake, const settings& remembered)
    : wake_(std::move(wake)), remembered_(remembered), text_(examples[0].text) {}

query_view::~query_view() {
  if (save_cancelled_) *save_cancelled_ = true;
}

void query_view::add_commands(const command_home& home) {
  commands_ = &home.commands;
  const auto ready = [&state = home.state] { return state.ready(); };
  const auto rows_shown = [this, ready] { return ready() && has_rows(); };
  // Operations on all rows, not only on visible ones, require a recording on this machine.
  const auto rows_here = [rows_shown, &state = home.state] { return rows_shown() && !state.active()->host; };
  home.commands.add({.id = "query.run",
                     .title = "Run query",
                     .group = "Query",
                     .icon = icon::play,
                     .run =
                         [this, &commands = home.commands](const argument& with) {
                           const auto* text = std::get_if<std::string>(&with);
                           commands.invoke("panel.focus.Query");
                           ask(text != nullptr ? *text : std::string());
                         },
                     .enabled = ready});
  home.commands.add({.id = "query.remember", .run = [&remembered = home.remembered](const argument& with) {
                       if (const auto* text = std::get_if<std::string>(&with)) remembered.add_query(*text);
                     }});
  home.commands.add({.id = "query.cancel",
                     .title = "Stop query",
                     .group = "Query",
                     .icon = icon::stop,
                     .run = [this](const argument&) { cancel(); },
                     .enabled = [this] { return busy(); }});
  home.commands.add({.id = "query.copy",
                     .title = "Copy result as CSV",
                     .group = "Query",
                     .run = [this](const argument&) { copy(); },
                     .enabled = rows_shown});
  home.commands.add({.id = "query.as_track",
                     .title = "Show rows as track",
                     .group = "Query",
                     .icon = icon::chart,
                     .run = [this, &commands = home.commands](
                                const argument&) { commands.invoke("timeline.add_query", task_->text()); },
                     .enabled =
                         [this, rows_here] {
                           return rows_here() && task_ && query::find_track_columns(result_->columns).has_value();
                         }});
  home.commands.add({.id = "query.save",
                     .title = "Save all rows as CSV...",
                     .group = "Query",
                     .run =
                         [this](const argument& with) {
                           const auto* path = std::get_if<std::string>(&with);
                           save(path != nullptr ? *path : std::string());
                         },
                     .enabled = rows_here});
}

bool query_view::busy() const { return wanted_ || (task_ && !task_->done()) || saving_.valid(); }

void query_view::reset() {
  cancel();
  try {
    if (task_) given_up_.push_back(start_async([old = std::shared_ptr(std::move(task_))]() mutable { old.reset(); }));
  } catch (const std::system_error&) {
    task_.reset();  // No thread is available, so wait here until the query ends.
  }
  std::erase_if(given_up_, ready);
  result_.reset();
  trace_.reset();
  widths_.clear();
  measured_ = 0;
  first_ = 0;
  said_.clear();
}

void query_view::ask(std::string text) {
  if (!text.empty()) text_ = std::move(text);
  wanted_ = true;
}

void query_view::cancel() {
  if (task_) task_->cancel();
  if (save_cancelled_) *save_cancelled_ = true;
}

void query_view::copy() const {
  if (!result_) return;
  std::string content;
  const auto cell = [&](bool first, std::string_view text) {
    if (!first) content += ',';
    append_csv(content, text);
  };
  for (std::size_t i = 0; i < result_->columns.size(); ++i) cell(i == 0, result_->columns[i].name);
  content += '\n';
  for (std::uint64_t row = 0; row < std::min(result_->rows, max_copied); ++row) {
    for (std::size_t i = 0; i < result_->columns.size(); ++i) cell(i == 0, result_->text(row, i));
    content += '\n';
  }
  ImGui::SetClipboardText(printable(content, line_ends::keep).c_str());
}

void query_view::save(const std::string& path) {
  if (!task_ || !trace_ || saving_.valid()) return;
  if (path.empty()) {
    commands_->invoke("file.ask_path", table_text{"query.csv", "query.save"});
    return;
  }
  save_cancelled_ = std::make_shared<std::atomic<bool>>(false);
  try {
    saving_ = start_async([trace = trace_, text = task_->text(), path, stop = save_cancelled_, wake = wake_] {
      const auto rows = exports::write_result(trace, text, path, *stop);
      if (wake) wake();
      return rows ? path + ": " + format_some(*rows, "row") : rows.error().to_string();
    });
  } catch (const std::system_error&) {
    said_ = path + ": not saved: cannot start a thread; allow more processes and threads (ulimit -u)";
  }
}

void query_view::take_saved() {
  if (saving_.valid() && saving_.wait_for(std::chrono::seconds(0)) == std::future_status::ready) said_ = saving_.get();
}

void query_view::begin(const view_context& with) {
  wanted_ = false;
  reset();
  if (text_.find_first_not_of(" \t\r\n") == std::string::npos) return;
  with.commands.invoke("query.remember", text_);
  place_ = 0;
  trace_ = with.state.active()->engine->snapshot();
  if (const auto& host = with.state.active()->host) {
    const auto ask = [&](const std::string& text, auto then) { return host->ask(text, std::move(then)); };
    task_ = std::make_unique<query::sql_task>(text_, ask, wake_);
    return;
  }
  query::sql_task_options options;
  options.wake = wake_;
  task_ = std::make_unique<query::sql_task>(trace_, text_, std::move(options));
}

void query_view::draw(view_context& with) {
  if (wanted_) begin(with);
  take_saved();
  if (task_) result_ = task_->found();
  draw_text(with);
  draw_controls(with);
  draw_result(with);
}

void query_view::draw_text(const view_context& with) {
  const auto lines = std::clamp<std::ptrdiff_t>(std::count(text_.begin(), text_.end(), '\n') + 1, 2, 6);
  const float height = ImGui::GetTextLineHeight() * static_cast<float>(lines) + ImGui::GetStyle().FramePadding.y * 2;
  // Ctrl+Enter runs the query, Enter inserts a line break, Ctrl with an arrow key browses the history.
  if (ImGui::InputTextMultiline("##sql", &text_, {-1, height},
                                ImGuiInputTextFlags_EnterReturnsTrue | ImGuiInputTextFlags_WordWrap))
    with.commands.invoke("query.run");
  if (!ImGui::IsItemActive() || !ImGui::GetIO().KeyCtrl) return;
  const bool up = ImGui::IsKeyPressed(ImGuiKey_UpArrow);
  if (!up && !ImGui::IsKeyPressed(ImGuiKey_DownArrow)) return;
  if (up ? place_ >= history().size() : place_ < 2) return;
  place_ = up ? place_ + 1 : place_ - 1;
  // While the input box is active, it uses its own copy of the text.
  ImGui::ClearActiveID();
  text_ = history()[place_ - 1];
  ImGui::SetKeyboardFocusHere(-1);
}

void query_view::draw_history(const view_context& with) {
  ImGui::SetNextWindowSizeConstraints({with.px(240), 0}, {with.px(620), with.px(320)});
  if (!ImGui::BeginPopup("history")) return;
  if (!history().empty()) ImGui::TextDisabled("Earlier queries");
  for (std::size_t i = 0; i < history().size(); ++i) {
    ImGui::PushID(static_cast<int>(i));
    std::string line = history()[i];
    std::replace(line.begin(), line.end(), '\n', ' ');
    if (ImGui::Selectable(make_label(printable(shortened(line, 90))).c_str())) text_ = history()[i];
    ImGui::PopID();
  }
  if (!history().empty()) ImGui::Separator();
  ImGui::TextDisabled("Examples");
  for (const example& each : examples)
    if (ImGui::Selectable(each.title)) text_ = each.text;
  ImGui::EndPopup();
}

void query_view::draw_tables(const view_context& with) {
  ImGui::SetNextWindowSizeConstraints({with.px(360), 0}, {with.px(620), with.px(380)});
  if (!ImGui::BeginPopup("tables")) return;
  static const std::vector<query::sql_table_about> schema = query::sql_schema();
  for (const query::sql_table_about& each : schema) {
    const bool open = ImGui::TreeNodeEx(each.name.c_str(), ImGuiTreeNodeFlags_SpanAvailWidth);
    ImGui::SameLine(with.px(150));
    ImGui::TextDisabled("%s", each.about.c_str());
    if (!open) continue;
    for (const query::sql_column_about& column : each.columns) {
      if (ImGui::Selectable(column.name.c_str())) text_ += " " + column.name;
      ImGui::SameLine(with.px(170));
      ImGui::TextDisabled("%s%s%s", column.about.c_str(), column.type.empty() ? "" : " - ", column.type.c_str());
    }
    ImGui::TreePop();
  }
  ImGui::EndPopup();
}

void query_view::draw_controls(const view_context& with) {
  const bool running = task_ && !task_->done();
  command_button(with, running ? "query.cancel" : "query.run", running ? "Stop" : "Run");
  ImGui::SameLine();
  if (ImGui::Button("History")) ImGui::OpenPopup("history");
  draw_history(with);
  ImGui::SameLine();
  if (ImGui::Button("Tables")) ImGui::OpenPopup("tables");
  draw_tables(with);
  ImGui::SameLine();
  command_button(with, "query.copy", "Copy");
  ImGui::SameLine();
  command_button(with, "query.save", "Save");
  ImGui::SameLine();
  command_button(with, "query.as_track", "Track");
  draw_state(with);
}

void query_view::draw_state(const view_context& with) const {
  std::string words;
  if (saving_.valid()) {
    words = "writing...";
  } else if (!said_.empty()) {
    words = printable(said_);
  } else if (result_ && !result_->failure) {
    words = result_->cut ? "first " + format_some(result_->rows, "row") : format_some(result_->rows, "row");
    words += result_->done ? " in " + format_time(static_cast<time_ns>(result_->seconds * 1e9)) : " so far...";
  }
  if (words.empty()) return;
  ImGui::SameLine(0, with.px(14));
  ImGui::AlignTextToFramePadding();
  ImGui::PushStyleColor(ImGuiCol_Text, with.colours.muted);
  clipped_text(words, ImGui::GetContentRegionAvail().x);
  ImGui::PopStyleColor();
}

void query_view::draw_result(const view_context& with) {
  if (!result_) {
    empty_state(with, icon::search, "Query the recording in SQL",
                "Ctrl+Enter runs the query above. Tables lists the available tables; History has examples.");
    return;
  }
  progress_line(with, result_->done, 0.3F);
  if (result_->failure) {
    ImGui::PushStyleColor(ImGuiCol_Text, with.colours.failure);
    ImGui::TextUnformatted(icon::failure);
    ImGui::PopStyleColor();
    ImGui::SameLine();
    ImGui::PushTextWrapPos(0);
    const std::string why = printable(result_->failure->to_string());
    ImGui::TextUnformatted(why.data(), why.data() + why.size());
    ImGui::PopTextWrapPos();
  }
  if (result_->columns.empty()) return;
  if (result_->rows == 0 && result_->done && !result_->failure)
    return empty_state(with, icon::search, "No rows", "The query ran, but no row matches.");
  if (result_->rows > 0) draw_rows(with, *result_);
}

void query_view::measure(const view_context& with, const query::sql_result& shown) {
  const std::size_t columns = std::min(shown.columns.size(), max_columns);
  if (widths_.size() != columns) {
    widths_.assign(columns, 0);
    for (std::size_t i = 0; i < columns; ++i)
      widths_[i] = ImGui::CalcTextSize(make_label(printable(shown.columns[i].name)).c_str()).x;
    measured_ = 0;
  }
  for (; measured_ < std::min(shown.rows, rows_to_measure); ++measured_)
    for (std::size_t i = 0; i < columns; ++i) {
      const std::string text = printable(shown.text(measured_, i));
      const std::size_t seen = std::min<std::size_t>(text.size(), 200);
      widths_[i] = std::min(with.px(420), std::max(widths_[i], ImGui::CalcTextSize(text.data(), text.data() + seen).x));
    }
}

void query_view::draw_rows(const view_context& with, const query::sql_result& shown) {
  measure(with, shown);
  const ImVec2 room = ImGui::GetContentRegionAvail();
  const float row_height = ImGui::GetTextLineHeight() + ImGui::GetStyle().CellPadding.y * 2;
  const float bar = ImGui::GetStyle().ScrollbarSize;
  float width = 0;
  for (const float each : widths_) width += each + with.px(4) + ImGui::GetStyle().CellPadding.x * 2 + 1;
  const float level_bar = width > room.x - bar ? bar : 0;  // height of the horizontal scroll bar, if there is one
  const auto fits = static_cast<std::int64_t>(std::max(1.0F, std::floor((room.y - level_bar) / row_height) - 1));
  const auto rows = static_cast<std::int64_t>(shown.rows);
  const ImVec2 origin = ImGui::GetCursorScreenPos();
  if (ImGui::IsWindowHovered(ImGuiHoveredFlags_ChildWindows) && ImGui::GetIO().MouseWheel != 0 &&
      !ImGui::GetIO().KeyShift)
    first_ -= static_cast<std::int64_t>(std::lround(ImGui::GetIO().MouseWheel * 3));
  row_scroll_bar(with, {origin.x + room.x - bar, origin.y + row_height}, {bar, room.y - row_height}, rows, fits,
                 first_);
  first_ = std::clamp<std::int64_t>(first_, 0, std::max<std::int64_t>(0, rows - fits));
  ImGui::SetCursorScreenPos(origin);
  const ImGuiTableFlags flags = ImGuiTableFlags_Resizable | ImGuiTableFlags_NoSavedSettings | ImGuiTableFlags_ScrollX |
                                ImGuiTableFlags_BordersInnerH | ImGuiTableFlags_SizingFixedFit;
  // Each result has its own columns. Their widths change when the first rows arrive.
  ImGui::PushID(task_.get());
  ImGui::PushID(static_cast<int>(measured_));
  const auto columns = static_cast<int>(widths_.size());
  if (ImGui::BeginTable("answer", columns, flags, {room.x - bar - with.px(2), room.y})) {
    for (std::size_t i = 0; i < widths_.size(); ++i)
      ImGui::TableSetupColumn(make_label(printable(shown.columns[i].name)).c_str(), ImGuiTableColumnFlags_WidthFixed,
                              widths_[i] + with.px(4));
    draw_headings(shown, widths_.size());
    std::vector<table_column> items;
    for (std::size_t i = 0; i < widths_.size(); ++i) items.push_back({"", shown.columns[i].name.c_str()});
    table_content content{"Query", items, static_cast<std::size_t>(rows)};
    content.cells = [&](std::size_t row, std::vector<table_cell>& to) {
      for (std::size_t i = 0; i < items.size(); ++i)
        to.push_back(table_cell::text(printable(shown.text(row, i), line_ends::keep)));
    };
    content.target = [&](std::size_t row) {
      row_target target;
      target.shows = find_target(shown, row, with.state.active()->id).value_or(selection{});
      return target;
    };
    content.whole = [&](bool save) { with.commands.invoke(save ? "query.save" : "query.copy"); };
    for (std::int64_t i = first_; i < std::min(rows, first_ + fits); ++i)
      draw_row(with, content, shown, static_cast<std::uint64_t>(i));
    ImGui::EndTable();
    menu_.scroll_by_keys(first_, fits, rows);
  }
  ImGui::PopID();
  ImGui::PopID();
}

void query_view::draw_row(const view_context& with, const table_content& content, const query::sql_result& shown,
                          std::uint64_t row) {
  const document_id in = with.state.active()->id;
  const auto leads_to = find_target(shown, row, in);
  const selection& chosen = with.state.selected();
  const bool selected = leads_to && chosen.kind == leads_to->kind && chosen.id == leads_to->id;
  ImGui::TableNextRow();
  ImGui::PushID(static_cast<int>(row));
  bool clicked = false;
  for (std::size_t i = 0; i < widths_.size(); ++i) {
    if (!ImGui::TableNextColumn() && i > 0) continue;
    if (i == 0) {
      const ImVec2 at = ImGui::GetCursorPos();
      clicked =
          menu_.item(with, content, static_cast<std::size_t>(row), selected, ImGuiSelectableFlags_AllowDoubleClick);
      ImGui::SetCursorPos(at);
    }
    const std::string text = printable(shown.text(row, i), line_ends::keep);
    const bool link = find_target(shown, row, i, in).has_value();
    if (link) ImGui::PushStyleColor(ImGuiCol_Text, with.colours.accent);
    if (shown.is_number(row, i)) {
      right_text(text);
    } else if (text.size() > 60 || text.find('\n') != std::string::npos) {
      clipped_text(std::string_view(text).substr(0, text.find('\n')), ImGui::GetContentRegionAvail().x);
    } else {
      ImGui::TextUnformatted(text.data(), text.data() + text.size());
    }
    if (link) ImGui::PopStyleColor();
  }
  ImGui::PopID();
  if (!clicked) return;
  // Prefer the cell under the mouse if it refers to an event or block.
  std::optional<selection> target = leads_to;
  if (const int column = ImGui::TableGetHoveredColumn();
      column >= 0 && static_cast<std::size_t>(column) < widths_.size())
    if (const auto own = find_target(shown, row, static_cast<std::size_t>(column), in)) target = own;
  if (!target) return;
  with.commands.invoke("selection.set", *target);
  if (ImGui::IsMouseDoubleClicked(ImGuiMouseButton_Left)) with.commands.invoke("selection.reveal");
}

}  // namespace sluice::gui
