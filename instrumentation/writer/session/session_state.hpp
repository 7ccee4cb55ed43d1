#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <thread>

#include "core/summary/passes/reorder_thread.hpp"
#include "instrumentation/writer/decoder/record_decoder.hpp"
#include "instrumentation/writer/session/client_list.hpp"
#include "instrumentation/writer/session/disk_limits.hpp"
#include "instrumentation/writer/session/listener.hpp"
#include "instrumentation/writer/session/recording_dumps.hpp"
#include "instrumentation/writer/session/session.hpp"
#include "instrumentation/writer/session/session_requests.hpp"
#include "instrumentation/writer/session/session_sampling.hpp"
#include "instrumentation/writer/session/warning_list.hpp"

/// The internals of a session: the state of its writer thread. Private to session.cpp and session/.
namespace sluice::writer {

/// Maximum size of the file, in bytes, while a delayed recording has not begun.
inline constexpr std::uint64_t ring_before_begin = std::uint64_t{64} << 20;

struct session::state {
  state(trace::file_writer f, listener l, const session_options& o, const clock_anchor& start);

  // Used only by the writer thread.
  trace::file_writer file;
  listener sockets;
  session_options options;
  record_decoder rows;
  warning_list warnings;
  client_list clients;
  session_sampling sampling;
  recording_dumps dumps;
  disk_limits disk;
  std::chrono::steady_clock::time_point last_flush = std::chrono::steady_clock::now();
  std::string dump_asked;         ///< Why a dump was requested; empty: no dump is requested.
  bool published = false;         ///< Set by `publish`.
  bool begun = false;             ///< Set by `begin_now`.
  bool discarded = false;         ///< True if the file was removed at the end.
  summary::reorder_thread ahead;  ///< Sorts the file while it is written.

  // Shared by all threads.
  session_requests requests;
  std::thread thread;

  /// The thread's function: runs turns until the recording is asked to end, then ends the file. A failure ends the
  /// recording, but not the process.
  void run();

  /// Gives the file its final name, once. Called by the writer thread, and by `stop` after that thread has ended.
  void publish();

 private:
  void record();
  void end_file();
  void end_early(const char* why);
  std::optional<error> finalize_file();
  void serve(const session_request& r);
  void begin_now();
  void ask_for_links();
  void flush();
  void look_ahead();
  void notice_failures();
};

}  // namespace sluice::writer
