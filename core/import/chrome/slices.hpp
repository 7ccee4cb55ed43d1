#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/import/trace_events/event.hpp"
#include "core/import/trace_events/tracks.hpp"
#include "core/trace/file/writer.hpp"

namespace sluice::importing {

/// Imports the events that Chrome traces of all tools have: ranges, marks, counters, and arrows that link ranges.
/// Private to core/import.
class chrome_slices {
 public:
  chrome_slices(trace::file_writer& out, chrome_tracks& tracks) : out_(out), tracks_(tracks) {}

  /// Adds a complete range ('X').
  void add_range(const chrome_event& event, trace::time_ns begin, trace::time_ns end, chrome_track& track);
  /// `begin_range` adds the start ('B') and `end_range` the end ('E') of a thread's range. In the file, an end may come
  /// before its start.
  void begin_range(const chrome_event& event, trace::time_ns time, chrome_track& track);
  void end_range(trace::time_ns time, chrome_track& track);
  /// Adds the start ('b') or the end ('e') of a range that belongs to an id instead of a thread, or a mark ('n') with
  /// an id. In the file, an end may come before its start.
  void add_asynchronous(const chrome_event& event, trace::time_ns time, char phase);
  void add_mark(const chrome_event& event, trace::time_ns time);
  /// Adds a sample of one counter for each value. Returns the number of values that are not numbers.
  std::size_t add_counter(const chrome_event& event, trace::time_ns time, const chrome_argument* values);
  /// Adds the start ('s'), an intermediate point ('t') or the end ('f') of an arrow.
  void add_arrow(const chrome_event& event, trace::time_ns time, chrome_track& track);

  struct metrics {
    std::uint64_t arrows = 0;                   ///< The number of links written.
    std::uint64_t loose = 0;                    ///< The number of arrow ends that have no range or no other end.
    std::uint64_t open_ranges = 0;              ///< The number of ranges without an end.
    std::uint64_t loose_ends = 0;               ///< The number of ends of a thread's ranges without a start.
    std::uint64_t loose_asynchronous_ends = 0;  ///< The number of ends of asynchronous ranges without a start.
  };
  /// Writes the ranges that are still open, without an end time. Returns the final counts.
  metrics finish();

 private:
  struct counter {
    trace::counter_id id{};
    trace::process_id process{};
  };
  /// An arrow of which one end has been read.
  struct arrow {
    trace::event_id from{}, to{};
  };

  trace::string_id find_domain(const chrome_event& event);
  trace::event_id write_range(const chrome_open_range& range, trace::time_ns end, const chrome_track& track);
  static void keep_end(std::vector<trace::time_ns>& ends, trace::time_ns time, std::uint64_t& lost);
  void settle(chrome_track& track, const chrome_slice& slice);
  void tie(const chrome_arrow_end& end, trace::event_id slice);
  const counter& get_counter(const chrome_event& event, std::string_view series);

  trace::file_writer& out_;
  chrome_tracks& tracks_;
  std::string last_domain_;
  trace::string_id last_domain_id_{};
  std::unordered_map<std::string, counter> counters_;
  std::unordered_map<std::uint64_t, arrow> arrows_;
  struct asynchronous {
    chrome_track* track = nullptr;
    std::vector<chrome_open_range> open;
    std::vector<trace::time_ns> ends;  ///< Ends whose starts come later in the file.
  };
  std::unordered_map<std::string, asynchronous> asynchronous_;
  std::string key_;
  metrics metrics_;
};

}  // namespace sluice::importing
