#pragma once

#include <cstdint>
#include <type_traits>

#include "core/trace/model/model.hpp"
#include "core/trace/model/summary_rows.hpp"

/// The number of each kind of row in a file. Never reuse a number. Readers skip rows whose number they do not know.
namespace sluice::trace {

enum class row_type : std::uint16_t {
  // Tables.
  string = 1,
  host = 2,
  process = 3,
  thread = 4,
  device = 5,
  context = 6,
  stream = 7,
  pool = 8,
  counter_definition = 9,
  stack = 10,
  frame = 11,
  module = 12,
  source_text = 13,
  // Events.
  alloc = 64,
  free = 65,
  alloc_failed = 66,
  pool_state = 67,
  device_memory = 68,
  transfer = 69,
  migration = 70,
  memset = 71,
  kernel = 72,
  api_call = 73,
  graph_definition = 74,
  graph_launch = 75,
  event_record = 76,
  event_wait = 77,
  sync = 78,
  host_range = 79,
  marker = 80,
  file_io = 81,
  counter = 82,
  touch = 83,
  loss = 84,
  checkpoint = 85,
  live_block = 86,
  clock_anchor = 87,
  watermark = 88,
  message = 89,
  attribute = 90,
  link = 91,
  transfer_part = 92,
  host_sample = 93,
  // Written by the file writer itself, not by its caller.
  index = 1024,
  section = 1025,
  boundary_block = 1026,
  block_category = 1027,
  curve = 1028,
  curve_bin = 1029,
  lane = 1030,
  lane_bin = 1031,
  saved = 1032,
  block_uses = 1033,
  open_slice = 1034,
  last_sample = 1035,
  chunk_reach = 1036,
  step = 1037,
  integer_bin = 1038,
};

/// All kinds of rows except index and summary rows: X(struct, row_type).
#define SLUICE_FOR_EACH_ROW(X)                \
  X(string_row, string)                       \
  X(host_row, host)                           \
  X(process_row, process)                     \
  X(thread_row, thread)                       \
  X(device_row, device)                       \
  X(context_row, context)                     \
  X(stream_row, stream)                       \
  X(pool_row, pool)                           \
  X(counter_row, counter_definition)          \
  X(stack_row, stack)                         \
  X(frame_row, frame)                         \
  X(module_row, module)                       \
  X(source_row, source_text)                  \
  X(alloc_event, alloc)                       \
  X(free_event, free)                         \
  X(alloc_failed_event, alloc_failed)         \
  X(pool_event, pool_state)                   \
  X(device_memory_event, device_memory)       \
  X(transfer_event, transfer)                 \
  X(migration_event, migration)               \
  X(memset_event, memset)                     \
  X(kernel_event, kernel)                     \
  X(api_call_event, api_call)                 \
  X(graph_definition_event, graph_definition) \
  X(graph_launch_event, graph_launch)         \
  X(event_record_event, event_record)         \
  X(event_wait_event, event_wait)             \
  X(sync_event, sync)                         \
  X(host_range_event, host_range)             \
  X(marker_event, marker)                     \
  X(file_io_event, file_io)                   \
  X(counter_event, counter)                   \
  X(touch_event, touch)                       \
  X(loss_event, loss)                         \
  X(checkpoint_event, checkpoint)             \
  X(live_block_event, live_block)             \
  X(clock_anchor_event, clock_anchor)         \
  X(watermark_event, watermark)               \
  X(message_event, message)                   \
  X(attribute_event, attribute)               \
  X(link_event, link)                         \
  X(transfer_part_event, transfer_part)       \
  X(host_sample_event, host_sample)

/// The row_type of a row struct.
template <class Row>
inline constexpr row_type type_of_row = row_type{};
#define SLUICE_ROW_TYPE(row, kind) \
  template <>                      \
  inline constexpr row_type type_of_row<row> = row_type::kind;
SLUICE_FOR_EACH_ROW(SLUICE_ROW_TYPE)
SLUICE_FOR_EACH_SUMMARY_ROW(SLUICE_ROW_TYPE)
#undef SLUICE_ROW_TYPE

template <class Row>
inline constexpr bool is_event_row = std::is_base_of_v<event_base, Row>;

/// True for rows that summarize other rows (summary_rows.hpp).
[[nodiscard]] constexpr bool is_summary(row_type type) {
  return type >= row_type::section && type <= row_type::integer_bin;
}
/// True for rows that hold one bin of a tile (summary_rows.hpp).
[[nodiscard]] constexpr bool is_of_tile(row_type type) {
  return type == row_type::curve_bin || type == row_type::integer_bin || type == row_type::lane_bin;
}
[[nodiscard]] constexpr bool is_table(row_type type) { return static_cast<std::uint16_t>(type) < 64; }
/// The member with the id of the event that a row is about: `id`; for attributes `target`, for links `from`.
template <class Row>
inline constexpr auto subject_member = &Row::id;
template <>
inline constexpr auto subject_member<attribute_event> = &attribute_event::target;
template <>
inline constexpr auto subject_member<link_event> = &link_event::from;
template <class Row>
[[nodiscard]] std::uint64_t get_subject(const Row& row) {
  return raw(row.*subject_member<Row>);
}

[[nodiscard]] constexpr bool is_event(row_type type) {
  return static_cast<std::uint16_t>(type) >= 64 && static_cast<std::uint16_t>(type) < 1024;
}

}  // namespace sluice::trace
