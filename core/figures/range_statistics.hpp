#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "core/timeline/time_range.hpp"
#include "core/trace/model/model.hpp"
#include "core/trace/model/tables.hpp"

/// The numbers of a time range. Each figure has one definition, stated here, and one function; the window, the report
/// and the whole-trace report all use it. Bytes are bytes, times ns, bandwidths bytes per second.
///
/// An event belongs to a range when it overlaps it; its time and its bytes count by the share that lies inside.
/// "Busy" is the time during which at least one of the events ran (their union); "total" is the sum of their lengths.
namespace sluice::analysis {

/// Memory of one layer and kind on one device (none: host memory that no device is named for). Layers hold one another:
/// never add figures of two layers.
struct memory_statistics {
  trace::device_id device{};
  trace::layer layer = trace::layer::driver;
  trace::memory_kind kind = trace::memory_kind::unknown;
  std::uint64_t at_begin = 0;  ///< Just before its begin: at_end + freed_bytes - allocated_bytes.
  std::uint64_t at_end = 0;    ///< Just before the range's end.
  std::uint64_t minimum = 0;
  std::uint64_t maximum = 0;
  time_ns maximum_time = 0;       ///< The first time it was reached.
  double mean = 0;                ///< Over time.
  std::uint64_t allocations = 0;  ///< Born inside the range; those that were there before the recording do not count.
  std::uint64_t allocated_bytes = 0;
  std::uint64_t frees = 0;
  std::uint64_t freed_bytes = 0;
};

/// What a device holds that no event accounts for: contexts, modules, libraries, other processes. It is
/// (total - free) as sampled, less the driver layer's device memory tracked at that moment, less the recorder's own
/// share; never below 0. Between two samples the earlier one holds.
struct untracked_statistics {
  trace::device_id device{};
  std::uint64_t samples = 0;       ///< In the range.
  std::uint64_t device_bytes = 0;  ///< What the device has.
  std::uint64_t maximum = 0;
  std::uint64_t at_end = 0;
  double mean = 0;
  std::uint64_t recorder = 0;      ///< The recorder's own share, estimated, at the end.
  std::uint64_t used_maximum = 0;  ///< Highest total - free.
};

/// A pool: bytes it took (reserved) and bytes it has given out (used), as changed or sampled.
struct pool_statistics {
  trace::pool_id pool{};
  std::uint64_t states = 0;  ///< Pool events in the range.
  std::uint64_t reserved_maximum = 0;
  time_ns reserved_maximum_time = 0;
  std::uint64_t reserved_at_end = 0;
  std::uint64_t used_maximum = 0;
  time_ns used_maximum_time = 0;
  std::uint64_t used_at_end = 0;
  double used_share = 0;  ///< Mean used over mean reserved, 0..1.
};

/// Part of a direction's transfers: those whose host side is of one kind (`host` is pageable, `pinned` page-locked).
struct transfer_part {
  trace::memory_kind host_side = trace::memory_kind::unknown;
  std::uint64_t count = 0;
  double bytes = 0;
  time_ns busy = 0;
  double mean_bandwidth = 0;     ///< bytes / busy.
  double fastest_bandwidth = 0;  ///< Of one transfer: its bytes / (end - begin).
};

/// Copies and migrations of one direction on one device.
struct transfer_statistics {
  trace::device_id device{};
  trace::direction direction = trace::direction::unknown;
  std::uint64_t count = 0;
  std::uint64_t migrations = 0;  ///< Of those.
  double bytes = 0;
  time_ns busy = 0;
  time_ns total = 0;
  double mean_bandwidth = 0;     ///< bytes / busy.
  double maximum_bandwidth = 0;  ///< Of the curve over time: transfers that overlap add up.
  double fastest_bandwidth = 0;  ///< Of one transfer.
  trace::event_id fastest{};
  double link_peak = 0;              ///< Theoretical, from the link record; 0: not known.
  double attainable = 0;             ///< Measured on this machine; 0: never measured.
  std::vector<transfer_part> parts;  ///< By the host side, most bytes first; empty where no side is the host's.
};

/// What a device did.
struct device_activity {
  trace::device_id device{};
  std::uint64_t kernels = 0;
  time_ns kernel_total = 0;
  time_ns kernel_busy = 0;
  time_ns copy_busy = 0;  ///< Copies and migrations of every direction but host to host.
  time_ns copy_only = 0;  ///< A copy ran and no kernel did: the device waited for data.
  time_ns overlap = 0;    ///< A copy and a kernel ran together.
  time_ns busy = 0;       ///< Anything ran: kernel, copy, memset.
  time_ns first = 0;      ///< Begin of the first work on a stream, and end of the last, within the range.
  time_ns last = 0;
  std::uint64_t memsets = 0;
  time_ns memset_busy = 0;
};

/// Events of one name.
struct named_time {
  trace::string_id name{};
  std::uint64_t count = 0;
  time_ns total = 0;
  time_ns longest = 0;
  trace::event_id longest_event{};
};

/// What a host thread did.
struct thread_statistics {
  trace::thread_id thread{};
  trace::process_id process{};
  std::uint64_t calls = 0;            ///< API calls.
  time_ns call_busy = 0;              ///< Inside an API call.
  time_ns wait_busy = 0;              ///< Waiting for a device: sync events, and API calls that do nothing but wait.
  std::uint64_t file_operations = 0;  ///< Those that moved bytes or took time.
  double file_bytes = 0;
  time_ns file_busy = 0;
};

struct range_statistics {
  time_range range;
  std::vector<memory_statistics> memory;        ///< By device, layer, kind.
  std::vector<untracked_statistics> untracked;  ///< By device; only where device memory was sampled.
  std::vector<pool_statistics> pools;
  std::vector<transfer_statistics> transfers;  ///< By device and direction; only those that happened.
  std::vector<device_activity> devices;        ///< Only those that did something.
  std::vector<named_time> kernels;             ///< Longest total first, at most `named_limit`.
  std::vector<named_time> calls;               ///< Likewise.
  std::vector<named_time> ranges;              ///< Likewise: the program's own named scopes.
  std::vector<thread_statistics> threads;      ///< Busiest first.
  std::uint64_t kernel_names = 0;              ///< How many names there were before the cut.
  std::uint64_t failed_allocations = 0;
  std::uint64_t lost_events = 0;         ///< Dropped by the recorder.
  std::uint64_t lost_memory_events = 0;  ///< Of those, allocations and frees: memory is not exact.

  static constexpr std::size_t named_limit = 20;
};

class index;

/// The figures of `range`, from what `from` has taken in so far. O(events in the range + blocks).
[[nodiscard]] range_statistics measure(const index& from, const trace::tables& tables, time_range range);

/// The same from indexes of parts of a range, one after another: none need hold all of it. Every figure is as exact as that of one index,
/// but for the last digits of means.
class range_measurer {
 public:
  explicit range_measurer(time_range range);
  ~range_measurer();
  range_measurer(const range_measurer&) = delete;
  range_measurer& operator=(const range_measurer&) = delete;

  /// What `from` tells of `part`, which begins where the one before ended, the first with the range. O(events in it + blocks).
  void add(const index& from, time_range part);

  /// Of what was added so far.
  [[nodiscard]] range_statistics figures(const trace::tables& tables) const;

 private:
  struct sums;
  std::unique_ptr<sums> sums_;
};

}  // namespace sluice::analysis
