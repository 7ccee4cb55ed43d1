#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <tuple>
#include <vector>

#include "core/figures/figures_scope.hpp"
#include "core/index/memory/memory_use.hpp"
#include "core/timeline/time_range.hpp"

/// Failed allocations that never reached the program: an allocator freed memory and asked again.
namespace sluice::analysis {

/// A failed allocation that succeeded when it was asked for again.
struct allocation_retry {
  trace::event_id event{};  ///< The failed call.
  trace::block_id block{};  ///< What the later call got.
  time_ns time = 0;         ///< When the failed call returned.
  time_ns until = 0;        ///< When the successful call returned. The frees in between are included.
  trace::process_id process{};
  trace::device_id device{};
  trace::layer layer = trace::layer::driver;
  trace::memory_kind kind = trace::memory_kind::unknown;
  trace::string_id call{};
  std::uint64_t bytes = 0;
};

/// The retries of a range of time.
struct allocation_retries {
  std::uint64_t count = 0;
  time_ns total = 0;  ///< Time from each failure to its success, ns; several failures before one success count once.
  std::uint64_t reported_again = 0;     ///< Failed driver calls whose failure the framework reported itself.
  std::vector<allocation_retry> first;  ///< In order of time, at most `limit`.

  static constexpr std::size_t limit = 64;
};

/// Tells retries from out-of-memory errors. A failed allocation of the driver or of a driver's pool is judged by what
/// comes next on its thread and device:
///  - a failure that the framework reports: both are the same failure; only the framework's is counted, as an error;
///  - an allocation of the same kind and layer and of at least as many bytes, or a block of the framework: a retry, if
///    both have the same Python stack (or one of them has none);
///  - another failure of the driver: it counts as that one does;
///  - a smaller allocation, or nothing: an error, which reached the program.
/// A failure of a framework or of the user's layer is always an error.
class retries_builder {
 public:
  explicit retries_builder(const figures_scope& scope) : scope_(scope) {}  ///< It must outlive this.

  /// Adds the blocks of a section's index. Each section has all failures so far. O(failures) without failures of the
  /// driver, else O(blocks log failures).
  void add(const memory_use& memory);
  /// The retries of the range.
  [[nodiscard]] allocation_retries retries() const;
  /// The ids of failed allocations that are no errors, whole recording, sorted: retried, or reported again.
  [[nodiscard]] std::vector<trace::event_id> survived() const;

 private:
  struct attempt {
    trace::alloc_failed_event row;
    block_record next;  ///< The next block of the thread that could serve it; `allocated`: there is one.
  };
  /// Attempts of a thread on a device, in order of time.
  using key = std::tuple<trace::process_id, trace::thread_id, trace::device_id>;
  enum class outcome : std::uint8_t { error, retried, reported_again };
  struct verdict {
    outcome what = outcome::error;
    const block_record* by = nullptr;
  };

  void add_failures(std::span<const trace::alloc_failed_event> all);
  [[nodiscard]] trace::stack_id python_part(trace::stack_id stack) const;
  [[nodiscard]] bool same_caller(trace::stack_id a, trace::stack_id b) const;
  [[nodiscard]] bool serves(const block_record& block, const trace::alloc_failed_event& failed) const;
  /// The verdict on each attempt of a thread. O(attempts).
  [[nodiscard]] std::vector<verdict> judge(const std::vector<attempt>& attempts) const;

  const figures_scope& scope_;
  std::size_t failures_ = 0;  ///< So many are known.
  bool wanted_ = false;       ///< There are failures that could be retries.
  std::map<key, std::vector<attempt>> threads_;
};

/// The failed allocations that reached the program, in order of time. `memory` must be of the whole recording `trace`. O(blocks).
[[nodiscard]] std::vector<trace::alloc_failed_event> failures_that_reached(const memory_use& memory,
                                                                           const trace::snapshot& trace);

}  // namespace sluice::analysis
