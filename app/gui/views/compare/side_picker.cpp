#include "app/gui/views/compare/side_picker.hpp"

#include <algorithm>
#include <utility>

#include "app/gui/views/parts/process_choice.hpp"
#include "app/gui/views/parts/widgets.hpp"
#include "app/gui/window/format.hpp"
#include "core/base/printable.hpp"

namespace sluice::gui {
namespace {

/// The processes that can be compared: those with a rank, sorted by rank. If no process has a rank, all processes.
std::vector<trace::process_id> compared_processes(const trace::snapshot& snapshot) {
  std::vector<std::pair<std::int64_t, trace::process_id>> ranked;
  std::vector<trace::process_id> processes;
  for (const trace::process_row& each : snapshot.tables().processes.rows()) {
    processes.push_back(each.id);
    if (each.rank >= 0) ranked.emplace_back(each.rank, each.id);
  }
  if (ranked.empty()) return processes;
  std::sort(ranked.begin(), ranked.end());
  processes.clear();
  for (const auto& [rank, process] : ranked) processes.push_back(process);
  return processes;
}

side_choice choose_whole(document_id document) { return {.kind = side_kind::whole, .document = document}; }

side_choice choose_device(document_id document, trace::device_id device) {
  return {.kind = side_kind::device, .document = document, .device = device};
}

side_choice choose_process(document_id document, trace::process_id process) {
  return {.kind = side_kind::process, .document = document, .process = process};
}

side_choice choose_step(document_id document, const index::step& step) {
  return {.kind = side_kind::step, .document = document, .range = step.span, .number = step.number};
}

/// Lists the ranks of a recording, including ranks that share a GPU.
void draw_process_choices(const document& recording, side_choice& choice) {
  const auto snapshot = recording.engine->snapshot();
  const auto processes = compared_processes(*snapshot);
  if (processes.size() < 2) return;
  for (const trace::process_id each : processes) {
    const side_choice offered = choose_process(recording.id, each);
    ImGui::PushID(static_cast<int>(trace::raw(each)));
    if (ImGui::Selectable(make_label("    " + process_words(*snapshot, each)).c_str(), choice == offered))
      choice = offered;
    ImGui::PopID();
  }
}

}  // namespace

bool same_side(const open_side& one, const open_side& other) {
  return one.recording == other.recording && one.range == other.range && one.device == other.device &&
         one.process == other.process;
}

metrics::device_match match_devices(const open_side& before, const open_side& after) {
  const auto is_whole = [](const open_side& side) { return !side.device && side.process == trace::process_id::none; };
  const bool ranges = before.recording == after.recording && is_whole(before) && is_whole(after);
  return ranges ? metrics::device_match::by_ordinal : metrics::device_match::by_role;
}

const document* find_document(const documents& state, document_id id) {
  for (const auto& each : state.all())
    if (each->id == id) return each.get();
  return nullptr;
}

// --- commands -------------------------------------------------------------------------------------------------------

void side_picker::add_commands(const command_home& home) {
  static constexpr command_row<acts_on<side_picker>> rows[] = {
      {.id = "compare.with_range",
       .title = "Compare with this range",
       .group = "Compare",
       .run =
           [](auto& at, auto&) {
             at.self.kept_ = {at.state.active()->id, *at.state.range()};
             at.self.before_ = {.kind = side_kind::kept_range};
             at.self.after_ = {.kind = side_kind::selected_range};
             at.commands.invoke("compare.open");
           },
       .enabled = [](auto& at) { return at.state.ready() && at.state.range().has_value(); }},
      {.id = "compare.devices",
       .title = "Compare two GPUs of this recording",
       .group = "Compare",
       .run =
           [](auto& at, auto&) {
             const document& active = *at.state.active();
             const auto& devices = active.engine->snapshot()->tables().devices.rows();
             at.self.before_ = choose_device(active.id, devices[0].id);
             at.self.after_ = choose_device(active.id, devices[1].id);
             at.commands.invoke("compare.open");
           },
       .enabled =
           [](auto& at) {
             return at.state.ready() && at.state.active()->engine->snapshot()->tables().devices.rows().size() > 1;
           }},
      {.id = "compare.ranks",
       .title = "Compare two ranks of this recording",
       .group = "Compare",
       .run =
           [](auto& at, auto&) {
             const document& active = *at.state.active();
             const auto processes = compared_processes(*active.engine->snapshot());
             at.self.before_ = choose_process(active.id, processes[0]);
             at.self.after_ = choose_process(active.id, processes[1]);
             at.commands.invoke("compare.open");
           },
       .enabled =
           [](auto& at) {
             return at.state.ready() && compared_processes(*at.state.active()->engine->snapshot()).size() > 1;
           }},
      {.id = "compare.steps",
       .title = "Compare two steps of this recording",
       .group = "Compare",
       .run =
           [](auto& at, auto&) {
             at.self.steps_wanted_ = at.state.active()->id;
             at.commands.invoke("compare.open");
           },
       .enabled = when_ready}};
  home.commands.add(rows, acts_on<side_picker>{home, *this});
}

// --- choices --------------------------------------------------------------------------------------------------------

std::optional<open_side> side_picker::resolve(const view_context& with, const side_choice& choice) const {
  const auto ranged = [](const document& recording, time_range range) {
    return open_side{&recording, range, std::nullopt,
                     recording.title + ", " + format_moment(range.begin) + " to " + format_moment(range.end)};
  };
  if (choice.kind == side_kind::selected_range) {
    const document* active = with.state.active();
    if (active == nullptr || !active->ready() || !with.state.range()) return std::nullopt;
    return ranged(*active, *with.state.range());
  }
  if (choice.kind == side_kind::kept_range) {
    const document* kept = kept_ ? find_document(with.state, kept_->document) : nullptr;
    if (kept == nullptr || !kept->ready()) return std::nullopt;
    return ranged(*kept, kept_->range);
  }
  const document* found = find_document(with.state, choice.document);
  if (choice.kind == side_kind::none || found == nullptr || !found->ready()) return std::nullopt;
  open_side side{found, found->span, std::nullopt, found->title};
  if (choice.kind == side_kind::process) {
    side.process = choice.process;
    side.label += ", " + process_words(*found->engine->snapshot(), choice.process);
  } else if (choice.kind == side_kind::step) {
    side.range = choice.range;
    side.label += ", step " + std::to_string(choice.number);
  } else if (choice.kind == side_kind::device) {
    side.device = choice.device;
    side.label += ", " + device_words(*found->engine->snapshot(), choice.device);
  }
  return side;
}

void side_picker::choose_defaults(const view_context& with) {
  const auto gone = [&](const side_choice& choice) {
    const bool names = choice.kind == side_kind::whole || choice.kind == side_kind::device ||
                       choice.kind == side_kind::process || choice.kind == side_kind::step;
    return choice.kind == side_kind::none || (names && find_document(with.state, choice.document) == nullptr);
  };
  if (gone(after_)) after_ = choose_whole(with.state.active()->id);
  if (!gone(before_)) return;
  before_ = {};
  for (const auto& each : with.state.all())
    if (each->id != after_.document && each->ready()) before_ = choose_whole(each->id);
}

void side_picker::follow(const view_context& with) {
  if (waits_for_steps()) follow_steps(with);
}

/// Once the steps are known, compares the second step with the last. The second, because the first step often differs
/// from all others.
void side_picker::follow_steps(const view_context& with) {
  const document* active = with.state.active();
  if (active == nullptr || !active->ready() || active->id != steps_wanted_) {
    steps_wanted_ = document_id::none;
    return;
  }
  const std::vector<index::step>* steps = find_steps(*active);
  if (steps == nullptr) return;
  steps_wanted_ = document_id::none;
  if (steps->size() < 2) return;
  before_ = choose_step(active->id, (*steps)[steps->size() > 2 ? 1 : 0]);
  after_ = choose_step(active->id, steps->back());
}

const std::vector<index::step>* side_picker::find_steps(const document& recording) {
  const auto result = steps_query_.ask(*recording.engine, {recording.span, std::nullopt});
  return result.complete ? &result->steps : nullptr;
}

// --- the lists ------------------------------------------------------------------------------------------------------

void side_picker::draw_combo(const view_context& with, const char* id, side_choice& choice) {
  const auto now = resolve(with, choice);
  if (!ImGui::BeginCombo(id, now ? make_label(now->label).c_str() : "choose...", ImGuiComboFlags_HeightLarge)) return;
  for (const auto& each : with.state.all()) {
    if (!each->ready()) continue;
    ImGui::PushID(static_cast<int>(each->id));
    draw_choices(with, *each, choice);
    ImGui::PopID();
  }
  if (with.state.range() && ImGui::Selectable("the selected range", choice.kind == side_kind::selected_range))
    choice = {.kind = side_kind::selected_range};
  if (const auto kept = resolve(with, {.kind = side_kind::kept_range}))
    if (ImGui::Selectable((make_label(kept->label) + "##kept").c_str(), choice.kind == side_kind::kept_range))
      choice = {.kind = side_kind::kept_range};
  ImGui::Separator();
  if (ImGui::Selectable("Open another recording...")) with.commands.invoke("compare.with");
  ImGui::EndCombo();
}

/// Lists what can be compared of one recording: the whole, a step, the ranks, and the devices.
void side_picker::draw_choices(const view_context& with, const document& recording, side_choice& choice) {
  const auto offer = [&](const std::string& label, const side_choice& offered) {
    if (ImGui::Selectable(make_label(label).c_str(), choice == offered)) choice = offered;
  };
  offer(recording.title, choose_whole(recording.id));
  const bool active = &recording == with.state.active();
  if (active) draw_step_choice(with, recording, choice);
  draw_process_choices(recording, choice);
  const auto snapshot = recording.engine->snapshot();
  if (snapshot->tables().devices.rows().size() < 2) return;
  const auto report = active ? ranks_query_.ask(*recording.engine, {}) : query::query_result<metrics::report>{};
  for (const trace::device_row& device : snapshot->tables().devices.rows()) {
    std::string label = "    " + device_words(*snapshot, device.id);
    if (report)
      for (const auto& rank : report->waste.ranks)
        if (rank.device == device.id) label += ", rank " + std::to_string(rank.rank);
    ImGui::PushID(static_cast<int>(trace::raw(device.id)));
    offer(label, choose_device(recording.id, device.id));
    ImGui::PopID();
  }
}

/// Draws the choice of a step of the active document, by its number or at the chosen moment.
void side_picker::draw_step_choice(const view_context& with, const document& recording, side_choice& choice) {
  const std::vector<index::step>* steps = find_steps(recording);
  if (steps == nullptr || steps->empty()) return;
  ImGui::AlignTextToFramePadding();
  ImGui::TextDisabled("    step");
  ImGui::SameLine();
  ImGui::SetNextItemWidth(with.px(90));
  if (ImGui::IsWindowAppearing()) typed_step_ = choice.kind == side_kind::step ? choice.number : 0;
  if (ImGui::InputScalar("##step", ImGuiDataType_S64, &typed_step_)) {
    const auto found =
        std::find_if(steps->begin(), steps->end(), [&](const index::step& each) { return each.number == typed_step_; });
    if (found != steps->end()) choice = choose_step(recording.id, *found);
  }
  ImGui::SameLine();
  ImGui::TextDisabled("%s",
                      (std::to_string(steps->front().number) + " to " + std::to_string(steps->back().number)).c_str());
  const auto& moment = with.state.moment();
  if (!moment) return;
  const auto at =
      std::find_if(steps->begin(), steps->end(), [&](const index::step& each) { return each.span.holds(*moment); });
  if (at == steps->end()) return;
  const std::string label = "    step " + std::to_string(at->number) + ", at the chosen moment";
  if (ImGui::Selectable(label.c_str(), choice.kind == side_kind::step && choice.range == at->span))
    choice = choose_step(recording.id, *at);
}

}  // namespace sluice::gui
