#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/scratch_file.hpp"

namespace sluice::gui {

/// A demo that runs as a process of its own, `PROGRAM demo NAME --device D -o FILE`, so that the window stays free and a
/// demo that dies takes nothing with it. Belongs to one thread.
class demo_process {
 public:
  demo_process() = default;
  ~demo_process();
  demo_process(const demo_process&) = delete;
  demo_process& operator=(const demo_process&) = delete;

  /// Starts `name`; one at a time. Its recording grows at `recording()`, a scratch file.
  [[nodiscard]] result<void> start(const std::string& program, const std::string& name, const std::string& device);
  /// Asks it to end (SIGTERM, which `sluice record` passes on): the recording is closed properly.
  void stop();
  /// Looks after it; true once, when it has ended.
  bool ended();

  [[nodiscard]] bool running() const { return pid_ > 0; }
  [[nodiscard]] bool stopping() const { return stopping_; }
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const std::string& recording() const { return recording_; }
  /// 0..255, or 128 + n for a signal; of the last that ended.
  [[nodiscard]] int exit_status() const { return status_; }
  /// The last line it wrote on standard error; empty when it wrote none.
  [[nodiscard]] std::string last_words() const;

 private:
  pid_t pid_ = 0;
  bool stopping_ = false;
  int status_ = 0;
  std::string name_;
  std::vector<scratch_folder> folders_;  ///< One a demo: the window may still show an earlier one.
  std::string recording_;
  std::string errors_;
};

}  // namespace sluice::gui
