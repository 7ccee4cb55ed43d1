#include "instrumentation/writer/decoder/ring_file.hpp"

#include <algorithm>

namespace sluice::writer {

using namespace trace;

namespace {
constexpr std::uint64_t min_between_marks = std::uint64_t{32} << 10;
}  // namespace

/// Flushes everything so far to the file, then writes a checkpoint where the file can be cut.
result<void> ring_file::add_mark() {
  processes_.write_freed(blocks_);
  const auto mark = file_.mark();
  if (!mark) return tl::unexpected<error>(mark.error());
  checkpoints_.write(clock_.now());
  marks_.push_back(*mark);
  return {};
}

result<void> ring_file::drop_before(std::uint64_t mark) {
  const auto moved = file_.drop_before(mark);
  if (!moved) return tl::unexpected<error>(moved.error());
  marks_.erase(std::remove_if(marks_.begin(), marks_.end(), [&](std::uint64_t m) { return m < mark; }), marks_.end());
  for (std::uint64_t& m : marks_) m = m - mark + *moved;
  return {};
}

/// Sets a mark every 1/16 of the limit. When the file reaches 1/2 of the limit, cuts it to 1/4, so that the copy and
/// the original together stay below the limit.
result<void> ring_file::keep_limit() {
  if (max_bytes_ == 0 || processes_.empty()) return {};
  const std::uint64_t written = file_.bytes_written();
  const std::uint64_t last = marks_.empty() ? 0 : marks_.back();
  if (written - last >= std::max(max_bytes_ / 16, min_between_marks)) {
    if (auto marked = add_mark(); !marked) return marked;
  }
  if (written <= max_bytes_ / 2 || marks_.empty()) return {};
  // The oldest mark that leaves at most 1/4; otherwise the newest mark.
  const auto enough = [&](std::uint64_t m) { return file_.bytes_written() - m <= max_bytes_ / 4; };
  const auto chosen = std::find_if(marks_.begin(), marks_.end(), enough);
  return drop_before(chosen == marks_.end() ? marks_.back() : *chosen);
}

result<void> ring_file::forget_past() {
  if (auto marked = add_mark(); !marked) return marked;
  return drop_before(marks_.back());
}

}  // namespace sluice::writer
