#include "core/query/types/memory_groups.hpp"

#include <algorithm>
#include <memory>
#include <span>
#include <unordered_map>

#include "core/index/labels.hpp"
#include "core/query/results/block_filters.hpp"
#include "core/query/results/query_operator.hpp"

namespace sluice::query {
namespace {

using index::block_record;

/// Adds up blocks in order of time. For each part of the range, keeps the changes between the highest total of the
/// previous part and that of this part. Memory thus grows with the changes visible at this width, not with the blocks.
class memory_sweep final : public range_operator<memory_groups> {
 public:
  explicit memory_sweep(const memory_groups_query& query)
      : range_operator(query.range),
        query_(query),
        parts_(std::clamp<std::uint32_t>(query.width, 1, widest_view)),
        moments_(parts_, range_.begin),
        totals_(parts_),
        changes_(parts_) {}

  result<void> add(const sources& source, time_range part) override {
    std::vector<change> steps;
    std::size_t seen = 0;
    const bool first = part.begin == range_.begin;
    for (const block_record& block : source.index.memory().blocks()) {
      if ((++seen & 0xfffU) == 0 && source.cancelled) return fail(error_code::cancelled, "the query was cancelled");
      if (!query_.filter().takes(block) || (block.freed() && block.died <= block.born)) continue;
      if (query_.process != trace::process_id::none && block.process != query_.process) continue;
      const bool ends_here = !first && block.freed() && block.died == part.begin;  // It was live in the previous part.
      if (!block.live_in(part) && !ends_here) continue;
      const std::uint32_t who = get_place(block);
      const auto bytes = static_cast<std::int64_t>(block.bytes);
      const bool before = block.born < part.begin || (first && block.born == part.begin);
      if (!before || first) {
        ++blocks_;
        steps.push_back({std::max(block.born, part.begin), who, bytes});
      }
      if (block.freed() && block.died < part.end) steps.push_back({block.died, who, -bytes});
    }
    std::stable_sort(steps.begin(), steps.end(), [](const change& a, const change& b) { return a.time < b.time; });
    sweep(steps);
    return {};
  }

  /// Returns the result so far. Parts that were not read yet get the memory that is live at the last time read.
  result<memory_groups> finish(const sources& source) override {
    memory_groups output;
    output.range = range_;
    output.blocks = blocks_;
    output.moments = moments_;
    output.total.resize(parts_);
    const std::vector<std::uint32_t> groups = named(source, output);
    std::vector<std::int64_t> held(output.groups.size());
    std::vector<std::int64_t> highest(output.groups.size());
    std::size_t peak = 0;
    for_each_part(
        groups, held,
        [&](std::size_t part) {
          output.total[part] = whole(totals_at(part));
          if (output.total[part] > output.total[peak]) peak = part;
        },
        highest);
    output.peak = output.total[peak];
    output.peak_time = moments_[peak];
    output.group_count = static_cast<std::uint64_t>(
        std::count_if(highest.begin(), highest.end(), [](std::int64_t bytes) { return bytes > 0; }));
    // Keeps the highest groups, in order. All others are combined into one group.
    std::vector<std::uint32_t> order(output.groups.size());
    for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = i;
    std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return highest[a] > highest[b]; });
    while (!order.empty() && (order.size() > memory_groups::limit || highest[order.back()] <= 0)) order.pop_back();
    std::vector<memory_group> kept;
    for (const std::uint32_t each : order) {
      kept.push_back(std::move(output.groups[each]));
      kept.back().highest = whole(highest[each]);
      kept.back().bytes.resize(parts_);
    }
    std::fill(held.begin(), held.end(), 0);
    const bool rest = output.group_count > kept.size();
    if (rest) output.others.bytes.resize(parts_);
    for_each_part(
        groups, held,
        [&](std::size_t part) {
          std::uint64_t sum = 0;
          for (std::size_t i = 0; i < kept.size(); ++i) sum += kept[i].bytes[part] = whole(held[order[i]]);
          if (!rest) return;
          output.others.bytes[part] = output.total[part] - std::min(output.total[part], sum);
          output.others.highest = std::max(output.others.highest, output.others.bytes[part]);
        },
        highest);
    for (memory_group& each : kept) each.at_peak = each.bytes[peak];
    if (rest) output.others.at_peak = output.others.bytes[peak];
    output.groups = std::move(kept);
    return output;
  }

 private:
  struct change {
    time_ns time = 0;
    std::uint32_t who = 0;
    std::int64_t bytes = 0;
  };
  struct held_change {
    std::uint32_t who = 0;
    std::int64_t bytes = 0;
  };

  static std::uint64_t whole(std::int64_t bytes) {
    return static_cast<std::uint64_t>(std::max<std::int64_t>(bytes, 0));
  }

  /// True if blocks are grouped by their name: a framework owns the memory that it hands out, and its blocks have its
  /// name.
  [[nodiscard]] bool by_name() const {
    return query_.by == memory_grouping::owner && query_.layer > trace::layer::pool;
  }

  std::uint32_t get_place(const block_record& block) {
    std::uint64_t key = 0;
    switch (query_.by) {
      case memory_grouping::stream:
        key = raw(block.stream);
        break;
      case memory_grouping::process:
        key = raw(block.process);
        break;
      default:
        key = by_name() ? raw(block.name) : raw(block.stack);
    }
    const auto [at, fresh] = places_.try_emplace(key, static_cast<std::uint32_t>(keys_.size()));
    if (fresh) keys_.push_back(key);
    return at->second;
  }

  /// Returns the start time of a part.
  [[nodiscard]] time_ns edge(std::size_t part) const {
    __extension__ using wide = __int128;
    return range_.begin + static_cast<time_ns>(static_cast<wide>(range_.length()) * static_cast<wide>(part) /
                                               static_cast<wide>(parts_));
  }

  void sweep(std::span<const change> steps) {
    for (std::size_t i = 0; i < steps.size();) {
      const time_ns time = steps[i].time;
      while (part_ + 1 < parts_ && time >= edge(part_ + 1)) close_part();
      for (; i < steps.size() && steps[i].time == time; ++i) {
        held_ += steps[i].bytes;
        since_.push_back({steps[i].who, steps[i].bytes});
      }
      // The total at the start of a part includes the changes at that time, as in the curves.
      if (held_ <= totals_[part_] && time > edge(part_)) continue;
      totals_[part_] = held_;
      moments_[part_] = time;
      marked_ = since_.size();
    }
  }

  void close_part() {
    take_marked();
    ++part_;
    totals_[part_] = held_;
    moments_[part_] = edge(part_);
    marked_ = since_.size();
  }

  /// Keeps the changes up to the highest total of this part.
  void take_marked() {
    sums_.clear();
    for (std::size_t i = 0; i < marked_; ++i) sums_[since_[i].who] += since_[i].bytes;
    for (const auto& [who, bytes] : sums_)
      if (bytes != 0) changes_[part_].push_back({who, bytes});
    since_.erase(since_.begin(), since_.begin() + static_cast<std::ptrdiff_t>(marked_));
    marked_ = 0;
  }

  [[nodiscard]] std::int64_t totals_at(std::size_t part) const { return part <= part_ ? totals_[part] : held_; }

  /// Calls `visit` with each part in order. `held` then has the bytes of each group.
  template <class Visit>
  void for_each_part(std::span<const std::uint32_t> groups, std::vector<std::int64_t>& held, Visit&& visit,
                     std::vector<std::int64_t>& highest) const {
    const auto apply = [&](const held_change& each) {
      const std::uint32_t group = groups[each.who];
      held[group] += each.bytes;
    };
    std::vector<std::uint32_t> touched;
    for (std::size_t part = 0; part < parts_; ++part) {
      touched.clear();
      const auto take = [&](const held_change& each) {
        apply(each);
        touched.push_back(groups[each.who]);
      };
      for (const held_change& each : changes_[part]) take(each);
      if (part == part_)
        for (std::size_t i = 0; i < marked_; ++i) take(since_[i]);
      if (part == part_ + 1)
        for (std::size_t i = marked_; i < since_.size(); ++i) take(since_[i]);
      for (const std::uint32_t group : touched) highest[group] = std::max(highest[group], held[group]);
      visit(part);
    }
  }

  /// Adds a group for each name to `output`, and returns the group of each key.
  std::vector<std::uint32_t> named(const sources& source, memory_groups& output) const {
    const trace::tables& tables = source.trace.tables();
    std::vector<std::uint32_t> groups(keys_.size());
    const auto by = to_attribution(query_.by);
    if (by && !by_name()) {
      symbols::attributor who(source.frames, tables, source.lookup, &source.provisional);
      std::unordered_map<symbols::line_id, std::uint32_t> known;
      for (std::size_t i = 0; i < keys_.size(); ++i) {
        const auto stack = trace::stack_id{keys_[i]};
        const symbols::line_id line = stack == trace::stack_id::none ? who.unknown(*by) : who.of(stack, *by);
        const auto [at, fresh] = known.try_emplace(line, static_cast<std::uint32_t>(output.groups.size()));
        groups[i] = at->second;
        if (!fresh) continue;
        memory_group& group = output.groups.emplace_back();
        if (line == who.unknown(*by)) continue;
        group.label = symbols::format_place_and_name(source.frames.line(line));
        group.key = key_of_group(group.label);
      }
      return groups;
    }
    for (std::size_t i = 0; i < keys_.size(); ++i) {
      groups[i] = static_cast<std::uint32_t>(i);
      memory_group& group = output.groups.emplace_back();
      group.key = keys_[i];
      if (keys_[i] == 0) continue;
      if (by) {
        group.label = tables.text(trace::string_id{keys_[i]});
      } else if (query_.by == memory_grouping::stream) {
        group.label = index::stream_label(trace::stream_id{keys_[i]}, tables);
      } else {
        const auto id = trace::process_id{keys_[i]};
        const trace::process_row* row = tables.processes.find(id);
        if (row != nullptr && row->rank >= 0) group.label = "Rank " + std::to_string(row->rank) + ", ";
        group.label += index::process_label(id, tables);
      }
    }
    return groups;
  }

  const memory_groups_query query_;
  const std::size_t parts_;
  std::unordered_map<std::uint64_t, std::uint32_t> places_;
  std::vector<std::uint64_t> keys_;
  std::uint64_t blocks_ = 0;

  std::size_t part_ = 0;            ///< The current part.
  std::int64_t held_ = 0;           ///< The bytes live at the current time.
  std::vector<held_change> since_;  ///< The changes that are not in `changes_` yet.
  std::size_t marked_ = 0;          ///< The number of changes in `since_` up to the highest total of the part.
  std::vector<time_ns> moments_;
  std::vector<std::int64_t> totals_;
  std::vector<std::vector<held_change>> changes_;
  std::unordered_map<std::uint32_t, std::int64_t> sums_;
};

}  // namespace

operator_of<memory_groups_query> make_operator(const memory_groups_query& query) {
  return std::make_unique<memory_sweep>(query);
}

}  // namespace sluice::query
