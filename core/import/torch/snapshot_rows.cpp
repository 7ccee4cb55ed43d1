// Writes a snapshot to the trace. Its segments become blocks of the driver layer, with PyTorch's blocks inside them.
//
// A history may start late. Blocks that it frees but never allocates are older than the history, as are blocks that are
// live at the end but that it never mentions. Older segments are added first, so that blocks find their segment.
#include <algorithm>
#include <map>
#include <string>
#include <unordered_map>

#include "core/import/event_order.hpp"
#include "core/import/importers.hpp"
#include "core/import/range_map.hpp"
#include "core/import/torch/categories.hpp"
#include "core/import/torch/shared.hpp"
#include "core/import/torch/snapshot.hpp"
#include "core/trace/model/mapping_flags.hpp"
#include "core/trace/model/message_texts.hpp"

namespace sluice::importing::torch {
namespace {

constexpr std::int64_t out_of_memory_error = 2;  // CUDA_ERROR_OUT_OF_MEMORY.
constexpr time_ns step_without_times = 1000;     // The time between two entries without times, in ns.

/// Writes the history of one allocator and its state at the end.
class allocator_writer {
 public:
  allocator_writer(shared& whole, bool host, std::int64_t device, const history* subject,
                   std::vector<const segment*> at_end)
      : all_(whole),
        host_(host),
        ordinal_(device),
        device_(whole.device(device)),
        history_(subject),
        at_end_(std::move(at_end)) {
    for (const segment* each : at_end_) {
      pools_.take(each->address, each->address + each->bytes);
      pools_.add(each->address, each->address + each->bytes, each->pool);
    }
  }

  result<void> run() {
    find_final_blocks();
    add_first_segments();
    if (history_ != nullptr) {
      const auto& entries = history_->entries;
      for (std::size_t i = 0; i < entries.size(); ++i) {
        take(entries[i], static_cast<std::uint32_t>(i));
        if (i % 8192 == 8191) {
          if (auto ready = all_.work.advance(0.5 + 0.5 * static_cast<double>(i) / static_cast<double>(entries.size()));
              !ready)
            return ready;
        }
      }
    }
    add_rest();
    return {};
  }

 private:
  struct owner {
    trace::block_id block{};
    pool_name pool;
  };
  using ranges = range_map<owner>;

  /// A block in the segments at the end of the history.
  struct final_block {
    const block* listed = nullptr;
    const segment* in = nullptr;
    std::uint32_t last = UINT32_MAX;     ///< The last entry for its address.
    action last_action = action::other;  ///< The action of the last entry.
    std::uint32_t last_alloc = UINT32_MAX;
  };
  struct live_block {
    trace::block_id block{};  ///< None if the block was freed. Its address is still known.
    trace::event_id event{};  ///< The block's allocation.
    trace::pool_id pool{};
    std::uint64_t bytes = 0;
    bool pending = false;  ///< True if the free of the block was requested.
    time_ns requested = 0;
    std::uint32_t request = 0;  ///< The entry that requested the free.
  };

  // --- time -------------------------------------------------------------------------------------------------------

  /// Sets the current time. Entries are in order, but their times sometimes are not, because the clocks of CPU cores
  /// differ.
  void set_time(const history_entry& e, std::uint32_t number) {
    if (e.time_us == no_time) {
      said_ = std::max(said_, number * step_without_times);
      source_ = trace::provenance::estimated;
      ++without_time_;
    } else {
      const time_ns said = (e.time_us - all_.origin_us) * 1000;
      source_ = said < said_ ? trace::provenance::estimated : trace::provenance::exact;
      if (said < said_) ++backwards_;
      said_ = std::max(said_, said);
    }
    now_ = counted(e.kind);
  }

  /// Returns the time to use for an entry with the time `said_`.
  time_ns counted(action subject) {
    switch (subject) {
      case action::alloc:
      case action::segment_alloc:
      case action::segment_map:
        return order_.allocation(said_);
      case action::free_requested:
      case action::free_completed:
      case action::segment_free:
      case action::segment_unmap:
        return order_.free(said_);
      default:
        return std::max(now_, said_);
    }
  }

  template <class Row>
  Row event(time_ns time, trace::provenance source) const {
    Row row;
    row.time = time;
    row.process = shared::process;
    row.source = source;
    return row;
  }

  // --- blocks at the end -------------------------------------------------------------------------------------------

  void find_final_blocks() {
    for (const segment* in : at_end_) {
      for (std::uint32_t i = 0; i < in->blocks; ++i) {
        const block& each = all_.recording.blocks[in->first_block + i];
        if (each.status != block::state::inactive) final_[each.address] = {&each, in};
      }
    }
    if (history_ == nullptr || final_.empty()) return;
    for (std::uint32_t i = 0; i < history_->entries.size(); ++i) {
      const history_entry& e = history_->entries[i];
      if (e.kind != action::alloc && e.kind != action::free_requested && e.kind != action::free_completed) continue;
      const auto found = final_.find(e.address);
      if (found == final_.end()) continue;
      found->second.last = i;
      found->second.last_action = e.kind;
      if (e.kind == action::alloc) found->second.last_alloc = i;
    }
  }

  /// True if the history's last entry about the block agrees with its state in the segments.
  static bool agrees(const final_block& at) {
    return at.listed->status == block::state::allocated
               ? at.last_action == action::alloc
               : at.last_action == action::free_requested || at.last_action == action::alloc;
  }

  // --- segments ---------------------------------------------------------------------------------------------------

  struct first_segment {
    std::uint64_t begin = 0, end = 0;
    std::uint64_t stream = 0;
    std::uint32_t frames = no_container;
    bool expandable = false;
  };

  /// Adds the segments from before the history. These are segments that the history frees but never allocates, and
  /// segments that exist at the end but that the history does not mention.
  void add_first_segments() {
    range_map<char> got, before;
    std::vector<first_segment> first;
    if (history_ != nullptr) {
      for (const history_entry& e : history_->entries) {
        const std::uint64_t end = e.address + e.bytes;
        if (e.kind == action::segment_alloc || e.kind == action::segment_map) {
          got.take(e.address, end);
          got.add(e.address, end, 0);
        } else if (e.kind == action::segment_free || e.kind == action::segment_unmap) {
          for (const auto& unknown : got.gaps(e.address, end)) {
            for (const auto& fresh : before.gaps(unknown.begin, unknown.end)) {
              first.push_back({fresh.begin, fresh.end, e.stream, no_container, e.kind == action::segment_unmap});
              before.add(fresh.begin, fresh.end, 0);
            }
          }
          for (const auto& cut : got.take(e.address, end)) {
            got.add(cut.begin, std::min(cut.end, e.address), 0);
            got.add(std::max(cut.begin, end), cut.end, 0);
          }
        }
      }
    }
    for (const segment* each : at_end_) {
      const std::uint64_t end = each->address + each->bytes;
      for (const auto& unknown : got.gaps(each->address, end)) {
        for (const auto& fresh : before.gaps(unknown.begin, unknown.end)) {
          first.push_back({fresh.begin, fresh.end, each->stream, each->frames, each->expandable});
          before.add(fresh.begin, fresh.end, 0);
        }
      }
    }
    for (const first_segment& each : first) {
      add_segment(each.begin, each.end, each.stream, all_.stacks.find_stack(each.frames), each.expandable,
                  trace::born_before, all_.begin, trace::provenance::inferred, nullptr);
    }
    if (!first.empty()) all_.work.read("segments from before the history", first.size());
    before_ = segments_;
  }

  std::uint64_t add_segment(std::uint64_t begin, std::uint64_t end, std::uint64_t stream, trace::stack_id stack,
                            bool expandable, std::uint64_t flags, time_ns time, trace::provenance source,
                            const history_entry* origin) {
    auto row = event<trace::alloc_event>(time, source);
    owner output{static_cast<trace::block_id>(++all_.last_block), {}};
    // The entry has no pool, and its segment no longer exists at the end. Most likely, the pool is the allocator's own.
    if (origin != nullptr && origin->pool != 0) {
      output.pool = all_.recording.pools[origin->pool - 1];
    } else if (const auto* known = pools_.find(begin)) {
      output.pool = known->owner;
    }
    row.block = output.block;
    row.layer = trace::layer::driver;
    row.kind = host_ ? trace::memory_kind::pinned : trace::memory_kind::device;
    row.device = device_;
    row.stream = all_.stream(ordinal_, stream);
    row.address = begin;
    row.bytes = end - begin;
    row.flags = flags | (expandable ? std::uint64_t{trace::mapped_piece} : std::uint64_t{0});
    row.stack = stack;
    row.name = all_.out().intern(host_ ? "cudaHostAlloc" : expandable ? "cuMemMap" : "cudaMalloc");
    row.pool = all_.pool(host_, ordinal_, output.pool);
    segments_.add(begin, end, output);
    const std::uint64_t id = all_.out().add(row);
    resize_pool(row.pool, row.bytes, trace::pool_operation::grow, time, source);
    return id;
  }

  std::uint64_t free_segment(const ranges::range& which, std::uint64_t stream, trace::provenance source) {
    auto row = event<trace::free_event>(now_, source);
    row.block = which.owner.block;
    row.layer = trace::layer::driver;
    row.address = which.begin;
    row.stream = all_.stream(ordinal_, stream);
    row.completed = now_;
    const std::uint64_t id = all_.out().add(row);
    resize_pool(all_.pool(host_, ordinal_, which.owner.pool), std::uint64_t{0} - (which.end - which.begin),
                trace::pool_operation::shrink, now_, source);
    return id;
  }

  /// Changes the size of a pool by `by` bytes, which may be negative in two's complement.
  void resize_pool(trace::pool_id pool, std::uint64_t by, trace::pool_operation operation, time_ns time,
                   trace::provenance source) {
    auto row = event<trace::pool_event>(time, source);
    row.pool = pool;
    row.operation = operation;
    row.reserved = pool_sizes_[pool].reserved += by;
    row.used = pool_sizes_[pool].used;
    all_.out().add(row);
  }

  void segment_begins(const history_entry& e, std::uint32_t number) {
    const std::uint64_t end = e.address + e.bytes;
    for (const auto& lost : segments_.take(e.address, end)) {
      free_segment(lost, e.stream, trace::provenance::inferred);
      all_.work.not_understood("segments that overlap another one");
    }
    const auto id = add_segment(e.address, end, e.stream, all_.stacks.find_stack(e.frames, e.forward_frames),
                                e.kind == action::segment_map, 0, now_, source_, &e);
    add_attributes(number, id);
  }

  /// Frees whole segments, or unmaps a part of a segment; the rest of that segment continues as a separate block.
  void segment_ends(const history_entry& e, std::uint32_t number) {
    const std::uint64_t end = e.address + e.bytes;
    const auto taken = segments_.take(e.address, end);
    if (taken.empty()) all_.work.not_understood("segments that are freed twice");
    std::uint64_t id = 0;
    for (const auto& each : taken) {
      const auto freed = free_segment(each, e.stream, source_);
      if (id == 0) id = freed;
      const auto rest = [&](std::uint64_t begin, std::uint64_t to) {
        if (begin >= to) return;
        add_segment(begin, to, e.stream, {}, true, trace::rest_of_block, now_, trace::provenance::inferred, nullptr);
        all_.work.read("remainders of mapped segments");
      };
      rest(each.begin, std::min(each.end, e.address));
      rest(std::max(each.begin, end), each.end);
    }
    if (id != 0) add_attributes(number, id);
  }

  // --- blocks -----------------------------------------------------------------------------------------------------

  std::uint64_t add_block(std::uint64_t address, std::uint64_t bytes, std::uint64_t reserved, std::uint64_t stream,
                          trace::stack_id stack, time_ns time, std::uint64_t flags, trace::provenance source,
                          const ranges& segments, const history_entry* origin, live_block& block) {
    auto row = event<trace::alloc_event>(time, source);
    row.block = block.block = static_cast<trace::block_id>(++all_.last_block);
    row.layer = trace::layer::framework;
    row.kind = host_ ? trace::memory_kind::pinned : trace::memory_kind::device;
    row.device = device_;
    row.stream = all_.stream(ordinal_, stream);
    row.address = address;
    row.bytes = bytes;
    row.reserved_bytes = reserved;
    row.flags = flags;
    row.stack = stack;
    row.name = all_.torch_name;
    const auto* in = segments.find(address);
    if (in != nullptr) row.parent = in->owner.block;
    if (origin != nullptr && origin->pool != 0) {
      row.pool = all_.pool(host_, ordinal_, all_.recording.pools[origin->pool - 1]);
    } else if (in != nullptr) {
      row.pool = all_.pool(host_, ordinal_, in->owner.pool);
    }
    block.pool = row.pool;
    block.bytes = bytes;
    pool_sizes_[row.pool].used += bytes;
    block.event = trace::event_id{all_.out().add(row)};
    return raw(block.event);
  }

  /// Adds a block that the history frees but never allocated. The free gives its size.
  live_block from_before(const history_entry& e) {
    live_block block;
    add_block(e.address, e.bytes, 0, e.stream, {}, all_.begin, trace::born_before, trace::provenance::inferred, before_,
              nullptr, block);
    all_.work.read("blocks from before the history");
    return block;
  }

  std::uint64_t add_free(const live_block& which, const history_entry& e, time_ns time, time_ns completed,
                         trace::provenance source) {
    auto row = event<trace::free_event>(time, source);
    row.block = which.block;
    row.layer = trace::layer::framework;
    row.address = e.address;
    row.stream = all_.stream(ordinal_, e.stream);
    row.completed = completed;
    pool_sizes_[which.pool].used -= which.bytes;
    return all_.out().add(row);
  }

  void allocate(const history_entry& e, std::uint32_t number) {
    live_block& at = live_[e.address];
    if (at.block != trace::block_id::none) {
      if (!at.pending) all_.work.not_understood("missing frees of blocks whose address was allocated again");
      const auto id = add_free(at, e, at.pending ? at.requested : now_, trace::unknown_time,
                               at.pending ? trace::provenance::exact : trace::provenance::inferred);
      if (at.pending) add_attributes(at.request, id);
    }
    std::uint64_t reserved = 0;
    if (const auto last = final_.find(e.address);
        last != final_.end() && last->second.last_alloc == number && agrees(last->second)) {
      reserved = last->second.listed->bytes;
    }
    at = {};
    const auto id = add_block(e.address, e.bytes, reserved, e.stream,
                              all_.stacks.find_stack(e.frames, e.forward_frames), now_, 0, source_, segments_, &e, at);
    add_attributes(number, id);
  }

  void request_free(const history_entry& e, std::uint32_t number) {
    const auto [found, fresh] = live_.try_emplace(e.address);
    live_block& at = found->second;
    if (fresh) at = from_before(e);
    if (at.block == trace::block_id::none) return all_.work.not_understood("frees of memory that is already free");
    if (at.pending) return all_.work.not_understood("frees that were already requested");
    at.pending = true;
    at.requested = now_;
    at.request = number;
  }

  void complete_free(const history_entry& e) {
    const auto [found, fresh] = live_.try_emplace(e.address);
    if (fresh) {  // The free was requested before the history began.
      const live_block before = from_before(e);
      add_free(before, e, all_.begin, now_, trace::provenance::inferred);
      return;
    }
    if (found->second.block == trace::block_id::none) {
      return all_.work.not_understood("frees of memory that is already free");
    }
    const live_block at = std::exchange(found->second, {});
    const auto id =
        add_free(at, e, at.pending ? at.requested : now_, now_, at.pending ? source_ : trace::provenance::inferred);
    if (at.pending) add_attributes(at.request, id);
    if (!at.pending) all_.work.read("frees that were completed but never requested; the time of completion is used");
  }

  /// Adds data that the history lacks: blocks that are live throughout it, and frees that never completed.
  void add_rest() {
    for (const auto& [address, at] : final_) {
      if (at.last == UINT32_MAX) {
        live_block output;
        const auto id = add_block(address, at.listed->requested, at.listed->bytes, at.in->stream,
                                  all_.stacks.find_stack(at.listed->frames), all_.begin, trace::born_before,
                                  trace::provenance::inferred, before_, nullptr, output);
        add_attributes(all_.recording.block_extras,
                       static_cast<std::uint32_t>(at.listed - all_.recording.blocks.data()), id);
        all_.work.read("blocks from before the history");
        if (at.listed->status == block::state::pending_free) {
          history_entry e;
          e.address = address;
          e.stream = at.in->stream;
          add_free(output, e, all_.begin, trace::unknown_time, trace::provenance::inferred);
        }
      } else if (!agrees(at)) {
        all_.work.not_understood("blocks that are live in the segments but free in the history");
      }
    }
    for (const auto& [address, at] : live_) {
      if (at.block == trace::block_id::none) continue;
      if (!at.pending && !at_end_.empty() && !final_.contains(address)) {
        all_.work.not_understood("blocks that are live in the history but not in the segments");
      }
      if (!at.pending) continue;
      const history_entry& request = history_->entries[at.request];
      add_attributes(at.request, add_free(at, request, at.requested, trace::unknown_time, trace::provenance::exact));
    }
    if (without_time_ > 0) all_.work.read("entries without a time (estimated from their order)", without_time_);
    if (backwards_ > 0) all_.work.read("entries with a time before the previous entry's", backwards_);
  }

  // --- the rest ---------------------------------------------------------------------------------------------------

  void take(const history_entry& e, std::uint32_t number) {
    set_time(e, number);
    switch (e.kind) {
      case action::alloc:
        return allocate(e, number);
      case action::free_requested:
        return request_free(e, number);
      case action::free_completed:
        return complete_free(e);
      case action::segment_alloc:
      case action::segment_map:
        return segment_begins(e, number);
      case action::segment_free:
      case action::segment_unmap:
        return segment_ends(e, number);
      case action::out_of_memory:
        return refuse(e, number);
      case action::annotate:
        return annotate(e, number);
      default:
        return mark(e, number);
    }
  }

  void refuse(const history_entry& e, std::uint32_t number) {
    auto row = event<trace::alloc_failed_event>(now_, source_);
    row.layer = trace::layer::framework;
    row.kind = host_ ? trace::memory_kind::pinned : trace::memory_kind::device;
    row.device = device_;
    row.stream = all_.stream(ordinal_, e.stream);
    row.bytes = e.bytes;
    row.error = out_of_memory_error;
    row.name = all_.torch_name;
    row.stack = all_.stacks.find_stack(e.frames, e.forward_frames);
    const auto id = all_.out().add(row);
    add_attribute(id, "device_free", static_cast<std::int64_t>(e.address));
    add_attributes(number, id);
    all_.work.read("failed allocations");
  }

  /// Adds a description that a live block got after its allocation. If the block is unknown, adds a mark.
  void annotate(const history_entry& e, std::uint32_t number) {
    const auto found = live_.find(e.address);
    if (found == live_.end() || found->second.block == trace::block_id::none) return mark(e, number);
    add_attributes(number, raw(found->second.event));
  }

  void mark(const history_entry& e, std::uint32_t number) {
    auto row = event<trace::marker_event>(now_, source_);
    row.name = all_.out().intern(e.kind == action::snapshot   ? "snapshot"
                                 : e.kind == action::annotate ? "annotation of a block"
                                                              : "workspace snapshot");
    const auto id = all_.out().add(row);
    if (e.bytes != 0) add_attribute(id, "size", static_cast<std::int64_t>(e.bytes));
    add_attributes(number, id);
  }

  void add_attribute(std::uint64_t target, std::string_view key, std::int64_t value) {
    auto row = event<trace::attribute_event>(now_, source_);
    row.target = trace::event_id{target};
    row.key = all_.out().intern(key);
    row.integer = value;
    all_.out().add(row);
  }

  /// Adds attributes for the keys of an entry without a column in the model.
  void add_attributes(std::uint32_t number, std::uint64_t target) { add_attributes(history_->extras, number, target); }
  /// Adds the attributes in `extras`, which are in order of `extra::entry`.
  void add_attributes(const std::vector<extra>& extras, std::uint32_t number, std::uint64_t target) {
    if (extras.empty()) return;
    auto at = std::lower_bound(extras.begin(), extras.end(), number,
                               [](const extra& e, std::uint32_t n) { return e.entry < n; });
    for (; at != extras.end() && at->entry == number; ++at) {
      auto row = event<trace::attribute_event>(now_, source_);
      row.target = trace::event_id{target};
      row.key = all_.out().intern(at->key);
      row.text = all_.stacks.text(at->value);
      if (at->key == "category") {  // The words of views and reports are used.
        for (const auto& [theirs, ours] : category_names)
          if (all_.from.text(at->value) == theirs) row.text = all_.out().intern(ours);
      }
      row.integer = all_.from.integer(at->value);
      row.real = all_.from.real(at->value);
      all_.out().add(row);
    }
  }

  shared& all_;
  bool host_;
  std::int64_t ordinal_;
  trace::device_id device_;
  const history* history_;
  std::vector<const segment*> at_end_;
  range_map<pool_name> pools_;  ///< The pools of the segments at the end.
  ranges segments_;             ///< The segments at the current entry.
  ranges before_;               ///< The segments at the start of the history.
  std::unordered_map<std::uint64_t, live_block> live_;
  std::unordered_map<std::uint64_t, final_block> final_;
  struct pool_size {
    std::uint64_t reserved = 0, used = 0;
  };
  std::unordered_map<trace::pool_id, pool_size> pool_sizes_;
  event_order order_;
  time_ns said_ = 0;  ///< The time of the current entry in the file.
  time_ns now_ = 0;   ///< The same time as adjusted by `order_`.
  trace::provenance source_ = trace::provenance::exact;
  std::uint64_t without_time_ = 0, backwards_ = 0;
};

void write_tables(shared& whole) {
  trace::process_row process;
  process.id = shared::process;
  process.command = whole.out().intern("recorded by PyTorch's memory history");
  whole.out().add(process);
  whole.torch_name = whole.out().intern("PyTorch");
}

void say_what_is_missing(const snapshot& recording, job& work) {
  if (!recording.overflowed) return;
  std::string text(trace::history_was_full);
  if (recording.max_entries > 0) text += " (" + std::to_string(recording.max_entries) + " entries)";
  work.say(trace::severity::warning, text + ": events before its first entry are missing");
}

}  // namespace

result<void> write_trace(const pickle_document& document, const snapshot& recording, job& work) {
  const std::int64_t origin = first_time(recording);
  if (auto begun = work.begin(origin * 1000); !begun) return begun;
  shared whole(document, recording, work);
  whole.origin_us = origin;
  whole.begin = get_begin(recording, origin);
  work.set_begin(whole.begin);
  say_what_is_missing(recording, work);
  write_tables(whole);
  write_settings(whole);
  std::map<std::pair<bool, std::int64_t>, std::pair<const history*, std::vector<const segment*>>> allocators;
  for (const segment& each : recording.segments) allocators[{false, each.device}].second.push_back(&each);
  for (const segment& each : recording.host_segments) allocators[{true, -1}].second.push_back(&each);
  for (const history& each : recording.histories) {
    auto& place = allocators[{each.host, each.device}].first;
    if (place != nullptr) {
      work.not_understood("entries of a second history of the same memory", each.entries.size());
    } else {
      place = &each;
    }
  }
  for (auto& [key, parts] : allocators) {
    allocator_writer writer(whole, key.first, key.second, parts.first, std::move(parts.second));
    if (auto done = writer.run(); !done) return done;
  }
  write_annotations(whole);
  return {};
}

}  // namespace sluice::importing::torch
