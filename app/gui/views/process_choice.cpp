#include "app/gui/views/process_choice.hpp"

#include "app/gui/views/widgets.hpp"
#include "core/base/printable.hpp"
#include "core/index/labels.hpp"

namespace sluice::gui {

bool has_several_processes(const view_context& with) {
  return with.state.active()->engine->snapshot()->tables().processes.rows().size() > 1;
}

std::string process_words(const trace::snapshot& of, trace::process_id process) {
  const trace::process_row* row = of.tables().processes.find(process);
  if (row != nullptr && row->rank >= 0) return "Rank " + std::to_string(row->rank);
  return printable(index::process_label(process, of.tables()));
}

std::string process_words(const view_context& with, trace::process_id process) {
  return process_words(*with.state.active()->engine->snapshot(), process);
}

std::string device_words(const trace::snapshot& of, trace::device_id device) {
  return printable(index::short_label(device, of.tables()));
}

std::string device_words(const view_context& with, trace::device_id device) {
  return device_words(*with.state.active()->engine->snapshot(), device);
}

void process_combo(const view_context& with, const char* id, trace::process_id& chosen) {
  const auto snapshot = with.state.active()->engine->snapshot();
  const bool all = chosen == trace::process_id::none;
  if (!ImGui::BeginCombo(id, all ? "all processes" : label_of(process_words(*snapshot, chosen)).c_str())) return;
  if (ImGui::Selectable("all processes", all)) chosen = trace::process_id::none;
  for (const trace::process_row& each : snapshot->tables().processes.rows()) {
    ImGui::PushID(static_cast<int>(trace::raw(each.id)));
    if (ImGui::Selectable(label_of(process_words(*snapshot, each.id)).c_str(), chosen == each.id)) chosen = each.id;
    ImGui::PopID();
  }
  ImGui::EndCombo();
}

}  // namespace sluice::gui
