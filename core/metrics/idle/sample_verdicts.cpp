#include "core/metrics/idle/sample_verdicts.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "core/base/saturating.hpp"

namespace sluice::metrics {

std::optional<symbols::line_id> sample_verdicts::find_line(const host_cause& cause) {
  if (cause.line == 0) return std::nullopt;
  const auto lines = names_.book.get_lines(trace::frame_id{cause.line}, tables_, names_.lookup);
  if (names_.provisional != nullptr) *names_.provisional |= lines.provisional;
  return lines.ids.empty() ? std::nullopt : std::optional(lines.ids.front());
}

sampled_verdict sample_verdicts::judge(std::span<const host_share> shares) {
  struct candidate {
    time_ns time = 0;
    std::map<std::uint64_t, std::pair<time_ns, const host_cause*>> lines;  ///< By `host_cause::line`.
    std::map<trace::stack_id, time_ns> stacks;
  };
  std::map<std::pair<host_reason, std::string_view>, candidate> candidates;
  sampled_verdict result;
  for (const host_share& each : shares) {
    const host_work& work = each.work;
    const host_cause& by = reasons_.find({0, 0, work.state, work.stack, work.system_call}, tables_);
    candidate& to = candidates[{by.reason, by.library}];
    saturating_add(to.time, each.time);
    auto& [time, cause] = to.lines[by.line];
    saturating_add(time, each.time);
    cause = &by;
    saturating_add(to.stacks[work.stack], each.time);
    saturating_add(result.sampled, each.time);
  }
  const auto by_time = [](const auto& a, const auto& b) { return a.second < b.second; };
  for (const auto& [key, each] : candidates) {
    if (each.time <= result.time) continue;
    result.reason = key.first;
    result.library = key.second;
    result.time = each.time;
    result.line = find_line(*std::max_element(each.lines.begin(), each.lines.end(), by_time)->second.second);
    result.stack = std::max_element(each.stacks.begin(), each.stacks.end(), by_time)->first;
  }
  return result;
}

}  // namespace sluice::metrics
