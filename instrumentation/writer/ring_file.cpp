// Keeps only the last part of a recording: the file is cut at a checkpoint, which contains the live set of that moment.
#include <algorithm>

#include "instrumentation/writer/record_decoder/record_decoder.hpp"

namespace sluice::writer {

using namespace trace;

namespace {
constexpr std::uint64_t min_between_marks = std::uint64_t{32} << 10;
}  // namespace

/// Flushes everything so far to the file, then writes a checkpoint where the file can be cut.
result<void> record_decoder::add_mark() {
  write_freed();
  const auto mark = file_.mark();
  if (!mark) return tl::unexpected<error>(mark.error());
  write_checkpoint(now());
  marks_.push_back(*mark);
  return {};
}

result<void> record_decoder::drop_before(std::uint64_t mark) {
  const auto moved = file_.drop_before(mark);
  if (!moved) return tl::unexpected<error>(moved.error());
  marks_.erase(std::remove_if(marks_.begin(), marks_.end(), [&](std::uint64_t m) { return m < mark; }), marks_.end());
  for (std::uint64_t& m : marks_) m = m - mark + *moved;
  return {};
}

/// Sets a mark every 1/16 of the limit. When the file reaches 1/2 of the limit, cuts it to 1/4, so that the copy and
/// the original together stay below the limit.
result<void> record_decoder::keep_ring() {
  const std::uint64_t ring = options_.ring_bytes;
  if (ring == 0 || processes_.empty()) return {};
  const std::uint64_t written = file_.bytes_written();
  const std::uint64_t last = marks_.empty() ? 0 : marks_.back();
  if (written - last >= std::max(ring / 16, min_between_marks)) {
    if (auto marked = add_mark(); !marked) return marked;
  }
  if (written <= ring / 2 || marks_.empty()) return {};
  // The oldest mark that leaves at most 1/4; otherwise the newest mark.
  const auto enough = [&](std::uint64_t m) { return file_.bytes_written() - m <= ring / 4; };
  const auto chosen = std::find_if(marks_.begin(), marks_.end(), enough);
  return drop_before(chosen == marks_.end() ? marks_.back() : *chosen);
}

result<void> record_decoder::forget_past() {
  if (auto marked = add_mark(); !marked) return marked;
  return drop_before(marks_.back());
}

void record_decoder::consider_peak(recorded_process& process) {
  std::uint64_t bytes = 0;
  for (const auto& p : processes_) bytes += p->blocks.device_bytes();
  const bool above = bytes > options_.max_device_bytes;
  if (above && !above_peak_) {
    trigger_ = "device memory in use exceeded the limit in process " + std::to_string(process.names.row.pid);
  }
  above_peak_ = above;
}

}  // namespace sluice::writer
