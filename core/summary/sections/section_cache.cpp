#include "core/summary/sections/section_cache.hpp"

#include <utility>

namespace sluice::summary {
section_cache::section_cache(std::shared_ptr<const section_reader> store, std::size_t max_bytes)
    : store_(std::move(store)),
      kept_(
          max_bytes, [this](const wanted& which) { return store_->get_index(which.first, which.last, which.scope); },
          [](const index::event_store& events) { return events.memory_bytes(); }) {}

std::vector<result<std::shared_ptr<const index::event_store>>> section_cache::get_all(
    std::span<const wanted> wanteds, const std::function<bool()>& goes_on) {
  const auto make = [&](const wanted& which) {
    return store_->get_index(which.first, which.last, which.scope, goes_on);
  };
  return kept_.get_each(wanteds, make, goes_on);
}

result<std::shared_ptr<const index::event_store>> section_cache::get(std::size_t first, std::size_t last,
                                                                     index::section_scope scope,
                                                                     const std::function<bool()>& goes_on) {
  const wanted which{first, last, scope};
  return std::move(get_all(std::span(&which, 1), goes_on).front());
}

std::vector<std::shared_ptr<const index::event_store>> section_cache::get_each(std::span<const std::size_t> sections,
                                                                               index::section_scope scope,
                                                                               const std::function<bool()>& goes_on) {
  std::vector<wanted> wanteds;
  wanteds.reserve(sections.size());
  for (const std::size_t section : sections) wanteds.push_back({section, section, scope});
  std::vector<std::shared_ptr<const index::event_store>> found;
  found.reserve(sections.size());
  for (auto& each : get_all(wanteds, goes_on)) found.push_back(each ? std::move(*each) : nullptr);
  return found;
}

bool section_cache::prepare(std::size_t section, index::section_scope scope, const std::function<bool()>& goes_on) {
  return kept_.make_ahead({section, section, scope}, [&](const wanted& which) {
    return store_->get_index(which.first, which.last, which.scope, goes_on);
  });
}

std::shared_ptr<const index::event_store> section_cache::at_hand(std::size_t first, std::size_t last,
                                                                 index::section_scope scope) {
  return kept_.at_hand({first, last, scope});
}

void section_cache::take_over(const section_cache& before, std::size_t settled) {
  for (auto& [key, index] : before.kept_.all_kept())
    if (key.scope == index::section_scope::timeline && key.last < settled &&
        before.store_->find_run(key.first, key.last) == store_->find_run(key.first, key.last))
      kept_.put(key, std::move(index));
}

std::size_t section_cache::memory_bytes() const { return kept_.memory_bytes(); }

}  // namespace sluice::summary
