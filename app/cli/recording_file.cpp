#include "app/cli/recording_file.hpp"

#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>

namespace sluice::cli {
namespace {

std::atomic<bool> cancelled{false};
static_assert(std::atomic<bool>::is_always_lock_free);  // a signal handler writes it

void cancel(int) { cancelled = true; }

}  // namespace

import_progress::import_progress(std::string path)
    : path_(std::move(path)),
      terminal_(isatty(STDERR_FILENO) == 1),
      interrupt_before_(std::signal(SIGINT, cancel)),
      terminate_before_(std::signal(SIGTERM, cancel)) {
  cancelled = false;
}

import_progress::~import_progress() {
  std::signal(SIGINT, interrupt_before_ == SIG_ERR ? SIG_DFL : interrupt_before_);
  std::signal(SIGTERM, terminate_before_ == SIG_ERR ? SIG_DFL : terminate_before_);
  if (terminal_) std::fputs("\r\033[K", stderr);
}

importing::options import_progress::options() const {
  importing::options with;
  with.cancel = &cancelled;
  if (terminal_) {
    with.progress = [path = path_](double share) {
      std::fprintf(stderr, "\rimporting %s: %3.0f %%", path.c_str(), share * 100);
      std::fflush(stderr);
    };
  }
  return with;
}

result<std::shared_ptr<trace::file>> open_recording(const std::string& path) {
  const auto found = importing::recognise(path);
  if (found == importing::format::sluice || found == importing::format::unknown) return importing::open_any(path);
  const import_progress shown(path);
  return importing::open_any(path, shown.options());
}

}  // namespace sluice::cli
