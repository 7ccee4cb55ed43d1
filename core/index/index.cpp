#include "core/index/index.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "core/index/boundary_samples.hpp"
#include "core/index/columns_needed.hpp"
#include "core/index/event_span.hpp"
#include "core/index/tensor_facts.hpp"

namespace sluice::analysis {

using trace::row_type;

time_range time_range_of(const trace::snapshot& from) {
  if (from.begin() > from.end()) return {};
  return {bounded(from.begin()), bounded(bounded(from.end()) + 1)};
}

template <class Row, class Use>
void index::with_rows(const trace::snapshot& from, std::size_t chunk, Use&& use) {
  std::vector<Row> rows;
  const auto columns = columns_needed<Row>(told_ ? told_->scope : section_scope::everything);
  if (auto got = from.read_into<Row>(chunk, rows, columns); !got) {
    unreadable_.push_back(got.error().to_string());
    return;
  }
  if (rows.empty()) return;
  if (told_) {
    if (!matters_everywhere(trace::type_of_row<Row>, told_->samples_told))
      std::erase_if(rows, [&](const Row& row) { return !lies_in(row, told_->run); });
    if (rows.empty()) return;
  } else {
    chunks_.add(reach_of(rows, chunk), trace::type_of_row<Row>);
  }
  events_ += rows.size();
  use(rows);
}

template <class Row, class Use>
void index::with_each(const trace::snapshot& from, std::size_t chunk, Use&& use) {
  with_rows<Row>(from, chunk, [&](const std::vector<Row>& rows) {
    for (const Row& row : rows) use(row);
  });
}

void index::take(const trace::snapshot& from, std::size_t chunk) {
  using namespace trace;
  const auto to_memory = [&](const auto& row) { memory_.add(row); };
  const auto to_devices = [&](const auto& rows) { devices_.add(rows); };
  const bool everything = !told_ || told_->scope == section_scope::everything;
  const bool calls = everything && !(told_ && told_->unfolding);
  const auto to_devices_and_touches = [&](const auto& rows) {
    devices_.add(rows);
    if (!everything) return;
    for (const auto& row : rows) touches_.add(row);
  };
  const auto to_host = [&](const auto& rows) { host_.add(rows); };
  const auto to_nothing = [](const auto&) {};
  const trace::row_type type = from.chunks()[chunk].type;
  const bool elsewhere = type == row_type::attribute || type == row_type::link || type == row_type::checkpoint;
  if (told_ && elsewhere) return;
  switch (type) {
    case row_type::alloc:
      return with_each<alloc_event>(from, chunk, to_memory);
    case row_type::free:
      return with_each<free_event>(from, chunk, to_memory);
    case row_type::alloc_failed:
      return with_each<alloc_failed_event>(from, chunk, [&](const alloc_failed_event& row) {
        memory_.add(row);
        faults_.add(row);
      });
    case row_type::pool_state:
      return with_each<pool_event>(from, chunk, to_memory);
    case row_type::device_memory:
      return with_each<device_memory_event>(from, chunk, to_memory);
    case row_type::checkpoint:
      return with_each<checkpoint_event>(from, chunk, to_memory);
    case row_type::live_block:
      return with_each<live_block_event>(from, chunk, to_memory);
    case row_type::loss:
      return with_each<loss_event>(from, chunk, to_memory);
    case row_type::transfer:
      return with_rows<transfer_event>(from, chunk, [&](const auto& rows) {
        to_devices_and_touches(rows);
        if (calls) copies_.add(rows);
        if (!told_) contents_.add(rows);
      });
    case row_type::transfer_part:
      return with_each<transfer_part_event>(from, chunk, [&](const transfer_part_event& row) { touches_.add(row); });
    case row_type::migration:
      return with_rows<migration_event>(from, chunk, to_devices);
    case row_type::memset:
      return with_rows<memset_event>(from, chunk, to_devices_and_touches);
    case row_type::kernel:
      return with_rows<kernel_event>(from, chunk, to_devices);
    case row_type::graph_launch:
      return with_rows<graph_launch_event>(from, chunk, to_devices_and_touches);
    case row_type::api_call:
      return with_rows<api_call_event>(from, chunk, [&](const auto& rows) {
        host_.add(rows, from.tables());
        if (!calls) return;
        copies_.add(rows);
        for (const api_call_event& row : rows) faults_.add(row);
      });
    case row_type::sync:
      return with_rows<sync_event>(from, chunk, to_host);
    case row_type::host_range:
      return with_rows<host_range_event>(from, chunk, [&](const auto& rows) {
        host_.add(rows);
        for (const host_range_event& row : rows) step_marks_.add(row, from.tables());
      });
    case row_type::marker:
      return with_rows<marker_event>(from, chunk, [&](const auto& rows) {
        host_.add(rows);
        for (const marker_event& row : rows) step_marks_.add(row);
      });
    case row_type::file_io:
      return with_rows<file_io_event>(from, chunk, to_host);
    case row_type::counter:
      return with_each<counter_event>(from, chunk, [&](const counter_event& row) {
        if (std::isfinite(row.value)) counters_[row.counter].add({bounded(row.time), row.value, raw(row.id)});
      });
    case row_type::watermark:
      return with_each<watermark_event>(from, chunk, [&](const watermark_event& row) {
        const auto [place, fresh] = watermarks_.try_emplace(row.process, bounded(row.complete_until));
        if (!fresh) place->second = std::max(place->second, bounded(row.complete_until));
      });
    case row_type::message:
      return with_each<message_event>(from, chunk, [&](const message_event& row) {
        messages_.push_back({row.severity, bounded(row.time), row.text, row.id});
      });
    case row_type::graph_definition:
      return with_each<graph_definition_event>(from, chunk, to_nothing);
    case row_type::event_record:
      return with_each<event_record_event>(from, chunk, to_nothing);
    case row_type::event_wait:
      return with_each<event_wait_event>(from, chunk, to_nothing);
    case row_type::touch:
      return with_each<touch_event>(from, chunk, [&](const touch_event& row) { touches_.add(row, from.tables()); });
    case row_type::clock_anchor:
      return with_each<clock_anchor_event>(from, chunk, to_nothing);
    case row_type::attribute:
      return with_each<attribute_event>(from, chunk,
                                        [&](const attribute_event& row) { take_attribute(row, from.tables()); });
    case row_type::link:
      return with_each<link_event>(from, chunk, [&](const link_event& row) {
        if (row.kind == link_kind::import_to_owner) import_owners_[raw(row.from)] = {row.to, row.source};
      });
    default:
      return;  // Tables: the snapshot has them. Kinds of a newer version: the reader says so.
  }
}

void index::take_attribute(const trace::attribute_event& row, const trace::tables& tables) {
  faults_.add(row, tables);
  const std::string_view key = tables.text(row.key);
  if (row.target == trace::event_id::none || row.text == trace::string_id::none) return;
  // The last word counts.
  if (key == "category") categories_[raw(row.target)] = row.text;
  if (key == "name") names_[raw(row.target)] = row.text;
}

std::shared_ptr<const tensor_facts> index::tensors(const trace::snapshot& from) const {
  using steady = std::chrono::steady_clock;
  constexpr int share = 20;
  const std::scoped_lock lock(tensors_mutex_);
  const bool more_to_come = from.growing() || next_ < from.chunks().size();
  const bool too_soon = tensors_ && more_to_come && steady::now() - tensors_found_ < tensors_cost_ * share;
  if (tensors_fresh_ || too_soon) return tensors_;
  const auto begin = steady::now();
  tensors_ = std::make_shared<const tensor_facts>(find_tensor_facts(*this, from));
  tensors_fresh_ = true;
  tensors_found_ = steady::now();
  tensors_cost_ = tensors_found_ - begin;
  return tensors_;
}

bool index::absorb(const trace::snapshot& from, std::size_t limit) {
  const auto chunks = from.chunks();
  for (; limit > 0 && next_ < chunks.size(); --limit, ++next_) {
    take(from, next_);
    taken_bytes_ += chunks[next_].stored_bytes;
  }
  const bool all = next_ >= chunks.size();
  if (all) memory_.reconcile();
  settle(from);
  return all;
}

void index::settle(const trace::snapshot& from) {
  memory_.settle(from.tables());
  devices_.settle();
  host_.settle();
  touches_.settle();
  tensors_fresh_ = false;
  copies_.settle();
  contents_.settle();
  for (auto& [id, counter] : counters_) counter.settle();
}

void index::set_known(const section_facts& about) {
  const recording_facts& whole = *about.whole;
  for (const recording_facts::memory& each : whole.memories) memory_.set_known(each.key, each.highest, each.stacks);
  for (const recording_facts::pool& each : whole.pools)
    memory_.set_known(each.pool, each.has_segments, each.has_blocks ? std::optional(each.highest) : std::nullopt);
  for (const told_block& each : about.blocks) memory_.set_known(each.block);
  for (const carried_block& each : about.carried) memory_.continue_from(each.block);
  for (const trace::live_block_event& each : about.births) memory_.add(each);
  if (!is_drawn(about.scope)) return;
  set_known_samples(about);
  for (const trace::device_id each : whole.with_kernels) devices_.tell_kernels(each);
  set_known_slices(about);
  if (about.scope < section_scope::everything) return;
  touches_.set_known(whole.touches);
  for (const recording_facts::graph& each : whole.graphs) touches_.set_known(each.block, each.use, each.copies);
  for (const told_uses& each : about.uses) touches_.set_known(each.block, each.uses);
  if (!about.unfolding) return;
  touches_.only_within(about.run);
  for (const carried_block& each : about.carried) touches_.add(each.block.id, each.uses);
}

void index::set_known_samples(const section_facts& about) {
  // Those of a device follow one another in time. Outside of the run the first, the last before it, and the highest count.
  const std::vector<recording_facts::untracked>& known = about.whole->not_tracked;
  for (auto first = known.begin(); first != known.end();) {
    const auto behind =
        std::find_if(first, known.end(), [&](const auto& each) { return each.device != first->device; });
    const auto add = [&](const recording_facts::untracked& each) {
      memory_.tell_untracked(each.device, {each.time, each.value, each.order});
    };
    add(*first);
    add(*std::max_element(first, behind, [](const auto& a, const auto& b) { return a.value < b.value; }));
    const auto before = [](const auto& each, time_ns time) { return each.time < time; };
    auto next = std::lower_bound(first, behind, about.run.begin, before);
    if (next != first) --next;
    for (; next != behind && next->time < about.run.end; ++next) add(*next);
    first = behind;
  }
  tell_last_samples(about.samples, memory_, counters_);
}

void index::set_known_slices(const section_facts& about) {
  const recording_facts& whole = *about.whole;
  const time_ns from = about.run.begin;
  std::map<trace::lane_kind, std::vector<timeline::slice_set*>> sets;
  for (const recording_facts::stream& each : whole.streams)
    sets[trace::lane_kind::stream].push_back(&devices_.set_known(each.key, each.lanes, from));
  for (const recording_facts::direction& each : whole.directions)
    sets[trace::lane_kind::direction].push_back(&devices_.set_known(each.key, each.lanes, each.highest_rate, from));
  for (const recording_facts::thread& each : whole.threads) {
    thread_work& work = host_.set_known(each.key, each.range_lanes, each.call_lanes, from);
    sets[trace::lane_kind::host_ranges].push_back(&work.ranges);
    sets[trace::lane_kind::host_calls].push_back(&work.calls);
  }
  for (const told_slice& each : about.open) {
    const auto of = sets.find(each.what);
    if (of != sets.end() && each.owner < of->second.size()) of->second[each.owner]->set_known(each.item, each.lane);
  }
}

bool index::absorb_section(const trace::snapshot& from, section_facts about, const std::function<bool()>& goes_on) {
  told_ = std::make_unique<const section_facts>(std::move(about));
  if (told_->scope < section_scope::figures || told_->unfolding) {
    devices_.leave_out_busy();
    host_.leave_out_busy();
  }
  const auto chunks = from.chunks();
  std::vector<bool> taken(chunks.size(), false);
  std::vector<std::size_t> wanted;
  std::size_t allocations = 0;
  for (const std::size_t chunk : told_->chunks) {
    if (chunk >= chunks.size() || !is_in(told_->scope, chunks[chunk].type)) continue;
    wanted.push_back(chunk);
    if (chunks[chunk].type == row_type::alloc) allocations += chunks[chunk].rows;
  }
  constexpr std::size_t most_expected = std::size_t{1} << 16;  // A file can claim any number of rows.
  allocations = std::min(allocations, most_expected);
  memory_.expect(told_->blocks.size() + told_->carried.size(), allocations);
  set_known(*told_);
  memory_.expect_births(allocations);
  for (const std::size_t chunk : wanted) {
    take(from, chunk);
    taken[chunk] = true;
    if (goes_on && !goes_on()) return false;
  }
  for (const complete_checkpoint& each : told_->checkpoints) memory_.infer_deaths(each, told_->freed);
  next_ = chunks.size();
  settle(from);
  if (told_->scope == section_scope::everything && !told_->unfolding) find_stacks_of_copies(from, taken);
  return true;
}

void index::keep_what_is_drawn(const trace::snapshot& from) {
  tensor_facts drawn = find_tensor_facts(*this, from);
  drawn.categories = std::vector<block_category>();  // They are of blocks.
  tensors_ = std::make_shared<const tensor_facts>(std::move(drawn));
  tensors_fresh_ = true;
  memory_.forget_blocks();
  if (!told_) return;
  auto left = std::make_unique<section_facts>();
  left->scope = told_->scope;
  left->run = told_->run;
  left->whole = told_->whole;
  told_ = std::move(left);
}

void index::find_stacks_of_copies(const trace::snapshot& from, const std::vector<bool>& taken) {
  std::vector<std::uint64_t> wanted;
  for (const copy_record& copy : copies_.copies()) {
    if (copy.call == trace::event_id::none || copies_.stack_of(copy.call) != trace::stack_id::none) continue;
    wanted.push_back(raw(copy.call));
  }
  std::sort(wanted.begin(), wanted.end());
  std::vector<trace::api_call_event> rows;
  const auto chunks = told_->whole->chunks->find([&](const chunk_reach& reach) {
    const auto next = std::lower_bound(wanted.begin(), wanted.end(), reach.lowest_event);
    return next != wanted.end() && *next <= reach.highest_event;
  });
  for (const std::size_t chunk : chunks.value_or(std::vector<std::size_t>{})) {
    if (chunk >= taken.size() || from.chunks()[chunk].type != trace::row_type::api_call) continue;
    if (!from.read_into<trace::api_call_event>(chunk, rows)) continue;
    // Those in the run are known.
    std::erase_if(rows, [&](const auto& row) { return taken[chunk] && lies_in(row, told_->run); });
    copies_.add(rows);
  }
  copies_.settle();
}

const copy_contents& index::contents(const trace::snapshot& from) const {
  if (!told_) return contents_;
  std::call_once(contents_read_, [&] {
    std::vector<trace::transfer_event> rows;
    for (std::size_t chunk = 0; chunk < from.chunks().size(); ++chunk) {
      if (from.chunks()[chunk].type != trace::row_type::transfer) continue;
      if (from.read_into<trace::transfer_event>(chunk, rows)) contents_.add(rows);
    }
    contents_.settle();
  });
  return contents_;
}

std::size_t index::memory_bytes() const {
  // Measured: what one event takes in all the tables and trees that it goes into, and one told block.
  constexpr std::size_t an_event = 80;
  constexpr std::size_t a_block = 400;
  return sizeof *this + an_event * static_cast<std::size_t>(events_) +
         (told_ ? a_block * (told_->blocks.size() + told_->carried.size()) : 0);
}

float index::progress(const trace::snapshot& from) const {
  if (next_ >= from.chunks().size()) return 1;
  std::uint64_t total = taken_bytes_;
  for (const trace::chunk_info& chunk : from.chunks().subspan(next_)) total += chunk.stored_bytes;
  return total == 0 ? 1 : static_cast<float>(static_cast<double>(taken_bytes_) / static_cast<double>(total));
}

std::string words_of_malformed(std::uint64_t rows) {
  return std::to_string(rows) +
         " events make no sense (unknown blocks, ends before begins, impossible sizes); they were left out or cut";
}

std::vector<std::string> index::warnings() const {
  std::vector<std::string> all = unreadable_;
  const std::uint64_t malformed = memory_.malformed() + devices_.malformed() + host_.malformed();
  if (malformed > 0) all.push_back(words_of_malformed(malformed));
  return all;
}

}  // namespace sluice::analysis
