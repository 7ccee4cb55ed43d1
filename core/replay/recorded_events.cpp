#include "core/replay/recorded_events.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "core/index/memory/block_ends.hpp"
#include "core/index/memory/mapped_runs.hpp"

namespace sluice::replay {
namespace {

using index::block_record;
using owner = std::pair<trace::process_id, trace::device_id>;

bool is_of_framework(const block_record& block) {
  return block.allocated && block.layer == trace::layer::framework && block.kind == trace::memory_kind::device;
}

/// True if a block may be a segment of an allocator. For such a block, `is_segment_of_framework` decides.
bool is_segment_of_pool(const block_record& block) {
  return block.layer == trace::layer::driver && block.kind == trace::memory_kind::device &&
         block.pool != trace::pool_id::none && !index::is_mapped_piece(block);
}
bool is_segment_of_framework(const block_record& segment, const trace::tables& tables) {
  const trace::pool_row* pool = tables.pools.find(segment.pool);
  return pool != nullptr && pool->layer == trace::layer::framework;
}

/// The address spaces that a program has reserved, used to tell its expandable segments apart.
class address_spaces {
 public:
  void add(const block_record& block) {
    if (block.allocated && block.kind == trace::memory_kind::reservation)
      ends_[{block.process, block.address}] = block.address + block.bytes;
  }
  /// Returns the start of the space that contains `address`; 0 if no space does.
  [[nodiscard]] std::uint64_t get_begin(trace::process_id process, std::uint64_t address) const {
    auto after = ends_.upper_bound({process, address});
    if (after == ends_.begin()) return 0;
    --after;
    return after->first.first == process && address < after->second ? after->first.second : 0;
  }

 private:
  std::map<std::pair<trace::process_id, std::uint64_t>, std::uint64_t> ends_;
};

}  // namespace

class recorded_events_builder::state {
 public:
  explicit state(std::uint64_t max_blocks) : max_blocks_(max_blocks) {}

  void add(const index::memory_use& memory, time_range run) {
    if (gave_up_) return;
    for (const block_record& block : memory.blocks()) spaces_.add(block);
    for (const block_record& block : memory.blocks())
      if (is_of_framework(block) && run.holds(block.born)) add(block, memory, run);
    for (const block_record& block : memory.blocks()) {
      if (!block.allocated || !index::ends_in(block, run)) continue;
      if (index::is_mapped_piece(block)) pieces_.push_back(block);
      // A block in the segment would have been allocated before the segment ended, so the segment has no blocks.
      if (is_segment_of_pool(block) && !segments_.contains(block.id)) empty_.push_back(block);
      end(block, run);
    }
    // There are few failures, so every section has all failures up to its end.
    if (failed_.size() != memory.failed().size()) failed_.assign(memory.failed().begin(), memory.failed().end());
    if (blocks_ + pieces_.size() + empty_.size() > max_blocks_) give_up();
  }

  [[nodiscard]] bool gave_up() const { return gave_up_; }

  std::vector<recorded_events> take(const trace::tables& tables) {
    add_pieces();
    add_empty_segments(tables);
    add_refusals();
    std::vector<recorded_events> items;
    for (auto& [subject, events] : found_) {
      std::sort(events.events.begin(), events.events.end(), [](const recorded_event& a, const recorded_event& b) {
        return std::tie(a.time, a.order, a.kind) < std::tie(b.time, b.order, b.kind);
      });
      items.push_back(std::move(events));
    }
    return items;
  }

 private:
  void give_up() {
    gave_up_ = true;
    found_.clear();
    segments_.clear();
    live_.clear();
    mapped_keys_.clear();
    pieces_ = std::vector<block_record>();
    empty_ = std::vector<block_record>();
  }

  void add(const block_record& block, const index::memory_use& memory, time_range run) {
    recorded_events& into = found_[{block.process, block.device}];
    into.process = block.process;
    into.device = block.device;
    recorded_block output{block.address, block.bytes, block.id, no_segment};
    const block_record* parent = memory.find(block.parent);
    if (parent != nullptr && parent->allocated && parent->layer == trace::layer::driver)
      output.segment = get_segment(*parent, into);
    const auto at = static_cast<std::uint32_t>(into.blocks.size());
    into.blocks.push_back(output);
    ++blocks_;
    into.events.push_back({block.born, raw(block.alloc), recorded_kind::allocated, at});
    if (index::ends_in(block, run))
      put_end(block, recorded_kind::freed, at, into);
    else
      live_.emplace(block.id, place{{block.process, block.device}, at, false});
  }

  /// Adds the end of a segment, or of a block that was allocated in an earlier run.
  void end(const block_record& block, time_range run) {
    // In a corrupt file, a segment may have several ends.
    if (const auto segment = segments_.find(block.id); segment != segments_.end() && !segment->second.ended) {
      segment->second.ended = true;
      put_end(block, recorded_kind::segment_given_back, segment->second.at, found_[segment->second.holder]);
    }
    if (run.holds(block.born)) return;
    const auto born = live_.find(block.id);
    if (born == live_.end()) return;
    put_end(block, recorded_kind::freed, born->second.at, found_[born->second.holder]);
    live_.erase(born);
  }

  static void put_end(const block_record& subject, recorded_kind died, std::uint32_t at, recorded_events& into) {
    if (subject.freed()) into.events.push_back({subject.died, raw(subject.free), died, at});
  }

  std::uint32_t get_segment(const block_record& parent, recorded_events& into) {
    const owner subject{into.process, into.device};
    const auto at = static_cast<std::uint32_t>(into.segments.size());
    const auto [known, fresh] = segments_.try_emplace(parent.id, place{subject, at, false});
    if (!fresh) return known->second.holder == subject ? known->second.at : no_segment;
    const bool mapped = index::is_mapped_piece(parent);
    // A stream is more specific than an address space. In most recordings, neither is known.
    std::uint64_t key = raw(parent.stream) << 32 ^ raw(parent.pool);
    if (mapped) {
      const std::uint64_t space = spaces_.get_begin(parent.process, parent.address);
      if (space != 0) key = space;
      // In a corrupt file, the parent may be on another device, which then has no allocator of its own.
      mapped_keys_[subject].insert(key);
    }
    into.segments.push_back({parent.address, parent.bytes, mapped, key});
    into.events.push_back({parent.born, raw(parent.alloc), recorded_kind::segment_taken, at});
    return at;
  }

  /// Adds the pieces of expandable segments in which no block was allocated.
  void add_pieces() {
    if (mapped_keys_.empty()) return;
    std::sort(pieces_.begin(), pieces_.end(), [](const block_record& a, const block_record& b) {
      return std::tie(a.born, a.id) < std::tie(b.born, b.id);
    });
    for (const block_record& block : pieces_) {
      const auto keys = mapped_keys_.find({block.process, block.device});
      if (keys == mapped_keys_.end()) continue;
      const std::uint64_t space = spaces_.get_begin(block.process, block.address);
      const std::uint64_t key = space != 0 ? space : raw(block.stream) << 32 ^ raw(block.pool);
      if (!keys->second.contains(key) || segments_.contains(block.id)) continue;
      recorded_events& into = found_[{block.process, block.device}];
      put_end(block, recorded_kind::segment_given_back, get_segment(block, into), into);
    }
  }

  void add_empty_segments(const trace::tables& tables) {
    for (const block_record& block : empty_) {
      const auto into = found_.find({block.process, block.device});
      if (into != found_.end() && is_segment_of_framework(block, tables))
        into->second.empty_segments.push_back(
            {block.bytes, block.born, block.freed() ? block.died : trace::unknown_time});
    }
  }

  /// Adds driver calls that failed because memory was exhausted. The next allocation is then a retry.
  void add_refusals() {
    for (const trace::alloc_failed_event& row : failed_) {
      if (row.layer != trace::layer::driver) continue;
      const auto into = found_.find({row.process, row.device});
      if (into != found_.end()) into->second.events.push_back({row.time, raw(row.id), recorded_kind::refused, 0});
    }
  }

  const std::uint64_t max_blocks_;
  bool gave_up_ = false;
  std::uint64_t blocks_ = 0;
  address_spaces spaces_;
  std::map<owner, recorded_events> found_;
  /// An allocator, and a position in its `segments` or `blocks`.
  struct place {
    owner holder;
    std::uint32_t at = 0;
    bool ended = false;
  };
  std::unordered_map<trace::block_id, place> segments_;
  std::unordered_map<trace::block_id, place> live_;       ///< Blocks that are still live at the end of the last run.
  std::map<owner, std::set<std::uint64_t>> mapped_keys_;  ///< The keys of the segments in which blocks were allocated.
  std::vector<block_record> pieces_;                      ///< All mapped pieces, with or without blocks.
  std::vector<block_record> empty_;                       ///< Pool segments in which no block was allocated.
  std::vector<trace::alloc_failed_event> failed_;
};

recorded_events_builder::recorded_events_builder(std::uint64_t max_blocks)
    : state_(std::make_unique<state>(max_blocks)) {}
recorded_events_builder::recorded_events_builder(const recorded_events_builder& other)
    : state_(std::make_unique<state>(*other.state_)) {}
recorded_events_builder::~recorded_events_builder() = default;

void recorded_events_builder::add(const index::memory_use& memory, time_range run) { state_->add(memory, run); }

bool recorded_events_builder::gave_up() const { return state_->gave_up(); }

std::vector<recorded_events> recorded_events_builder::take(const trace::tables& tables) { return state_->take(tables); }

std::vector<recorded_events> recorded_allocators(const index::memory_use& memory, const trace::tables& tables) {
  recorded_events_builder builder;
  builder.add(memory, all_time);
  return builder.take(tables);
}

}  // namespace sluice::replay
