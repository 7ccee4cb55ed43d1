#include "core/metrics/findings/ranks/ranks.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <utility>

#include "core/base/format.hpp"
#include "core/base/saturating.hpp"
#include "core/index/event_store.hpp"
#include "core/index/tensor_facts.hpp"
#include "core/metrics/findings/shared/thresholds.hpp"
#include "core/metrics/statistics/fragmentation.hpp"
#include "core/metrics/statistics/range_statistics.hpp"

namespace sluice::metrics {

ranks_builder::ranks_builder(const metrics_scope& scope)
    : scope_(scope), ranks_(get_ranks(scope.tables())), collectives_(ranks_.size()) {}

ranks_builder::rank_by_process ranks_builder::get_ranks(const trace::tables& tables) {
  rank_by_process process;
  for (const trace::process_row& row : tables.processes.rows())
    if (row.rank >= 0) process[row.id] = row.rank;
  return process.size() < 2 ? rank_by_process{} : process;
}

void ranks_builder::add(const index::event_store& store, time_range run) {
  const time_range here = intersect(scope_.range, run);
  if (ranks_.empty() || here.length() <= 0) return;
  add_memory(store.memory(), here);
  add_work(store, here);
}

void ranks_builder::add_memory(const index::memory_use& memory, time_range here) {
  struct change {
    time_ns time = 0;
    std::int64_t bytes = 0;
  };
  std::map<std::pair<trace::process_id, index::memory_key>, std::vector<change>> changes;
  for (const index::block_record& block : memory.blocks()) {
    if (!index::takes_device_memory(block) || !block.live_in(here) || !ranks_.contains(block.process)) continue;
    std::vector<change>& items = changes[{block.process, index::get_key(block)}];
    const std::int64_t bytes = index::signed_bytes(block);
    items.push_back({std::max(block.born, here.begin), bytes});
    if (block.freed() && block.died < here.end) items.push_back({block.died, -bytes});
  }
  for (auto& [whose, subject] : changes) {
    std::sort(subject.begin(), subject.end(), [](const change& a, const change& b) { return a.time < b.time; });
    highest& most = all_[whose.first][whose.second];
    std::int64_t live = 0;
    for (std::size_t i = 0; i < subject.size(); ++i) {
      live = saturating_sum(live, subject[i].bytes);
      if ((i + 1 < subject.size() && subject[i + 1].time == subject[i].time) || live <= most.bytes) continue;
      most = {live, subject[i].time};
    }
  }
}

ranks_builder::kernel_kind ranks_builder::get_kind(trace::string_id kernel) {
  const auto [place, fresh] = kinds_.try_emplace(kernel, kernel_kind::computes);
  if (!fresh) return place->second;
  const std::string name = readable_name(scope_.tables().text(kernel));
  if (!name.starts_with("nccl")) return place->second;
  const auto has = [&](std::string_view part) { return name.find(part) != std::string::npos; };
  place->second = has("AllReduce")                           ? kernel_kind::reduces
                  : has("AllGather") || has("ReduceScatter") ? kernel_kind::gathers
                  : has("SendRecv")                          ? kernel_kind::sends
                                                             : kernel_kind::communicates;
  return place->second;
}

void ranks_builder::measure_idle(work& subject, std::vector<time_range> all_work,
                                 std::vector<collective_part>& collectives) {
  std::sort(all_work.begin(), all_work.end(),
            [](const time_range& a, const time_range& b) { return a.begin < b.begin; });
  std::stable_sort(collectives.begin(), collectives.end(),
                   [](const auto& a, const auto& b) { return a.when.begin < b.when.begin; });
  auto next = collectives.begin();
  for (const time_range& each : all_work) {
    if (subject.busy_until != unknown_begin && each.begin > subject.busy_until)
      saturating_add(subject.idle, each.begin - subject.busy_until);
    subject.busy_until = std::max(subject.busy_until, each.end);
    for (; next != collectives.end() && next->when.begin <= each.begin; ++next) {
      next->idle = subject.idle;
      subject.idle =
          0;  // Idle time is counted from the end of this collective on, because the device is busy until then.
    }
  }
}

void ranks_builder::add_work(const index::event_store& store, time_range here) {
  std::map<trace::string_id, std::vector<collective_part>> collectives;
  struct rank_work {
    std::vector<time_range> work;
    std::vector<collective_part> collectives;
  };
  std::map<trace::process_id, rank_work> all_ranks;
  for (const auto& [key, slices] : store.devices().streams()) {
    if (!ranks_.contains(key.process)) continue;
    work& subject = works_[key.process];
    rank_work& rank = all_ranks[key.process];
    slices.for_each(here.begin, here.end, [&, &key = key](const timeline::slice_item& each, std::uint16_t) {
      if (each.end == latest_time || !here.holds(each.begin)) return;
      rank.work.push_back({each.begin, each.end});
      if (static_cast<timeline::slice_kind>(each.kind) != timeline::slice_kind::kernel) return;
      const time_ns length = each.end - each.begin;
      const kernel_kind kind = get_kind(each.name);
      if (kind == kernel_kind::computes) {
        saturating_add(subject.computing, length);
        saturating_add(subject.kernels[each.name], length);
        return;
      }
      ++subject.collectives;
      saturating_add(subject.collective_time, length);
      if (kind == kernel_kind::reduces) ++subject.reductions;
      if (kind == kernel_kind::gathers) ++subject.gathers;
      rank.collectives.push_back({key.process, key.stream, each.name, {each.begin, each.end}});
    });
  }
  for (auto& [process, rank] : all_ranks) {
    measure_idle(works_[process], std::move(rank.work), rank.collectives);
    for (const collective_part& each : rank.collectives) collectives[each.name].push_back(each);
  }
  const auto waited = [this](const collective_wait& wait) { add_wait(wait); };
  for (auto& [name, whole] : collectives)
    collectives_.add(name, get_kind(name) == kernel_kind::sends, std::move(whole), here.end, waited);
}

void ranks_builder::add_wait(const collective_wait& wait) {
  const auto add_to = [&](waits& whole) {
    waits_of_length& alike = whole[std::bit_width(static_cast<std::uint64_t>(wait.length))];
    ++alike.count;
    saturating_add(alike.total, wait.length);
    if (wait.length >= rank_metrics::late_host) saturating_add(alike.host_late, wait.host_late);
  };
  add_to(works_[wait.process].waited);
  if (wait.process != wait.last) add_to(works_[wait.last].awaited);
}

std::array<bool, 65> ranks_builder::find_recurring(const waits& subject) {
  std::array<bool, 65> recurring{};
  for (std::size_t i = 0; i < subject.size(); ++i) {
    const std::uint64_t shorter = i > 0 ? subject[i - 1].count : 0;
    const std::uint64_t longer = i + 1 < subject.size() ? subject[i + 1].count : 0;
    recurring[i] = shorter + subject[i].count + longer >= min_recurring;
  }
  return recurring;
}

void ranks_builder::put_waiting(const work& subject, rank_metrics& into) {
  const std::array<bool, 65> own = find_recurring(subject.waited), of_others = find_recurring(subject.awaited);
  for (std::size_t i = 0; i < subject.waited.size(); ++i) {
    saturating_add(into.waiting, subject.waited[i].total);
    if (!own[i]) saturating_add(into.waiting_rarely, subject.waited[i].total);
    if (!of_others[i]) continue;
    saturating_add(into.awaited, subject.awaited[i].total);
    saturating_add(into.awaited_host, subject.awaited[i].host_late);
  }
}

void ranks_builder::find_peaks() {
  collectives_.finish([this](const collective_wait& wait) { add_wait(wait); });
  for (const auto& [process, memories] : all_) {
    const std::pair<const index::memory_key, highest>* best = nullptr;
    for (const auto& each : memories) {
      const bool higher = best == nullptr || each.first.layer > best->first.layer ||
                          (each.first.layer == best->first.layer && each.second.bytes > best->second.bytes);
      if (higher) best = &each;
    }
    if (best == nullptr || best->second.bytes <= 0) continue;
    const auto& [key, most] = *best;
    rank_metrics& output = peaks_.emplace_back();
    output.process = process;
    output.rank = ranks_.at(process);
    std::tie(output.device, output.layer, output.kind) = std::tie(key.device, key.layer, key.kind);
    output.peak = static_cast<std::uint64_t>(most.bytes);
    output.peak_time = most.time;
  }
  std::sort(peaks_.begin(), peaks_.end(), [](const rank_metrics& a, const rank_metrics& b) { return a.rank < b.rank; });
}

std::vector<time_ns> ranks_builder::moments() const {
  std::vector<time_ns> times;
  for (const rank_metrics& each : peaks_) times.push_back(each.peak_time);
  return times;
}

void ranks_builder::revisit(const index::event_store& store, time_range run, const fragmentation_builder& segments) {
  for (rank_metrics& rank : peaks_) {
    if (!run.holds(rank.peak_time)) continue;
    const index::memory_key key{rank.device, rank.layer, rank.kind};
    const auto facts = store.tensors(*scope_.trace);
    const std::span<const index::block_record> blocks = store.memory().blocks();
    std::map<std::pair<trace::stack_id, index::category>, held_by_stack> held;
    std::array<category_share, index::category_count> shares;
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      const index::block_record& block = blocks[i];
      if (!index::takes_device_memory(block) || block.process != rank.process || index::get_key(block) != key ||
          !block.live_at(rank.peak_time))
        continue;
      const index::block_category category =
          i < facts->categories.size() ? facts->categories[i] : index::block_category{};
      held_by_stack& by = held[{block.stack, category.kind}];
      std::tie(by.stack, by.category) = std::tie(block.stack, category.kind);
      saturating_add(by.bytes, block.bytes);
      ++by.blocks;
      category_share& share = shares[static_cast<std::size_t>(category.kind)];
      share.category = category.kind;
      ++share.blocks;
      saturating_add(share.bytes, block.bytes);
      if (category.exact()) saturating_add(share.exact_bytes, block.bytes);
    }
    const auto by_bytes = [](const auto& a, const auto& b) { return a.bytes > b.bytes; };
    for (const auto& [stack, by] : held) rank.held.push_back(by);
    std::stable_sort(rank.held.begin(), rank.held.end(), by_bytes);
    if (rank.held.size() > rank_metrics::limit) rank.held.resize(rank_metrics::limit);
    for (const category_share& share : shares)
      if (share.blocks > 0 && facts->use.contains(key)) rank.shares.push_back(share);
    std::stable_sort(rank.shares.begin(), rank.shares.end(), by_bytes);
    for (const segment_layout& each : segments.segments_at(key, rank.peak_time, store.memory()))
      if (blocks[each.block].process == rank.process) saturating_add(rank.reserved, each.bytes);
  }
}

std::vector<rank_metrics> ranks_builder::metrics(const std::vector<step_summary>& steps,
                                                 const std::vector<untracked_statistics>& untracked) const {
  std::vector<rank_metrics> items = peaks_;
  for (rank_metrics& rank : items) {
    for (const step_summary& subject : steps)
      if (subject.process == rank.process)
        std::tie(rank.steps, rank.median_step) = std::tie(subject.count, subject.median_duration);
    for (const untracked_statistics& statistics : untracked)
      if (statistics.device == rank.device) rank.untracked = statistics.maximum;
    const auto known = works_.find(rank.process);
    if (known == works_.end()) continue;
    const work& target = known->second;
    std::tie(rank.computing, rank.collectives, rank.collective_time, rank.reductions, rank.gathers) =
        std::tie(target.computing, target.collectives, target.collective_time, target.reductions, target.gathers);
    put_waiting(target, rank);
    for (const auto& [name, total] : target.kernels) rank.kernels.push_back({name, total});
    std::stable_sort(rank.kernels.begin(), rank.kernels.end(),
                     [](const kernel_total& a, const kernel_total& b) { return a.total > b.total; });
    if (rank.kernels.size() > rank_metrics::limit) rank.kernels.resize(rank_metrics::limit);
  }
  return items;
}

}  // namespace sluice::metrics
