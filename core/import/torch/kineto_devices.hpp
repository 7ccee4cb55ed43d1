#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>

#include "core/import/chrome/tracks.hpp"
#include "core/trace/file/writer.hpp"

namespace sluice::importing {

/// Resolves the numbers of devices, contexts and streams in torch.profiler's events. Private to core/import.
class kineto_devices {
 public:
  struct place {
    trace::device_id device{};
    trace::context_id context{};
    trace::stream_id stream{};
  };

  explicit kineto_devices(trace::file_writer& out) : out_(out) {}

  /// Resolves an event's numbers. Creates the rows on first use. O(1).
  [[nodiscard]] place of(trace::process_id process, std::int64_t device, std::int64_t context, std::int64_t stream);
  [[nodiscard]] trace::device_id device(std::int64_t ordinal);

  /// On AMD GPUs, torch.profiler may name the devices of work by their node in the system, which counts processors too,
  /// but the devices of memory by ordinal. Call this for a recording of such a GPU.
  void expect_node_ids() { by_node_ = true; }
  /// Finds each node's ordinal, from all ordinals in memory events and from `describe`. Numbers of devices that were not
  /// described are nodes, too. Call when all work and all descriptions are added.
  void match_nodes(const std::set<std::int64_t>& of_memory);
  /// The device with an ordinal that a memory event names.
  [[nodiscard]] trace::device_id device_of_memory(std::int64_t ordinal);

  /// Stores the "deviceProperties" of the device with this ordinal.
  void describe(std::int64_t ordinal, std::string_view name, std::uint64_t bytes, std::uint32_t major,
                std::uint32_t minor);
  /// Gives the device that work names by `number` an ordinal and, if it is not empty, a name.
  void settle(std::int64_t number, std::int64_t ordinal, std::string_view name);
  /// Writes the rows again, completed. Streams are named like the threads of the device's process in the file.
  void finish(const chrome_tracks& tracks);

 private:
  struct numbers {
    std::int64_t device = 0, context = 0, stream = 0;
    friend bool operator==(const numbers&, const numbers&) = default;
  };
  struct numbers_hash {
    std::size_t operator()(const numbers& of) const {
      std::uint64_t mixed = static_cast<std::uint64_t>(of.device) * 0x9e3779b97f4a7c15U;
      mixed = (mixed ^ static_cast<std::uint64_t>(of.context)) * 0x9e3779b97f4a7c15U;
      return static_cast<std::size_t>(mixed ^ static_cast<std::uint64_t>(of.stream));
    }
  };

  struct properties {
    trace::string_id name{};
    std::uint64_t bytes = 0;
    std::uint32_t major = 0, minor = 0;
  };
  /// The ordinal of the device that work names by `number`.
  [[nodiscard]] std::int64_t ordinal_of(std::int64_t number) const;
  void match_by_offset(const std::set<std::int64_t>& nodes, std::int64_t last_ordinal);
  void fill(trace::device_row& row) const;

  trace::file_writer& out_;
  bool by_node_ = false;
  std::map<std::int64_t, properties> properties_;         ///< By ordinal.
  std::map<std::int64_t, std::int64_t> ordinal_by_node_;  ///< Only where the two differ.
  std::unordered_map<numbers, place, numbers_hash> places_;
  numbers last_{-1, -1, -1};
  place last_place_;
  std::map<std::int64_t, trace::device_row>
      devices_;  ///< By the number in events of work; devices without work: by -1 - ordinal. Written by `finish`.
  std::map<std::pair<std::int64_t, std::int64_t>, trace::context_id> contexts_;
  std::map<std::pair<std::int64_t, std::int64_t>, trace::stream_row> streams_;  ///< By ordinal and number.
};

}  // namespace sluice::importing
