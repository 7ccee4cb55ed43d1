#include "core/metrics/out_of_memory/remedies.hpp"

#include <algorithm>
#include <map>
#include <optional>

#include "core/metrics/out_of_memory/held_shares.hpp"
#include "core/replay/replay.hpp"
#include "core/symbols/attribution.hpp"

namespace sluice::metrics {
namespace {

/// A possible change, and the blocks that it removes from the memory.
struct candidate {
  remedy kind{};
  /// Positions in `memory_use::blocks()`. For `smaller_batch`, these blocks are halved, not removed.
  std::vector<std::size_t> blocks;
};

/// The combined effect of several changes.
struct trial {
  std::vector<bool> left_out;  ///< Indexed by position in `memory_use::blocks()`.
  bool expandable = false;
  bool half_batch = false;
};

struct trial_result {
  bool fits = false;
  remedy_check checked_by = remedy_check::layout;
  std::uint64_t reserved = 0;
};

/// Replays the requests to the allocator that failed, up to the failure. The failed request comes last.
class failure_replay {
 public:
  failure_replay(const trace::alloc_failed_event& failed, const memory_at_failure& at, const block_uses& uses,
                 const index::event_store& store, const trace::tables& tables, std::uint64_t limit)
      : uses_(uses), failed_(failed) {
    const index::memory_use& memory = store.memory();
    if (!at.is_of_framework() || memory.blocks().size() > out_of_memory_builder::max_replayed_blocks) return;
    for (replay::allocator_requests& each : replay::collect_requests(memory, tables))
      if (each.process == failed.process && each.device == failed.device) of_ = std::move(each);
    if (!of_ || !of_->recorded.segments_known) return;
    number_blocks(memory);
    if (positions_.size() != of_->blocks) return;
    cut(memory, bounded(failed.time));
    of_->limit = limit;
    of_->limit_inferred = false;
    find_stack_category(memory);
    // The model must refuse exactly the requests that the real allocator refused.
    trial as_recorded;
    as_recorded.left_out.resize(memory.blocks().size());
    reproduces_ = limit > 0 && run(as_recorded, false).failures == 0 && run(as_recorded, true).failures == 1;
  }

  /// True if the model refuses the allocation as the real allocator did. Otherwise its results are not valid.
  [[nodiscard]] bool reproduces() const { return reproduces_; }

  [[nodiscard]] trial_result judge(const trial& wanted) const {
    const replay::replay_metrics metrics = run(wanted, true);
    return {metrics.failures == 0, remedy_check::replay, metrics.peak_reserved};
  }

  [[nodiscard]] bool is_mapped() const { return of_ && of_->recorded.mapped; }

 private:
  /// Maps block numbers to positions. The requests number the framework's blocks in the order of
  /// `memory_use::blocks()`.
  void number_blocks(const index::memory_use& memory) {
    for (std::size_t i = 0; i < memory.blocks().size(); ++i) {
      const index::block_record& block = memory.blocks()[i];
      if (block.allocated && block.layer == trace::layer::framework && block.kind == trace::memory_kind::device &&
          block.process == failed_.process && block.device == failed_.device)
        positions_.push_back(i);
    }
  }

  /// Removes requests after the failure.
  void cut(const index::memory_use& memory, time_ns time) {
    const auto is_later = [&](const replay::request& each) {
      if (each.kind == replay::request_kind::empty_cache || each.block >= positions_.size()) return false;
      const index::block_record& block = memory.blocks()[positions_[each.block]];
      return each.kind == replay::request_kind::allocate ? block.born > time : block.freed() && block.died > time;
    };
    const auto end = std::find_if(of_->requests.begin(), of_->requests.end(), [&](const replay::request& each) {
      return each.kind == replay::request_kind::allocate && is_later(each);
    });
    of_->requests.erase(end, of_->requests.end());
    std::erase_if(of_->requests, is_later);
    for (const replay::request& each : of_->requests)
      if (each.kind == replay::request_kind::allocate) arena_ = each.arena;
  }

  /// Finds the category of the failed request, which is assumed to be that of other blocks that its stack allocated.
  void find_stack_category(const index::memory_use& memory) {
    if (failed_.stack == trace::stack_id::none) return;
    for (const std::size_t each : positions_)
      if (memory.blocks()[each].stack == failed_.stack && uses_.grows_with_batch(each)) {
        request_grows_ = true;
        return;
      }
  }

  [[nodiscard]] replay::replay_metrics run(const trial& wanted, bool with_failed) const {
    replay::allocator_requests requests = *of_;
    if (wanted.half_batch)
      for (replay::request& each : requests.requests)
        if (each.kind == replay::request_kind::allocate && uses_.grows_with_batch(positions_[each.block]))
          each.bytes = (each.bytes + 1) / 2;
    for (std::size_t i = 0; i < positions_.size(); ++i)
      if (wanted.left_out[positions_[i]])
        requests.requests.push_back({0, static_cast<std::uint32_t>(i), 0, replay::request_kind::free});
    if (with_failed) {
      const std::uint64_t bytes = wanted.half_batch && request_grows_ ? (failed_.bytes + 1) / 2 : failed_.bytes;
      requests.requests.push_back({bytes, requests.blocks++, arena_, replay::request_kind::allocate});
    }
    replay::policy by;
    by.text = wanted.expandable || requests.recorded.mapped ? "expandable_segments:True" : "native";
    by.expandable = wanted.expandable || requests.recorded.mapped;
    return replay::replay_policy(requests, by);
  }

  const block_uses& uses_;
  const trace::alloc_failed_event& failed_;
  std::optional<replay::allocator_requests> of_;
  /// For the number of each block, the block's position in `memory_use::blocks()`.
  std::vector<std::size_t> positions_;
  std::uint16_t arena_ = 0;
  bool request_grows_ = false;
  bool reproduces_ = false;
};

class remedy_finder {
 public:
  /// Returns the limit with which to replay, in bytes. If only bounds of the limit are known, returns a value slightly
  /// above the lower bound. At the bound itself, another setting would refuse requests that the recorded setting could
  /// just hold, because the other setting rounds differently.
  [[nodiscard]] static std::uint64_t get_limit(const out_of_memory& memory) {
    const std::uint64_t least = memory.reserved + (memory.needed - memory.missing);
    return memory.limit_to > memory.limit_from ? std::min(memory.limit_to, least + least / 20) : least;
  }
  remedy_finder(const trace::alloc_failed_event& failed, const memory_at_failure& at, const block_uses& uses,
                const index::event_store& store, const trace::snapshot& trace, out_of_memory& into)
      : failed_(failed),
        at_(at),
        uses_(uses),
        from_(store),
        trace_(trace),
        into_(into),
        replay_(failed, at, uses, store, trace.tables(), get_limit(into)) {}

  void find() {
    add_unused();
    if (replay_.reproduces() && !replay_.is_mapped()) candidates_.push_back({remedy::expandable_segments, {}});
    add_idle_state();
    add_checkpoints();
    add_half_batch();
    for (const candidate& each : candidates_) {
      if (into_.changes.size() == out_of_memory::change_limit) return;
      try_alone(each);
    }
    if (into_.changes.empty()) try_together();
  }

 private:
  const index::block_record& block(std::size_t at) const { return from_.memory().blocks()[at]; }

  [[nodiscard]] std::uint64_t get_bytes(const std::vector<std::size_t>& blocks) const {
    std::uint64_t sum = 0;
    for (const std::size_t each : blocks) saturating_add(sum, block(each).bytes);
    return sum;
  }

  void add(remedy subject, std::vector<std::size_t> blocks) {
    if (!blocks.empty()) candidates_.push_back({subject, std::move(blocks)});
  }

  void add_unused() {
    std::vector<std::size_t> found;
    for (const std::size_t each : at_.live())
      if (uses_.get_state(each) == block_state::unused) found.push_back(each);
    add(remedy::free_unused, sorted_by_line(std::move(found)));
  }

  void add_idle_state() {
    std::vector<std::size_t> found;
    for (const std::size_t each : at_.live())
      if (uses_.get_state(each) == block_state::idle_state) found.push_back(each);
    add(remedy::move_idle_state, sorted_by_line(std::move(found)));
  }

  /// Sorts the blocks by stack. The stacks that hold the most bytes come first, so that few stacks are sufficient.
  [[nodiscard]] std::vector<std::size_t> sorted_by_line(std::vector<std::size_t> blocks) const {
    std::map<trace::stack_id, std::uint64_t> sums;
    for (const std::size_t each : blocks) saturating_add(sums[block(each).stack], block(each).bytes);
    std::stable_sort(blocks.begin(), blocks.end(), [&](std::size_t a, std::size_t b) {
      const auto weight = [&](std::size_t at) { return std::pair(sums[block(at).stack], raw(block(at).stack)); };
      return weight(a) > weight(b);
    });
    return blocks;
  }

  /// Selects, for each module, the activations of this step except the module's inputs (one per call) and the
  /// activations of one call, which the backward pass recomputes.
  void add_checkpoints() {
    struct module {
      std::map<trace::stack_id, std::vector<std::size_t>> by_stack;
      std::uint64_t bytes = 0;
    };
    symbols::frame_cache book;
    symbols::attributor who(book, trace_.tables(), symbols::frame_cache::lookup::later);
    const symbols::line_id unknown = who.unknown(symbols::attribution::module);
    std::map<symbols::line_id, module> modules;
    for (const std::size_t each : at_.live()) {
      if (uses_.find_category(each) != index::category::activation || !uses_.is_of_this_step(each)) continue;
      if (block(each).stack == trace::stack_id::none) continue;
      const symbols::line_id id = who.of(block(each).stack, symbols::attribution::module);
      if (id == unknown) continue;
      modules[id].by_stack[block(each).stack].push_back(each);
      saturating_add(modules[id].bytes, block(each).bytes);
    }
    std::vector<std::vector<std::size_t>> lists;
    for (auto& [line, subject] : modules) {
      std::size_t calls = 0;
      for (const auto& [stack, blocks] : subject.by_stack) calls = std::max(calls, blocks.size());
      if (calls < 2) continue;
      std::vector<std::size_t> freed;
      std::map<std::size_t, std::size_t> largest_of_call;  // For each call: the position of the input that is kept.
      for (const auto& [stack, blocks] : subject.by_stack)
        for (std::size_t i = 0; i < blocks.size(); ++i) {
          auto [kept, fresh] = largest_of_call.try_emplace(i, blocks[i]);
          if (!fresh && block(blocks[i]).bytes > block(kept->second).bytes) kept->second = blocks[i];
        }
      for (const auto& [stack, blocks] : subject.by_stack)
        for (std::size_t i = 0; i + 1 < blocks.size(); ++i)
          if (largest_of_call[i] != blocks[i]) freed.push_back(blocks[i]);
      if (!freed.empty()) lists.push_back(std::move(freed));
    }
    std::stable_sort(lists.begin(), lists.end(),
                     [&](const auto& a, const auto& b) { return get_bytes(a) > get_bytes(b); });
    std::vector<std::size_t> blocks;
    for (const auto& each : lists) blocks.insert(blocks.end(), each.begin(), each.end());
    add(remedy::checkpoint, std::move(blocks));
  }

  void add_half_batch() {
    if (!replay_.reproduces()) return;
    std::vector<std::size_t> found;
    for (const std::size_t each : at_.live())
      if (uses_.grows_with_batch(each) && uses_.is_of_this_step(each)) found.push_back(each);
    add(remedy::smaller_batch, std::move(found));
  }

  [[nodiscard]] trial nothing() const {
    trial output;
    output.left_out.resize(from_.memory().blocks().size());
    return output;
  }

  static void put(const candidate& change, std::size_t blocks, trial& into) {
    into.expandable = into.expandable || change.kind == remedy::expandable_segments;
    into.half_batch = into.half_batch || change.kind == remedy::smaller_batch;
    if (change.kind == remedy::smaller_batch) return;
    for (std::size_t i = 0; i < blocks; ++i) into.left_out[change.blocks[i]] = true;
  }

  [[nodiscard]] trial_result judge(const trial& wanted) {
    if (!wanted.expandable && !wanted.half_batch) return {at_.fits_without(wanted.left_out), remedy_check::layout, 0};
    if (replays_left_ == 0) return {};
    --replays_left_;
    return replay_.judge(wanted);
  }

  /// Returns the positions in a change's blocks at which the blocks of a stack end. Each prefix of whole stacks may be
  /// sufficient.
  [[nodiscard]] std::vector<std::size_t> ends_of_stacks(const std::vector<std::size_t>& blocks) const {
    std::vector<std::size_t> ends;
    for (std::size_t i = 1; i <= blocks.size(); ++i)
      if (i == blocks.size() || block(blocks[i]).stack != block(blocks[i - 1]).stack) ends.push_back(i);
    return ends;
  }

  void try_alone(const candidate& change) {
    trial whole = nothing();
    put(change, change.blocks.size(), whole);
    trial_result found = judge(whole);
    if (!found.fits) return;
    std::size_t enough = change.blocks.size();
    if (found.checked_by == remedy_check::layout) {
      // If more blocks are removed, the request still fits, so a binary search finds the fewest stacks that are
      // sufficient.
      const std::vector<std::size_t> ends = ends_of_stacks(change.blocks);
      const auto first = std::partition_point(ends.begin(), ends.end(), [&](std::size_t end) {
        trial some = nothing();
        put(change, end, some);
        return !judge(some).fits;
      });
      if (first != ends.end()) enough = *first;
    }
    keep(change, enough, found);
  }

  void try_together() {
    const std::size_t count = candidates_.size();
    for (std::size_t size = 2; size <= std::min(count, out_of_memory::change_limit); ++size)
      for (std::size_t chosen = 0; chosen < (std::size_t{1} << count); ++chosen) {
        if (static_cast<std::size_t>(__builtin_popcountll(chosen)) != size) continue;
        trial whole = nothing();
        for (std::size_t i = 0; i < count; ++i)
          if ((chosen >> i & 1U) != 0) put(candidates_[i], candidates_[i].blocks.size(), whole);
        const trial_result found = judge(whole);
        if (!found.fits) continue;
        for (std::size_t i = 0; i < count; ++i)
          if ((chosen >> i & 1U) != 0) keep(candidates_[i], candidates_[i].blocks.size(), found);
        into_.only_together = true;
        return;
      }
  }

  void keep(const candidate& change, std::size_t blocks, const trial_result& found) {
    checked_change output;
    output.kind = change.kind;
    output.checked_by = found.checked_by;
    output.reserved = found.reserved;
    held_shares_builder shares;
    for (std::size_t i = 0; i < blocks; ++i) {
      const std::size_t at = change.blocks[i];
      shares.add(block(at), uses_.find_category(at), uses_.last_use(at));
      saturating_add(output.freed, change.kind == remedy::smaller_batch ? block(at).bytes / 2 : block(at).bytes);
    }
    output.blocks = shares.take();
    if (output.blocks.size() > stacks_kept) output.blocks.resize(stacks_kept);
    into_.changes.push_back(std::move(output));
  }

  static constexpr std::size_t stacks_kept = 64;  ///< The maximum number of stacks per change. The sums also include
                                                  ///< the stacks that are left out.
  const trace::alloc_failed_event& failed_;
  const memory_at_failure& at_;
  const block_uses& uses_;
  const index::event_store& from_;
  const trace::snapshot& trace_;
  out_of_memory& into_;
  failure_replay replay_;
  std::size_t replays_left_ = 20;
  std::vector<candidate> candidates_;
};

}  // namespace

void find_remedies(const trace::alloc_failed_event& failed, const memory_at_failure& at, const block_uses& uses,
                   const index::event_store& store, const trace::snapshot& trace, out_of_memory& into) {
  // The remedies apply only to GPU memory, and no change enlarges a device.
  if (!index::is_device_resident(failed.kind) || (into.device_bytes > 0 && into.asked > into.device_bytes)) return;
  remedy_finder(failed, at, uses, store, trace, into).find();
}

}  // namespace sluice::metrics
