#include "app/gui/views/compare/compare.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "app/gui/views/panel_parts.hpp"
#include "app/gui/views/process_choice.hpp"
#include "app/gui/views/row_menu.hpp"
#include "app/gui/views/views.hpp"
#include "app/gui/views/widgets.hpp"
#include "app/gui/window/format.hpp"
#include "core/base/printable.hpp"

namespace sluice::gui {
namespace {

constexpr float comparison_beside = 900;  // design pixels; in narrower panels the curves are above the tables
constexpr float min_curves = 90;
constexpr float side_combo_width = 250;

/// Continues on the same line if a control of this width fits there.
void next_control(float width) {
  ImGui::SameLine();
  if (ImGui::GetContentRegionAvail().x < width) ImGui::NewLine();
}

/// Draws the name of a side, with the colour of the side's curve.
void side_name(const view_context& with, std::size_t side, const char* word) {
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float edge = with.px(9);
  const float top = std::floor(at.y + (ImGui::GetFrameHeight() - edge) * 0.5F);
  ImGui::GetWindowDrawList()->AddRectFilled({at.x, top}, {at.x + edge, top + edge},
                                            aligned_curves::colour_of(side, with.colours));
  ImGui::Dummy({edge, ImGui::GetFrameHeight()});
  ImGui::SameLine(0, with.px(6));
  ImGui::AlignTextToFramePadding();
  ImGui::TextDisabled("%s", word);
}

/// The processes that can be compared: those with a rank, sorted by rank. If no process has a rank, all processes.
std::vector<trace::process_id> compared_processes(const trace::snapshot& of) {
  std::vector<std::pair<std::int64_t, trace::process_id>> ranked;
  std::vector<trace::process_id> all;
  for (const trace::process_row& each : of.tables().processes.rows()) {
    all.push_back(each.id);
    if (each.rank >= 0) ranked.emplace_back(each.rank, each.id);
  }
  if (ranked.empty()) return all;
  std::sort(ranked.begin(), ranked.end());
  all.clear();
  for (const auto& [rank, process] : ranked) all.push_back(process);
  return all;
}

}  // namespace

void compare_view::add_commands(const command_home& home) {
  documents& state = home.state;
  const auto ready = [&state] { return state.ready(); };
  home.commands.add({.id = "compare.open",
                     .title = "Compare",
                     .group = "Compare",
                     .icon = icon::chart,
                     .run = [&commands = home.commands](const argument&) { commands.invoke("panel.focus.Compare"); },
                     .enabled = ready});
  home.commands.add({.id = "compare.with",
                     .title = "Compare with another recording...",
                     .group = "Compare",
                     .icon = icon::open,
                     .run =
                         [this, &state, &commands = home.commands](const argument& with) {
                           opening_from_ = state.active()->id;
                           if (const auto* path = std::get_if<std::string>(&with)) {
                             commands.invoke("file.open_path", *path);
                           } else {
                             commands.invoke("file.open");
                           }
                           commands.invoke("compare.open");
                         },
                     .enabled = ready});
  home.commands.add({.id = "compare.with_range",
                     .title = "Compare with this range",
                     .group = "Compare",
                     .run =
                         [this, &state, &commands = home.commands](const argument&) {
                           kept_ = {state.active()->id, *state.range()};
                           before_ = {.kind = side_choice::what::kept_range};
                           after_ = {.kind = side_choice::what::selected_range};
                           commands.invoke("compare.open");
                         },
                     .enabled = [&state, ready] { return ready() && state.range().has_value(); }});
  home.commands.add({.id = "compare.devices",
                     .title = "Compare two GPUs of this recording",
                     .group = "Compare",
                     .run =
                         [this, &state, &commands = home.commands](const argument&) {
                           const document& of = *state.active();
                           const auto& devices = of.engine->snapshot()->tables().devices.rows();
                           before_ = {side_choice::what::device, of.id, devices[0].id};
                           after_ = {side_choice::what::device, of.id, devices[1].id};
                           commands.invoke("compare.open");
                         },
                     .enabled =
                         [&state, ready] {
                           return ready() && state.active()->engine->snapshot()->tables().devices.rows().size() > 1;
                         }});
  home.commands.add(
      {.id = "compare.ranks",
       .title = "Compare two ranks of this recording",
       .group = "Compare",
       .run =
           [this, &state, &commands = home.commands](const argument&) {
             const document& of = *state.active();
             const auto all = compared_processes(*of.engine->snapshot());
             const auto choice = [&](trace::process_id process) {
               side_choice made{side_choice::what::process, of.id};
               made.process = process;
               return made;
             };
             before_ = choice(all[0]);
             after_ = choice(all[1]);
             commands.invoke("compare.open");
           },
       .enabled = [&state,
                   ready] { return ready() && compared_processes(*state.active()->engine->snapshot()).size() > 1; }});
  home.commands.add({.id = "compare.steps",
                     .title = "Compare two steps of this recording",
                     .group = "Compare",
                     .run =
                         [this, &state, &commands = home.commands](const argument&) {
                           steps_wanted_ = state.active()->id;
                           commands.invoke("compare.open");
                         },
                     .enabled = ready});
  home.commands.add({.id = "compare.swap",
                     .title = "Swap compared sides",
                     .group = "Compare",
                     .run = [this](const argument&) { std::swap(before_, after_); },
                     .enabled = [this] { return shown_ != nullptr; }});
  home.commands.add({.id = "compare.align", .run = [this](const argument& with) {
                       const auto* by = std::get_if<std::string>(&with);
                       if (by != nullptr) align_ = *by == "step" ? alignment::step : alignment::time;
                     }});
  home.commands.add({.id = "compare.tab", .run = [this](const argument& with) {
                       if (const auto* title = std::get_if<std::string>(&with)) tab_ = *title;
                     }});
  home.commands.add({.id = "compare.go",
                     .run =
                         [&state, &commands = home.commands](const argument& with) {
                           const auto* what = std::get_if<selection>(&with);
                           if (what == nullptr || state.find(what->document) == nullptr) return;
                           state.activate(what->document);
                           if (what->kind != selection_kind::none) commands.invoke("selection.set", *what);
                         },
                     .enabled = ready});
}

const document* compare_view::find(const documents& in, document_id id) {
  for (const auto& each : in.all())
    if (each->id == id) return each.get();
  return nullptr;
}

std::optional<compare_view::side> compare_view::resolve(const view_context& with, const side_choice& choice) const {
  using what = side_choice::what;
  const auto words = [](const document& of, time_range range) {
    return of.title + ", " + format_moment(range.begin) + " to " + format_moment(range.end);
  };
  if (choice.kind == what::selected_range) {
    const document* of = with.state.active();
    if (of == nullptr || !of->ready() || !with.state.range()) return std::nullopt;
    return side{of, *with.state.range(), std::nullopt, words(*of, *with.state.range())};
  }
  if (choice.kind == what::kept_range) {
    const document* of = kept_ ? find(with.state, kept_->document) : nullptr;
    if (of == nullptr || !of->ready()) return std::nullopt;
    return side{of, kept_->range, std::nullopt, words(*of, kept_->range)};
  }
  const document* of = find(with.state, choice.document);
  if (choice.kind == what::none || of == nullptr || !of->ready()) return std::nullopt;
  if (choice.kind == what::whole) return side{of, of->span, std::nullopt, of->title};
  if (choice.kind == what::process)
    return side{of, of->span, std::nullopt, of->title + ", " + process_words(*of->engine->snapshot(), choice.process),
                choice.process};
  if (choice.kind == what::step)
    return side{of, choice.range, std::nullopt, of->title + ", step " + std::to_string(choice.number)};
  return side{of, of->span, choice.device, of->title + ", " + device_words(*of, choice.device)};
}

/// A device's name, with its rank: "GPU 1 (rank 1)".
std::string compare_view::device_words(const document& of, trace::device_id device) const {
  return gui::device_words(*of.engine->snapshot(), device);
}

void compare_view::choose_defaults(const view_context& with) {
  using what = side_choice::what;
  const document* active = with.state.active();
  const auto gone = [&](const side_choice& choice) {
    const bool names = choice.kind == what::whole || choice.kind == what::device || choice.kind == what::process ||
                       choice.kind == what::step;
    return choice.kind == what::none || (names && find(with.state, choice.document) == nullptr);
  };
  if (gone(after_)) after_ = {what::whole, active->id, {}};
  if (!gone(before_)) return;
  before_ = {};
  for (const auto& each : with.state.all())
    if (each->id != after_.document && each->ready()) before_ = {what::whole, each->id, {}};
}

void compare_view::follow(const view_context& with) {
  if (steps_wanted_ != document_id::none) follow_steps(with);
  if (opening_from_ != document_id::none) {
    const document* active = with.state.active();
    if (active != nullptr && active->ready() && active->id != opening_from_) {
      before_ = {side_choice::what::whole, opening_from_, {}};
      after_ = {side_choice::what::whole, active->id, {}};
      opening_from_ = document_id::none;
    } else if (!with.state.opening() && (active == nullptr || stop_opening_)) {
      opening_from_ = document_id::none;
    }
    stop_opening_ = opening_from_ != document_id::none && with.state.opening();
  }
  if (!jump_) return;
  const document* of = find(with.state, jump_->document);
  if (of == nullptr || !of->ready()) return jump_.reset();
  const auto result = jump_query_.ask(*of->engine, jump_->query);
  if (result.failure) return jump_.reset();
  if (!result || !result.complete) return;
  for (const query::block_row& row : result->rows) {
    if (row.device != jump_->device || row.kind != jump_->kind) continue;
    if (jump_->category ? row.category.what != *jump_->category : !jump_->stacks.contains(trace::raw(row.stack)))
      continue;
    with.commands.invoke("compare.go", selection{jump_->document, selection_kind::block, trace::raw(row.block)});
    with.commands.invoke("moment.set", time_range{jump_->time, jump_->time});
    break;
  }
  jump_.reset();
}

void compare_view::draw(view_context& with) {
  choose_defaults(with);
  draw_controls(with);
  const std::optional<side> before = resolve(with, before_);
  const std::optional<side> after = resolve(with, after_);
  waiting_ = false;
  if (!before || !after || before->same_as(*after)) {
    shown_ = nullptr;
    return draw_missing(with, before.has_value(), after.has_value());
  }
  if (!ask(with, *before, *after)) return;
  draw_result(with, *before, *after);
}

void compare_view::draw_controls(const view_context& with) {
  const float width = std::min(with.px(side_combo_width), ImGui::GetContentRegionAvail().x - with.px(76));
  side_name(with, 0, "before");
  ImGui::SameLine(0, with.px(6));
  ImGui::SetNextItemWidth(width);
  draw_side_combo(with, "##before", before_);
  next_control(width + with.px(60));
  side_name(with, 1, "after");
  ImGui::SameLine(0, with.px(6));
  ImGui::SetNextItemWidth(width);
  draw_side_combo(with, "##after", after_);
  next_control(with.px(50));
  command_button(with, "compare.swap", "Swap");
  if (shown_ == nullptr) return;
  draw_memory_combo(with);
  const bool steps =
      sides_[0] != nullptr && sides_[1] != nullptr && sides_[0]->steps.size() > 1 && sides_[1]->steps.size() > 1;
  if (!steps) return;
  next_control(with.px(130));
  ImGui::SetNextItemWidth(with.px(130));
  if (!ImGui::BeginCombo("##align", align_ == alignment::time ? "align by time" : "align by step")) return;
  if (ImGui::Selectable("align by time", align_ == alignment::time)) align_ = alignment::time;
  if (ImGui::Selectable("align by step", align_ == alignment::step)) align_ = alignment::step;
  ImGui::EndCombo();
}

void compare_view::draw_side_combo(const view_context& with, const char* id, side_choice& choice) {
  const auto now = resolve(with, choice);
  if (!ImGui::BeginCombo(id, now ? label_of(now->label).c_str() : "choose...", ImGuiComboFlags_HeightLarge)) return;
  using what = side_choice::what;
  for (const auto& each : with.state.all()) {
    if (!each->ready()) continue;
    ImGui::PushID(static_cast<int>(each->id));
    draw_choices_of(with, *each, choice);
    ImGui::PopID();
  }
  if (with.state.range() && ImGui::Selectable("the selected range", choice.kind == what::selected_range))
    choice = {.kind = what::selected_range};
  if (const auto kept = resolve(with, {.kind = what::kept_range}))
    if (ImGui::Selectable((label_of(kept->label) + "##kept").c_str(), choice.kind == what::kept_range))
      choice = {.kind = what::kept_range};
  ImGui::Separator();
  if (ImGui::Selectable("Open another recording...")) with.commands.invoke("compare.with");
  ImGui::EndCombo();
}

void compare_view::draw_choices_of(const view_context& with, const document& of, side_choice& choice) {
  using what = side_choice::what;
  const auto offer = [&](const std::string& label, const side_choice& made) {
    if (ImGui::Selectable(label_of(label).c_str(), choice == made)) choice = made;
  };
  offer(of.title, {what::whole, of.id, {}});
  if (&of == with.state.active()) draw_step_choice(with, of, choice);
  draw_process_choices(of, choice);
  const auto snapshot = of.engine->snapshot();
  if (snapshot->tables().devices.rows().size() < 2) return;
  const auto report =
      &of == with.state.active() ? ranks_query_.ask(*of.engine, {}) : query::query_result<metrics::report>{};
  for (const trace::device_row& device : snapshot->tables().devices.rows()) {
    std::string label = "    " + device_words(of, device.id);
    if (report)
      for (const auto& rank : report->waste.ranks)
        if (rank.device == device.id) label += ", rank " + std::to_string(rank.rank);
    ImGui::PushID(static_cast<int>(trace::raw(device.id)));
    offer(label, {what::device, of.id, device.id});
    ImGui::PopID();
  }
}

/// Lists the ranks of a recording, including ranks that share a GPU.
void compare_view::draw_process_choices(const document& of, side_choice& choice) {
  const auto snapshot = of.engine->snapshot();
  const auto all = compared_processes(*snapshot);
  if (all.size() < 2) return;
  for (const trace::process_id each : all) {
    side_choice made{side_choice::what::process, of.id};
    made.process = each;
    ImGui::PushID(static_cast<int>(trace::raw(each)));
    if (ImGui::Selectable(label_of("    " + process_words(*snapshot, each)).c_str(), choice == made)) choice = made;
    ImGui::PopID();
  }
}

metrics::device_match compare_view::devices_of(const side& before, const side& after) {
  const auto is_whole = [](const side& of) { return !of.device && of.process == trace::process_id::none; };
  const bool ranges = before.of == after.of && is_whole(before) && is_whole(after);
  return ranges ? metrics::device_match::by_ordinal : metrics::device_match::by_role;
}

void compare_view::draw_missing(const view_context& with, bool before, bool after) const {
  const bool ranges = after_.kind == side_choice::what::selected_range;
  if (before && after) {
    empty_state(
        with, icon::chart, "Both sides are the same",
        ranges ? "Now select another range on the timeline." : "Choose another recording, range, rank or GPU above.");
  } else if (ranges && before) {
    empty_state(with, icon::chart, "Nothing to compare with", "Now select another range on the timeline.");
  } else {
    empty_state(with, icon::chart, "Nothing to compare with",
                "Open another recording, or select a range and choose \"Compare with this range\".");
  }
  ImGui::Dummy({0, with.px(4)});
  const float width = ImGui::CalcTextSize("Open another recording...").x + with.px(50);
  ImGui::SetCursorPosX(std::max(0.0F, (ImGui::GetWindowWidth() - width) * 0.5F));
  command_button(with, "compare.with", "Open another recording...");
}

bool compare_view::ask(const view_context& with, const side& before, const side& after) {
  const std::array<const side*, 2> both = {&before, &after};
  std::array<query::side_of_recording, 2> given;
  failure_.clear();
  progress_ = 0;
  for (std::size_t i = 0; i < 2; ++i) {
    const auto result = side_queries_[i].ask(*both[i]->of->engine, {both[i]->range, both[i]->device, both[i]->process});
    progress_ += result.progress * 0.45F;
    if (result.failure) failure_ = result.failure->message;
    if (result.complete) {
      sides_[i] = result.value;
    } else {
      waiting_ = !result.failure;
    }
    given[i] = {result.complete ? result.value : nullptr, both[i]->of->engine->snapshot()};
  }
  if (given[0].side != nullptr && given[1].side != nullptr) {
    const auto result = query_.ask(*after.of->engine, {given[0], given[1], {devices_of(before, after), libraries_}});
    if (result.failure) failure_ = result.failure->message;
    waiting_ = !result.complete && !result.failure;
    if (result) shown_ = result.value;
  }
  progress_line(with, !waiting_, std::max(0.1F, progress_));
  if (!failure_.empty()) {
    empty_state(with, icon::warning, "These cannot be compared", failure_);
    return false;
  }
  if (shown_ == nullptr || sides_[0] == nullptr || sides_[1] == nullptr) {
    ImGui::TextDisabled("Comparing...");
    return false;
  }
  choose_memory();
  return true;
}

/// Finds the memory that the user selected. By default, chooses the innermost layer with at least a quarter of the
/// largest peak.
void compare_view::choose_memory() {
  const auto peak = [](const metrics::memory_difference& of) { return std::max(of.before.maximum, of.after.maximum); };
  std::uint64_t most = 0;
  for (const metrics::memory_difference& each : shown_->memory) most = std::max(most, peak(each));
  memory_ = shown_->memory.size();
  for (std::size_t i = shown_->memory.size(); i-- > 0;)
    if (peak(shown_->memory[i]) >= most / 4) memory_ = i;
  for (std::size_t i = 0; i < shown_->memory.size(); ++i)
    if (shown_->memory[i].label == memory_label_) memory_ = i;
}

void compare_view::draw_memory_combo(const view_context& with) {
  if (memory_ >= shown_->memory.size() || shown_->memory.size() < 2) return;
  next_control(with.px(190));
  ImGui::SetNextItemWidth(with.px(190));
  if (!ImGui::BeginCombo("##memory", label_of(shown_->memory[memory_].label).c_str())) return;
  for (std::size_t i = 0; i < shown_->memory.size(); ++i) {
    const metrics::memory_difference& each = shown_->memory[i];
    ImGui::PushID(static_cast<int>(i));
    if (ImGui::Selectable(label_of(each.label).c_str(), i == memory_)) {
      memory_label_ = each.label;
      memory_ = i;
    }
    ImGui::PopID();
  }
  ImGui::EndCombo();
}

void compare_view::draw_curves(view_context& with, const side& before, const side& after, ImVec2 size) {
  const metrics::memory_difference& memory = shown_->memory[memory_];
  std::array<aligned_side, 2> sides;
  for (std::size_t i = 0; i < 2; ++i) {
    const side& of = i == 0 ? before : after;
    // Of a whole recording, show only the active time, because a program may import libraries for seconds first.
    const time_range active = sides_[i]->statistics.active;
    const time_range drawn = of.range == of.of->span && active.length() > 0 ? active : of.range;
    sides[i] = {
        of.of->engine.get(), drawn, drawn.begin, sides_[i].get(), i == 0 ? &memory.before : &memory.after, of.label,
        of.process};
  }
  curves_.draw(with, sides, align_, size);
}

void compare_view::draw_result(view_context& with, const side& before, const side& after) {
  const ImVec2 room = ImGui::GetContentRegionAvail();
  const bool beside = room.x >= with.px(comparison_beside);
  const bool above = !beside && room.y > with.px(min_curves) * 3;
  const bool any = memory_ < shown_->memory.size();
  if (any && beside) {
    draw_curves(with, before, after, {room.x * 0.5F, room.y});
    ImGui::SameLine(0, with.px(16));
  } else if (any && above) {
    draw_curves(with, before, after, {room.x, room.y * 0.4F});
  }
  if (ImGui::BeginChild("tables") && ImGui::BeginTabBar("what")) {
    const auto begin_tab = [this](const char* title) {
      return ImGui::BeginTabItem(title, nullptr, tab_ == title ? ImGuiTabItemFlags_SetSelected : 0);
    };
    if (begin_tab("What grew")) {
      draw_grown(with, before, after);
      ImGui::EndTabItem();
    }
    if (begin_tab("Metrics")) {
      draw_metrics(with);
      ImGui::EndTabItem();
    }
    if (any && begin_tab("Flame graph")) {
      flames_.draw(with, shown_->memory[memory_].flames, shown_);
      ImGui::EndTabItem();
    }
    // In a small panel, the curves have their own tab.
    if (any && !beside && !above && begin_tab("Curves")) {
      draw_curves(with, before, after, ImGui::GetContentRegionAvail());
      ImGui::EndTabItem();
    }
    tab_.clear();
    ImGui::EndTabBar();
  }
  ImGui::EndChild();
}

std::unique_ptr<view> make_compare_view() { return std::make_unique<compare_view>(); }

}  // namespace sluice::gui
