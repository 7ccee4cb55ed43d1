#include "app/gui/views/memory_map/memory_map.hpp"
#include "app/gui/views/process_choice.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "app/gui/views/panel_parts.hpp"
#include "app/gui/views/shown_range.hpp"
#include "app/gui/views/timeline/track_row.hpp"
#include "app/gui/views/widgets.hpp"
#include "app/gui/window/format.hpp"
#include "core/base/printable.hpp"

namespace sluice::gui {
namespace {

constexpr float strip_height = 26;    // design pixels
constexpr float min_for_strip = 150;  // design pixels that must remain in the panel
constexpr float min_for_legend = 240;

struct order_choice {
  map_order order;
  const char* title;
};
constexpr std::array<order_choice, 3> orders = {
    {{map_order::address, "by address"}, {map_order::size, "by size"}, {map_order::free, "most free first"}}};

/// The most informative layer of a device: the innermost layer with at least a quarter of the largest peak.
const metrics::memory_peak* peak_to_show(const metrics::report& of, trace::device_id device) {
  std::uint64_t most = 0;
  const auto counts = [&](const metrics::memory_peak& each) {
    return each.device == device && each.kind != trace::memory_kind::reservation;
  };
  for (const metrics::memory_peak& each : of.peaks)
    if (counts(each)) most = std::max(most, each.bytes);
  const metrics::memory_peak* best = nullptr;
  for (const metrics::memory_peak& each : of.peaks) {
    if (!counts(each) || each.bytes < most / 4) continue;
    if (best == nullptr || std::pair(each.layer, each.bytes) > std::pair(best->layer, best->bytes)) best = &each;
  }
  return best;
}

std::string words_of(const query::memory_step& step) {
  std::string text;
  const auto add = [&](const char* verb, std::uint64_t blocks, std::uint64_t bytes) {
    if (blocks == 0) return;
    text += (text.empty() ? "" : ", ") + std::string(verb) + " " + format_bytes(bytes);
    if (blocks > 1) text += " in " + format_some(blocks, "block");
  };
  add("allocated", step.born, step.born_bytes);
  add("freed", step.died, step.died_bytes);
  return text;
}

}  // namespace

void memory_map_view::reset() {
  peaks_query_ = {};
  tracks_query_ = {};
  query_ = {};
  hovered_query_ = {};
  selected_query_ = {};
  step_query_ = {};
  memories_.clear();
  learned_ = nullptr;
  device_.reset();
  moment_.reset();
  stepping_.reset();
  peak_wanted_ = false;
  stepped_ = nullptr;
  shown_ = nullptr;
  legend_.clear();
  legend_of_ = {};
  curve_ = {};
  reset_film();
  folded_.clear();
  fitted_ = true;
  line_bytes_ = 0;
  first_ = 0;
  revealed_ = {};
  step_revealed_ = trace::unknown_time;
  drawn_ = {};
}

void memory_map_view::add_commands(const command_home& home) {
  documents& state = home.state;
  const auto ready = [&state] { return state.ready(); };
  home.commands.add({.id = "map.open",
                     .title = "Memory map at this moment",
                     .group = "Memory",
                     .keys = {ImGuiKey_M},
                     .run = [&commands = home.commands](const argument&) { commands.invoke("panel.focus.Memory map"); },
                     .enabled = ready});
  home.commands.add({.id = "moment.set",
                     .run =
                         [&state](const argument& with) {
                           if (const auto* at = std::get_if<time_range>(&with)) state.set_moment(at->begin);
                         },
                     .enabled = ready});
  home.commands.add({.id = "moment.previous",
                     .title = "Previous allocation event",
                     .group = "Memory",
                     .icon = icon::previous,
                     .keys = {ImGuiKey_Comma},
                     .repeats = true,
                     .run = [this](const argument&) { step(false); },
                     .enabled = ready});
  home.commands.add({.id = "moment.next",
                     .title = "Next allocation event",
                     .group = "Memory",
                     .icon = icon::next,
                     .keys = {ImGuiKey_Period},
                     .repeats = true,
                     .run = [this](const argument&) { step(true); },
                     .enabled = ready});
  home.commands.add({.id = "moment.peak",
                     .title = "Go to peak",
                     .group = "Memory",
                     .run = [this](const argument&) { peak_wanted_ = true; },
                     .enabled = ready});
  add_film_commands(home);
  const auto shown = [this, ready] { return ready() && shown_ != nullptr; };
  home.commands.add({.id = "map.zoom_in",
                     .title = "Zoom in on map",
                     .group = "Memory map",
                     .icon = icon::zoom_in,
                     .run = [this](const argument&) { zoom(0.5); },
                     .enabled = shown});
  home.commands.add({.id = "map.zoom_out",
                     .title = "Zoom out of map",
                     .group = "Memory map",
                     .icon = icon::zoom_out,
                     .run = [this](const argument&) { zoom(2); },
                     .enabled = shown});
  home.commands.add({.id = "map.fit",
                     .title = "Fit map",
                     .group = "Memory map",
                     .icon = icon::expand,
                     .run = [this](const argument&) { fit(); },
                     .enabled = shown});
}

// --- what to show ---------------------------------------------------------------------------------------------------

void memory_map_view::learn_memories(const view_context& with) {
  const auto result = peaks_query_.ask(*with.state.active()->engine, {});
  if (!result || result.value == learned_) return;
  learned_ = result.value;
  memories_.clear();
  const auto snapshot = with.state.active()->engine->snapshot();
  std::set<trace::device_id> devices;
  for (const metrics::memory_peak& each : learned_->peaks) devices.insert(each.device);
  for (const trace::device_id device : devices) {
    const metrics::memory_peak* peak = peak_to_show(*learned_, device);
    if (peak == nullptr) continue;
    const bool host = device == trace::device_id::none;
    memories_.push_back({device, peak->bytes, peak->time, host ? "host memory" : device_words(*snapshot, device)});
  }
  std::stable_sort(memories_.begin(), memories_.end(), [](const memory& a, const memory& b) {
    const bool host_a = a.device == trace::device_id::none;
    const bool host_b = b.device == trace::device_id::none;
    return host_a != host_b ? host_b : a.peak > b.peak;
  });
}

const memory_map_view::memory* memory_map_view::chosen() const {
  for (const memory& each : memories_)
    if (device_ && each.device == *device_) return &each;
  return memories_.empty() ? nullptr : &memories_.front();
}

void memory_map_view::choose_moment(const view_context& with) {
  const document& of = *with.state.active();
  moment_ = with.state.moment();
  if (!moment_ && of.live) moment_ = of.span.end;
  if (!moment_ && chosen() != nullptr) moment_ = chosen()->when;
}

query::memory_map_query memory_map_view::query(const view_context& with) const {
  query::memory_map_query wanted;
  wanted.time = *moment_;
  if (chosen() != nullptr) wanted.device = chosen()->device;
  wanted.lone = true;
  const float width = std::max(1.0F, lines_area_.width());
  wanted.width = static_cast<std::uint32_t>(width);
  // Round down to a power of two, so that the query does not change when the panel becomes a few pixels wider.
  if (line_bytes_ != 0)
    wanted.pixel = std::bit_floor(std::max<std::uint64_t>(
        1, static_cast<std::uint64_t>(static_cast<double>(line_bytes_) / static_cast<double>(width))));
  const selection& chosen_one = with.state.selected();
  if (chosen_one.kind == selection_kind::block) wanted.marks.push_back(static_cast<trace::block_id>(chosen_one.id));
  if (stepped_ != nullptr && stepped_->time == *moment_) wanted.marks.push_back(stepped_->block);
  return wanted;
}

void memory_map_view::step(bool forward) {
  if (!stepping_) stepping_ = forward;
}

void memory_map_view::follow(const view_context& with) {
  waiting_ = false;
  follow_film(with);
  if (!stepping_ && !peak_wanted_) return;
  const document* of = with.state.active();
  if (of == nullptr || !of->ready()) {
    peak_wanted_ = false;
    return stepping_.reset();
  }
  // If the panel has never been drawn, the moment and the device are not known yet.
  learn_memories(with);
  if (peak_wanted_ && learned_ != nullptr) go_to_peak(with);
  if (!stepping_) return;
  choose_moment(with);
  if (!moment_) {
    if (learned_ != nullptr) stepping_.reset();
    return;
  }
  query::memory_step_query wanted{*moment_, *stepping_, {}};
  if (chosen() != nullptr) wanted.device = chosen()->device;
  const auto result = step_query_.ask(*of->engine, wanted);
  if (result.failure) return stepping_.reset();
  if (!result || result->since != *moment_ || result->forward != *stepping_) return;
  if (!result.complete && !of->live) return;
  stepping_.reset();
  if (result->time == trace::unknown_time) return;
  stepped_ = result.value;
  with.commands.invoke("moment.set", time_range{result->time, result->time});
}

void memory_map_view::go_to_peak(const view_context& with) {
  peak_wanted_ = false;
  if (chosen() == nullptr) return;
  const time_range peak{chosen()->when, chosen()->when};
  with.commands.invoke("moment.set", peak);
  const document& of = *with.state.active();
  if (peak.begin < of.visible.begin || peak.end > of.visible.end)
    with.commands.invoke("timeline.go_to", shown_range(peak, learned_->whole.active, learned_->steps));
}

void memory_map_view::zoom(double factor) { zoom_wanted_ *= factor; }

const query::address_segment* memory_map_view::find_segment(trace::block_id id) const {
  const auto found = std::find_if(shown_->segments.begin(), shown_->segments.end(),
                                  [id](const query::address_segment& each) { return each.block == id; });
  return found == shown_->segments.end() ? nullptr : &*found;
}

// --- above the chart ------------------------------------------------------------------------------------------------

void memory_map_view::draw(view_context& with) {
  learn_memories(with);
  choose_moment(with);
  if (ImGui::IsWindowFocused(ImGuiFocusedFlags_ChildWindows)) {
    if (ImGui::IsKeyPressed(ImGuiKey_RightArrow)) with.commands.invoke("moment.next");
    if (ImGui::IsKeyPressed(ImGuiKey_LeftArrow)) with.commands.invoke("moment.previous");
    for (const auto& [key, lines] : {std::pair{ImGuiKey_DownArrow, std::int64_t{1}},
                                     {ImGuiKey_UpArrow, -1},
                                     {ImGuiKey_PageDown, fits_},
                                     {ImGuiKey_PageUp, -fits_}})
      if (ImGui::IsKeyPressed(key)) first_ += lines;
  }
  if (learned_ != nullptr && memories_.empty() && !with.state.active()->live) return no_memory_recorded(with);
  query::query_result<query::memory_map> result;
  if (moment_) result = query_.ask(*with.state.active()->engine, query(with));
  waiting_ = !result.complete && !result.failure;
  if (result) shown_ = result.value;
  learn_legend(with);
  advance_film(with);
  draw_controls(with);
  draw_strip(with);
  if (film_row_) draw_holes(with);
  progress_line(with, !waiting_, result.progress);
  if (result.failure) return empty_state(with, icon::warning, "Not in this recording", result.failure->message);
  if (!result) return;
  draw_lost_selection(with);
  if (draw_empty_state(with)) return;
  draw_chart(with);
}

bool memory_map_view::draw_empty_state(const view_context& with) const {
  if (!shown_->segments.empty()) return false;
  empty_state(
      with, icon::search, "No memory at this moment",
      "Nothing was allocated at " + format_moment(shown_->time) + ". Choose another moment above or on the timeline.");
  return true;
}

void memory_map_view::draw_controls(const view_context& with) {
  ImGui::PushStyleVar(ImGuiStyleVar_FrameBorderSize, 0.0F);
  command_button(with, "moment.previous", nullptr, true);
  ImGui::SameLine(0, with.px(2));
  command_button(with, film_.playing() ? "film.pause" : "film.play", nullptr, true);
  ImGui::SameLine(0, with.px(2));
  command_button(with, "moment.next", nullptr, true);
  ImGui::PopStyleVar();
  ImGui::SameLine();
  ImGui::AlignTextToFramePadding();
  draw_moment(with);
  draw_choices(with);
  draw_legend(with);
  if (film_row_) draw_film_controls(with);
}

void memory_map_view::draw_moment(const view_context& with) const {
  if (!moment_) return ImGui::TextDisabled("no moment chosen");
  ImGui::TextUnformatted(format::time_point(*moment_, 1).c_str());
  std::string more;
  if (stepped_ != nullptr && stepped_->time == *moment_) {
    more = words_of(*stepped_);
  } else if (!with.state.moment() && with.state.active()->live) {
    more = "now";
  } else if (chosen() != nullptr && *moment_ == chosen()->when) {
    more = "the peak";
  }
  if (more.empty()) return;
  ImGui::SameLine();
  ImGui::TextDisabled("%s", more.c_str());
}

void memory_map_view::draw_choices(const view_context& with) {
  if (memories_.size() > 1) {
    place_control(with.px(180));
    ImGui::SetNextItemWidth(with.px(180));
    if (ImGui::BeginCombo("##device", label_of(chosen()->label).c_str())) {
      for (const memory& each : memories_) {
        ImGui::PushID(static_cast<int>(trace::raw(each.device)));
        if (ImGui::Selectable(label_of(each.label).c_str(), each.device == chosen()->device)) device_ = each.device;
        ImGui::PopID();
      }
      ImGui::EndCombo();
    }
  }
  place_control(with.px(128));
  ImGui::SetNextItemWidth(with.px(128));
  const auto now = std::find_if(orders.begin(), orders.end(), [&](const auto& each) { return each.order == order_; });
  if (ImGui::BeginCombo("##order", now->title)) {
    for (const order_choice& each : orders)
      if (ImGui::Selectable(each.title, each.order == order_)) order_ = each.order;
    ImGui::EndCombo();
  }
  place_control(ImGui::GetFrameHeight() * 3.6F);
  ImGui::PushStyleVar(ImGuiStyleVar_FrameBorderSize, 0.0F);
  for (const char* id : {"map.zoom_out", "map.zoom_in", "map.fit"}) {
    command_button(with, id, nullptr, true);
    ImGui::SameLine(0, with.px(2));
  }
  ImGui::PopStyleVar();
}

void memory_map_view::draw_legend(const view_context& with) const {
  ImGui::PushFont(nullptr, 13.0F);
  float width = 0;
  for (const auto& [label, colour] : legend_) width += ImGui::CalcTextSize(label.c_str()).x + with.px(15 + 12);
  ImGui::SameLine(0, with.px(12));
  // Draw the legend beside the choices if there is space; otherwise below them, if it takes at most one line of a tall
  // panel.
  if (ImGui::GetContentRegionAvail().x < width || legend_.empty()) {
    ImGui::NewLine();
    const ImVec2 room = ImGui::GetContentRegionAvail();
    if (legend_.empty() || room.x < width || room.y < with.px(min_for_legend)) return ImGui::PopFont();
  }
  ImGui::SetCursorPosX(ImGui::GetCursorPosX() + ImGui::GetContentRegionAvail().x - width);
  const float top = ImGui::GetCursorPosY();
  ImGui::AlignTextToFramePadding();
  for (const auto& [label, colour] : legend_) {
    ImGui::SetCursorPosY(top + ImGui::GetStyle().FramePadding.y);
    swatch(with, colour);
    ImGui::TextDisabled("%s", label.c_str());
    if (&label != &legend_.back().first) ImGui::SameLine(0, with.px(12));
  }
  ImGui::PopFont();
}

void memory_map_view::draw_strip(view_context& with) {
  const document& of = *with.state.active();
  const ImVec2 room = ImGui::GetContentRegionAvail();
  if (room.y < with.px(min_for_strip) || room.x < with.px(80)) return;
  const auto tracks = tracks_query_.ask(*of.engine, {});
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const draw::rectangle area{at, {at.x + room.x, at.y + with.px(strip_height)}};
  ImGui::InvisibleButton("moment", {area.width(), area.height()});
  const bool held = ImGui::IsItemActive();
  const bool over = ImGui::IsItemHovered();
  ImDrawList& list = *ImGui::GetWindowDrawList();
  const time_range span{of.span.begin, std::max(of.span.end, of.span.begin + 1)};
  const trace::device_id device = chosen() != nullptr ? chosen()->device : trace::device_id::none;
  if (tracks)
    for (const query::track& each : tracks->tracks)
      if (each.kind == query::track_kind::memory && each.device == device) {
        curve_.draw(with, *of.engine, each.id, span, {area.min, {area.max.x, area.max.y - 1}}, list);
        break;
      }
  list.AddLineH(area.min.x, area.max.x, area.max.y - 1, with.colours.line);
  const row_frame axis{{}, area, span, over, ImGui::GetMousePos()};
  const auto mark = [&](time_ns time, ImU32 colour, bool handle) {
    const float x = std::floor(std::clamp(axis.x_of(time), area.min.x, area.max.x - 1));
    list.AddLineV(x, area.min.y, area.max.y - 1, colour);
    const float half = with.px(4);
    if (handle) list.AddRectFilled({x - half, area.min.y}, {x + half + 1, area.min.y + with.px(5)}, colour);
  };
  if (with.hovered_time) mark(*with.hovered_time, with.colours.muted, false);
  if (moment_) mark(*moment_, with.colours.accent, true);
  if (over || held) ImGui::SetMouseCursor(ImGuiMouseCursor_ResizeEW);
  const time_ns under = axis.time_at(std::clamp(axis.mouse.x, area.min.x, area.max.x - 1));
  if (over && !held) {
    mark(under, with.colours.muted, false);
    ImGui::SetTooltip("%s", format::time_point(under, static_cast<time_ns>(axis.ns_per_pixel())).c_str());
  }
  if (held && (ImGui::IsItemActivated() || ImGui::GetIO().MouseDelta.x != 0))
    with.commands.invoke("moment.set", time_range{under, under});
}

/// If the selected block is not live at this moment, offers a link to a moment at which it is.
void memory_map_view::draw_lost_selection(const view_context& with) {
  const selection& chosen_one = with.state.selected();
  if (chosen_one.kind != selection_kind::block) return;
  const auto id = static_cast<trace::block_id>(chosen_one.id);
  for (const query::memory_map::place& each : shown_->marked)
    if (each.block == id && each.live) return;
  const auto result = selected_query_.ask(*with.state.active()->engine, {trace::event_id::none, id});
  if (!result || !result.complete || result.failure) return;
  const time_ns born = result->span.begin;
  if (born == trace::unknown_time || (born <= shown_->time && shown_->time < result->span.end)) return;
  ImGui::TextDisabled(
      "%s", shown_->time < born ? "The selected block is not allocated yet:" : "The selected block was freed:");
  ImGui::SameLine();
  if (link(with, "show it at " + format_moment(born))) with.commands.invoke("moment.set", time_range{born, born});
}

}  // namespace sluice::gui
