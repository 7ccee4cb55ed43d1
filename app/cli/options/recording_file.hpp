#pragma once

#include <signal.h>

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/base/long_task.hpp"
#include "core/import/import.hpp"
#include "core/summary/passes/finalize.hpp"

namespace CLI {
class App;
}

/// Opens a verb's input file: a recording, or another tool's file, which is imported first.
namespace sluice::cli {

/// While this object exists, the first SIGHUP, SIGINT or SIGTERM cancels long-running work instead of ending the
/// program. A second signal of the same number has its usual effect. Shows progress on a terminal. Only one object at a
/// time.
class long_work {
 public:
  /// `subject` is the progress text, e.g. "importing a.json"; if empty, no progress is shown.
  explicit long_work(std::string subject);
  ~long_work();
  long_work(const long_work&) = delete;
  long_work& operator=(const long_work&) = delete;

  /// Options for the import functions.
  [[nodiscard]] importing::options importing() const;
  /// Options for `summary::summed_up`.
  [[nodiscard]] summary::unfinished_options summing_up() const;
  /// The argument of functions that take a long_task.
  [[nodiscard]] long_task task() const { return {&cancelled(), progress()}; }
  /// A function that shows the completed share, 0..1; empty if there is no terminal to show it on.
  [[nodiscard]] std::function<void(double)> progress() const;
  /// True if a signal has arrived since the most recent object was created.
  [[nodiscard]] static const std::atomic<bool>& cancelled();

 private:
  static void stop(int number);

  std::string what_;
  bool terminal_ = false;
};

/// The data that a verb needs: rows, or metrics of the whole recording. For metrics, a large unfinished recording is
/// summarized first.
enum class wanted_of_recording { rows, metrics };

/// Opens `path`, whichever tool wrote the file. `sources_from`: folders with the sources of an untrusted recording
/// (core/base/files/local_files.hpp); null: hides all sources. Prints one note if sources are hidden. `cache_bytes`: size of
/// the cache of decoded chunks. The verb's later outputs are as private as `path` (core/base/files/privacy.hpp).
/// Errors: those of `importing::open_any`.
[[nodiscard]] result<std::shared_ptr<trace::file>> open_recording(
    const std::string& path, wanted_of_recording wanted = wanted_of_recording::rows,
    const std::vector<std::string>* sources_from = nullptr,
    std::size_t cache_bytes = trace::reader_options{}.cache_bytes);

/// Declares the option --sources-from, which may be repeated.
void add_sources_option(CLI::App& command, std::vector<std::string>& sources_from);

}  // namespace sluice::cli
