#include "core/replay/arenas.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <tuple>

#include "core/replay/policy.hpp"

namespace sluice::replay {
namespace {

constexpr std::size_t most_looked_at = 256;  ///< Free blocks of other arenas, for one request.
constexpr std::uint64_t most_arenas = std::numeric_limits<std::uint16_t>::max();

std::uint64_t rounded(std::uint64_t bytes) {
  return (std::max<std::uint64_t>(bytes, 1) + smallest_block - 1) / smallest_block * smallest_block;
}

/// Follows the recorded blocks from place to place, and notes which segments cannot be of one arena.
class placement {
 public:
  placement(const recorded_events& of, explanation by)
      : of_(of),
        delays_(by == explanation::delays),
        segments_(of.segments.size()),
        extents_(of.blocks.size()),
        apart_(of.segments.size()) {
    found_.free_at.assign(of.blocks.size(), no_delay);
    for (const recorded_block& block : of.blocks) found_.least_asked.push_back(block.bytes);
    std::map<std::pair<bool, std::uint64_t>, std::uint32_t> groups;
    for (std::size_t i = 0; i < of.segments.size(); ++i) {
      const recorded_segment& each = of.segments[i];
      segments_[i].small = !each.mapped && each.bytes <= small_segment;
      const auto key = std::pair(segments_[i].small, each.key);
      segments_[i].group = groups.try_emplace(key, static_cast<std::uint32_t>(groups.size())).first->second;
    }
    free_.resize(groups.size());
  }

  inferred_arenas infer() {
    for (std::size_t i = 0; i < of_.events.size(); ++i) step(i);
    close_emptying();
    for (const auto& [address, held] : held_)
      found_.free_at[held.block] = static_cast<std::uint32_t>(of_.events.size());
    colour();
    return std::move(found_);
  }

 private:
  struct segment {
    std::uint32_t group = 0;
    std::uint32_t live = 0;  ///< Blocks.
    bool small = false;
    bool taken = false;
    bool fresh = false;  ///< No block was in it yet.
  };
  struct range {
    std::uint64_t bytes = 0;
    std::uint32_t segment = 0;
  };
  /// A block that was freed, and the event.
  struct freed_block {
    std::uint32_t block = 0;
    std::uint32_t event = 0;
  };
  using by_size = std::tuple<std::uint64_t, std::uint64_t, std::uint32_t>;  ///< Bytes, address, segment.

  void step(std::size_t i) {
    const recorded_event& event = of_.events[i];
    now_ = static_cast<std::uint32_t>(i);
    if (event.what != recorded_kind::segment_given_back && event.what != recorded_kind::refused) {
      if (emptying_open_ && event.what == recorded_kind::segment_taken)
        found_.emptyings.back().taken_next = of_.segments[event.at].bytes;
      close_emptying();
    }
    switch (event.what) {
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
    in.taken = in.fresh = true;
    reserved_ += of_.segments[at].bytes;
    ++taken_;
    ++found_.driver_calls;
    found_.peak_reserved = std::max(found_.peak_reserved, reserved_);
    found_.peak_segments = std::max(found_.peak_segments, taken_);
    if (!of_.segments[at].mapped) put(of_.segments[at].address, {of_.segments[at].bytes, at});
  }

  void give_back(std::uint32_t at, std::size_t event) {
    segment& in = segments_[at];
    if (!in.taken) return;
    // The allocator waits for all streams first.
    while (!held_.empty()) release();
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
    const std::uint64_t end = of_.segments[at].address + of_.segments[at].bytes;
    for (auto each = by_address_.lower_bound(of_.segments[at].address); each != by_address_.end() && each->first < end;)
      each = each->second.segment == at ? erase(each) : std::next(each);
  }

  /// Free segments that stayed are of other arenas than those that went.
  void close_emptying() {
    if (!emptying_open_) return;
    emptying_open_ = false;
    emptying& last = found_.emptyings.back();
    last.kept.assign(idle_.begin(), idle_.end());
    for (const std::uint32_t kept : last.kept)
      for (const std::uint32_t given : last.given) keep_apart(kept, given);
  }

  void allocate(std::uint32_t at) {
    const recorded_block& block = of_.blocks[at];
    if (block.segment == no_segment || of_.segments[block.segment].mapped) return;
    segment& in = segments_[block.segment];
    ++in.live;
    idle_.erase(block.segment);
    const std::uint64_t size = rounded(block.bytes);
    release_held(block.address, size);
    auto hole = by_address_.upper_bound(block.address);
    if (hole == by_address_.begin()) return;
    --hole;
    const std::uint64_t begin = hole->first;
    const range was = hole->second;
    if (was.segment != block.segment || block.address - begin >= was.bytes) return;
    const by_size chosen = in.fresh ? by_size{no_limit, 0, 0} : by_size{was.bytes, begin, 0};
    if (begin == block.address) compare(size, chosen, block.segment);
    if (begin == block.address && was.bytes == block.bytes && !in.small) note_whole(at, was.bytes, in);
    in.fresh = false;
    erase(hole);
    const std::uint64_t room = was.bytes - (block.address - begin);
    const std::uint64_t rest = room - std::min(room, size);
    const bool split = in.small ? rest >= smallest_block : rest > largest_small;
    extents_[at] = split ? size : room;
    if (block.address > begin) put(begin, {block.address - begin, was.segment});
    if (split) put(block.address + size, {rest, was.segment});
  }

  /// The large pool leaves up to 1 MiB with a block. The request did not fit the next smaller hole, or it had gone there.
  void note_whole(std::uint32_t at, std::uint64_t bytes, const segment& in) {
    const auto& free = free_[in.group];
    std::uint64_t least = std::max(bytes - largest_small, in.fresh ? own_segment_from : largest_small + smallest_block);
    const auto smaller = free.lower_bound({bytes, 0, 0});
    if (smaller != free.begin()) least = std::max(least, std::get<0>(*std::prev(smaller)) + smallest_block);
    found_.least_asked[at] = std::min(least, bytes);
  }

  /// Whatever would have been taken before `chosen` is of another arena, or was not free yet.
  void compare(std::uint64_t size, const by_size& chosen, std::uint32_t segment) {
    const auto& free = free_[segments_[segment].group];
    std::size_t looked_at = 0;
    for (auto each = free.lower_bound({size, 0, 0}); each != free.end() && *each < chosen;) {
      if (++looked_at > most_looked_at) return;
      const std::uint32_t other = std::get<2>(*each);
      if (delays_ && hold_latest(std::get<1>(*each), std::get<0>(*each))) {
        each = free.lower_bound({size, 0, 0});  // The hole is smaller now.
        continue;
      }
      if (delays_ || other == segment) ++found_.unexplained;
      keep_apart(other, segment);
      ++each;
    }
  }

  /// Takes the block that was freed last out of the hole, until it is used again. False: no block was freed there.
  bool hold_latest(std::uint64_t address, std::uint64_t bytes) {
    auto latest = freed_.end();
    for (auto each = freed_.lower_bound(address); each != freed_.end() && each->first < address + bytes; ++each)
      if (latest == freed_.end() || each->second.event > latest->second.event) latest = each;
    if (latest == freed_.end()) return false;
    const std::uint64_t begin = latest->first;
    const freed_block was = latest->second;
    const std::uint32_t block = was.block;
    const std::uint64_t extent = extents_[block];
    const std::uint32_t in = of_.blocks[block].segment;
    freed_.erase(latest);
    const auto hole = by_address_.find(address);
    if (begin + extent > address + bytes || hole == by_address_.end() || hole->second.bytes != bytes) return false;
    erase(hole);
    if (begin > address) put(address, {begin - address, in});
    if (begin + extent < address + bytes) put(begin + extent, {address + bytes - begin - extent, in});
    held_[begin] = was;
    held_order_.emplace(was.event, begin);
    ++segments_[in].live;
    idle_.erase(in);
    return true;
  }

  /// What is used again was free, and so was what was freed before it: streams work in order.
  void release_held(std::uint64_t address, std::uint64_t bytes) {
    std::uint32_t until = 0;
    for (auto each = first_over(held_, address); each != held_.end() && each->first < address + bytes; ++each)
      until = std::max(until, each->second.event + 1);
    while (!held_order_.empty() && held_order_.begin()->first < until) release();
    for (auto each = first_over(freed_, address); each != freed_.end() && each->first < address + bytes;)
      each = freed_.erase(each);
  }

  /// The first of the blocks that ends behind `address`.
  std::map<std::uint64_t, freed_block>::iterator first_over(std::map<std::uint64_t, freed_block>& in,
                                                            std::uint64_t address) const {
    auto each = in.lower_bound(address);
    if (each == in.begin()) return each;
    const auto before = std::prev(each);
    return before->first + extents_[before->second.block] > address ? before : each;
  }

  /// Frees the held block that was freed first.
  void release() {
    const auto held = held_.find(held_order_.begin()->second);
    const std::uint32_t block = held->second.block;
    held_.erase(held);
    held_order_.erase(held_order_.begin());
    found_.free_at[block] = now_;
    make_free(block);
  }

  void free(std::uint32_t at) {
    const recorded_block& block = of_.blocks[at];
    if (block.segment == no_segment || of_.segments[block.segment].mapped) return;
    if (delays_ && extents_[at] != 0) freed_[block.address] = {at, now_};
    make_free(at);
  }

  void make_free(std::uint32_t at) {
    const recorded_block& block = of_.blocks[at];
    segment& in = segments_[block.segment];
    if (in.live > 0 && --in.live == 0 && in.taken) idle_.insert(block.segment);
    if (extents_[at] == 0 || !in.taken) return;
    std::uint64_t address = block.address;
    std::uint64_t bytes = extents_[at];
    auto after = by_address_.lower_bound(address);
    if (after != by_address_.end() && after->first == address + bytes && after->second.segment == block.segment) {
      bytes += after->second.bytes;
      after = erase(after);
    }
    if (after != by_address_.begin()) {
      const auto before = std::prev(after);
      if (before->first + before->second.bytes == address && before->second.segment == block.segment) {
        address = before->first;
        bytes += before->second.bytes;
        erase(before);
      }
    }
    put(address, {bytes, block.segment});
  }

  void put(std::uint64_t address, const range& hole) {
    const auto old = by_address_.find(address);  // Only in a file that contradicts itself.
    if (old != by_address_.end()) erase(old);
    by_address_[address] = hole;
    free_[segments_[hole.segment].group].insert({hole.bytes, address, hole.segment});
  }

  std::map<std::uint64_t, range>::iterator erase(std::map<std::uint64_t, range>::iterator hole) {
    free_[segments_[hole->second.segment].group].erase({hole->second.bytes, hole->first, hole->second.segment});
    return by_address_.erase(hole);
  }

  void keep_apart(std::uint32_t a, std::uint32_t b) {
    if (delays_ || a == b || segments_[a].group != segments_[b].group) return;
    apart_[a].insert(b);
    apart_[b].insert(a);
  }

  /// Gives each segment the lowest arena of its group that none of those it must be apart from has.
  void colour() {
    constexpr std::uint32_t no_colour = ~std::uint32_t{0};
    std::vector<std::uint32_t> colours(segments_.size(), no_colour);
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint16_t> arenas;
    found_.of_segment.resize(segments_.size());
    for (const recorded_event& event : of_.events) {
      if (event.what != recorded_kind::segment_taken) continue;
      std::set<std::uint32_t> used;
      for (const std::uint32_t other : apart_[event.at]) used.insert(colours[other]);
      std::uint32_t colour = 0;
      while (used.contains(colour)) ++colour;
      colours[event.at] = colour;
      const auto next = static_cast<std::uint16_t>(std::min<std::uint64_t>(arenas.size(), most_arenas));
      found_.of_segment[event.at] = arenas.try_emplace({segments_[event.at].group, colour}, next).first->second;
    }
    found_.count = static_cast<std::uint32_t>(std::clamp<std::uint64_t>(arenas.size(), 1, most_arenas + 1));
  }

  const recorded_events& of_;
  bool delays_;
  std::uint32_t now_ = 0;  ///< The position of the event.
  // For `delays` only, by address:
  std::map<std::uint64_t, freed_block> freed_;                    ///< Until their addresses are used again.
  std::set<std::pair<std::uint32_t, std::uint64_t>> held_order_;  ///< Events and addresses of `held_`.
  std::map<std::uint64_t, freed_block> held_;  ///< Blocks that are not free yet although they were freed, by address.
  std::vector<segment> segments_;
  std::vector<std::uint64_t> extents_;          ///< Bytes that each live block takes; 0: not known.
  std::vector<std::set<std::uint32_t>> apart_;  ///< For each segment, those of other arenas.
  std::vector<std::set<by_size>> free_;         ///< For each group.
  std::map<std::uint64_t, range> by_address_;
  std::set<std::uint32_t> idle_;  ///< Segments without a live block.
  std::uint64_t reserved_ = 0;
  std::uint64_t taken_ = 0;
  bool emptying_open_ = false;
  bool refused_ = false;
  inferred_arenas found_;
};

}  // namespace

inferred_arenas infer_arenas(const recorded_events& of, explanation by) { return placement(of, by).infer(); }

}  // namespace sluice::replay
