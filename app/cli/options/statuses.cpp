#include <atomic>
#include <csignal>

#include "app/cli/options/verbs.hpp"

namespace sluice::cli {
namespace {

std::atomic<int> cancelling_signal{SIGINT};
static_assert(std::atomic<int>::is_always_lock_free);  // A signal handler writes it, so it must be lock-free.

}  // namespace

void note_cancelling_signal(int number) { cancelling_signal = number; }

int get_status(const error& why) {
  if (why.code == error_code::cancelled) return 128 + cancelling_signal;
  return why.code == error_code::invalid_argument ? status_usage : status_failed;
}

int complain_of(const error& why) {
  complain(why.to_string());
  return get_status(why);
}

}  // namespace sluice::cli
