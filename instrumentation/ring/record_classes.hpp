#pragma once

#include "core/trace/model/kinds.hpp"
#include "instrumentation/ring/records.hpp"

/// This header defines which records have priority when a ring fills up. It is part of the capture library too, so it
/// uses no C++ library and no exceptions.
namespace sluice::ring {

/// True for records that kernels and copies must not displace: memory events, definitions of keys and graphs, live
/// sets, messages, faults and reports of losses. They may use the part of the ring that is closed to other records.
[[nodiscard]] constexpr bool uses_reserve(record_type type) {
  switch (type) {
    case record_type::string:
    case record_type::thread:
    case record_type::device:
    case record_type::context:
    case record_type::stream:
    case record_type::pool:
    case record_type::counter:
    case record_type::frame:
    case record_type::stack:
    case record_type::module:
    case record_type::recorder_threads:
    case record_type::alloc:
    case record_type::free:
    case record_type::free_completed:
    case record_type::alloc_failed:
    case record_type::message:
    case record_type::loss:
    case record_type::live_set:
    case record_type::pool_live_set:
    case record_type::live_sets_complete:
    case record_type::graph_definition:
    case record_type::node_touch:
    case record_type::child_graph:
    case record_type::node_switch:
    case record_type::mode:
    case record_type::sampling:
    case record_type::context_end:
    case record_type::graph_end:
    case record_type::fault:
    case record_type::share:
    case record_type::pool_stream:
    case record_type::pool_stream_alloc:
    case record_type::pool_stream_free:
    case record_type::framework_alloc:
    case record_type::framework_free:
      return true;
    default:
      return false;
  }
}

/// True for allocations and frees. If such a record is lost, memory totals are no longer exact.
[[nodiscard]] constexpr bool is_memory_event(record_type type) {
  switch (type) {
    case record_type::alloc:
    case record_type::free:
    case record_type::pool_stream_alloc:
    case record_type::pool_stream_free:
    case record_type::framework_alloc:
    case record_type::framework_free:
      return true;
    default:
      return false;
  }
}

/// A set of layers, one bit per layer.
using layer_bits = std::uint64_t;
inline constexpr layer_bits all_layers = (layer_bits{1} << trace::layer_count) - 1;
[[nodiscard]] constexpr layer_bits layer_bit(trace::layer layer) {
  return layer_bits{1} << static_cast<unsigned>(layer);
}

/// The layers whose live set becomes inexact if `record` is lost. Short records with a pool_stream belong to the pool
/// layer.
[[nodiscard]] inline layer_bits get_layers(record_type type, const record_header* record) {
  switch (type) {
    case record_type::alloc:
      return layer_bits{1} << reinterpret_cast<const alloc_record*>(record)->layer;
    case record_type::free:
      return layer_bits{1} << reinterpret_cast<const free_record*>(record)->layer;
    case record_type::pool_stream_alloc:
    case record_type::pool_stream_free:
      return layer_bit(trace::layer::pool);
    case record_type::framework_alloc:
    case record_type::framework_free:
      return layer_bit(trace::layer::framework);
    default:
      return 0;
  }
}

}  // namespace sluice::ring
