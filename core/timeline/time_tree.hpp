#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "core/base/sort_runs.hpp"
#include "core/trace/model/ids.hpp"

/// Step functions of time that can be queried at any zoom level.
///
/// A step is a time at which the value changes. The steps are kept in a tree of aligned dyadic time spans: an inner
/// node divides its span into halves at one bit of the timestamp, and a leaf holds up to `leaf_capacity` steps. The
/// shape of the tree depends only on the times, not on the order in which steps are added. A late event therefore costs
/// no more than any other event, and at most 16,384 steps are sorted at once. The shape is that of a crit-bit tree
/// (Bernstein 2004); the aggregates are as in a segment tree.
///
/// For the time span [first step, last step), each node stores the integral, the minimum and the time spent at the
/// minimum, and the maximum and the time when it was first reached. Between two nodes, the value is constant.
/// Therefore, results for a range are exact, and a query for `width` equal parts visits at most O(width * log(steps /
/// width)) nodes.
///
/// Up to 16,384 steps are stored in a sorted array instead of a tree, together with the value before every 64th step.
/// Queries then scan the steps in their range. Short parts of a recording have few steps, and building a tree for so
/// few steps would take longer than scanning them.
///
/// Times must be `bounded`, and values finite. Not thread-safe for writing; several threads may read a settled tree.
namespace sluice::timeline {

/// Statistics of a step function over a time span.
struct extent {
  double minimum = std::numeric_limits<double>::infinity();
  double maximum = -std::numeric_limits<double>::infinity();
  time_ns minimum_length = 0;  ///< The time spent at the minimum, in ns.
  time_ns maximum_time = 0;    ///< When the maximum was first reached.
  double integral = 0;         ///< The integral of the value over time, in units of the value times ns.

  [[nodiscard]] bool empty() const { return minimum > maximum; }

  /// Appends `ns` nanoseconds, starting at `time`, during which the value is `value`.
  void hold(double value, time_ns time, time_ns ns) {
    if (ns <= 0) return;
    join(value, value, ns, time, value * static_cast<double>(ns));
  }

  /// Appends the statistics of the span that follows, after adding `base` to its values.
  void append(const extent& later, double base) {
    if (later.empty()) return;
    const double ns = static_cast<double>(later.length);
    join(base + later.minimum, base + later.maximum, later.minimum_length, later.maximum_time,
         later.integral + base * ns);
    length += later.length - later.minimum_length;
  }

  time_ns length = 0;  ///< Length of the span in ns.

 private:
  void join(double low, double high, time_ns low_length, time_ns high_time, double area) {
    if (low < minimum) {
      minimum = low;
      minimum_length = low_length;
    } else if (low == minimum) {
      minimum_length += low_length;
    }
    if (high > maximum) {
      maximum = high;
      maximum_time = high_time;
    }
    integral += area;
    length += low_length;
  }
};

/// A step that adds to the value. It stands for an allocation or free, or for the start or end of an interval.
struct delta_step {
  static constexpr bool relative = true;
  time_ns time = 0;
  double value = 0;
  void merge(const delta_step& same_time) { value += same_time.value; }
};

/// A step that sets the value until the next step. It stands for a sample. If two samples have the same time, the
/// sample with the higher `order` counts.
struct sample_step {
  static constexpr bool relative = false;
  time_ns time = 0;
  double value = 0;
  std::uint64_t order = 0;
  void merge(const sample_step& same_time) {
    if (same_time.order >= order) *this = same_time;
  }
};

/// A step function. `Step` is `delta_step` or `sample_step`.
template <class Step>
class time_tree {
 public:
  /// Amortized O(log n). Call `settle` before any query.
  void add(Step step) {
    first_ = std::min(first_, step.time);
    last_ = std::max(last_, step.time);
    if (added_.size() == max_added) take_in();
    added_.push_back(step);
  }

  /// Updates the sums after `add`. Must be called before any query. O(changed nodes); without a tree, O(all steps).
  void settle() {
    const bool more = !added_.empty();
    take_in();
    added_ = std::vector<Step>();
    if (!nodes_.empty()) {
      refresh(root_);
    } else if (more) {
      find_bases();
    }
    settled_ = true;
  }

  /// Stores the maximum over all steps of a recording. Use this for a tree that contains only some of these steps, or
  /// none.
  void set_highest(double value) { known_highest_ = value; }
  /// Returns the maximum that `set_highest` has stored. If it has stored none, returns the maximum over [begin, end),
  /// which must contain all steps, or 0 if the range is empty.
  [[nodiscard]] double highest(time_ns begin, time_ns end) const {
    if (known_highest_) return *known_highest_;
    const extent whole = over(begin, end);
    return whole.empty() ? 0 : whole.maximum;
  }

  [[nodiscard]] bool empty() const { return nodes_.empty() && few_.empty() && added_.empty() && !known_highest_; }
  /// The times of the first and the last step. first > last if there are no steps.
  [[nodiscard]] time_ns first_time() const { return first_; }
  [[nodiscard]] time_ns last_time() const { return last_; }

  /// Returns the value at `time`, after any steps at exactly `time`; 0 before the first step. O(log n).
  [[nodiscard]] double at(time_ns time) const {
    cursor walk(time);
    go_through(walk, time);
    return walk.value;
  }

  /// Returns the last step at or before `time`, or null if there is none. Valid until the tree changes. O(log n).
  [[nodiscard]] const Step* last_until(time_ns time) const {
    if ((nodes_.empty() && few_.empty()) || time < first_) return nullptr;
    const std::vector<Step>* steps = &few_;
    if (!nodes_.empty()) {
      std::uint32_t at = root_;
      while (nodes_[at].leaf == none) {
        const node& right = nodes_[nodes_[at].child[1]];
        at = nodes_[at].child[right.first <= time ? 1 : 0];
      }
      steps = &leaves_[nodes_[at].leaf];
    }
    return &*(first_behind(*steps, time) - 1);
  }

  /// Returns the exact statistics over [begin, end). O(log n).
  [[nodiscard]] extent over(time_ns begin, time_ns end) const {
    extent whole;
    split(begin, end, 1, [&](std::uint32_t, const extent& part, double) { whole = part; });
    return whole;
  }

  /// Divides [begin, end) into `width` equal parts and calls `each(index, extent, value at the part's start)` for each
  /// part, in order. A part shorter than 1 ns has an empty extent. The extents are exact. O(width * log(steps /
  /// width)); without a tree, O(width + steps in the range).
  template <class Each>
  void split(time_ns begin, time_ns end, std::uint32_t width, Each&& each) const {
    if (end < begin || width == 0) return;
    splitter<Each> walk(begin, end, width, each);
    go_through(walk, begin);
    walk.finish();
  }

 private:
  static constexpr std::size_t leaf_capacity = 64;
  /// Added steps are sorted in batches of this size. If they were added one by one, each step would take a search for
  /// its leaf and a shift of half of the leaf.
  static constexpr std::size_t max_added = std::size_t{1} << 14;
  static constexpr std::uint32_t none = 0xffffffffU;
  static constexpr unsigned top_bit = 63;

  struct node {
    extent inside;                ///< The statistics over [first, last). For deltas, the values are relative to the
                                  ///< value before `first`.
    time_ns first = 0, last = 0;  ///< The times of the node's first and last step.
    double final = 0;             ///< The value after the last step. For deltas, it is relative to the value before
                                  ///< `first`.
    std::uint64_t prefix = 0;     ///< In an inner node: the key (`get_key`) of any time in its span.
    std::uint32_t leaf = none;    ///< The leaf's index in `leaves_`; `none` for an inner node.
    std::uint32_t child[2] = {none, none};
    std::uint8_t bit = 0;  ///< In an inner node: the bit in which the keys of the two children differ.
    bool dirty = true;
  };

  /// Maps times to unsigned numbers that have the same order.
  static std::uint64_t get_key(time_ns time) {
    return static_cast<std::uint64_t>(time) ^ (std::uint64_t{1} << top_bit);
  }
  static unsigned highest_bit(std::uint64_t word) { return top_bit - static_cast<unsigned>(__builtin_clzll(word)); }
  static bool same_span(const node& n, std::uint64_t key) {
    const std::uint64_t differ = n.prefix ^ key;
    return differ == 0 || highest_bit(differ) <= n.bit;
  }

  struct earlier {
    bool operator()(const Step& a, const Step& b) const { return a.time < b.time; }
  };
  /// Returns an iterator to the first step after `time`.
  static auto first_behind(const std::vector<Step>& steps, time_ns time) {
    return std::upper_bound(steps.begin(), steps.end(), time, [](time_ns t, const Step& s) { return t < s.time; });
  }

  /// Moves the added steps into the sorted array, or into the tree if there is one.
  void take_in() {
    if (added_.empty()) return;
    sort_runs(added_, earlier{});
    if (nodes_.empty()) {
      put_to_few();
      if (few_.size() > max_added) build();
    } else {
      for (const Step& step : added_) insert(find_leaf(get_key(step.time)), step);
    }
    added_.clear();
  }

  /// Merges the added steps, which are sorted, into the sorted array `few_`.
  void put_to_few() {
    if (few_.empty()) {
      few_.swap(added_);
    } else {
      const auto added = few_.insert(few_.end(), added_.begin(), added_.end());
      if (added->time < (added - 1)->time) std::inplace_merge(few_.begin(), added, few_.end(), earlier{});
    }
    auto last = few_.begin();
    for (auto next = last + 1; next != few_.end(); ++next) {
      if (next->time == last->time) {
        last->merge(*next);
      } else if (++last != next) {
        *last = *next;
      }
    }
    few_.erase(last + 1, few_.end());
  }

  void find_bases() {
    bases_.clear();
    double value = 0;
    for (std::size_t i = 0; i < few_.size(); ++i) {
      if (i % leaf_capacity == 0) bases_.push_back(value);
      value = after(value, few_[i]);
    }
  }

  /// If `few_` has become too large, builds the tree from it.
  void build() {
    nodes_.push_back(node{});
    fill(root_, few_.begin(), few_.end());
    few_ = std::vector<Step>();  // Assigning `{}` would keep the vector's memory.
    bases_ = std::vector<double>();
    settled_ = false;
    finger_ = none;
  }

  /// Makes node `at` a leaf with these steps, or an inner node over two halves of them, as repeated calls of `divide`
  /// would.
  void fill(std::uint32_t at, typename std::vector<Step>::const_iterator begin,
            typename std::vector<Step>::const_iterator end) {
    if (static_cast<std::size_t>(end - begin) <= leaf_capacity) {
      nodes_[at].leaf = static_cast<std::uint32_t>(leaves_.size());
      leaves_.emplace_back(begin, end);
      return;
    }
    const std::uint64_t low = get_key(begin->time);
    const std::uint64_t high = get_key((end - 1)->time);
    const unsigned bit = highest_bit(low ^ high);
    const std::uint64_t middle = (high >> bit) << bit;
    const auto cut = std::partition_point(begin, end, [&](const Step& step) { return get_key(step.time) < middle; });
    const auto first = static_cast<std::uint32_t>(nodes_.size());
    nodes_.resize(nodes_.size() + 2);
    node& n = nodes_[at];
    n.prefix = low;
    n.bit = static_cast<std::uint8_t>(bit);
    n.child[0] = first;
    n.child[1] = first + 1;
    fill(first, begin, cut);
    fill(first + 1, cut, end);
  }

  /// Returns the leaf for `key`. If the span of a node does not contain `key`, adds a branch above that node. Marks all
  /// nodes on the path as dirty.
  std::uint32_t find_leaf(std::uint64_t key) {
    if (!settled_ && finger_ != none && key >= finger_low_ && key <= finger_high_) return finger_;
    settled_ = false;
    std::uint64_t low = 0;
    std::uint64_t high = ~std::uint64_t{0};
    std::uint32_t parent = none;
    unsigned side = 0;
    std::uint32_t at = root_;
    while (nodes_[at].leaf == none) {
      nodes_[at].dirty = true;
      if (!same_span(nodes_[at], key)) {
        at = branch_above(at, parent, side, key);
        nodes_[at].dirty = true;
      }
      const unsigned bit = nodes_[at].bit;
      side = static_cast<unsigned>((key >> bit) & 1U);
      const std::uint64_t ones = (std::uint64_t{1} << bit) - 1;
      low = ((key >> bit) << bit);
      high = low | ones;
      parent = at;
      at = nodes_[at].child[side];
    }
    nodes_[at].dirty = true;
    finger_ = at;
    finger_low_ = low;
    finger_high_ = high;
    return at;
  }

  /// Inserts an inner node between `parent` and `at`, gives it a new leaf for `key` as the sibling of `at`, and returns
  /// that leaf.
  std::uint32_t branch_above(std::uint32_t at, std::uint32_t parent, unsigned side, std::uint64_t key) {
    const auto leaf = static_cast<std::uint32_t>(nodes_.size());
    nodes_.push_back(node{});
    nodes_[leaf].leaf = static_cast<std::uint32_t>(leaves_.size());
    leaves_.emplace_back();
    const auto fresh = static_cast<std::uint32_t>(nodes_.size());
    nodes_.push_back(node{});
    node& n = nodes_[fresh];
    n.prefix = key;
    n.bit = static_cast<std::uint8_t>(highest_bit(nodes_[at].prefix ^ key));
    const auto mine = static_cast<unsigned>((key >> n.bit) & 1U);
    n.child[mine] = leaf;
    n.child[1 - mine] = at;
    if (parent == none) {
      root_ = fresh;
    } else {
      nodes_[parent].child[side] = fresh;
    }
    return fresh;
  }

  void insert(std::uint32_t at, const Step& step) {
    std::vector<Step>& steps = leaves_[nodes_[at].leaf];
    if (steps.empty() || steps.back().time < step.time) {
      steps.push_back(step);
    } else {
      const auto place =
          std::lower_bound(steps.begin(), steps.end(), step.time, [](const Step& s, time_ns t) { return s.time < t; });
      if (place->time == step.time) {
        place->merge(step);
      } else {
        steps.insert(place, step);
      }
    }
    if (steps.size() > leaf_capacity) divide(at);
  }

  /// Turns a full leaf into an inner node with two leaves.
  void divide(std::uint32_t at) {
    finger_ = none;
    const std::uint32_t left_leaf = nodes_[at].leaf;
    const std::uint64_t low = get_key(leaves_[left_leaf].front().time);
    const std::uint64_t high = get_key(leaves_[left_leaf].back().time);
    const unsigned bit = highest_bit(low ^ high);
    const std::uint64_t middle = (high >> bit) << bit;
    const auto right_leaf = static_cast<std::uint32_t>(leaves_.size());
    leaves_.emplace_back();
    std::vector<Step>& left = leaves_[left_leaf];
    const auto cut =
        std::partition_point(left.begin(), left.end(), [&](const Step& s) { return get_key(s.time) < middle; });
    leaves_[right_leaf].assign(cut, left.end());
    left.erase(cut, left.end());
    const auto first = static_cast<std::uint32_t>(nodes_.size());
    nodes_.resize(nodes_.size() + 2);
    nodes_[first].leaf = left_leaf;
    nodes_[first + 1].leaf = right_leaf;
    node& n = nodes_[at];
    n.leaf = none;
    n.prefix = low;
    n.bit = static_cast<std::uint8_t>(bit);
    n.child[0] = first;
    n.child[1] = first + 1;
  }

  static double base(double value) { return Step::relative ? value : 0; }
  static double after(double value, const Step& step) { return base(value) + step.value; }

  /// Recomputes the dirty nodes in the subtree of `at`, which is at most 64 levels deep.
  void refresh(std::uint32_t at) {
    node& n = nodes_[at];
    if (!n.dirty) return;
    n.dirty = false;
    n.inside = extent{};
    if (n.leaf != none) {
      const std::vector<Step>& steps = leaves_[n.leaf];
      n.first = steps.front().time;
      n.last = steps.back().time;
      double value = 0;
      time_ns since = n.first;
      for (const Step& step : steps) {
        n.inside.hold(value, since, step.time - since);
        since = step.time;
        value = after(value, step);
      }
      n.final = value;
      return;
    }
    refresh(n.child[0]);
    refresh(n.child[1]);
    const node& left = nodes_[n.child[0]];
    const node& right = nodes_[n.child[1]];
    n.first = left.first;
    n.last = right.last;
    n.inside.append(left.inside, 0);
    n.inside.hold(left.final, left.last, right.first - left.last);
    n.inside.append(right.inside, base(left.final));
    n.final = base(left.final) + right.final;
  }

  /// A walk over the steps up to `time` that only computes the value at `time`.
  struct cursor {
    explicit cursor(time_ns t) : time(t) {}
    void begin_with(double before) { value = before; }
    [[nodiscard]] bool takes(time_ns, time_ns last) const { return last <= time; }
    [[nodiscard]] bool done(time_ns first) const { return first > time; }
    void whole(const node& n) { value = base(value) + n.final; }
    void single(const Step& step) { value = after(value, step); }
    time_ns time;
    double value = 0;
  };

  /// A walk over the steps, in order, that passes one extent for each part to `each`.
  template <class Each>
  struct splitter {
    splitter(time_ns b, time_ns e, std::uint32_t w, Each& f)
        : begin(b),
          end(e),
          width(w),
          whole_part(static_cast<std::uint64_t>(e - b) / w),
          rest(static_cast<std::uint64_t>(e - b) % w),
          each(f),
          now(b),
          part_end(edge(1)) {}

    void begin_with(double before) { value = at_begin = before; }
    [[nodiscard]] time_ns edge(std::uint32_t i) const {
      // The length times i, divided by the width, computed so that 64 bits do not overflow. If all bins have a length
      // that is a power of two, there is no remainder.
      return begin + static_cast<time_ns>(whole_part * i + (rest == 0 ? 0 : rest * i / width));
    }
    [[nodiscard]] bool takes(time_ns first, time_ns last) {
      if (last <= begin) return true;
      advance(first);
      return first >= now && first > edge_begin && last < part_end;  // Steps at an edge are handled one by one.
    }
    [[nodiscard]] bool done(time_ns first) const { return first >= end; }
    void whole(const node& n) {
      if (n.last > begin) {
        part.hold(value, now, n.first - now);
        part.append(n.inside, base(value));
        now = n.last;
      }
      value = base(value) + n.final;
      if (now == begin) at_begin = value;
    }
    void single(const Step& step) {
      if (step.time > begin) {
        advance(step.time);
        part.hold(value, now, step.time - now);
        now = step.time;
      }
      value = after(value, step);
      if (now == edge_begin) at_begin = value;
    }
    /// Reports the parts that end at or before `time` to `each`.
    void advance(time_ns time) {
      while (index < width && part_end <= time) hand_out();
    }
    void hand_out() {
      part.hold(value, now, part_end - now);
      each(index, part, at_begin);
      part = extent{};
      now = edge_begin = part_end;
      at_begin = value;
      ++index;
      part_end = index < width ? edge(index + 1) : end;
    }
    void finish() {
      while (index < width) hand_out();
    }

    time_ns begin, end;
    std::uint32_t width;
    std::uint64_t whole_part, rest;  ///< Quotient and remainder of dividing the length of the range by `width`.
    Each& each;
    time_ns now, part_end;
    time_ns edge_begin = begin;
    std::uint32_t index = 0;
    double value = 0;
    double at_begin = 0;
    extent part;
  };

  /// Runs `walk` over all steps that it needs. Steps before `begin` only affect the value at `begin`.
  template <class Walk>
  void go_through(Walk& walk, time_ns begin) const {
    if (!nodes_.empty()) return visit(root_, walk);
    if (bases_.empty()) return;
    const auto later = static_cast<std::size_t>(first_behind(few_, begin) - few_.begin());
    const std::size_t block = (later == 0 ? 0 : later - 1) / leaf_capacity;
    walk.begin_with(bases_[block]);
    for (std::size_t i = block * leaf_capacity; i < few_.size() && !walk.done(few_[i].time); ++i) walk.single(few_[i]);
  }

  template <class Walk>
  void visit(std::uint32_t at, Walk& walk) const {
    const node& n = nodes_[at];
    if (walk.done(n.first)) return;
    if (walk.takes(n.first, n.last)) {
      walk.whole(n);
      return;
    }
    if (n.leaf != none) {
      for (const Step& step : leaves_[n.leaf]) {
        if (walk.done(step.time)) return;
        walk.single(step);
      }
      return;
    }
    visit(n.child[0], walk);
    visit(n.child[1], walk);
  }

  std::vector<Step> added_;    ///< Added steps that are not yet in `few_` or in the tree.
  std::vector<Step> few_;      ///< All steps in order, as long as there is no tree.
  std::vector<double> bases_;  ///< The value before each `leaf_capacity`-th step of `few_`.
  std::vector<node> nodes_;
  std::vector<std::vector<Step>> leaves_;
  std::uint32_t root_ = 0;
  std::uint32_t finger_ = none;  ///< The leaf of the step that was inserted last, for keys in [`finger_low_`,
                                 ///< `finger_high_`].
  std::uint64_t finger_low_ = 0, finger_high_ = 0;
  bool settled_ = false;
  std::optional<double> known_highest_;
  time_ns first_ = std::numeric_limits<time_ns>::max();
  time_ns last_ = std::numeric_limits<time_ns>::min();
};

/// A value that increases and decreases, for example with allocations and frees, or with starts and ends of intervals.
using level_tree = time_tree<delta_step>;
/// A value that is sampled from time to time.
using sample_tree = time_tree<sample_step>;

/// Counts the intervals that are open at a time. Their union is the time during which this count is not 0.
class coverage {
 public:
  void add(time_ns begin, time_ns end) {
    if (end <= begin) return;
    open_.add({begin, 1});
    open_.add({end, -1});
  }
  void settle() { open_.settle(); }
  [[nodiscard]] bool empty() const { return open_.empty(); }
  /// Returns how much time in [begin, end) is covered, in ns. Exact. O(log n).
  [[nodiscard]] time_ns busy(time_ns begin, time_ns end) const {
    const extent over = open_.over(begin, end);
    return over.minimum == 0 ? (end - begin) - over.minimum_length : over.empty() ? 0 : end - begin;
  }
  [[nodiscard]] const level_tree& open() const { return open_; }

 private:
  level_tree open_;
};

}  // namespace sluice::timeline
