#pragma once

#include <deque>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/trace/model/model.hpp"

namespace sluice::trace {

/// The rows of one table, by id. A new row replaces an earlier row with the same id.
template <class Row>
class table {
 public:
  using id_type = decltype(Row::id);

  void put(Row row) {
    const auto [place, fresh] = by_id_.try_emplace(raw(row.id), rows_.size());
    if (fresh) {
      rows_.push_back(std::move(row));
    } else {
      rows_[place->second] = std::move(row);
    }
  }

  /// Returns the row with `id`, or null. O(1).
  [[nodiscard]] const Row* find(id_type id) const {
    const auto place = by_id_.find(raw(id));
    return place == by_id_.end() ? nullptr : &rows_[place->second];
  }

  /// The rows, in the order in which their ids first appeared.
  [[nodiscard]] const std::vector<Row>& rows() const { return rows_; }

 private:
  std::vector<Row> rows_;
  std::unordered_map<std::uint64_t, std::size_t> by_id_;
};

/// The tables of a recording. They define the ids that its events refer to.
struct tables {
  table<string_row> strings;
  table<host_row> hosts;
  table<process_row> processes;
  table<thread_row> threads;
  table<device_row> devices;
  table<context_row> contexts;
  table<stream_row> streams;
  table<pool_row> pools;
  table<counter_row> counters;
  table<stack_row> stacks;
  table<frame_row> frames;
  table<module_row> modules;
  table<source_row> sources;

  /// Returns the text of `id`; empty for `none` and for an undefined id. Valid while these tables exist.
  [[nodiscard]] std::string_view text(string_id id) const {
    const string_row* row = strings.find(id);
    return row == nullptr ? std::string_view{} : std::string_view{row->text};
  }
};

}  // namespace sluice::trace
