#include "core/analysis/training.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <span>
#include <tuple>

#include "core/analysis/index.hpp"
#include "core/analysis/line_use.hpp"
#include "core/analysis/summary.hpp"
#include "core/analysis/tensors.hpp"

namespace sluice::analysis {
namespace {

std::uint64_t whole_bytes(double bytes) { return bytes > 0 ? static_cast<std::uint64_t>(std::llround(bytes)) : 0; }

memory_key key_of(const block_record& block) { return {block.device, block.level, block.kind}; }

/// Blocks of one layer and kind on one device, with their categories.
template <class Visit>
void for_each_of(const memory_key& key, const index& from, const tensor_facts& facts, Visit&& visit) {
  const std::span<const block_record> blocks = from.memory().blocks();
  for (std::size_t i = 0; i < blocks.size() && i < facts.categories.size(); ++i) {
    const block_record& block = blocks[i];
    if (block.allocated && !block.imported() && key_of(block) == key) visit(block, facts.categories[i]);
  }
}

}  // namespace

// --- the peak -------------------------------------------------------------------------------------------------------

std::uint64_t peak_composition::bytes_of(category what) const {
  for (const category_share& share : shares)
    if (share.what == what) return share.bytes;
  return 0;
}

bool peak_composition::inferred() const {
  return std::any_of(shares.begin(), shares.end(), [](const category_share& share) {
    return share.what != category::none && share.exact_bytes < share.bytes;
  });
}

std::vector<peak_composition> find_compositions(const index& from, const trace::snapshot& trace,
                                                const std::vector<memory_peak>& peaks) {
  const auto facts = from.tensors(trace);
  std::vector<peak_composition> all;
  for (const memory_peak& peak : peaks) {
    const memory_key key{peak.device, peak.level, peak.kind};
    if (!facts->use.contains(key)) continue;
    std::array<category_share, category_count> shares;
    std::uint64_t kept_gradients = 0;
    for_each_of(key, from, *facts, [&](const block_record& block, const block_category& is) {
      if (!block.live_at(peak.time)) return;
      category_share& share = shares[static_cast<std::size_t>(is.what)];
      ++share.blocks;
      share.bytes += block.bytes;
      if (is.exact()) share.exact_bytes += block.bytes;
      const step_list* steps = is.what == category::gradient ? facts->steps_of(block.process) : nullptr;
      const time_ns died = block.freed() ? block.died : whole_of(trace).end;
      if (steps != nullptr && steps->begun_between(block.born, died) >= 2) kept_gradients += block.bytes;
    });
    peak_composition made{peak.device, peak.level, peak.kind, peak.bytes, peak.time, kept_gradients, {}};
    for (std::size_t i = 0; i < category_count; ++i) {
      shares[i].what = static_cast<category>(i);
      if (shares[i].blocks > 0) made.shares.push_back(shares[i]);
    }
    std::stable_sort(made.shares.begin(), made.shares.end(),
                     [](const auto& a, const auto& b) { return a.bytes > b.bytes; });
    all.push_back(std::move(made));
  }
  return all;
}

// --- steps ----------------------------------------------------------------------------------------------------------

namespace {

/// The memory that steps are judged by: of the highest layer that the process has blocks in, what reached most.
std::optional<memory_key> key_for_steps(const index& from, trace::process_id process) {
  std::optional<memory_key> best;
  double highest = 0;
  std::map<memory_key, bool> of_process;
  for (const block_record& block : from.memory().blocks())
    if (block.allocated && block.process == process && is_device_resident(block.kind)) of_process[key_of(block)] = true;
  for (const trace::layer level :
       {trace::layer::framework, trace::layer::user, trace::layer::pool, trace::layer::driver}) {
    for (const auto& [key, any] : of_process) {
      const auto tree = from.memory().use().find(key);
      if (key.level != level || tree == from.memory().use().end()) continue;
      const auto over = tree->second.over(-latest_time, latest_time);
      if (over.empty() || over.maximum <= highest) continue;
      highest = over.maximum;
      best = key;
    }
    if (best) return best;
  }
  return best;
}

double moved(const index& from, trace::direction way, time_range span) {
  double bytes = 0;
  for (const auto& [key, work] : from.devices().directions())
    if (key.direction == way) bytes += work.rate.over(span.begin, span.end).integral / 1e9;
  return std::round(bytes);
}

void find_growth(step_summary& of, const std::vector<step_figures>& steps) {
  constexpr std::size_t first = 2;
  constexpr std::size_t least_steps = 6;
  if (steps.size() < least_steps) return;
  const auto low = [&](std::size_t i) { return static_cast<double>(steps[i].at_begin); };
  std::size_t higher = 0;
  bool never_below = true;
  for (std::size_t i = first + 1; i < steps.size(); ++i) {
    higher += low(i) > low(i - 1) ? 1 : 0;
    never_below = never_below && low(i) >= low(first);
  }
  const auto compared = static_cast<double>(steps.size() - first - 1);
  of.growth = (low(steps.size() - 1) - low(first)) / compared;
  of.keeps_growing = never_below && static_cast<double>(higher) >= 0.8 * compared;
}

void keep_some(step_summary& of, std::vector<step_figures>&& steps) {
  const auto highest =
      std::max_element(steps.begin(), steps.end(), [](const auto& a, const auto& b) { return a.peak < b.peak; });
  const step_figures kept = highest == steps.end() ? step_figures{} : *highest;
  if (steps.size() > step_summary::limit) {
    const auto half = static_cast<std::ptrdiff_t>(step_summary::limit / 2);
    std::vector<step_figures> some(steps.begin(), steps.begin() + half);
    const bool in_middle = highest - steps.begin() >= half && steps.end() - highest > half;
    if (in_middle) some.push_back(kept);
    some.insert(some.end(), steps.end() - half + (in_middle ? 1 : 0), steps.end());
    steps = std::move(some);
  }
  for (std::size_t i = 0; i < steps.size(); ++i)
    if (steps[i].span == kept.span) of.highest = i;
  of.steps = std::move(steps);
}

}  // namespace

std::vector<step_summary> find_step_figures(const index& from, const trace::snapshot& trace, time_range range) {
  std::vector<step_summary> all;
  const auto facts = from.tensors(trace);
  for (const auto& [process, list] : facts->steps->lists) {
    step_summary of;
    of.process = process;
    of.source = list.source;
    const std::optional<memory_key> key = key_for_steps(from, process);
    std::vector<step_figures> steps;
    for (const step& each : list.steps) {
      if (each.span.end <= range.begin || each.span.begin >= range.end || each.span.length() <= 0) continue;
      step_figures made;
      made.number = each.number;
      made.span = each.span;
      made.event = each.event;
      made.h2d_bytes = moved(from, trace::direction::h2d, each.span);
      made.d2h_bytes = moved(from, trace::direction::d2h, each.span);
      steps.push_back(made);
    }
    if (steps.empty()) continue;
    if (key) {
      of.device = key->device;
      of.level = key->level;
      of.kind = key->kind;
      const summaries::level_tree& tree = from.memory().use().at(*key);
      for (step_figures& each : steps) {
        const summaries::extent over = tree.over(each.span.begin, each.span.end);
        if (over.empty()) continue;
        each.peak = whole_bytes(over.maximum);
        each.peak_time = over.maximum_time;
        each.at_begin = whole_bytes(tree.at(each.span.begin));
        each.at_end = whole_bytes(tree.at(each.span.end - 1));
      }
      for_each_of(*key, from, *facts, [&](const block_record& block, const block_category&) {
        const auto after = std::upper_bound(steps.begin(), steps.end(), block.born,
                                            [](time_ns t, const step_figures& s) { return t < s.span.begin; });
        if (block.born_before() || after == steps.begin() || block.born >= (after - 1)->span.end) return;
        ++(after - 1)->allocations;
        (after - 1)->allocated_bytes += block.bytes;
      });
    }
    of.count = steps.size();
    std::vector<time_ns> lengths;
    for (const step_figures& each : steps) lengths.push_back(each.span.length());
    const auto middle = lengths.begin() + static_cast<std::ptrdiff_t>(lengths.size() / 2);
    std::nth_element(lengths.begin(), middle, lengths.end());
    of.median_duration = *middle;
    find_growth(of, steps);
    keep_some(of, std::move(steps));
    all.push_back(std::move(of));
  }
  return all;
}

// --- after the last use ---------------------------------------------------------------------------------------------

namespace {

/// How long a block that was never freed must have been idle at the end to be worth a word.
time_ns patience_of(const tensor_facts& facts, trace::process_id process, time_range span) {
  const step_list* list = facts.steps_of(process);
  if (list == nullptr || list->steps.size() < 3) return span.length() / 10;
  const std::size_t n = list->steps.size();
  return list->steps[n - 1].span.begin - list->steps[n - 3].span.begin;
}

}  // namespace

std::vector<unused_memory> find_unused(const index& from, const trace::snapshot& trace,
                                       const std::vector<memory_peak>& peaks, time_range range) {
  std::vector<unused_memory> all;
  if (from.touches().empty() || range.length() <= 0) return all;
  const auto facts = from.tensors(trace);
  std::map<trace::process_id, time_ns> patience;
  for (const memory_peak& peak : peaks) {
    const memory_key key{peak.device, peak.level, peak.kind};
    if (!facts->use.contains(key) || !is_device_resident(peak.kind)) continue;
    unused_memory of{peak.device, peak.level, peak.kind, peak.time, peak.bytes, 0, 0, {}, 0, 0, 0};
    std::map<std::tuple<trace::stack_id, trace::string_id, category>, std::size_t> places;
    for_each_of(key, from, *facts, [&](const block_record& block, const block_category& is) {
      if (!block.live_in(range)) return;
      const block_touches used = from.touches().of(block);
      if (!used.last.known()) {
        ++of.never_touched;
        of.never_touched_bytes += block.bytes;
        return;
      }
      const time_ns end = std::min(block.freed() ? block.died : range.end, range.end);
      const time_ns idle = end - std::max(used.last.time, range.begin);
      const auto [least, fresh] = patience.try_emplace(block.process, 0);
      if (fresh) least->second = patience_of(*facts, block.process, whole_of(trace));
      if (idle <= 0 || (!block.freed() && idle <= least->second)) return;
      const auto [place, first] = places.try_emplace({block.stack, block.name, is.what}, of.groups.size());
      unused_group& group = first ? of.groups.emplace_back() : of.groups[place->second];
      if (first) {
        group.stack = block.stack;
        group.name = block.name;
        group.what = is.what;
        group.exact = true;
      }
      group.exact = group.exact && is.exact();
      ++group.blocks;
      group.bytes += block.bytes;
      if (block.live_at(peak.time) && used.last.time < peak.time) group.bytes_at_peak += block.bytes;
      group.mean_bytes +=
          static_cast<double>(block.bytes) * static_cast<double>(idle) / static_cast<double>(range.length());
      if (idle > group.longest) {
        group.longest = idle;
        group.longest_block = block.id;
      }
    });
    if (!of.groups.empty() || of.never_touched > 0) all.push_back(std::move(of));
  }
  return all;
}

namespace {

void merge(unused_group& into, const unused_group& one) {
  if (into.blocks == 0) {
    into = one;
    return;
  }
  if (into.stack == trace::stack_id::none) into.stack = one.stack;
  into.exact = into.exact && one.exact;
  into.blocks += one.blocks;
  into.bytes += one.bytes;
  into.bytes_at_peak += one.bytes_at_peak;
  into.mean_bytes += one.mean_bytes;
  if (one.longest <= into.longest) return;
  into.longest = one.longest;
  into.longest_block = one.longest_block;
}

}  // namespace

std::vector<unused_memory> name_unused(const std::vector<unused_memory>& figures, const trace::tables& tables,
                                       const naming& names) {
  std::vector<unused_memory> all;
  line_namer lines(tables, names);
  const auto line_of = [&](trace::stack_id stack) {
    return stack == trace::stack_id::none ? names.book.remark("no stack recorded") : lines.line_of(stack);
  };
  for (const unused_memory& by_stack : figures) {
    std::map<std::tuple<symbols::line_id, trace::string_id, category>, unused_group> groups;
    for (const unused_group& one : by_stack.groups) merge(groups[{line_of(one.stack), one.name, one.what}], one);
    unused_memory of = by_stack;
    of.groups.clear();
    for (const auto& [origin, group] : groups) {
      of.bytes_at_peak += group.bytes_at_peak;
      of.mean_bytes += group.mean_bytes;
      of.groups.push_back(group);
    }
    std::stable_sort(of.groups.begin(), of.groups.end(), [](const auto& a, const auto& b) {
      return std::tuple(a.bytes_at_peak, a.mean_bytes) > std::tuple(b.bytes_at_peak, b.mean_bytes);
    });
    for (std::size_t i = unused_memory::limit; i < of.groups.size(); ++i)
      of.other_bytes_at_peak += of.groups[i].bytes_at_peak;
    if (of.groups.size() > unused_memory::limit) of.groups.resize(unused_memory::limit);
    for (unused_group& group : of.groups)
      if (group.stack != trace::stack_id::none) group.line = lines.describe(line_of(group.stack));
    all.push_back(std::move(of));
  }
  return all;
}

}  // namespace sluice::analysis
