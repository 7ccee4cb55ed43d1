#include "core/index/growing_index.hpp"

namespace sluice::index {

bool growing_index::absorb(const trace::snapshot& from, std::size_t limit) {
  const auto chunks = from.chunks();
  for (; limit > 0 && next_ < chunks.size(); --limit, ++next_) {
    take(from, next_);
    read_bytes_ += chunks[next_].stored_bytes;
  }
  const bool all = next_ >= chunks.size();
  if (all) memory_.reconcile();
  settle(from);
  return all;
}

float growing_index::progress(const trace::snapshot& from) const {
  if (next_ >= from.chunks().size()) return 1;
  std::uint64_t total = read_bytes_;
  for (const trace::chunk_info& chunk : from.chunks().subspan(next_)) total += chunk.stored_bytes;
  return total == 0 ? 1 : static_cast<float>(static_cast<double>(read_bytes_) / static_cast<double>(total));
}

}  // namespace sluice::index
