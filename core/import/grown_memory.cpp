#include "core/import/grown_memory.hpp"

#include <algorithm>

namespace sluice::importing {

grown_memory::grown_memory(trace::file_writer& out, const trace::alloc_event& like, std::string_view category,
                           std::uint64_t& blocks)
    : out_(out), like_(like), blocks_(blocks) {
  like_.source = trace::provenance::estimated;
  if (!category.empty()) category_ = out_.intern(category);
}

trace::time_ns grown_memory::set(trace::time_ns said, std::uint64_t bytes) {
  trace::time_ns time = said;
  if (said == said_) time = counted_ + 1;
  if (said > said_) time = std::max(said, counted_);
  said_ = said;
  counted_ = time;
  if (bytes > sum_) allocate(time, bytes - sum_);
  for (std::uint64_t excess = bytes < sum_ ? sum_ - bytes : 0; excess != 0 && !live_.empty();) {
    const block last = live_.back();
    live_.pop_back();
    release(time, last.id);
    if (last.bytes > excess) {
      allocate(time, last.bytes - excess);
      excess = 0;
    } else {
      excess -= last.bytes;
    }
  }
  sum_ = bytes;
  return time;
}

void grown_memory::allocate(trace::time_ns time, std::uint64_t bytes) {
  like_.time = time;
  like_.block = static_cast<trace::block_id>(++blocks_);
  like_.bytes = bytes;
  const std::uint64_t event = out_.add(like_);
  live_.push_back({like_.block, bytes});
  if (category_ == trace::string_id::none) return;
  trace::attribute_event tag;
  tag.time = time;
  tag.process = like_.process;
  tag.target = trace::event_id{event};
  tag.key = out_.intern("category");
  tag.text = category_;
  out_.add(tag);
}

void grown_memory::release(trace::time_ns time, trace::block_id which) {
  trace::free_event gone;
  gone.time = time;
  gone.process = like_.process;
  gone.source = trace::provenance::estimated;
  gone.layer = like_.layer;
  gone.block = which;
  out_.add(gone);
}

}  // namespace sluice::importing
