// Writes PyTorch memory snapshots for pytorch.org/memory_viz and torch/cuda/_memory_viz.py. Framework blocks become
// entries of traces, and the driver blocks that hold them become segments. Without a framework, driver blocks become
// both.
#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>

#include "core/export/formats.hpp"
#include "core/export/left_out.hpp"
#include "core/export/torch/own_segments.hpp"
#include "core/export/torch/pickle_writer.hpp"
#include "core/export/torch/torch_entries.hpp"
#include "core/import/torch/categories.hpp"

namespace sluice::exports {
namespace {

using torch::block;
using torch::kind;
using torch::trace_entry;

using torch::rounding;
using torch::small_segment;

constexpr trace::row_type held[] = {trace::row_type::alloc,      trace::row_type::free,
                                    trace::row_type::host_range, trace::row_type::alloc_failed,
                                    trace::row_type::marker,     trace::row_type::pool_state};

/// The owner of pinned host memory. The owner of other memory is a device's position in `device_traces`.
constexpr std::int64_t pinned = -1;

class snapshot_writer {
 public:
  snapshot_writer(job& export_job, output& to) : job_(export_job), tables_(export_job.tables()), out_(to) {}

  result<void> run() {
    if (auto done = collect(); !done) return done;
    choose_process();
    complete_frees();
    find_segments();
    give_addresses();
    collect_entries();
    write();
    if (auto done = write_annotations_and_settings(); !done) return done;
    out_.close();
    note_what_is_missing();
    if (auto noted = note_left_out(job_, held); !noted) return noted;
    return out_.end();
  }

 private:
  // --- what there is ----------------------------------------------------------------------------------------------

  [[nodiscard]] bool is_pinned(const trace::alloc_event& row) const { return row.kind == trace::memory_kind::pinned; }
  [[nodiscard]] bool is_kept(const trace::alloc_event& row) const {
    return row.kind == trace::memory_kind::device || row.kind == trace::memory_kind::pinned ||
           row.kind == trace::memory_kind::managed;
  }
  /// True if the row matches the requested subjects. The range limits the entries, not the blocks.
  template <class Row>
  [[nodiscard]] bool is_about(const Row& row) const {
    return std::all_of(job_.wanted().only.begin(), job_.wanted().only.end(), [&](const subject& one) {
      return std::any_of(job_.wanted().only.begin(), job_.wanted().only.end(),
                         [&](const subject& other) { return other.kind == one.kind && detail::names(row, other); });
    });
  }

  result<void> collect() {
    const auto read = [&]<class Row>(const Row*, auto&& take) -> result<void> {
      const auto chunks = job_.trace().chunks();
      for (std::size_t i = 0; i < chunks.size(); ++i) {
        if (chunks[i].type != trace::type_of_row<Row> || chunks[i].min_time > range_.end) continue;
        const auto rows = job_.trace().template read<Row>(i);
        if (!rows) return tl::unexpected(rows.error());
        for (const Row& row : **rows) take(row);
        if (auto on = job_.chunk_done(chunks[i]); !on) return on;
      }
      return {};
    };
    auto done = read(static_cast<const trace::alloc_event*>(nullptr), [&](const trace::alloc_event& row) {
      if (is_kept(row) && is_about(row) && row.block != trace::block_id::none) {
        place_.try_emplace(row.block, blocks_.size());
        blocks_.push_back({row, trace::unknown_time, trace::unknown_time, {}, false});
      } else if (is_about(row) && (row.kind == trace::memory_kind::host || row.kind == trace::memory_kind::array)) {
        ++other_memory_;
      }
    });
    if (done) {
      done = read(static_cast<const trace::free_event*>(nullptr), [&](const trace::free_event& row) {
        if (const auto at = place_.find(row.block); at != place_.end()) {
          blocks_[at->second].died = row.time;
          blocks_[at->second].completed = row.completed;
          blocks_[at->second].free = row.id;
        }
      });
    }
    if (done) {
      done = read(static_cast<const trace::alloc_failed_event*>(nullptr), [&](const trace::alloc_failed_event& row) {
        if (is_about(row)) failed_.push_back(row);
      });
    }
    if (done) {
      done = read(static_cast<const trace::attribute_event*>(nullptr),
                  [&](const trace::attribute_event& row) { attributes_[row.target].push_back(row); });
    }
    if (done) {
      done = read(static_cast<const trace::marker_event*>(nullptr),
                  [&](const trace::marker_event& row) { marks_.push_back(row); });
    }
    return done;
  }

  /// Chooses the process of the snapshot, which holds only one. It is the process with the most framework blocks or,
  /// without these, the most blocks.
  void choose_process() {
    std::map<trace::process_id, std::pair<std::uint64_t, std::uint64_t>> processes;
    for (const block& each : blocks_) {
      auto& [of_framework, whole] = processes[each.born.process];
      of_framework += is_inner(each) ? 1 : 0;
      ++whole;
    }
    const auto best = std::max_element(processes.begin(), processes.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    if (best == processes.end()) return;
    process_ = best->first;
    has_framework_ = best->second.first > 0;
    if (processes.size() > 1) {
      job_.note("a snapshot holds only one process, so " + std::to_string(processes.size() - 1) +
                " others are omitted; choose one with --only process:ID");
    }
  }

  [[nodiscard]] static bool is_inner(const block& each) { return each.born.layer == trace::layer::framework; }
  [[nodiscard]] bool is_mapped(const trace::alloc_event& row) const {
    return tables_.text(row.name).find("Map") != std::string_view::npos;
  }

  /// Completes frees at once if the recording has only the requests of frees, as Sluice's recordings do. Otherwise, a
  /// viewer would show all memory as never freed.
  void complete_frees() {
    for (const block& each : blocks_)
      if (is_inner(each) && each.completed != trace::unknown_time) return;
    for (block& each : blocks_) each.completed = each.died;
  }

  /// Finds the segments. These are the driver blocks that contain others or belong to a framework's pool or, without a
  /// framework, all driver blocks.
  void find_segments() {
    for (const block& each : blocks_) {
      if (!is_inner(each)) continue;
      if (const auto at = place_.find(each.born.parent); at != place_.end()) blocks_[at->second].holds_blocks = true;
    }
    for (block& each : blocks_) {
      const auto* pool = tables_.pools.find(each.born.pool);
      const bool of_framework = pool != nullptr && pool->layer == trace::layer::framework;
      each.holds_blocks =
          each.born.layer == trace::layer::driver && (each.holds_blocks || of_framework || !has_framework_);
    }
  }

  /// Gives a unique address to each block without an address, because a snapshot identifies a block by its address.
  void give_addresses() {
    without_address_ = torch::give_addresses(blocks_, [&](const block& each) {
      return each.born.process == process_ && (is_block(each) || each.holds_blocks);
    });
  }

  [[nodiscard]] std::int64_t find_owner(const trace::alloc_event& row) {
    return is_pinned(row) ? pinned : find_device(row.device);
  }
  [[nodiscard]] std::int64_t find_device(trace::device_id id) {
    const auto [known, fresh] = ordinals_.try_emplace(id, 0);
    if (fresh) {
      const auto* row = tables_.devices.find(id);
      known->second = row != nullptr && row->ordinal >= 0 && row->ordinal < 256
                          ? row->ordinal
                          : static_cast<std::int64_t>(ordinals_.size()) - 1;
    }
    return known->second;
  }

  // --- entries ----------------------------------------------------------------------------------------------------

  void add(std::int64_t owner, time_ns time, trace::event_id order, kind subject, const trace::alloc_event& allocation,
           trace::stack_id stack, trace::event_id event) {
    add(owner, {time, raw(order), subject, allocation.address, allocation.bytes, allocation.stream, stack, event});
  }
  void add(std::int64_t owner, const trace_entry& output) {
    if (output.time >= range_.begin && output.time < range_.end) histories_[owner].push_back(output);
  }

  /// True for a block that is the rest of a partly unmapped mapping. The importer creates these blocks, and they have
  /// no event.
  [[nodiscard]] bool is_rest(const block& each) const {
    return each.holds_blocks && each.born.source == trace::provenance::inferred && is_mapped(each.born) &&
           (each.born.flags & trace::born_before) == 0;
  }

  /// Adds the unmapped parts of a mapping.
  void add_unmap(std::int64_t owner, const block& each) {
    std::uint64_t start = each.born.address;
    const std::uint64_t end = start + each.born.bytes;
    const auto put = [&](std::uint64_t to) {
      if (start < to)
        add(owner,
            {each.died, raw(each.free), kind::segment_unmap, start, to - start, each.born.stream, {}, each.free});
    };
    for (auto rest = rests_.lower_bound({owner, each.died, start}); rest != rests_.end(); ++rest) {
      const auto [subject, time, begin] = rest->first;
      if (subject != owner || time != each.died || begin >= end) break;
      put(begin);
      start = std::min(end, begin + rest->second);
    }
    put(end);
  }

  void collect_entries() {
    for (const block& each : blocks_) {
      const trace::alloc_event& allocation = each.born;
      if (allocation.process == process_ && is_rest(each))
        rests_[{find_owner(allocation), allocation.time, allocation.address}] = allocation.bytes;
    }
    for (const block& each : blocks_) {
      const trace::alloc_event& event = each.born;
      if (event.process != process_) continue;
      const std::int64_t owner = find_owner(event);
      const bool before = (event.flags & trace::born_before) != 0;
      if (each.holds_blocks) {
        const bool mapped = is_mapped(event);
        if (!before && !is_rest(each)) {
          add(owner, event.time, event.id, mapped ? kind::segment_map : kind::segment_alloc, event, event.stack,
              event.id);
        }
        if (each.died != trace::unknown_time) {
          if (mapped) {
            add_unmap(owner, each);
          } else {
            add(owner, each.died, each.free, kind::segment_free, event, {}, each.free);
          }
        }
      }
      if (!is_block(each)) continue;
      if (!before) add(owner, event.time, event.id, kind::alloc, event, event.stack, event.id);
      if (each.died == trace::unknown_time) continue;
      // The history does not contain requests from before its start.
      if (!before || each.died > event.time)
        add(owner, each.died, each.free, kind::free_requested, event, {}, each.free);
      if (each.completed == trace::unknown_time) continue;
      add(owner, std::max(each.completed, each.died), each.free, kind::free_completed, event, {}, {});
    }
    for (const trace::alloc_failed_event& row : failed_) {
      if (row.process != process_ || row.time < range_.begin || row.time >= range_.end) continue;
      trace_entry output{row.time, raw(row.id), kind::oom, 0, row.bytes, row.stream, row.stack, row.id};
      for (const trace::attribute_event& each : attributes_[row.id])
        if (tables_.text(each.key) == "device_free")
          output.address = static_cast<std::uint64_t>(std::max<std::int64_t>(each.integer, 0));
      histories_[row.kind == trace::memory_kind::pinned ? pinned : find_device(row.device)].push_back(output);
    }
    for (const trace::marker_event& row : marks_) {
      if (row.process != process_ || tables_.text(row.name) != "snapshot") continue;
      histories_[0].push_back({row.time, raw(row.id), kind::snapshot, 0, 0, {}, {}, row.id});
    }
    for (auto& [owner, entries] : histories_) {
      std::sort(entries.begin(), entries.end(), [](const trace_entry& a, const trace_entry& b) {
        return std::tuple(a.time, a.order, a.action) < std::tuple(b.time, b.order, b.action);
      });
      job_.count_rows(entries.size());
    }
  }

  /// True for blocks that are allocated inside segments.
  [[nodiscard]] bool is_block(const block& each) const { return has_framework_ ? is_inner(each) : each.holds_blocks; }

  // --- writing ----------------------------------------------------------------------------------------------------

  void key(std::string_view name) { out_.text(name); }
  void put(std::string_view name, std::uint64_t value) {
    key(name);
    out_.unsigned_integer(value);
  }
  void put(std::string_view name, std::string_view value) {
    key(name);
    out_.text(value);
  }

  [[nodiscard]] std::int64_t microseconds(time_ns time) const {
    return job_.trace().realtime_origin() / 1000 + (time >= 0 ? time : time - 999) / 1000;
  }

  [[nodiscard]] std::uint64_t get_handle(trace::stream_id id) const {
    const auto* row = tables_.streams.find(id);
    return row == nullptr ? 0 : row->handle;
  }

  void put_frames(trace::stack_id stack) {
    key("frames");
    if (const auto known = stacks_.find(stack); known != stacks_.end()) return out_.again(known->second);
    out_.open_list();
    std::size_t depth = 0;
    for (const auto* at = tables_.stacks.find(stack); at != nullptr && depth < 4096;
         at = tables_.stacks.find(at->parent), ++depth) {
      put_frame(at->frame);
    }
    out_.close();
    stacks_[stack] = out_.remember();
  }

  void put_frame(trace::frame_id id) {
    if (const auto known = frames_.find(id); known != frames_.end()) return out_.again(known->second);
    const auto* row = tables_.frames.find(id);
    const trace::string_id none{};
    out_.open_dictionary();
    put("name", job_.text(row == nullptr ? none : row->function, text_role::code));
    const trace::string_id file = row == nullptr ? none : row->file != none ? row->file : row->module;
    put("filename", job_.text(file, text_role::path));
    put("line", row == nullptr ? 0 : row->line);
    out_.close();
    frames_[id] = out_.remember();
  }

  void put_attributes(trace::event_id id) {
    const auto found = attributes_.find(id);
    if (found == attributes_.end()) return;
    for (const trace::attribute_event& each : found->second) {
      const std::string_view name = tables_.text(each.key);
      if (name == "device_free" || name == "size" || name.empty()) continue;
      key(job_.text(name, text_role::plain));
      std::string_view category;
      for (const auto& [theirs, ours] : importing::torch::category_names)
        if (name == "category" && tables_.text(each.text) == ours) category = theirs;
      category.empty() ? put_value(each) : out_.text(category);
    }
  }
  void put_value(const trace::attribute_event& row) {
    if (row.text != trace::string_id::none) return out_.text(job_.text(row.text, text_role::plain));
    if (row.real != 0) return out_.real(row.real);
    out_.integer(row.integer);
  }

  void put_entry(const trace_entry& each) {
    out_.open_dictionary();
    put("action", torch::names[static_cast<std::size_t>(each.action)]);
    put(each.action == kind::oom ? "device_free" : "addr", each.address);
    put("size", each.bytes);
    put("stream", get_handle(each.stream));
    key("time_us");
    out_.integer(microseconds(each.time));
    put_attributes(each.event);
    put_frames(each.stack);
    out_.close();
  }

  void write() {
    std::int64_t devices = 1;
    for (const auto& [owner, entries] : histories_) devices = std::max(devices, owner + 1);
    for (const block& each : blocks_)
      if (each.born.process == process_) devices = std::max(devices, find_owner(each.born) + 1);
    out_.open_dictionary();
    key("segments");
    put_segments(false);
    key("device_traces");
    out_.open_list();
    for (std::int64_t device = 0; device < devices; ++device) put_history(device);
    out_.close();
    const bool host =
        histories_.contains(pinned) || std::any_of(blocks_.begin(), blocks_.end(), [&](const block& each) {
          return each.born.process == process_ && is_pinned(each.born) && each.holds_blocks;
        });
    if (!host) return;
    key("host_segments");
    put_segments(true);
    key("host_traces");
    put_history(pinned);
  }

  void put_history(std::int64_t owner) {
    out_.open_list();
    if (const auto found = histories_.find(owner); found != histories_.end())
      for (const trace_entry& each : found->second) put_entry(each);
    out_.close();
  }

  void note_what_is_missing() {
    if (other_memory_ != 0)
      job_.note("omitted: " + std::to_string(other_memory_) + " blocks other than device, managed or pinned memory");
    if (without_address_ != 0)
      job_.note(std::to_string(without_address_) +
                " blocks have no address in the recording, so each got a unique one in the snapshot");
    if (own_segments_.size() != 0)
      job_.note(std::to_string(own_segments_.size()) +
                " blocks are outside of all recorded segments, so each got its own segment");
  }

  void put_segments(bool host) {
    out_.open_list();
    torch::segment_places segments;
    torch::block_places inside;
    std::vector<torch::placed_block> lone;
    for (const block& each : blocks_) {
      if (each.born.process != process_ || is_pinned(each.born) != host) continue;
      const std::pair at(find_owner(each.born), each.born.address);
      if (each.holds_blocks && each.live_at(range_.end)) segments[at] = {&each, each.born.address + each.born.bytes};
      if (is_block(each) && (each.live_at(range_.end) || each.pending_at(range_.end))) inside[at] = &each;
      if (is_block(each) && each.live_at(range_.end)) lone.push_back({at, &each});
    }
    own_segments_.add(lone, segments, inside);
    for (auto at = segments.begin(); at != segments.end();) {
      const auto first = at++;
      torch::segment_part segment_part = first->second;
      // A segment may consist of several mappings.
      while (at != segments.end() && at->first.first == first->first.first && at->first.second == segment_part.end &&
             is_mapped(segment_part.held->born) && is_mapped(at->second.held->born) &&
             at->second.held->born.stream == segment_part.held->born.stream &&
             at->second.held->born.pool == segment_part.held->born.pool) {
        segment_part.end = (at++)->second.end;
      }
      put_segment(segment_part, first->first.first, inside);
    }
    out_.close();
  }

  void put_segment(const torch::segment_part& segment_part, std::int64_t owner, const torch::block_places& inside) {
    const trace::alloc_event& row = segment_part.held->born;
    const std::uint64_t total = segment_part.end - row.address;
    std::uint64_t allocated = 0, active = 0, requested = 0;
    const auto begin = inside.lower_bound({owner, row.address}),
               get_end = inside.lower_bound({owner, segment_part.end});
    for (auto at = begin; at != get_end; ++at) {
      const std::uint64_t size = get_size(at, get_end, segment_part.end);
      active += size;
      if (!at->second->live_at(range_.end)) continue;
      allocated += size;
      requested += at->second->born.bytes;
    }
    out_.open_dictionary();
    put("device", static_cast<std::uint64_t>(std::max<std::int64_t>(owner, 0)));
    put("address", row.address);
    put("total_size", total);
    put("allocated_size", allocated);
    put("active_size", active);
    put("requested_size", requested);
    put("stream", get_handle(row.stream));
    put("segment_type", total <= small_segment ? "small" : "large");
    key("segment_pool_id");
    put_pool(row.pool);
    key("is_expandable");
    out_.boolean(is_mapped(row));
    put_frames(row.stack);
    key("blocks");
    out_.open_list();
    std::uint64_t free = row.address;
    for (auto at = begin; at != get_end; ++at) {
      put_block(free, at->first.second - free, 0, "inactive", {});
      const std::uint64_t size = get_size(at, get_end, segment_part.end);
      const bool live = at->second->live_at(range_.end);
      put_block(at->first.second, size, at->second->born.bytes, live ? "active_allocated" : "active_pending_free",
                at->second->born.stack);
      free = at->first.second + size;
    }
    put_block(free, segment_part.end - free, 0, "inactive", {});
    out_.close();
    out_.close();
  }

  /// Returns the size of a block. This is the recorded size or else the requested size rounded up, but at most the
  /// space up to the next block.
  template <class Place>
  static std::uint64_t get_size(Place at, Place end, std::uint64_t segment_end) {
    const trace::alloc_event& row = at->second->born;
    const auto next = std::next(at);
    const std::uint64_t room = (next == end ? segment_end : next->first.second) - row.address;
    const std::uint64_t wanted = row.reserved_bytes != 0
                                     ? row.reserved_bytes
                                     : (std::max<std::uint64_t>(row.bytes, 1) + rounding - 1) / rounding * rounding;
    return std::min(wanted, room);
  }

  void put_block(std::uint64_t address, std::uint64_t size, std::uint64_t requested, const char* state,
                 trace::stack_id stack) {
    if (size == 0) return;
    out_.open_dictionary();
    put("address", address);
    put("size", size);
    put("requested_size", requested);
    put("state", state);
    put_frames(stack);
    out_.close();
  }

  /// Writes the id of a pool. "PyTorch's pool 0.3" has the id (0, 3), and the allocator's own pool has (0, 0). Other
  /// pools get new numbers.
  void put_pool(trace::pool_id id) {
    const auto* row = tables_.pools.find(id);
    const std::string_view name = row == nullptr ? std::string_view{} : tables_.text(row->name);
    constexpr std::string_view prefix = "PyTorch's pool ";
    if (name.starts_with(prefix)) {
      const std::string numbers(name.substr(prefix.size()));
      const auto dot = numbers.find('.');
      return out_.pair(std::atoll(numbers.c_str()),
                       dot == std::string::npos ? 0 : std::atoll(numbers.c_str() + dot + 1));
    }
    const bool own = row == nullptr || name == "PyTorch's caching allocator" || name == "PyTorch's pinned memory";
    out_.pair(0, own ? 0 : static_cast<std::int64_t>(raw(id)));
  }

  // --- the rest ---------------------------------------------------------------------------------------------------

  struct note {
    time_ns time = 0;
    std::uint64_t order = 0;
    bool start = true;
    trace::string_id name{};
    std::int64_t device = 0;
  };

  result<void> write_annotations_and_settings() {
    std::vector<note> notes;
    auto read = job_.for_each<trace::host_range_event>([&](const trace::host_range_event& row) {
      if (row.process != process_) return;
      std::int64_t device = 0;
      const auto* thread = tables_.threads.find(row.thread);
      constexpr std::string_view prefix = "annotations, GPU ";
      if (thread != nullptr && tables_.text(thread->name).starts_with(prefix)) {
        device = std::atoll(std::string(tables_.text(thread->name).substr(prefix.size())).c_str());
      }
      notes.push_back({row.time, raw(row.id), true, row.name, device});
      if (row.end != trace::unknown_time) notes.push_back({row.end, raw(row.id), false, row.name, device});
    });
    if (!read) return read;
    std::sort(notes.begin(), notes.end(), [](const note& a, const note& b) {
      return std::tuple(a.time, a.start, a.order) < std::tuple(b.time, b.start, b.order);
    });
    key("external_annotations");
    out_.open_list();
    for (const note& each : notes) {
      out_.open_dictionary();
      put("stage", each.start ? "START" : "END");
      put("name", job_.text(each.name, text_role::plain));
      key("device");
      out_.integer(each.device);
      key("time_us");
      out_.integer(microseconds(each.time));
      out_.close();
    }
    out_.close();
    put_settings();
    return {};
  }

  void put_settings() {
    key("allocator_settings");
    out_.open_dictionary();
    for (const trace::marker_event& mark : marks_) {
      if (tables_.text(mark.name) != "allocator settings" || mark.process != process_) continue;
      // Redact the whole name before splitting it, because either part may hold the rest of a secret.
      std::map<std::string, std::vector<std::pair<std::string, const trace::attribute_event*>>> nested;
      for (const trace::attribute_event& each : attributes_[mark.id]) {
        const std::string name(job_.text(each.key, text_role::plain));
        if (const auto dot = name.find('.'); dot != std::string::npos) {
          nested[name.substr(0, dot)].emplace_back(name.substr(dot + 1), &each);
          continue;
        }
        key(name);
        put_value(each);
      }
      for (const auto& [outer, inner] : nested) {
        key(outer);
        out_.open_dictionary();
        for (const auto& [name, each] : inner) {
          key(name);
          put_value(*each);
        }
        out_.close();
      }
      break;
    }
    out_.close();
  }

  job& job_;
  const trace::tables& tables_;
  /// The requested range. For a whole recording, it is larger than the recording, so that it includes the last events.
  time_range range_ = job_.wanted().range.value_or(time_range{-latest_time, latest_time});
  pickle_writer out_;
  std::vector<block> blocks_;
  torch::own_segments own_segments_;
  std::uint64_t without_address_ = 0;
  std::uint64_t other_memory_ = 0;  ///< The number of blocks that a snapshot cannot represent.
  std::unordered_map<trace::block_id, std::size_t> place_;
  std::vector<trace::alloc_failed_event> failed_;
  std::vector<trace::marker_event> marks_;
  std::unordered_map<trace::event_id, std::vector<trace::attribute_event>> attributes_;
  trace::process_id process_{};
  bool has_framework_ = false;
  std::map<trace::device_id, std::int64_t> ordinals_;
  std::map<std::int64_t, std::vector<trace_entry>> histories_;
  std::map<std::tuple<std::int64_t, time_ns, std::uint64_t>, std::uint64_t>
      rests_;  ///< Maps owner, time and address to bytes.
  std::unordered_map<trace::stack_id, std::uint32_t> stacks_;
  std::unordered_map<trace::frame_id, std::uint32_t> frames_;
};

}  // namespace

output_shape shape_of_torch_snapshot(const options&) { return output_shape::stream; }

result<void> write_torch_snapshot(job& export_job, output& to) { return snapshot_writer(export_job, to).run(); }

}  // namespace sluice::exports
