#include "core/metrics/statistics/tensor_report.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <span>
#include <tuple>

#include "core/base/saturating.hpp"
#include "core/index/event_store.hpp"
#include "core/index/memory/block_ends.hpp"
#include "core/index/tensor_facts.hpp"
#include "core/metrics/base/line_namer.hpp"
#include "core/metrics/base/memory_peak.hpp"

namespace sluice::metrics {
namespace {

/// Calls `visit` with each block that counts in totals, and with its category.
template <class Visit>
void for_each_block(const index::event_store& store, const index::tensor_facts& facts, Visit&& visit) {
  const std::span<const index::block_record> blocks = store.memory().blocks();
  for (std::size_t i = 0; i < blocks.size() && i < facts.categories.size(); ++i)
    if (blocks[i].allocated && !blocks[i].imported()) visit(blocks[i], facts.categories[i]);
}

}  // namespace

// --- the peak -------------------------------------------------------------------------------------------------------

std::uint64_t peak_composition::get_bytes(index::category wanted) const {
  for (const category_share& share : shares)
    if (share.category == wanted) return share.bytes;
  return 0;
}

bool peak_composition::inferred() const {
  return std::any_of(shares.begin(), shares.end(), [](const category_share& share) {
    return share.category != index::category::none && share.exact_bytes < share.bytes;
  });
}

std::optional<peak_composition> composition_at(const memory_peak& peak, const index::event_store& store,
                                               const trace::snapshot& trace) {
  const auto facts = store.tensors(trace);
  const index::memory_key key{peak.device, peak.layer, peak.kind};
  if (!facts->use.contains(key)) return std::nullopt;
  std::array<category_share, index::category_count> shares;
  std::uint64_t kept_gradients = 0;
  for_each_block(store, *facts, [&](const index::block_record& block, const index::block_category& category) {
    if (index::get_key(block) != key || !block.live_at(peak.time)) return;
    category_share& share = shares[static_cast<std::size_t>(category.kind)];
    ++share.blocks;
    share.bytes += block.bytes;
    if (category.exact()) share.exact_bytes += block.bytes;
    const index::step_list* steps =
        category.kind == index::category::gradient ? facts->get_steps(block.process) : nullptr;
    const time_ns died = block.freed() ? block.died : index::recorded_range(trace).end;
    if (steps != nullptr && steps->begun_between(block.born, died) >= 2) kept_gradients += block.bytes;
  });
  peak_composition composition{peak.device, peak.layer, peak.kind, peak.bytes, peak.time, kept_gradients, {}};
  for (std::size_t i = 0; i < index::category_count; ++i) {
    shares[i].category = static_cast<index::category>(i);
    if (shares[i].blocks > 0) composition.shares.push_back(shares[i]);
  }
  std::stable_sort(composition.shares.begin(), composition.shares.end(),
                   [](const auto& a, const auto& b) { return a.bytes > b.bytes; });
  return composition;
}

// --- steps ----------------------------------------------------------------------------------------------------------

namespace {

/// Returns the bytes copied in `span` to or from `devices`. If `devices` is empty, returns the bytes of all devices.
double moved(const index::event_store& store, trace::direction way, const std::set<trace::device_id>& devices,
             time_range span) {
  double bytes = 0;
  const auto add = [&](const index::direction_work& work) {
    bytes += work.rate.over(span.begin, span.end).integral / 1e9;
  };
  const auto& whole = store.devices().directions();
  for (const trace::device_id device : devices)
    if (const auto found = whole.find({device, way}); found != whole.end()) add(found->second);
  if (devices.empty())
    for (const auto& [key, work] : whole)
      if (key.direction == way) add(work);
  return bytes;
}

void find_growth(step_summary& subject, const std::vector<step_metrics>& steps) {
  constexpr std::size_t first = 2;
  constexpr std::size_t min_steps = 6;
  if (steps.size() < min_steps) return;
  const auto low = [&](std::size_t i) { return static_cast<double>(steps[i].at_begin); };
  std::size_t higher = 0;
  bool never_below = true;
  for (std::size_t i = first + 1; i < steps.size(); ++i) {
    higher += low(i) > low(i - 1) ? 1 : 0;
    never_below = never_below && low(i) >= low(first);
  }
  const auto compared = static_cast<double>(steps.size() - first - 1);
  subject.growth = (low(steps.size() - 1) - low(first)) / compared;
  subject.keeps_growing = never_below && static_cast<double>(higher) >= 0.8 * compared;
}

void keep_some(step_summary& subject, std::vector<step_metrics>&& steps) {
  const auto highest =
      std::max_element(steps.begin(), steps.end(), [](const auto& a, const auto& b) { return a.peak < b.peak; });
  const step_metrics kept = highest == steps.end() ? step_metrics{} : *highest;
  if (steps.size() > step_summary::limit) {
    const auto half = static_cast<std::ptrdiff_t>(step_summary::limit / 2);
    std::vector<step_metrics> some(steps.begin(), steps.begin() + half);
    const bool in_middle = highest - steps.begin() >= half && steps.end() - highest > half;
    if (in_middle) some.push_back(kept);
    some.insert(some.end(), steps.end() - half + (in_middle ? 1 : 0), steps.end());
    steps = std::move(some);
  }
  for (std::size_t i = 0; i < steps.size(); ++i)
    if (steps[i].span == kept.span) subject.highest = i;
  subject.steps = std::move(steps);
}

}  // namespace

process_memories memories_of_processes(const index::memory_use& memory) {
  process_memories memories;
  for (const index::block_record& block : memory.blocks())
    if (block.allocated && index::is_device_resident(block.kind)) memories[block.process].insert(index::get_key(block));
  return memories;
}

struct steps_builder::gathered {
  /// The use of one kind of memory during a step.
  struct use {
    std::uint64_t peak = 0;
    time_ns peak_time = 0;
    std::uint64_t at_begin = 0;
    std::uint64_t at_end = 0;
    std::uint64_t allocations = 0;
    std::uint64_t allocated_bytes = 0;
  };
  struct memory {
    double highest = 0;  ///< Maximum use over the recording.
    std::vector<use> steps;
  };
  trace::process_id process{};
  index::step_source source = index::step_source::none;
  std::vector<step_metrics> steps;
  std::map<index::memory_key, memory> memories;  ///< The kinds of memory in which the process has blocks.
  std::set<trace::device_id> devices;            ///< The devices of `memories`.

  /// Returns the index of the first step that ends after `time`.
  [[nodiscard]] std::size_t after(time_ns time) const {
    const auto found =
        std::partition_point(steps.begin(), steps.end(), [=](const auto& each) { return each.span.end <= time; });
    return static_cast<std::size_t>(found - steps.begin());
  }

  void add(const index::event_store& store, time_range run) {
    for (std::size_t i = after(run.begin); i < steps.size() && steps[i].span.begin < run.end; ++i) {
      const time_range here = intersect(steps[i].span, run);
      steps[i].h2d_bytes += moved(store, trace::direction::h2d, devices, here);
      steps[i].d2h_bytes += moved(store, trace::direction::d2h, devices, here);
    }
    for (auto& [key, subject] : memories) {
      const auto tree = store.memory().use().find(key);
      if (tree == store.memory().use().end()) continue;
      subject.highest = std::max(subject.highest, tree->second.over(run.begin, run.end).maximum);
      for (std::size_t i = after(run.begin); i < steps.size() && steps[i].span.begin < run.end; ++i)
        add(tree->second, steps[i].span, intersect(steps[i].span, run), subject.steps[i]);
    }
  }

  static void add(const timeline::level_tree& tree, time_range step, time_range here, use& to) {
    const timeline::extent over = tree.over(here.begin, here.end);
    const bool begins = here.begin == step.begin;
    if (begins) to.at_begin = whole_bytes(tree.at(here.begin));
    if (here.end == step.end) to.at_end = whole_bytes(tree.at(here.end - 1));
    const std::uint64_t highest = whole_bytes(over.maximum);
    if (!begins && highest <= to.peak) return;
    to.peak = highest;
    to.peak_time = over.maximum_time;
  }

  /// Returns the number of steps that begin before `time`.
  [[nodiscard]] std::size_t begun_before(time_ns time) const {
    const auto found =
        std::partition_point(steps.begin(), steps.end(), [=](const auto& each) { return each.span.begin < time; });
    return static_cast<std::size_t>(found - steps.begin());
  }

  /// Takes over the first `count` steps of `old`, which begin before `until`. Returns false if they differ from the
  /// steps here.
  [[nodiscard]] bool take_over(gathered&& old, std::size_t count, time_ns until) {
    if (begun_before(until) != count || (count > 0 && old.source != source)) return false;
    for (std::size_t i = 0; i < count; ++i) {
      const time_range was = old.steps[i].span, is = steps[i].span;
      // The last step of a growing recording has no end yet.
      const bool same = was.begin == is.begin && (was.end == is.end || (was.end >= until && is.end >= until));
      if (!same) return false;
      steps[i].h2d_bytes = old.steps[i].h2d_bytes;
      steps[i].d2h_bytes = old.steps[i].d2h_bytes;
    }
    for (auto& [key, subject] : old.memories) {
      memory& now = memories[key];
      now.highest = subject.highest;
      now.steps.resize(steps.size());
      std::copy_n(subject.steps.begin(), count, now.steps.begin());
    }
    return true;
  }

  void count(const index::block_record& block) {
    const auto found = memories.find(index::get_key(block));
    const std::size_t in = found == memories.end() ? steps.size() : after(block.born);
    if (in == steps.size() || block.born < steps[in].span.begin) return;
    ++found->second.steps[in].allocations;
    found->second.steps[in].allocated_bytes += block.bytes;
  }

  /// Returns the memory whose metrics the steps show. Among the kinds of memory in the highest layer that the process
  /// uses, this is the kind with the highest peak.
  [[nodiscard]] const std::pair<const index::memory_key, memory>* judged_by() const {
    const std::pair<const index::memory_key, memory>* best = nullptr;
    for (const trace::layer layer :
         {trace::layer::framework, trace::layer::user, trace::layer::pool, trace::layer::driver}) {
      for (const auto& each : memories)
        if (each.first.layer == layer && each.second.highest > (best == nullptr ? 0 : best->second.highest))
          best = &each;
      if (best != nullptr) break;
    }
    return best;
  }

  /// Copies the use of the memory that `judged_by` returns into the steps.
  void put_memory(step_summary& about) {
    const auto* by = judged_by();
    if (by == nullptr) return;
    about.device = by->first.device;
    about.layer = by->first.layer;
    about.kind = by->first.kind;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      const use& subject = by->second.steps[i];
      steps[i].peak = subject.peak;
      steps[i].peak_time = subject.peak_time;
      steps[i].at_begin = subject.at_begin;
      steps[i].at_end = subject.at_end;
      steps[i].allocations = subject.allocations;
      steps[i].allocated_bytes = subject.allocated_bytes;
    }
  }
};

steps_builder::steps_builder(const index::step_facts& facts, const process_memories& memories, time_range range) {
  for (const auto& [process, list] : facts.lists()) {
    gathered subject;
    subject.process = process;
    subject.source = list.source;
    for (const index::step& each : list.steps) {
      if (each.span.end <= range.begin || each.span.begin >= range.end || each.span.length() <= 0) continue;
      step_metrics& output = subject.steps.emplace_back();
      output.number = each.number;
      output.span = each.span;
      output.event = each.event;
    }
    if (subject.steps.empty()) continue;
    if (const auto known = memories.find(process); known != memories.end())
      for (const index::memory_key& key : known->second) {
        subject.memories[key].steps.resize(subject.steps.size());
        subject.devices.insert(key.device);
        users_[key].push_back(all_.size());
      }
    all_.push_back(std::move(subject));
  }
}

steps_builder::steps_builder(const steps_builder& other) = default;
steps_builder::steps_builder(steps_builder&& other) noexcept = default;
steps_builder& steps_builder::operator=(steps_builder&& other) noexcept = default;
steps_builder::~steps_builder() = default;

bool steps_builder::take_over(steps_builder&& earlier, time_ns until) {
  for (gathered& old : earlier.all_) {
    const auto now =
        std::find_if(all_.begin(), all_.end(), [&](const auto& subject) { return subject.process == old.process; });
    const std::size_t seen = old.begun_before(until);
    if (now == all_.end() ? seen > 0 : !now->take_over(std::move(old), seen, until)) return false;
  }
  // A process that had no steps before may have steps now. These steps must begin later.
  return std::all_of(all_.begin(), all_.end(), [&](const gathered& now) {
    const bool known = std::any_of(earlier.all_.begin(), earlier.all_.end(),
                                   [&](const auto& target) { return target.process == now.process; });
    return known || now.begun_before(until) == 0;
  });
}

void steps_builder::add(const index::event_store& store, time_range run) {
  if (all_.empty()) return;
  for (gathered& subject : all_) subject.add(store, run);
  for (const index::block_record& block : store.memory().blocks()) {
    if (!block.allocated || block.imported() || block.born_before() || !run.holds(block.born)) continue;
    if (const auto users = users_.find(index::get_key(block)); users != users_.end())
      for (const std::size_t user : users->second) all_[user].count(block);
  }
}

std::vector<step_summary> steps_builder::take() {
  std::vector<step_summary> summaries;
  for (gathered& source : all_) {
    step_summary subject;
    subject.process = source.process;
    subject.source = source.source;
    subject.count = source.steps.size();
    source.put_memory(subject);
    std::vector<time_ns> lengths;
    for (step_metrics& each : source.steps) {
      each.h2d_bytes = std::round(each.h2d_bytes);
      each.d2h_bytes = std::round(each.d2h_bytes);
      lengths.push_back(each.span.length());
    }
    const auto middle = lengths.begin() + static_cast<std::ptrdiff_t>(lengths.size() / 2);
    std::nth_element(lengths.begin(), middle, lengths.end());
    subject.median_duration = *middle;
    find_growth(subject, source.steps);
    keep_some(subject, std::move(source.steps));
    summaries.push_back(std::move(subject));
  }
  return summaries;
}

// --- after the last use ---------------------------------------------------------------------------------------------

namespace {

/// Returns the minimum idle time at the end of the range from which a block that is never freed is reported.
time_ns get_min_idle(const index::tensor_facts& facts, trace::process_id process, time_range span) {
  const index::step_list* list = facts.get_steps(process);
  if (list == nullptr || list->steps.size() < 3) return span.length() / 10;
  const std::size_t n = list->steps.size();
  return list->steps[n - 1].span.begin - list->steps[n - 3].span.begin;
}

}  // namespace

/// Returns the time from a block's last use to its free or the end of the range; 0 if it should not be reported.
time_ns unused_memory_builder::get_idle(const index::block_record& block, const index::touch& last,
                                        const index::tensor_facts& facts) const {
  const time_range range = scope_.range;
  const time_ns idle = std::min(block.freed() ? block.died : range.end, range.end) - std::max(last.time, range.begin);
  const bool too_short =
      idle <= 0 || (!block.freed() && idle <= get_min_idle(facts, block.process, index::recorded_range(*scope_.trace)));
  return too_short ? 0 : idle;
}

void unused_memory_builder::add(const index::event_store& store, time_range run) {
  if (store.touches().empty() || scope_.range.length() <= 0) return;
  const auto facts = store.tensors(*scope_.trace);
  for_each_block(store, *facts, [&](const index::block_record& block, const index::block_category& category) {
    if (!index::ends_in(block, run) || !block.live_in(scope_.range) || !index::is_device_resident(block.kind)) return;
    gathered& subject = all_[index::get_key(block)];
    const index::block_touches used = store.touches().of(block);
    if (!used.last.known()) {
      ++subject.never_touched;
      subject.never_touched_bytes += block.bytes;
      return;
    }
    const time_ns idle = get_idle(block, used.last, *facts);
    if (idle == 0) return;
    unused_group& group = subject.groups[{block.stack, block.name, category.kind}];
    if (group.blocks == 0) {
      group.stack = block.stack;
      group.name = block.name;
      group.category = category.kind;
      group.exact = true;
    }
    group.exact = group.exact && category.exact();
    ++group.blocks;
    group.bytes += block.bytes;
    // `metrics` divides this by the time.
    group.mean_bytes += static_cast<double>(block.bytes) * static_cast<double>(idle);
    // If several blocks were idle equally long, take the one with the lowest id, so that the order of arrival does not
    // matter.
    if (idle > group.longest || (idle == group.longest && block.id < group.longest_block)) {
      group.longest = idle;
      group.longest_block = block.id;
    }
  });
  // Whether the blocks of a kind of memory have categories is known only at the end.
  if (index::is_last(run)) std::erase_if(all_, [&](const auto& each) { return !facts->use.contains(each.first); });
}

void unused_memory_builder::revisit(const memory_peak& peak, const index::event_store& store) {
  const index::memory_key key{peak.device, peak.layer, peak.kind};
  const auto found = all_.find(key);
  if (found == all_.end()) return;
  const auto facts = store.tensors(*scope_.trace);
  for_each_block(store, *facts, [&](const index::block_record& block, const index::block_category& category) {
    if (index::get_key(block) != key || !block.live_in(scope_.range) || !block.live_at(peak.time)) return;
    const index::block_touches used = store.touches().of(block);
    if (!used.last.known() || used.last.time >= peak.time || get_idle(block, used.last, *facts) == 0) return;
    const auto group = found->second.groups.find({block.stack, block.name, category.kind});
    if (group != found->second.groups.end()) group->second.bytes_at_peak += block.bytes;
  });
}

std::vector<unused_memory> unused_memory_builder::metrics(const std::vector<memory_peak>& peaks) const {
  std::vector<unused_memory> memories;
  for (const memory_peak& peak : peaks) {
    const auto known = all_.find({peak.device, peak.layer, peak.kind});
    if (known == all_.end() || (known->second.groups.empty() && known->second.never_touched == 0)) continue;
    unused_memory& memory = memories.emplace_back();
    memory.device = peak.device;
    memory.layer = peak.layer;
    memory.kind = peak.kind;
    memory.peak_time = peak.time;
    memory.peak_bytes = peak.bytes;
    for (const auto& [source, group] : known->second.groups) {
      memory.groups.push_back(group);
      memory.groups.back().mean_bytes /= static_cast<double>(scope_.range.length());
    }
    memory.never_touched = known->second.never_touched;
    memory.never_touched_bytes = known->second.never_touched_bytes;
  }
  return memories;
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

std::vector<unused_memory> name_unused(const std::vector<unused_memory>& metrics, const trace::tables& tables,
                                       const naming& names) {
  std::vector<unused_memory> memories;
  line_namer lines(tables, names);
  const auto get_line = [&](trace::stack_id stack) {
    return stack == trace::stack_id::none ? names.book.remark("no stack recorded") : lines.get_line(stack);
  };
  for (const unused_memory& by_stack : metrics) {
    std::map<std::tuple<symbols::line_id, trace::string_id, index::category>, unused_group> groups;
    for (const unused_group& one : by_stack.groups) merge(groups[{get_line(one.stack), one.name, one.category}], one);
    unused_memory memory = by_stack;
    memory.groups.clear();
    for (const auto& [origin, group] : groups) {
      memory.bytes_at_peak += group.bytes_at_peak;
      memory.mean_bytes += group.mean_bytes;
      memory.groups.push_back(group);
    }
    std::stable_sort(memory.groups.begin(), memory.groups.end(), [](const auto& a, const auto& b) {
      return std::tuple(a.bytes_at_peak, a.mean_bytes) > std::tuple(b.bytes_at_peak, b.mean_bytes);
    });
    for (std::size_t i = unused_memory::limit; i < memory.groups.size(); ++i)
      memory.other_bytes_at_peak += memory.groups[i].bytes_at_peak;
    if (memory.groups.size() > unused_memory::limit) memory.groups.resize(unused_memory::limit);
    for (unused_group& group : memory.groups)
      if (group.stack != trace::stack_id::none) group.line = lines.describe(get_line(group.stack));
    memories.push_back(std::move(memory));
  }
  return memories;
}

}  // namespace sluice::metrics
