#pragma once

/// After a full ring lost allocations or frees the writer does not know what is live any more; this process does, and says it.
namespace sluice::capture {

/// The flush thread's, once a period: if something was lost, and no more is being lost, sends what is live
/// (`collector::live_set_record`). May wait for room in this thread's ring.
void repair_live_set() noexcept;

}  // namespace sluice::capture
