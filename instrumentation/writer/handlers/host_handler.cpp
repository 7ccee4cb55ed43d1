#include "instrumentation/writer/handlers/host_handler.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/trace/model/driver_results.hpp"
#include "instrumentation/ring/producer.hpp"
#include "instrumentation/writer/handlers/record_words.hpp"

namespace sluice::writer {

using namespace trace;

void host_handler::handle(const record_context& c, const record_view& record) {
  switch (record.type) {
    case ring::record_type::device_memory:
      return handle_device_memory(c, decode<ring::device_memory_record>(record));
    case ring::record_type::range:
      return handle_range(c, decode<ring::range_record>(record));
    case ring::record_type::range_begin:
      return handle_range_begin(c, decode<ring::range_begin_record>(record));
    case ring::record_type::range_end:
      return handle_range_end(c, decode<ring::range_end_record>(record));
    case ring::record_type::thread_name:
      return handle_thread_name(c, decode<ring::thread_name_record>(record));
    case ring::record_type::tag:
      return handle_tag(c, decode<ring::tag_record>(record));
    case ring::record_type::marker:
      return handle_marker(c, decode<ring::marker_record>(record));
    case ring::record_type::counter_value:
      return handle_counter_value(c, decode<ring::counter_value_record>(record));
    case ring::record_type::file_io:
      return handle_file_io(c, decode<ring::file_io_record>(record));
    case ring::record_type::message:
      return handle_message(c, decode<ring::message_record>(record));
    case ring::record_type::loss:
      return handle_loss(c, decode<ring::loss_record>(record));
    case ring::record_type::python_sample:
      return handle_python_sample(c, decode<ring::python_sample_record>(record));
    case ring::record_type::library_call:
      return c.process.library_calls.add(c.tid, c.time, decode<ring::library_call_record>(record).stack);
    case ring::record_type::sampling:
      c.process.sampling_paused = decode<ring::sampling_record>(record).paused != 0;
      return;
    case ring::record_type::fault:
      return handle_fault(c, record);
    default:
      return;
  }
}

void host_handler::handle_range(const record_context& c, const ring::range_record& r) {
  auto row = new_row<host_range_event>(c);
  row.end = clock_.convert_end(c, r.end);
  row.name = names_.text(r.name);
  row.domain = names_.text(r.domain);
  file_.add(row);
}

void host_handler::handle_range_begin(const record_context& c, const ring::range_begin_record& r) {
  auto row = new_row<host_range_event>(c);
  row.name = names_.text(r.name);
  row.domain = names_.text(r.domain);
  c.process.ranges.begin(r.id, row);
}

void host_handler::handle_range_end(const record_context& c, const ring::range_end_record& r) {
  auto row = new_row<host_range_event>(c);
  row.domain = names_.text(r.domain);
  c.process.ranges.end(r.id, row);
}

void host_handler::handle_thread_name(const record_context& c, const ring::thread_name_record& r) {
  if (c.process.recorder_threads.contains(r.tid)) return;
  names_.name_thread(c.process.names, r.tid, r.name);
}

/// A tag applies to the innermost live block that contains the address; it is ignored if there is no such block.
void host_handler::handle_tag(const record_context& c, const ring::tag_record& r) {
  const alloc_event* block = c.process.blocks.find_live(r.address);
  if (block == nullptr) return;
  const auto add = [&](std::string_view key, std::uint64_t text) {
    auto row = new_row<attribute_event>(c);
    row.target = block->id;
    row.key = names_.text_id(key);
    row.text = names_.text(text);
    if (row.text != string_id::none) file_.add(row);
  };
  add("category", r.category);
  add("name", r.name);
}

void host_handler::handle_marker(const record_context& c, const ring::marker_record& r) {
  auto row = new_row<marker_event>(c);
  row.name = names_.text(r.name);
  row.step = r.step;
  file_.add(row);
}

void host_handler::handle_counter_value(const record_context& c, const ring::counter_value_record& r) {
  auto row = new_row<counter_event>(c);
  row.counter = names_.counter(c.process.names, r.counter);
  row.value = r.value;
  file_.add(row);
}

void host_handler::handle_file_io(const record_context& c, const ring::file_io_record& r) {
  auto row = new_row<file_io_event>(c);
  row.end = clock_.convert_end(c, r.end);
  row.operation = checked<file_operation>(r.operation);
  row.file = names_.text(r.file);
  row.offset = r.offset;
  row.bytes = r.bytes;
  file_.add(row);
}

void host_handler::handle_device_memory(const record_context& c, const ring::device_memory_record& r) {
  auto row = new_row<device_memory_event>(c);
  row.device = names_.device(c.process.names, r.device);
  row.free = r.free_bytes;
  row.total = r.total_bytes;
  row.recorder = r.recorder_bytes;
  file_.add(row);
}

void host_handler::handle_message(const record_context& c, const ring::message_record& r) {
  auto row = new_row<message_event>(c);
  row.severity = checked<severity>(r.severity);
  row.text = names_.text(r.text);
  file_.add(row);
}

void host_handler::handle_loss(const record_context& c, const ring::loss_record& r) {
  auto row = new_row<loss_event>(c);
  row.end = std::max(row.time, clock_.convert(c, r.end));
  row.events = r.events;
  row.memory_events = r.memory_events;
  losses_.add(c.process, row, c.copy, r.layers);
}

/// Makes no row: the frames are joined with samples of the thread's native stack.
void host_handler::handle_python_sample(const record_context& c, const ring::python_sample_record& r) {
  python_sample sample;
  sample.time = c.time;
  sample.stack_key = r.stack;
  std::copy(std::begin(r.entries), std::end(r.entries), sample.entries.begin());
  sample.count = static_cast<std::uint32_t>(std::min<std::uint64_t>(r.count, ring::maximum_frames));
  c.process.python_stacks.add(r.tid, sample);
}

/// Writes a message for people; attributes contain the same data for programs (core/index/memory/faults.hpp).
void host_handler::handle_fault(const record_context& c, const record_view& record) {
  const auto r = decode<ring::fault_record>(record);
  process_names& names = c.process.names;
  const stream_id stream = names_.stream(names, r.stream);
  const string_id call = names_.text(r.name);
  auto row = new_row<message_event>(c);
  row.severity = severity::error;
  const char* error = name_of_result(r.status);
  row.text = names_.text_id(std::string("the GPU faulted: ") + (error == nullptr ? "error " : error) + " (" +
                            std::to_string(r.status) + ") in process " + std::to_string(names.row.pid) +
                            "; every later CUDA call in that context fails");
  const auto message = static_cast<event_id>(file_.add(row));
  const auto add = [&](std::string_view key, time_ns time, std::int64_t number, string_id word) {
    auto attribute = new_row<attribute_event>(c);
    attribute.time = time;
    attribute.target = message;
    attribute.key = names_.text_id(key);
    attribute.integer = number;
    attribute.text = word;
    file_.add(attribute);
  };
  add("gpu fault", c.time, r.status, string_id::none);
  add("seen by", c.time, static_cast<std::int64_t>(stream), call);
  for_each_group_after<ring::fault_record, 3>(record, r.count, [&](const auto& words) {
    add("launched before", clock_.convert(c, words[0]), static_cast<std::int64_t>(names_.stream(names, words[2])),
        names_.text(words[1]));
  });
}

}  // namespace sluice::writer
