#pragma once

#include <optional>
#include <string_view>

#include "core/metrics/host_causes/classify.hpp"
#include "core/metrics/host_causes/host_reason.hpp"

/// What to change in a program so that the host keeps the GPU busy.
namespace sluice::metrics {

/// What is known about a program, to give only advice that applies to it.
struct program_traits {
  bool pytorch = false;
  bool cupy = false;
  bool jax = false;
  bool numba = false;
  bool tensorflow = false;
  bool transformers = false;
  bool python = false;
  bool data_loader = false;   ///< PyTorch's DataLoader is used.
  bool data_workers = false;  ///< The DataLoader has worker processes.
  bool compiled = false;      ///< torch.compile is used.
};

/// Adds what a frame of any sample shows. O(length of its texts).
void note_frame(program_traits& traits, const host_frame& frame);
/// Adds what a verdict of any sample shows.
void note_verdict(program_traits& traits, const host_verdict& verdict);

/// A change to a program. The texts are static.
struct host_remedy {
  std::string_view text;  ///< One or two sentences.
  std::string_view code;  ///< What to write or to run; empty if the text says it.
};

/// Returns the first remedy that applies; none for reasons without a remedy and for programs that none fits. `recurs`:
/// the cost occurs throughout the run (`host_cause_group::recurs`).
[[nodiscard]] std::optional<host_remedy> find_host_remedy(host_reason reason, const program_traits& traits,
                                                          bool recurs);

}  // namespace sluice::metrics
