#pragma once

#include <string>
#include <vector>

#include "app/gui/shell/background.hpp"
#include "app/gui/views/parts/view.hpp"

namespace sluice::gui {

/// A line of `sluice doctor`.
struct doctor_line {
  std::string state;  ///< "ok", "warning" or "missing"; empty for a line about the whole machine.
  std::string name;   ///< What was checked, such as "driver".
  std::string text;
};

/// Splits the output of `sluice doctor` into lines. What is not a line of a check has only a text. Makes all texts
/// printable.
[[nodiscard]] std::vector<doctor_line> parse_doctor(const std::string& output);

/// Runs `PROGRAM doctor` and returns its output. Blocks, for some seconds at most. Errors: those of
/// `child_process::start` and `child_process::read_output`; unavailable in a browser.
[[nodiscard]] result<std::string> run_doctor(const std::string& program);

/// Shows what `sluice doctor` says about this machine: what recording here lacks, and what to do. Use from one thread.
class doctor_dialog {
 public:
  /// Opens the dialog, and runs `program` in the background.
  void open(const std::string& program);
  /// Returns true if the dialog was open.
  [[nodiscard]] bool close();
  [[nodiscard]] bool is_open() const { return open_; }
  /// True while the checks run.
  [[nodiscard]] bool reading() const { return running_.running(); }
  void draw(const view_context& with);

 private:
  bool open_ = false;
  std::string program_;
  std::string failure_;
  std::vector<doctor_line> lines_;
  background<result<std::string>> running_;
};

}  // namespace sluice::gui
