#pragma once

#include <cstdint>
#include <string>

#include "core/base/error.hpp"
#include "core/base/long_task.hpp"
#include "core/generate/options.hpp"

/// Traces of any size for tests and measurements, as recorders would have written them of real programs: the same kinds of
/// rows in the same proportions, with the same regularities and the same noise, and as late.
namespace sluice::generate {

struct generated {
  std::uint64_t events = 0;
  std::uint64_t bytes = 0;
};

/// Writes a trace to `path`, which is created or replaced. O(events) time; memory is that of what lives at a time, whatever the
/// number of events. Errors: invalid_argument, io, no_space, cancelled.
[[nodiscard]] result<generated> generate(const generate_options& options, const std::string& path,
                                         const long_task& task = {});

}  // namespace sluice::generate
