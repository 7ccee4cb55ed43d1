#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/summary/passes/reorder_thread.hpp"
#include "instrumentation/writer/assembler/assembler.hpp"
#include "instrumentation/writer/listener.hpp"
#include "instrumentation/writer/session.hpp"

/// The internals of a session: the state of its writer thread. Private to session.cpp and session_thread.cpp.
namespace sluice::collector {

/// An open ring and its source.
struct open_ring {
  explicit open_ring(ring_reader r) : reader(std::move(r)) {}
  ring_reader reader;
  ring_source source;
  bool closing = false;  ///< No new data can come: drain it once more, then drop it.
};

/// A recorded process, and whether it may still send data.
struct client {
  client(std::uint64_t number, const producer_identity& identity, recorded_process& p, process_watch w)
      : pid(number), start_time(identity.start_time), image(identity.image), process(&p), watch(std::move(w)) {}

  std::uint64_t pid;
  std::uint64_t start_time;  ///< With `image`, distinguishes processes with the same pid. Both 0: no ring yet.
  std::uint64_t image;
  recorded_process* process;
  process_watch watch;
  bool ended = false;
  int silent_turns = 0;  ///< Turns without a ring since it ended.
};

/// A request of another thread to the writer thread.
struct session_request {
  enum class kind : std::uint8_t { add_process, process_exited, warn, begin_now, dump, publish };
  kind what{};
  std::uint64_t pid = 0;
  int status = 0;
  std::string text;
};

/// Maximum size of the file, in bytes, while a delayed recording has not begun.
inline constexpr std::uint64_t ring_before_begin = std::uint64_t{64} << 20;

struct session::state {
  state(trace::file_writer f, listener l, const session_options& o, const clock_anchor& start);

  // Used only by the writer thread.
  trace::file_writer file;
  listener sockets;
  session_options options;
  assembler rows;
  std::vector<std::unique_ptr<open_ring>> rings;
  std::vector<client> clients;
  std::vector<std::string> warnings;
  std::chrono::steady_clock::time_point last_flush = std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point last_dump;  ///< Time of the last triggered dump.
  int dumps = 0;
  std::size_t first_ring = 0;     ///< Index of the first ring in the next turn; the last turn ran out of space there.
  std::uint64_t turned_away = 0;  ///< Number of rings rejected because there were too many.
  std::uint64_t unheard = 0;      ///< Number of processes that reported having no ring.
  bool failure_unsaved = false;   ///< The file holds a failure that is in no dump. See `keep_on_failure`.
  bool published = false;         ///< By `publish`.
  bool begun = false;             ///< By `begin_now`.
  bool discarded = false;
  std::vector<std::string> failure_dumps;
  std::string dump_asked;  ///< Reason of a requested dump; empty: none requested.
  bool ring_failed = false;
  std::chrono::steady_clock::time_point next_ring{};    ///< Do not shorten the file before this time: no disk space.
  std::chrono::steady_clock::time_point next_resume{};  ///< Next attempt while the disk is full.
  trace::dropped_rows lost_to_disk;                     ///< Because writes failed.
  error_code why_stopped = error_code::no_space;        ///< Of the last failed write.
  analysis::reorder_thread ahead;                       ///< Puts the file in order while it is written.

  // Shared by all threads.
  unique_descriptor wake;
  std::thread thread;
  std::atomic<bool> stopping{false};
  std::atomic<bool> hurried{false};  ///< See `cut_short`.
  std::atomic<bool> publish_asked{false};
  std::atomic<std::size_t> living{0};
  mutable std::mutex mutex;  ///< Guards all members below.
  std::condition_variable synced;
  std::condition_variable over;
  bool ended = false;  ///< The thread has finished.
  std::vector<session_request> requests;
  std::uint64_t sync_asked = 0;
  std::uint64_t sync_done = 0;
  std::optional<error> failure;  ///< The file's first error.

  /// The thread's function: runs turns until `stopping`, then ends the file. A failure ends only the recording.
  void run();

  void ask(session_request r);
  void wake_up() const;
  /// Gives the file its name, once. For the writer thread, and for `stop` after that thread has ended.
  void publish();

 private:
  void record();
  void end_file();
  void end_early(const char* why);
  std::uint64_t take_requests();
  void serve(const session_request& r);
  void add_command(std::uint64_t pid, const std::string& text);
  void welcome_arrivals();
  recorded_process& process_of(const producer_identity& identity, std::uint64_t pid);
  /// The result of a turn. If the turn reaches its size limit, the rest of a ring waits for the next turn.
  struct turned {
    bool filling = false;  ///< True if a ring is filling quickly.
    bool more = false;     ///< True if some ring still has data.
  };
  turned turn();
  bool take_from(open_ring& ring, std::size_t& room, turned& found);
  void take_all();
  void take_notes();
  [[nodiscard]] process_watch watch(std::uint64_t pid) const;
  void ask_for_links();
  void drop_closed_rings(bool all);
  void notice_ended_processes();
  void end(client& c);
  void flush();
  void look_ahead();
  void resume();
  void say_lost_to_disk();
  void keep_ring();
  void consider_dump();
  void dump(const std::string& reason);
  /// Copies the recording so far to the next free dump name. Returns that name.
  result<std::string> write_dump();
  void notice_failures();
  void save_failure();
  void add_warning(const std::string& text);
};

}  // namespace sluice::collector
