#pragma once

#include <cstdint>
#include <map>
#include <memory>

#include "instrumentation/backend/device_result.hpp"
#include "instrumentation/backend/simulated/state/address_map.hpp"
#include "instrumentation/backend/simulated/state/driver_call.hpp"
#include "instrumentation/backend/simulated/state/graph.hpp"
#include "instrumentation/backend/simulated/state/graph_memory.hpp"
#include "instrumentation/backend/simulated/state/graph_table.hpp"
#include "instrumentation/backend/simulated/state/stream_table.hpp"

namespace sluice::backend::simulated {

/// Stream captures: enqueued work becomes nodes of a graph, and some calls are forbidden. Error numbers are those of
/// CUDA.
class captures {
 public:
  captures(driver_calls& calls, stream_table& streams, const address_map& addresses, graph_memory_pool& memory,
           graph_table& graphs)
      : calls_(calls), streams_(streams), addresses_(addresses), memory_(memory), graphs_(graphs) {}

  // Functions of the device interface. They take the device's lock.
  [[nodiscard]] device_result<void> begin_capture(stream_handle stream, capture_mode mode);
  [[nodiscard]] device_result<graph_handle> end_capture(stream_handle stream);
  [[nodiscard]] device_result<void> capture_child(stream_handle stream, graph_handle child);
  [[nodiscard]] device_result<capture_info> stream_capture(stream_handle stream);
  /// The mode belongs to the calling thread, for all devices.
  static capture_mode exchange_capture_mode(capture_mode mode) noexcept;

  // The caller of the functions below holds the lock. `permitted_*` return an error if a call is forbidden now, and
  // invalidate the captures that the call disturbs.
  [[nodiscard]] device_result<void> permitted_unsafe(const char* call);
  [[nodiscard]] device_result<void> permitted_on(stream_handle stream, const stream_state& s, const char* call);
  [[nodiscard]] device_result<void> permitted_to_wait(const stream_state& s, const char* call);
  [[nodiscard]] device_result<void> permitted_to_wait(const event_state& event, const char* call);
  /// For a call that waits for all streams. Any capture forbids such a call, in any mode.
  [[nodiscard]] device_result<void> permitted_to_synchronize(const char* call);
  /// Invalidates a capture. Returns the error of the call that did so.
  [[nodiscard]] static tl::unexpected<failure> break_capture(capture_session& session, const char* call, int native,
                                                             const char* why);

  /// Makes a stream that waits for an event part of the event's capture.
  [[nodiscard]] device_result<void> join(stream_handle stream, stream_state& s, const event_state& event);
  /// Removes a stream that is being destroyed from its capture, which becomes invalid.
  void forget_stream(stream_handle stream, const stream_state& s);

  // Each of these adds a node to the graph of a captured stream, and ends the call.
  [[nodiscard]] device_result<void> capture_item(driver_call& call, stream_handle stream, const stream_state& s,
                                                 work_item item);
  [[nodiscard]] device_result<void*> capture_allocation(driver_call& call, stream_handle stream, const stream_state& s,
                                                        std::uint64_t bytes);
  [[nodiscard]] device_result<void> capture_free(driver_call& call, stream_handle stream, const stream_state& s,
                                                 void* address);

 private:
  graph_node& add_node(stream_handle stream, const stream_state& s, graph_node_kind kind);

  driver_calls& calls_;
  stream_table& streams_;
  const address_map& addresses_;
  graph_memory_pool& memory_;
  graph_table& graphs_;
  std::map<std::uint64_t, std::shared_ptr<capture_session>> sessions_;  // active captures, by id
  std::uint64_t next_capture_ = 1;
  std::uint64_t next_node_ = 1;
};

}  // namespace sluice::backend::simulated
