#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/import/trace_events/event.hpp"
#include "core/trace/file/writer.hpp"

/// The processes and threads in a Chrome trace. Each thread is a track, to which its ranges and arrows belong. Private
/// to core/import.
namespace sluice::importing {

/// A slice at which an arrow may start or end.
struct chrome_slice {
  trace::time_ns begin = 0, end = -1;
  trace::event_id id{};
};

/// An arrow end whose slice has not been read yet.
struct chrome_arrow_end {
  std::uint64_t arrow = 0;  ///< A hash of the arrow's name, category and id.
  char phase = 0;
  trace::time_ns time = 0;
};

/// A range whose start ('B', 'b') has been read but whose end has not.
struct chrome_open_range {
  trace::time_ns begin = 0;
  trace::string_id name{}, domain{};
};

/// One thread, or one row of ranges that belong to no thread.
struct chrome_track {
  trace::process_id process{};
  trace::thread_id thread{};
  std::array<chrome_slice, 8> recent;  ///< The latest slices, as a ring buffer.
  std::uint32_t slices = 0;
  std::vector<chrome_open_range> open;
  std::vector<trace::time_ns> ends;  ///< The ends of ranges whose starts come later in the file.
  std::vector<chrome_arrow_end> waiting;

  void remember(const chrome_slice& slice) { recent[slices++ % recent.size()] = slice; }
  /// Returns the innermost recent slice that contains `time`, or none.
  [[nodiscard]] trace::event_id around(trace::time_ns time) const;
};

/// Creates a row for each process and thread when the first event of the process or thread is read. The file may give
/// its name later. Not thread-safe.
class chrome_tracks {
 public:
  explicit chrome_tracks(trace::file_writer& out);

  /// Returns the track of an event. It is valid as long as this object exists. O(1).
  [[nodiscard]] chrome_track& of(const chrome_ident& process, const chrome_ident& thread);
  /// Returns the track named `name` of a process, for ranges that belong to none of its threads.
  [[nodiscard]] chrome_track& beside(trace::process_id process, std::string_view name, std::uint64_t tid = 0);
  [[nodiscard]] trace::process_id find_process(const chrome_ident& process);
  /// Returns the process to which device work is attributed. This is the first process that has a number and a host
  /// event. It may get its number later.
  [[nodiscard]] trace::process_id main_process();

  void name_process(const chrome_ident& process, std::string_view name);
  void name_thread(const chrome_ident& process, const chrome_ident& thread, std::string_view name);
  /// Returns the name that the file has given so far to the thread with these numbers, or an empty text.
  [[nodiscard]] std::string_view thread_name(std::int64_t process, std::int64_t thread) const {
    return thread_name(chrome_ident{process, {}}, chrome_ident{thread, {}});
  }
  [[nodiscard]] std::string_view thread_name(const chrome_ident& process, const chrome_ident& thread) const;
  /// Returns the name that the file has given so far to a process, or an empty text.
  [[nodiscard]] std::string_view process_name(const chrome_ident& process) const;
  void set_rank(std::int64_t rank) { rank_ = rank; }

  /// Calls `visit` for each track.
  template <class Visit>
  void for_each(Visit&& visit) {
    for (chrome_track& track : tracks_) visit(track);
  }

  /// Writes the rows again whose names came later in the file.
  void finish();

 private:
  /// Returns a text that identifies a process or a thread.
  static std::string get_key(const chrome_ident& ident);
  static std::string get_key(const chrome_ident& process, const chrome_ident& thread);
  chrome_track& make(trace::process_id process, std::uint64_t tid, std::string_view name, std::string key);

  trace::file_writer& out_;
  std::deque<chrome_track> tracks_;
  std::unordered_map<std::string, chrome_track*> by_name_;
  struct numbers_hash {
    std::size_t operator()(const std::pair<std::int64_t, std::int64_t>& pair) const {
      return static_cast<std::size_t>(pair.first) * 0x9e3779b97f4a7c15U ^ static_cast<std::size_t>(pair.second);
    }
  };
  std::unordered_map<std::pair<std::int64_t, std::int64_t>, chrome_track*, numbers_hash> by_number_;
  std::unordered_map<std::string, trace::process_id> processes_;
  std::map<std::uint64_t, trace::process_row> process_rows_;
  std::map<std::uint64_t, trace::thread_row> thread_rows_;
  std::unordered_map<std::string, std::string> process_names_, thread_names_;
  std::unordered_map<std::string, std::uint64_t> thread_keys_;
  bool main_has_number_ = false;
  std::int64_t rank_ = -1;
};

}  // namespace sluice::importing
