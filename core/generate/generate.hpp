#pragma once

#include <cstdint>
#include <string>

#include "core/base/error.hpp"
#include "core/base/long_task.hpp"
#include "core/generate/options.hpp"

/// Generates recordings of any size for tests and benchmarks. The recordings resemble those of real programs. They have
/// the same kinds and proportions of rows, and similar regularities, noise and delays.
namespace sluice::generate {

struct generated {
  std::uint64_t events = 0;
  std::uint64_t bytes = 0;
};

/// Writes a recording to `path`, and replaces an existing file. Takes O(events) time. The memory needed depends on the
/// number of live blocks, not on the number of events. Errors: invalid_argument, io, no_space, cancelled.
[[nodiscard]] result<generated> generate(const generate_options& options, const std::string& path,
                                         const long_task& task = {});

}  // namespace sluice::generate
