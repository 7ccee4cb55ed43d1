#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <vector>

#include "core/trace/model/ids.hpp"

namespace sluice::importing {

/// Finds the call that requested a kernel or copy of an imported trace. A profiler gives both the same number, the
/// correlation id; this table maps these ids to calls. If there are several processes, keys contain the process number
/// in their upper bits; the key 0 means no id. Usually, ids are consecutive and share pages: a call then takes 27
/// bytes, and eight calls take one hash lookup. Scattered ids take up to 220 bytes per call. Not thread-safe.
class call_table {
 public:
  struct call {
    trace::event_id id{};
    trace::time_ns begin = 0;
    std::uint32_t thread = 0;  ///< Importers number threads and processes from 1, so 32 bits suffice.
    std::uint32_t process : 31 = 0;
    std::uint32_t asynchronous : 1 = 0;

    [[nodiscard]] trace::thread_id get_thread() const { return static_cast<trace::thread_id>(thread); }
    [[nodiscard]] trace::process_id find_process() const { return static_cast<trace::process_id>(process); }
  };
  /// Adds a call, or replaces the call with the same key. Amortized O(1).
  void put(std::uint64_t key, const call& output);
  /// Returns the call with that key, or null if there is none. O(1).
  [[nodiscard]] const call* find(std::uint64_t key);

 private:
  static constexpr unsigned page_bits = 3;
  using page = std::array<call, std::size_t{1} << page_bits>;
  struct slot {
    std::uint64_t number = 0;  ///< The page number + 1; 0 if the slot is free.
    page* at = nullptr;
  };
  [[nodiscard]] slot& get_slot(std::uint64_t number);

  std::vector<slot> slots_;  ///< A hash table, whose size is a power of two.
  std::deque<page> pages_;
  slot last_;
};

}  // namespace sluice::importing
