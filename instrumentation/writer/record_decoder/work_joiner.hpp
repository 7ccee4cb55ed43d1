#pragma once

#include <cstdint>
#include <deque>
#include <unordered_map>
#include <variant>
#include <vector>

#include "core/trace/file/writer.hpp"
#include "core/trace/model/model.hpp"
#include "instrumentation/ring/records.hpp"
#include "instrumentation/writer/blocks/block_ledger.hpp"
#include "instrumentation/writer/blocks/key_map.hpp"
#include "instrumentation/writer/rings/turn_clock.hpp"

namespace sluice::writer {

/// Joins device work with the calls that requested it, in one process, by correlation id. A call may request
/// several pieces of work (a graph), and work may have no call; either may arrive first. Work that has waited too long
/// is written without its call. A call is written immediately, because joining does not change it. Not thread-safe.
class work_joiner {
 public:
  /// Device work. `transfer_event` and `memset_event` lack the addresses that only the call has.
  using device_work = std::variant<trace::transfer_event, trace::memset_event, trace::kernel_event>;

  /// A hash of the data that a copy to or from the host moves.
  struct copied_content {
    ring::content_stage stage = ring::content_stage::source;
    trace::content_check check = trace::content_check::none;
    std::uint64_t hash = 0;
    std::uint64_t bytes = 0;
  };

  /// The part of a call that its work needs. There is one object per launch, so it is kept small.
  struct call {
    trace::event_id id{};
    trace::thread_id thread{};
    trace::time_ns begin = trace::unknown_time;
  };

  /// The memory that a call copies or fills.
  struct moved_memory {
    std::uint64_t source = 0;
    std::uint64_t destination = 0;
    std::uint64_t bytes = 0;
    trace::block_id source_block{};
    trace::block_id destination_block{};
    trace::memory_kind source_kind = trace::memory_kind::unknown;  ///< Kind of the memory at `source`, at the call.
    trace::memory_kind destination_kind = trace::memory_kind::unknown;
    trace::device_id source_device{};  ///< Device of the memory at `source`, if it is device memory.
    trace::device_id destination_device{};
    bool taken = false;  ///< True if a copy has used the addresses; another copy of the call has other addresses.
    copied_content content;
  };

  /// One copy of a call that requests several.
  struct copy_part {
    std::uint64_t source = 0;
    std::uint64_t destination = 0;
    std::uint64_t bytes = 0;
  };

  work_joiner(trace::file_writer& file, const block_ledger& blocks) : file_(file), blocks_(blocks) {}

  /// Adds copies of the upcoming call with id `correlation`: `parts` are its copies from index `first` on; it has
  /// `total` copies. Their blocks are looked up now; the copies become rows when the transfer that covers them is
  /// written.
  void add_parts(std::uint64_t correlation, std::uint64_t total, std::uint64_t first,
                 const std::vector<copy_part>& parts);
  /// Adds a hash, or its announcement, for the data that the call with id `correlation` copies. Call it before
  /// `add_call`, unless the stage is `arrived`. A copy whose hash is awaited is written when the hash arrives or the
  /// wait times out.
  void add_content(std::uint64_t correlation, const copied_content& moved);

  /// Adds call `c` with id `correlation` (0: cannot be joined) and writes work that waited for the call. `source`,
  /// `destination` and `bytes` describe the memory that the call copies or fills; 0 if it does not. Blocks are looked
  /// up now, so calls must be added in order of time.
  void add_call(std::uint64_t correlation, const call& c, std::uint64_t source = 0, std::uint64_t destination = 0,
                std::uint64_t bytes = 0);

  /// Writes `w` if its call is known or `w` has no call; otherwise keeps `w` until its call arrives. Amortized O(1).
  template <class Work>
  void add_work(Work& w, const turn_clock& now) {
    const call* const known = w.correlation == 0 ? nullptr : calls_.find(w.correlation);
    if (w.correlation == 0 || (known != nullptr && !awaits_content(w))) return finish(w, known);
    wait(w, now);
  }

  /// The call with id `correlation` (not 0); null if it has not arrived: then the work must wait for the call.
  [[nodiscard]] const call* find_call(std::uint64_t correlation) const { return calls_.find(correlation); }
  /// Copies the call's values into a kernel row.
  static void join(trace::kernel_event& kernel, const call& c) {
    kernel.call = c.id;
    kernel.thread = c.thread;
    kernel.enqueued = c.begin;
  }

  /// Adds a watermark ("all earlier work was recorded"), to be written after all work before it.
  void add_watermark(const trace::watermark_event& watermark);

  /// Writes work that has waited long enough for the record of its call, oldest first; all of it if `everything`. Call
  /// it once per turn.
  void settle(const turn_clock& now, bool everything);

  /// Call when no more records can arrive and all work is written. Drops the calls, which use the most memory.
  void forget_past() {
    calls_.clear();
    moved_.clear();
  }

 private:
  struct waiting_work {
    device_work row;
    turn_clock since;
    std::uint64_t number = 0;
  };
  void wait(const device_work& w, const turn_clock& now);
  void add_moved(std::uint64_t correlation, moved_memory m);
  [[nodiscard]] bool awaits_content(const trace::transfer_event& copy);
  template <class Work>
  [[nodiscard]] static bool awaits_content(const Work&) {
    return false;
  }
  void write_waiting(std::uint64_t correlation, const call& c);
  void take_moved(trace::transfer_event& copy, moved_memory& m);
  void write(device_work& w, const call* c);
  void finish(trace::transfer_event& copy, const call* c);
  void finish(trace::memset_event& fill, const call* c);
  void finish(trace::kernel_event& kernel, const call* c);
  void write_watermark();
  /// The copies of one call that no transfer has used yet.
  struct batch {
    std::uint64_t total = 0;
    std::vector<trace::transfer_part_event> parts;
  };
  using batches = std::unordered_map<std::uint64_t, batch>;
  void forget_batch(batches::iterator found);
  void take_part(trace::transfer_event& copy, batch& copies);
  void write_with_parts(trace::transfer_event& whole, batches::iterator found, const call& c);

  /// The block at `address` that work requested at `asked` uses. None if the block there now was allocated after
  /// `asked`: then the earlier memory no longer exists, such as a host buffer whose address later became a device
  /// block's.
  [[nodiscard]] trace::block_id block_at(std::uint64_t address, trace::time_ns asked) const;

  trace::file_writer& file_;
  const block_ledger& blocks_;
  std::unordered_map<std::uint64_t, copied_content> contents_;  ///< Keyed by correlation id; of calls that have begun.
  /// Calls and moved memory, kept for device work that arrives later. At most 8 MB and 30 MB per process.
  recent_map<call> calls_{std::size_t{1} << 18};
  recent_map<moved_memory> moved_{std::size_t{1} << 18};
  batches batches_;  ///< Keyed by correlation id; each belongs to a call in `calls_` or to an upcoming call.
  std::size_t waiting_parts_ = 0;
  std::deque<waiting_work> waiting_;  ///< In order of arrival. Written entries stay until all older ones are written.
  std::unordered_multimap<std::uint64_t, std::uint64_t> waiting_for_;  ///< Correlation id to the work's number.
  std::uint64_t next_number_ = 0;
  trace::watermark_event watermark_;
  std::uint64_t watermark_after_ = 0;  ///< Write the watermark when all work below this number is written.
  bool watermark_waits_ = false;
};

}  // namespace sluice::writer
