#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>

#include "core/export/export.hpp"

/// Writes the part of Perfetto's protobuf format that Sluice uses (github.com/google/perfetto, protos/perfetto/trace).
/// Private to core/export.
namespace sluice::exports {

/// A numeric annotation of an event, such as "bytes".
struct perfetto_metric {
  std::string_view name;
  std::uint64_t value = 0;
};

enum class perfetto_unit : std::uint8_t { unspecified = 0, nanoseconds = 1, bytes = 3 };

/// Writes one sequence of packets: track descriptors, events on tracks, and their names, which are interned. Times are
/// in ns and must not be negative. After an error of the output, `outcome` returns it.
class perfetto_packets {
 public:
  explicit perfetto_packets(output& to) : to_(to) {}

  /// Writes the values of the clocks at one moment. `boot` is the time on the trace's clock, and `real` the time in ns
  /// since 1970 or 0 if unknown.
  void clocks(std::uint64_t boot, std::uint64_t real);

  void process_track(std::uint64_t track, std::int32_t pid, std::string_view name);
  void thread_track(std::uint64_t track, std::uint64_t parent, std::int32_t pid, std::int32_t tid,
                    std::string_view name);
  void plain_track(std::uint64_t track, std::uint64_t parent, std::string_view name);
  void counter_track(std::uint64_t track, std::uint64_t parent, std::string_view name, perfetto_unit unit);

  struct event {
    std::uint64_t track = 0;
    std::uint64_t time = 0;
    std::string_view name, category;
    std::uint64_t call = 0;  ///< If not 0, arrows go from this event to each event that has this number as its
                             ///< `requested_by`.
    /// If not 0, an arrow from the event with this number as its `call` ends here. An event never has both.
    std::uint64_t requested_by = 0;
    /// The ids of other arrows that start at this event, and of those that end at it.
    std::span<const std::uint64_t> flows, flow_ends;
    std::span<const perfetto_metric> metrics;
  };
  void begin_slice(const event& row);
  void end_slice(std::uint64_t track, std::uint64_t time);
  void instant(const event& row);
  void counter(std::uint64_t track, std::uint64_t time, std::int64_t value);
  void counter(std::uint64_t track, std::uint64_t time, double value);

  [[nodiscard]] const result<void>& outcome() const { return outcome_; }

 private:
  /// Writes the packet of a track, whose descriptor `describe` completes.
  template <class Describe>
  void write_track(std::uint64_t track, Describe&& describe);
  /// The interned names of one kind. They are cleared when there are too many, which the format allows.
  struct names {
    std::unordered_map<std::string, std::uint64_t> known;
    std::uint32_t field = 0;
  };
  std::uint64_t intern(names& subject, std::string_view text, std::string& fresh);
  void write_event(const event& row, std::uint32_t type);
  void write_packet(std::string_view packet);
  void forget_names_if_many();

  output& to_;
  result<void> outcome_;
  names categories_{{}, 1}, events_{{}, 2}, metrics_{{}, 3};
  bool cleared_ = true;  ///< The next packet must tell the reader to clear all names.
  std::string packet_, event_, fresh_, framed_;
};

}  // namespace sluice::exports
