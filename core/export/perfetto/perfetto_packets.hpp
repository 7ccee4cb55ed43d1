#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>

#include "core/export/export.hpp"

/// Perfetto's protobuf, as far as we write it: https://github.com/google/perfetto, protos/perfetto/trace. Private to core/export.
namespace sluice::exports {

/// A figure beside an event, such as "bytes".
struct perfetto_figure {
  std::string_view name;
  std::uint64_t value = 0;
};

enum class perfetto_unit : std::uint8_t { unspecified = 0, nanoseconds = 1, bytes = 3 };

/// Writes packets of one sequence: descriptors of tracks, events on them, and the names that they share, each once. Names are interned
/// by their text; times are in ns and must not be negative. Errors are the output's, and stay.
class perfetto_packets {
 public:
  explicit perfetto_packets(output& to) : to_(to) {}

  /// The clocks at one moment: `boot` is the trace's own; `real` since 1970, 0 if not known.
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
    std::uint64_t call = 0;     ///< Arrows begin here, to each event that says this number as `work_of`; 0: none.
    std::uint64_t work_of = 0;  ///< The call whose arrow ends here. No event has both.
    std::span<const std::uint64_t> flows, flow_ends;  ///< Arrows with a number of their own.
    std::span<const perfetto_figure> figures;
  };
  void begin_slice(const event& of);
  void end_slice(std::uint64_t track, std::uint64_t time);
  void instant(const event& of);
  void counter(std::uint64_t track, std::uint64_t time, std::int64_t value);
  void counter(std::uint64_t track, std::uint64_t time, double value);

  [[nodiscard]] const result<void>& outcome() const { return outcome_; }

 private:
  /// Names of one kind by text; cleared when there are too many to remember, as the format allows.
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
  bool cleared_ = true;  ///< The next packet says that no name is known.
  std::string packet_, event_, fresh_, framed_;
};

}  // namespace sluice::exports
