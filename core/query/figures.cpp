#include <fmt/format.h>

#include <algorithm>

#include "core/format.hpp"
#include "core/query/answering.hpp"

namespace sluice::query {

result<analysis::range_statistics> answer_to(const statistics_question& question, const sources& from) {
  return analysis::measure(from.index, from.trace.tables(), question.range);
}

result<analysis::summary> answer_to(const summary_question&, const sources& from) {
  return analysis::summarise(from.index, from.trace, std::nullopt, {from.frames, from.patience, &from.provisional});
}

result<std::vector<message>> answer_to(const messages_question&, const sources& from) {
  using trace::severity;
  std::vector<message> all;
  const time_ns begin = analysis::whole_of(from.trace).begin;
  for (const std::string& warning : from.trace.warnings()) all.push_back({severity::warning, warning, begin});
  for (const std::string& warning : from.index.warnings()) all.push_back({severity::warning, warning, begin});
  const std::size_t of_file = all.size();
  for (const analysis::index::message& m : from.index.messages()) {
    all.push_back({m.level, std::string(from.trace.tables().text(m.text)), m.time});
  }
  for (const trace::loss_event& loss : from.index.memory().losses()) {
    std::string text = fmt::format("the recorder lost {}", format_some(loss.events, "event"));
    if (loss.memory_events > 0) {
      text += fmt::format(", {} of them allocations and frees: memory figures are not exact after this",
                          format_count(loss.memory_events));
    }
    all.push_back({severity::warning, std::move(text), analysis::bounded(loss.time)});
  }
  std::stable_sort(all.begin() + static_cast<std::ptrdiff_t>(of_file), all.end(),
                   [](const message& a, const message& b) { return a.time < b.time; });
  return all;
}

}  // namespace sluice::query
