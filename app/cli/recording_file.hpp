#pragma once

#include <memory>
#include <string>

#include "core/import/import.hpp"

/// Opening what a verb is given: a trace, or a foreign file, which is imported first.
namespace sluice::cli {

/// While it lives, Ctrl-C (SIGINT) and SIGTERM cancel the import instead of ending the program, and a terminal shows how far it is.
/// One at a time.
class import_progress {
 public:
  explicit import_progress(std::string path);
  ~import_progress();
  import_progress(const import_progress&) = delete;
  import_progress& operator=(const import_progress&) = delete;

  /// What to hand to the importing functions.
  [[nodiscard]] importing::options options() const;

 private:
  std::string path_;
  bool terminal_ = false;
  void (*interrupt_before_)(int) = nullptr;
  void (*terminate_before_)(int) = nullptr;
};

/// Opens `path` for reading, whatever recorded it. Errors: as `importing::open_any`.
[[nodiscard]] result<std::shared_ptr<trace::file>> open_recording(const std::string& path);

}  // namespace sluice::cli
