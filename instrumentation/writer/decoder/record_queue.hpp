#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/base/error.hpp"
#include "core/trace/model/model.hpp"
#include "instrumentation/ring/records.hpp"
#include "instrumentation/writer/handlers/declaration_handler.hpp"
#include "instrumentation/writer/record_decoder/recorded_process.hpp"
#include "instrumentation/writer/record_decoder/trace_clock.hpp"
#include "instrumentation/writer/rings/ring_reader.hpp"

namespace sluice::writer {

/// Sorts the records of all rings by time. Records that were taken in one turn are processed in the next turn, because
/// all earlier records have been taken by then, too. Device events may arrive arbitrarily late, and keep the order of
/// their arrival. Not thread-safe.
class record_queue {
 public:
  /// The origin of records: process, thread and producer copy.
  struct speaker {
    recorded_process* process;
    trace::thread_id thread;
    std::uint64_t tid;  ///< See `ring_source::tid`.
    ring::clock_kind clock;
    std::uint32_t copy;  ///< See `ring_identity::copy`.
    bool of_recorder;    ///< See `ring_source::is_of_recorder`; `thread` is then none.
    friend bool operator==(const speaker&, const speaker&) = default;
  };
  /// A record waiting to be processed. There is one per record, so it is kept small.
  struct pending {
    pending() {
    }  // NOLINT(modernize-use-equals-default): not zeroed, because space is made for many before they are known.
    pending(trace::time_ns when, std::uint32_t position, std::uint32_t number)
        : time(when), word(position), voice(number) {}
    trace::time_ns time;
    std::uint32_t word;   ///< Position in the turn's bytes, in units of 8 bytes.
    std::uint32_t voice;  ///< Twice the index of the speaker, plus the low bit of the turn's number.
  };
  /// Records of one speaker that are processed together, because no record of another speaker lies between them.
  struct batch {
    const speaker& who;
    const std::byte* bytes;  ///< The bytes of their turn.
    std::span<const pending> records;

    [[nodiscard]] const std::byte* record(const pending& p) const { return bytes + std::size_t{p.word} * 8; }
  };
  /// The bytes that one ring had in this turn.
  struct drained_span {
    ring_source* ring;
    std::size_t offset, length;
  };

  explicit record_queue(const trace_clock& clock) : clock_(clock) {}

  /// Drains up to `most` bytes of `reader`. `ring` must live until `end_turn`. Errors: corrupt; then stop using `ring`.
  result<std::size_t> take(ring_source& ring, ring_reader& reader, std::size_t most);

  /// What was taken in this turn. Pass each to `sort_in`.
  [[nodiscard]] std::span<const drained_span> drained() const { return drained_; }
  /// Adds these records to those of the next turn. Passes declarations to `declarations` at once, because other records
  /// may already need them. Returns false at a record with an invalid length: the rest is then ignored.
  [[nodiscard]] bool sort_in(const drained_span& drained, declaration_handler& declarations);

  /// Calls `process(const batch&)` for the records of the previous turn, and for late ones of this turn: first for host
  /// events, in order of time, then for device events.
  template <class Process>
  void process_due(Process&& process) {
    put_in_order(due_.ordered);
    process_in_batches(due_.ordered, process);
    process_in_batches(due_.from_device, process);
    due_.ordered.clear();
    due_.from_device.clear();
  }

  /// Ends the turn: the records that were sorted in become due.
  void end_turn();

  /// Drops all records and frees their memory.
  void abandon();

 private:
  /// Memory of the records taken in one turn. The records stay here until the next turn.
  struct turn_memory {
    std::vector<std::byte> bytes;
    std::vector<speaker> speakers;
    void clear() {
      bytes.clear();
      speakers.clear();
    }
  };
  struct waiting_records {
    std::vector<pending> ordered;      ///< Host events; processed in order of time.
    std::vector<pending> from_device;  ///< Device events, which may arrive late; processed in order of arrival.
  };

  template <bool Simulated>
  bool sort_in(ring_source& ring, std::span<const std::byte> drained, declaration_handler& declarations);
  std::uint32_t get_voice(const ring_source& ring);
  void put_in_order(std::vector<pending>& records);
  [[nodiscard]] const turn_memory& get_memory(const pending& p) const { return memory_[p.voice & 1]; }
  [[nodiscard]] const speaker& get_speaker(const pending& p) const { return get_memory(p).speakers[p.voice / 2]; }
  template <class Process>
  void process_in_batches(std::span<const pending> records, Process&& process) const {
    while (!records.empty()) {
      const pending& first = records.front();
      std::size_t count = 1;
      while (count < records.size() && records[count].voice == first.voice) ++count;
      process(batch{get_speaker(first), get_memory(first).bytes.data(), records.first(count)});
      records = records.subspan(count);
    }
  }

  const trace_clock& clock_;
  std::uint32_t turn_ = 0;             ///< The low bit of the turn's number.
  std::array<turn_memory, 2> memory_;  ///< For this turn and the previous turn, indexed by `turn_`.
  std::vector<drained_span> drained_;
  waiting_records due_, later_;         ///< Records to process in this turn, and in the next turn.
  std::vector<pending> spare_;          ///< Scratch memory for sorting.
  trace::time_ns settled_ = INT64_MIN;  ///< Latest host time taken in the previous turn.
  trace::time_ns latest_ = INT64_MIN;   ///< Latest host time taken in this turn.
};

}  // namespace sluice::writer
