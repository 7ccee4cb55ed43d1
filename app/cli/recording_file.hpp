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

/// Opening what a verb is given: a trace, or a foreign file, which is imported first.
namespace sluice::cli {

/// While it lives, a first SIGHUP, SIGINT or SIGTERM cancels what takes long instead of ending the program, and a terminal shows the
/// progress. A second one of the same kind does what it did before. One at a time.
class long_work {
 public:
  /// `what`: as "importing a.json"; empty: no progress is shown.
  explicit long_work(std::string what);
  ~long_work();
  long_work(const long_work&) = delete;
  long_work& operator=(const long_work&) = delete;

  /// What to hand to the importing functions.
  [[nodiscard]] importing::options importing() const;
  /// What to hand to `analysis::summed_up`.
  [[nodiscard]] analysis::unfinished_options summing_up() const;
  /// What to hand to what takes a long_task.
  [[nodiscard]] long_task task() const { return {&cancelled(), progress()}; }
  /// Shows the share that is done, 0..1; empty if there is no terminal.
  [[nodiscard]] std::function<void(double)> progress() const;
  /// Whether a signal has come since the last one was made.
  [[nodiscard]] static const std::atomic<bool>& cancelled();

 private:
  static void stop(int number);

  std::string what_;
  bool terminal_ = false;
};

/// What a verb is about: rows, or figures of the whole, for which a large recording that has no end is summed up first.
enum class wanted_of_recording { rows, figures };

/// Opens `path` for reading, whatever recorded it. `sources_from`: where its sources and symbols are looked for, if it is not trusted
/// (core/base/local_files.hpp); that they are not is said once on standard error. Null: none will be shown. Errors: as `importing::open_any`.
[[nodiscard]] result<std::shared_ptr<trace::file>> open_recording(
    const std::string& path, wanted_of_recording wanted = wanted_of_recording::rows,
    const std::vector<std::string>* sources_from = nullptr);

/// Declares --sources-from, which may be repeated.
void add_sources_option(CLI::App& command, std::vector<std::string>& sources_from);

}  // namespace sluice::cli
