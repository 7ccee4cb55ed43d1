// Shows the memory that the allocator would have reserved under other settings, as overlaid curves.
#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "app/gui/views/chart/view_charts.hpp"
#include "app/gui/views/parts/panel_parts.hpp"
#include "app/gui/views/parts/view_tables.hpp"
#include "app/gui/views/parts/widgets.hpp"
#include "app/gui/views/views.hpp"
#include "app/gui/views/what_if_replay.hpp"
#include "app/gui/window/format.hpp"
#include "core/base/signed_text.hpp"

namespace sluice::gui {
namespace {

using query::replayed_allocator;
using query::replayed_policy;

constexpr float widest_table = 620;  // design pixels
constexpr float min_beside = 900;    // in narrower panels the chart is above the table
constexpr float min_chart = 120;

/// True if an allocation of the recorded program failed. The last column then shows the reserved bytes at the time of
/// the failure.
bool knows_failure(const replayed_allocator& allocator) {
  return std::any_of(allocator.policies.begin(), allocator.policies.end(),
                     [](const replayed_policy& each) { return each.metrics.at_failure > 0; });
}

constexpr panel_info what_if_panel{.title = "What if",
                                   .scrolls = false,
                                   .shown_at_first = false,
                                   .open = {"what_if.open", "Try other allocator settings", "Memory"}};

/// Replays the requests to PyTorch's allocator in the background and compares its settings.
class what_if_view final : public view {
 public:
  explicit what_if_view(std::shared_ptr<what_if_replay> replay) : view(what_if_panel), replay_(std::move(replay)) {}

  void reset() override {
    replay_->reset();
    chosen_ = 0;
    hidden_.clear();
  }

  void add_commands(const command_home& home) override {
    static constexpr command_row<acts_on<what_if_view>> rows[] = {
        {.id = "what_if.stop",
         .title = "Stop replay",
         .group = "Memory",
         .icon = icon::stop,
         .run = [](auto& at, auto&) { at.self.replay_->stop(); },
         .enabled = [](auto& at) { return at.self.replay_->replaying(); }},
        {.id = "what_if.replay",
         .icon = icon::play,
         .run = [](auto& at, auto&) { at.self.replay_->resume(); },
         .enabled = [](auto& at) { return at.self.replay_->stopped(); }}};
    home.commands.add(rows, acts_on<what_if_view>{home, *this});
  }

  void draw(view_context& with) override {
    if (with.state.active()->live)
      return empty_state(with, icon::chart, "Not available while recording",
                         "When the recording ends, its requests are replayed under other allocator settings.");
    replay_->ask(with);
    progress_line(with, !replay_->replaying(), replay_->progress());
    if (const auto& failure = replay_->failure())
      return empty_state(with, icon::failure, "The requests could not be read", failure->message);
    if (replay_->stopped()) {
      command_button(with, "what_if.replay", "Replay");
      ImGui::SameLine();
      ImGui::TextDisabled("The replay was stopped.");
    }
    if (replay_->shown() != nullptr) return draw_result(with, *replay_->shown());
    if (!replay_->stopped())
      empty_state(with, icon::chart, "Replaying",
                  "The recorded requests are being replayed under other allocator settings.");
  }

 private:
  void draw_result(const view_context& with, const query::what_if_curves& curves) {
    if (curves.too_many)
      return empty_state(with, icon::chart, "Too many blocks to replay in the window",
                         "`sluice whatif` replays recordings of any size.");
    if (curves.allocators.empty()) {
      if (!replay_->replaying())
        empty_state(with, icon::chart, "No PyTorch allocations",
                    "Only requests to PyTorch's caching allocator can be replayed under other settings.");
      return;
    }
    chosen_ = std::min(chosen_, curves.allocators.size() - 1);
    const replayed_allocator& allocator = curves.allocators[chosen_];
    draw_head(with, curves, allocator);
    const ImVec2 room = ImGui::GetContentRegionAvail();
    const bool beside = room.x >= with.px(min_beside);
    if (beside) {
      if (ImGui::BeginChild("policies", {std::min(with.px(widest_table), room.x * 0.5F), 0}))
        draw_table(with, allocator);
      ImGui::EndChild();
      ImGui::SameLine(0, with.px(16));
      draw_chart(with, curves, allocator, ImGui::GetContentRegionAvail());
    } else {
      draw_chart(with, curves, allocator, {room.x, std::max(with.px(min_chart), room.y * 0.45F)});
      if (ImGui::BeginChild("policies")) draw_table(with, allocator);
      ImGui::EndChild();
    }
  }

  void draw_head(const view_context& with, const query::what_if_curves& curves, const replayed_allocator& allocator) {
    if (curves.allocators.size() > 1) {
      ImGui::SetNextItemWidth(with.px(240));
      if (ImGui::BeginCombo("##allocator", make_label(allocator.label).c_str())) {
        for (std::size_t i = 0; i < curves.allocators.size(); ++i) {
          ImGui::PushID(static_cast<int>(i));
          if (ImGui::Selectable(make_label(curves.allocators[i].label).c_str(), i == chosen_)) chosen_ = i;
          ImGui::PopID();
        }
        ImGui::EndCombo();
      }
      place_control(with.px(360));
    }
    std::string words = "Reserved memory under each setting";
    if (allocator.recorded_peak > 0) {
      words = "Recorded: up to " + format_bytes(allocator.recorded_peak) + " reserved.  ";
      words += allocator.reproduced
                   ? "The model of the current setting reproduces this peak; other settings are usually within 10 %."
                   : "The model of the current setting does not reproduce this peak exactly.";
    }
    if (replay_->replaying()) {
      command_button(with, "what_if.stop", "Stop");
      ImGui::SameLine();
    }
    ImGui::AlignTextToFramePadding();
    remark(with, words);
  }

  void draw_table(const view_context& with, const replayed_allocator& allocator) {
    table_of<replayed_policy> table("What if", allocator.policies);
    const std::uint64_t native = allocator.policies.front().metrics.peak_reserved;
    const auto toned = [this](table_cell cell, std::size_t row) {
      return is_hidden(row) ? std::move(cell).in(tone::muted) : cell;
    };
    table.text("setting", "policy", [&](const auto& each, std::size_t row) {
      const ImU32 colour = policy_colour(row, with.colours);
      return toned(table_cell::words(setting_name(each.policy), each.policy), row)
          .marked(is_hidden(row) ? mix(colour, with.colours.background, 0.8F) : colour);
    });
    table.bytes("reserved", "peak_reserved_bytes", [&](const auto& each, std::size_t row) {
      if (each.metrics.failures > 0) return table_cell::words("out of memory", "").in(tone::failure);
      return toned(table_cell::bytes(each.metrics.peak_reserved), row);
    });
    table.bytes("vs. current", "against_native_bytes", [&](const auto& each, std::size_t row) {
      if (row == 0 || each.metrics.failures > 0) return table_cell::none();
      const auto by = static_cast<std::int64_t>(each.metrics.peak_reserved) - static_cast<std::int64_t>(native);
      return toned(table_cell::words(against(each.metrics.peak_reserved, native), std::to_string(by)), row);
    });
    table.count("segments", "segments", [&](const auto& each, std::size_t row) {
      return toned(table_cell::count(each.metrics.segments), row);
    });
    table.count("driver calls", "driver_calls", [&](const auto& each, std::size_t row) {
      return toned(table_cell::count(each.metrics.driver_calls), row);
    });
    table.bytes(knows_failure(allocator) ? "at failure" : "", "reserved_at_failure_bytes",
                [&](const auto& each, std::size_t row) {
                  return each.metrics.at_failure > 0 ? toned(table_cell::bytes(each.metrics.at_failure), row)
                                                     : table_cell::none();
                });
    table.count("", "failed_allocations", [](const auto& each) { return each.metrics.failures; });
    table.click = [this](std::size_t row, std::size_t) { hide(row, !is_hidden(row)); };
    table.menu = [&](std::size_t row) {
      if (ImGui::MenuItem(is_hidden(row) ? "Show curve" : "Hide curve")) hide(row, !is_hidden(row));
      if (ImGui::MenuItem("Show only this curve"))
        for (std::size_t i = 0; i < allocator.policies.size(); ++i) hide(i, i != row);
      if (ImGui::MenuItem("Show all curves")) hidden_.clear();
    };
    hovered_row_ = tables_.draw(with, table).hovered.value_or(none);
  }

  static std::string against(std::uint64_t bytes, std::uint64_t native) {
    if (bytes == native) return "unchanged";
    const double by = static_cast<double>(bytes) - static_cast<double>(native);
    return with_sign(by, format_bytes(std::fabs(by)));
  }

  void draw_chart(const view_context& with, const query::what_if_curves& curves, const replayed_allocator& allocator,
                  ImVec2 size) {
    const auto highlighted =
        hovered_row_ != none && !is_hidden(hovered_row_) ? std::optional(hovered_row_) : std::nullopt;
    chart_model model = make_what_if_model(curves, allocator, hidden_, highlighted, with.colours);
    charts_.draw(with, "##chart", model, size);
  }

  [[nodiscard]] bool is_hidden(std::size_t policy) const { return policy < hidden_.size() && hidden_[policy]; }
  void hide(std::size_t policy, bool hidden) {
    if (policy >= hidden_.size()) hidden_.resize(policy + 1);
    hidden_[policy] = hidden;
  }

  static constexpr std::size_t none = ~std::size_t{0};

  std::shared_ptr<what_if_replay> replay_;
  std::size_t chosen_ = 0;          ///< Index of the allocator that is shown.
  std::vector<bool> hidden_;        ///< Indexed by policy: the user has hidden its curve.
  std::size_t hovered_row_ = none;  ///< Index of the policy whose table row is under the mouse.
  view_tables tables_;
  view_charts charts_;
};

}  // namespace

std::unique_ptr<view> make_what_if_view(std::shared_ptr<what_if_replay> replay) {
  return std::make_unique<what_if_view>(std::move(replay));
}

}  // namespace sluice::gui
