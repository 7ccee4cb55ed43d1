#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/metrics/statistics/range_statistics.hpp"
#include "core/query/types/host_stacks.hpp"

/// What the panel of host stacks says, as far as it needs no window.
namespace sluice::gui {

/// The choices of the panel.
struct host_choice {
  bool only_idle = true;
  bool only_launching = true;
  std::optional<trace::device_id> device{};  ///< None: the first one.
  trace::process_id process{};               ///< None: all.
  bool libraries = true;
  bool inverted = false;
};

/// The request that corresponds to the choices.
[[nodiscard]] query::host_stacks_query make_query(const host_choice& choice, time_range range);

/// Returns the range that is shown if the user has selected none: from the first to the last work of any device that
/// ran kernels, because the time outside of it is not idle time. `span` if there is none.
[[nodiscard]] time_range choose_range(const metrics::range_statistics* statistics, time_range span);

/// A headline, and a sentence that says what to do.
struct panel_words {
  std::string headline;
  std::string advice;
};

/// Returns why the panel is empty; none if it is not. `device`: the name of `found.device`. `messages`: those of the
/// recorder, needed only if the recording has no samples.
[[nodiscard]] std::optional<panel_words> explain_empty(const query::host_stacks& found, const host_choice& choice,
                                                       const std::string& device,
                                                       const std::vector<query::message>& messages);

/// Returns the sums of the tree: "1.2 s of threads that launch kernels, in 0.9 s in which GPU 0 was idle".
[[nodiscard]] std::string get_total(const query::host_stacks& found, const host_choice& choice,
                                    const std::string& device);

}  // namespace sluice::gui
