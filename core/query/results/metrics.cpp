#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "core/base/format.hpp"
#include "core/metrics/make_report.hpp"
#include "core/query/results/blocks.hpp"
#include "core/query/results/metric_source.hpp"
#include "core/query/results/query_operator.hpp"

namespace sluice::query {

namespace {

class statistics_of_parts final : public range_operator<metrics::range_statistics> {
 public:
  explicit statistics_of_parts(time_range range) : range_operator(range), measured_(range) {}

  result<void> add(const sources& source, time_range part) override {
    measured_.add(source.index, part);
    return {};
  }
  result<metrics::range_statistics> finish(const sources& source) override {
    return measured_.metrics(source.trace.tables());
  }

 private:
  metrics::range_measurer measured_;
};

}  // namespace

operator_of<statistics_query> make_operator(const statistics_query& query) {
  return std::make_unique<statistics_of_parts>(query.range);
}

result<metrics::report> result_to(const report_query&, const sources& source) {
  return metrics::make_report(source.index, source.trace, std::nullopt,
                              {source.frames, source.lookup, &source.provisional});
}

namespace {

/// A time at which events were lost, from any of the rows that report losses.
struct loss {
  time_ns time = 0;
  std::uint64_t events = 0;
  std::uint64_t memory_events = 0;
};

std::vector<message> get_messages(const trace::snapshot& trace, std::span<const std::string> warnings,
                                  std::span<const index::recorded_message> messages, std::span<const loss> losses) {
  using trace::severity;
  std::vector<message> items;
  const time_ns begin = index::recorded_range(trace).begin;
  for (const std::string& warning : trace.warnings()) items.push_back({severity::warning, warning, begin});
  for (const std::string& warning : warnings) items.push_back({severity::warning, warning, begin});
  if (auto note = symbols::untrusted_note(trace)) items.push_back({severity::info, std::move(*note), 0});
  const std::size_t of_file = items.size();
  for (const index::recorded_message& m : messages)
    items.push_back({m.severity, std::string(trace.tables().text(m.text)), m.time});
  for (const loss& each : losses) {
    std::string text = fmt::format("the recorder lost {}", format_some(each.events, "event"));
    if (each.memory_events > 0) {
      text += fmt::format(", {} of them allocations and frees: memory metrics are not exact after this",
                          format_count(each.memory_events));
    }
    items.push_back({severity::warning, std::move(text), each.time});
  }
  std::stable_sort(items.begin() + static_cast<std::ptrdiff_t>(of_file), items.end(),
                   [](const message& a, const message& b) { return a.time < b.time; });
  return items;
}

}  // namespace

result<std::vector<message>> result_to(const messages_query&, const sources& source) {
  std::vector<loss> losses;
  for (const trace::loss_event& row : source.index.memory().losses())
    losses.push_back({bounded(row.time), row.events, row.memory_events});
  return get_messages(source.trace, source.index.warnings(), source.index.messages(), losses);
}

// --- from stored metrics -----------------------------------------------------------------------------------------

std::optional<result<metrics::range_statistics>> result_from_metrics(const statistics_query& query,
                                                                     const sources& source) {
  if (!has_metrics_of(query.range, source)) return {};
  return source.stored->metrics->metrics.whole;
}

std::optional<result<metrics::report>> result_from_metrics(const report_query&, const sources& source) {
  auto report = metrics::make_report(source.stored->metrics->metrics, source.trace,
                                     {source.frames, source.lookup, &source.provisional});
  report.span = source.stored->metrics->span;
  return report;
}

std::optional<result<std::vector<message>>> result_from_metrics(const messages_query&, const sources& source) {
  std::vector<loss> losses;
  for (const summary::loss_span& span : source.stored->metrics->losses)
    losses.push_back({span.begin, span.events, span.memory_events});
  return get_messages(source.trace, source.stored->metrics->metrics.warnings, source.stored->metrics->metrics.messages,
                      losses);
}

static_assert(summary::stored_metrics::block_limit >= block_table::first_rows);

std::optional<result<block_table>> result_from_metrics(const blocks_query& query, const sources& source) {
  const summary::stored_metrics& stored = *source.stored->metrics;
  const bool unfiltered = has_metrics_of(query.range, source) && !query.only_unfreed && !query.only_unused &&
                          !query.category && query.min_bytes == 0 && !query.device && !query.kind &&
                          query.process == trace::process_id::none && !query.groups && query.filter.empty();
  const bool biggest_first = query.sort == block_column::bytes && query.descending;
  if (!unfiltered || !biggest_first) return {};
  block_table table;
  for (std::size_t i = 0; i < stored.blocks.size(); ++i) {
    if (query.layer && *query.layer != static_cast<trace::layer>(i)) continue;
    table.count += stored.blocks[i].count;
    table.total_bytes += stored.blocks[i].bytes;
  }
  if (table.count > summary::stored_metrics::block_limit && query.rows > summary::stored_metrics::block_limit)
    return {};
  // The file stores the largest blocks of each layer, so these include the largest of all layers.
  const std::size_t most = std::min(query.rows, summary::stored_metrics::block_limit);
  for (const block_row& row : stored.largest)
    if (table.rows.size() < most && (!query.layer || row.layer == *query.layer)) table.rows.push_back(row);
  if (!query.needs_uses())
    for (block_row& row : table.rows) row.set_uses({});
  table.uses_known = query.needs_uses() && stored.uses_known;
  complete_rows(query, source, source.stored->facts ? source.stored->facts->steps.get() : nullptr, table);
  return table;
}

}  // namespace sluice::query
