#include "core/index/growing_index.hpp"

namespace sluice::index {

bool growing_index::absorb(const trace::snapshot& recording, std::size_t limit) {
  const auto chunks = recording.chunks();
  for (; limit > 0 && next_ < chunks.size(); --limit, ++next_) {
    take(recording, next_);
    read_bytes_ += chunks[next_].stored_bytes;
  }
  const bool complete = next_ >= chunks.size();
  if (complete) memory_.reconcile();
  settle(recording);
  return complete;
}

void growing_index::update_tensors(const trace::snapshot& recording) const {
  {
    const std::scoped_lock lock(tensors_mutex_);
    if (!tensors_fresh_) tensors_.reset();
  }
  static_cast<void>(tensors(recording));
}

float growing_index::progress(const trace::snapshot& recording) const {
  if (next_ >= recording.chunks().size()) return 1;
  std::uint64_t total = read_bytes_;
  for (const trace::chunk_info& chunk : recording.chunks().subspan(next_)) total += chunk.stored_bytes;
  return total == 0 ? 1 : static_cast<float>(static_cast<double>(read_bytes_) / static_cast<double>(total));
}

}  // namespace sluice::index
