#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/trace/model/model.hpp"

namespace sluice::writer {

/// The blocks already written for the current launch, so that each block is written once even if the launch consists of
/// several records (because it has many parameters). Not thread-safe.
class launch_blocks {
 public:
  /// Sets the current launch to the launch that `row` describes (`row.block` is ignored), and forgets the blocks of any
  /// other launch. One call may launch several kernels, which differ in name or stream. O(1).
  void continue_with(const trace::touch_event& row) {
    const bool same = row.time == last_.time && row.correlation == last_.correlation && row.name == last_.name &&
                      row.stream == last_.stream && row.process == last_.process;
    if (same && launch_ != 0) return;
    last_ = row;
    ++launch_;
  }

  /// Returns true the first time it is called with this block for the current launch. O(1). If the launch has thousands
  /// of blocks, it may return true twice for some.
  [[nodiscard]] bool is_new(trace::block_id block) {
    constexpr std::size_t probes = 8;
    for (std::size_t i = 0; i < probes; ++i) {
      seen_block& e = seen_[(static_cast<std::size_t>(block) + i) % seen_.size()];
      if (e.launch == launch_ && e.block == block) return false;
      if (e.launch == launch_) continue;
      e = {block, launch_};
      return true;
    }
    return true;
  }

 private:
  /// A block and the last launch that named it. Blocks of earlier launches count as free slots.
  struct seen_block {
    trace::block_id block{};
    std::uint64_t launch = 0;
  };
  std::array<seen_block, 4096> seen_{};
  trace::touch_event last_;
  std::uint64_t launch_ = 0;
};

}  // namespace sluice::writer
