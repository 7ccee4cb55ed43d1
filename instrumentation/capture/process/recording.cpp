#include "instrumentation/capture/process/recording.hpp"

#include <sched.h>

#include <atomic>

#include "instrumentation/capture/process/options.hpp"

namespace sluice::capture {

namespace {

enum class connection : int { untried, trying, tried, ended };
std::atomic<connection> connecting{connection::untried};

}  // namespace

bool connect() noexcept {
  connection expected = connection::untried;
  if (connecting.compare_exchange_strong(expected, connection::trying)) {
    read_options(trace::recording_mode::memory);
    const bool connected = ring::start();
    expected = connection::trying;
    connecting.compare_exchange_strong(expected, connection::tried);
    return connected;
  }
  // Another thread is connecting, which takes microseconds and happens once per process. In a child forked at that
  // moment, the connecting would never end, so the wait is limited.
  for (int i = 0; i < 10000 && connecting.load() == connection::trying; ++i) sched_yield();
  return connecting.load() == connection::tried && ring::active();
}

void disconnect() noexcept {
  connecting.store(connection::ended);
  ring::stop();
}

}  // namespace sluice::capture
