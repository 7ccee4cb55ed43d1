#pragma once

#include <chrono>
#include <map>
#include <queue>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/query/answering.hpp"

/// How a search goes through a file. Private to core/query.
namespace sluice::query {

/// Which texts hold the wanted part. Ids are dense in files of ours; a file may claim any, so they are looked up in a table.
class wanted_names {
 public:
  /// O(all texts).
  wanted_names(const std::string& part, const trace::tables& tables);
  [[nodiscard]] bool none() const { return hits_.empty(); }
  [[nodiscard]] bool holds(trace::string_id name) const { return hits_.contains(raw(name)); }

 private:
  std::unordered_map<std::uint64_t, char> hits_;
};

/// A search that can be interrupted after any chunk of the file, and says what it has found so far. Not thread-safe.
class searcher {
 public:
  /// `trace` outlives it.
  searcher(search_question question, const trace::snapshot& trace);

  [[nodiscard]] const search_question& question() const { return question_; }
  /// Looks into the next chunk, and further ones until `deadline`. True once all have been looked into. Errors: cancelled, as soon as
  /// `cancelled` is set; those of reading.
  [[nodiscard]] result<bool> work(std::chrono::steady_clock::time_point deadline, const std::atomic<bool>& cancelled);
  /// Share of the file that has been looked into, 0..1.
  [[nodiscard]] float progress() const;
  /// Of what has been looked into. O(names + `event_limit` * log of it).
  [[nodiscard]] search_results so_far() const;

 private:
  result<void> look(std::size_t chunk);
  template <class Row>
  result<void> look_in(std::size_t chunk, trace::string_id Row::*name);
  template <class Row>
  void take(const Row& row, trace::string_id name);

  struct earlier {
    bool operator()(const found_event& a, const found_event& b) const {
      return std::tie(a.begin, a.event) < std::tie(b.begin, b.event);
    }
  };

  const search_question question_;
  const trace::snapshot& trace_;
  const wanted_names names_;
  std::size_t next_ = 0;  ///< The chunk to look into.
  std::uint64_t total_ = 0;
  std::map<std::pair<trace::string_id, trace::row_type>, found_name> sums_;
  std::priority_queue<found_event, std::vector<found_event>, earlier> earliest_;  ///< The latest of them on top.
  std::vector<trace::string_id> column_;
  std::vector<std::size_t> places_;
};

}  // namespace sluice::query
