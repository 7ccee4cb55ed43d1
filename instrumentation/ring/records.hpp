#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "instrumentation/ring/host_records.hpp"
#include "instrumentation/ring/memory_records.hpp"
#include "instrumentation/ring/record_types.hpp"
#include "instrumentation/ring/table_records.hpp"
#include "instrumentation/ring/work_records.hpp"

/// The data that a recorded process sends to the writer: plain records in a ring of shared memory. The ring's reader
/// trusts nothing and checks every length. The size of a record is a multiple of 8 bytes; it begins with a
/// `record_header`.
///
///   0        2        4                8                16
///   | type   | words  | flags          | time           | payload ...                  |
///
/// The writer joins records (calls with activity, allocations with frees), assigns ids and looks up keys. Keys are only
/// valid in their process. The key of a device is the index in its `device_record`, the key of a context is CUPTI's
/// context id, the key of a stream is `stream_key(context, CUPTI stream id)`, and the key of a string is the 64-bit
/// hash in its `string_record`. This header is part of the capture library too, so it uses no C++ library and no
/// exceptions.
namespace sluice::ring {

/// The clock of a ring's times. A process that uses the simulated device has only the simulated clock.
enum class clock_kind : std::uint32_t { tsc = 0, monotonic_ns = 1, simulated_ns = 2 };

[[nodiscard]] constexpr std::uint64_t stream_key(std::uint32_t context, std::uint32_t stream) {
  return (std::uint64_t{context} << 32) | stream;
}

/// Maps a record struct to its record_type.
template <class Record>
struct type_of_record;
#define SLUICE_RECORD(name)                                                   \
  template <>                                                                 \
  struct type_of_record<name##_record> {                                      \
    static constexpr record_type value = record_type::name;                   \
    static_assert(std::is_trivially_copyable_v<name##_record>);               \
    static_assert(sizeof(name##_record) % 8 == 0, "records are whole words"); \
  }
SLUICE_RECORD(string);
SLUICE_RECORD(thread);
SLUICE_RECORD(device);
SLUICE_RECORD(context);
SLUICE_RECORD(stream);
SLUICE_RECORD(pool);
SLUICE_RECORD(counter);
SLUICE_RECORD(frame);
SLUICE_RECORD(stack);
SLUICE_RECORD(module);
SLUICE_RECORD(recorder_threads);
SLUICE_RECORD(alloc);
SLUICE_RECORD(free);
SLUICE_RECORD(free_completed);
SLUICE_RECORD(alloc_failed);
SLUICE_RECORD(pool_state);
SLUICE_RECORD(device_memory);
SLUICE_RECORD(api_call);
SLUICE_RECORD(copy);
SLUICE_RECORD(memset);
SLUICE_RECORD(kernel);
SLUICE_RECORD(migration);
SLUICE_RECORD(sync);
SLUICE_RECORD(range);
SLUICE_RECORD(marker);
SLUICE_RECORD(counter_value);
SLUICE_RECORD(file_io);
SLUICE_RECORD(watermark);
SLUICE_RECORD(message);
SLUICE_RECORD(loss);
SLUICE_RECORD(graph_launch);
SLUICE_RECORD(touch);
SLUICE_RECORD(tag);
SLUICE_RECORD(graph_definition);
SLUICE_RECORD(live_set);
SLUICE_RECORD(mode);
SLUICE_RECORD(range_begin);
SLUICE_RECORD(range_end);
SLUICE_RECORD(thread_name);
SLUICE_RECORD(context_end);
SLUICE_RECORD(graph_end);
SLUICE_RECORD(fault);
SLUICE_RECORD(copy_parts);
SLUICE_RECORD(content);
SLUICE_RECORD(node_touch);
SLUICE_RECORD(graph_call);
SLUICE_RECORD(share);
SLUICE_RECORD(child_graph);
SLUICE_RECORD(node_switch);
SLUICE_RECORD(pool_stream);
SLUICE_RECORD(pool_stream_alloc);
SLUICE_RECORD(pool_stream_free);
SLUICE_RECORD(pool_live_set);
SLUICE_RECORD(live_sets_complete);
SLUICE_RECORD(framework_alloc);
SLUICE_RECORD(framework_free);
SLUICE_RECORD(python_sample);
SLUICE_RECORD(library_call);
SLUICE_RECORD(sampling);
#undef SLUICE_RECORD

}  // namespace sluice::ring
