#include "app/cli/output/json_values.hpp"

namespace sluice::cli {

nlohmann::ordered_json place_or_null(const metrics::code_place& place) {
  if (!place.known) return nullptr;
  const bool called = place.caller != place.line;
  return {{"function", text_or_null(symbols::get_name(place.line))},
          {"file", text_or_null(place.line.file)},
          {"line", count_or_null(place.line.line)},
          {"caller", called ? text_or_null(symbols::get_place(place.caller)) : nlohmann::ordered_json(nullptr)},
          {"module", text_or_null(place.module)}};
}

}  // namespace sluice::cli
