#include "core/metrics/idle/sample_verdicts.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "core/base/saturating.hpp"

namespace sluice::metrics {

const sample_verdicts::known_line& sample_verdicts::know_line(symbols::line_id id) {
  const auto [place, fresh] = known_.try_emplace(id, nullptr);
  if (fresh) {
    known_line& line = lines_.emplace_back();
    line.text = names_.book.line(id);
    line.frame = know({line.text.kind, line.text.function, line.text.module, line.text.file, line.text.line});
    place->second = &line;
  }
  return *place->second;
}

const sample_verdicts::verdict& sample_verdicts::judge_work(const host_work& work) {
  const auto [place, fresh] = verdicts_.try_emplace(work);
  if (!fresh) return place->second;
  std::vector<symbols::line_id> ids;
  trace::stack_id at = work.stack;
  // A stack in a damaged file may be a ring, so the depth is limited.
  for (std::size_t depth = 0; at != trace::stack_id::none && depth < symbols::frame_cache::deepest; ++depth) {
    const trace::stack_row* row = tables_.stacks.find(at);
    if (row == nullptr) break;
    const auto [lines, unknown] = frames_.try_emplace(raw(row->frame));
    if (unknown) {
      auto found = names_.book.get_lines(row->frame, tables_, names_.lookup);
      if (names_.provisional != nullptr) *names_.provisional |= found.provisional;
      lines->second = std::move(found.ids);
    }
    ids.insert(ids.end(), lines->second.begin(), lines->second.end());
    at = row->parent;
  }
  std::vector<known_frame> frames;
  frames.reserve(ids.size());
  for (const symbols::line_id id : ids) frames.push_back(know_line(id).frame);
  const host_verdict found = classify(std::span<const known_frame>(frames), work.state, work.system_call);
  place->second.reason = found.reason;
  place->second.library = found.library;
  if (found.user_frame < ids.size()) place->second.line = ids[found.user_frame];
  return place->second;
}

sampled_verdict sample_verdicts::judge(std::span<const host_share> shares) {
  struct candidate {
    time_ns time = 0;
    std::map<std::optional<symbols::line_id>, time_ns> lines;
    std::map<trace::stack_id, time_ns> stacks;
  };
  std::map<std::pair<host_reason, std::string_view>, candidate> candidates;
  sampled_verdict result;
  for (const host_share& each : shares) {
    const verdict& by = judge_work(each.work);
    candidate& to = candidates[{by.reason, by.library}];
    saturating_add(to.time, each.time);
    saturating_add(to.lines[by.line], each.time);
    saturating_add(to.stacks[each.work.stack], each.time);
    saturating_add(result.sampled, each.time);
  }
  const auto by_time = [](const auto& a, const auto& b) { return a.second < b.second; };
  for (const auto& [key, each] : candidates) {
    if (each.time <= result.time) continue;
    result.reason = key.first;
    result.library = key.second;
    result.time = each.time;
    result.line = std::max_element(each.lines.begin(), each.lines.end(), by_time)->first;
    result.stack = std::max_element(each.stacks.begin(), each.stacks.end(), by_time)->first;
  }
  return result;
}

}  // namespace sluice::metrics
