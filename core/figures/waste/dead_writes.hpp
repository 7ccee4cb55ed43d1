#pragma once

#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "core/figures/figures_scope.hpp"
#include "core/index/memory/memory_use.hpp"
#include "core/index/memory/touches.hpp"
#include "core/timeline/time_range.hpp"

/// Blocks that are written as a whole, and written as a whole again before anything reads them. Sizes in bytes.
namespace sluice::analysis {

class index;

/// Such writes of the blocks that one call stack allocated.
struct dead_write_group {
  trace::device_id device{};
  trace::layer layer = trace::layer::driver;
  trace::stack_id stack{};                 ///< That allocated the blocks.
  access_kind first = access_kind::clear;  ///< What the first write was: a clear, an upload, or another copy.
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;  ///< Written for nothing.
  time_range longest;       ///< From the first write to the second, of the largest block.
  trace::block_id largest{};
  std::uint64_t largest_bytes = 0;
};

/// Finds dead writes from indexes of sections, in order of time. Only copies and memsets are known to overwrite a block as
/// a whole; a kernel may read it. Both writes must be in one section.
class dead_writes_builder {
 public:
  explicit dead_writes_builder(const figures_scope& scope) : scope_(scope) {}  ///< It must outlive this.

  /// Adds the accesses in `run`. O(accesses * log blocks).
  void add(const index& from, time_range run);
  /// Most bytes first, at most `limit`.
  [[nodiscard]] std::vector<dead_write_group> groups() const;
  static constexpr std::size_t limit = 32;

 private:
  const figures_scope& scope_;
  std::map<std::tuple<trace::device_id, trace::layer, trace::stack_id, access_kind>, dead_write_group> all_;
};

}  // namespace sluice::analysis
