#pragma once

/// Repairs the writer's list of live blocks after allocations or frees were lost because a ring was full.
namespace sluice::capture {

/// Sends all live blocks (`ring::live_set_record`) if allocations or frees were lost, but none since the last call. The
/// flush thread calls this periodically. The call may wait for space in that thread's ring.
void repair_live_set() noexcept;

}  // namespace sluice::capture
