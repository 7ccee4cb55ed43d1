#pragma once

#include <cstdint>
#include <vector>

#include "core/base/error.hpp"
#include "core/trace/file/writer.hpp"
#include "instrumentation/writer/record_decoder/block_writer.hpp"
#include "instrumentation/writer/record_decoder/checkpoints.hpp"
#include "instrumentation/writer/record_decoder/recorded_process.hpp"
#include "instrumentation/writer/record_decoder/trace_clock.hpp"

namespace sluice::writer {

/// Keeps only the last part of a recording: the file is cut at a checkpoint, which contains the live set of that
/// moment. Not thread-safe.
class ring_file {
 public:
  /// `max_bytes`: the size limit of the file; 0: keep everything.
  ring_file(trace::file_writer& file, process_list& processes, const trace_clock& clock, block_writer& blocks,
            checkpoints& checkpoints, std::uint64_t max_bytes)
      : file_(file),
        processes_(processes),
        clock_(clock),
        blocks_(blocks),
        checkpoints_(checkpoints),
        max_bytes_(max_bytes) {}

  /// Sets the size limit from now on; 0: keep everything.
  void set_limit(std::uint64_t bytes) { max_bytes_ = bytes; }
  /// True if `keep_limit` is about to cut the file.
  [[nodiscard]] bool will_cut() const {
    return max_bytes_ != 0 && !processes_.empty() && file_.bytes_written() > max_bytes_ / 2;
  }

  /// With a size limit, drops the file's oldest part. Call it after a turn. Errors: io, no_space; the file then keeps
  /// growing.
  result<void> keep_limit();
  /// Drops all events so far; a checkpoint keeps the live set. Errors: io, no_space; the file then keeps growing.
  result<void> forget_past();

 private:
  result<void> add_mark();
  result<void> drop_before(std::uint64_t mark);

  trace::file_writer& file_;
  process_list& processes_;
  const trace_clock& clock_;
  block_writer& blocks_;
  checkpoints& checkpoints_;
  std::uint64_t max_bytes_;
  std::vector<std::uint64_t> marks_;  ///< File positions of checkpoints where the file may be cut, oldest first.
};

}  // namespace sluice::writer
