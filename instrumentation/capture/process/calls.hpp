#pragma once

#include <cstddef>
#include <cstdint>

#include "core/trace/model/kinds.hpp"
#include "instrumentation/capture/process/content_hash.hpp"
#include "instrumentation/capture/process/cuda_api.hpp"

/// This header defines `call`, a driver call of the program in the form of CUPTI's callbacks, and the tables of the
/// calls that the capture library handles.
namespace sluice::capture {

struct call_entry;

/// One driver call of the program, at one of its two edges: entry or exit.
struct call {
  const CUpti_CallbackData* data;
  std::uint64_t name;       ///< String key of the function's name.
  std::uint64_t begin;      ///< Time of the call's entry, on the rings' clock.
  std::uint64_t now;        ///< Time of this edge; equals `begin` at the entry.
  CUresult result;          ///< CUDA_SUCCESS at the entry.
  bool per_thread;          ///< In this call, stream 0 means the thread's own default stream.
  const call_entry* entry;  ///< Null for a call of the CUDA runtime.

  template <class Params>
  [[nodiscard]] const Params& params() const {
    return *static_cast<const Params*>(data->functionParams);
  }
  [[nodiscard]] std::uint32_t context() const { return data->contextUid; }
  [[nodiscard]] std::uint32_t correlation() const { return data->correlationId; }
  [[nodiscard]] std::uint32_t device() const;
  [[nodiscard]] std::uint64_t stream(CUstream handle) const;
  [[nodiscard]] bool ok() const { return result == CUDA_SUCCESS; }
};

using edge_function = void (*)(const call&);

/// Whether the search for copies of the same content needs to see a call. The search is on if
/// `options.duplicates_percent` is not 0.
enum class contents_use : std::uint8_t {
  no,
  too,   ///< Handled from mode `least` on; while the search is on, in every mode.
  only,  ///< Handled only while the search is on, then in every mode.
};

struct call_entry {
  std::uint32_t id;  ///< CUpti_driver_api_trace_cbid
  const char* name;  ///< As in the CUDA documentation.
  edge_function enter;
  edge_function exit;
  bool per_thread = false;
  /// The narrowest recording mode in which this call is handled.
  trace::recording_mode least = trace::recording_mode::memory;
  /// In `memory` mode, a successful call is not handled at its exit, unless a graph capture is active.
  bool done_at_entry = false;
  contents_use contents = contents_use::no;
};

/// The calls of one family: an array of `count` constant entries.
struct call_table {
  const call_entry* entries;
  std::size_t count;
};
[[nodiscard]] call_table memory_calls() noexcept;
[[nodiscard]] call_table work_calls() noexcept;
[[nodiscard]] call_table launch_calls() noexcept;

// --- shared by copies, launches and graphs ---------------------------------------------------------------------------

/// Call before the driver call. From now on, a CUPTI activity record of this call is expected.
void work_starts(const call& c);
/// The kind of memory at one end of a copy, as far as the call's name determines it; `either`: host or device.
enum class memory_side : std::uint8_t { device, host, either };
struct gpu_work {
  std::uint64_t source = 0;
  std::uint64_t destination = 0;
  std::uint64_t bytes = 0;
  CUstream stream = nullptr;
  memory_side from = memory_side::device;
  memory_side to = memory_side::device;
  copy_source shape = {};     ///< Layout of a host source that is not contiguous.
  copy_source to_shape = {};  ///< Layout of a host destination that is not contiguous.
  std::uint32_t value = 0;    ///< The value that a memset writes.
  bool from_array = false;    ///< The address is an array handle, hence device memory.
  bool to_array = false;
  // For a batch: the number of copies, and the addresses of its first copy.
  std::uint32_t copies = 1;
  std::uint64_t first_source = 0;
  std::uint64_t first_destination = 0;
};
/// Call after the driver call: records the call with its times, result and `stack` (a key).
void work_done(const call& c, const gpu_work& w, std::uint64_t stack);

/// The key of the graph that `stream` is being captured into; 0 if it is not being captured.
[[nodiscard]] std::uint64_t captured_graph(const call& c, CUstream stream);

/// A graph node, by driver handles. `graph` 0 means the graph that contains `node`; `node` 0 means that the node's
/// handle is unknown.
struct node_place {
  std::uint64_t graph = 0;
  std::uint64_t node = 0;
  [[nodiscard]] bool in_graph() const { return graph != 0 || node != 0; }
};
/// The graph that `stream` is being captured into and, at a call's exit, the node that the call has added.
[[nodiscard]] node_place captured_node(const call& c, CUstream stream);

/// Call after a driver call that waited for all work of its context, such as cuCtxSynchronize.
void context_waited(const call& c);

/// Records a failed call with its result and, if the error is a GPU fault, the fault. `stream`: a stream key; 0 if the
/// call has no stream.
void call_failed(const call& c, std::uint64_t stream);

/// Handles the exit of a failed call. Runs `exit` if it is not null, then `call_failed` unless `exit` has recorded the
/// failure.
void leave_failed(const call& c, edge_function exit);

}  // namespace sluice::capture
