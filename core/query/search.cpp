#include <algorithm>
#include <cctype>
#include <queue>
#include <unordered_map>

#include "core/query/answering.hpp"

namespace sluice::query {
namespace {

using trace::row_type;

/// Which texts hold the wanted part. Ids are dense in files of ours; a file may claim any, so they are looked up in a table.
class wanted_names {
 public:
  wanted_names(const std::string& part, const trace::tables& tables) {
    if (part.empty()) return;
    const std::string wanted = lower(part);
    for (const trace::string_row& row : tables.strings.rows())
      if (lower(row.text).find(wanted) != std::string::npos) hits_.try_emplace(raw(row.id));
  }
  [[nodiscard]] bool none() const { return hits_.empty(); }
  [[nodiscard]] bool holds(trace::string_id name) const { return hits_.contains(raw(name)); }

 private:
  static std::string lower(std::string_view text) {
    std::string made(text);
    std::transform(made.begin(), made.end(), made.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return made;
  }
  std::unordered_map<std::uint64_t, char> hits_;
};

class searcher {
 public:
  searcher(const search_question& question, const sources& from)
      : question_(question), from_(from), names_(question.text, from.trace.tables()) {}

  result<search_results> find() {
    found_.text = question_.text;
    const auto chunks = from_.trace.chunks();
    if (names_.none()) return finish();
    for (std::size_t i = 0; i < chunks.size(); ++i) {
      if (from_.cancelled) return fail(error_code::cancelled, "the search was withdrawn");
      if (auto looked = look(i, chunks[i].type); !looked) return tl::unexpected<error>(looked.error());
    }
    return finish();
  }

 private:
  result<void> look(std::size_t chunk, row_type type) {
    switch (type) {
      case row_type::kernel:
        return look_in<trace::kernel_event>(chunk, &trace::kernel_event::name);
      case row_type::api_call:
        return look_in<trace::api_call_event>(chunk, &trace::api_call_event::name);
      case row_type::host_range:
        return look_in<trace::host_range_event>(chunk, &trace::host_range_event::name);
      case row_type::marker:
        return look_in<trace::marker_event>(chunk, &trace::marker_event::name);
      case row_type::graph_definition:
        return look_in<trace::graph_definition_event>(chunk, &trace::graph_definition_event::name);
      case row_type::file_io:
        return look_in<trace::file_io_event>(chunk, &trace::file_io_event::file);
      case row_type::alloc:
        return look_in<trace::alloc_event>(chunk, &trace::alloc_event::name);
      case row_type::alloc_failed:
        return look_in<trace::alloc_failed_event>(chunk, &trace::alloc_failed_event::name);
      default:
        return {};
    }
  }

  /// The names first: most chunks have none of those wanted, and nothing else of them is read.
  template <class Row>
  result<void> look_in(std::size_t chunk, trace::string_id Row::*name) {
    if (auto got = from_.trace.read_column<Row>(chunk, name, column_); !got) return got;
    trace::string_id last{};
    bool last_held = false;
    places_.clear();
    for (std::size_t i = 0; i < column_.size(); ++i) {
      if (column_[i] != last) {
        last = column_[i];
        last_held = last != trace::string_id::none && names_.holds(last);
      }
      if (last_held) places_.push_back(i);
    }
    if (places_.empty()) return {};
    std::vector<Row> rows;
    if (auto got = from_.trace.read_into<Row>(chunk, rows); !got) return got;
    for (const std::size_t i : places_) take(rows[i], rows[i].*name);
    return {};
  }

  template <class Row>
  void take(const Row& row, trace::string_id name) {
    found_event event;
    event.event = row.id;
    event.begin = analysis::bounded(row.time);
    event.end = std::max(event.begin, analysis::bounded(trace::detail::end_of(row)));
    event.name = name;
    event.kind = trace::type_of_row<Row>;
    ++found_.total;
    found_name& sum = sums_[{name, event.kind}];
    if (sum.count == 0) {
      sum.name = name;
      sum.kind = event.kind;
    }
    ++sum.count;
    sum.time += event.end - event.begin;
    if (sum.count == 1 || event.begin < sum.first.begin) sum.first = event;
    if (sum.count == 1 || event.end - event.begin > sum.longest.end - sum.longest.begin) sum.longest = event;
    earliest_.push(event);
    if (earliest_.size() > search_results::event_limit) earliest_.pop();
  }

  result<search_results> finish() {
    for (const auto& [key, sum] : sums_) found_.names.push_back(sum);
    std::sort(found_.names.begin(), found_.names.end(), [](const found_name& a, const found_name& b) {
      return a.count != b.count ? a.count > b.count : std::tie(a.name, a.kind) < std::tie(b.name, b.kind);
    });
    found_.name_count = found_.names.size();
    if (found_.names.size() > search_results::name_limit) found_.names.resize(search_results::name_limit);
    for (; !earliest_.empty(); earliest_.pop()) found_.events.push_back(earliest_.top());
    std::reverse(found_.events.begin(), found_.events.end());
    return std::move(found_);
  }

  struct earlier {
    bool operator()(const found_event& a, const found_event& b) const {
      return std::tie(a.begin, a.event) < std::tie(b.begin, b.event);
    }
  };

  const search_question& question_;
  const sources& from_;
  wanted_names names_;
  search_results found_;
  std::map<std::pair<trace::string_id, row_type>, found_name> sums_;
  std::priority_queue<found_event, std::vector<found_event>, earlier> earliest_;  ///< The latest of them on top.
  std::vector<trace::string_id> column_;
  std::vector<std::size_t> places_;
};

}  // namespace

result<search_results> answer_to(const search_question& question, const sources& from) {
  return searcher(question, from).find();
}

}  // namespace sluice::query
