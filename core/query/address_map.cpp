#include "core/query/address_map.hpp"

#include <algorithm>
#include <tuple>
#include <unordered_map>

#include "core/query/answering.hpp"

namespace sluice::query {
namespace {

using analysis::block_record;

std::uint64_t taken_by(const block_record& block) { return std::max(block.bytes, block.reserved_bytes); }
std::uint64_t end_of(std::uint64_t address, std::uint64_t bytes) {
  return bytes > UINT64_MAX - address ? UINT64_MAX : address + bytes;
}

/// Fills a segment with its blocks, given in order of address.
class packer {
 public:
  packer(address_segment& into, std::uint32_t width)
      : into_(into),
        end_(end_of(into.address, into.bytes)),
        pixel_(into.bytes / std::max<std::uint32_t>(width, 1)),
        reached_(into.address) {}

  void add(const block_record& block, const analysis::block_category& category) {
    const std::uint64_t begin = std::clamp(block.address, into_.address, end_);
    const std::uint64_t end = std::clamp(end_of(block.address, taken_by(block)), begin, end_);
    ++into_.blocks;
    if (begin > reached_) into_.largest_hole = std::max(into_.largest_hole, begin - reached_);
    const std::uint64_t fresh = end > reached_ ? end - std::max(begin, reached_) : 0;
    into_.used += fresh;
    put(block, category, begin, end, fresh);
    reached_ = std::max(reached_, end);
  }

  void finish() { into_.largest_hole = std::max(into_.largest_hole, end_ - reached_); }

 private:
  void put(const block_record& block, const analysis::block_category& category, std::uint64_t begin, std::uint64_t end,
           std::uint64_t fresh) {
    if (!into_.items.empty()) {
      address_item& last = into_.items.back();
      // Blocks that claim the same bytes cannot be drawn side by side.
      const std::uint64_t whole = std::max(end, last.address + last.bytes) - last.address;
      if (whole <= pixel_ || begin < last.address + last.bytes) {
        last.bytes = whole;
        last.used += fresh;
        ++last.count;
        if (end - begin > largest_) name(last, block, category, end - begin);
        return;
      }
    }
    name(into_.items.emplace_back(address_item{begin, end - begin, fresh, 1, {}, {}, {}, {}}), block, category,
         end - begin);
  }

  void name(address_item& item, const block_record& block, const analysis::block_category& category,
            std::uint64_t bytes) {
    largest_ = bytes;
    item.block = block.id;
    item.stack = block.stack;
    item.name = block.name;
    item.category = category;
  }

  address_segment& into_;
  const std::uint64_t end_;
  const std::uint64_t pixel_;
  std::uint64_t reached_;
  std::uint64_t largest_ = 0;  ///< Of the blocks in the last item.
};

/// Finds which live block lies in which.
class sorter {
 public:
  sorter(const address_map_question& question, const sources& from)
      : question_(question), from_(from), blocks_(from.index.memory().blocks()) {}

  /// False once nobody wants the answer.
  [[nodiscard]] bool sort() {
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
      if ((i & 0xfffU) == 0 && from_.cancelled) return false;
      const block_record& block = blocks_[i];
      if (!block.allocated || !block.live_at(question_.time)) continue;
      if (question_.device && block.device != *question_.device) continue;
      live_.push_back(i);
      places_.emplace(raw(block.id), i);
    }
    std::sort(live_.begin(), live_.end(), [this](std::size_t a, std::size_t b) { return order(a) < order(b); });
    place_all();
    return true;
  }

  [[nodiscard]] const std::unordered_map<std::size_t, std::vector<std::size_t>>& inside() const { return inside_; }

 private:
  [[nodiscard]] std::tuple<trace::process_id, trace::device_id, std::uint64_t, trace::layer, std::size_t> order(
      std::size_t at) const {
    const block_record& b = blocks_[at];
    return {b.process, b.device, b.address, b.level, at};
  }

  /// In order of address, the blocks of lower layers that are still open hold what comes next.
  void place_all() {
    std::vector<std::size_t> open;
    for (const std::size_t at : live_) {
      const block_record& block = blocks_[at];
      const auto known = places_.find(raw(block.parent));
      if (block.parent != trace::block_id::none && known != places_.end() && known->second != at) {
        inside_[known->second].push_back(at);
      } else if (block.address != 0) {
        const auto over = [&](std::size_t other) {
          const block_record& o = blocks_[other];
          return o.process != block.process || o.device != block.device ||
                 end_of(o.address, taken_by(o)) <= block.address;
        };
        std::erase_if(open, over);
        const auto holder = std::find_if(open.rbegin(), open.rend(), [&](std::size_t other) {
          const block_record& o = blocks_[other];
          return o.level < block.level && end_of(o.address, taken_by(o)) >= end_of(block.address, taken_by(block));
        });
        if (holder != open.rend()) inside_[*holder].push_back(at);
      }
      // Blocks that claim the same place without end would all stay open.
      constexpr std::size_t most_open = 64;
      if (block.address != 0 && open.size() < most_open) open.push_back(at);
    }
  }

  const address_map_question& question_;
  const sources& from_;
  const std::span<const block_record> blocks_;
  std::vector<std::size_t> live_;
  std::unordered_map<std::uint64_t, std::size_t> places_;  ///< Of live blocks, by id.
  std::unordered_map<std::size_t, std::vector<std::size_t>>
      inside_;  ///< In order of address, but for those that name a parent.
};

}  // namespace

result<address_map> answer_to(const address_map_question& asked, const sources& from) {
  address_map_question question = asked;
  question.time = analysis::bounded(asked.time);
  question.width = std::clamp<std::uint32_t>(asked.width, 1, widest_view);
  const auto blocks = from.index.memory().blocks();
  const auto facts = from.index.tensors(from.trace);
  sorter lives(question, from);
  if (!lives.sort()) return fail(error_code::cancelled, "the question was withdrawn");
  address_map made;
  made.time = question.time;
  std::vector<std::size_t> segments;
  for (const auto& [segment, inside] : lives.inside())
    if (question.segment == trace::block_id::none || blocks[segment].id == question.segment)
      segments.push_back(segment);
  made.count = segments.size();
  const auto larger = [&](std::size_t a, std::size_t b) {
    return std::tuple(blocks[b].bytes, blocks[a].id) < std::tuple(blocks[a].bytes, blocks[b].id);
  };
  std::sort(segments.begin(), segments.end(), larger);
  if (segments.size() > address_map::segment_limit) segments.resize(address_map::segment_limit);
  for (const std::size_t at : segments) {
    const block_record& segment = blocks[at];
    address_segment& into = made.segments.emplace_back();
    into.block = segment.id;
    into.device = segment.device;
    into.process = segment.process;
    into.level = segment.level;
    into.kind = segment.kind;
    into.address = segment.address;
    into.bytes = std::min(taken_by(segment), UINT64_MAX - segment.address);
    std::vector<std::size_t> inside = lives.inside().at(at);
    std::sort(inside.begin(), inside.end(), [&](std::size_t a, std::size_t b) {
      return std::tuple(blocks[a].address, blocks[a].id) < std::tuple(blocks[b].address, blocks[b].id);
    });
    packer packed(into, question.width);
    for (const std::size_t each : inside)
      packed.add(blocks[each], each < facts->categories.size() ? facts->categories[each] : analysis::block_category{});
    packed.finish();
  }
  std::sort(made.segments.begin(), made.segments.end(), [](const address_segment& a, const address_segment& b) {
    return std::tie(a.device, a.address, a.block) < std::tie(b.device, b.address, b.block);
  });
  return made;
}

}  // namespace sluice::query
