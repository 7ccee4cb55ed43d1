#include "core/replay/arenas.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "core/base/saturating.hpp"
#include "core/replay/freed_blocks.hpp"
#include "core/replay/holes.hpp"
#include "core/replay/policy.hpp"

namespace sluice::replay {
namespace {

constexpr std::size_t max_looked_at = 256;  ///< The maximum number of free blocks of other arenas that are examined for
                                            ///< each request.
constexpr std::uint64_t max_arenas = std::numeric_limits<std::uint16_t>::max();

std::uint64_t to_blocks(std::uint64_t bytes) {
  return (std::max<std::uint64_t>(bytes, 1) + smallest_block - 1) / smallest_block * smallest_block;
}

/// Follows the recorded blocks and their addresses, and notes which segments cannot be in the same arena.
class placement {
 public:
  placement(const recorded_events& events, explanation by)
      : of_(events),
        delays_(by == explanation::delays),
        segments_(format_segments(events)),
        blocks_(events.blocks.size()),
        apart_(events.segments.size()),
        holes_(groups_in(segments_)),
        freed_(delays_ ? collect_begins(events) : std::vector<std::uint64_t>()) {
    found_.free_at.assign(events.blocks.size(), no_delay);
    for (const recorded_block& block : events.blocks) found_.min_asked.push_back(block.bytes);
  }

  inferred_arenas infer() {
    for (std::size_t i = 0; i < of_.events.size(); ++i) step(i);
    close_emptying();
    while (const auto held = freed_.release(last_event))
      found_.free_at[held->block] = static_cast<std::uint32_t>(of_.events.size());
    colour();
    return std::move(found_);
  }

 private:
  struct segment {
    std::uint32_t group = 0;
    std::uint32_t live = 0;  ///< The number of blocks in the segment that are live or held.
    bool small = false;
    bool taken = false;
    bool fresh = false;  ///< True if the segment has not contained a block yet.
  };
  struct block {
    std::uint64_t extent = 0;  ///< The bytes that the block takes in its segment; 0: unknown.
    bool seen = false;         ///< True if the block has been allocated, even if it has been freed since.
    bool live = false;
  };
  static constexpr std::uint32_t last_event = std::numeric_limits<std::uint32_t>::max();

  static std::vector<segment> format_segments(const recorded_events& events) {
    std::vector<segment> segments(events.segments.size());
    std::map<std::pair<bool, std::uint64_t>, std::uint32_t> groups;
    for (std::size_t i = 0; i < segments.size(); ++i) {
      const recorded_segment& each = events.segments[i];
      segments[i].small = !each.mapped && each.bytes <= small_segment;
      const auto key = std::pair(segments[i].small, each.key);
      segments[i].group = groups.try_emplace(key, static_cast<std::uint32_t>(groups.size())).first->second;
    }
    return segments;
  }

  static std::size_t groups_in(const std::vector<segment>& segments) {
    std::size_t count = 0;
    for (const segment& each : segments) count = std::max<std::size_t>(count, each.group + 1);
    return count;
  }

  static std::vector<std::uint64_t> collect_begins(const recorded_events& events) {
    std::vector<std::uint64_t> values;
    values.reserve(events.blocks.size());
    for (const recorded_block& block : events.blocks) values.push_back(block.address);
    std::sort(values.begin(), values.end());
    values.erase(std::unique(values.begin(), values.end()), values.end());
    return values;
  }

  void step(std::size_t i) {
    const recorded_event& event = of_.events[i];
    now_ = static_cast<std::uint32_t>(i);
    if (event.kind != recorded_kind::segment_given_back && event.kind != recorded_kind::refused) {
      if (emptying_open_ && event.kind == recorded_kind::segment_taken)
        found_.emptyings.back().taken_next = of_.segments[event.at].bytes;
      close_emptying();
    }
    switch (event.kind) {
      case recorded_kind::segment_taken:
        return take(event.at);
      case recorded_kind::segment_given_back:
        return give_back(event.at, i);
      case recorded_kind::allocated:
        refused_ = false;
        return allocate(event.at);
      case recorded_kind::freed:
        refused_ = false;
        return free(event.at);
      case recorded_kind::refused:
        refused_ = true;
        if (emptying_open_) found_.emptyings.back().refused = true;
    }
  }

  void take(std::uint32_t at) {
    segment& in = segments_[at];
    if (in.taken) return;
    in.taken = in.fresh = true;
    reserved_ += of_.segments[at].bytes;
    ++taken_;
    ++found_.driver_calls;
    found_.peak_reserved = std::max(found_.peak_reserved, reserved_);
    found_.peak_segments = std::max(found_.peak_segments, taken_);
    if (!of_.segments[at].mapped) holes_.put({of_.segments[at].address, get_end(at), at, in.group});
  }

  void give_back(std::uint32_t at, std::size_t event) {
    segment& in = segments_[at];
    if (!in.taken) return;
    // The allocator waits for all streams first, so every freed block is really free.
    release(last_event);
    if (!emptying_open_) {
      found_.emptyings.push_back({event, {}, {}, reserved_, 0, refused_});
      emptying_open_ = true;
    }
    in.taken = false;
    reserved_ -= of_.segments[at].bytes;
    --taken_;
    ++found_.driver_calls;
    found_.emptyings.back().given.push_back(at);
    idle_.erase(at);
    if (of_.segments[at].mapped) return;
    holes_.clear(of_.segments[at].address, get_end(at), at);
    freed_.forget(of_.segments[at].address, get_end(at));
  }

  std::uint64_t get_end(std::uint32_t at) const {
    return saturating_sum(of_.segments[at].address, of_.segments[at].bytes);
  }

  /// Free segments that were not released must be in other arenas than the released segments.
  void close_emptying() {
    if (!emptying_open_) return;
    emptying_open_ = false;
    emptying& last = found_.emptyings.back();
    last.kept.assign(idle_.begin(), idle_.end());
    for (const std::uint32_t kept : last.kept)
      for (const std::uint32_t given : last.given) keep_apart(kept, given);
  }

  /// False if the location of the block is unknown, or was chosen by the program (mapped).
  bool has_place(const recorded_block& subject) const {
    return subject.segment != no_segment && !of_.segments[subject.segment].mapped;
  }

  void allocate(std::uint32_t at) {
    const recorded_block& output = of_.blocks[at];
    if (!has_place(output) || blocks_[at].seen) return;
    blocks_[at].seen = blocks_[at].live = true;
    segment& in = segments_[output.segment];
    ++in.live;
    idle_.erase(output.segment);
    const std::uint64_t size = to_blocks(output.bytes);
    release_used(output.address, saturating_sum(output.address, size));
    const auto source = holes_.take(output.address, output.segment);
    if (!source) return;
    if (source->begin == output.address) {
      // A new segment was taken, so no hole was suitable.
      compare(size, in.fresh ? sized_hole{no_limit, 0, 0} : sized_hole{source->bytes(), source->begin, 0}, output);
      if (source->bytes() == output.bytes && !in.small) note_whole(at, in);
    }
    in.fresh = false;
    const std::uint64_t room = source->end - output.address;
    const std::uint64_t rest = room - std::min(room, size);
    const bool split = in.small ? rest >= smallest_block : rest > largest_small;
    blocks_[at].extent = split ? size : room;
    holes_.put({source->begin, output.address, output.segment, in.group});
    if (split) holes_.put({source->end - rest, source->end, output.segment, in.group});
  }

  /// In the large pool, a block may keep a rest of up to 1 MiB. The request did not fit in the next smaller hole,
  /// because otherwise, the allocator would have used that hole.
  void note_whole(std::uint32_t at, const segment& in) {
    const std::uint64_t bytes = of_.blocks[at].bytes;
    const auto& free = holes_.of(in.group);
    std::uint64_t least = std::max(bytes - largest_small, in.fresh ? own_segment_from : largest_small + smallest_block);
    const auto smaller = free.lower_bound({bytes, 0, 0});
    if (smaller != free.begin()) least = std::max(least, std::prev(smaller)->bytes + smallest_block);
    found_.min_asked[at] = std::min(least, bytes);
  }

  /// Notes that every hole that the allocator would have preferred to `chosen` is in another arena, or was not free
  /// yet.
  void compare(std::uint64_t size, const sized_hole& chosen, const recorded_block& output) {
    const std::uint32_t group = segments_[output.segment].group;
    const sized_hole least{size, 0, 0};
    std::size_t looked_at = 0;
    if (delays_) {
      auto each = holes_.first_from(group, least);
      for (; each && *each < chosen && looked_at < max_looked_at; ++looked_at)
        each = hold_latest(*each) ? holes_.first_from(group, least) : holes_.first_after(group, *each);
      return;
    }
    const auto& free = holes_.of(group);
    auto each = free.lower_bound(least);
    for (; each != free.end() && *each < chosen && looked_at < max_looked_at; ++each, ++looked_at)
      keep_apart(each->segment, output.segment);
  }

  /// Takes the block that was freed last out of the hole, until its addresses are used again. Returns false if no block
  /// was freed there.
  bool hold_latest(const sized_hole& in) {
    const std::uint64_t end = in.begin + in.bytes;
    const auto latest = freed_.take_latest(in.begin, end);
    if (!latest || latest->end > end || of_.blocks[latest->block].segment != in.segment) return false;
    if (!freed_.hold(*latest)) return false;
    const std::uint32_t group = segments_[in.segment].group;
    holes_.take(in.begin, in.segment);
    holes_.put({in.begin, latest->begin, in.segment, group});
    holes_.put({latest->end, end, in.segment, group});
    ++segments_[in.segment].live;
    idle_.erase(in.segment);
    return true;
  }

  /// Releases the blocks whose addresses are used again, because these addresses were free. All blocks that were freed
  /// earlier were free, too, because streams work in order.
  void release_used(std::uint64_t begin, std::uint64_t end) {
    if (const auto last = freed_.last_held(begin, end)) release(*last);
    freed_.forget(begin, end);
  }

  /// Frees the held blocks that the program freed at or before the event `until`.
  void release(std::uint32_t until) {
    while (const auto held = freed_.release(until)) {
      found_.free_at[held->block] = now_;
      make_free(held->block);
    }
  }

  void free(std::uint32_t at) {
    if (!blocks_[at].live) return;
    blocks_[at].live = false;
    const std::uint64_t begin = of_.blocks[at].address;
    if (delays_ && blocks_[at].extent != 0 && segments_[of_.blocks[at].segment].taken)
      freed_.add({begin, begin + blocks_[at].extent, at, now_});
    make_free(at);
  }

  void make_free(std::uint32_t at) {
    const recorded_block& output = of_.blocks[at];
    segment& in = segments_[output.segment];
    if (--in.live == 0 && in.taken) idle_.insert(output.segment);
    if (in.taken) holes_.put({output.address, output.address + blocks_[at].extent, output.segment, in.group});
  }

  void keep_apart(std::uint32_t a, std::uint32_t b) {
    if (delays_ || a == b || segments_[a].group != segments_[b].group) return;
    apart_[a].insert(b);
    apart_[b].insert(a);
  }

  /// Gives each segment the lowest arena in its group that differs from the arenas of all segments in conflict with it.
  void colour() {
    constexpr std::uint32_t no_colour = ~std::uint32_t{0};
    std::vector<std::uint32_t> colours(segments_.size(), no_colour);
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint16_t> arenas;
    found_.of_segment.resize(segments_.size());
    for (const recorded_event& event : of_.events) {
      if (event.kind != recorded_kind::segment_taken) continue;
      std::set<std::uint32_t> used;
      for (const std::uint32_t other : apart_[event.at]) used.insert(colours[other]);
      std::uint32_t colour = 0;
      while (used.contains(colour)) ++colour;
      colours[event.at] = colour;
      const auto next = static_cast<std::uint16_t>(std::min<std::uint64_t>(arenas.size(), max_arenas));
      found_.of_segment[event.at] = arenas.try_emplace({segments_[event.at].group, colour}, next).first->second;
    }
    found_.count = static_cast<std::uint32_t>(std::clamp<std::uint64_t>(arenas.size(), 1, max_arenas + 1));
  }

  const recorded_events& of_;
  bool delays_;
  std::uint32_t now_ = 0;  ///< The position of the current event.
  std::vector<segment> segments_;
  std::vector<block> blocks_;
  std::vector<std::set<std::uint32_t>> apart_;  ///< For each segment, the segments that must be in other arenas.
  holes holes_;
  freed_blocks freed_;            ///< Only used for `explanation::delays`.
  std::set<std::uint32_t> idle_;  ///< The segments without a live block.
  std::uint64_t reserved_ = 0;
  std::uint64_t taken_ = 0;
  bool emptying_open_ = false;
  bool refused_ = false;
  inferred_arenas found_;
};

}  // namespace

inferred_arenas infer_arenas(const recorded_events& events, explanation by) { return placement(events, by).infer(); }

}  // namespace sluice::replay
