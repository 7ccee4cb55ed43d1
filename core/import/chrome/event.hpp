#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/trace/model/ids.hpp"

/// Events of Chrome's trace format as in the text, with numbers parsed. Private to core/import.
namespace sluice::importing {

/// The values of "cat" that torch.profiler (Kineto) writes and the importer treats specially.
enum class chrome_category : std::uint8_t {
  other,
  cpu_op,
  python_function,
  user_annotation,
  gpu_user_annotation,
  runtime_call,  ///< CUDA runtime or driver.
  kernel,
  copy,
  memset,
  sync,           ///< A wait of a stream or of the host.
  memory,         ///< "[memory]": actually the name of an instant.
  out_of_memory,  ///< "[OutOfMemory]": also the name of an instant.
  call_to_work,   ///< "ac2g" arrows; correlation ids give the same information.
};

/// The id of a process, thread or arrow: a number or a text.
struct chrome_ident {
  std::int64_t number = 0;
  std::string_view text;  ///< Empty if it is a number.
  friend bool operator==(const chrome_ident&, const chrome_ident&) = default;
};

/// The arguments for which the model has columns.
struct chrome_details {
  static constexpr std::int64_t none = INT64_MIN;
  std::int64_t device = none, context = 0, stream = none;
  std::int64_t correlation = 0, graph_node = 0;
  std::int64_t bytes = 0;
  bool has_bytes = false;
  std::uint32_t grid[3] = {}, block[3] = {};
  std::int64_t registers = 0, shared = 0;
  // Only in "[memory]" instants.
  std::uint64_t address = 0;
  bool has_address = false;  ///< Torch 1.8 and 1.9 wrote none.
  std::int64_t device_type = none, allocated = none, reserved = none;
};

/// An argument of a counter or metadata event.
struct chrome_argument {
  std::string_view key;
  std::string_view text;  ///< The content of a string, else the value as written.
  bool quoted = false;
};

/// One event. Its texts point into the piece of text that it was parsed from, or into the batch.
struct chrome_event {
  static constexpr std::uint32_t none = UINT32_MAX;

  char phase = 0;
  char scope = 0;
  chrome_category category = chrome_category::other;
  bool has_time = false, has_duration = false;
  bool bad_time = false, bad_duration = false;  ///< Not a number, or beyond 64 bits of ns.
  trace::time_ns time = 0, duration = 0;
  std::string_view category_text, name;
  chrome_ident process, thread, id;
  std::uint32_t details = none;    ///< Position in `chrome_batch::details`.
  std::uint32_t arguments = none;  ///< Position of the first in `chrome_batch::arguments`.
  std::uint32_t argument_count = 0;
};

/// Something that could not be parsed.
struct chrome_fault {
  std::string_view what;  ///< A string literal.
  std::uint64_t offset = 0;
};

}  // namespace sluice::importing
