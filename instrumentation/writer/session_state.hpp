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

#include "instrumentation/writer/assembler/assembler.hpp"
#include "instrumentation/writer/listener.hpp"
#include "instrumentation/writer/session.hpp"

/// The inside of a session: what its writer thread keeps. Private to session.cpp and session_thread.cpp.
namespace sluice::collector {

/// A ring and what it belongs to.
struct open_ring {
  explicit open_ring(ring_reader r) : reader(std::move(r)) {}
  ring_reader reader;
  ring_source source;
  bool closing = false;  ///< Nothing new can come: drained once more, it goes.
};

/// A recorded process and whether it may still say something.
struct client {
  client(std::uint64_t number, const producer_identity& identity, recorded_process& p, process_watch w)
      : pid(number), start_time(identity.start_time), image(identity.image), process(&p), watch(std::move(w)) {}

  std::uint64_t pid;
  std::uint64_t start_time;  ///< With `image`: what tells two users of one pid apart. Both 0: it has said nothing yet.
  std::uint64_t image;
  recorded_process* process;
  process_watch watch;
  bool ended = false;
  int silent_turns = 0;  ///< Without a ring, since it ended.
};

/// What other threads ask of the writer thread.
struct session_request {
  enum class kind : std::uint8_t { add_process, process_exited, warn, begin_now, dump, publish };
  kind what{};
  std::uint64_t pid = 0;
  int status = 0;
  std::string text;
};

/// While a recording waits to begin, its file holds no more than this.
inline constexpr std::uint64_t ring_before_begin = std::uint64_t{64} << 20;

struct session::state {
  state(trace::file_writer f, listener l, const session_options& o, const clock_anchor& start);

  // The writer thread's own.
  trace::file_writer file;
  listener sockets;
  session_options options;
  assembler rows;
  std::vector<std::unique_ptr<open_ring>> rings;
  std::vector<client> clients;
  std::vector<std::string> warnings;
  std::chrono::steady_clock::time_point last_flush = std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point last_dump;  ///< On a trigger.
  int dumps = 0;
  std::size_t first_ring = 0;     ///< Of the next turn: where the last one had no room for more.
  std::uint64_t turned_away = 0;  ///< Rings that came and were too many.
  std::uint64_t unheard = 0;      ///< Processes that said that they had no ring.
  std::string dump_asked;         ///< Why; "" if nobody did.
  bool ring_failed = false;
  std::chrono::steady_clock::time_point next_ring{};    ///< Not cut before: there was no room for the copy.
  std::chrono::steady_clock::time_point next_resume{};  ///< While the disk is full.
  trace::dropped_rows lost_to_full_disk;

  // Everyone's.
  unique_descriptor wake;
  std::thread thread;
  std::atomic<bool> stopping{false};
  std::atomic<bool> hurried{false};  ///< See `cut_short`.
  std::atomic<bool> publish_asked{false};
  std::atomic<std::size_t> living{0};
  mutable std::mutex mutex;  ///< Guards what follows.
  std::condition_variable synced;
  std::condition_variable over;
  bool ended = false;  ///< The thread has nothing left to do.
  std::vector<session_request> requests;
  std::uint64_t sync_asked = 0;
  std::uint64_t sync_done = 0;
  std::optional<error> failure;  ///< The file's first.

  /// The thread's function: turns until `stopping`, then the end. Whatever goes wrong in it ends the recording, not the process.
  void run();

  void ask(session_request r);
  void wake_up() const;
  /// Puts the file in its place; does nothing the second time. For the thread, and for `stop` once it has ended.
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
  /// What is left in a ring when a turn has taken so much waits for the next.
  struct turned {
    bool filling = false;  ///< One of the rings fills fast.
    bool more = false;     ///< Something is left.
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
  void resume();
  void say_lost_to_full_disk();
  void keep_ring();
  void consider_dump();
  void dump(const std::string& reason);
  void add_warning(const std::string& text);
};

}  // namespace sluice::collector
