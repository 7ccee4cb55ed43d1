#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "core/base/format.hpp"
#include "core/index/labels.hpp"
#include "core/metrics/attribution_choice.hpp"
#include "core/query/engine/metric_source.hpp"
#include "core/query/engine/section_result.hpp"
#include "core/trace/model/names.hpp"

namespace sluice::query {
namespace {

constexpr std::string_view no_stack = "(no stack recorded)";

memory_wanted wanted_of(const stacks_query& query) { return {query.layer, query.device, query.kind}; }

/// Adds up the memory of stacks in a range.
class use_of_range {
 public:
  explicit use_of_range(const stacks_query& query) : query_(query), range_(bounded(query.range)) {}

  void add(const sources& from, time_range part) {
    const bool first = part.begin == range_.begin;
    if (first) about_.choices = list_choices(from);
    if (query_.measure == stack_measure::transferred) {
      use_.join(metrics::copying_stacks(from.index, {query_.device, query_.direction}, range_, from.cancelled, part));
      if (first) use_.time = range_.begin;
      return;
    }
    if (first) about_.choice = choose(about_.choices, wanted_of(query_));
    if (!about_.choice) return;
    const memory_choice& chosen = about_.choices[*about_.choice];
    const metrics::block_filter filter{chosen.layer, chosen.device, chosen.kind};
    const index::memory_use& memory = from.index.memory();
    if (query_.measure == stack_measure::allocated) {
      use_.join(metrics::allocating_stacks(memory, filter, part, from.cancelled));
      if (first) use_.time = range_.begin;
      return;
    }
    const time_ns highest = metrics::peak_time(memory, filter, part, from.cancelled);
    metrics::stack_use held = metrics::live_stacks(memory, filter, highest, from.cancelled);
    if (first || held.bytes() > use_.bytes()) use_ = std::move(held);
  }

  [[nodiscard]] const metrics::stack_use& use() const { return use_; }
  /// The choices, including the shown one.
  [[nodiscard]] const stack_view& about() const { return about_; }

 private:
  const stacks_query query_;
  const time_range range_;
  metrics::stack_use use_;
  stack_view about_;
};

std::uint64_t hash_of(const symbols::frame_line& line) {
  return std::hash<std::string>()(fmt::format("{}\x1f{}\x1f{}", symbols::name_of(line), line.file, line.line));
}

/// Keeps only the lines that the tree uses, and sets each node's id.
void put_lines(const sources& from, stack_view& view) {
  std::unordered_map<std::uint32_t, std::uint32_t> places;
  std::vector<symbols::line_id> used;
  for (metrics::stack_node& node : view.tree.nodes) {
    if (node.depth == 0) continue;
    const auto [place, fresh] = places.try_emplace(node.line, static_cast<std::uint32_t>(used.size()));
    if (fresh) used.push_back(node.line);
    node.line = place->second;
  }
  view.lines = from.frames.describe(used, from.trace.tables());
  std::vector<std::uint64_t> hashes;
  for (const symbols::frame_line& line : view.lines) hashes.push_back(hash_of(line));
  view.ids.reserve(view.tree.nodes.size());
  for (const metrics::stack_node& node : view.tree.nodes) {
    // Mix with the parent's id like boost::hash_combine, for 64 bits.
    std::uint64_t id = node.depth == 0 ? 0 : view.ids[node.parent];
    if (node.depth != 0) id ^= hashes[node.line] + 0x9e3779b97f4a7c15ULL + (id << 12) + (id >> 4);
    view.ids.push_back(id);
  }
}

/// Completes `view` with its choices and tree.
result<stack_view> view_of(const stacks_query& query, const metrics::stack_use& use, const sources& from,
                           stack_view view) {
  const trace::tables& tables = from.trace.tables();
  view.recorded = !tables.stacks.rows().empty();
  view.time = use.time;
  view.kernels_known = use.kernels_known;
  for (const metrics::stack_share& share : use.shares)
    if (share.stack == trace::stack_id::none) view.without = share.metrics;
  metrics::stack_lines lines;
  lines.none = from.frames.remark(no_stack);
  lines.cut = from.frames.remark(symbols::cut_remark);
  lines.of = [&](trace::frame_id frame) {
    auto found = from.frames.lines_of(frame, tables, from.lookup);
    view.symbols_pending |= found.provisional;
    return std::move(found.ids);
  };
  if (query.fold) lines.folded = [&](symbols::line_id line) { return !from.frames.is_own(line); };
  symbols::attributor who(from.frames, tables, from.lookup, &view.symbols_pending);
  if (query.grouping.grouped) {
    view.grouped_by = query.grouping.by.value_or(metrics::most_even(use, who).by);
    lines.group = [&](trace::stack_id stack) {
      return stack == trace::stack_id::none ? lines.none : who.of(stack, *view.grouped_by);
    };
  }
  view.tree = metrics::merge_stacks(use, tables, lines, query.order, query.weight, from.cancelled);
  if (from.cancelled) return fail(error_code::cancelled, "the query was cancelled");
  from.provisional |= view.symbols_pending;
  put_lines(from, view);
  return view;
}

class stacks_of_parts final : public section_result<stack_view> {
 public:
  explicit stacks_of_parts(const stacks_query& query) : query_(query), range_(query) {}

  result<void> add(const sources& from, time_range part) override {
    range_.add(from, part);
    if (from.cancelled) return fail(error_code::cancelled, "the query was cancelled");
    return {};
  }
  result<stack_view> evaluate(const sources& from) override {
    return query::view_of(query_, range_.use(), from, range_.about());
  }

 private:
  const stacks_query query_;
  use_of_range range_;
};

/// The stacks of memory that is live at the requested time.
result<stack_view> live_at(const stacks_query& query, const sources& from) {
  stack_view view;
  view.choices = list_choices(from);
  view.choice = choose(view.choices, wanted_of(query));
  if (!view.choice) return view_of(query, {}, from, std::move(view));
  const memory_choice& chosen = view.choices[*view.choice];
  const metrics::stack_use use = metrics::live_stacks(from.index.memory(), {chosen.layer, chosen.device, chosen.kind},
                                                      bounded(query.at), from.cancelled);
  return view_of(query, use, from, std::move(view));
}

}  // namespace

section_result_for<stacks_query> gather(const stacks_query& query) { return std::make_unique<stacks_of_parts>(query); }

result<stack_view> result_to(const stacks_query& query, const sources& from) {
  if (query.measure == stack_measure::live) return live_at(query, from);
  stacks_of_parts all(query);
  if (const auto added = all.add(from, bounded(query.range)); !added) return tl::unexpected(added.error());
  return all.evaluate(from);
}

std::optional<result<stack_view>> result_from_metrics(const stacks_query& query, const sources& from) {
  const summary::stored_metrics& stored_metrics = *from.stored->metrics;
  if (query.measure == stack_measure::live || !has_metrics_of(query.range, from)) return {};
  stack_view view;
  for (const summary::memory_stacks& memory : stored_metrics.memory)
    view.choices.push_back(choice_of(memory.memory, from.trace.tables()));
  if (query.measure == stack_measure::transferred) {
    if (!query.device && !query.direction) return view_of(query, stored_metrics.all_copies, from, std::move(view));
    for (const summary::copy_stacks& copies : stored_metrics.copies)
      if (query.device == copies.device && query.direction == copies.direction)
        return view_of(query, copies.use, from, std::move(view));
    return {};
  }
  view.choice = choose(view.choices, wanted_of(query));
  if (!view.choice) return view_of(query, {}, from, std::move(view));
  const summary::memory_stacks& chosen = stored_metrics.memory[*view.choice];
  const bool peak = query.measure == stack_measure::peak;
  return view_of(query, peak ? chosen.at_peak : chosen.allocated, from, std::move(view));
}

}  // namespace sluice::query
