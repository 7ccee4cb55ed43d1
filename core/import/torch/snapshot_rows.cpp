// Writes a snapshot's rows to the trace: segments as blocks of the driver layer, with PyTorch's blocks inside them.
//
// A history may start late. Blocks that it frees but never allocates, and blocks live at the end that it never
// mentions, are older. Older segments are added first, so that blocks find their segment.
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
constexpr time_ns step_without_times = 1000;     // In ns, between entries without times.

/// Writes the history of one allocator and its state at the end.
class allocator_writer {
 public:
  allocator_writer(shared& all, bool host, std::int64_t device, const history* of, std::vector<const segment*> at_end)
      : all_(all),
        host_(host),
        ordinal_(device),
        device_(all.device(device)),
        history_(of),
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
    const block* is = nullptr;
    const segment* in = nullptr;
    std::uint32_t last = UINT32_MAX;  ///< The last entry for its address.
    action what = action::other;      ///< That entry's action.
    std::uint32_t last_alloc = UINT32_MAX;
  };
  struct live_block {
    trace::block_id block{};  ///< None if the block was freed; its address is still known.
    trace::event_id event{};  ///< The block's allocation.
    trace::pool_id pool{};
    std::uint64_t bytes = 0;
    bool pending = false;  ///< Its free was requested.
    time_ns requested = 0;
    std::uint32_t request = 0;  ///< The entry that requested the free.
  };

  // --- time -------------------------------------------------------------------------------------------------------

  /// Entries are in order, but the clocks of CPU cores sometimes are not.
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
    now_ = counted(e.what);
  }

  /// The time to use for an entry with the time `said_`.
  time_ns counted(action what) {
    switch (what) {
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
        const block& each = all_.of.blocks[in->first_block + i];
        if (each.is != block::state::inactive) final_[each.address] = {&each, in};
      }
    }
    if (history_ == nullptr || final_.empty()) return;
    for (std::uint32_t i = 0; i < history_->entries.size(); ++i) {
      const history_entry& e = history_->entries[i];
      if (e.what != action::alloc && e.what != action::free_requested && e.what != action::free_completed) continue;
      const auto found = final_.find(e.address);
      if (found == final_.end()) continue;
      found->second.last = i;
      found->second.what = e.what;
      if (e.what == action::alloc) found->second.last_alloc = i;
    }
  }

  /// True if the history's last entry about the block agrees with its state in the segments.
  static bool agrees(const final_block& at) {
    return at.is->is == block::state::allocated ? at.what == action::alloc
                                                : at.what == action::free_requested || at.what == action::alloc;
  }

  // --- segments ---------------------------------------------------------------------------------------------------

  struct first_segment {
    std::uint64_t begin = 0, end = 0;
    std::uint64_t stream = 0;
    std::uint32_t frames = no_container;
    bool expandable = false;
  };

  /// Adds segments from before the history: those freed but never allocated in it, and remaining ones at the end.
  void add_first_segments() {
    range_map<char> got, before;
    std::vector<first_segment> first;
    if (history_ != nullptr) {
      for (const history_entry& e : history_->entries) {
        const std::uint64_t end = e.address + e.bytes;
        if (e.what == action::segment_alloc || e.what == action::segment_map) {
          got.take(e.address, end);
          got.add(e.address, end, 0);
        } else if (e.what == action::segment_free || e.what == action::segment_unmap) {
          for (const auto& unknown : got.gaps(e.address, end)) {
            for (const auto& fresh : before.gaps(unknown.begin, unknown.end)) {
              first.push_back({fresh.begin, fresh.end, e.stream, no_container, e.what == action::segment_unmap});
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
      add_segment(each.begin, each.end, each.stream, all_.stacks.stack_of(each.frames), each.expandable,
                  trace::born_before, all_.begin, trace::provenance::inferred, nullptr);
    }
    if (!first.empty()) all_.work.read("segments from before the history", first.size());
    before_ = segments_;
  }

  std::uint64_t add_segment(std::uint64_t begin, std::uint64_t end, std::uint64_t stream, trace::stack_id stack,
                            bool expandable, std::uint64_t flags, time_ns time, trace::provenance source,
                            const history_entry* from) {
    auto row = event<trace::alloc_event>(time, source);
    owner made{static_cast<trace::block_id>(++all_.last_block), {}};
    // The entry has no pool, and its segment is gone at the end: most likely the allocator's own pool.
    if (from != nullptr && from->pool != 0) {
      made.pool = all_.of.pools[from->pool - 1];
    } else if (const auto* known = pools_.find(begin)) {
      made.pool = known->owner;
    }
    row.block = made.block;
    row.layer = trace::layer::driver;
    row.kind = host_ ? trace::memory_kind::pinned : trace::memory_kind::device;
    row.device = device_;
    row.stream = all_.stream(ordinal_, stream);
    row.address = begin;
    row.bytes = end - begin;
    row.flags = flags | (expandable ? std::uint64_t{trace::mapped_piece} : std::uint64_t{0});
    row.stack = stack;
    row.name = all_.out().intern(host_ ? "cudaHostAlloc" : expandable ? "cuMemMap" : "cudaMalloc");
    row.pool = all_.pool(host_, ordinal_, made.pool);
    segments_.add(begin, end, made);
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

  /// `by` may be negative, in two's complement.
  void resize_pool(trace::pool_id pool, std::uint64_t by, trace::pool_operation how, time_ns time,
                   trace::provenance source) {
    auto row = event<trace::pool_event>(time, source);
    row.pool = pool;
    row.operation = how;
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
    const auto id = add_segment(e.address, end, e.stream, all_.stacks.stack_of(e.frames, e.forward_frames),
                                e.what == action::segment_map, 0, now_, source_, &e);
    add_attributes(number, id);
  }

  /// Frees whole segments, or unmaps a part of one, whose rest continues as a separate block.
  void segment_ends(const history_entry& e, std::uint32_t number) {
    const std::uint64_t end = e.address + e.bytes;
    const auto taken = segments_.take(e.address, end);
    if (taken.empty()) all_.work.not_understood("segments that are freed twice");
    std::uint64_t id = 0;
    for (const auto& each : taken) {
      const auto freed = free_segment(each, e.stream, source_);
      if (id == 0) id = freed;
      const auto rest = [&](std::uint64_t from, std::uint64_t to) {
        if (from >= to) return;
        add_segment(from, to, e.stream, {}, true, trace::rest_of_block, now_, trace::provenance::inferred, nullptr);
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
                          const ranges& segments, const history_entry* from, live_block& made) {
    auto row = event<trace::alloc_event>(time, source);
    row.block = made.block = static_cast<trace::block_id>(++all_.last_block);
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
    if (from != nullptr && from->pool != 0) {
      row.pool = all_.pool(host_, ordinal_, all_.of.pools[from->pool - 1]);
    } else if (in != nullptr) {
      row.pool = all_.pool(host_, ordinal_, in->owner.pool);
    }
    made.pool = row.pool;
    made.bytes = bytes;
    pool_sizes_[row.pool].used += bytes;
    made.event = trace::event_id{all_.out().add(row)};
    return raw(made.event);
  }

  /// Adds a block that the history frees but never allocated. The free gives its size.
  live_block from_before(const history_entry& e) {
    live_block made;
    add_block(e.address, e.bytes, 0, e.stream, {}, all_.begin, trace::born_before, trace::provenance::inferred, before_,
              nullptr, made);
    all_.work.read("blocks from before the history");
    return made;
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
      if (!at.pending) all_.work.not_understood("missing frees: their address was allocated again");
      const auto id = add_free(at, e, at.pending ? at.requested : now_, trace::unknown_time,
                               at.pending ? trace::provenance::exact : trace::provenance::inferred);
      if (at.pending) add_attributes(at.request, id);
    }
    std::uint64_t reserved = 0;
    if (const auto last = final_.find(e.address);
        last != final_.end() && last->second.last_alloc == number && agrees(last->second)) {
      reserved = last->second.is->bytes;
    }
    at = {};
    const auto id = add_block(e.address, e.bytes, reserved, e.stream, all_.stacks.stack_of(e.frames, e.forward_frames),
                              now_, 0, source_, segments_, &e, at);
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
    if (fresh) {  // Its free was requested before the history began.
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
        live_block made;
        const auto id =
            add_block(address, at.is->requested, at.is->bytes, at.in->stream, all_.stacks.stack_of(at.is->frames),
                      all_.begin, trace::born_before, trace::provenance::inferred, before_, nullptr, made);
        add_attributes(all_.of.block_extras, static_cast<std::uint32_t>(at.is - all_.of.blocks.data()), id);
        all_.work.read("blocks from before the history");
        if (at.is->is == block::state::pending_free) {
          history_entry e;
          e.address = address;
          e.stream = at.in->stream;
          add_free(made, e, all_.begin, trace::unknown_time, trace::provenance::inferred);
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
    if (without_time_ > 0)
      all_.work.read("entries without a time, which was estimated from their order", without_time_);
    if (backwards_ > 0) all_.work.read("entries with a time before the previous entry's", backwards_);
  }

  // --- the rest ---------------------------------------------------------------------------------------------------

  void take(const history_entry& e, std::uint32_t number) {
    set_time(e, number);
    switch (e.what) {
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
    row.stack = all_.stacks.stack_of(e.frames, e.forward_frames);
    const auto id = all_.out().add(row);
    add_attribute(id, "device_free", static_cast<std::int64_t>(e.address));
    add_attributes(number, id);
    all_.work.read("failed allocations");
  }

  /// Adds a description that a live block got after its allocation; a mark if the block is unknown.
  void annotate(const history_entry& e, std::uint32_t number) {
    const auto found = live_.find(e.address);
    if (found == live_.end() || found->second.block == trace::block_id::none) return mark(e, number);
    add_attributes(number, raw(found->second.event));
  }

  void mark(const history_entry& e, std::uint32_t number) {
    auto row = event<trace::marker_event>(now_, source_);
    row.name = all_.out().intern(e.what == action::snapshot   ? "snapshot"
                                 : e.what == action::annotate ? "annotation of a block"
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
  /// `extras` are in order of `extra::entry`.
  void add_attributes(const std::vector<extra>& extras, std::uint32_t number, std::uint64_t target) {
    if (extras.empty()) return;
    auto at = std::lower_bound(extras.begin(), extras.end(), number,
                               [](const extra& e, std::uint32_t n) { return e.entry < n; });
    for (; at != extras.end() && at->entry == number; ++at) {
      auto row = event<trace::attribute_event>(now_, source_);
      row.target = trace::event_id{target};
      row.key = all_.out().intern(at->key);
      row.text = all_.stacks.text(at->value);
      if (at->key == "category") {  // Use the words of views and reports.
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
  range_map<pool_name> pools_;  ///< Pools of the segments at the end.
  ranges segments_;             ///< Segments at the current entry.
  ranges before_;               ///< Segments at the start of the history.
  std::unordered_map<std::uint64_t, live_block> live_;
  std::unordered_map<std::uint64_t, final_block> final_;
  struct pool_size {
    std::uint64_t reserved = 0, used = 0;
  };
  std::unordered_map<trace::pool_id, pool_size> pool_sizes_;
  event_order order_;
  time_ns said_ = 0;  ///< The time of the current entry in the file.
  time_ns now_ = 0;   ///< That time as adjusted by `order_`.
  trace::provenance source_ = trace::provenance::exact;
  std::uint64_t without_time_ = 0, backwards_ = 0;
};

void write_tables(shared& all) {
  trace::process_row process;
  process.id = shared::process;
  process.command = all.out().intern("recorded by PyTorch's memory history");
  all.out().add(process);
  all.torch_name = all.out().intern("PyTorch");
}

void say_what_is_missing(const snapshot& of, job& work) {
  if (!of.overflowed) return;
  std::string text(trace::history_was_full);
  if (of.max_entries > 0) text += " (" + std::to_string(of.max_entries) + " entries)";
  work.say(trace::severity::warning, text + ": events before its first entry are missing");
}

}  // namespace

result<void> write_trace(const pickle_document& from, const snapshot& of, job& work) {
  const std::int64_t origin = first_time(of);
  if (auto begun = work.begin(origin * 1000); !begun) return begun;
  shared all(from, of, work);
  all.origin_us = origin;
  all.begin = begin_of(of, origin);
  work.set_begin(all.begin);
  say_what_is_missing(of, work);
  write_tables(all);
  write_settings(all);
  std::map<std::pair<bool, std::int64_t>, std::pair<const history*, std::vector<const segment*>>> allocators;
  for (const segment& each : of.segments) allocators[{false, each.device}].second.push_back(&each);
  for (const segment& each : of.host_segments) allocators[{true, -1}].second.push_back(&each);
  for (const history& each : of.histories) {
    auto& place = allocators[{each.host, each.device}].first;
    if (place != nullptr) {
      work.not_understood("entries of a second history of the same memory", each.entries.size());
    } else {
      place = &each;
    }
  }
  for (auto& [key, parts] : allocators) {
    allocator_writer writer(all, key.first, key.second, parts.first, std::move(parts.second));
    if (auto done = writer.run(); !done) return done;
  }
  write_annotations(all);
  return {};
}

}  // namespace sluice::importing::torch
