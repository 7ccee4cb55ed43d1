#include "core/metrics/verdict/finding_title.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/format.hpp"
#include "core/metrics/base/code_place.hpp"

namespace sluice::metrics {
namespace {

/// The problem, without `finding::detail`.
std::string_view name_of_problem(const finding& subject) {
  switch (subject.kind) {
    case finding_kind::gpu_fault:
      return "GPU fault";
    case finding_kind::failed_allocations:
      // Only of an allocation that failed for lack of memory is it known by how much it was short.
      return subject.detail.empty() ? "Failed allocations" : "Out of memory";
    case finding_kind::retried_allocations:
      return "Allocations failed and were retried";
    case finding_kind::lost_events:
      return "Lost events";
    case finding_kind::memory_grows:
      return "Memory leak";
    case finding_kind::unfreed_blocks:
      // Memory that is set up once and held until the end is only a note.
      return subject.severity == trace::severity::warning ? "Memory leak" : "Never freed";
    case finding_kind::never_used:
      return "Memory that nothing uses";
    case finding_kind::allocated_early:
      return "Allocated too early";
    case finding_kind::held_late:
      return "Kept after last use";
    case finding_kind::idle_block:
      return "Memory idle between two uses";
    case finding_kind::reusable_block:
      return "Blocks that could be reused";
    case finding_kind::dead_write:
      return "Written twice before any read";
    case finding_kind::gradients_kept:
      return "Gradients kept after the step";
    case finding_kind::cached_unused:
      return "Reserved memory that nothing uses";
    case finding_kind::fragmentation:
      return "Fragmented memory";
    case finding_kind::driver_allocations:
      return "Driver allocations in a loop";
    case finding_kind::activations_dominate:
      return "Activations fill the peak";
    case finding_kind::optimizer_state_dominates:
      return "Optimizer state fills the peak";
    case finding_kind::untracked_memory:
      return "Memory outside of what was recorded";
    case finding_kind::held_in_two_types:
      return "Tensors held in two types";
    case finding_kind::rank_imbalance:
      return "Uneven ranks";
    case finding_kind::replicated_state:
      return "Every rank holds the same state";
    case finding_kind::pageable_copies:
      return "Slow copies: pageable memory";
    case finding_kind::slow_copies:
      return "Slow copies";
    case finding_kind::small_copies:
      return "Many small copies";
    case finding_kind::repeated_copies:
      return "The same data is copied again";
    case finding_kind::round_trips:
      return "Data is copied back and forth";
    case finding_kind::zero_uploads:
      return "Zeros are copied to the GPU";
    case finding_kind::migrations:
      return "Managed memory migrates";
    case finding_kind::copies_not_overlapped:
      return "GPU waits for copies";
    case finding_kind::fp32_products:
      return "Matrix products in FP32 without tensor cores";
    case finding_kind::frequent_waits:
    case finding_kind::hidden_waits:
    case finding_kind::idle_gaps:
      return subject.detail.empty() ? "GPU idle" : "GPU waits for the host";
  }
  return "Finding";
}

}  // namespace

std::string get_title(const finding& subject) {
  const std::string_view name = name_of_problem(subject);
  return subject.detail.empty() ? std::string(name) : fmt::format("{}: {}", name, subject.detail);
}

std::string_view get_certainty(const saving& subject) {
  switch (subject.basis) {
    case saving_basis::none:
      break;
    case saving_basis::measured:
      return "measured";
    case saving_basis::swept:
      return "replayed";
    case saving_basis::modelled:
      return subject.bytes_error > 0 ? "replayed" : "estimated";
  }
  return {};
}

std::string describe_saving(const saving& subject) {
  if (subject.basis == saving_basis::none || subject.share <= 0) return {};
  const std::string how = fmt::format("({}, {})", format_share(subject.share), get_certainty(subject));
  if (subject.time > 0)
    return fmt::format("up to {} ({} of the time after start-up, {})", format_time(subject.time),
                       format_share(subject.share), get_certainty(subject));
  if (subject.peak_bytes > 0) return fmt::format("up to {} of the peak {}", format_bytes(subject.peak_bytes), how);
  if (subject.reserved_bytes > 0 && subject.bytes_error > 0)
    return fmt::format("{} to {} of reserved memory {}",
                       format_bytes(subject.reserved_bytes - std::min(subject.bytes_error, subject.reserved_bytes)),
                       format_bytes(subject.reserved_bytes + subject.bytes_error), how);
  if (subject.reserved_bytes > 0)
    return fmt::format("up to {} of reserved memory {}", format_bytes(subject.reserved_bytes), how);
  return {};
}

std::string describe_place(const code_place& place) {
  std::string text = to_text(place);
  if (text.empty() || place.caller == place.line) return text;
  const std::string caller = symbols::get_place(place.caller);
  return caller.empty() ? text : text + ", called at " + caller;
}

}  // namespace sluice::metrics
