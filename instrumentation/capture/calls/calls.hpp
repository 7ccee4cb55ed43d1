#pragma once

#include <cstddef>
#include <cstdint>

#include "core/trace/model/kinds.hpp"
#include "instrumentation/capture/blocks/content_hash.hpp"
#include "instrumentation/capture/start/cuda_api.hpp"

/// Driver calls as CUPTI's callbacks show them, and the table of those we handle.
namespace sluice::capture {

struct call_entry;

/// One call at one of its edges.
struct call {
  const CUpti_CallbackData* data;
  std::uint64_t name;       ///< String key.
  std::uint64_t begin;      ///< Entry edge, in the rings' clock.
  std::uint64_t now;        ///< This edge; `begin` at the entry.
  CUresult result;          ///< CUDA_SUCCESS at the entry.
  bool per_thread;          ///< The call takes 0 for the thread's own default stream.
  const call_entry* entry;  ///< Null for a call of the runtime's.

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

struct call_entry {
  std::uint32_t id;  ///< CUpti_driver_api_trace_cbid
  const char* name;  ///< As the CUDA documentation has it.
  edge_function enter;
  edge_function exit;
  bool per_thread = false;
  /// Subscribed in this mode and the wider ones.
  trace::recording_mode least = trace::recording_mode::memory;
  /// Nothing is left to do at the exit of a call that succeeded, unless the device owes a record of it.
  bool done_at_entry = false;
};

/// The calls of each family. The arrays are constant and end with `count`.
struct call_table {
  const call_entry* entries;
  std::size_t count;
};
[[nodiscard]] call_table memory_calls() noexcept;
[[nodiscard]] call_table work_calls() noexcept;
[[nodiscard]] call_table launch_calls() noexcept;

// --- what copies, launches and graphs share -----------------------------------------------------------------------------

/// Before the call: from here on the device may owe us a record.
void work_starts(const call& c);
/// Where a copy's source lies, as far as the call says it.
enum class source_side : std::uint8_t { device, host, either };
struct work {
  std::uint64_t source = 0;
  std::uint64_t destination = 0;
  std::uint64_t bytes = 0;
  CUstream stream = nullptr;
  source_side from = source_side::device;
  copy_source shape = {};   ///< Of a source on the host that is not in one piece.
  std::uint32_t value = 0;  ///< Of a memset.
  bool from_array = false;  ///< The end is an array's handle: no address, but the device's for certain.
  bool to_array = false;
  // Of a batch: how many, and the ends of the first.
  std::uint32_t copies = 1;
  std::uint64_t first_source = 0;
  std::uint64_t first_destination = 0;
};
/// After it: says what it was.
void work_done(const call& c, const work& w, std::uint64_t stack);

/// The graph that calls on `stream` go into now, a key; 0 when it is not being captured.
[[nodiscard]] std::uint64_t captured_graph(const call& c, CUstream stream);

/// Of a graph, by their handles. `graph` 0: that which the node is of; `node` 0: it is not known.
struct node_place {
  std::uint64_t graph = 0;
  std::uint64_t node = 0;
  [[nodiscard]] bool in_graph() const { return graph != 0 || node != 0; }
};
/// That graph, and at a call's exit the node that it has put there.
[[nodiscard]] node_place captured_node(const call& c, CUstream stream);

/// A call has returned that waited for everything its context had to do.
void context_waited(const call& c);

/// A call failed: says which, with its result, and whether the GPU has faulted. `stream`: a key, 0 if it has none.
void call_failed(const call& c, std::uint64_t stream);

/// The exit edge of a call that failed: `exit` if there is one, and `call_failed` unless that has told of it.
void leave_failed(const call& c, edge_function exit);

}  // namespace sluice::capture
