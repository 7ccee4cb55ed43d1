#pragma once

#include <cstddef>
#include <cstdint>
#include <variant>
#include <vector>

#include "core/trace/model/model.hpp"

namespace sluice::writer {

/// The completion of a free whose row was finished earlier.
struct late_completion {
  trace::event_id free{};  ///< The row of the free.
  trace::time_ns time = 0;
};

/// The rows that a `block_ledger` has finished and that are not in the file yet, in the order in which they belong
/// there. Each row is an event and gets the next id when it is added. The caller of the ledger owns this object, and
/// writes its rows before any other event. The memory is reused. Not thread-safe.
class block_rows {
 public:
  using row = std::variant<trace::alloc_event, trace::free_event, late_completion>;

  /// Removes all rows. `last_event`: the last id that the file has assigned; the next row gets the id after it.
  void restart(std::uint64_t last_event) {
    rows_.clear();
    last_event_ = last_event;
  }

  /// Takes the next id, for a row that the caller writes itself or adds with `insert`.
  [[nodiscard]] trace::event_id take_id() { return static_cast<trace::event_id>(++last_event_); }

  /// Adds a row and returns its id. A `late_completion` takes an id, too, because it becomes an event. Amortized O(1).
  trace::event_id add(const trace::alloc_event& event) { return add_event(event); }
  trace::event_id add(const trace::free_event& event) { return add_event(event); }
  trace::event_id add(const late_completion& completion) {
    rows_.emplace_back(completion);
    return take_id();
  }

  /// Adds a row that has its id already, before the row at `position`. O(rows after it).
  void insert(std::size_t position, const trace::alloc_event& event) {
    rows_.emplace(rows_.begin() + static_cast<std::ptrdiff_t>(position), event);
  }

  [[nodiscard]] bool empty() const { return rows_.empty(); }
  [[nodiscard]] std::size_t size() const { return rows_.size(); }
  [[nodiscard]] std::vector<row>::const_iterator begin() const { return rows_.begin(); }
  [[nodiscard]] std::vector<row>::const_iterator end() const { return rows_.end(); }

 private:
  template <class Event>
  trace::event_id add_event(const Event& event) {
    rows_.emplace_back(event);
    return std::get_if<Event>(&rows_.back())->id = take_id();
  }

  std::uint64_t last_event_ = 0;
  std::vector<row> rows_;
};

}  // namespace sluice::writer
