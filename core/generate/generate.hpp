#pragma once

#include <cstdint>
#include <string>

#include "core/base/error.hpp"
#include "core/base/long_task.hpp"
#include "core/generate/options.hpp"

/// Generates recordings of any size for tests and measurements. They resemble recordings of real programs: the same
/// kinds and proportions of rows, regularities, noise and delays.
namespace sluice::generate {

struct generated {
  std::uint64_t events = 0;
  std::uint64_t bytes = 0;
};

/// Writes a recording to `path`, creating or replacing the file. O(events) time. Memory depends on the number of live
/// blocks, not on the number of events. Errors: invalid_argument, io, no_space, cancelled.
[[nodiscard]] result<generated> generate(const generate_options& options, const std::string& path,
                                         const long_task& task = {});

}  // namespace sluice::generate
