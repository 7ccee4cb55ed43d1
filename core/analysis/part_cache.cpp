#include "core/analysis/part_cache.hpp"

#include <algorithm>

namespace sluice::analysis {

part_cache::part_cache(std::shared_ptr<const part_store> store, std::size_t most_bytes)
    : store_(std::move(store)), most_bytes_(most_bytes) {}

std::shared_ptr<const index> part_cache::find(const wanted& which) {
  const auto found =
      std::find_if(kept_.begin(), kept_.end(), [&](const kept& each) { return which.is_in(each.which); });
  if (found == kept_.end()) return nullptr;
  kept_.splice(kept_.begin(), kept_, found);
  return found->made;
}

void part_cache::keep(const wanted& which, const std::shared_ptr<const index>& made) {
  kept_.push_front({which, made, made->memory_bytes()});
  bytes_ += kept_.front().bytes;
  while (bytes_ > most_bytes_ && kept_.size() > 1) {
    bytes_ -= kept_.back().bytes;
    kept_.pop_back();
  }
}

result<std::shared_ptr<const index>> part_cache::get(std::size_t first, std::size_t last, part_scope scope) {
  const wanted which{first, last, scope};
  {
    std::unique_lock lock(mutex_);
    was_built_.wait(lock, [&] { return !building_.contains(which); });
    if (auto known = find(which)) return known;
    building_.insert(which);
  }
  return build(which);
}

result<std::shared_ptr<const index>> part_cache::build(const wanted& which) {
  auto made = store_->index_of(which.first, which.last, which.scope);
  {
    const std::scoped_lock lock(mutex_);
    building_.erase(which);
    if (made) keep(which, *made);
  }
  was_built_.notify_all();
  return made;
}

std::vector<std::shared_ptr<const index>> part_cache::get_each(std::span<const std::size_t> epochs, part_scope scope) {
  std::vector<std::shared_ptr<const index>> found(epochs.size());
  std::vector<bool> done(epochs.size(), false);
  std::unique_lock lock(mutex_);
  for (;;) {
    std::optional<std::size_t> mine;
    bool all = true;
    for (std::size_t i = 0; i < epochs.size(); ++i) {
      if (done[i]) continue;
      const wanted which{epochs[i], epochs[i], scope};
      found[i] = find(which);
      done[i] = found[i] != nullptr;
      all = all && done[i];
      if (!done[i] && !mine && !building_.contains(which)) mine = i;
    }
    if (all) return found;
    if (!mine) {
      was_built_.wait(lock);
      continue;
    }
    const wanted which{epochs[*mine], epochs[*mine], scope};
    building_.insert(which);
    lock.unlock();
    if (auto made = build(which)) found[*mine] = std::move(*made);
    done[*mine] = true;
    lock.lock();
  }
}

std::shared_ptr<const index> part_cache::at_hand(std::size_t first, std::size_t last, part_scope scope) {
  const std::scoped_lock lock(mutex_);
  return find({first, last, scope});
}

std::size_t part_cache::memory_bytes() const {
  const std::scoped_lock lock(mutex_);
  return bytes_;
}

}  // namespace sluice::analysis
