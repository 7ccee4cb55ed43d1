#include "core/query/types/generations.hpp"

#include <algorithm>
#include <unordered_map>

#include "core/query/results/memory_choices.hpp"
#include "core/query/results/result_functions.hpp"

namespace sluice::query {
namespace {

using index::block_record;

/// The blocks of one generation, grouped by the line that allocated them.
struct gathered {
  struct sums {
    std::uint64_t bytes = 0;
    std::uint64_t blocks = 0;
    trace::block_id largest{};
    std::uint64_t largest_bytes = 0;
  };
  std::unordered_map<symbols::line_id, sums> lines;
};

constexpr std::string_view without_stack = "no stack recorded";

void put_groups(gathered&& subject, symbols::frame_cache& names, generation& into) {
  std::vector<std::pair<symbols::line_id, gathered::sums>> order(subject.lines.begin(), subject.lines.end());
  std::sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
    return a.second.bytes != b.second.bytes ? a.second.bytes > b.second.bytes : a.first < b.first;
  });
  for (const auto& [line, sums] : order) {
    if (into.groups.size() == generation::group_limit) {
      into.other_bytes += sums.bytes;
      continue;
    }
    const symbols::frame_line about = names.line(line);
    into.groups.push_back({symbols::get_name(about), symbols::get_place(about), sums.bytes, sums.blocks, sums.largest,
                           sums.largest_bytes});
  }
}

}  // namespace

result<generation_list> result_to(const generations_query& query, const sources& source) {
  generation_list list;
  list.at = bounded(query.at);
  list.choices = list_choices(source);
  list.choice = choose(list.choices, {query.layer, query.device, query.kind});
  std::vector<time_ns> marks;
  for (const time_ns each : query.marks)
    if (bounded(each) <= list.at) marks.push_back(bounded(each));
  std::sort(marks.begin(), marks.end());
  time_ns begin = all_time.begin;
  for (const time_ns each : marks) {
    list.generations.push_back({begin, each, 0, 0, {}, 0});
    begin = each;
  }
  list.generations.push_back({begin, latest_time, 0, 0, {}, 0});
  if (!list.choice) return list;
  const memory_choice& chosen = list.choices[*list.choice];
  const metrics::block_filter filter{chosen.layer, chosen.device, chosen.kind};
  symbols::attributor who(source.frames, source.trace.tables(), source.lookup, &source.provisional);
  const symbols::line_id nobody = source.frames.remark(without_stack);
  std::vector<gathered> gathereds(list.generations.size());
  std::size_t seen = 0;
  for (const block_record& block : source.index.memory().blocks()) {
    if ((++seen & 0xfffU) == 0 && source.cancelled) return fail(error_code::cancelled, "the query was cancelled");
    if (!filter.takes(block) || !block.live_at(list.at)) continue;
    const auto number =
        static_cast<std::size_t>(std::upper_bound(marks.begin(), marks.end(), block.born) - marks.begin());
    generation& subject = list.generations[number];
    subject.bytes += block.bytes;
    ++subject.blocks;
    const symbols::line_id line = block.stack == trace::stack_id::none ? nobody : who.of(block.stack, query.by);
    gathered::sums& sums = gathereds[number].lines[line];
    sums.bytes += block.bytes;
    ++sums.blocks;
    if (sums.largest != trace::block_id::none && block.bytes <= sums.largest_bytes) continue;
    sums.largest = block.id;
    sums.largest_bytes = block.bytes;
  }
  for (std::size_t i = 0; i < gathereds.size(); ++i)
    put_groups(std::move(gathereds[i]), source.frames, list.generations[i]);
  return list;
}

}  // namespace sluice::query
