// Samples child processes that do one thing, with the kernel's help and by polling.
#include "instrumentation/writer/sampling/host_sampler.hpp"

#include <errno.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <filesystem>
#include <iterator>
#include <map>
#include <thread>

#include "instrumentation/writer/sampling/perf_ring.hpp"
#include "tests/instrumentation/writer/sampling/sampled_child.hpp"

namespace sluice::writer {
namespace {

using trace::host_state;

[[gnu::noinline]] void spin() {
  for (;;) asm volatile("");
}
void sleep_again_and_again() {
  for (;;) usleep(300'000);
}
void read_zeros() {
  static char bytes[1 << 20];
  const int zeros = open("/dev/zero", O_RDONLY | O_CLOEXEC);
  for (;;) static_cast<void>(read(zeros, bytes, sizeof bytes));
}

bool is_in_spin(std::uint64_t pc) {
  const auto begin = reinterpret_cast<std::uint64_t>(&spin);
  return pc > begin && pc < begin + 128;
}

/// Of one thread: in order of time, without overlaps, and none longer than a second.
void expect_sound(const sampled& found) {
  std::map<std::pair<pid_t, pid_t>, std::int64_t> ends;
  for (const raw_sample& each : found.batch.samples) {
    auto& end = ends[{each.pid, each.tid}];
    EXPECT_GE(each.monotonic, end);
    EXPECT_GT(each.length, 0);
    EXPECT_LE(each.length, 1'000'000'000);
    end = each.monotonic + each.length;
  }
}

int count_descriptors() {
  return static_cast<int>(std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {}));
}

class host_sampler_test : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    if (GetParam() && try_perf() != 0) GTEST_SKIP() << "perf_event_open is refused here";
  }
  [[nodiscard]] static sampler_options options() { return {.use_perf = GetParam()}; }
};

TEST_P(host_sampler_test, code_that_runs_is_running) {
  SLUICE_SKIP_IF_CHILDREN_ARE_CHANGED();
  const sampled_child child(spin);
  const sampled found = sample_process(child.pid(), 1500, options());
  expect_sound(found);
  EXPECT_GT(found.total(), 1'000'000'000);
  EXPECT_GT(found.time(host_state::running), 0);
  EXPECT_LT(found.time(host_state::blocked) * 10, found.total());
  EXPECT_LT(found.time(host_state::in_kernel) * 4, found.total());
}

TEST_P(host_sampler_test, a_sleeping_thread_is_blocked_in_a_system_call) {
  SLUICE_SKIP_IF_CHILDREN_ARE_CHANGED();
  const sampled_child child(sleep_again_and_again);
  const sampled found = sample_process(child.pid(), 1500, options());
  expect_sound(found);
  EXPECT_GT(found.time(host_state::blocked) * 10, found.total() * 8);
  const std::int64_t in_sleep =
      found.time([](const raw_sample& each) { return each.system_call == SYS_clock_nanosleep; });
  EXPECT_GT(in_sleep * 10, found.time(host_state::blocked) * 7);
  const std::int64_t with_stack = found.time([](const raw_sample& each) { return each.frames.size() > 2; });
  EXPECT_GT(with_stack * 10, found.time(host_state::blocked) * 7) << "a waiting thread's stack is copied";
}

TEST_P(host_sampler_test, descendants_are_sampled_too) {
  const sampled_child child([] {
    if (fork() == 0) spin();
    sleep_again_and_again();
  });
  const sampled found = sample_process(child.pid(), 1500, options());
  EXPECT_GT(found.time([&](const raw_sample& each) { return each.pid != child.pid() && each.tid == each.pid; }), 0);
}

TEST_P(host_sampler_test, threads_that_begin_later_are_sampled_too) {
  SLUICE_SKIP_IF_CHILDREN_ARE_CHANGED();
  const sampled_child child([] {
    usleep(300'000);
    std::thread(spin).detach();
    sleep_again_and_again();
  });
  const sampled found = sample_process(child.pid(), 1500, options());
  EXPECT_GT(
      found.time([&](const raw_sample& each) { return each.tid != child.pid() && each.state != host_state::blocked; }),
      300'000'000);
  EXPECT_EQ(found.batch.threads.size(), 2U);
}

TEST_P(host_sampler_test, threads_that_are_left_out_are_not_sampled) {
  const sampled_child child([] {
    std::thread(spin).detach();
    spin();
  });
  const sampled found = sample_process(child.pid(), 800, options(), {child.pid()});
  EXPECT_EQ(found.time([&](const raw_sample& each) { return each.tid == child.pid(); }), 0);
  EXPECT_GT(found.total(), 0);
}

TEST_P(host_sampler_test, threads_beyond_the_limits_are_counted) {
  SLUICE_SKIP_IF_CHILDREN_ARE_CHANGED();
  const sampled_child child([] {
    for (int i = 0; i < 4; ++i) std::thread(sleep_again_and_again).detach();
    sleep_again_and_again();
  });
  usleep(200'000);
  auto limited = options();
  limited.max_threads = 2;
  const sampled few = sample_process(child.pid(), 600, limited);
  EXPECT_EQ(few.losses.threads_left_out, 3U);
  limited = options();
  limited.max_descriptors = 2;
  EXPECT_EQ(sample_process(child.pid(), 300, limited).losses.threads_left_out, 5U);
}

TEST_P(host_sampler_test, ended_threads_and_processes_leave_nothing_open) {
  const int before = count_descriptors();
  {
    const sampled_child child([] {
      for (int i = 0; i < 20; ++i) std::thread([] { usleep(150'000); }).join();
    });
    const auto sampler = host_sampler::start(options());
    sampler->watch(child.pid());
    usleep(1'200'000);
  }
  EXPECT_EQ(count_descriptors(), before);
}

TEST_P(host_sampler_test, a_process_that_does_not_exist_is_ignored) {
  EXPECT_TRUE(sample_process(INT32_MAX, 100, options()).batch.samples.empty());
}

std::int64_t read_clock() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1'000'000'000 + now.tv_nsec;
}

struct sampled_with_pause : sampled {
  std::int64_t begin = 0, end = 0;  ///< The pause must be in effect in this time, in ns of CLOCK_MONOTONIC.
};

/// Samples a process for 0.5 s, pauses for 0.7 s, and samples it for 0.7 s again.
sampled_with_pause sample_with_pause(pid_t pid, const sampler_options& options) {
  sampled_with_pause found;
  const auto sampler = host_sampler::start(options);
  sampler->watch(pid);
  usleep(500'000);
  sampler->pause(pid, true);
  usleep(200'000);
  found.begin = read_clock();
  usleep(500'000);
  found.end = read_clock();
  sampler->pause(pid, false);
  usleep(700'000);
  sampler->stop();
  found.batch = sampler->take();
  return found;
}

TEST_P(host_sampler_test, a_pause_is_time_without_samples) {
  const sampled_child child([] {
    std::thread(sleep_again_and_again).detach();
    spin();
  });
  const sampled_with_pause found = sample_with_pause(child.pid(), options());
  expect_sound(found);
  for (const raw_sample& each : found.batch.samples)
    EXPECT_TRUE(each.monotonic + each.length <= found.begin || each.monotonic >= found.end);
  const auto is_busy = [&](const raw_sample& each) { return each.tid == child.pid(); };
  for (const bool busy : {true, false}) {
    const auto time = [&](bool before) {
      return found.time(
          [&](const raw_sample& each) { return is_busy(each) == busy && (each.monotonic < found.begin) == before; });
    };
    EXPECT_GT(time(true), 200'000'000) << "before the pause";
    EXPECT_GT(time(false), 200'000'000) << "after the pause";
  }
  const auto in_kernel = [&](const raw_sample& each) { return is_busy(each) && each.state == host_state::in_kernel; };
  EXPECT_LT(found.time(in_kernel) * 4, found.time(is_busy)) << "CPU time without ticks at the ends of the pause";
}

TEST_P(host_sampler_test, a_thread_that_begins_in_a_pause_is_sampled_after_it) {
  SLUICE_SKIP_IF_CHILDREN_ARE_CHANGED();
  const sampled_child child([] {
    usleep(900'000);
    std::thread(spin).detach();
    sleep_again_and_again();
  });
  const sampled_with_pause found = sample_with_pause(child.pid(), options());
  const auto is_new = [&](const raw_sample& each) { return each.tid != child.pid(); };
  EXPECT_GT(found.time(is_new), 200'000'000);
  EXPECT_EQ(found.time([&](const raw_sample& each) { return is_new(each) && each.monotonic < found.end; }), 0);
}

TEST_P(host_sampler_test, many_pauses_leave_nothing_open) {
  const sampled_child child(spin);
  const auto sampler = host_sampler::start(options());
  sampler->watch(child.pid());
  usleep(100'000);
  const int before = count_descriptors();
  for (int i = 0; i < 40; ++i) {
    sampler->pause(child.pid(), i % 2 == 0);
    usleep(15'000);
  }
  usleep(200'000);
  EXPECT_EQ(count_descriptors(), before);
  sampler->pause(INT32_MAX, true);  // A process that is not watched.
}

INSTANTIATE_TEST_SUITE_P(ways, host_sampler_test, testing::Bool(),
                         [](const auto& way) { return way.param ? "perf" : "polling"; });

class perf_test : public testing::Test {
 protected:
  void SetUp() override {
    if (try_perf() != 0) GTEST_SKIP() << "perf_event_open is refused here";
  }
};

TEST_F(perf_test, the_stack_shows_the_function_that_runs) {
  const sampled_child child(spin);
  const sampled found = sample_process(child.pid(), 1500);
  const std::int64_t right = found.time([](const raw_sample& each) {
    return each.state == host_state::running && each.frames.size() > 3 && is_in_spin(each.frames[0]);
  });
  EXPECT_GT(right * 10, found.time(host_state::running) * 9);
  for (const raw_sample& each : found.batch.samples) {
    for (const std::uint64_t pc : each.frames) {
      const bool known = std::any_of(found.batch.modules.begin(), found.batch.modules.end(),
                                     [&](const raw_module& m) { return pc > m.begin && pc <= m.end; });
      EXPECT_TRUE(known) << "the file of each frame is handed on";
    }
  }
}

TEST_F(perf_test, a_thread_that_reads_is_in_the_kernel) {
  SLUICE_SKIP_IF_CHILDREN_ARE_CHANGED();
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer checks in user mode what is read";
#endif
  const sampled_child child(read_zeros);
  const sampled found = sample_process(child.pid(), 1500);
  EXPECT_GT(found.time(host_state::in_kernel), 5 * found.time(host_state::running));
}

TEST_F(perf_test, a_thread_without_a_cpu_is_runnable) {
  const sampled_child child([] {
    cpu_set_t first;
    CPU_ZERO(&first);
    CPU_SET(0, &first);
    sched_setaffinity(0, sizeof first, &first);
    std::thread(spin).detach();
    std::thread(spin).detach();
    spin();
  });
  const sampled found = sample_process(child.pid(), 1500);
  EXPECT_GT(found.time(host_state::runnable) * 10, found.total() * 5) << "three threads on one CPU";
}

TEST_F(perf_test, records_that_do_not_fit_are_counted) {
  const sampled_child child([] {
    for (;;) {
      for (int i = 0; i < 50'000'000; ++i) asm volatile("");
      usleep(1000);
    }
  });
  EXPECT_GT(sample_process(child.pid(), 1500, {.ring_bytes = 4096}).losses.records, 0U);
}

TEST_F(perf_test, a_thread_in_a_namespace_has_its_own_number) {
  const sampled_child child([] {
    if (unshare(CLONE_NEWPID) != 0) _exit(77);
    if (fork() == 0) spin();
    sleep_again_and_again();
  });
  const sampled found = sample_process(child.pid(), 1200);
  if (found.batch.threads.size() < 2) GTEST_SKIP() << "no namespaces here";
  EXPECT_GT(found.time([&](const raw_sample& each) { return each.pid != child.pid() && each.tid == 1; }), 0);
}

/// Makes the kernel refuse perf_event_open to this process, as Docker's filter does.
bool refuse_perf() {
  sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_perf_event_open, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program{static_cast<unsigned short>(std::size(filter)), filter};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

/// The process in which perf_event_open is refused: 0 if all is as it should be, otherwise the number of the step.
int poll_without_perf() {
  if (!refuse_perf()) return 77;
  if (try_perf() != EPERM) return 2;
  const sampled_child busy(spin);
  const sampled_child idle(sleep_again_and_again);
  const sampled runs = sample_process(busy.pid(), 1000);
  if (runs.losses.perf_error != EPERM) return 3;
  if (runs.time(host_state::running) == 0 || runs.time(host_state::blocked) * 5 > runs.total()) return 4;
  const sampled waits = sample_process(idle.pid(), 1000);
  const auto in_sleep = waits.time([](const raw_sample& each) { return each.system_call == SYS_clock_nanosleep; });
  return in_sleep * 2 > waits.total() ? 0 : 5;
}

TEST(refused_perf, the_sampler_says_so_and_polls) {
  SLUICE_SKIP_IF_CHILDREN_ARE_CHANGED();
  const pid_t recorder = fork();
  if (recorder == 0) _exit(poll_without_perf());
  int status = 0;
  waitpid(recorder, &status, 0);
  if (WEXITSTATUS(status) == 77) GTEST_SKIP() << "no filters here";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace sluice::writer
