#include "app/gui/views/parts/process_choice.hpp"

#include "app/gui/views/parts/widgets.hpp"
#include "core/base/printable.hpp"
#include "core/index/labels.hpp"

namespace sluice::gui {

bool has_several_processes(const view_context& with) {
  return with.state.active()->engine->snapshot()->tables().processes.rows().size() > 1;
}

std::string process_words(const trace::snapshot& recording, trace::process_id process) {
  const trace::process_row* row = recording.tables().processes.find(process);
  if (row != nullptr && row->rank >= 0) return "Rank " + std::to_string(row->rank);
  return printable(index::process_label(process, recording.tables()));
}

std::string process_words(const view_context& with, trace::process_id process) {
  return process_words(*with.state.active()->engine->snapshot(), process);
}

std::string device_words(const trace::snapshot& recording, trace::device_id device) {
  return printable(index::short_label(device, recording.tables()));
}

std::string device_words(const view_context& with, trace::device_id device) {
  return device_words(*with.state.active()->engine->snapshot(), device);
}

void process_combo(const view_context& with, const char* id, trace::process_id& chosen) {
  const auto snapshot = with.state.active()->engine->snapshot();
  const bool complete = chosen == trace::process_id::none;
  if (!ImGui::BeginCombo(id, complete ? "all processes" : make_label(process_words(*snapshot, chosen)).c_str())) return;
  if (ImGui::Selectable("all processes", complete)) chosen = trace::process_id::none;
  for (const trace::process_row& each : snapshot->tables().processes.rows()) {
    ImGui::PushID(static_cast<int>(trace::raw(each.id)));
    if (ImGui::Selectable(make_label(process_words(*snapshot, each.id)).c_str(), chosen == each.id)) chosen = each.id;
    ImGui::PopID();
  }
  ImGui::EndCombo();
}

}  // namespace sluice::gui
