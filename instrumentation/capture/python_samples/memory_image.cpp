#include "instrumentation/capture/python_samples/memory_image.hpp"

#include <algorithm>

namespace sluice::capture {

bool memory_image::add(std::uint64_t begin, std::size_t bytes) noexcept {
  constexpr std::uint64_t page = 4096, more = 128;
  std::uint64_t end = begin + bytes;
  end = std::max(end, std::min(end + more, (end - 1) / page * page + page));
  // Python's frames lie in one direction, between frames on C's stack.
  constexpr std::size_t looked_at = 3;
  for (std::size_t i = count_; i > 0 && i + looked_at > count_; --i) {
    region& old = regions_[i - 1];
    // Each gap is shorter than a page, so it lies in pages of which other parts are read.
    if (begin > old.end + max_gap || old.begin > end + max_gap) continue;
    const std::uint64_t from = std::min(begin, old.begin), to = std::max(end, old.end);
    if (to - from > max_region) continue;
    const std::size_t longer = to - from - (old.end - old.begin);
    if (bytes_ + longer > max_bytes) return false;
    bytes_ += longer;
    if (longer != 0) old = {from, to, unread};
    return true;
  }
  if (count_ == max_regions || bytes_ + (end - begin) > max_bytes) return false;
  bytes_ += end - begin;
  regions_[count_++] = {begin, end, unread};
  return true;
}

void memory_image::lay_out() noexcept {
  std::size_t offset = 0;
  for (std::size_t i = 0; i < count_; ++i) {
    regions_[i].offset = offset;
    offset += regions_[i].end - regions_[i].begin;
  }
}

void memory_image::add_regions(memory_batch& batch, char* to) const noexcept {
  for (std::size_t i = 0; i < count_; ++i) {
    batch.add(regions_[i].begin, to + regions_[i].offset, regions_[i].end - regions_[i].begin);
  }
}

bool memory_image::find(std::uint64_t begin, std::size_t bytes, piece& found) noexcept {
  if (!readable_) return false;
  for (std::size_t i = 0; i < count_; ++i) {
    const std::size_t which = (last_ + i) % count_;
    const region& one = regions_[which];
    // `begin` may be any number: no sum of it is formed, because that may be small again.
    if (begin < one.begin || begin >= one.end || bytes > one.end - begin || one.offset == unread) continue;
    const std::size_t offset = one.offset + (begin - one.begin);
    found = {before_ + offset, after_ + offset, one.end - begin};
    last_ = which;
    return true;
  }
  return false;
}

}  // namespace sluice::capture
