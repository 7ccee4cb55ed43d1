#include "core/summary/sections/section_cache.hpp"

#include <utility>

namespace sluice::analysis {
part_cache::part_cache(std::shared_ptr<const part_store> store, std::size_t most_bytes)
    : store_(std::move(store)),
      kept_(
          most_bytes, [this](const wanted& which) { return store_->index_of(which.first, which.last, which.scope); },
          [](const index& made) { return made.memory_bytes(); }) {}

std::vector<result<std::shared_ptr<const index>>> part_cache::get_all(std::span<const wanted> all,
                                                                      const std::function<bool()>& goes_on) {
  const auto make = [&](const wanted& which) {
    return store_->index_of(which.first, which.last, which.scope, goes_on);
  };
  return kept_.get_each(all, make, goes_on);
}

result<std::shared_ptr<const index>> part_cache::get(std::size_t first, std::size_t last, part_scope scope,
                                                     const std::function<bool()>& goes_on) {
  const wanted which{first, last, scope};
  return std::move(get_all(std::span(&which, 1), goes_on).front());
}

std::vector<std::shared_ptr<const index>> part_cache::get_each(std::span<const std::size_t> epochs, part_scope scope,
                                                               const std::function<bool()>& goes_on) {
  std::vector<wanted> all;
  all.reserve(epochs.size());
  for (const std::size_t epoch : epochs) all.push_back({epoch, epoch, scope});
  std::vector<std::shared_ptr<const index>> found;
  found.reserve(epochs.size());
  for (auto& each : get_all(all, goes_on)) found.push_back(each ? std::move(*each) : nullptr);
  return found;
}

bool part_cache::prepare(std::size_t epoch, part_scope scope, const std::function<bool()>& goes_on) {
  return kept_.make_ahead({epoch, epoch, scope}, [&](const wanted& which) {
    return store_->index_of(which.first, which.last, which.scope, goes_on);
  });
}

std::shared_ptr<const index> part_cache::at_hand(std::size_t first, std::size_t last, part_scope scope) {
  return kept_.at_hand({first, last, scope});
}

std::size_t part_cache::memory_bytes() const { return kept_.memory_bytes(); }

}  // namespace sluice::analysis
