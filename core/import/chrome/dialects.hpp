#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "core/import/chrome/event.hpp"
#include "core/import/chrome/tracks.hpp"
#include "core/import/torch/kineto_devices.hpp"

/// Work of devices in Chrome traces of other tools than torch.profiler. Private to core/import.
namespace sluice::importing {

/// A range as torch.profiler would have written it.
struct dialect_event {
  chrome_category category = chrome_category::other;
  chrome_details details;
  std::string name;         ///< For copies and memsets in torch.profiler's words: "Memcpy HtoD (Pageable -> Device)".
  bool of_device = false;   ///< The device is the one that the event's process stands for.
  bool is_instant = false;  ///< A memory event, which is at its begin.
};

/// Reads a range ('X') whose category torch.profiler does not have, in the words of
/// - XLA (JAX, TensorFlow): `kernel_details`, `memcpy_details`, `Memset_details`, `correlation_id`, `allocator_name`;
/// - Intel's unitrace: the category "gpu_op", sizes in the name;
/// - rocprof up to version 2: `BeginNs`, `dev-id`, `queue-id`;
/// - Ascend's profiler: `Task Type`.
/// Nothing if it is a range like any other. `on_device`: its process is known to stand for a device.
[[nodiscard]] std::optional<dialect_event> read_dialect(const chrome_event& event,
                                                        std::span<const chrome_argument> arguments, bool on_device);

/// Work that only its row tells to be work, by its name.
[[nodiscard]] dialect_event read_bare_work(const chrome_event& event);

/// In these traces a device is a "process", whose name tells its number. Not thread-safe.
class dialect_devices {
 public:
  dialect_devices(chrome_tracks& tracks, kineto_devices& devices) : tracks_(tracks), devices_(devices) {}

  /// True once a "process" with the name of a device was seen.
  [[nodiscard]] bool has_devices() const { return has_devices_; }
  /// The number by which `kineto_devices` knows the device of a "process". Its name may come later in the file.
  [[nodiscard]] std::int64_t number_of(const chrome_ident& process);
  /// The name of a "process" that is a device, as far as it is known by now; empty for others.
  [[nodiscard]] std::string_view device_name(const chrome_ident& process) const;
  /// True for a row of a device's "process" that holds its work even where that does not say so: a stream, or XLA's
  /// operations on a TPU.
  [[nodiscard]] bool holds_work(const chrome_ident& process, const chrome_ident& thread) const;
  /// Notes the name of a "process".
  void note_name(std::string_view name);
  /// Notes the labels of a process: "NPU 3".
  void note_label(const chrome_ident& process, std::string_view label);
  /// Gives the devices their ordinals and names. Call when all names are known, before memory is written.
  void finish();

 private:
  using key = std::pair<std::int64_t, std::string>;
  static key key_of(const chrome_ident& process) { return {process.number, std::string(process.text)}; }

  chrome_tracks& tracks_;
  kineto_devices& devices_;
  bool has_devices_ = false;
  std::map<key, std::int64_t> numbers_;
  std::map<key, std::int64_t> labels_;  ///< The number in a label.
};

}  // namespace sluice::importing
