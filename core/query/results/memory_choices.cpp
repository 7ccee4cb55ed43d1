#include "core/query/results/memory_choices.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/index/labels.hpp"
#include "core/query/results/device_first.hpp"
#include "core/query/results/result_functions.hpp"
#include "core/trace/model/names.hpp"

namespace sluice::query {
namespace {

using index::memory_key;

std::string make_label(const memory_key& key, const trace::tables& tables) {
  const trace::device_row* row = tables.devices.find(key.device);
  const bool numbered = key.device == trace::device_id::none || (row != nullptr && row->ordinal >= 0);
  return fmt::format("{}, {}",
                     numbered ? index::short_label(key.device, tables) : index::device_label(key.device, tables),
                     describe_memory(key.layer, key.kind));
}

}  // namespace

memory_choice make_choice(const metrics::listed_memory& listed, const trace::tables& tables) {
  const memory_key& key = listed.memory;
  return {key.layer, key.device, key.kind, listed.peak, make_label(key, tables), listed.has_stacks};
}

std::vector<memory_choice> list_choices(const sources& source) {
  std::vector<memory_choice> choices;
  for (const auto& listed : metrics::list_memories(source.index.memory(), index::recorded_range(source.trace)))
    choices.push_back(make_choice(listed, source.trace.tables()));
  return choices;
}

std::optional<std::size_t> choose(const std::vector<memory_choice>& choices, const memory_wanted& wanted) {
  std::vector<std::size_t> wanted_ones;
  for (std::size_t i = 0; i < choices.size(); ++i)
    if ((!wanted.layer || choices[i].layer == *wanted.layer) &&
        (!wanted.device || choices[i].device == *wanted.device) && (!wanted.kind || choices[i].kind == *wanted.kind))
      wanted_ones.push_back(i);
  const bool of_devices = std::any_of(wanted_ones.begin(), wanted_ones.end(), [&](std::size_t i) {
    return goes_first(choices[i].kind, choices[i].peak, choices.front().peak);
  });
  std::optional<std::size_t> largest, best;
  for (const std::size_t i : wanted_ones) {
    const memory_choice& each = choices[i];
    if (of_devices && !index::is_device_resident(each.kind)) continue;
    if (!best) {
      largest = best = i;
      continue;
    }
    const memory_choice& other = choices[*best];
    if (each.peak < choices[*largest].peak / 4) continue;
    if (std::pair(each.has_stacks, each.layer) > std::pair(other.has_stacks, other.layer)) best = i;
  }
  return best;
}

}  // namespace sluice::query
