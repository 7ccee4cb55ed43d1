#include "core/query/types/memory_map.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

#include "core/index/memory/mapped_runs.hpp"
#include "core/query/results/query_operator.hpp"

namespace sluice::query {
namespace {

using index::block_record;

std::uint64_t taken_by(const block_record& block) { return std::max(block.bytes, block.reserved_bytes); }
std::uint64_t get_end(std::uint64_t address, std::uint64_t bytes) {
  return bytes > UINT64_MAX - address ? UINT64_MAX : address + bytes;
}

/// Adds blocks to a segment, in order of address.
class packer {
 public:
  packer(address_segment& into, std::uint64_t pixel)
      : into_(into), end_(get_end(into.address, into.bytes)), pixel_(pixel), reached_(into.address) {}

  void add(const block_record& block, const index::block_category& category) {
    const std::uint64_t begin = std::clamp(block.address, into_.address, end_);
    const std::uint64_t end = std::clamp(get_end(block.address, taken_by(block)), begin, end_);
    ++into_.blocks;
    if (begin > reached_) into_.largest_hole = std::max(into_.largest_hole, begin - reached_);
    const std::uint64_t fresh = end > reached_ ? end - std::max(begin, reached_) : 0;
    into_.used += fresh;
    put(block, category, begin, end, fresh);
    reached_ = std::max(reached_, end);
  }

  void finish() { into_.largest_hole = std::max(into_.largest_hole, end_ - reached_); }

 private:
  void put(const block_record& block, const index::block_category& category, std::uint64_t begin, std::uint64_t end,
           std::uint64_t fresh) {
    if (!into_.items.empty()) {
      address_item& last = into_.items.back();
      // Overlapping blocks cannot be drawn separately, so they share an item.
      const std::uint64_t whole = std::max(end, last.address + last.bytes) - last.address;
      if (whole <= pixel_ || begin < last.address + last.bytes) {
        last.bytes = whole;
        last.used += fresh;
        ++last.count;
        if (end - begin > largest_) name(last, block, category, end - begin);
        return;
      }
    }
    address_item& item = into_.items.emplace_back();
    item.address = begin;
    item.bytes = end - begin;
    item.used = fresh;
    name(item, block, category, end - begin);
  }

  void name(address_item& item, const block_record& block, const index::block_category& category, std::uint64_t bytes) {
    largest_ = bytes;
    item.block = block.id;
    item.stack = block.stack;
    item.pool = block.pool;
    item.name = block.name;
    item.layer = block.layer;
    item.born = block.born;
    item.category = category;
  }

  address_segment& into_;
  const std::uint64_t end_;
  const std::uint64_t pixel_;
  std::uint64_t reached_;
  std::uint64_t largest_ = 0;  ///< The size of the largest block in the last item.
};

/// Assigns live blocks to segments.
class sorter {
 public:
  sorter(const memory_map_query& query, const sources& source)
      : query_(query), from_(source), blocks_(source.index.memory().blocks()) {}

  /// Returns false if the query was cancelled.
  [[nodiscard]] bool sort() {
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
      if ((i & 0xfffU) == 0 && from_.cancelled) return false;
      if (is_shown(blocks_[i])) live_.push_back(i);
    }
    runs_.emplace(blocks_, live_);
    holders_.assign(blocks_.size(), nobody);
    if (!find_segments()) return false;
    std::erase_if(live_, [this](std::size_t at) { return runs_->find_first(at) != at; });
    put_in_order();
    if (from_.cancelled) return false;
    place_all();
    find_empty();
    return true;
  }

  /// Returns the bytes of a block or, for the first of a run of mappings, those of the run.
  [[nodiscard]] std::uint64_t get_bytes(std::size_t at) const { return runs_->get_bytes(at); }
  /// Returns the segments with their blocks, including segments that are empty now but were or will be used.
  [[nodiscard]] const std::unordered_map<std::size_t, std::vector<std::size_t>>& inside() const { return inside_; }
  /// Returns the live blocks that are not segments and are in no segment.
  [[nodiscard]] const std::vector<std::size_t>& lone() const { return lone_; }

  [[nodiscard]] std::optional<memory_map::place> get_place(trace::block_id id) const {
    const block_record* block = id == trace::block_id::none ? nullptr : from_.index.memory().find(id);
    if (block == nullptr || !block->allocated) return std::nullopt;
    if (query_.device && block->device != *query_.device) return std::nullopt;
    memory_map::place found{id, trace::block_id::none, block->address, taken_by(*block), block->live_at(query_.time)};
    const std::uint32_t holder = holders_[static_cast<std::size_t>(block - blocks_.data())];
    if (holder != nobody) {
      found.segment = blocks_[holder].id;
    } else if (const auto place = live_place(id)) {
      found.segment = blocks_[*place].id;
    } else if (!found.live) {
      found.segment = segment_around(*block);
    }
    if (found.segment == trace::block_id::none) return std::nullopt;
    return found;
  }

 private:
  static constexpr std::uint32_t nobody = UINT32_MAX;

  /// True if the block is on the map at the query's time.
  [[nodiscard]] bool is_shown(const block_record& block) const {
    return block.allocated && block.live_at(query_.time) && (!query_.device || block.device == *query_.device) &&
           index::is_memory_at_an_address(block.kind);
  }

  /// Returns the position of a block on the map; for a mapping, that of the first mapping in its run.
  [[nodiscard]] std::optional<std::size_t> live_place(trace::block_id id) const {
    const block_record* block = id == trace::block_id::none ? nullptr : from_.index.memory().find(id);
    if (block == nullptr || !is_shown(*block)) return std::nullopt;
    return runs_->find_first(static_cast<std::size_t>(block - blocks_.data()));
  }

  /// Sorts by process, device, address, layer and position. The keys are copied, because there may be a million blocks.
  void put_in_order() {
    struct key {
      trace::process_id process;
      trace::device_id device;
      std::uint64_t address;
      trace::layer layer;
      std::uint32_t at;
      bool operator<(const key& other) const {
        return std::tie(process, device, address, layer, at) <
               std::tie(other.process, other.device, other.address, other.layer, other.at);
      }
    };
    std::vector<key> keys;
    keys.reserve(live_.size());
    for (const std::size_t at : live_) {
      const block_record& b = blocks_[at];
      keys.push_back({b.process, b.device, b.address, b.layer, static_cast<std::uint32_t>(at)});
    }
    std::sort(keys.begin(), keys.end());
    for (std::size_t i = 0; i < keys.size(); ++i) live_[i] = keys[i].at;
  }

  void put(std::size_t into, std::size_t at) {
    if (filled_ == nullptr || filled_at_ != into) filled_ = &inside_[filled_at_ = into];
    filled_->push_back(at);
    holders_[at] = static_cast<std::uint32_t>(into);
  }

  /// Processes blocks in order of address. A block belongs to an open block of a lower layer that contains its
  /// addresses.
  void place_all() {
    std::vector<std::size_t> open;
    for (const std::size_t at : live_) {
      const block_record& block = blocks_[at];
      // A mapping's parent is its reservation, which is not memory.
      if (const auto parent = live_place(block.parent); parent && *parent != at) {
        put(*parent, at);
      } else if (block.address != 0) {
        const auto over = [&](std::size_t other) {
          const block_record& o = blocks_[other];
          return o.process != block.process || o.device != block.device ||
                 get_end(o.address, get_bytes(other)) <= block.address;
        };
        std::erase_if(open, over);
        const auto holder = std::find_if(open.rbegin(), open.rend(), [&](std::size_t other) {
          const block_record& o = blocks_[other];
          return o.layer < block.layer && get_end(o.address, get_bytes(other)) >= get_end(block.address, get_bytes(at));
        });
        if (holder != open.rend()) put(*holder, at);
      }
      // Without this limit, all overlapping blocks would stay open.
      constexpr std::size_t max_open = 64;
      if (block.address != 0 && open.size() < max_open) open.push_back(at);
    }
  }

  /// Finds live blocks that contain others, now or at another time. Returns false if the query was cancelled.
  [[nodiscard]] bool find_segments() {
    if (const index::section_facts* known = from_.index.known_from_file()) {
      const std::vector<trace::block_id>& segments = known->whole->segments;
      if (segments.size() < live_.size()) {
        for (const trace::block_id id : segments)
          if (const auto place = live_place(id)) ever_.insert(*place);
      } else {
        for (const std::size_t at : live_)
          if (std::binary_search(segments.begin(), segments.end(), blocks_[at].id)) ever_.insert(runs_->find_first(at));
      }
      return true;
    }
    trace::block_id last{};
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
      if ((i & 0xfffU) == 0 && from_.cancelled) return false;
      const trace::block_id parent = blocks_[i].parent;
      if (parent == last || parent == trace::block_id::none) continue;
      last = parent;
      if (const auto place = live_place(parent)) ever_.insert(*place);
    }
    return true;
  }

  /// Divides the live blocks without inner blocks into empty segments and lone blocks.
  void find_empty() {
    for (const std::size_t at : live_) {
      if (inside_.contains(at)) continue;
      if (ever_.contains(at)) {
        inside_.try_emplace(at);
      } else if (holders_[at] == nobody) {
        lone_.push_back(at);
      }
    }
  }

  /// Returns the segment that contains the address of a block that is not live.
  [[nodiscard]] trace::block_id segment_around(const block_record& block) const {
    if (const auto parent = live_place(block.parent); parent && inside_.contains(*parent)) return blocks_[*parent].id;
    if (block.address == 0) return trace::block_id::none;
    const std::uint64_t end = get_end(block.address, taken_by(block));
    const block_record* best = nullptr;  // The innermost segment, whatever the order of iteration.
    for (const auto& [at, blocks] : inside_) {
      const block_record& o = blocks_[at];
      if (o.process != block.process || o.device != block.device || o.layer >= block.layer) continue;
      if (o.address > block.address || get_end(o.address, get_bytes(at)) < end) continue;
      if (best == nullptr || std::tuple(best->layer, raw(best->id)) < std::tuple(o.layer, raw(o.id))) best = &o;
    }
    return best == nullptr ? trace::block_id::none : best->id;
  }

  const memory_map_query& query_;
  const sources& from_;
  const std::span<const block_record> blocks_;
  std::vector<std::size_t> live_;
  std::optional<index::mapped_runs> runs_;
  std::unordered_set<std::size_t> ever_;  ///< Live blocks that contain others at any time.
  std::unordered_map<std::size_t, std::vector<std::size_t>>
      inside_;  ///< For each segment, its blocks in order of address, except blocks with a parent.
  std::vector<std::size_t>* filled_ = nullptr;  ///< The last entry of `inside_` that was added to.
  std::size_t filled_at_ = 0;
  std::vector<std::uint32_t> holders_;  ///< For each position, the segment of the live block, or `nobody`.
  std::vector<std::size_t> lone_;
};

class mapper {
 public:
  mapper(const memory_map_query& query, const sources& source)
      : query_(query),
        from_(source),
        blocks_(source.index.memory().blocks()),
        facts_(source.index.tensors(source.trace)) {}

  result<memory_map> draw() {
    sorter lives(query_, from_);
    if (!lives.sort()) return fail(error_code::cancelled, "the query was cancelled");
    made_.time = query_.time;
    for (const auto& [segment, inside] : lives.inside())
      if (wanted(segment)) all_.push_back({segment, &inside});
    if (query_.lone)
      for (const std::size_t at : lives.lone())
        if (wanted(at)) all_.push_back({at, nullptr});
    made_.count = all_.size();
    // The largest segments come first. The result has only the totals of segments beyond the limit.
    std::sort(all_.begin(), all_.end(), [&](const auto& a, const auto& b) {
      return std::tuple(lives.get_bytes(b.at), blocks_[a.at].id) < std::tuple(lives.get_bytes(a.at), blocks_[b.at].id);
    });
    for (const entry& each : all_) {
      if (from_.cancelled) return fail(error_code::cancelled, "the query was cancelled");
      add(each, lives.get_bytes(each.at));
    }
    number_groups();
    for (const trace::block_id each : query_.marks)
      if (const auto place = lives.get_place(each)) made_.marked.push_back(*place);
    return std::move(made_);
  }

 private:
  struct entry {
    std::size_t at = 0;
    const std::vector<std::size_t>* inside = nullptr;  ///< Null: a lone block.
  };
  /// The `bool` is true for lone blocks, which come after the segments of their device and process.
  using group_key = std::tuple<trace::device_id, trace::process_id, bool, trace::layer>;
  static group_key get_key(const address_segment& s) { return {s.device, s.process, s.lone, s.layer}; }

  [[nodiscard]] bool wanted(std::size_t at) const {
    return query_.segment == trace::block_id::none || blocks_[at].id == query_.segment;
  }

  [[nodiscard]] index::block_category find_category(std::size_t at) const {
    return at < facts_->categories.size() ? facts_->categories[at] : index::block_category{};
  }

  void add(const entry& each, std::uint64_t bytes) {
    const block_record& block = blocks_[each.at];
    address_segment into;
    into.block = block.id;
    into.device = block.device;
    into.process = block.process;
    into.layer = block.layer;
    into.kind = block.kind;
    into.lone = each.inside == nullptr;
    into.address = block.address;
    into.bytes = std::min(bytes, UINT64_MAX - block.address);
    packer packed(into, query_.pixel != 0 ? query_.pixel : into.bytes / query_.width);
    std::vector<std::size_t> copy;
    if (into.lone) copy.push_back(each.at);
    const std::vector<std::size_t>* inside = into.lone ? &copy : each.inside;
    const auto lies_before = [&](std::size_t a, std::size_t b) {
      return std::tuple(blocks_[a].address, blocks_[a].id) < std::tuple(blocks_[b].address, blocks_[b].id);
    };
    if (!std::is_sorted(inside->begin(), inside->end(), lies_before)) {
      copy = *inside;
      std::sort(copy.begin(), copy.end(), lies_before);
      inside = &copy;
    }
    for (const std::size_t at : *inside) packed.add(blocks_[at], find_category(at));
    packed.finish();
    count(into);
    if (made_.segments.size() < memory_map::segment_limit) made_.segments.push_back(std::move(into));
  }

  void count(const address_segment& segment) {
    address_group& sum = groups_[get_key(segment)];
    std::tie(sum.device, sum.process, sum.lone, sum.layer) = get_key(segment);
    ++sum.segments;
    sum.bytes += segment.bytes;
    sum.used += segment.used;
    sum.blocks += segment.blocks;
    sum.largest_hole = std::max(sum.largest_hole, segment.largest_hole);
  }

  void number_groups() {
    std::map<group_key, std::size_t> numbers;
    for (const auto& [key, sum] : groups_) {
      numbers.emplace(key, made_.groups.size());
      made_.groups.push_back(sum);
    }
    for (address_segment& each : made_.segments) each.group = numbers.at(get_key(each));
    std::sort(made_.segments.begin(), made_.segments.end(), [](const address_segment& a, const address_segment& b) {
      return std::tie(a.group, a.address, a.block) < std::tie(b.group, b.address, b.block);
    });
  }

  const memory_map_query& query_;
  const sources& from_;
  const std::span<const block_record> blocks_;
  const std::shared_ptr<const index::tensor_facts> facts_;
  memory_map made_;
  std::vector<entry> all_;
  std::map<group_key, address_group> groups_;
};

/// Finds the change nearest to a time: each section has all blocks that are live in it, with their whole lifetimes.
class step_finder final : public query_operator<memory_step> {
 public:
  explicit step_finder(const memory_step_query& query)
      : query_(query), now_(bounded(query.time)), found_{.since = query.time, .forward = query.forward} {}

  result<reading_plan> plan(const sources& /*source*/) override {
    const auto order =
        query_.forward ? reading_plan::direction::one_by_one : reading_plan::direction::backward_one_by_one;
    return reading_plan{{query_.forward ? time_range{now_, all_time.end} : time_range{all_time.begin, now_}}, order};
  }

  result<void> add(const sources& source, time_range part) override {
    std::size_t seen = 0;
    for (const block_record& block : source.index.memory().blocks()) {
      if ((++seen & 0xfffU) == 0 && source.cancelled) return fail(error_code::cancelled, "the query was cancelled");
      if (!block.allocated || (query_.device && block.device != *query_.device)) continue;
      if (!index::is_memory_at_an_address(block.kind)) continue;
      if (is_nearest(block.born, part)) take(block, found_.born, found_.born_bytes);
      if (block.freed() && is_nearest(block.died, part)) take(block, found_.died, found_.died_bytes);
    }
    return {};
  }
  [[nodiscard]] bool satisfied() const override { return found_.time != trace::unknown_time; }
  result<memory_step> finish(const sources& /*source*/) override { return found_; }

 private:
  /// True if no change nearer than `time` is known. Forgets those that are farther away.
  bool is_nearest(time_ns time, time_range part) {
    if (time == trace::unknown_time || !part.holds(time) || time == now_) return false;
    if (found_.time != trace::unknown_time && (query_.forward ? time > found_.time : time < found_.time)) return false;
    if (time != found_.time) {
      found_ = memory_step{.since = query_.time, .forward = query_.forward, .time = time};
      largest_ = 0;
    }
    return true;
  }

  void take(const block_record& block, std::uint64_t& count, std::uint64_t& bytes) {
    ++count;
    bytes += block.bytes;
    if (found_.block != trace::block_id::none && block.bytes <= largest_) return;
    largest_ = block.bytes;
    found_.block = block.id;
  }

  const memory_step_query query_;
  const time_ns now_;
  memory_step found_;
  std::uint64_t largest_ = 0;  ///< The size of `found_.block`.
};

}  // namespace

result<memory_map> result_to(const memory_map_query& asked, const sources& source) {
  memory_map_query query = asked;
  query.time = bounded(asked.time);
  query.width = std::clamp<std::uint32_t>(asked.width, 1, widest_view);
  return mapper(query, source).draw();
}

operator_of<memory_step_query> make_operator(const memory_step_query& query) {
  return std::make_unique<step_finder>(query);
}

}  // namespace sluice::query
