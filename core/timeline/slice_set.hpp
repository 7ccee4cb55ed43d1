#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "core/trace/model/ids.hpp"

/// The slices of one track, ready to be drawn at any zoom.
namespace sluice::timeline {

using trace::time_ns;

/// An interval on a track. The owner of the track defines the meaning of `kind` and `tag`.
struct slice_item {
  time_ns begin = 0;
  time_ns end = 0;  ///< >= begin.
  trace::event_id event{};
  trace::string_id name{};
  std::uint64_t bytes = 0;
  std::uint8_t kind = 0;
  std::uint8_t tag = 0;
};

/// One drawn slice: a single slice, or several merged because they share a pixel.
struct drawn_slice {
  slice_item item;  ///< The slice, or the longest of the merged ones with the begin and end of all.
  std::uint32_t count = 1;
  float busy = 1;  ///< Share of [begin, end) covered by slices.
  std::uint16_t lane = 0;
};

/// The intervals of a track, arranged in lanes so that no two in a lane overlap; a nested interval lies in a deeper
/// lane. Each slice goes to the lowest lane free at its begin, in order of (begin, longest first, event). Each lane is
/// a sorted array under a tree whose nodes sum `fan_out` children each.
///
/// Slices may be added in any order. What comes late merges into the part of the track that it overlaps; appending
/// in order costs amortised O(lanes). At most `lane_limit` lanes: what finds no place there is not drawn, but is in every figure.
class slice_set {
 public:
  static constexpr std::size_t lane_limit = 256;

  /// Amortized O(1). Call `settle` before any query.
  void add(const slice_item& item) {
    if (item.begin >= from_) added_.push_back(item);
  }

  /// Places the added slices in lanes. O(added slices + those they overlap) if they form few time-ordered runs.
  void settle();

  /// Prepares a set that holds only one section of a track with `lanes` lanes: slices that begin before `from` are
  /// ignored unless given to the other `set_known`. Call before adding any slice.
  void set_known(std::size_t lanes, time_ns from) {
    if (lanes_.size() < lanes) lanes_.resize(std::min(lanes, lane_limit));
    from_ = from;
  }
  /// Adds a slice that began before `from` and is still open then: at most one per lane, in lane `at`.
  void set_known(const slice_item& open, std::size_t at) {
    if (at >= lanes_.size() || !lanes_[at].items.empty() || open.begin >= from_) return;
    lanes_[at].items.push_back(open);
    last_begin_ = std::max(last_begin_, open.begin);
    ++size_;
  }
  /// Calls `visit(const slice_item&, lane)` for every slice with begin < `time` < end. O(lanes * log n).
  template <class Visit>
  void for_each_open(time_ns time, Visit&& visit) const {
    for (std::size_t l = 0; l < lanes_.size(); ++l) {
      const std::vector<slice_item>& items = lanes_[l].items;
      const auto next =
          std::partition_point(items.begin(), items.end(), [&](const slice_item& s) { return s.begin < time; });
      if (next != items.begin() && (next - 1)->end > time) visit(*(next - 1), static_cast<std::uint16_t>(l));
    }
  }

  [[nodiscard]] std::size_t lanes() const { return lanes_.size(); }
  [[nodiscard]] std::uint64_t size() const { return size_; }
  /// Slices that are not drawn, for want of lanes.
  [[nodiscard]] std::uint64_t hidden() const { return deeper_.size(); }

  /// Calls `visit(const slice_item&, lane)` for every slice that overlaps [begin, end), lane after lane in order of begin; those that
  /// are not drawn come last, with `lane_limit` as their lane. A slice without length belongs where it begins. O(log n + found), and of
  /// those that are not drawn O(log n + those that begin between the first found and the last).
  template <class Visit>
  void for_each(time_ns begin, time_ns end, Visit&& visit) const {
    for (std::size_t l = 0; l < lanes_.size(); ++l) {
      const std::vector<slice_item>& items = lanes_[l].items;
      for (std::size_t i = first_after(items, begin); i < items.size() && items[i].begin < end; ++i) {
        visit(items[i], static_cast<std::uint16_t>(l));
      }
    }
    const auto before = [&](const deep_item& s) { return s.reach <= begin && s.item.begin < begin; };
    for (auto at = std::partition_point(deeper_.begin(), deeper_.end(), before); at != deeper_.end(); ++at) {
      if (at->item.begin >= end) break;
      if (at->item.end > begin || at->item.begin >= begin) visit(at->item, static_cast<std::uint16_t>(lane_limit));
    }
  }

  /// Appends to `out` what to draw for [begin, end) on `width` pixels, sorted by begin within each lane. Neighbors in a
  /// lane that together span at most one pixel are merged. O(width * fan_out + log n) per lane.
  void draw(time_ns begin, time_ns end, std::uint32_t width, std::vector<drawn_slice>& out) const;

 private:
  static constexpr std::size_t fan_out = 8;

  /// Sums over `fan_out` slices, or over `fan_out` nodes of the level below.
  struct node {
    time_ns busy = 0;
    std::uint64_t bytes = 0;
    std::uint64_t longest = 0;  ///< Index of the longest slice.
  };
  struct lane {
    std::vector<slice_item> items;
    std::vector<std::vector<node>> levels;  ///< levels[k][i] sums items [i, i + 1) * fan_out^(k + 1); whole nodes only.
  };

  /// A slice that found no lane.
  struct deep_item {
    slice_item item;
    time_ns reach = 0;  ///< The latest end of it and those before it.
  };

  static std::size_t first_after(const std::vector<slice_item>& items, time_ns begin);
  static void sum_up(lane& l, std::size_t unchanged);
  void place(const slice_item& item);
  void draw_lane(std::size_t l, time_ns begin, time_ns end, std::uint32_t width, std::vector<drawn_slice>& out) const;

  std::vector<slice_item> added_;  ///< Slices not yet placed in a lane.
  std::vector<lane> lanes_;
  time_ns from_ = INT64_MIN;  ///< Slices that begin earlier are ignored.
  time_ns last_begin_ = INT64_MIN;
  std::uint64_t size_ = 0;
  std::vector<deep_item> deeper_;  ///< In order of begin.
};

}  // namespace sluice::timeline
