#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "app/gui/views/parts/view_tables.hpp"
#include "app/gui/views/parts/widgets.hpp"
#include "app/gui/views/views.hpp"
#include "app/gui/window/format.hpp"

namespace sluice::gui {
namespace {

constexpr float min_beside = 520;  // design pixels; in narrower panels times are below the texts

/// A text of the recording with its first letter capitalized, unless its first word is an identifier ("cudaMalloc").
std::string as_sentence(std::string_view text) {
  const std::string_view word = text.substr(0, text.find(' '));
  const bool is_word = std::all_of(word.begin(), word.end(), [](char c) { return c >= 'a' && c <= 'z'; });
  return is_word ? format::capital(std::string(text)) : std::string(text);
}

constexpr panel_info messages_panel{.title = "Messages"};

/// Shows messages of the recording, of the file and of the program. Equal messages share one line that shows their
/// number.
class messages_view final : public view {
 public:
  messages_view() : view(messages_panel) {}
  [[nodiscard]] panel_status status() const override { return {.warns = warns_}; }
  void reset() override {
    query_ = {};
    lines_.clear();
    made_of_ = {};
    warns_ = false;
  }

  void follow(const view_context& with) override {
    if (!with.state.ready()) return;
    const document& shown = *with.state.active();
    const auto result = query_.ask(*shown.engine, {});
    if (!result) return;
    const auto is_warning = [](const query::message& each) { return each.severity != trace::severity::info; };
    warns_ = (!shown.live && !shown.engine->snapshot()->complete()) ||
             std::any_of(result->begin(), result->end(), is_warning);
  }

  void draw(view_context& with) override {
    const document& shown = *with.state.active();
    const auto snapshot = shown.engine->snapshot();
    const auto result = query_.ask(*shown.engine, {});
    progress_line(with, result.complete, result.progress);
    const made_of now{result.value, snapshot, shown.live, with.colours.kind};
    if (!(now == made_of_)) {
      made_of_ = now;
      make_lines(with, shown.live);
    }
    draw_lines(with, lines_);
    if (lines_.empty() && result.complete)
      empty_state(with, icon::info, "No messages",
                  "The recording is complete: no data was lost, and none is uncertain.");
  }

 private:
  struct line {
    const char* severity;
    const char* sign;
    ImU32 colour;
    std::string_view text;  ///< The result owns the text.
    std::string detail;
    time_ns time;  ///< Time of the first message; 0: unknown.
    std::uint64_t times = 1;
  };
  /// The inputs from which the lines were made.
  struct made_of {
    std::shared_ptr<const std::vector<query::message>> messages;
    std::shared_ptr<const trace::snapshot> snapshot;
    bool live = false;
    theme_kind theme{};
    friend bool operator==(const made_of&, const made_of&) = default;
  };

  void make_lines(const view_context& with, bool live) {
    lines_.clear();
    if (made_of_.snapshot->simulated())
      lines_.push_back({"info", icon::flask, with.colours.accent, "Simulated device",
                        "Every clock of this recording is simulated: its times follow a documented cost model, not a "
                        "GPU.",
                        0});
    if (!made_of_.snapshot->complete() && !live)
      lines_.push_back({"warning", icon::warning, with.colours.warning, "This recording was not closed",
                        "Its writer ended abnormally. All data written before that is shown.", 0});
    if (made_of_.messages == nullptr) return;
    std::map<std::pair<trace::severity, std::string_view>, std::size_t> known;
    for (const query::message& each : *made_of_.messages) {
      const auto [same, added] = known.try_emplace({each.severity, each.text}, lines_.size());
      if (!added) {
        ++lines_[same->second].times;
        continue;
      }
      const bool info = each.severity == trace::severity::info;
      const bool failed = each.severity == trace::severity::error;
      const ImU32 colour = failed ? with.colours.failure : info ? with.colours.accent : with.colours.warning;
      lines_.push_back({failed ? "error"
                        : info ? "info"
                               : "warning",
                        info ? icon::info : icon::warning, colour, each.text,
                        each.time > 0 ? "at " + format_moment(each.time) : std::string(), each.time});
    }
    for (line& each : lines_)
      if (each.times > 1)
        each.detail = format_count(each.times) + " times" + (each.time > 0 ? ", first " + each.detail : std::string());
  }

  void draw_lines(const view_context& with, const std::vector<line>& lines) {
    table_of<line> table("Messages", lines);
    table.text("", "severity", [](const auto& each) { return each.severity; });
    table.text("message", "message",
               [](const auto& each) { return table_cell::words(as_sentence(each.text), each.text); });
    table.moment("at", "time_ns", [](const auto& each) {
      return each.time != 0 ? table_cell::moment(each.time) : table_cell::none("");
    });
    table.count("", "times", [](const auto& each) { return each.times; });
    table.leads_to([](const auto& each) {
      row_target target;
      if (each.time != 0) target.range = time_range{each.time, each.time};
      return target;
    });
    widest_ = 0;
    for (const line& each : lines) widest_ = std::max(widest_, ImGui::CalcTextSize(each.detail.c_str()).x);
    for (std::size_t row = 0; row < lines.size(); ++row) {
      ImGui::PushID(static_cast<int>(row));
      draw_line(with, table, row, lines[row]);
      ImGui::PopID();
    }
  }

  void draw_line(const view_context& with, const table_model& table, std::size_t row, const line& each) {
    const ImVec2 begin = ImGui::GetCursorPos();
    const float room = ImGui::GetContentRegionAvail().x;
    // In a wide panel, times have their own column.
    const bool columns = room >= std::max(with.px(min_beside), widest_ * 3);
    const bool beside = each.time > 0 && columns;
    const float wrap = std::max(1.0F, room - with.px(34) - (columns ? widest_ + with.px(16) : 0));
    const auto height = [wrap](std::string_view text) {
      return ImGui::CalcTextSize(text.data(), text.data() + text.size(), false, wrap).y;
    };
    const std::string text = format::in_window(as_sentence(each.text));
    const float below = each.detail.empty() || beside ? 0 : height(each.detail) + ImGui::GetStyle().ItemSpacing.y;
    tables_.item(with, table, row, {0, height(text) + below});
    ImGui::SetCursorPos(begin);
    ImGui::TextColored(ImGui::ColorConvertU32ToFloat4(each.colour), "%s", each.sign);
    ImGui::SameLine(with.px(34));
    ImGui::BeginGroup();
    ImGui::PushTextWrapPos(ImGui::GetCursorPosX() + wrap);
    ImGui::TextUnformatted(text.c_str());
    if (!each.detail.empty()) {
      if (beside) {
        const float width = ImGui::CalcTextSize(each.detail.c_str()).x;
        ImGui::SetCursorPos({begin.x + room - width, begin.y});
        ImGui::PushTextWrapPos(-1);
      }
      ImGui::PushStyleColor(ImGuiCol_Text, with.colours.muted);
      ImGui::TextUnformatted(each.detail.c_str());
      ImGui::PopStyleColor();
      if (beside) ImGui::PopTextWrapPos();
    }
    ImGui::PopTextWrapPos();
    ImGui::EndGroup();
  }

  screen_slot<query::messages_query> query_;
  std::vector<line> lines_;
  float widest_ = 0;  ///< Width of the widest time, in pixels.
  made_of made_of_;
  view_tables tables_;
  bool warns_ = false;
};

}  // namespace

std::unique_ptr<view> make_messages_view() { return std::make_unique<messages_view>(); }

}  // namespace sluice::gui
