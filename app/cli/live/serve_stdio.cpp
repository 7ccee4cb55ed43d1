#include "app/cli/live/serve_stdio.hpp"

#include <unistd.h>

#include <CLI/CLI.hpp>

#include "app/cli/options/recording_file.hpp"
#include "app/cli/options/verbs.hpp"
#include "core/base/freed_memory.hpp"
#include "core/remote/answering_server.hpp"

namespace sluice::cli {

int serve_stdio(const std::string& file, const std::vector<std::string>& sources_from) {
  if (::isatty(STDIN_FILENO) == 1 || ::isatty(STDOUT_FILENO) == 1) {
    complain("--stdio is for another sluice, not for a terminal; on the other machine: sluice open ssh://HOST/PATH");
    return status_usage;
  }
  keep_freed_memory();
  auto opened = open_recording(file, wanted_of_recording::rows, &sources_from);
  if (!opened) return complain_of(opened.error());
  if (auto done = remote::result_on(STDIN_FILENO, STDOUT_FILENO, std::move(*opened)); !done)
    return complain_of(done.error());
  return 0;
}

}  // namespace sluice::cli
