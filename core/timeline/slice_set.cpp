#include "core/timeline/slice_set.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include "core/base/sort_runs.hpp"

namespace sluice::timeline {
namespace {

bool earlier(const slice_item& a, const slice_item& b) {
  return std::tuple(a.begin, b.end, a.event) < std::tuple(b.begin, a.end, b.event);
}

time_ns length(const slice_item& item) { return item.end - item.begin; }

bool none_overlap(const std::vector<slice_item>& sorted) {
  return std::adjacent_find(sorted.begin(), sorted.end(),
                            [](const slice_item& a, const slice_item& b) { return b.begin < a.end; }) == sorted.end();
}

}  // namespace

void slice_set::settle() {
  if (added_.empty()) return;
  sort_runs(added_, earlier);
  std::vector<slice_item> batch = std::exchange(added_, {});
  const time_ns begin = batch.front().begin;
  std::vector<std::size_t> unchanged(lanes_.size());
  std::vector<slice_item> taken_back;
  for (std::size_t l = 0; l < lanes_.size(); ++l) {
    std::vector<slice_item>& items = lanes_[l].items;
    unchanged[l] = items.size();
    if (begin > last_begin_) continue;
    const auto cut =
        std::partition_point(items.begin(), items.end(), [&](const slice_item& s) { return s.begin < begin; });
    unchanged[l] = static_cast<std::size_t>(cut - items.begin());
    taken_back.insert(taken_back.end(), cut, items.end());
    items.erase(cut, items.end());
  }
  const auto deep =
      std::partition_point(deeper_.begin(), deeper_.end(), [&](const deep_item& s) { return s.item.begin < begin; });
  for (auto at = deep; at != deeper_.end(); ++at) taken_back.push_back(at->item);
  deeper_.erase(deep, deeper_.end());
  size_ += batch.size();
  if (lanes_.empty()) lanes_.emplace_back();
  if (taken_back.empty() && lanes_.front().items.empty() && none_overlap(batch)) {
    last_begin_ = std::max(last_begin_, batch.back().begin);
    lanes_.front().items = std::move(batch);  // In the usual case, all slices fit in one lane.
  } else if (taken_back.empty()) {
    if (lanes_.front().items.empty()) lanes_.front().items.reserve(batch.size());
    for (const slice_item& item : batch) place(item);
  } else {
    std::sort(taken_back.begin(), taken_back.end(), earlier);
    std::vector<slice_item> merged(taken_back.size() + batch.size());
    std::merge(taken_back.begin(), taken_back.end(), batch.begin(), batch.end(), merged.begin(), earlier);
    for (const slice_item& item : merged) place(item);
  }
  unchanged.resize(lanes_.size(), 0);
  for (std::size_t l = 0; l < lanes_.size(); ++l) sum_up(lanes_[l], unchanged[l]);
}

void slice_set::place(const slice_item& item) {
  last_begin_ = std::max(last_begin_, item.begin);
  for (lane& l : lanes_) {
    if (l.items.empty() || l.items.back().end <= item.begin) {
      l.items.push_back(item);
      return;
    }
  }
  if (lanes_.size() < lane_limit) {
    lanes_.emplace_back().items.push_back(item);
    return;
  }
  deeper_.push_back({item, deeper_.empty() ? item.end : std::max(item.end, deeper_.back().reach)});
}

void slice_set::sum_up(lane& l, std::size_t unchanged) {
  std::size_t below = l.items.size();
  for (std::size_t k = 0;; ++k) {
    const std::size_t whole = below / fan_out;
    if (whole == 0) {
      l.levels.resize(k);
      return;
    }
    if (l.levels.size() <= k) l.levels.emplace_back();
    std::vector<node>& level = l.levels[k];
    unchanged /= fan_out;
    const std::size_t begin = std::min(unchanged, level.size());
    level.resize(whole);
    for (std::size_t i = begin; i < whole; ++i) {
      node sum;
      sum.longest = k == 0 ? i * fan_out : l.levels[k - 1][i * fan_out].longest;
      for (std::size_t child = i * fan_out; child < (i + 1) * fan_out; ++child) {
        const node part = k == 0 ? node{length(l.items[child]), l.items[child].bytes, child} : l.levels[k - 1][child];
        sum.busy += part.busy;
        sum.bytes += part.bytes;
        if (length(l.items[part.longest]) > length(l.items[sum.longest])) sum.longest = part.longest;
      }
      level[i] = sum;
    }
    below = whole;
  }
}

std::size_t slice_set::first_after(const std::vector<slice_item>& items, time_ns begin) {
  const auto first = std::partition_point(items.begin(), items.end(),
                                          [&](const slice_item& s) { return s.end <= begin && s.begin < begin; });
  return static_cast<std::size_t>(first - items.begin());
}

void slice_set::draw(time_ns begin, time_ns end, std::uint32_t width, std::vector<drawn_slice>& out) const {
  if (end <= begin || width == 0) return;
  for (std::size_t l = 0; l < lanes_.size(); ++l) draw_lane(l, begin, end, width, out);
}

void slice_set::draw_lane(std::size_t l, time_ns begin, time_ns end, std::uint32_t width,
                          std::vector<drawn_slice>& out) const {
  const std::vector<slice_item>& items = lanes_[l].items;
  const std::vector<std::vector<node>>& levels = lanes_[l].levels;
  // Slices narrower than a pixel are merged as long as the merged slice is at most a pixel long. The merged slice is
  // placed where its slices are, not on a pixel grid, so that little changes while a view is panned.
  const time_ns pixel = (end - begin) / width;
  bool gathering = false;  // True if more slices can be merged into out.back().
  time_ns busy = 0;        // The time that slices cover in out.back().
  const auto close = [&] {
    if (!gathering) return;
    gathering = false;
    const time_ns span = length(out.back().item);
    out.back().busy = span > 0 ? static_cast<float>(static_cast<double>(busy) / static_cast<double>(span)) : 1;
  };

  time_ns longest_length = 0;
  for (std::size_t i = first_after(items, begin); i < items.size() && items[i].begin < end;) {
    // Take the largest node that starts here and fits into the rest of the pixel. If no node fits, take one slice.
    // Thus, a merged slice contains all slices that fit and start in the range, wherever nodes start.
    const bool joins = gathering && items[i].end - out.back().item.begin <= pixel;
    const time_ns since = joins ? out.back().item.begin : items[i].begin;
    std::size_t step = 1;
    node part{length(items[i]), items[i].bytes, i};
    for (std::size_t k = 0, size = fan_out; k < levels.size() && i % size == 0; ++k, size *= fan_out) {
      if (i / size >= levels[k].size()) break;
      const slice_item& last = items[i + size - 1];
      if (last.end - since > pixel || last.begin >= end) break;
      step = size;
      part = levels[k][i / size];
    }
    const slice_item& longest = items[part.longest];
    const time_ns start = items[i].begin;
    const time_ns to = items[i + step - 1].end;
    if (joins) {
      drawn_slice& gathered = out.back();
      const slice_item before = gathered.item;
      if (length(longest) > longest_length) {
        gathered.item = longest;
        longest_length = length(longest);
      }
      gathered.item.begin = before.begin;
      gathered.item.end = to;
      gathered.item.bytes = before.bytes + part.bytes;
      gathered.count += static_cast<std::uint32_t>(step);
      busy += part.busy;
    } else {
      close();
      drawn_slice& drawn =
          out.emplace_back(drawn_slice{longest, static_cast<std::uint32_t>(step), 1, static_cast<std::uint16_t>(l)});
      drawn.item.begin = start;
      drawn.item.end = to;
      drawn.item.bytes = part.bytes;
      gathering = to - start <= pixel;
      busy = part.busy;
      longest_length = length(longest);
    }
    i += step;
  }
  close();
}

}  // namespace sluice::timeline
