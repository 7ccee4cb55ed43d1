#include "core/query/results/blocks.hpp"

#include <algorithm>
#include <optional>
#include <span>
#include <unordered_map>
#include <unordered_set>

#include "core/index/tensor_facts.hpp"
#include "core/metrics/base/attribution_choice.hpp"
#include "core/metrics/statistics/unfreed.hpp"
#include "core/query/engine/section_result.hpp"
#include "core/query/results/block_text_filter.hpp"
#include "core/query/results/panels/block_groups.hpp"

namespace sluice::query {
namespace {

using index::block_record;

/// The table may hold this many more rows than requested before it drops the excess.
constexpr std::size_t rows_between_cuts = std::size_t{1} << 14;

/// Returns the time by which blocks are sorted, which puts blocks that were never freed last.
time_ns death(const block_row& row) { return row.died == trace::unknown_time ? INT64_MAX : row.died; }
time_ns lifetime(const block_row& row) { return row.died == trace::unknown_time ? INT64_MAX : row.died - row.born; }

int three_way(auto a, auto b) { return a < b ? -1 : b < a ? 1 : 0; }

int compare(const block_row& a, const block_row& b, block_column by, const trace::tables& tables, time_ns end) {
  switch (by) {
    case block_column::address:
      return three_way(a.address, b.address);
    case block_column::bytes:
      return three_way(a.bytes, b.bytes);
    case block_column::layer:
      return three_way(a.layer, b.layer);
    case block_column::kind:
      return three_way(a.kind, b.kind);
    case block_column::born:
      return three_way(a.born, b.born);
    case block_column::died:
      return three_way(death(a), death(b));
    case block_column::lifetime:
      return three_way(lifetime(a), lifetime(b));
    case block_column::name:
      return a.name == b.name ? 0 : three_way(tables.text(a.name), tables.text(b.name));
    case block_column::category:
      return three_way(a.category.kind, b.category.kind);
    case block_column::first_use:
      return three_way(a.first_use, b.first_use);
    case block_column::last_use:
      return three_way(a.last_use, b.last_use);
    case block_column::idle:
      return three_way(idle_at_end(a, end), idle_at_end(b, end));
  }
  return 0;
}

struct row_order {
  const blocks_query& query;
  const trace::tables& tables;
  time_ns end;  ///< The end of the recording.
  bool operator()(const block_row& a, const block_row& b) const {
    const int order = compare(a, b, query.sort, tables, end);
    if (order != 0) return query.descending ? order > 0 : order < 0;
    return a.block < b.block;
  }
};

/// The blocks that contain others, such as segments. They have no uses of their own, because programs use the inner
/// blocks.
class holders {
 public:
  explicit holders(const sources& source) {
    // The file's list of segments is long for a job of many ranks, so it is not copied for each section.
    if (const index::section_facts* known = source.index.known_from_file()) known_ = known->whole->segments;
    for (const block_record& block : source.index.memory().blocks())
      if (block.parent != trace::block_id::none) here_.insert(raw(block.parent));
  }
  [[nodiscard]] bool contain(trace::block_id block) const {
    return here_.contains(raw(block)) || std::binary_search(known_.begin(), known_.end(), block);
  }

 private:
  std::span<const trace::block_id> known_;  ///< Sorted.
  std::unordered_set<std::uint64_t> here_;
};

/// Keeps the first rows in the requested order.
class table_of_blocks final : public section_result<block_table> {
 public:
  explicit table_of_blocks(const blocks_query& query) : query_(query), range_(bounded(query.range)) {}

  result<void> add(const sources& source, time_range part) override {
    if (!filter_) filter_.emplace(query_.filter, source);
    if (query_.groups && !groups_) groups_.emplace(*query_.groups, source);
    const auto facts = source.index.tensors(source.trace);
    steps_ = facts->steps;
    const metrics::cut_end end(source.trace);
    const index::touch_index& touches = source.index.touches();
    const bool uses = query_.needs_uses() && !touches.empty();
    table_.uses_known = table_.uses_known || uses;
    std::optional<holders> held_in;
    if (query_.only_unused) held_in.emplace(source);
    std::size_t seen = 0;
    for (const block_record& block : source.index.memory().blocks()) {
      if ((++seen & 0xfffU) == 0 && source.cancelled) return fail(error_code::cancelled, "the query was cancelled");
      if (!block.allocated || !block.live_in(part)) continue;
      // Blocks that began in an earlier section were counted there.
      if (part.begin != range_.begin && block.born < part.begin) continue;
      if (query_.layer && block.layer != *query_.layer) continue;
      if (query_.device && block.device != *query_.device) continue;
      if (query_.kind && block.kind != *query_.kind) continue;
      if (query_.process != trace::process_id::none && block.process != query_.process) continue;
      if (query_.only_unfreed && !metrics::is_unfreed(block, end)) continue;
      if (block.bytes < query_.min_bytes) continue;
      const auto category = seen <= facts->categories.size() ? facts->categories[seen - 1] : index::block_category{};
      if (query_.category && category.kind != *query_.category) continue;
      if (groups_ && !groups_->takes(block)) continue;
      if (!filter_->takes(block)) continue;
      block_row row = metrics::listed(block, category);
      if (uses) row.set_uses(touches.of(block));
      if (query_.only_unused &&
          (!uses || row.uses > 0 || !index::is_device_resident(block.kind) || held_in->contain(block.id)))
        continue;
      ++table_.count;
      table_.total_bytes += block.bytes;
      table_.rows.push_back(row);
      if (table_.rows.size() >= rows_between_cuts + max_rows()) cut(source);
    }
    cut(source);
    return {};
  }

  result<block_table> evaluate(const sources& source) override {
    std::sort(table_.rows.begin(), table_.rows.end(), order(source));
    block_table table = table_;
    complete_rows(query_, source, steps_.get(), table);
    return table;
  }

  /// Returns the final result. Call after the last `add`.
  block_table take(const sources& source) {
    std::sort(table_.rows.begin(), table_.rows.end(), order(source));
    complete_rows(query_, source, steps_.get(), table_);
    return std::move(table_);
  }

 private:
  [[nodiscard]] std::size_t max_rows() const { return std::min(query_.rows, block_table::row_limit); }

  [[nodiscard]] row_order order(const sources& source) const {
    return {query_, source.trace.tables(), index::recorded_range(source.trace).end};
  }

  void cut(const sources& source) {
    const std::size_t most = max_rows();
    if (table_.rows.size() <= most) return;
    const auto behind = table_.rows.begin() + static_cast<std::ptrdiff_t>(most);
    std::nth_element(table_.rows.begin(), behind, table_.rows.end(), order(source));
    table_.rows.erase(behind, table_.rows.end());
  }

  const blocks_query query_;
  const time_range range_;
  std::optional<text_filter> filter_;
  std::optional<group_filter> groups_;
  std::shared_ptr<const index::step_facts> steps_;
  block_table table_;
};

void put_asked_by(const blocks_query& query, const sources& source, block_table& table) {
  metrics::stack_use use;
  for (const block_row& row : table.rows) use.shares.push_back({row.stack, {row.bytes, 1, 0, 0}});
  symbols::attributor who(source.frames, source.trace.tables(), source.lookup, &source.provisional);
  table.by = query.by.value_or(metrics::most_even(use, who).by);
  std::unordered_map<symbols::line_id, std::uint32_t> places;
  std::unordered_map<std::uint64_t, std::uint32_t> frameworks;
  const auto put = [&](std::string name) {
    table.names.push_back(std::move(name));
    return static_cast<std::uint32_t>(table.names.size() - 1);
  };
  const std::uint32_t nobody = put("");
  for (const block_row& row : table.rows) {
    std::uint32_t place = nobody;
    const bool owned = table.by == symbols::attribution::owner && row.layer > trace::layer::pool;
    if (owned) {
      // A framework owns the memory that it hands out, so its name is the owner's.
      const auto [at, fresh] = frameworks.try_emplace(raw(row.name), nobody);
      if (fresh) at->second = put(std::string(source.trace.tables().text(row.name)));
      place = at->second;
    } else if (row.stack != trace::stack_id::none) {
      const symbols::line_id line = who.of(row.stack, table.by);
      const auto [at, fresh] = places.try_emplace(line, nobody);
      if (fresh && line != who.unknown(table.by))
        at->second = put(symbols::format_place_and_name(source.frames.line(line)));
      place = at->second;
    }
    table.asked_by.push_back(place);
  }
}

void put_steps(const index::step_facts* steps, block_table& table) {
  if (steps == nullptr || steps->lists().empty()) return;
  const auto& lists = steps->lists();
  table.steps.reserve(table.rows.size());
  for (const block_row& row : table.rows) {
    const auto found = lists.find(row.process);
    const index::step* in = found == lists.end() ? nullptr : found->second.at(row.born);
    table.steps.push_back(in == nullptr ? -1 : in->number);
  }
}

}  // namespace

bool blocks_query::needs_uses() const {
  return with_uses || only_unused || sort == block_column::first_use || sort == block_column::last_use ||
         sort == block_column::idle;
}

void complete_rows(const blocks_query& query, const sources& source, const index::step_facts* steps,
                   block_table& table) {
  put_steps(steps, table);
  put_asked_by(query, source, table);
}

section_result_for<blocks_query> gather(const blocks_query& query) { return std::make_unique<table_of_blocks>(query); }

result<block_table> result_to(const blocks_query& query, const sources& source) {
  table_of_blocks blocks(query);
  if (const auto added = blocks.add(source, bounded(query.range)); !added) return tl::unexpected(added.error());
  return blocks.take(source);
}

}  // namespace sluice::query
