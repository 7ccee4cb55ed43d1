#include "instrumentation/capture/blocks/live_set.hpp"

#include <time.h>

#include "instrumentation/capture/blocks/live_blocks.hpp"
#include "instrumentation/capture/process/state.hpp"
#include "instrumentation/ring/producer.hpp"
#include "instrumentation/ring/producer_losses.hpp"

namespace sluice::capture {

namespace {

constexpr unsigned words_each = 3;
constexpr unsigned max_blocks = ring::max_in_live_set_part;

/// A live set being sent: its current part, and whether all parts so far were sent.
struct live_set {
  std::uint64_t words[max_blocks * words_each];
  unsigned count;
  bool whole;
};

/// Waits for space in the ring, which this thread may do. After a timeout, the writer is considered stuck, and the next
/// period tries again.
bool wait_for_room() {
  constexpr int max_waits = 1000;
  for (int i = 0; i < max_waits; ++i) {
    if (ring::has_room(sizeof(live_set::words) + 64)) return true;
    const timespec moment{0, 200'000};
    nanosleep(&moment, nullptr);
  }
  return false;
}

void send_part(live_set& set, std::uint32_t place) {
  if (!set.whole) return;
  ring::live_set_record out{};
  out.header.time = ring::now();
  const bool unsure = live_blocks::untracked() != 0 || live_blocks_unsure.load(std::memory_order_relaxed);
  out.header.flags = unsure ? ring::flag_estimated : 0U;
  out.count = set.count;
  out.last = place;
  set.whole = wait_for_room() &&
              ring::emit_with(&out.header, ring::record_type::live_set, sizeof out, set.words, set.count * words_each);
  set.count = 0;
}

void add(void* to, const live_blocks::block& b) {
  auto& set = *static_cast<live_set*>(to);
  std::uint64_t* words = set.words + set.count * words_each;
  words[0] = b.address;
  words[1] = b.bytes;
  words[2] = raw(b.layer) | (std::uint64_t{raw(b.kind)} << 8) | (std::uint64_t{b.device} << 16);
  if (++set.count == max_blocks) send_part(set, ring::live_set_part);
}

}  // namespace

void repair_live_set() noexcept {
  static std::uint64_t reported = 0;  // Number of losses repaired so far.
  static std::uint64_t seen = 0;      // Number of losses in the last period.
  const std::uint64_t lost = ring::lost_memory_events();
  const bool settled = lost == seen;
  seen = lost;
  if (lost == reported || !settled) return;
  static live_set set;
  set.count = 0;
  set.whole = true;
  send_part(set, ring::live_set_begins);
  live_blocks::for_each(add, &set);
  send_part(set, ring::live_set_ends);
  if (set.whole) reported = lost;
}

}  // namespace sluice::capture
