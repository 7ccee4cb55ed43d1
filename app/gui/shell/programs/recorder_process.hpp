#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/files/scratch_file.hpp"
#include "core/base/system/child_process.hpp"

namespace sluice::gui {

/// The user's request to record a program.
struct record_request {
  std::vector<std::string> command;      ///< The program, then its arguments.
  std::vector<std::string> environment;  ///< "NAME=value", added to the window's own.
  std::string folder;                    ///< Working directory of the program; empty: that of the window process.
  std::string mode = "memory";           ///< The value of `sluice record --mode`.
  std::string stacks = "python";         ///< The value of `sluice record --stacks`.
  std::uint64_t ring_bytes = 0;          ///< Keep only the last part of the recording, of this size; 0: keep all of it.
  bool find_duplicates = false;
  bool sources = false;
};

/// The arguments of `sluice` that record the program of `request` to the file `output`.
[[nodiscard]] std::vector<std::string> record_words(const record_request& request, const std::string& output);

/// The absolute path at which a recording of `request` is stored: in the program's working directory, under the
/// program's name with ".sluice"; if that name is taken, with "-2.sluice" and so on. A folder that is not writable is
/// replaced by the user's data folder ($XDG_DATA_HOME/sluice or ~/.local/share/sluice), which need not exist yet. Reads
/// the file system and changes nothing. Errors: not_found if the program's folder does not exist; io if no folder can
/// be used.
[[nodiscard]] result<std::string> recording_place(const record_request& request);

/// Runs a demo or a recording of the user's program as a child process, so that the window stays responsive and
/// survives a crash of the program. A demo records to a scratch file, which this object deletes; a recording of the
/// user's program stays at `recording_place`. Use from one thread.
class recorder_process {
 public:
  recorder_process() = default;
  ~recorder_process();
  recorder_process(const recorder_process&) = delete;
  recorder_process& operator=(const recorder_process&) = delete;

  /// Starts `PROGRAM demo NAME --device D -o FILE`. Only one process can run at a time. If `device` is empty, the demo
  /// chooses the device.
  [[nodiscard]] result<void> start_demo(const std::string& program, const std::string& name, const std::string& device);
  /// Starts `PROGRAM record ... -o FILE -- COMMAND`, where FILE is at `recording_place`. Only one process can run at a
  /// time. Errors: invalid_argument, not_found, io.
  [[nodiscard]] result<void> start_recording(const std::string& program, const record_request& request);
  /// Ends the process with SIGTERM (which `sluice record` forwards), so that the recording is completed properly.
  void stop();
  /// Checks the process; returns true once, after the process has ended.
  bool ended();

  [[nodiscard]] bool running() const { return process_.running(); }
  [[nodiscard]] bool stopping() const { return stopping_; }
  /// True if the process that was started last is a demo.
  [[nodiscard]] bool is_demo() const { return is_demo_; }
  /// The demo's name, or the recorded command.
  [[nodiscard]] const std::string& name() const { return name_; }
  /// Absolute path of the recording; empty if no process has been started yet.
  [[nodiscard]] const std::string& recording() const { return recording_; }
  /// True while the user's program, not a demo, is being recorded.
  [[nodiscard]] bool records_program() const { return running() && !is_demo_; }
  /// Exit status of the process that ended last: 0..255, or 128 + n for signal n.
  [[nodiscard]] int exit_status() const { return process_.status().of_shell(); }
  /// The last line that the process wrote to standard error; empty if it wrote none.
  [[nodiscard]] std::string last_words() const;
  /// The end of the process's standard output and standard error: at most `max_lines` lines and `max_output` bytes. A
  /// demo's standard output is not included.
  [[nodiscard]] std::string output() const;

  static constexpr std::size_t max_output = std::size_t{32} << 10;
  static constexpr std::size_t max_lines = 200;

 private:
  [[nodiscard]] result<void> start(std::vector<std::string> words, const std::string& folder);
  [[nodiscard]] result<std::string> new_folder();

  child_process process_;
  bool stopping_ = false;
  bool is_demo_ = false;
  std::string name_;
  std::vector<scratch_folder> folders_;  ///< One per process. An earlier process's folder is kept because the window
                                         ///< may still show its recording.
  std::string recording_;
  std::string errors_;
};

}  // namespace sluice::gui
