#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.hpp"

/// The writer's side of a recording: sockets to which recorded processes send their rings, and a thread that writes the
/// rings' records into a trace. `sluice record` runs a session in a separate process; a program that records itself
/// runs the session in its own process:
///
///   auto recording = writer::session::start("t.sluice", {.simulated = true});
///   ring::start(recording->socket_name().c_str(), {.clock = clock_kind::simulated_ns});
///   ... emit ...
///   ring::stop();
///   auto summary = recording->stop();
namespace sluice::writer {

struct session_options {
  /// Sample the threads of recorded processes and of their descendants this many times per second of CPU time; 0: do
  /// not sample. Ignored if `simulated`.
  unsigned sampling_hz = 0;
  bool sources = false;    ///< At the end, store the source text around recorded Python frames.
  bool simulated = false;  ///< Expect simulated times only; processes with a real clock are rejected.
  std::chrono::milliseconds drain_period{20};
  std::chrono::milliseconds flush_period{100};  ///< How often data is flushed to the file for live readers.
  std::size_t checkpoint_every = 65536;         ///< Minimum number of events between two checkpoints of the live set.
  /// Keep only the last part, in a file of about this many bytes; names and stacks are always kept. 0: keep everything.
  std::uint64_t ring_bytes = 0;
  /// From this many events on, a low-priority thread sorts the recording while it is written, which shortens `stop`.
  std::uint64_t reorder_from = 1'000'000;
  bool delayed = false;  ///< Drop all events before `begin_now`; blocks that are live at that time are kept.
  /// NVIDIA's management library (NVML), queried at the end for the NVLinks of GPUs whose links no process reported.
  /// Empty: no query, as in a program that records itself.
  std::string management_library{};
  bool dump_on_failure = false;        ///< Write a dump (a copy of the recording so far) when an allocation fails.
  std::uint64_t dump_above_bytes = 0;  ///< Write a dump when more device memory than this is in use; 0: never.
  /// With `publish_later`: keep the file only if an allocation failure reaches the program; otherwise discard it at the
  /// end. If `ring_bytes` requires cutting off the part with such a failure, a dump is written first.
  bool keep_on_failure = false;
  /// Replace an existing file, and keep the new file, only if `publish` is called; otherwise remove the new file at the
  /// end. If the name is still free, it is claimed at the start in any case.
  bool publish_later = false;
  bool replaces = true;  ///< An existing file may be replaced: see `trace::writer_options`.
};

/// The result of a recording.
struct session_summary {
  std::string path;
  std::uint64_t bytes = 0;               ///< Size of the file in bytes.
  std::uint64_t events = 0;              ///< Number of event rows, including the recorder's own.
  std::uint64_t device_events = 0;       ///< Number of events of a driver or device; 0: no CUDA activity was seen.
  std::uint64_t lost_events = 0;         ///< Number of events dropped because a ring was full or missing.
  std::uint64_t lost_memory_events = 0;  ///< Number of lost events that are allocations or frees.
  std::uint64_t processes = 0;           ///< Number of processes that recorded something.
  std::uint64_t unheard_processes = 0;   ///< Processes with events, but without a way to send them; see `warnings`.
  bool discarded = false;                ///< True if the file was not kept: see `keep_on_failure`.
  std::vector<std::string> dumps;        ///< Files written by `keep_on_failure`.
  std::vector<std::string> warnings;     ///< Messages for the user, one line each; also in the trace.
};

/// A running recording. Thread-safe, except that only one thread may call `stops_within` and `stop`.
class session {
 public:
  /// Creates `path`, opens the sockets and starts the writer thread. Replaces an existing file only after everything
  /// that can fail has succeeded. If several sessions, in any process, start with the same `path` at the same instant,
  /// one session gets the name and the others fail. Errors: io, no_space, invalid_argument (not a regular file, or an
  /// existing file that must not be replaced), unavailable (no socket).
  [[nodiscard]] static result<session> start(const std::string& path, const session_options& options = {});

  session(session&&) noexcept;
  session& operator=(session&&) noexcept;
  ~session();  ///< Stops the recording. Errors are ignored.

  /// The value for `SLUICE_SOCKET` in recorded processes. Never changes.
  [[nodiscard]] const std::string& socket_name() const;

  /// Keeps the file of a session with `publish_later` and gives the file its final name, replacing an existing file.
  /// This happens soon, at the latest in `stop`. If another file has taken the name meanwhile, warns and keeps the
  /// file's current name.
  void publish();

  /// Adds a process to the trace's table even if it may never send a record, such as the command that `sluice record`
  /// starts.
  void add_process(std::uint64_t pid, std::string_view command);

  /// Stores the exit status of a process, as a shell reports it: 0..255, or 128 + n for signal n.
  void process_exited(std::uint64_t pid, int status);

  /// With `delayed`: begins recording now.
  void begin_now();

  /// Copies the recording so far to a file in the same folder (NAME-dump1.sluice, ...). A warning contains `reason`.
  void dump(std::string_view reason);

  /// Adds a message of the recorder to the trace and to the warnings in the summary.
  void warn(std::string_view text);

  /// The number of recorded processes that are still alive.
  [[nodiscard]] std::size_t live_processes() const;

  /// Blocks until everything emitted before this call is written and flushed
  /// to the file. Errors: the first error of the file (io, no_space).
  result<void> sync();

  /// Asks the recording to end, and waits up to `time` for that. Returns true if `stop` would no longer block.
  [[nodiscard]] bool stops_within(std::chrono::milliseconds time);

  /// Makes `stop` faster, for callers that cannot wait: recorded data is written, but not the summaries that let
  /// large files open faster. Call this before or during `stop`.
  void cut_short();

  /// Drains the remaining records, ends the file and joins the thread. Records emitted after this call are lost.
  /// Errors: io, no_space; the file then contains the data written earlier. A second call fails with invalid_argument.
  [[nodiscard]] result<session_summary> stop();

 private:
  struct state;
  explicit session(std::unique_ptr<state> s);
  std::unique_ptr<state> state_;
};

}  // namespace sluice::writer
