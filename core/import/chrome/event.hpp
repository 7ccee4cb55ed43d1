#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/trace/model/ids.hpp"

/// Events of Chrome's trace format as they are in the text, numbers read. Private to core/import.
namespace sluice::importing {

/// What torch.profiler (Kineto) writes into "cat", as far as it means something to us.
enum class chrome_category : std::uint8_t {
  other,
  cpu_op,
  python_function,
  user_annotation,
  gpu_user_annotation,
  runtime_call,  ///< Of the CUDA runtime or driver.
  kernel,
  copy,
  memset,
  sync,           ///< What a stream or the host waited for.
  memory,         ///< "[memory]": the name of an instant, not a category.
  out_of_memory,  ///< "[OutOfMemory]", likewise.
  call_to_work,   ///< "ac2g" arrows, which the correlation ids say as well.
};

/// A process, thread or arrow as it is named: a number or a text.
struct chrome_ident {
  std::int64_t number = 0;
  std::string_view text;  ///< Empty for a number.
  friend bool operator==(const chrome_ident&, const chrome_ident&) = default;
};

/// The arguments that the model has columns for.
struct chrome_details {
  static constexpr std::int64_t none = INT64_MIN;
  std::int64_t device = none, context = 0, stream = none;
  std::int64_t correlation = 0, graph_node = 0;
  std::int64_t bytes = 0;
  std::uint32_t grid[3] = {}, block[3] = {};
  std::int64_t registers = 0, shared = 0;
  // Of "[memory]".
  std::uint64_t address = 0;
  bool has_address = false;  ///< Torch 1.8 and 1.9 wrote none.
  std::int64_t device_type = none, allocated = none, reserved = none;
};

/// An argument of a counter or of metadata.
struct chrome_argument {
  std::string_view key;
  std::string_view text;  ///< A string's content, else the value as it is written.
  bool quoted = false;
};

/// One event. Its texts lie in the batch that it is in.
struct chrome_event {
  static constexpr std::uint32_t none = UINT32_MAX;

  char phase = 0;
  char scope = 0;
  chrome_category category = chrome_category::other;
  bool has_time = false, has_duration = false;
  bool bad_time = false, bad_duration = false;  ///< No number, or beyond 64 bits of ns.
  trace::time_ns time = 0, duration = 0;
  std::string_view category_text, name;
  chrome_ident process, thread, id;
  std::uint32_t details = none;    ///< In the batch.
  std::uint32_t arguments = none;  ///< The first in the batch.
  std::uint32_t argument_count = 0;
};

/// Something that could not be read.
struct chrome_fault {
  std::string_view what;  ///< A literal.
  std::uint64_t offset = 0;
};

}  // namespace sluice::importing
