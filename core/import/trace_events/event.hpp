#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/trace/model/ids.hpp"

/// Events of Chrome's trace format, with parsed numbers and texts as in the file. Private to core/import.
namespace sluice::importing {

/// Values of an event's member "cat" that torch.profiler (Kineto) writes and that the importer treats specially.
enum class chrome_category : std::uint8_t {
  other,
  cpu_op,
  python_function,
  user_annotation,
  gpu_user_annotation,
  runtime_call,  ///< A call of the CUDA runtime or driver.
  kernel,
  copy,
  memset,
  sync,           ///< A wait by a stream or the host.
  memory,         ///< An instant with the name "[memory]", whatever its "cat".
  out_of_memory,  ///< An instant with the name "[OutOfMemory]", whatever its "cat".
  call_to_work,   ///< An "ac2g" arrow. Correlation ids have the same information.
};

/// The id of a process, thread or arrow: a number or a text.
struct chrome_ident {
  std::int64_t number = 0;
  std::string_view text;  ///< Empty if the id is a number.
  friend bool operator==(const chrome_ident&, const chrome_ident&) = default;
};

/// The arguments of an event for which the trace model has columns.
struct chrome_details {
  static constexpr std::int64_t none = INT64_MIN;
  std::int64_t device = none, context = 0, stream = none;
  std::int64_t correlation = 0, graph_node = 0;
  std::int64_t bytes = 0;
  bool has_bytes = false;
  std::uint32_t grid[3] = {}, block[3] = {};
  std::int64_t registers = 0, shared = 0;
  // Only "[memory]" instants have the members below.
  std::uint64_t address = 0;
  bool has_address = false;  ///< False in files of torch 1.8 and 1.9, which have no addresses.
  std::int64_t device_type = none, allocated = none, reserved = none;
};

/// An argument of a counter or metadata event.
struct chrome_argument {
  std::string_view key;
  std::string_view text;  ///< The content of a string; for other values, the JSON text.
  bool quoted = false;
};

/// One event. Its texts point into the piece from which it was parsed, or into the batch.
struct chrome_event {
  static constexpr std::uint32_t none = UINT32_MAX;

  char phase = 0;
  char scope = 0;
  chrome_category category = chrome_category::other;
  bool has_time = false, has_duration = false;
  bool bad_time = false, bad_duration = false;  ///< True if the value is not a number or exceeds 64 bits of ns.
  trace::time_ns time = 0, duration = 0;
  std::string_view category_text, name;
  chrome_ident process, thread, id;
  std::uint32_t details = none;    ///< The position of the event's details in `chrome_batch::details`.
  std::uint32_t arguments = none;  ///< The position of the event's first argument in `chrome_batch::arguments`.
  std::uint32_t argument_count = 0;
};

/// A description of a text that could not be parsed.
struct chrome_fault {
  std::string_view reason;  ///< A string literal.
  std::uint64_t offset = 0;
};

}  // namespace sluice::importing
