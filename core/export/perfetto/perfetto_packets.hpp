#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>

#include "core/export/export.hpp"

/// Our part of Perfetto's protobuf: github.com/google/perfetto, protos/perfetto/trace. Private to core/export.
namespace sluice::exports {

/// A numeric annotation of an event, such as "bytes".
struct perfetto_figure {
  std::string_view name;
  std::uint64_t value = 0;
};

enum class perfetto_unit : std::uint8_t { unspecified = 0, nanoseconds = 1, bytes = 3 };

/// Writes one sequence of packets: track descriptors, events on tracks, and names, which are interned by their text.
/// Times are in ns and must not be negative. Errors are those of the output, and are remembered.
class perfetto_packets {
 public:
  explicit perfetto_packets(output& to) : to_(to) {}

  /// Relates the clocks at one moment: `boot` is the trace's clock; `real` is ns since 1970, 0 if unknown.
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
    std::uint64_t call = 0;     ///< Arrows begin here, to every event with this number as its `work_of`; 0: no arrow.
    std::uint64_t work_of = 0;  ///< The call whose arrow ends here. An event never has both.
    std::span<const std::uint64_t> flows, flow_ends;  ///< Arrows by their own ids.
    std::span<const perfetto_figure> figures;
  };
  void begin_slice(const event& of);
  void end_slice(std::uint64_t track, std::uint64_t time);
  void instant(const event& of);
  void counter(std::uint64_t track, std::uint64_t time, std::int64_t value);
  void counter(std::uint64_t track, std::uint64_t time, double value);

  [[nodiscard]] const result<void>& outcome() const { return outcome_; }

 private:
  /// Interned names of one kind, by text. Cleared when there are too many, which the format allows.
  struct names {
    std::unordered_map<std::string, std::uint64_t> known;
    std::uint32_t field = 0;
  };
  std::uint64_t intern(names& of, std::string_view text, std::string& fresh);
  void write_event(const event& of, std::uint32_t type);
  void write_packet(std::string_view packet);
  void forget_names_if_many();

  output& to_;
  result<void> outcome_;
  names categories_{{}, 1}, events_{{}, 2}, figures_{{}, 3};
  bool cleared_ = true;  ///< The next packet tells the reader to forget all names.
  std::string packet_, event_, fresh_, framed_;
};

}  // namespace sluice::exports
