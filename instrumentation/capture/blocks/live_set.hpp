#pragma once

/// Repair of the writer's live set after a full ring lost allocations or frees. This process knows all live blocks.
namespace sluice::capture {

/// Sends all live blocks (`collector::live_set_record`) if records were lost and no more are being lost. Called by the
/// flush thread once a period; may wait for space in its ring.
void repair_live_set() noexcept;

}  // namespace sluice::capture
