#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/scratch_file.hpp"

namespace sluice::gui {

/// A program to record, as the user asks for it.
struct record_request {
  std::vector<std::string> command;      ///< The program, then its arguments.
  std::vector<std::string> environment;  ///< "NAME=value", added to the window's own.
  std::string folder;                    ///< Where the program runs; empty: where the window does.
  std::string mode = "memory";           ///< As `sluice record --mode`.
  std::string stacks = "python";         ///< As `sluice record --stacks`.
  std::uint64_t ring_bytes = 0;          ///< Keep only the last part, of this size; 0: keep all.
  bool find_duplicates = false;
  bool sources = false;
};

/// The words of `sluice record` after the program, for `request`, with its recording at `output`, a path.
[[nodiscard]] std::vector<std::string> record_words(const record_request& request, const std::string& output);

/// Where a recording of `request` goes, as an absolute path: to the folder in which the program runs, under the program's
/// name with ".sluice", or "-2.sluice" and so on where that is taken. A folder that may not be written is replaced by
/// the user's data folder ($XDG_DATA_HOME/sluice or ~/.local/share/sluice), which need not exist yet. Looks at the file
/// system and changes nothing. Errors: not_found if the program's folder does not exist; io if no folder is left.
[[nodiscard]] result<std::string> recording_place(const record_request& request);

/// Runs a demo or a recording of the user's program as a child process, so the window stays responsive and a crash of
/// the program does not affect it. A demo records to a scratch file, which goes with this object; a recording of the
/// user's program stays where `recording_place` says. Use from one thread.
class recorder_process {
 public:
  recorder_process() = default;
  ~recorder_process();
  recorder_process(const recorder_process&) = delete;
  recorder_process& operator=(const recorder_process&) = delete;

  /// Starts `PROGRAM demo NAME --device D -o FILE`; one process at a time. An empty `device`: the demo chooses.
  [[nodiscard]] result<void> start_demo(const std::string& program, const std::string& name, const std::string& device);
  /// Starts `PROGRAM record ... -o FILE -- COMMAND`, FILE at `recording_place`; one process at a time. Errors:
  /// invalid_argument, not_found, io.
  [[nodiscard]] result<void> start_recording(const std::string& program, const record_request& request);
  /// Asks the process to end with SIGTERM (which `sluice record` forwards), so that the recording is closed properly.
  void stop();
  /// Checks the process; returns true once, when it has ended.
  bool ended();

  [[nodiscard]] bool running() const { return pid_ > 0; }
  [[nodiscard]] bool stopping() const { return stopping_; }
  /// True if the last process started was a demo.
  [[nodiscard]] bool is_demo() const { return is_demo_; }
  /// The demo's name, or the command.
  [[nodiscard]] const std::string& name() const { return name_; }
  /// Absolute path of the recording; empty if nothing was started yet.
  [[nodiscard]] const std::string& recording() const { return recording_; }
  /// True while the user's program is recorded, not a demo.
  [[nodiscard]] bool records_program() const { return running() && !is_demo_; }
  /// Exit status of the last process that ended: 0..255, or 128 + n for signal n.
  [[nodiscard]] int exit_status() const { return status_; }
  /// The last line that the process wrote to standard error; empty if none.
  [[nodiscard]] std::string last_words() const;
  /// The end of what the process has written to standard output and error: at most `most_lines` lines and `most_output`
  /// bytes. A demo's standard output is not kept.
  [[nodiscard]] std::string output() const;

  static constexpr std::size_t most_output = std::size_t{32} << 10;
  static constexpr std::size_t most_lines = 200;

 private:
  [[nodiscard]] result<void> start(const std::vector<std::string>& words, const std::string& folder,
                                   const char* output);
  [[nodiscard]] result<std::string> new_folder();

  pid_t pid_ = 0;
  bool stopping_ = false;
  bool is_demo_ = false;
  int status_ = 0;
  std::string name_;
  std::vector<scratch_folder> folders_;  ///< One per process: the window may still show an earlier one.
  std::string recording_;
  std::string errors_;
};

}  // namespace sluice::gui
