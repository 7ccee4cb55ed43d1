#pragma once

#include "core/query/results/result_functions.hpp"

/// Describes events and blocks as text. Private to core/query.
namespace sluice::query {

[[nodiscard]] event_details describe(const trace::alloc_event& row, const sources& source);
[[nodiscard]] event_details describe(const trace::live_block_event& row, const sources& source);
[[nodiscard]] event_details describe(const trace::free_event& row, const sources& source);
[[nodiscard]] event_details describe(const trace::alloc_failed_event& row, const sources& source);
[[nodiscard]] event_details describe(const trace::pool_event& row, const sources& source);
[[nodiscard]] event_details describe(const trace::device_memory_event& row, const sources& source);
[[nodiscard]] event_details describe(const trace::transfer_event& row, const sources& source);
[[nodiscard]] event_details describe(const trace::migration_event& row, const sources& source);
[[nodiscard]] event_details describe(const trace::memset_event& row, const sources& source);
[[nodiscard]] event_details describe(const trace::kernel_event& row, const sources& source);
[[nodiscard]] event_details describe(const trace::api_call_event& row, const sources& source);
[[nodiscard]] event_details describe(const trace::graph_definition_event& row, const sources& source);
[[nodiscard]] event_details describe(const trace::graph_launch_event& row, const sources& source);
[[nodiscard]] event_details describe(const trace::event_record_event& row, const sources& source);
[[nodiscard]] event_details describe(const trace::event_wait_event& row, const sources& source);
[[nodiscard]] event_details describe(const trace::sync_event& row, const sources& source);
[[nodiscard]] event_details describe(const trace::host_sample_event& row, const sources& source);
[[nodiscard]] event_details describe(const trace::host_range_event& row, const sources& source);
[[nodiscard]] event_details describe(const trace::marker_event& row, const sources& source);
[[nodiscard]] event_details describe(const trace::file_io_event& row, const sources& source);
[[nodiscard]] event_details describe(const trace::counter_event& row, const sources& source);
[[nodiscard]] event_details describe(const trace::touch_event& row, const sources& source);
[[nodiscard]] event_details describe(const trace::transfer_part_event& row, const sources& source);
[[nodiscard]] event_details describe(const trace::loss_event& row, const sources& source);
[[nodiscard]] event_details describe(const trace::checkpoint_event& row, const sources& source);
[[nodiscard]] event_details describe(const trace::message_event& row, const sources& source);
[[nodiscard]] event_details describe(const index::block_record& block, const sources& source);

}  // namespace sluice::query
