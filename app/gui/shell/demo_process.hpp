#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/scratch_file.hpp"

namespace sluice::gui {

/// Runs a demo as a child process, `PROGRAM demo NAME --device D -o FILE`. So the window stays responsive and a crash
/// of the demo does not affect it. Use from one thread.
class demo_process {
 public:
  demo_process() = default;
  ~demo_process();
  demo_process(const demo_process&) = delete;
  demo_process& operator=(const demo_process&) = delete;

  /// Starts demo `name`; one at a time. Its recording is written to `recording()`, a scratch file.
  [[nodiscard]] result<void> start(const std::string& program, const std::string& name, const std::string& device);
  /// Asks the demo to end with SIGTERM (which `sluice record` forwards), so that the recording is closed properly.
  void stop();
  /// Checks the process; returns true once, when it has ended.
  bool ended();

  [[nodiscard]] bool running() const { return pid_ > 0; }
  [[nodiscard]] bool stopping() const { return stopping_; }
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const std::string& recording() const { return recording_; }
  /// Exit status of the last demo that ended: 0..255, or 128 + n for signal n.
  [[nodiscard]] int exit_status() const { return status_; }
  /// The last line that the demo wrote to standard error; empty if none.
  [[nodiscard]] std::string last_words() const;

 private:
  pid_t pid_ = 0;
  bool stopping_ = false;
  int status_ = 0;
  std::string name_;
  std::vector<scratch_folder> folders_;  ///< One per demo: the window may still show an earlier one.
  std::string recording_;
  std::string errors_;
};

}  // namespace sluice::gui
