#pragma once

#include <signal.h>
#include <sys/prctl.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

#include "instrumentation/writer/sampling/host_sampler.hpp"

/// Helpers for tests that sample a child process.
namespace sluice::writer {

/// A child process that runs a function until it is killed.
class sampled_child {
 public:
  explicit sampled_child(const std::function<void()>& run) : pid_(fork()) {
    if (pid_ != 0) return;
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    run();
    _exit(0);
  }
  /// Ends the child and its own children.
  ~sampled_child() {
    kill(-pid_, SIGKILL);
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  sampled_child(const sampled_child&) = delete;
  sampled_child& operator=(const sampled_child&) = delete;
  [[nodiscard]] pid_t pid() const { return pid_; }

 private:
  pid_t pid_;
};

// For tests that count the threads of a child, that sum up what they do, or that start threads in a child of a process
// with threads. ThreadSanitizer adds a sleeping thread to each process, ends such a child, and slows system calls down.
#if defined(__SANITIZE_THREAD__)
#define SLUICE_SKIP_IF_CHILDREN_ARE_CHANGED() GTEST_SKIP() << "the thread sanitizer changes the child's threads"
#else
#define SLUICE_SKIP_IF_CHILDREN_ARE_CHANGED() static_cast<void>(0)
#endif

/// What a sampler found.
struct sampled {
  host_sampler::batch batch;
  sampler_losses losses;

  /// The time in all samples for which `fits`, in ns.
  template <class Fits>
  [[nodiscard]] std::int64_t time(Fits fits) const {
    std::int64_t sum = 0;
    for (const raw_sample& each : batch.samples) sum += fits(each) ? each.length : 0;
    return sum;
  }
  [[nodiscard]] std::int64_t time(trace::host_state state) const {
    return time([&](const raw_sample& each) { return each.state == state; });
  }
  [[nodiscard]] std::int64_t total() const {
    return time([](const raw_sample&) { return true; });
  }
};

/// Samples a process for `ms` milliseconds.
inline sampled sample_process(pid_t pid, int ms, const sampler_options& options = {},
                              const std::vector<pid_t>& left_out = {}) {
  sampled found;
  const auto sampler = host_sampler::start(options);
  if (!sampler) return found;
  sampler->watch(pid);
  if (!left_out.empty()) sampler->leave_out(pid, left_out);
  usleep(static_cast<useconds_t>(ms) * 1000);
  sampler->stop();
  found.batch = sampler->take();
  found.losses = sampler->losses();
  return found;
}

}  // namespace sluice::writer
