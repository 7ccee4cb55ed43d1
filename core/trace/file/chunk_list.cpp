#include "core/trace/file/chunk_list.hpp"

#include "core/trace/file/chunk_pages.hpp"

namespace sluice::trace {

chunk_list::chunk_list(std::vector<chunk_info> infos) : all_(std::move(infos)) {
  const before_in_index before;
  const bool of_summaries = !all_.empty() && is_summary(all_.front().type);
  if (of_summaries && !std::is_sorted(all_.begin(), all_.end(), before))
    std::stable_sort(all_.begin(), all_.end(), before);
  std::vector<index_page_row> rows;
  for (std::size_t at = 0; at < all_.size(); at += rows.back().rows)
    rows.push_back(find_page(std::span<const chunk_info>(all_).subspan(at, std::min(chunks_a_page, all_.size() - at))));
  add_pages(rows);
}

chunk_list::chunk_list(std::shared_ptr<const chunk_pages> pages, std::size_t first, std::size_t behind)
    : from_(std::move(pages)), first_page_(first) {
  add_pages(from_->pages().subspan(first, behind - first));
}

void chunk_list::add_pages(std::span<const index_page_row> more) {
  pages_.reserve(more.size());
  for (const index_page_row& about : more) {
    pages_.push_back({about, size_});
    size_ += about.rows;
  }
}

std::span<const chunk_info> chunk_list::all() const {
  if (from_ != nullptr)
    std::call_once(read_all_, [this] { from_->read_all(first_page_, first_page_ + pages_.size(), all_); });
  return all_;
}

chunk_list::held_page chunk_list::read(std::size_t page) const {
  if (from_ == nullptr) return {std::span(all_).subspan(pages_[page].first, pages_[page].about.rows), nullptr};
  auto owner = from_->read(first_page_ + page);
  return {*owner, std::move(owner)};
}

chunk_info chunk_list::at(std::size_t index) const {
  if (index >= size_) return {};
  if (from_ == nullptr) return all_[index];
  const auto behind = std::upper_bound(pages_.begin(), pages_.end(), index,
                                       [](std::size_t wanted, const page& each) { return wanted < each.first; });
  const page& in = *(behind - 1);
  return read(static_cast<std::size_t>(&in - pages_.data())).chunks[index - in.first];
}

std::vector<chunk_info> chunk_list::of_tile(time_ns first, time_ns last) const {
  const std::uint64_t level = std::uint64_t{1} << level_of_span(first, last);
  const chunk_info wanted{.type = row_type::curve_bin, .min_time = first, .max_time = last};
  std::vector<chunk_info> found;
  for (std::size_t p = 0; p < pages_.size(); ++p) {
    const index_page_row& about = pages_[p].about;
    if ((about.levels & level) == 0 || about.min_time > first || about.max_time < last) continue;
    const held_page held = read(p);
    // Only a corrupt file has chunks that are not in this order.
    for (auto next = std::lower_bound(held.chunks.begin(), held.chunks.end(), wanted, before_in_index{});
         next != held.chunks.end() && is_of_tile(next->type) && next->min_time == first && next->max_time == last;
         ++next)
      found.push_back(*next);
  }
  return found;
}

std::string chunk_list::damage() const { return from_ == nullptr ? std::string() : from_->damage(); }

std::uint64_t chunk_list::tile_levels() const {
  std::uint64_t levels = 0;
  for (const page& each : pages_) levels |= each.about.levels;
  return levels;
}

std::pair<time_ns, time_ns> chunk_list::times() const {
  std::pair<time_ns, time_ns> hull(INT64_MAX, INT64_MIN);
  for (const page& each : pages_) {
    hull.first = std::min(hull.first, each.about.min_time);
    hull.second = std::max(hull.second, each.about.max_time);
  }
  return hull;
}

}  // namespace sluice::trace
