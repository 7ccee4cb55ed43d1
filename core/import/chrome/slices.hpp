#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/import/chrome/event.hpp"
#include "core/import/chrome/tracks.hpp"
#include "core/trace/file/writer.hpp"

namespace sluice::importing {

/// Content of Chrome traces from any tool: ranges, marks, counters, and arrows between ranges. Private to core/import.
class chrome_slices {
 public:
  chrome_slices(trace::file_writer& out, chrome_tracks& tracks) : out_(out), tracks_(tracks) {}

  /// Adds a complete range ('X').
  void add_range(const chrome_event& event, trace::time_ns begin, trace::time_ns end, chrome_track& track);
  /// Add the begin ('B') and the end ('E') of a thread's range. In the file an end may come before its begin.
  void begin_range(const chrome_event& event, trace::time_ns time, chrome_track& track);
  void end_range(trace::time_ns time, chrome_track& track);
  /// Adds 'b', 'e' or 'n': ranges of an id instead of a thread. An end may come before its begin.
  void add_asynchronous(const chrome_event& event, trace::time_ns time, char phase);
  void add_mark(const chrome_event& event, trace::time_ns time);
  /// Adds one counter per value. Returns how many values are not numbers.
  std::size_t add_counter(const chrome_event& event, trace::time_ns time, const chrome_argument* values);
  /// Adds an end of an arrow ('s', 't', 'f').
  void add_arrow(const chrome_event& event, trace::time_ns time, chrome_track& track);

  struct figures {
    std::uint64_t arrows = 0;                   ///< Links written.
    std::uint64_t loose = 0;                    ///< Arrow ends without a range or without another end.
    std::uint64_t open_ranges = 0;              ///< Ranges that never ended.
    std::uint64_t loose_ends = 0;               ///< Ends of a thread's ranges that never began.
    std::uint64_t loose_asynchronous_ends = 0;  ///< Ends of asynchronous ranges that never began.
  };
  /// Writes the open ranges without an end. Returns the final counts.
  figures finish();

 private:
  struct counter {
    trace::counter_id id{};
    trace::process_id process{};
  };
  /// An arrow with one known end.
  struct arrow {
    trace::event_id from{}, to{};
  };

  trace::string_id domain_of(const chrome_event& event);
  trace::event_id write_range(const chrome_open_range& range, trace::time_ns end, const chrome_track& track);
  static void keep_end(std::vector<trace::time_ns>& ends, trace::time_ns time, std::uint64_t& lost);
  void settle(chrome_track& track, const chrome_slice& slice);
  void tie(const chrome_arrow_end& end, trace::event_id slice);
  const counter& counter_of(const chrome_event& event, std::string_view series);

  trace::file_writer& out_;
  chrome_tracks& tracks_;
  std::string last_domain_;
  trace::string_id last_domain_id_{};
  std::unordered_map<std::string, counter> counters_;
  std::unordered_map<std::uint64_t, arrow> arrows_;
  struct asynchronous {
    chrome_track* track = nullptr;
    std::vector<chrome_open_range> open;
    std::vector<trace::time_ns> ends;  ///< Ends that come before their begins in the file.
  };
  std::unordered_map<std::string, asynchronous> asynchronous_;
  std::string key_;
  figures figures_;
};

}  // namespace sluice::importing
