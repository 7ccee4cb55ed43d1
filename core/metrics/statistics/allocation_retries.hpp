#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <tuple>
#include <vector>

#include "core/base/time/time_range.hpp"
#include "core/index/memory/memory_use.hpp"
#include "core/metrics/base/member_list.hpp"
#include "core/metrics/base/metrics_scope.hpp"

/// Finds retries: failed allocations that the program never saw, because an allocator freed memory and tried again.
namespace sluice::metrics {

/// A failed allocation that succeeded when it was tried again.
struct allocation_retry {
  trace::event_id event{};  ///< The failed call.
  trace::block_id block{};  ///< The block that the successful call returned.
  time_ns time = 0;         ///< When the failed call returned.
  time_ns until = 0;        ///< When the successful call returned. The interval includes the frees in between.
  trace::process_id process{};
  trace::device_id device{};
  trace::layer layer = trace::layer::driver;
  trace::memory_kind kind = trace::memory_kind::unknown;
  trace::string_id call{};
  std::uint64_t bytes = 0;
};
SLUICE_MEMBERS(allocation_retry, member<&row::event>{"event", "The call that failed"},
               member<&row::block>{"block", "The block that the later call got"},
               member<&row::time>{"time_ns", "Time when the failed call returned", moment},
               member<&row::until>{"until_ns", "Time when the successful one returned", moment},
               member<&row::process>{"process", "The process"},
               member<&row::device>{"device", "The device; null: host memory"},
               member<&row::layer>{"layer", "driver or pool"}, member<&row::kind>{"kind", "The kind of memory"},
               member<&row::call>{"call", "The API function"}, member<&row::bytes>{"bytes", "Requested size"})

/// The retries in a time range.
struct allocation_retries {
  std::uint64_t count = 0;
  /// The sum of the times from failure to success, in ns. Several failures before one success count once.
  time_ns total = 0;
  std::uint64_t reported_again = 0;     ///< The number of failed driver calls whose failure the framework also
                                        ///< reported.
  std::vector<allocation_retry> first;  ///< In order of time, at most `limit`.

  static constexpr std::size_t limit = 64;
};
SLUICE_MEMBERS(allocation_retries, member<&row::count>(), member<&row::total>{"total_ns"},
               member<&row::reported_again>(), member<&row::first>())

/// Distinguishes retries from out-of-memory errors. The outcome of a failed allocation by the driver or a driver's pool
/// depends on the next event on the same thread and device:
///  - If it is a failure that the framework reports, both are the same failure. Only the framework's failure is
///    counted, as an error.
///  - If it is a framework block, or an allocation of the same kind and layer and of at least as many bytes, it is a
///    retry, provided that both have the same Python stack or one of them has none.
///  - If it is another driver failure, both have the same outcome.
///  - If it is a smaller allocation, or if there is no next event, the failure is an error that reached the program.
/// A failure in the framework or user layer is always an error.
class retries_builder {
 public:
  explicit retries_builder(const metrics_scope& scope) : scope_(scope) {}  ///< `scope` must outlive this object.

  /// Adds the blocks of a section. Every section contains all failures so far. O(failures) if there are no driver
  /// failures, else O(blocks * log failures).
  void add(const index::memory_use& memory);
  /// Returns the retries in the range.
  [[nodiscard]] allocation_retries retries() const;
  /// Returns the sorted ids of all failed allocations in the recording that are not errors, because they were retried
  /// or the framework reported them again.
  [[nodiscard]] std::vector<trace::event_id> survived() const;

 private:
  struct attempt {
    trace::alloc_failed_event row;
    index::block_record next;  ///< The thread's next block that could satisfy the request. Valid if `next.allocated`.
  };
  /// Identifies the attempts of one thread on one device.
  using key = std::tuple<trace::process_id, trace::thread_id, trace::device_id>;
  enum class outcome : std::uint8_t { error, retried, reported_again };
  struct verdict {
    outcome kind = outcome::error;
    const index::block_record* by = nullptr;
  };

  void add_failures(std::span<const trace::alloc_failed_event> rows);
  [[nodiscard]] trace::stack_id python_part(trace::stack_id stack) const;
  [[nodiscard]] bool same_caller(trace::stack_id a, trace::stack_id b) const;
  [[nodiscard]] bool serves(const index::block_record& block, const trace::alloc_failed_event& failed) const;
  /// Returns the verdict on each attempt of a thread; `attempts` must be in order of time. O(attempts).
  [[nodiscard]] std::vector<verdict> judge(const std::vector<attempt>& attempts) const;

  const metrics_scope& scope_;
  std::size_t failures_ = 0;  ///< Number of failures added so far.
  bool wanted_ = false;       ///< True if some failures could be retries.
  std::map<key, std::vector<attempt>> threads_;
};

/// Returns those of `failed`, all failures of a recording, that reached the program, in order of time. All sections of
/// the recording must have been added to `retries`. O(failures * log failures).
[[nodiscard]] std::vector<trace::alloc_failed_event> failures_that_reached(
    const retries_builder& retries, std::span<const trace::alloc_failed_event> failed);
/// The same for `memory`, which must cover the whole recording `trace`. O(blocks).
[[nodiscard]] std::vector<trace::alloc_failed_event> failures_that_reached(const index::memory_use& memory,
                                                                           const trace::snapshot& trace);

}  // namespace sluice::metrics
