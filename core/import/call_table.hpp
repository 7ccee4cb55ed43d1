#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <vector>

#include "core/trace/model/ids.hpp"

namespace sluice::importing {

/// The calls of an imported trace by what joins them with the work that they asked for: correlation ids, with the process's number
/// above where there are several; 0 is none. Ids that follow one another, as they do, lie beside one another: 27 bytes a call, and
/// one look into the hash table for eight of them. At worst, with ids that are strewn, 220 bytes a call. Not thread-safe.
class call_table {
 public:
  struct call {
    trace::event_id id{};
    trace::time_ns begin = 0;
    std::uint32_t thread = 0;  ///< Importers count threads and processes from 1, so 32 bits hold them.
    std::uint32_t process : 31 = 0;
    std::uint32_t asynchronous : 1 = 0;

    [[nodiscard]] trace::thread_id thread_of() const { return static_cast<trace::thread_id>(thread); }
    [[nodiscard]] trace::process_id process_of() const { return static_cast<trace::process_id>(process); }
  };
  /// Replaces what had the same key. Amortised O(1).
  void put(std::uint64_t key, const call& made);
  /// Null if there is none. O(1).
  [[nodiscard]] const call* find(std::uint64_t key);

 private:
  static constexpr unsigned page_bits = 3;
  using page = std::array<call, std::size_t{1} << page_bits>;
  struct slot {
    std::uint64_t number = 0;  ///< Of the page, and one; 0: free.
    page* at = nullptr;
  };
  [[nodiscard]] slot& slot_of(std::uint64_t number);

  std::vector<slot> slots_;  ///< A power of two.
  std::deque<page> pages_;
  slot last_;
};

}  // namespace sluice::importing
