#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>

#include "core/import/trace_events/tracks.hpp"
#include "core/trace/file/writer.hpp"

namespace sluice::importing {

/// Resolves the numbers by which the events of torch.profiler (Kineto) refer to devices, contexts and streams. Private
/// to core/import.
class kineto_devices {
 public:
  struct place {
    trace::device_id device{};
    trace::context_id context{};
    trace::stream_id stream{};
  };

  explicit kineto_devices(trace::file_writer& out) : out_(out) {}

  /// Returns the place that an event's numbers refer to. Creates its rows on the first call. O(1).
  [[nodiscard]] place of(trace::process_id process, std::int64_t device, std::int64_t context, std::int64_t stream);
  [[nodiscard]] trace::device_id device(std::int64_t ordinal);

  /// Call for a recording of AMD GPUs. For these, torch.profiler may identify the devices of work by their node in the
  /// system, which counts CPUs as well, but the devices of memory by ordinal.
  void expect_node_ids() { by_node_ = true; }
  /// Determines the ordinal of each node, from `of_memory` (all ordinals in memory events) and the ordinals passed to
  /// `describe`. Device numbers without a description are nodes. Call after all work and all descriptions were added.
  void match_nodes(const std::set<std::int64_t>& of_memory);
  /// Returns the device with an ordinal from a memory event.
  [[nodiscard]] trace::device_id device_of_memory(std::int64_t ordinal);

  /// Stores the "deviceProperties" of the device with this ordinal.
  void describe(std::int64_t ordinal, std::string_view name, std::uint64_t bytes, std::uint32_t major,
                std::uint32_t minor);
  /// Sets the ordinal and, if not empty, the name of the device that work identifies by `number`.
  void settle(std::int64_t number, std::int64_t ordinal, std::string_view name);
  /// Writes the rows again, now with all values. Streams get the names that the file gives to the threads of the
  /// device's "process".
  void finish(const chrome_tracks& tracks);

 private:
  struct numbers {
    std::int64_t device = 0, context = 0, stream = 0;
    friend bool operator==(const numbers&, const numbers&) = default;
  };
  struct numbers_hash {
    std::size_t operator()(const numbers& subject) const {
      std::uint64_t mixed = static_cast<std::uint64_t>(subject.device) * 0x9e3779b97f4a7c15U;
      mixed = (mixed ^ static_cast<std::uint64_t>(subject.context)) * 0x9e3779b97f4a7c15U;
      return static_cast<std::size_t>(mixed ^ static_cast<std::uint64_t>(subject.stream));
    }
  };

  struct properties {
    trace::string_id name{};
    std::uint64_t bytes = 0;
    std::uint32_t major = 0, minor = 0;
  };
  /// Returns the ordinal of the device that work identifies by `number`.
  [[nodiscard]] std::int64_t find_ordinal(std::int64_t number) const;
  void match_by_offset(const std::set<std::int64_t>& nodes, std::int64_t last_ordinal);
  void fill(trace::device_row& row) const;

  trace::file_writer& out_;
  bool by_node_ = false;
  std::map<std::int64_t, properties> properties_;         ///< Keyed by ordinal.
  std::map<std::int64_t, std::int64_t> ordinal_by_node_;  ///< Only nodes whose number differs from the ordinal.
  std::unordered_map<numbers, place, numbers_hash> places_;
  numbers last_{-1, -1, -1};
  place last_place_;
  std::map<std::int64_t, trace::device_row>
      devices_;  ///< Keyed by the number in work events or, for devices without work, by -1 - ordinal.
  std::map<std::pair<std::int64_t, std::int64_t>, trace::context_id> contexts_;
  std::map<std::pair<std::int64_t, std::int64_t>, trace::stream_row> streams_;  ///< Keyed by ordinal, number.
};

}  // namespace sluice::importing
