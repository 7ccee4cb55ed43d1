#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "core/base/format.hpp"
#include "core/query/answers/blocks.hpp"
#include "core/query/engine/figure_source.hpp"
#include "core/query/engine/section_answer.hpp"

namespace sluice::query {

namespace {

class statistics_of_parts final : public section_answer<analysis::range_statistics> {
 public:
  explicit statistics_of_parts(time_range range) : measured_(range) {}

  result<void> add(const sources& from, time_range part) override {
    measured_.add(from.index, part);
    return {};
  }
  result<analysis::range_statistics> answer(const sources& from) override {
    return measured_.figures(from.trace.tables());
  }

 private:
  analysis::range_measurer measured_;
};

}  // namespace

section_answer_for<statistics_question> gather(const statistics_question& question) {
  return std::make_unique<statistics_of_parts>(question.range);
}

result<analysis::range_statistics> answer_to(const statistics_question& question, const sources& from) {
  return analysis::measure(from.index, from.trace.tables(), question.range);
}

result<analysis::report> answer_to(const report_question&, const sources& from) {
  return analysis::make_report(from.index, from.trace, std::nullopt, {from.frames, from.lookup, &from.provisional});
}

namespace {

/// A time at which events were lost, from any source.
struct loss {
  time_ns time = 0;
  std::uint64_t events = 0;
  std::uint64_t memory_events = 0;
};

std::vector<message> messages_of(const trace::snapshot& trace, std::span<const std::string> warnings,
                                 std::span<const analysis::recorded_message> messages, std::span<const loss> losses) {
  using trace::severity;
  std::vector<message> all;
  const time_ns begin = analysis::time_range_of(trace).begin;
  for (const std::string& warning : trace.warnings()) all.push_back({severity::warning, warning, begin});
  for (const std::string& warning : warnings) all.push_back({severity::warning, warning, begin});
  if (auto note = symbols::untrusted_note(trace)) all.push_back({severity::info, std::move(*note), 0});
  const std::size_t of_file = all.size();
  for (const analysis::recorded_message& m : messages)
    all.push_back({m.severity, std::string(trace.tables().text(m.text)), m.time});
  for (const loss& each : losses) {
    std::string text = fmt::format("the recorder lost {}", format_some(each.events, "event"));
    if (each.memory_events > 0) {
      text += fmt::format(", {} of them allocations and frees: memory figures are not exact after this",
                          format_count(each.memory_events));
    }
    all.push_back({severity::warning, std::move(text), each.time});
  }
  std::stable_sort(all.begin() + static_cast<std::ptrdiff_t>(of_file), all.end(),
                   [](const message& a, const message& b) { return a.time < b.time; });
  return all;
}

}  // namespace

result<std::vector<message>> answer_to(const messages_question&, const sources& from) {
  std::vector<loss> losses;
  for (const trace::loss_event& row : from.index.memory().losses())
    losses.push_back({analysis::bounded(row.time), row.events, row.memory_events});
  return messages_of(from.trace, from.index.warnings(), from.index.messages(), losses);
}

// --- from stored figures -----------------------------------------------------------------------------------------

bool has_figures_of(time_range range, const sources& from) {
  const time_range asked = analysis::bounded(range), known = from.stored->figures->span;
  return asked == known || (from.trace.growing() && asked.begin == known.begin && asked.end >= known.end);
}

std::optional<result<analysis::range_statistics>> answer_from_figures(const statistics_question& question,
                                                                      const sources& from) {
  if (!has_figures_of(question.range, from)) return {};
  return from.stored->figures->figures.whole;
}

std::optional<result<analysis::report>> answer_from_figures(const report_question&, const sources& from) {
  auto made =
      analysis::make_report(from.stored->figures->figures, from.trace, {from.frames, from.lookup, &from.provisional});
  made.span = from.stored->figures->span;
  return made;
}

std::optional<result<std::vector<message>>> answer_from_figures(const messages_question&, const sources& from) {
  std::vector<loss> losses;
  for (const analysis::loss_span& span : from.stored->figures->losses)
    losses.push_back({span.begin, span.events, span.memory_events});
  return messages_of(from.trace, from.stored->figures->figures.warnings, from.stored->figures->figures.messages,
                     losses);
}

static_assert(analysis::stored_figures::block_limit >= block_table::first_rows);

std::optional<result<block_table>> answer_from_figures(const blocks_question& question, const sources& from) {
  const analysis::stored_figures& stored = *from.stored->figures;
  const bool unfiltered = has_figures_of(question.range, from) && !question.only_unfreed && !question.only_unused &&
                          !question.category && question.least_bytes == 0 && !question.device && !question.kind &&
                          question.process == trace::process_id::none && !question.groups && question.filter.empty();
  const bool biggest_first = question.sort == block_column::bytes && question.descending;
  if (!unfiltered || !biggest_first) return {};
  block_table table;
  for (std::size_t i = 0; i < stored.blocks.size(); ++i) {
    if (question.layer && *question.layer != static_cast<trace::layer>(i)) continue;
    table.count += stored.blocks[i].count;
    table.total_bytes += stored.blocks[i].bytes;
  }
  if (table.count > analysis::stored_figures::block_limit && question.rows > analysis::stored_figures::block_limit)
    return {};
  // Each layer's largest blocks are stored, so the largest of all layers are among them.
  const std::size_t most = std::min(question.rows, analysis::stored_figures::block_limit);
  for (const block_row& row : stored.largest)
    if (table.rows.size() < most && (!question.layer || row.layer == *question.layer)) table.rows.push_back(row);
  if (!question.needs_uses())
    for (block_row& row : table.rows) row.set_uses({});
  table.uses_known = question.needs_uses() && stored.uses_known;
  complete_rows(question, from, from.stored->facts ? from.stored->facts->steps.get() : nullptr, table);
  return table;
}

}  // namespace sluice::query
