#pragma once

#include <cstdint>
#include <vector>

#include "core/analysis/memory_use.hpp"
#include "core/analysis/time_range.hpp"
#include "core/trace/reader.hpp"

/// What memory was like at each mark that a program made (its steps, usually): what a program's own figures are compared with.
namespace sluice::analysis {

/// Of one layer and kind on one device, in the mark's process.
struct memory_at_mark {
  memory_key of;
  std::uint64_t bytes = 0;
  std::uint64_t blocks = 0;
  std::uint64_t segment_bytes = 0;  ///< Of the blocks of lower layers, live then, that ever held one of these.
};

struct counter_at_mark {
  trace::counter_id counter{};
  double value = 0;
};

struct pool_at_mark {
  trace::pool_id pool{};
  std::uint64_t reserved = 0;
  std::uint64_t used = 0;
};

/// Counters and pools: what was last said of them, at the mark or before it.
struct program_mark {
  time_ns time = 0;
  trace::process_id process{};
  trace::thread_id thread{};
  trace::string_id name{};
  std::int64_t step = -1;
  std::vector<memory_at_mark> memory;  ///< By device, layer, kind; only what is there.
  std::vector<counter_at_mark> counters;
  std::vector<pool_at_mark> pools;
};

inline constexpr std::size_t mark_limit = 1000;

/// The marks in `range` in order of time, at most `mark_limit`. A block counts from its birth to the request of its free.
/// Nothing if there are no marks, else O((blocks + counter and pool events) log).
[[nodiscard]] std::vector<program_mark> find_marks(const memory_use& memory, const trace::snapshot& from,
                                                   time_range range);

}  // namespace sluice::analysis
