#pragma once

#include <cstdint>
#include <deque>
#include <unordered_map>
#include <variant>
#include <vector>

#include "core/trace/file/writer.hpp"
#include "core/trace/model/model.hpp"
#include "instrumentation/writer/blocks/block_ledger.hpp"
#include "instrumentation/writer/blocks/key_map.hpp"
#include "instrumentation/writer/turn_clock.hpp"

namespace sluice::collector {

/// Joins what the device did with the calls that asked for it, within one process, by correlation id. One call may have
/// asked for much work (a graph), and work may have no call. Either may come first. What has waited long enough is
/// written without its other half; a call is written at once, since it does not change. Not thread-safe.
class work_joiner {
 public:
  /// What the device did. `transfer_event` and `memset_event` lack addresses that only the call knows.
  using work = std::variant<trace::transfer_event, trace::memset_event, trace::kernel_event>;

  /// What a copy is about to move.
  struct copied_content {
    trace::content_check check = trace::content_check::none;
    std::uint64_t hash = 0;
    std::uint64_t bytes = 0;
  };

  /// What work takes from its call. There are as many as launches, so they are kept short.
  struct call {
    trace::event_id id{};
    trace::thread_id thread{};
    trace::time_ns begin = trace::unknown_time;
  };

  /// What a call copies or fills.
  struct moved_memory {
    std::uint64_t source = 0;
    std::uint64_t destination = 0;
    std::uint64_t bytes = 0;
    trace::block_id source_block{};
    trace::block_id destination_block{};
    trace::memory_kind source_kind = trace::memory_kind::unknown;  ///< Of what lay there when it was called.
    trace::memory_kind destination_kind = trace::memory_kind::unknown;
    trace::device_id source_device{};  ///< Of device memory that lay there.
    trace::device_id destination_device{};
    bool taken = false;  ///< By a first copy: a second one of the same call is elsewhere.
    copied_content content;
  };

  /// One copy of a call that asks for many.
  struct part {
    std::uint64_t source = 0;
    std::uint64_t destination = 0;
    std::uint64_t bytes = 0;
  };

  work_joiner(trace::file_writer& file, const block_ledger& blocks) : file_(file), blocks_(blocks) {}

  /// What the call of `correlation`, which is still to come, copies where: those of its `total` copies from number `first` on. They
  /// are looked up now, and become rows with the transfer that stands for them.
  void add_parts(std::uint64_t correlation, std::uint64_t total, std::uint64_t first, const std::vector<part>& parts);
  /// What the copy of the call that follows under `correlation` moves.
  void add_content(std::uint64_t correlation, const copied_content& moved);

  /// Makes `c` known under `correlation` (0: nothing can be joined with it) and writes work that waited for it. `source`,
  /// `destination` and `bytes`, where they are not 0: what it moves. The blocks are looked up now: call it in the order of time.
  void add_call(std::uint64_t correlation, const call& c, std::uint64_t source = 0, std::uint64_t destination = 0,
                std::uint64_t bytes = 0);

  /// Writes `w` if its call is known or it has none, else keeps it. Amortised O(1).
  template <class Work>
  void add_work(Work& w, const turn_clock& now) {
    const call* const known = w.correlation == 0 ? nullptr : calls_.find(w.correlation);
    if (w.correlation == 0 || known != nullptr) return finish(w, known);
    wait(w, now);
  }

  /// The call that asked for work of `correlation`, which is not 0; null if it is not known, and the work must wait for it.
  [[nodiscard]] const call* find_call(std::uint64_t correlation) const { return calls_.find(correlation); }
  /// Gives a kernel what it takes from its call.
  static void join(trace::kernel_event& kernel, const call& c) {
    kernel.call = c.id;
    kernel.thread = c.thread;
    kernel.enqueued = c.begin;
  }

  /// The watermark is written once everything that came before it is.
  void add_watermark(const trace::watermark_event& watermark);

  void settle(const turn_clock& now, bool everything);

  /// Nothing more comes of the process, and all work that waited was written: forgets the calls, which is most of the memory.
  void forget_past() {
    calls_.clear();
    moved_.clear();
  }

 private:
  struct waiting_work {
    work what;
    turn_clock since;
    std::uint64_t number = 0;
  };
  void wait(const work& w, const turn_clock& now);
  void add_moved(std::uint64_t correlation, moved_memory m);
  void write_waiting(std::uint64_t correlation, const call& c);
  void take_moved(trace::transfer_event& copy, moved_memory& m);
  void write(work& w, const call* c);
  void finish(trace::transfer_event& copy, const call* c);
  void finish(trace::memset_event& fill, const call* c);
  void finish(trace::kernel_event& kernel, const call* c);
  void write_watermark();
  /// A call's copies, until transfers have taken them.
  struct batch {
    std::uint64_t total = 0;
    std::vector<trace::transfer_part_event> parts;
  };
  using batches = std::unordered_map<std::uint64_t, batch>;
  void forget_batch(batches::iterator of);
  void take_part(trace::transfer_event& copy, batch& of);
  void write_with_parts(trace::transfer_event& whole, batches::iterator of, const call& c);

  trace::file_writer& file_;
  const block_ledger& blocks_;
  std::unordered_map<std::uint64_t, copied_content> contents_;  ///< Of calls that have been entered.
  /// Kept for work that is still to come: 8 MB a process at most, and 30 MB of those that move memory.
  recent_map<call> calls_{std::size_t{1} << 18};
  recent_map<moved_memory> moved_{std::size_t{1} << 18};
  batches batches_;  ///< By correlation; each is of a call in `calls_`, or of one to come.
  std::size_t waiting_parts_ = 0;
  std::deque<waiting_work> waiting_;  ///< In order of arrival; those written early are left as holes.
  std::unordered_multimap<std::uint64_t, std::uint64_t> waiting_for_;  ///< Correlation to the work's number.
  std::uint64_t next_number_ = 0;
  trace::watermark_event watermark_;
  std::uint64_t watermark_after_ = 0;  ///< All work below this number must be written first.
  bool watermark_waits_ = false;
};

}  // namespace sluice::collector
