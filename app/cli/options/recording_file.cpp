#include "app/cli/options/recording_file.hpp"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <array>
#include <atomic>
#include <cstdio>
#include <utility>

#include "app/cli/options/verbs.hpp"
#include "core/base/files/privacy.hpp"
#include "core/base/printable.hpp"
#include "core/symbols/frames.hpp"

namespace sluice::cli {
namespace {

std::atomic<bool> stopped{false};
static_assert(std::atomic<bool>::is_always_lock_free);  // A signal handler writes it, so it must be lock-free.

/// The previous signal actions, which the handler restores.
std::array<std::pair<int, struct sigaction>, 3> actions_before = {{{SIGHUP, {}}, {SIGINT, {}}, {SIGTERM, {}}}};

}  // namespace

void long_work::stop(int number) {
  note_cancelling_signal(number);
  stopped = true;
  for (const auto& [each, before] : actions_before)
    if (each == number) sigaction(number, &before, nullptr);
}

long_work::long_work(std::string subject)
    : what_(printable(subject)), terminal_(!what_.empty() && isatty(STDERR_FILENO) == 1) {
  stopped = false;
  for (auto& [number, before] : actions_before) {
    sigaction(number, nullptr, &before);
    if (before.sa_handler == SIG_IGN) continue;  // Keep ignoring the signal, as under nohup.
    struct sigaction cancelling {};
    cancelling.sa_handler = stop;
    cancelling.sa_flags = SA_RESTART;
    sigaction(number, &cancelling, nullptr);
  }
}

long_work::~long_work() {
  for (const auto& [number, before] : actions_before) sigaction(number, &before, nullptr);
  if (terminal_) std::fputs("\r\033[K", stderr);
}

const std::atomic<bool>& long_work::cancelled() { return stopped; }

std::function<void(double)> long_work::progress() const {
  if (!terminal_) return {};
  return [subject = what_, shown = -1](double share) mutable {
    const int percent = static_cast<int>(share * 100);
    if (percent == std::exchange(shown, percent)) return;
    std::fprintf(stderr, "\r%s: %3d %%", subject.c_str(), percent);
    std::fflush(stderr);
  };
}

importing::options long_work::importing() const {
  importing::options with;
  with.cancel = &stopped;
  with.progress = progress();
  return with;
}

summary::unfinished_options long_work::summing_up() const {
  summary::unfinished_options with;
  with.cancelled = [] { return stopped.load(); };
  with.progress = progress();
  return with;
}

namespace {

result<std::shared_ptr<trace::file>> open_or_import(const std::string& path, const trace::reader_options& reading) {
  const auto found = importing::recognise(path);
  if (found == importing::format::sluice || found == importing::format::unknown)
    return importing::open_any(path, {}, reading);
  const long_work shown("importing " + path);
  return importing::open_any(path, shown.importing(), reading);
}

void say_if_untrusted(const trace::snapshot& trace) {
  static bool said = false;
  const auto note = symbols::untrusted_note(trace);
  if (note && !std::exchange(said, true)) complain("note: " + trace.path() + ": " + *note);
}

result<std::shared_ptr<trace::file>> open_summed_up(const std::string& path, wanted_of_recording wanted,
                                                    const trace::reader_options& reading) {
  auto opened = open_or_import(path, reading);
  if (!opened || wanted == wanted_of_recording::rows || !summary::wants_summing_up(*(*opened)->latest())) return opened;
  const bool growing = (*opened)->latest()->growing();
  const long_work shown("summarizing " + path + (growing ? ", which is still being written" : ", which is incomplete"));
  const auto summed = summary::summed_up((*opened)->latest(), shown.summing_up());
  if (!summed) return tl::unexpected(summed.error());
  (*opened)->adopt(*summed);
  return opened;
}

}  // namespace

result<std::shared_ptr<trace::file>> open_recording(const std::string& path, wanted_of_recording wanted,
                                                    const std::vector<std::string>* sources_from,
                                                    std::size_t cache_bytes) {
  privacy::keep_as_private_as(path);
  trace::reader_options reading;
  reading.cache_bytes = cache_bytes;
  if (sources_from != nullptr) reading.sources_from = *sources_from;
  auto opened = open_summed_up(path, wanted, reading);
  if (opened && sources_from != nullptr) say_if_untrusted(*(*opened)->latest());
  return opened;
}

void add_sources_option(CLI::App& command, std::vector<std::string>& sources_from) {
  command
      .add_option("--sources-from", sources_from,
                  "Where to find sources and symbols of a recording from another machine or user; / trusts all\n"
                  "paths in it. Can be repeated")
      ->check(CLI::ExistingDirectory.description(""))
      ->allow_extra_args(false)
      ->type_name("FOLDER");
}

}  // namespace sluice::cli
