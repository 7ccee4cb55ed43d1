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

/// Opens the input file of a verb: a recording, or another tool's file, which is imported first.
namespace sluice::cli {

/// During its lifetime, the first SIGHUP, SIGINT or SIGTERM cancels long-running work instead of ending the program. A
/// second signal of the same number acts as without it. Shows progress on a terminal. One object at a time.
class long_work {
 public:
  /// `what` is the progress text, e.g. "importing a.json"; if empty, no progress is shown.
  explicit long_work(std::string what);
  ~long_work();
  long_work(const long_work&) = delete;
  long_work& operator=(const long_work&) = delete;

  /// Options for the import functions.
  [[nodiscard]] importing::options importing() const;
  /// Options for `analysis::summed_up`.
  [[nodiscard]] analysis::unfinished_options summing_up() const;
  /// Argument for functions that take a long_task.
  [[nodiscard]] long_task task() const { return {&cancelled(), progress()}; }
  /// A function that shows the completed share, 0..1; empty if there is no terminal.
  [[nodiscard]] std::function<void(double)> progress() const;
  /// True if a signal arrived since the last object was created.
  [[nodiscard]] static const std::atomic<bool>& cancelled();

 private:
  static void stop(int number);

  std::string what_;
  bool terminal_ = false;
};

/// What a verb needs: rows, or figures about the whole recording (then a large unfinished recording is summarized).
enum class wanted_of_recording { rows, figures };

/// Opens `path`, whichever tool wrote it. `sources_from`: folders with sources of an untrusted recording
/// (core/base/local_files.hpp); one note if sources are hidden. Null: hides all. `cache_bytes`: for decoded chunks. What
/// the verb writes afterwards is as private as `path` (core/base/outputs/privacy.hpp). Errors: as `importing::open_any`.
[[nodiscard]] result<std::shared_ptr<trace::file>> open_recording(
    const std::string& path, wanted_of_recording wanted = wanted_of_recording::rows,
    const std::vector<std::string>* sources_from = nullptr,
    std::size_t cache_bytes = trace::reader_options{}.cache_bytes);

/// Declares --sources-from, which may be repeated.
void add_sources_option(CLI::App& command, std::vector<std::string>& sources_from);

}  // namespace sluice::cli
