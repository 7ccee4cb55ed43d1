#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "core/base/time/time_range.hpp"
#include "core/metrics/base/member_list.hpp"
#include "core/trace/model/model.hpp"
#include "core/trace/model/tables.hpp"

/// Computes the metrics of a time range. This header defines each metric, and one function computes it, which the
/// window and the reports share. Sizes are in bytes, times in ns, and bandwidths in bytes per second.
///
/// An event belongs to a range if the two overlap. Its duration and bytes count by the share inside the range. "Busy"
/// is the time during which at least one of the events ran (their union). "Total" is the sum of their durations.
namespace sluice::index {
class event_store;
}

namespace sluice::metrics {

/// Memory of one layer and kind on one device or, without a device, host memory that is not tied to a device. Layers
/// contain one another, so never add metrics of two layers.
struct memory_statistics {
  trace::device_id device{};
  trace::layer layer = trace::layer::driver;
  trace::memory_kind kind = trace::memory_kind::unknown;
  std::uint64_t at_begin = 0;  ///< Bytes in use just before the range: at_end + freed_bytes - allocated_bytes.
  std::uint64_t at_end = 0;    ///< Bytes in use just before the end of the range.
  std::uint64_t minimum = 0;
  std::uint64_t maximum = 0;
  time_ns maximum_time = 0;       ///< When the maximum was first reached.
  double mean = 0;                ///< Average over time.
  std::uint64_t allocations = 0;  ///< Blocks allocated in the range, without those that existed before the recording.
  std::uint64_t allocated_bytes = 0;
  std::uint64_t frees = 0;
  std::uint64_t freed_bytes = 0;
};
SLUICE_MEMBERS(
    memory_statistics, member<&row::device>{"device", "Null: host memory"},
    member<&row::layer>{
        "layer", "driver, pool, framework or user. A layer's blocks lie in blocks of lower layers: do not add layers"},
    member<&row::kind>{"kind", "The kind of memory"},
    member<&row::at_begin>{"at_begin_bytes",
                           "Bytes in use just before the range begins: at_end + freed_bytes - allocated_bytes"},
    member<&row::at_end>{"at_end_bytes", "Bytes in use just before the range ends"},
    member<&row::minimum>{"minimum_bytes", "Minimum bytes in use"},
    member<&row::maximum>{"maximum_bytes", "Peak bytes in use"},
    member<&row::maximum_time>{"maximum_time_ns", "When the peak was first reached", moment},
    member<&row::mean>{"mean_bytes", "Mean bytes in use over time"},
    member<&row::allocations>{"allocations", "Blocks allocated in the range, without those from before the recording"},
    member<&row::allocated_bytes>{"allocated_bytes", "Total bytes of these allocated blocks"},
    member<&row::frees>{"frees", "Blocks freed in the range"},
    member<&row::freed_bytes>{"freed_bytes", "Total bytes of these freed blocks"})

/// Device memory that no event accounts for: contexts, modules, libraries, other processes. It is the sampled (total -
/// free), minus the driver layer's tracked device memory at that time (including everything that its pools have
/// reserved, used or not), minus the recorder's own share, but at least 0. Each sample applies until the next sample.
struct untracked_statistics {
  trace::device_id device{};
  std::uint64_t samples = 0;       ///< Number of samples in the range.
  std::uint64_t device_bytes = 0;  ///< The device's total memory.
  std::uint64_t maximum = 0;
  std::uint64_t at_end = 0;
  double mean = 0;
  std::uint64_t recorder = 0;      ///< The recorder's own share at the end (estimated).
  std::uint64_t used_maximum = 0;  ///< The highest sampled (total - free).
};
SLUICE_MEMBERS(untracked_statistics, member<&row::device>(), member<&row::samples>(), member<&row::device_bytes>(),
               member<&row::maximum>{"maximum_bytes"}, member<&row::mean>{"mean_bytes", {}, plain, 0, 5},
               member<&row::at_end>{"at_end_bytes", {}, plain, 0, 4}, member<&row::recorder>{"recorder_bytes"},
               member<&row::used_maximum>{"device_used_maximum_bytes"})

/// A pool: the bytes that it has obtained (reserved) and handed out (used), according to its events or samples.
struct pool_statistics {
  trace::pool_id pool{};
  std::uint64_t states = 0;  ///< Number of pool events in the range.
  std::uint64_t reserved_maximum = 0;
  time_ns reserved_maximum_time = 0;
  std::uint64_t reserved_at_end = 0;
  std::uint64_t used_maximum = 0;
  time_ns used_maximum_time = 0;
  std::uint64_t used_at_end = 0;
  double used_share = 0;  ///< Mean used divided by mean reserved, 0..1.
};
SLUICE_MEMBERS(pool_statistics, member<&row::pool>{{}, "The pool"},
               member<&row::states>{"states", "The pool's events in the range"},
               member<&row::reserved_maximum>{"reserved_maximum_bytes", "Maximum bytes reserved"},
               member<&row::reserved_maximum_time>{"reserved_maximum_time_ns", "When that maximum was first reached",
                                                   moment},
               member<&row::reserved_at_end>{"reserved_at_end_bytes", "Bytes reserved at the end"},
               member<&row::used_maximum>{"used_maximum_bytes", "Maximum bytes in use"},
               member<&row::used_maximum_time>{"used_maximum_time_ns", "When that maximum was first reached", moment},
               member<&row::used_at_end>{"used_at_end_bytes", "Bytes in use at the end"},
               member<&row::used_share>{"used_share", "Mean used divided by mean reserved, 0..1"})

/// The transfers of one direction whose host side is one kind of memory (`host` is pageable, `pinned` is page-locked).
struct transfer_part {
  trace::memory_kind host_side = trace::memory_kind::unknown;
  std::uint64_t count = 0;
  double bytes = 0;
  time_ns busy = 0;
  double mean_bandwidth = 0;     ///< `bytes` divided by `busy`.
  double fastest_bandwidth = 0;  ///< Highest bandwidth of a single transfer, which is its bytes / (end - begin).
};
SLUICE_MEMBERS(transfer_part, member<&row::host_side>{"host_side", {}, side}, member<&row::count>(),
               member<&row::bytes>(), member<&row::busy>{"busy_ns"},
               member<&row::mean_bandwidth>{"mean_bytes_per_second", {}, rate},
               member<&row::fastest_bandwidth>{"fastest_bytes_per_second", {}, rate})

/// Copies and migrations of one direction on one device.
struct transfer_statistics {
  trace::device_id device{};
  trace::direction direction = trace::direction::unknown;
  std::uint64_t count = 0;
  std::uint64_t migrations = 0;  ///< The number of migrations of managed memory in `count`.
  double bytes = 0;
  time_ns busy = 0;
  time_ns total = 0;
  double mean_bandwidth = 0;     ///< `bytes` divided by `busy`.
  double maximum_bandwidth = 0;  ///< Highest bandwidth at any time. Bandwidths of overlapping transfers add up.
  double fastest_bandwidth = 0;  ///< Highest bandwidth of a single transfer.
  trace::event_id fastest{};
  double link_peak = 0;   ///< Theoretical peak of the link, from the device's record; 0 if unknown.
  double attainable = 0;  ///< Measured peak of the link, from the device's record; 0 if never measured.
  /// Sorted by bytes, most first, one per host side; empty if the host is not involved.
  std::vector<transfer_part> parts;
};
SLUICE_MEMBERS(transfer_statistics, member<&row::device>{"device", "The device"},
               member<&row::direction>{"direction", "h2d, d2h, d2d, p2p or h2h"},
               member<&row::count>{"count", "Copies and migrations"},
               member<&row::migrations>{"migrations", "The number of migrations in count"},
               member<&row::bytes>{"bytes", "Bytes transferred inside the range"},
               member<&row::busy>{"busy_ns", "ns in which at least one transfer ran"},
               member<&row::total>{"total_ns", "Sum of the transfers' durations, ns"},
               member<&row::mean_bandwidth>{"mean_bytes_per_second", "bytes / busy, in bytes/s", rate},
               member<&row::maximum_bandwidth>{
                   "maximum_bytes_per_second",
                   "Highest bandwidth at any time, in bytes/s; overlapping transfers add up", rate},
               member<&row::fastest_bandwidth>{"fastest_bytes_per_second",
                                               "Highest bandwidth of a single transfer, in bytes/s", rate},
               member<&row::fastest>{"fastest_event", "The transfer with that bandwidth"},
               member<&row::link_peak>{"link_peak_bytes_per_second", "Theoretical bytes/s; null: unknown", rate},
               member<&row::attainable>{"attainable_bytes_per_second", "Measured bytes/s; null: not measured", rate},
               member<&row::parts>())

/// The work of one device.
struct device_activity {
  trace::device_id device{};
  std::uint64_t kernels = 0;
  time_ns kernel_total = 0;
  time_ns kernel_busy = 0;
  time_ns copy_busy = 0;  ///< Copies and migrations in every direction except host to host.
  time_ns copy_only = 0;  ///< Time with a copy but no kernel, when the device waited for data.
  time_ns overlap = 0;    ///< Time with both a copy and a kernel.
  time_ns busy = 0;       ///< Time with any work: kernel, copy or memset.
  time_ns first = 0;      ///< Start of the first work on a stream in the range.
  time_ns last = 0;       ///< End of the last work on a stream in the range.
  std::uint64_t memsets = 0;
  time_ns memset_busy = 0;
  std::uint64_t memset_bytes = 0;
};
SLUICE_MEMBERS(device_activity, member<&row::device>{{}, "The device"},
               member<&row::busy>{"busy_ns", "ns with any work: kernel, copy or memset", plain, 0, 7},
               member<&row::kernels>{"kernels", "Number of kernels", plain, 0, 1},
               member<&row::kernel_busy>{"kernel_busy_ns", "ns in which at least one kernel ran"},
               member<&row::kernel_total>{"kernel_total_ns", "Sum of kernel durations, ns", plain, 0, 2},
               member<&row::copy_busy>{"copy_busy_ns", "ns in which copies or migrations ran", plain, 0, 4},
               member<&row::copy_only>{"copy_only_ns", "ns with a copy but no kernel: the device waited for data",
                                       plain, 0, 5},
               member<&row::overlap>{"overlap_ns", "ns with both a copy and a kernel", plain, 0, 6},
               member<&row::memsets>{"memsets", "Number of memsets", plain, 0, 10},
               member<&row::memset_busy>{"memset_busy_ns", "ns in which memsets ran", plain, 0, 11},
               member<&row::memset_bytes>{"memset_bytes", "Bytes written by memsets", plain, 0, 12},
               member<&row::first>{{}, "Start of the first work", moment, 0, 8},
               member<&row::last>{{}, "End of the last work", moment, 0, 9})

/// Metrics of all events with the same name.
struct named_time {
  trace::string_id name{};
  std::uint64_t count = 0;
  time_ns total = 0;
  time_ns longest = 0;
  trace::event_id longest_event{};
};
SLUICE_MEMBERS(named_time, member<&row::name>(), member<&row::count>(), member<&row::total>{"total_ns"},
               member<&row::longest>{"longest_ns"}, member<&row::longest_event>())

/// The activity of one host thread.
struct thread_statistics {
  trace::thread_id thread{};
  trace::process_id process{};
  std::uint64_t calls = 0;            ///< Number of API calls.
  time_ns call_busy = 0;              ///< Time inside API calls.
  time_ns wait_busy = 0;              ///< Time spent waiting for a device, in sync events and in API calls that only
                                      ///< wait.
  std::uint64_t file_operations = 0;  ///< Number of file operations that moved bytes or took time.
  double file_bytes = 0;
  time_ns file_busy = 0;
};
SLUICE_MEMBERS(thread_statistics, member<&row::thread>{{}, "The thread"},
               member<&row::process>{{}, "The thread's process"}, member<&row::calls>{"calls", "Number of API calls"},
               member<&row::call_busy>{"call_busy_ns", "ns inside API calls"},
               member<&row::wait_busy>{"wait_busy_ns", "ns waiting for a device"},
               member<&row::file_operations>{"file_operations", "File operations that moved bytes or took time"},
               member<&row::file_bytes>{"file_bytes", "Bytes moved by these operations"},
               member<&row::file_busy>{"file_busy_ns", "ns inside these operations"})

/// All metrics of a time range.
struct range_statistics {
  time_range range;
  /// The part of `range` from the first to the last device work or allocation. All shares of time refer to this part,
  /// so a program that imports libraries for 3 s and then works for 1 s is judged by that 1 s. The part equals `range`
  /// if there is neither work nor an allocation.
  time_range active;
  std::vector<memory_statistics> memory;        ///< Sorted by device, layer and kind.
  std::vector<untracked_statistics> untracked;  ///< Sorted by device; empty if device memory was not sampled.
  std::vector<pool_statistics> pools;
  std::vector<transfer_statistics> transfers;  ///< Sorted by device and direction; only directions with transfers.
  std::vector<device_activity> devices;        ///< Only devices that did any work.
  std::vector<named_time> kernels;             ///< By kernel name: longest total first, at most `named_limit`.
  std::vector<named_time> calls;               ///< By API call name: longest total first, at most `named_limit`.
  /// By range name: longest total first, at most `named_limit`. The recorder's ranges around waits for locks, threads
  /// and Python's GIL are left out, because some threads always wait. `device_idle` has those that held a device back.
  std::vector<named_time> ranges;
  std::vector<thread_statistics> threads;  ///< Busiest first.
  std::uint64_t kernel_names = 0;          ///< Number of kernel names, including those beyond `named_limit`.
  /// Number of failed calls. A report excludes calls that succeeded on a retry.
  std::uint64_t failed_allocations = 0;
  std::uint64_t lost_events = 0;  ///< Events dropped by the recorder.
  /// The number of allocations and frees among `lost_events`. If any were lost, memory metrics are inexact.
  std::uint64_t lost_memory_events = 0;

  static constexpr std::size_t named_limit = 20;
};
SLUICE_MEMBERS(range_statistics, member<&row::range>{{}}, member<&row::active>{{}}, member<&row::memory>{{}},
               member<&row::untracked>{{}}, member<&row::pools>{{}}, member<&row::transfers>{{}},
               member<&row::devices>{{}}, member<&row::kernels>{{}}, member<&row::calls>{{}}, member<&row::ranges>{{}},
               member<&row::threads>{{}}, member<&row::kernel_names>{"kernel_names", "Number of different kernels"},
               member<&row::failed_allocations>{{}}, member<&row::lost_events>{{}},
               member<&row::lost_memory_events>{{}})

/// Returns `range_statistics::active` for `range`. O(blocks + devices).
[[nodiscard]] time_range active_span(const index::event_store& store, time_range range);

/// Computes the metrics of `range` from the events in `store`. O(events in the range + blocks).
[[nodiscard]] range_statistics measure(const index::event_store& store, const trace::tables& tables, time_range range);

/// Computes `range_statistics` section by section, without an event store for the whole range. The results equal those
/// of `measure`, except for the last digits of means.
class range_measurer {
 public:
  explicit range_measurer(time_range range);
  range_measurer(const range_measurer& other);  ///< The copy is independent.
  ~range_measurer();
  range_measurer& operator=(const range_measurer&) = delete;

  /// Changes the end of the range, for a growing recording. All parts added so far must precede the old end.
  void set_end(time_ns end);
  /// Adds the events in `part`. Parts are consecutive and together cover the range. O(events in `part` + blocks).
  void add(const index::event_store& store, time_range part);

  /// Returns the metrics of everything added so far.
  [[nodiscard]] range_statistics metrics(const trace::tables& tables) const;

 private:
  struct sums;
  std::unique_ptr<sums> sums_;
};

}  // namespace sluice::metrics
