#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/trace/model/model.hpp"

namespace sluice::collector {

/// The blocks that the launch being read has named so far, so that each is written once. A launch with many parameters
/// comes in several records. Not thread-safe.
class launch_blocks {
 public:
  /// Continues with the launch of which this is a row, without its block: forgets the blocks of any other. One call may
  /// launch several kernels, which differ in name or stream. O(1).
  void continue_with(const trace::touch_event& row) {
    const bool same = row.time == last_.time && row.correlation == last_.correlation && row.name == last_.name &&
                      row.stream == last_.stream && row.process == last_.process;
    if (same && launch_ != 0) return;
    last_ = row;
    ++launch_;
  }

  /// True if this launch has not named the block before. O(1). Of a launch that names thousands, some may be new twice.
  [[nodiscard]] bool is_new(trace::block_id block) {
    constexpr std::size_t probes = 8;
    for (std::size_t i = 0; i < probes; ++i) {
      entry& e = entries_[(static_cast<std::size_t>(block) + i) % entries_.size()];
      if (e.launch == launch_ && e.block == block) return false;
      if (e.launch == launch_) continue;
      e = {block, launch_};
      return true;
    }
    return true;
  }

 private:
  /// A block and the launch that named it last; of other launches, the place is free.
  struct entry {
    trace::block_id block{};
    std::uint64_t launch = 0;
  };
  std::array<entry, 4096> entries_{};
  trace::touch_event last_;
  std::uint64_t launch_ = 0;
};

}  // namespace sluice::collector
