#pragma once

#include <chrono>
#include <map>
#include <queue>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/query/engine/long_result.hpp"
#include "core/query/results/result_functions.hpp"

/// Searches a file for event names. Private to core/query.
namespace sluice::query {

/// The ids of the names that contain a text. Ids are dense in Sluice's own files, but may be any numbers in other
/// files, so this class keeps them in a hash table.
class wanted_names {
 public:
  /// Searches all texts of the trace. O(total length of the texts).
  wanted_names(const std::string& part, const trace::tables& tables);
  [[nodiscard]] bool none() const { return hits_.empty(); }
  [[nodiscard]] bool holds(trace::string_id name) const { return hits_.contains(raw(name)); }

 private:
  std::unordered_map<std::uint64_t, char> hits_;
};

/// A search in steps. Each step searches one chunk of the file.
class searcher final : public long_result<search_results> {
 public:
  /// `trace` must outlive this object.
  searcher(search_query query, const trace::snapshot& trace);

  [[nodiscard]] result<bool> work(std::chrono::steady_clock::time_point deadline,
                                  const std::atomic<bool>& cancelled) override;
  [[nodiscard]] float progress() const override;
  /// Returns the results so far. O(names + `event_limit` * log(`event_limit`)).
  [[nodiscard]] result<search_results> so_far(bool& provisional) override;

 private:
  result<void> search_chunk(std::size_t chunk);
  template <class Row>
  result<void> look_in(std::size_t chunk, trace::string_id Row::*name);
  template <class Row>
  void take(const Row& row, trace::string_id name);

  struct earlier {
    bool operator()(const found_event& a, const found_event& b) const {
      return std::tie(a.begin, a.event) < std::tie(b.begin, b.event);
    }
  };

  const search_query query_;
  const trace::snapshot& trace_;
  const wanted_names names_;
  const std::vector<std::string> lines_;
  std::size_t next_ = 0;  ///< The next chunk to search.
  std::uint64_t total_ = 0;
  std::map<std::pair<trace::string_id, trace::row_type>, found_name> sums_;
  std::priority_queue<found_event, std::vector<found_event>, earlier> earliest_;  ///< The latest event is on top.
  std::vector<trace::string_id> column_;
  std::vector<std::size_t> places_;
};

}  // namespace sluice::query
