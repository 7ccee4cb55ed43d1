#include "core/index/event_store.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "core/index/columns_needed.hpp"
#include "core/index/event_span.hpp"
#include "core/index/tensor_facts.hpp"

namespace sluice::index {

using trace::row_type;

time_range recorded_range(const trace::snapshot& recording) {
  if (recording.begin() > recording.end()) return {};
  return {bounded(recording.begin()), bounded(bounded(recording.end()) + 1)};
}

template <class Row, class Use>
void event_store::with_rows(const trace::snapshot& recording, std::size_t chunk, Use&& use) {
  std::vector<Row> rows;
  auto columns = columns_needed<Row>(known_ ? known_->scope : section_scope::everything);
  if (only_ != trace::process_id::none) columns = columns | trace::column_set<Row>::of(&Row::process);
  if (auto got = recording.read_into<Row>(chunk, rows, columns); !got) {
    unreadable_.push_back(got.error().to_string());
    return;
  }
  if (only_ != trace::process_id::none) std::erase_if(rows, [&](const Row& row) { return row.process != only_; });
  if (rows.empty()) return;
  if (known_) {
    if (!matters_everywhere(trace::type_of_row<Row>, known_->samples_known))
      std::erase_if(rows, [&](const Row& row) { return !lies_in(row, known_->run); });
    if (rows.empty()) return;
  } else {
    chunks_.add(find_reach(rows, chunk), trace::type_of_row<Row>);
  }
  events_ += rows.size();
  use(rows);
}

template <class Row, class Use>
void event_store::with_each(const trace::snapshot& recording, std::size_t chunk, Use&& use) {
  with_rows<Row>(recording, chunk, [&](const std::vector<Row>& rows) {
    for (const Row& row : rows) use(row);
  });
}

void event_store::take(const trace::snapshot& recording, std::size_t chunk) {
  using namespace trace;
  const auto to_memory = [&](const auto& row) { memory_.add(row); };
  const auto to_devices = [&](const auto& rows) { devices_.add(rows); };
  const bool everything = !known_ || known_->scope == section_scope::everything;
  const bool calls = everything && !(known_ && known_->unfolding);
  const section_part part = known_ ? known_->part : section_part::all;
  const auto to_devices_and_touches = [&](const auto& rows) {
    if (part != section_part::uses) devices_.add(rows);
    if (!everything || part == section_part::work) return;
    for (const auto& row : rows) touches_.add(row);
  };
  const auto to_memory_and_calls = [&](const auto& row) {
    memory_.add(row);
    if (calls) driver_calls_.add(row);
  };
  const auto to_host = [&](const auto& rows) { host_.add(rows); };
  const auto to_nothing = [](const auto&) {};
  const trace::row_type type = recording.chunk(chunk).type;
  const bool elsewhere = type == row_type::attribute || type == row_type::link || type == row_type::checkpoint;
  if (known_ && elsewhere) return;
  switch (type) {
    case row_type::alloc:
      return with_each<alloc_event>(recording, chunk, to_memory_and_calls);
    case row_type::free:
      return with_each<free_event>(recording, chunk, to_memory_and_calls);
    case row_type::alloc_failed:
      return with_each<alloc_failed_event>(recording, chunk, [&](const alloc_failed_event& row) {
        memory_.add(row);
        faults_.add(row);
      });
    case row_type::pool_state:
      return with_each<pool_event>(recording, chunk, to_memory);
    case row_type::device_memory:
      return with_each<device_memory_event>(recording, chunk, to_memory);
    case row_type::checkpoint:
      return with_each<checkpoint_event>(recording, chunk, to_memory);
    case row_type::live_block:
      return with_each<live_block_event>(recording, chunk, to_memory);
    case row_type::loss:
      return with_each<loss_event>(recording, chunk, to_memory);
    case row_type::transfer:
      return with_rows<transfer_event>(recording, chunk, [&](const auto& rows) {
        to_devices_and_touches(rows);
        if (calls) copies_.add(rows);
        if (!known_) contents_.add(rows);
      });
    case row_type::transfer_part:
      return with_each<transfer_part_event>(recording, chunk,
                                            [&](const transfer_part_event& row) { touches_.add(row); });
    case row_type::migration:
      return with_rows<migration_event>(recording, chunk, to_devices);
    case row_type::memset:
      return with_rows<memset_event>(recording, chunk, to_devices_and_touches);
    case row_type::kernel:
      return with_rows<kernel_event>(recording, chunk, [&](const auto& rows) {
        to_devices(rows);
        if (known_) return;
        for (const kernel_event& row : rows) step_marks_.add(row);
      });
    case row_type::graph_launch:
      return with_rows<graph_launch_event>(recording, chunk, [&](const auto& rows) {
        to_devices_and_touches(rows);
        if (known_) return;
        for (const graph_launch_event& row : rows) step_marks_.add(row);
      });
    case row_type::api_call:
      return with_rows<api_call_event>(recording, chunk, [&](const auto& rows) {
        host_.add(rows, recording.tables());
        if (!calls) return;
        copies_.add(rows);
        for (const api_call_event& row : rows) faults_.add(row);
      });
    case row_type::sync:
      return with_rows<sync_event>(recording, chunk, [&](const auto& rows) {
        host_.add(rows);
        if (!calls) return;
        for (const sync_event& row : rows) wait_stacks_.add(row);
      });
    case row_type::host_range:
      return with_rows<host_range_event>(recording, chunk, [&](const auto& rows) {
        host_.add(rows);
        for (const host_range_event& row : rows) step_marks_.add(row, recording.tables());
      });
    case row_type::marker:
      return with_rows<marker_event>(recording, chunk, [&](const auto& rows) {
        host_.add(rows);
        for (const marker_event& row : rows) step_marks_.add(row);
      });
    case row_type::file_io:
      return with_rows<file_io_event>(recording, chunk, to_host);
    case row_type::host_sample:
      return with_rows<host_sample_event>(recording, chunk, [&](const auto& rows) {
        if (everything) samples_.add(rows);
      });
    case row_type::counter:
      return with_each<counter_event>(recording, chunk, [&](const counter_event& row) {
        if (std::isfinite(row.value)) counters_[row.counter].add({bounded(row.time), row.value, raw(row.id)});
      });
    case row_type::watermark:
      return with_each<watermark_event>(recording, chunk, [&](const watermark_event& row) {
        const auto [place, fresh] = watermarks_.try_emplace(row.process, bounded(row.complete_until));
        if (!fresh) place->second = std::max(place->second, bounded(row.complete_until));
      });
    case row_type::message:
      return with_each<message_event>(recording, chunk, [&](const message_event& row) {
        messages_.push_back({row.severity, bounded(row.time), row.text, row.id});
      });
    case row_type::graph_definition:
      return with_each<graph_definition_event>(recording, chunk, to_nothing);
    case row_type::event_record:
      return with_each<event_record_event>(recording, chunk, to_nothing);
    case row_type::event_wait:
      return with_each<event_wait_event>(recording, chunk, to_nothing);
    case row_type::touch:
      return with_each<touch_event>(recording, chunk,
                                    [&](const touch_event& row) { touches_.add(row, recording.tables()); });
    case row_type::clock_anchor:
      return with_each<clock_anchor_event>(recording, chunk, to_nothing);
    case row_type::attribute:
      return with_each<attribute_event>(recording, chunk,
                                        [&](const attribute_event& row) { take_attribute(row, recording.tables()); });
    case row_type::link:
      return with_each<link_event>(recording, chunk, [&](const link_event& row) {
        if (row.kind == link_kind::import_to_owner) import_owners_[raw(row.from)] = {row.to, row.source};
      });
    default:
      return;  // The snapshot has the tables. The reader warns about kinds of rows from a newer version.
  }
}

void event_store::take_attribute(const trace::attribute_event& row, const trace::tables& tables) {
  faults_.add(row, tables);
  const std::string_view key = tables.text(row.key);
  if (row.target == trace::event_id::none || row.text == trace::string_id::none) return;
  // If an event has several tags, the last one counts.
  if (key == "category") categories_[raw(row.target)] = row.text;
  if (key == "name") names_[raw(row.target)] = row.text;
}

std::shared_ptr<const tensor_facts> event_store::tensors(const trace::snapshot& recording) const {
  using steady = std::chrono::steady_clock;
  constexpr int share = 20;
  const std::scoped_lock lock(tensors_mutex_);
  const bool more_to_come = recording.growing() || next_ < recording.chunk_count();
  const bool too_soon = tensors_ && more_to_come && steady::now() - tensors_found_ < tensors_cost_ * share;
  if (tensors_fresh_ || too_soon) return tensors_;
  const auto begin = steady::now();
  tensors_ = std::make_shared<const tensor_facts>(find_tensor_facts(*this, recording));
  tensors_fresh_ = true;
  tensors_found_ = steady::now();
  tensors_cost_ = tensors_found_ - begin;
  return tensors_;
}

void event_store::settle(const trace::snapshot& recording) {
  memory_.settle(recording.tables());
  devices_.settle();
  host_.settle();
  samples_.settle();
  touches_.settle();
  tensors_fresh_ = false;
  copies_.settle();
  wait_stacks_.settle();
  contents_.settle();
  for (auto& [id, counter] : counters_) counter.settle();
}

const copy_contents& event_store::contents(const trace::snapshot& recording) const {
  if (!known_) return contents_;
  std::call_once(contents_read_, [&] { contents_ = read_contents(recording); });
  return contents_;
}

std::size_t event_store::memory_bytes() const {
  // Measured bytes: the memory that all tables and trees need per event, and the memory per block known from the file.
  constexpr std::size_t an_event = 80;
  constexpr std::size_t a_block = 400;
  std::size_t reported = known_ ? known_->blocks.size() + known_->carried.size() : 0;
  // If there are very many blocks, the known facts about them have been freed, and only this index still has the
  // blocks.
  if (reported == 0 && known_ && known_->scope == section_scope::memory) reported = memory_.blocks().size();
  return sizeof *this + an_event * static_cast<std::size_t>(events_) + a_block * reported;
}

std::string words_of_malformed(std::uint64_t rows) {
  return std::to_string(rows) +
         " events are invalid (unknown blocks, ends before starts, impossible sizes); they were ignored or shortened";
}

std::vector<std::string> event_store::warnings() const {
  std::vector<std::string> strings = unreadable_;
  const std::uint64_t malformed = memory_.malformed() + devices_.malformed() + host_.malformed() + samples_.malformed();
  if (malformed > 0) strings.push_back(words_of_malformed(malformed));
  return strings;
}

}  // namespace sluice::index
