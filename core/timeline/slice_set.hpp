#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "core/trace/model/ids.hpp"

/// The slices (time intervals) of one track of the timeline, in a form that can be drawn at any zoom level.
namespace sluice::timeline {

/// An interval on a track. The owner of the track determines what `kind` and `tag` mean.
struct slice_item {
  time_ns begin = 0;
  time_ns end = 0;  ///< At least `begin`.
  trace::event_id event{};
  trace::string_id name{};
  std::uint64_t bytes = 0;
  std::uint8_t kind = 0;
  std::uint8_t tag = 0;
  /// For work on a device, the time from the call that requested the work to the start of the work, in ns, at most
  /// `longest_queued`; 0: unknown.
  std::uint32_t queued = 0;
  static constexpr std::uint32_t longest_queued = 0xffff'ffff;
};

/// A slice as it is drawn. It is a single slice, or several slices that were merged because they share a pixel.
struct drawn_slice {
  slice_item item;  ///< The slice. If several slices were merged, the longest of them, but with the start, end and
                    ///< `bytes` of all together.
  std::uint32_t count = 1;
  float busy = 1;  ///< The share of [begin, end) that slices cover.
  std::uint16_t lane = 0;
};

/// The slices of a track, arranged in lanes. Slices in a lane do not overlap; a nested slice is in a deeper lane. In
/// order of (start, longest first, event), each slice goes to the topmost lane that is free at its start. Each lane is
/// a sorted array below a tree, in which each node sums up `fan_out` children.
///
/// Slices may be added in any order. A slice that is added in order costs amortized O(lanes). After a slice that is out
/// of order, `settle` places all slices that start later again. If all `lane_limit` lanes are occupied, a slice is not
/// drawn, but `for_each` still visits it.
class slice_set {
 public:
  static constexpr std::size_t lane_limit = 256;

  /// Amortized O(1). Call `settle` before any query.
  void add(const slice_item& item) {
    if (item.begin >= from_) added_.push_back(item);
  }

  /// Places the added slices in lanes. Slices that start after the earliest added slice are also placed again. O(lanes)
  /// for each slice.
  void settle();

  /// Prepares a set for the part of a track that starts at `begin`. The whole track has `lanes` lanes. `add` then
  /// ignores slices that start before `begin`. Pass the slices that are still running at `begin` to the other overload
  /// of `set_known`. Both overloads must be called before `add`.
  void set_known(std::size_t lanes, time_ns begin) {
    if (lanes_.size() < lanes) lanes_.resize(std::min(lanes, lane_limit));
    from_ = begin;
  }
  /// Adds, in lane `at`, a slice that started before the `begin` passed to the other overload and is still running
  /// then. A lane can have at most one such slice.
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
  /// The number of slices that are not drawn because all lanes were occupied.
  [[nodiscard]] std::uint64_t hidden() const { return deeper_.size(); }

  /// Calls `visit(const slice_item&, lane)` for every slice that overlaps [begin, end). Visits the lanes one by one,
  /// each in order of start, and then the slices that are not drawn (`hidden`), with `lane_limit` as the lane. A slice
  /// of length 0 is visited if it starts in the range. Each lane takes O(log n + visited slices). The slices that are
  /// not drawn take O(log n + slices that start between the first and the last visited slice).
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

  /// Appends to `out` the slices to draw for [begin, end) on `width` pixels, sorted by start within each lane. Adjacent
  /// slices in a lane that together span at most one pixel are merged. O(width * fan_out + log n) per lane.
  void draw(time_ns begin, time_ns end, std::uint32_t width, std::vector<drawn_slice>& out) const;

 private:
  static constexpr std::size_t fan_out = 8;

  /// The sums over `fan_out` slices, or over `fan_out` nodes of the next lower level.
  struct node {
    time_ns busy = 0;
    std::uint64_t bytes = 0;
    std::uint64_t longest = 0;  ///< Index of the longest slice in `items`.
  };
  struct lane {
    std::vector<slice_item> items;
    std::vector<std::vector<node>> levels;  ///< levels[k][i] sums up the items [i, i + 1) * fan_out^(k + 1). Only
                                            ///< complete nodes are stored.
  };

  /// A slice for which no lane was free when it started.
  struct deep_item {
    slice_item item;
    time_ns reach = 0;  ///< The latest end of this slice and of all slices before it in `deeper_`.
  };

  static std::size_t first_after(const std::vector<slice_item>& items, time_ns begin);
  static void sum_up(lane& l, std::size_t unchanged);
  void place(const slice_item& item);
  void draw_lane(std::size_t l, time_ns begin, time_ns end, std::uint32_t width, std::vector<drawn_slice>& out) const;

  std::vector<slice_item> added_;  ///< Slices that are not yet placed in a lane.
  std::vector<lane> lanes_;
  time_ns from_ = INT64_MIN;  ///< `add` ignores slices that start before this time.
  time_ns last_begin_ = INT64_MIN;
  std::uint64_t size_ = 0;
  std::vector<deep_item> deeper_;  ///< The slices for which no lane was free, in order of start.
};

}  // namespace sluice::timeline
