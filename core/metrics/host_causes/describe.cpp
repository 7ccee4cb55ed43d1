#include "core/metrics/host_causes/describe.hpp"

#include "core/symbols/frames.hpp"

namespace sluice::metrics {

std::string describe_reason(const host_cause& cause) {
  std::string text(get_words(cause.reason));
  if (!cause.library.empty()) text += " (" + cause.library + ")";
  return text;
}

std::string describe_line(const host_cause& cause, const trace::tables& tables) {
  if (cause.line == 0) return {};
  const trace::frame_row* row = tables.frames.find(trace::frame_id{cause.line});
  if (row == nullptr) return {};
  symbols::frame_line line;
  line.kind = row->kind;
  line.function = tables.text(row->function);
  line.file = tables.text(row->file);
  line.line = row->line;
  line.module = tables.text(row->module);
  line.address = row->address;
  const std::string place = symbols::get_place(line);
  const std::string name = symbols::get_name(line);
  if (place.empty() || name.empty()) return place + name;
  return place + " (" + name + ")";
}

}  // namespace sluice::metrics
