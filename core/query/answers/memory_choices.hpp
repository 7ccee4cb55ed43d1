#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/figures/stack_use.hpp"
#include "core/trace/model/model.hpp"
#include "core/trace/model/tables.hpp"

/// Which memory a question about stacks is about: layers contain one another, so only one is counted.
namespace sluice::query {

struct sources;

/// Memory of one layer, device and kind, which has its own total.
struct memory_choice {
  trace::layer layer = trace::layer::driver;
  trace::device_id device{};
  trace::memory_kind kind = trace::memory_kind::unknown;
  std::uint64_t peak = 0;   ///< In bytes, over the whole recording.
  std::string label;        ///< "GPU 0, framework: device"
  bool has_stacks = false;  ///< Some of its blocks have a stack.
};

/// What was asked for; none: any.
struct memory_wanted {
  std::optional<trace::layer> layer;
  std::optional<trace::device_id> device;
  std::optional<trace::memory_kind> kind;
};

[[nodiscard]] memory_choice choice_of(const analysis::listed_memory& listed, const trace::tables& tables);
/// All memory of the recording, most bytes first.
[[nodiscard]] std::vector<memory_choice> list_choices(const sources& from);

/// The requested memory. By default memory of devices, unless there is less than a hundredth of the host's; and of that
/// the innermost layer that explains a good part of the largest layer's bytes: framework blocks show which line needs
/// memory, but driver blocks only where the framework ran out of it. `all` has the largest first.
[[nodiscard]] std::optional<std::size_t> choose(const std::vector<memory_choice>& all, const memory_wanted& wanted);

}  // namespace sluice::query
