#include "core/metrics/host_causes/describe.hpp"

namespace sluice::metrics {

std::string describe_reason(const host_cause& cause) {
  std::string text(get_words(cause.reason));
  if (!cause.library.empty()) text += " (" + cause.library + ")";
  return text;
}

std::optional<symbols::frame_line> find_line(const host_cause& cause, const trace::tables& tables) {
  const trace::frame_row* row = cause.line == 0 ? nullptr : tables.frames.find(trace::frame_id{cause.line});
  if (row == nullptr) return std::nullopt;
  symbols::frame_line line;
  line.kind = row->kind;
  line.function = tables.text(row->function);
  line.file = tables.text(row->file);
  line.line = row->line;
  line.module = tables.text(row->module);
  line.address = row->address;
  return line;
}

std::string describe_line(const symbols::frame_line& line) {
  if (line == symbols::frame_line{}) return {};
  const std::string place = symbols::get_place(line);
  const std::string name = symbols::get_name(line);
  if (place.empty() || name.empty()) return place + name;
  return place + " (" + name + ")";
}

std::string describe_line(const host_cause& cause, const trace::tables& tables) {
  const auto line = find_line(cause, tables);
  return line ? describe_line(*line) : std::string();
}

}  // namespace sluice::metrics
