#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "core/replay/arenas.hpp"
#include "core/replay/policy.hpp"

namespace sluice::replay {

/// A slow, simple implementation of the rules of `infer_arenas`, with sorted lists of ranges that are searched
/// linearly.
class slow_arenas {
 public:
  slow_arenas(const recorded_events& events, explanation by)
      : of_(events),
        delays_(by == explanation::delays),
        segments_(events.segments.size()),
        blocks_(events.blocks.size()) {
    made_.free_at.assign(events.blocks.size(), no_delay);
    for (const recorded_block& each : events.blocks) made_.min_asked.push_back(each.bytes);
  }

  inferred_arenas infer() {
    for (now_ = 0; now_ < of_.events.size(); ++now_) {
      const recorded_event& event = of_.events[now_];
      const bool empties = event.kind == recorded_kind::segment_given_back || event.kind == recorded_kind::refused;
      if (open_ && event.kind == recorded_kind::segment_taken)
        made_.emptyings.back().taken_next = of_.segments[event.at].bytes;
      if (!empties) close();
      if (event.kind == recorded_kind::allocated || event.kind == recorded_kind::freed) refused_ = false;
      if (event.kind == recorded_kind::segment_taken) take(event.at);
      if (event.kind == recorded_kind::segment_given_back) give_back(event.at);
      if (event.kind == recorded_kind::allocated) allocate(event.at);
      if (event.kind == recorded_kind::freed) free(event.at);
      if (event.kind == recorded_kind::refused) refused_ = true;
      if (event.kind == recorded_kind::refused && open_) made_.emptyings.back().refused = true;
    }
    close();
    for (const range& each : held_) made_.free_at[each.subject] = static_cast<std::uint32_t>(now_);
    colour();
    return made_;
  }

 private:
  /// The addresses of a hole (`of` is its segment) or of a freed block (`of` is the block).
  struct range {
    std::uint64_t begin = 0, end = 0;
    std::uint32_t subject = 0;
    std::size_t event = 0;
    [[nodiscard]] bool overlaps(std::uint64_t start, std::uint64_t to) const { return begin < to && start < end; }
  };
  using ranges = std::vector<range>;
  struct segment {
    bool taken = false, fresh = false;
    std::int64_t live = 0;
    bool idle = false;
  };
  struct block {
    bool seen = false, live = false;
    std::uint64_t extent = 0;
  };

  static void sort(ranges& whole) {
    std::sort(whole.begin(), whole.end(), [](const range& a, const range& b) { return a.begin < b.begin; });
  }
  static void erase(ranges& source, std::uint64_t begin) {
    std::erase_if(source, [&](const range& each) { return each.begin == begin; });
  }
  [[nodiscard]] std::uint64_t get_end(std::uint64_t begin, std::uint64_t bytes) const {
    return begin + bytes < begin ? no_limit : begin + bytes;
  }
  [[nodiscard]] std::uint64_t get_end(std::uint32_t at) const {
    return get_end(of_.segments[at].address, of_.segments[at].bytes);
  }
  [[nodiscard]] bool is_small(std::uint32_t at) const {
    return !of_.segments[at].mapped && of_.segments[at].bytes <= 2 * mib;
  }
  [[nodiscard]] bool same_group(std::uint32_t a, std::uint32_t b) const {
    return is_small(a) == is_small(b) && of_.segments[a].key == of_.segments[b].key;
  }

  void put_hole(std::uint64_t begin, std::uint64_t end, std::uint32_t value) {
    if (begin >= end) return;
    std::erase_if(holes_, [&](const range& each) { return each.overlaps(begin, end); });
    for (const range each : ranges(holes_)) {
      if (each.subject != value || (each.end != begin && each.begin != end)) continue;
      erase(holes_, each.begin);
      begin = std::min(begin, each.begin);
      end = std::max(end, each.end);
    }
    holes_.push_back({begin, end, value, 0});
    sort(holes_);
  }

  void take(std::uint32_t at) {
    if (segments_[at].taken) return;
    segments_[at].taken = segments_[at].fresh = true;
    ++made_.driver_calls;
    ++taken_;
    reserved_ += of_.segments[at].bytes;
    made_.peak_reserved = std::max(made_.peak_reserved, reserved_);
    made_.peak_segments = std::max(made_.peak_segments, taken_);
    if (!of_.segments[at].mapped) put_hole(of_.segments[at].address, get_end(at), at);
  }

  void give_back(std::uint32_t at) {
    if (!segments_[at].taken) return;
    release(now_);
    if (!open_) made_.emptyings.push_back({now_, {}, {}, reserved_, 0, refused_});
    open_ = true;
    made_.emptyings.back().given.push_back(at);
    segments_[at].taken = segments_[at].idle = false;
    ++made_.driver_calls;
    --taken_;
    reserved_ -= of_.segments[at].bytes;
    const auto is_in = [&](const range& each) { return each.overlaps(of_.segments[at].address, get_end(at)); };
    if (of_.segments[at].mapped) return;
    std::erase_if(holes_, [&](const range& each) { return each.subject == at; });
    std::erase_if(freed_, is_in);
  }

  void close() {
    if (!open_) return;
    open_ = false;
    emptying& last = made_.emptyings.back();
    for (std::uint32_t at = 0; at < segments_.size(); ++at)
      if (segments_[at].idle) last.kept.push_back(at);
    for (const std::uint32_t kept : last.kept)
      for (const std::uint32_t given : last.given)
        if (same_group(kept, given)) keep_apart(kept, given);
  }

  void allocate(std::uint32_t at) {
    const recorded_block& output = of_.blocks[at];
    if (output.segment == no_segment || of_.segments[output.segment].mapped || blocks_[at].seen) return;
    segment& in = segments_[output.segment];
    blocks_[at].seen = blocks_[at].live = true;
    ++in.live;
    in.idle = false;
    const std::uint64_t size = (std::max<std::uint64_t>(output.bytes, 1) + 511) / 512 * 512;
    use(output.address, get_end(output.address, size));
    const ranges whole = holes_;
    for (const range& source : whole) {
      if (source.subject != output.segment || output.address < source.begin || output.address >= source.end) continue;
      erase(holes_, source.begin);
      if (source.begin == output.address) compare(size, source, output, in.fresh);
      if (source.begin == output.address && source.end - source.begin == output.bytes && !is_small(output.segment))
        note_whole(at, in.fresh);
      in.fresh = false;
      const std::uint64_t room = source.end - output.address;
      const bool splits = room > size && (is_small(output.segment) ? room - size >= 512 : room - size > mib);
      blocks_[at].extent = splits ? size : room;
      put_hole(source.begin, output.address, output.segment);
      if (splits) put_hole(output.address + size, source.end, output.segment);
    }
  }

  void note_whole(std::uint32_t at, bool fresh) {
    const recorded_block& output = of_.blocks[at];
    std::uint64_t least = output.bytes > mib ? output.bytes - mib : 0;
    least = std::max(least, fresh ? 10 * mib : mib + 512);
    for (const range& each : holes_)
      if (same_group(each.subject, output.segment) && each.end - each.begin < output.bytes)
        least = std::max(least, each.end - each.begin + 512);
    made_.min_asked[at] = std::min(least, output.bytes);
  }

  /// The smallest hole with room for `size` bytes that sorts at or after `after` (size, address). If holes have the
  /// same size, the one at the lowest address.
  [[nodiscard]] std::optional<range> best(std::uint64_t size, std::uint32_t like,
                                          std::pair<std::uint64_t, std::uint64_t> after) const {
    std::optional<range> found;
    const auto key = [](const range& each) { return std::pair(each.end - each.begin, each.begin); };
    for (const range& each : holes_)
      if (same_group(each.subject, like) && each.end - each.begin >= size && key(each) >= after &&
          (!found || key(each) < key(*found)))
        found = each;
    return found;
  }

  void compare(std::uint64_t size, const range& source, const recorded_block& output, bool fresh) {
    const std::pair chosen(source.end - source.begin, source.begin);
    std::pair<std::uint64_t, std::uint64_t> after(0, 0);
    for (int looked_at = 0; looked_at < 256; ++looked_at) {
      const auto next = best(size, output.segment, after);
      if (!next || (!fresh && std::pair(next->end - next->begin, next->begin) >= chosen)) return;
      if (!delays_) keep_apart(next->subject, output.segment);
      const bool held = delays_ && hold_latest(*next);
      after =
          held ? std::pair<std::uint64_t, std::uint64_t>(0, 0) : std::pair(next->end - next->begin, next->begin + 1);
    }
  }

  bool hold_latest(const range& in) {
    std::optional<range> latest;
    for (const range& each : freed_)
      if (each.begin >= in.begin && each.begin < in.end && (!latest || each.event > latest->event)) latest = each;
    if (!latest) return false;
    erase(freed_, latest->begin);
    const bool crosses = std::any_of(held_.begin(), held_.end(),
                                     [&](const range& each) { return each.overlaps(latest->begin, latest->end); });
    if (latest->end > in.end || of_.blocks[latest->subject].segment != in.subject || crosses) return false;
    erase(holes_, in.begin);
    put_hole(in.begin, latest->begin, in.subject);
    put_hole(latest->end, in.end, in.subject);
    held_.push_back(*latest);
    ++segments_[in.subject].live;
    segments_[in.subject].idle = false;
    return true;
  }

  void use(std::uint64_t begin, std::uint64_t end) {
    std::optional<std::size_t> last;
    for (const range& each : held_)
      if (each.overlaps(begin, end)) last = std::max(last.value_or(0), each.event);
    if (last) release(*last);
    std::erase_if(freed_, [&](const range& each) { return each.overlaps(begin, end); });
  }

  /// Frees the blocks that have been held since event `until` or earlier, oldest first.
  void release(std::size_t until) {
    std::sort(held_.begin(), held_.end(), [](const range& a, const range& b) { return a.event < b.event; });
    while (!held_.empty() && held_.front().event <= until) {
      const std::uint32_t block = held_.front().subject;
      held_.erase(held_.begin());
      made_.free_at[block] = static_cast<std::uint32_t>(now_);
      make_free(block);
    }
  }

  void free(std::uint32_t at) {
    if (!blocks_[at].live) return;
    blocks_[at].live = false;
    const range addresses{of_.blocks[at].address, of_.blocks[at].address + blocks_[at].extent, at, now_};
    if (delays_ && blocks_[at].extent > 0 && segments_[of_.blocks[at].segment].taken) {
      std::erase_if(freed_, [&](const range& each) { return each.overlaps(addresses.begin, addresses.end); });
      freed_.push_back(addresses);
    }
    make_free(at);
  }

  void make_free(std::uint32_t at) {
    segment& in = segments_[of_.blocks[at].segment];
    if (--in.live == 0 && in.taken) in.idle = true;
    if (in.taken) put_hole(of_.blocks[at].address, of_.blocks[at].address + blocks_[at].extent, of_.blocks[at].segment);
  }

  void keep_apart(std::uint32_t a, std::uint32_t b) {
    if (!delays_ && a != b) apart_.insert({std::min(a, b), std::max(a, b)});
  }

  void colour() {
    std::vector<std::int64_t> colours(segments_.size(), -1);
    std::vector<std::pair<std::uint32_t, std::int64_t>> arenas;  // The first segment and the colour of each arena.
    made_.of_segment.assign(segments_.size(), 0);
    for (const recorded_event& event : of_.events) {
      if (event.kind != recorded_kind::segment_taken) continue;
      const auto is_used = [&](std::int64_t colour) {
        return std::any_of(apart_.begin(), apart_.end(), [&](const auto& pair) {
          return (pair.first == event.at && colours[pair.second] == colour) ||
                 (pair.second == event.at && colours[pair.first] == colour);
        });
      };
      std::int64_t colour = 0;
      while (is_used(colour)) ++colour;
      colours[event.at] = colour;
      std::size_t arena = 0;
      while (arena < arenas.size() && !(same_group(arenas[arena].first, event.at) && arenas[arena].second == colour))
        ++arena;
      if (arena == arenas.size()) arenas.emplace_back(event.at, colour);
      made_.of_segment[event.at] = static_cast<std::uint16_t>(arena);
    }
    made_.count = static_cast<std::uint32_t>(std::max<std::size_t>(arenas.size(), 1));
  }

  const recorded_events& of_;
  bool delays_;
  std::size_t now_ = 0;
  std::vector<segment> segments_;
  std::vector<block> blocks_;
  ranges holes_, freed_, held_;
  std::set<std::pair<std::uint32_t, std::uint32_t>> apart_;
  std::uint64_t reserved_ = 0, taken_ = 0;
  bool open_ = false, refused_ = false;
  inferred_arenas made_;
};

}  // namespace sluice::replay
