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
#include "instrumentation/writer/listener.hpp"
#include "instrumentation/writer/record_decoder/record_decoder.hpp"
#include "instrumentation/writer/session.hpp"

/// The internals of a session: the state of its writer thread. Private to session.cpp and session_thread.cpp.
namespace sluice::writer {

/// An open ring and its source.
struct open_ring {
  explicit open_ring(ring_reader r) : reader(std::move(r)) {}
  ring_reader reader;
  ring_source source;
  bool closing = false;  ///< True if no new data can arrive: the ring is drained once more and then dropped.
};

/// A recorded process, and whether it may still send data.
struct client {
  client(std::uint64_t number, const producer_identity& identity, recorded_process& p, process_watch w)
      : pid(number), start_time(identity.start_time), image(identity.image), process(&p), watch(std::move(w)) {}

  std::uint64_t pid;
  std::uint64_t start_time;  ///< With `image`, distinguishes processes with the same pid. Both are 0 before a ring.
  std::uint64_t image;
  recorded_process* process;
  process_watch watch;
  bool ended = false;
  int silent_turns = 0;  ///< Number of turns without a ring since the process ended.
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
  record_decoder rows;
  std::vector<std::unique_ptr<open_ring>> rings;
  std::vector<client> clients;
  std::vector<std::string> warnings;
  std::chrono::steady_clock::time_point last_flush = std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point last_dump;  ///< Time of the last triggered dump.
  int dumps = 0;
  std::size_t first_ring = 0;     ///< Index of the ring at which the next turn starts, because the last stopped there.
  std::uint64_t turned_away = 0;  ///< Number of rings rejected because there were too many.
  std::uint64_t unheard = 0;      ///< Number of processes that reported having no ring.
  bool failure_unsaved = false;   ///< True if the file contains a failure that is in no dump. See `keep_on_failure`.
  bool published = false;         ///< Set by `publish`.
  bool begun = false;             ///< Set by `begin_now`.
  bool discarded = false;
  std::vector<std::string> failure_dumps;
  std::string dump_asked;  ///< Why a dump was requested; empty: no dump is requested.
  bool ring_failed = false;
  std::chrono::steady_clock::time_point next_ring{};    ///< Next attempt to shorten the file, after a failed one.
  std::chrono::steady_clock::time_point next_resume{};  ///< Next attempt while the disk is full.
  trace::dropped_rows lost_to_disk;                     ///< Rows dropped because writes failed.
  error_code why_stopped = error_code::no_space;        ///< Error of the last failed write.
  summary::reorder_thread ahead;                        ///< Sorts the file while it is written.

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
  bool ended = false;  ///< True after the thread has finished.
  std::vector<session_request> requests;
  std::uint64_t sync_asked = 0;
  std::uint64_t sync_done = 0;
  std::optional<error> failure;  ///< The file's first error.

  /// The thread's function: runs turns until `stopping`, then ends the file. A failure ends the recording, but not the
  /// process.
  void run();

  void ask(session_request r);
  void wake_up() const;
  /// Gives the file its final name, once. Called by the writer thread, and by `stop` after that thread has ended.
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
  /// The result of a turn. If a turn reaches its size limit, the remaining data waits for the next turn.
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

}  // namespace sluice::writer
