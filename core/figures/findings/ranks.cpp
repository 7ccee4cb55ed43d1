#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/base/format.hpp"
#include "core/figures/findings/finder.hpp"
#include "core/figures/findings/thresholds.hpp"

namespace sluice::analysis {
namespace {

std::uint64_t median_of(std::vector<std::uint64_t> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// The line with which `more` holds most bytes beyond what the median of the others holds there.
std::pair<code_place, std::uint64_t> excess(const rank_peak& more, const std::vector<rank_peak>& all,
                                            code_places& places) {
  const auto held_at = [&](const rank_peak& peak) {
    std::map<std::string, std::pair<std::uint64_t, trace::stack_id>> lines;
    for (const held_by_stack& each : peak.held) {
      auto& line = lines[text_of(places.of(each.stack))];
      line.first += each.bytes;
      line.second = each.stack;
    }
    return lines;
  };
  std::vector<decltype(held_at(more))> others;
  for (const rank_peak& each : all)
    if (each.process != more.process) others.push_back(held_at(each));
  std::pair<trace::stack_id, std::uint64_t> most{};
  for (const auto& [line, held] : held_at(more)) {
    std::vector<std::uint64_t> elsewhere;
    for (const auto& other : others) {
      const auto found = other.find(line);
      elsewhere.push_back(found == other.end() ? 0 : found->second.first);
    }
    const std::uint64_t usual = median_of(elsewhere);
    if (held.first > usual && held.first - usual > most.second) most = {held.second, held.first - usual};
  }
  return {places.of(most.first), most.second};
}

}  // namespace

void find_rank_imbalance(finder& in) {
  const std::vector<rank_peak>& ranks = in.of.waste.ranks;
  if (ranks.size() < 2) return;
  const auto most =
      std::max_element(ranks.begin(), ranks.end(), [](const auto& a, const auto& b) { return a.bytes < b.bytes; });
  std::vector<std::uint64_t> others;
  for (const rank_peak& each : ranks)
    if (each.process != most->process) others.push_back(each.bytes);
  const std::uint64_t usual = median_of(others);
  const double share =
      static_cast<double>(most->bytes - usual) / static_cast<double>(std::max<std::uint64_t>(most->bytes, 1));
  if (share < imbalanced || static_cast<double>(most->bytes - usual) < mebi) return;
  const auto [place, bytes] = excess(*most, ranks, in.places);
  std::string text = fmt::format("Rank {} needs {} at its peak, {} more than the other ranks ({}).", most->rank,
                                 format_bytes(most->bytes), format_bytes(most->bytes - usual), format_bytes(usual));
  if (bytes > 0) text += fmt::format(" {} more{}.", format_bytes(bytes), from_place(place));
  finding& f =
      in.add(finding_kind::rank_imbalance, std::move(text),
             "Give all ranks the same share: of the model, of the batch, of the sequence; keep what only one rank "
             "needs (logs, evaluation) off its GPU.");
  f.saves = {.peak_bytes = most->bytes - usual, .basis = saving_basis::measured, .share = share};
  f.range = {most->time, most->time + 1};
  f.where = place;
}

}  // namespace sluice::analysis
