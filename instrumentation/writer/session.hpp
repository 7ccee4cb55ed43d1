#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.hpp"

/// The writer's side of a recording: a socket to which recorded processes send their rings, and a thread that drains them
/// into a trace. `sluice record` runs one in a process of its own; a program that records itself runs one in its own:
///
///   auto recording = collector::session::start("t.sluice", {.simulated = true});
///   collector::start(recording->socket_name().c_str(), {.clock = clock_kind::simulated_ns});
///   ... emit ...
///   collector::stop();
///   auto summary = recording->stop();
namespace sluice::collector {

struct session_options {
  bool sources = false;    ///< At the end, keep the source text around recorded Python frames.
  bool simulated = false;  ///< Every clock of this recording is simulated; processes with a real clock are turned away.
  std::chrono::milliseconds drain_period{20};
  std::chrono::milliseconds flush_period{100};  ///< A live reader sees the file grow this often.
  std::size_t checkpoint_every = 65536;         ///< Events between two checkpoints of the live set, at least.
  /// Keep the last part only, in a file of about this size; names and stacks are kept. 0: keep everything.
  std::uint64_t ring_bytes = 0;
  bool delayed = false;  ///< What happens before `begin_now` is forgotten, but for what is live then.
  /// NVIDIA's management library, which is asked at the end about links between GPUs that nobody told of. Empty: it is not, as in a
  /// program that records itself.
  std::string management_library{};
  bool dump_on_failure = false;        ///< Write a dump when an allocation fails.
  std::uint64_t dump_above_bytes = 0;  ///< And when more device memory than this is in use; 0: no limit.
  bool publish_later = false;  ///< The file takes its place when `publish` is called, and is removed if it is not.
};

/// What a recording came to.
struct session_summary {
  std::string path;
  std::uint64_t bytes = 0;          ///< Size of the file.
  std::uint64_t events = 0;         ///< Event rows written, the recorder's own included.
  std::uint64_t device_events = 0;  ///< Of those, what a driver or a device did: 0 means no CUDA activity was seen.
  std::uint64_t lost_events = 0;    ///< Dropped because a ring was full, or there was none.
  std::uint64_t lost_memory_events = 0;  ///< Of those, allocations and frees.
  std::uint64_t processes = 0;           ///< That recorded something.
  std::uint64_t unheard_processes =
      0;                              ///< That had something to record, or tried to, and no way to; `warnings` say why.
  std::vector<std::string> warnings;  ///< What the user should know, one line each; they are in the trace as well.
};

/// A recording in progress. Thread-safe, `stops_within` and `stop` excepted (one thread calls them).
class session {
 public:
  /// Creates `path`, opens the socket and starts the writer thread. An existing file is replaced once nothing can fail any more.
  /// Errors: io, no_space, invalid_argument (not a regular file), unavailable (no socket).
  [[nodiscard]] static result<session> start(const std::string& path, const session_options& options = {});

  session(session&&) noexcept;
  session& operator=(session&&) noexcept;
  ~session();  ///< Stops; an error is lost then.

  /// What `SLUICE_SOCKET` must say in a recorded process. Stable for the life of the session.
  [[nodiscard]] const std::string& socket_name() const;

  /// Puts the file of a session with `publish_later` in its place, soon and before `stop` returns. If the place has been taken by
  /// something else meanwhile, the file keeps the name that it has, and a warning says so.
  void publish();

  /// Puts a process in the table that may never say anything itself, such as the command that `sluice record` starts.
  void add_process(std::uint64_t pid, std::string_view command);

  /// `status` as a shell has it: 0..255, 128 + n for signal n. Kept with the process's row.
  void process_exited(std::uint64_t pid, int status);

  /// The end of the delay.
  void begin_now();

  /// Writes what there is now to a trace of its own beside the file (NAME-dump1.sluice, ...); `reason` is told in a warning.
  void dump(std::string_view reason);

  /// Adds a message of the recorder's own to the trace and to the summary's warnings.
  void warn(std::string_view text);

  /// Recorded processes that are still alive.
  [[nodiscard]] std::size_t live_processes() const;

  /// Blocks until everything that was emitted before this call has been written and flushed to the file.
  /// Errors: what the file met so far (io, no_space).
  result<void> sync();

  /// Lets the recording end, and waits for that so long. True once `stop` will not wait any more.
  [[nodiscard]] bool stops_within(std::chrono::milliseconds time);

  /// Ends the recording as soon as may be: what was recorded is written out, and what would make a large file open sooner is left
  /// out. For whoever cannot wait for `stop`. Before or during it.
  void cut_short();

  /// Drains what is left, ends the file and joins the thread. Records emitted after this call are lost.
  /// Errors: io, no_space: the file holds what came before. A second call fails with invalid_argument.
  [[nodiscard]] result<session_summary> stop();

 private:
  struct state;
  explicit session(std::unique_ptr<state> s);
  std::unique_ptr<state> state_;
};

}  // namespace sluice::collector
