#include "app/gui/views/query.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <system_error>

#include "app/gui/views/parts/widgets.hpp"
#include "app/gui/window/format.hpp"
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

/// The rows so far. They are in the order of the query. `widths`: those of the first columns; the others appear only in
/// CSV.
table_model make_table(const query::sql_result& shown, document_id in, const std::vector<float>& widths) {
  table_model table("Query", static_cast<std::size_t>(shown.rows));
  for (std::size_t i = 0; i < shown.columns.size(); ++i) {
    const std::string name = printable(shown.columns[i].name);
    const bool fits = i < widths.size();
    const cell_type type = shown.rows > 0 && shown.is_number(0, i) ? cell_type::count : cell_type::text;
    table
        .add(type,
             !fits          ? ""
             : name.empty() ? " "
                            : name,
             shown.columns[i].name,
             [&shown, in, i](std::size_t row) {
               return table_cell::text(printable(shown.text(row, i), line_ends::keep))
                   .in(find_target(shown, row, i, in) ? tone::link : tone::plain);
             })
        .wide(fits ? widths[i] : 0)
        .unsorted();
  }
  return table;
}

}  // namespace

query_view::query_view(std::function<void()> wake, const settings& remembered)
    : view(query_panel), wake_(std::move(wake)), remembered_(remembered), text_(examples[0].text) {}

query_view::~query_view() {
  if (save_cancelled_) *save_cancelled_ = true;
}

void query_view::add_commands(const command_home& home) {
  static constexpr auto rows_shown = [](auto& at) { return at.state.ready() && at.self.has_rows(); };
  // Operations on all rows, not only on visible ones, require a recording on this machine.
  static constexpr auto rows_here = [](auto& at) { return rows_shown(at) && !at.state.active()->host; };
  static constexpr command_row<acts_on<query_view>> rows[] = {
      {.id = "query.run",
       .title = "Run query",
       .group = "Query",
       .icon = icon::play,
       .run =
           [](auto& at, auto& with) {
             const auto* text = std::get_if<std::string>(&with);
             at.commands.invoke("panel.focus.Query");
             at.self.ask(text != nullptr ? *text : std::string());
           },
       .enabled = when_ready},
      {.id = "query.remember",
       .run =
           [](auto& at, auto& with) {
             if (const auto* text = std::get_if<std::string>(&with)) at.remembered.add_query(*text);
           }},
      {.id = "query.cancel",
       .title = "Stop query",
       .group = "Query",
       .icon = icon::stop,
       .run = [](auto& at, auto&) { at.self.cancel(); },
       .enabled = [](auto& at) { return at.self.busy(); }},
      {.id = "query.copy",
       .title = "Copy result as CSV",
       .group = "Query",
       .run = [](auto& at, auto&) { at.self.copy(); },
       .enabled = rows_shown},
      {.id = "query.as_track",
       .title = "Show rows as track",
       .group = "Query",
       .icon = icon::chart,
       .run = [](auto& at, auto&) { at.commands.invoke("timeline.add_query", at.self.task_->text()); },
       .enabled =
           [](auto& at) {
             return rows_here(at) && at.self.task_ != nullptr &&
                    query::find_track_columns(at.self.result_->columns).has_value();
           }},
      {.id = "query.save",
       .title = "Save all rows as CSV...",
       .group = "Query",
       .run =
           [](auto& at, auto& with) {
             const auto* path = std::get_if<std::string>(&with);
             at.self.save(path != nullptr ? *path : std::string());
           },
       .enabled = rows_here}};
  commands_ = &home.commands;
  home.commands.add(rows, acts_on<query_view>{home, *this});
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
  table_model table = make_table(*result_, document_id::none, {});
  table.rows = std::min<std::size_t>(table.rows, max_copied);
  ImGui::SetClipboardText(table.to_csv().c_str());
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
      widths_[i] = ImGui::CalcTextSize(make_label(printable(shown.columns[i].name)).c_str()).x / with.scale;
    measured_ = 0;
  }
  for (; measured_ < std::min(shown.rows, rows_to_measure); ++measured_)
    for (std::size_t i = 0; i < columns; ++i) {
      const std::string text = printable(shown.text(measured_, i));
      const std::size_t seen = std::min<std::size_t>(text.size(), 200);
      const float width = ImGui::CalcTextSize(text.data(), text.data() + seen).x / with.scale + 4;
      widths_[i] = std::min(420.0F, std::max(widths_[i], width));
    }
}

void query_view::draw_rows(const view_context& with, const query::sql_result& shown) {
  measure(with, shown);
  const document_id in = with.state.active()->id;
  table_model table = make_table(shown, in, widths_);
  table.target = [&](std::size_t row) {
    return row_target{.shows = find_target(shown, row, in).value_or(selection{})};
  };
  table.chosen = [&](std::size_t row) {
    const auto target = find_target(shown, row, in);
    return target && with.state.selected() == *target;
  };
  table.click = [&](std::size_t row, std::size_t column) {
    // Prefer the cell under the mouse if it refers to an event or block.
    auto target = column < shown.columns.size() ? find_target(shown, row, column, in) : std::nullopt;
    if (!target) target = find_target(shown, row, in);
    if (target) with.commands.invoke("selection.set", *target);
  };
  table.double_click = [&](std::size_t row) {
    if (find_target(shown, row, in)) with.commands.invoke("selection.reveal");
  };
  table.whole = [&](bool save) { with.commands.invoke(save ? "query.save" : "query.copy"); };
  float width = 0;
  for (const float each : widths_) width += with.px(each) + ImGui::GetStyle().CellPadding.x * 2 + 1;
  // Each result has its own columns. Their widths change when the first rows arrive.
  ImGui::PushID(task_.get());
  ImGui::PushID(static_cast<int>(measured_));
  tables_.draw(
      with, table,
      {.scrolls = true, .adjustable = true, .stretched_column = table_options::no_column, .least_width = width});
  ImGui::PopID();
  ImGui::PopID();
}

}  // namespace sluice::gui
