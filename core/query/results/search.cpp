#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <queue>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/base/format.hpp"
#include "core/base/lower_case.hpp"
#include "core/base/saturating.hpp"
#include "core/query/results/query_operator.hpp"
#include "core/symbols/frames.hpp"

namespace sluice::query {
namespace {

using trace::row_type;

/// Returns the distinct source lines whose file or function contains `part`, sorted. O(frames).
std::vector<std::string> lines_with(const std::string& part, const trace::tables& tables) {
  std::set<std::string> found;
  if (part.empty()) return {};
  const std::string wanted = lower_case(part);
  for (const trace::frame_row& row : tables.frames.rows()) {
    if (row.function == trace::string_id::none) continue;
    symbols::frame_line line;
    line.kind = row.kind;
    line.function = readable_name(tables.text(row.function));
    line.file = tables.text(row.file);
    line.line = row.line;
    std::string words = symbols::format_place_and_name(line);
    if (lower_case(words).find(wanted) == std::string::npos) continue;
    found.insert(std::move(words));
    if (found.size() > search_results::line_limit) break;
  }
  std::vector<std::string> strings(found.begin(), found.end());
  if (strings.size() > search_results::line_limit) strings.pop_back();
  return strings;
}

/// The ids of the names that contain a text. Ids are dense in Sluice's own files, but may be any numbers in other
/// files, so this class keeps them in a hash table.
class wanted_names {
 public:
  /// Searches all texts of the trace. O(total length of the texts).
  wanted_names(const std::string& part, const trace::tables& tables) {
    if (part.empty()) return;
    const std::string wanted = lower_case(part);
    for (const trace::string_row& row : tables.strings.rows())
      if (lower_case(row.text).find(wanted) != std::string::npos) hits_.try_emplace(raw(row.id));
  }
  [[nodiscard]] bool none() const { return hits_.empty(); }
  [[nodiscard]] bool holds(trace::string_id name) const { return hits_.contains(raw(name)); }

 private:
  std::unordered_map<std::uint64_t, char> hits_;
};

/// Searches one chunk of the file after another.
class searcher final : public chunk_operator<search_results> {
 public:
  explicit searcher(search_query query) : query_(std::move(query)) {}

  result<reading_plan> plan(const sources& source) override {
    names_.emplace(query_.text, source.trace.tables());
    lines_ = lines_with(query_.text, source.trace.tables());
    auto plan = chunk_operator::plan(source);
    if (names_->none()) chunks_ = 0;
    return plan;
  }
  [[nodiscard]] share remaining_work() const override { return {next_, chunks_}; }
  result<void> work(const sources& source) override { return search_chunk(source.trace, next_++); }

  /// O(names + `event_limit` * log(`event_limit`)).
  result<search_results> finish(const sources& /*source*/) override {
    search_results found;
    found.text = query_.text;
    found.total = total_;
    found.lines = lines_;
    for (const auto& [key, sum] : sums_) found.names.push_back(sum);
    std::sort(found.names.begin(), found.names.end(), [](const found_name& a, const found_name& b) {
      return a.count != b.count ? a.count > b.count : std::tie(a.name, a.kind) < std::tie(b.name, b.kind);
    });
    found.name_count = found.names.size();
    if (found.names.size() > search_results::name_limit) found.names.resize(search_results::name_limit);
    for (auto rest = earliest_; !rest.empty(); rest.pop()) found.events.push_back(rest.top());
    std::reverse(found.events.begin(), found.events.end());
    return found;
  }

 private:
  result<void> search_chunk(const trace::snapshot& trace, std::size_t chunk) {
    switch (trace.chunks()[chunk].type) {
      case row_type::kernel:
        return look_in<trace::kernel_event>(trace, chunk, &trace::kernel_event::name);
      case row_type::api_call:
        return look_in<trace::api_call_event>(trace, chunk, &trace::api_call_event::name);
      case row_type::host_range:
        return look_in<trace::host_range_event>(trace, chunk, &trace::host_range_event::name);
      case row_type::marker:
        return look_in<trace::marker_event>(trace, chunk, &trace::marker_event::name);
      case row_type::graph_definition:
        return look_in<trace::graph_definition_event>(trace, chunk, &trace::graph_definition_event::name);
      case row_type::file_io:
        return look_in<trace::file_io_event>(trace, chunk, &trace::file_io_event::file);
      case row_type::alloc:
        return look_in<trace::alloc_event>(trace, chunk, &trace::alloc_event::name);
      case row_type::alloc_failed:
        return look_in<trace::alloc_failed_event>(trace, chunk, &trace::alloc_failed_event::name);
      default:
        return {};
    }
  }

  /// Reads the name column first, because most chunks have none of the wanted names. Reads only the other chunks
  /// completely.
  template <class Row>
  result<void> look_in(const trace::snapshot& trace, std::size_t chunk, trace::string_id Row::*name) {
    if (auto got = trace.read_column<Row>(chunk, name, column_); !got) return got;
    trace::string_id last{};
    bool last_held = false;
    places_.clear();
    for (std::size_t i = 0; i < column_.size(); ++i) {
      if (column_[i] != last) {
        last = column_[i];
        last_held = last != trace::string_id::none && names_->holds(last);
      }
      if (last_held) places_.push_back(i);
    }
    if (places_.empty()) return {};
    std::vector<Row> rows;
    if (auto got = trace.read_into<Row>(chunk, rows); !got) return got;
    for (const std::size_t i : places_) take(rows[i], rows[i].*name);
    return {};
  }

  template <class Row>
  void take(const Row& row, trace::string_id name) {
    found_event event;
    event.event = row.id;
    event.begin = bounded(row.time);
    event.end = std::max(event.begin, bounded(trace::detail::get_end(row)));
    event.name = name;
    event.kind = trace::type_of_row<Row>;
    ++total_;
    found_name& sum = sums_[{name, event.kind}];
    if (sum.count == 0) {
      sum.name = name;
      sum.kind = event.kind;
    }
    ++sum.count;
    saturating_add(sum.time, event.end - event.begin);
    if (sum.count == 1 || event.begin < sum.first.begin) sum.first = event;
    if (sum.count == 1 || event.end - event.begin > sum.longest.end - sum.longest.begin) sum.longest = event;
    earliest_.push(event);
    if (earliest_.size() > search_results::event_limit) earliest_.pop();
  }

  struct earlier {
    bool operator()(const found_event& a, const found_event& b) const {
      return std::tie(a.begin, a.event) < std::tie(b.begin, b.event);
    }
  };

  const search_query query_;
  std::optional<wanted_names> names_;  ///< Set by `plan`.
  std::vector<std::string> lines_;
  std::uint64_t total_ = 0;
  std::map<std::pair<trace::string_id, trace::row_type>, found_name> sums_;
  std::priority_queue<found_event, std::vector<found_event>, earlier> earliest_;  ///< The latest event is on top.
  std::vector<trace::string_id> column_;
  std::vector<std::size_t> places_;
};

}  // namespace

operator_of<search_query> make_operator(const search_query& query) { return std::make_unique<searcher>(query); }

}  // namespace sluice::query
