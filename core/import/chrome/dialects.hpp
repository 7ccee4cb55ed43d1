#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "core/import/torch/kineto_devices.hpp"
#include "core/import/trace_events/event.hpp"
#include "core/import/trace_events/tracks.hpp"

/// Reads device work (kernels, copies, memsets) in the Chrome traces of tools other than torch.profiler. Each tool has
/// its own words for this work, and this file converts them to those of torch.profiler. Private to core/import.
namespace sluice::importing {

/// An event of another tool, converted to the form in which torch.profiler would have written it.
struct dialect_event {
  chrome_category category = chrome_category::other;
  chrome_details details;
  std::string name;         ///< For copies and memsets in torch.profiler's form: "Memcpy HtoD (Pageable -> Device)".
  bool of_device = false;   ///< True if the work ran on the device that the event's process represents.
  bool is_instant = false;  ///< The event is a memory event, whose time is the start of the range.
};

/// Reads a range ('X') with a category that torch.profiler does not use, in the form of
/// - XLA (JAX, TensorFlow): `kernel_details`, `memcpy_details`, `Memset_details`, `correlation_id`, `allocator_name`;
/// - Intel's unitrace: the category "gpu_op", sizes in the name;
/// - rocprof up to version 2: `BeginNs`, `dev-id`, `queue-id`;
/// - Ascend's profiler: `Task Type`.
/// Returns nullopt for any other range. `on_device`: the event's process is known to represent a device.
[[nodiscard]] std::optional<dialect_event> read_dialect(const chrome_event& event,
                                                        std::span<const chrome_argument> arguments, bool on_device);

/// Reads a range that is device work only because of the row that it is in. Its name shows the kind of work.
[[nodiscard]] dialect_event read_bare_work(const chrome_event& event);

/// Maps "processes" to devices. In these traces, a device is a "process" whose name contains the device's number. Not
/// thread-safe.
class dialect_devices {
 public:
  dialect_devices(chrome_tracks& tracks, kineto_devices& devices) : tracks_(tracks), devices_(devices) {}

  /// True if a "process" with the name of a device has been read.
  [[nodiscard]] bool has_devices() const { return has_devices_; }
  /// Returns the number that `kineto_devices` uses for the device of a "process", even if its name has not been read
  /// yet.
  [[nodiscard]] std::int64_t to_number(const chrome_ident& process);
  /// Returns the name of a "process" that is a device, or an empty text for others and if the name has not been read
  /// yet.
  [[nodiscard]] std::string_view device_name(const chrome_ident& process) const;
  /// Returns true if all ranges in a row of a device's "process" are device work, even if the file does not mark them.
  /// Such a row is a stream, or XLA's operations on a TPU.
  [[nodiscard]] bool holds_work(const chrome_ident& process, const chrome_ident& thread) const;
  /// Records the name of a "process".
  void note_name(std::string_view name);
  /// Records the labels of a process: "NPU 3".
  void note_label(const chrome_ident& process, std::string_view label);
  /// Assigns ordinals and names to the devices. Call when all names have been read, before memory is written.
  void finish();

 private:
  using key = std::pair<std::int64_t, std::string>;
  static key get_key(const chrome_ident& process) { return {process.number, std::string(process.text)}; }

  chrome_tracks& tracks_;
  kineto_devices& devices_;
  bool has_devices_ = false;
  std::map<key, std::int64_t> numbers_;
  std::map<key, std::int64_t> labels_;  ///< The number in the label of each process.
};

}  // namespace sluice::importing
