// Everything that a program emits is in the trace, despite threads, forks, signals and crashes.
#include "instrumentation/ring/producer.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <set>
#include <thread>

#include "tests/instrumentation/writer/recording.hpp"

#if defined(__SANITIZE_THREAD__)
#define SKIP_UNDER_THREAD_SANITIZER() GTEST_SKIP() << "the thread sanitizer ends a fork's child that starts a thread"
#else
#define SKIP_UNDER_THREAD_SANITIZER() static_cast<void>(0)
#endif

namespace sluice::ring {
namespace {

using namespace trace;

constexpr std::size_t small_ring = std::size_t{1} << 14;

void mark(const char* name, std::int64_t step) {
  marker_record marker{};
  marker.header.time = now();
  marker.name = intern(name);
  marker.step = step;
  emit(marker);
}

/// Emits a mark without drops: if the ring is full, waits for the reader.
void mark_surely(const char* name, std::int64_t step) {
  marker_record marker{};
  do {
    marker.header.time = now();
    marker.name = intern(name);
    marker.step = step;
  } while (!emit(marker) && active());
}

std::vector<std::int64_t> steps(const writer::recorded& trace, const std::string& name) {
  std::vector<std::int64_t> found;
  for (const marker_event& m : trace.all<marker_event>()) {
    if (trace.text(m.name) == name) found.push_back(m.step);
  }
  return found;
}

/// Runs `body` in a child and returns its wait status.
template <class Body>
int in_child(Body&& body) {
  const pid_t child = fork();
  if (child == 0) {
    body();
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

TEST(producer, records_what_a_thread_emits) {
  writer::recording r;
  ASSERT_TRUE(start(r.socket(), {}));
  EXPECT_TRUE(active());
  for (int i = 0; i < 10; ++i) mark("tick", i);
  stop();
  EXPECT_FALSE(active());
  mark("too late", 1);
  const writer::recorded trace = r.finish();
  EXPECT_EQ(steps(trace, "tick"), (std::vector<std::int64_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
  EXPECT_TRUE(steps(trace, "too late").empty());
  EXPECT_TRUE(trace.snapshot().complete());
  ASSERT_EQ(trace.tables().processes.rows().size(), 1u);
  const process_row& process = trace.tables().processes.rows()[0];
  EXPECT_EQ(process.pid, static_cast<std::uint64_t>(getpid()));
  EXPECT_NE(trace.text(process.command).find("test_ring"), std::string::npos);
}

TEST(producer, records_nothing_when_nobody_listens) {
  EXPECT_FALSE(start("@sluice-nobody-listens-here", {}));
  EXPECT_FALSE(active());
  EXPECT_FALSE(start("", {}));
  EXPECT_FALSE(start(std::string(300, 'x').c_str(), {}));
  mark("lost", 1);
  stop();
}

TEST(producer, reads_its_socket_from_the_environment_and_asks_once) {
  writer::recording r;
  const int status = in_child([&] {
    unsetenv(socket_variable);
    if (start()) _exit(1);
    setenv(socket_variable, r.socket(), 1);
    if (start()) _exit(2);  // Can be started only once per process.
  });
  EXPECT_EQ(status, 0);
  const int recorded_child = in_child([&] {
    setenv(socket_variable, r.socket(), 1);
    if (!start() || !start()) _exit(1);
    mark("from the environment", 7);
  });
  EXPECT_EQ(recorded_child, 0);
  EXPECT_EQ(steps(r.finish(), "from the environment"), std::vector<std::int64_t>{7});
}

TEST(producer, times_are_on_the_clock_of_the_trace) {
  writer::recording r;
  ASSERT_TRUE(start(r.socket(), {}));
  const std::uint64_t before = monotonic_now();
  marker_record by_tsc{};
  by_tsc.header.time = now();
  by_tsc.step = 1;
  marker_record by_monotonic{};
  by_monotonic.header.time = monotonic_now();
  by_monotonic.header.flags = flag_monotonic;
  by_monotonic.step = 2;
  const std::uint64_t after = monotonic_now();
  emit(by_tsc);
  emit(by_monotonic);
  stop();
  const writer::recorded trace = r.finish();
  auto markers = trace.all<marker_event>();
  ASSERT_EQ(markers.size(), 2u);
  const auto anchors = trace.all<clock_anchor_event>();
  ASSERT_FALSE(anchors.empty());
  const std::int64_t origin = anchors[0].monotonic - anchors[0].time;
  for (const marker_event& m : markers) {
    // Conversions agree to within the anchors' own error.
    EXPECT_GE(m.time + origin, static_cast<std::int64_t>(before) - 2000);
    EXPECT_LE(m.time + origin, static_cast<std::int64_t>(after) + 2000);
  }
}

TEST(producer, keeps_what_was_published_before_a_kill) {
  writer::recording r;
  const int status = in_child([&] {
    if (!start(r.socket(), {})) _exit(1);
    for (std::int64_t i = 0;; ++i) {
      mark("before the kill", i);
      if (i == 5000) kill(getpid(), SIGKILL);
    }
  });
  ASSERT_TRUE(WIFSIGNALED(status));
  const auto found = steps(r.finish(), "before the kill");
  ASSERT_EQ(found.size(), 5001u);
  EXPECT_TRUE(std::is_sorted(found.begin(), found.end()));
}

TEST(producer, keeps_what_was_published_when_killed_in_the_middle_of_a_write) {
  writer::recording r;
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = fork();
  if (child == 0) {
    if (!start(r.socket(), {.ring_bytes = small_ring})) _exit(1);
    for (std::int64_t i = 0;; ++i) {
      mark_surely("unending", i);
      // The parent process is signaled only after the record was published.
      if (i == 20000 && write(ready[1], "x", 1) != 1) _exit(2);
    }
  }
  char byte = 0;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  close(ready[0]);
  close(ready[1]);
  const writer::recorded trace = r.finish();
  const auto found = steps(trace, "unending");
  ASSERT_GT(found.size(), 20000u);
  for (std::size_t i = 0; i < found.size(); ++i) ASSERT_EQ(found[i], static_cast<std::int64_t>(i)) << "a hole";
}

TEST(producer, gives_a_forks_child_rings_of_its_own) {
  SKIP_UNDER_THREAD_SANITIZER();
  writer::recording r;
  ASSERT_TRUE(start(r.socket(), {}));
  mark("parent", 1);
  const int status = in_child([] {
    mark("child", 1);
    std::thread([] { mark("thread of child", 1); }).join();
    if (fork() == 0) {
      mark("grandchild", 1);
      _exit(0);
    }
    wait(nullptr);
  });
  EXPECT_EQ(status, 0);
  mark("parent", 2);
  stop();
  const writer::recorded trace = r.finish();
  EXPECT_EQ(steps(trace, "parent"), (std::vector<std::int64_t>{1, 2}));
  EXPECT_EQ(steps(trace, "child"), std::vector<std::int64_t>{1});
  EXPECT_EQ(steps(trace, "thread of child"), std::vector<std::int64_t>{1});
  EXPECT_EQ(steps(trace, "grandchild"), std::vector<std::int64_t>{1});
  const auto& processes = trace.tables().processes.rows();
  ASSERT_EQ(processes.size(), 3u);
  EXPECT_EQ(processes[1].parent, processes[0].id);
  EXPECT_EQ(processes[2].parent, processes[1].id);
  for (const marker_event& m : trace.all<marker_event>()) {
    const bool of_parent = trace.text(m.name) == "parent";
    EXPECT_EQ(m.process == processes[0].id, of_parent);
  }
}

TEST(producer, knows_a_raw_clone_from_a_fork) {
  writer::recording r;
  ASSERT_TRUE(start(r.socket(), {}));
  mark("parent", 1);
  // Forks as a sandbox or another language's runtime does: no pthread_atfork handler runs.
  const auto child = static_cast<pid_t>(syscall(SYS_clone, SIGCHLD, nullptr, nullptr, nullptr, nullptr));
  if (child == 0) {
    mark("clone", 1);
    _exit(0);
  }
  waitpid(child, nullptr, 0);
  mark("parent", 2);
  stop();
  const writer::recorded trace = r.finish();
  EXPECT_EQ(steps(trace, "parent"), (std::vector<std::int64_t>{1, 2}));
  EXPECT_EQ(steps(trace, "clone"), std::vector<std::int64_t>{1});
  EXPECT_EQ(trace.tables().processes.rows().size(), 2u);
}

TEST(producer, survives_a_child_between_vfork_and_exec) {
  writer::recording r;
  ASSERT_TRUE(start(r.socket(), {}));
  for (int i = 0; i < 3; ++i) {
    mark("parent", i);
    pid_t child = 0;
    char name[] = "true";
    char* arguments[] = {name, nullptr};
    ASSERT_EQ(posix_spawnp(&child, "true", nullptr, nullptr, arguments, environ), 0);
    waitpid(child, nullptr, 0);
  }
  stop();
  EXPECT_EQ(steps(r.finish(), "parent"), (std::vector<std::int64_t>{0, 1, 2}));
}

TEST(producer, a_child_that_never_emits_leaves_its_parent_alone) {
  writer::recording r;
  ASSERT_TRUE(start(r.socket(), {}));
  mark("parent", 1);
  EXPECT_EQ(in_child([] { stop(); }), 0);
  mark("parent", 2);
  stop();
  EXPECT_EQ(steps(r.finish(), "parent"), (std::vector<std::int64_t>{1, 2}));
}

TEST(producer, threads_that_end_leave_their_rings_to_others) {
  writer::recording r;
  ASSERT_TRUE(start(r.socket(), {}));
  for (int i = 0; i < 200; ++i) {
    std::thread([i] {
      prctl(PR_SET_NAME, ("worker " + std::to_string(i)).c_str());
      mark("worker", i);
    }).join();
  }
  const writer::recorded live = [&] {
    EXPECT_TRUE(r.live().sync().has_value());
    return writer::recorded(r.path());
  }();
  stop();
  const writer::recorded trace = r.finish();
  EXPECT_EQ(steps(trace, "worker").size(), 200u);
  EXPECT_EQ(steps(live, "worker").size(), 200u) << "a live reader sees synced records";
  std::set<std::uint64_t> threads;
  for (const marker_event& m : trace.all<marker_event>()) {
    threads.insert(raw(m.thread));
    const thread_row* row = trace.tables().threads.find(m.thread);
    ASSERT_NE(row, nullptr);
    EXPECT_EQ(trace.text(row->name), "worker " + std::to_string(m.step)) << "another thread's records";
  }
  EXPECT_EQ(threads.size(), 200u);
}

TEST(producer, emits_from_destructors_that_run_after_its_own) {
  writer::recording r;
  ASSERT_TRUE(start(r.socket(), {}));
  static pthread_key_t key;
  ASSERT_EQ(pthread_key_create(&key,
                               [](void* round) {
                                 const auto i = reinterpret_cast<std::intptr_t>(round);
                                 mark("late", i);
                                 if (i < 3) pthread_setspecific(key, reinterpret_cast<void*>(i + 1));
                               }),
            0);
  std::thread([] {
    mark("early", 1);
    pthread_setspecific(key, reinterpret_cast<void*>(1));
  }).join();
  pthread_key_delete(key);
  stop();
  EXPECT_EQ(steps(r.finish(), "late"), (std::vector<std::int64_t>{1, 2, 3}));
}

TEST(producer, many_threads_lose_nothing) {
  writer::recording r;
  ASSERT_TRUE(start(r.socket(), {.ring_bytes = small_ring}));
  constexpr int threads = 8;
  constexpr std::int64_t each = 5000;
  std::vector<std::thread> workers;
  workers.reserve(threads);
  for (int t = 0; t < threads; ++t) {
    workers.emplace_back([t] {
      const std::string name = "thread " + std::to_string(t);
      for (std::int64_t i = 0; i < each; ++i) mark_surely(name.c_str(), i);
    });
  }
  for (std::thread& w : workers) w.join();
  stop();
  const writer::recorded trace = r.finish();
  for (int t = 0; t < threads; ++t) {
    const auto found = steps(trace, "thread " + std::to_string(t));
    ASSERT_EQ(found.size(), static_cast<std::size_t>(each));
    EXPECT_TRUE(std::is_sorted(found.begin(), found.end()));
  }
}

TEST(producer, accounts_for_every_record_it_drops) {
  writer::recording r({.drain_period = std::chrono::milliseconds(50)});
  ASSERT_TRUE(start(r.socket(), {.ring_bytes = small_ring}));
  std::uint64_t dropped = 0;
  constexpr std::uint64_t count = 300'000;
  for (std::uint64_t i = 0; i < count; ++i) {
    marker_record marker{};
    marker.header.time = now();
    if (!emit(marker)) ++dropped;
  }
  stop();
  const writer::recorded trace = r.finish();
  EXPECT_EQ(trace.all<marker_event>().size() + dropped, count);
  ASSERT_GT(dropped, 0u) << "the test never filled the ring";
  std::uint64_t reported = 0;
  for (const loss_event& loss : trace.all<loss_event>()) {
    reported += loss.events;
    EXPECT_LE(loss.time, loss.end);
  }
  EXPECT_EQ(reported, dropped);
  EXPECT_EQ(r.summary.lost_events, dropped);
}

TEST(producer, notices_that_its_writer_has_gone) {
  auto r = std::make_unique<writer::recording>();
  ASSERT_TRUE(start(r->socket(), {.ring_bytes = small_ring}));
  mark("heard", 1);
  EXPECT_EQ(steps(r->finish(), "heard"), std::vector<std::int64_t>{1});
  for (int i = 0; i < 100'000 && active(); ++i) mark("unheard", i);
  EXPECT_FALSE(active());
  // A new thread can no longer connect, and the program continues.
  std::thread([] { mark("unheard", 1); }).join();
}

TEST(producer, notices_that_its_writer_was_killed) {
  // Here the writer is a different process, as in practice.
  writer::temporary_folder folder;
  int names[2];
  ASSERT_EQ(pipe(names), 0);
  const pid_t writer = fork();
  if (writer == 0) {
    auto s = writer::session::start(folder.file("t.sluice"));
    const std::string name = s ? s->socket_name() : "";
    if (write(names[1], name.c_str(), name.size() + 1) < 0) _exit(1);
    pause();
  }
  char name[128] = {};
  ASSERT_GT(read(names[0], name, sizeof name - 1), 0);
  close(names[0]);
  close(names[1]);
  ASSERT_TRUE(start(name, {.ring_bytes = small_ring}));
  kill(writer, SIGKILL);
  waitpid(writer, nullptr, 0);
  for (int i = 0; i < 1'000'000 && active(); ++i) mark("unheard", i);
  EXPECT_FALSE(active());
}

TEST(producer, starts_again_for_the_next_recording) {
  for (int i = 0; i < 5; ++i) {
    writer::recording r;
    ASSERT_TRUE(start(r.socket(), {}));
    mark("again", i);
    std::thread([i] { mark("again", i); }).join();
    stop();
    EXPECT_EQ(steps(r.finish(), "again"), (std::vector<std::int64_t>{i, i}));
  }
}

TEST(producer, leaves_errno_alone) {
  writer::recording r;
  errno = 77;
  ASSERT_TRUE(start(r.socket(), {}));
  mark("first", 1);
  std::thread([] {
    errno = 78;
    mark("ring made", 1);
    EXPECT_EQ(errno, 78);
  }).join();
  EXPECT_EQ(errno, 77);
  stop();
  EXPECT_EQ(errno, 77);
  (void)r.finish();
}

TEST(producer, holds_no_descriptor_open) {
  SKIP_UNDER_THREAD_SANITIZER();
  writer::recording r;
  // Runs in a child process, in which no recording thread opens descriptors at the same time.
  const int status = in_child([&] {
    const int before = dup(0);
    close(before);
    if (!start(r.socket(), {})) _exit(1);
    mark("here", 1);
    const int after = dup(0);
    close(after);
    if (before != after) _exit(2);
    stop();
  });
  EXPECT_EQ(status, 0);
  EXPECT_EQ(steps(r.finish(), "here"), std::vector<std::int64_t>{1});
}

TEST(producer, goes_on_when_the_program_closes_all_descriptors) {
  SKIP_UNDER_THREAD_SANITIZER();
  writer::recording r;
  const int status = in_child([&] {
    if (!start(r.socket(), {})) _exit(1);
    mark("before", 1);
    close_range(3, ~0U, 0);
    if (open("/dev/zero", O_RDWR) < 0) _exit(2);
    mark("after", 1);
    std::thread([] { mark("in a new thread", 1); }).join();
    setsid();
    mark("after setsid", 1);
  });
  EXPECT_EQ(status, 0);
  const writer::recorded trace = r.finish();
  EXPECT_EQ(steps(trace, "before").size(), 1u);
  EXPECT_EQ(steps(trace, "after").size(), 1u);
  EXPECT_EQ(steps(trace, "in a new thread").size(), 1u);
  EXPECT_EQ(steps(trace, "after setsid").size(), 1u);
}

TEST(producer, counts_what_threads_without_a_ring_would_have_said) {
  SKIP_UNDER_THREAD_SANITIZER();
  writer::recording r;
  const int status = in_child([&] {
    if (!start(r.socket(), {})) _exit(1);
    intern("after");
    std::thread([] {
      const rlimit none{3, 1024};
      setrlimit(RLIMIT_NOFILE, &none);
      alloc_record alloc{};
      alloc.header.time = now();
      for (int i = 0; i < 2000; ++i) emit(alloc);
      const rlimit enough{1024, 1024};
      setrlimit(RLIMIT_NOFILE, &enough);
      for (int i = 0; i < 1100; ++i) mark("after", i);
    }).join();
  });
  EXPECT_EQ(status, 0);
  const writer::recorded trace = r.finish();
  EXPECT_EQ(r.summary.lost_memory_events, 2000u);
  EXPECT_EQ(r.summary.lost_events + steps(trace, "after").size(), 2000u + 1100u);
}

TEST(producer, a_limit_on_file_sizes_is_no_trap) {
  writer::recording r;
  const int status = in_child([&] {
    const rlimit small{4096, 4096};
    setrlimit(RLIMIT_FSIZE, &small);
    start(r.socket(), {});
    mark("no room for a ring", 1);
  });
  EXPECT_EQ(status, 0) << "killed by SIGXFSZ?";
  (void)r.finish();
}

TEST(producer, a_limit_on_file_sizes_makes_rings_smaller) {
  writer::recording r;
  const int status = in_child([&] {
    const rlimit small{std::size_t{64} << 10, std::size_t{64} << 10};
    setrlimit(RLIMIT_FSIZE, &small);
    if (!start(r.socket(), {})) _exit(1);
    for (int i = 0; i < 100; ++i) mark("in a small ring", i);
  });
  EXPECT_EQ(status, 0);
  EXPECT_EQ(steps(r.finish(), "in a small ring").size(), 100u);
  EXPECT_EQ(r.summary.lost_events, 0u);
}

TEST(producer, a_signal_handler_that_emits_does_no_harm) {
  writer::recording r;
  const int status = in_child([&] {
    if (!start(r.socket(), {.ring_bytes = std::size_t{1} << 22})) _exit(1);
    signal(SIGALRM, [](int) { mark("from a handler", 1); });
    const itimerval often{{0, 50}, {0, 50}};
    setitimer(ITIMER_REAL, &often, nullptr);
    for (std::int64_t i = 0; i < 200'000; ++i) mark_surely("steady", i);
  });
  EXPECT_EQ(status, 0);
  const auto found = steps(r.finish(), "steady");
  std::set<std::int64_t> distinct(found.begin(), found.end());
  EXPECT_EQ(distinct.size(), 200'000u);
}

TEST(producer, sends_a_text_once_and_cuts_long_ones) {
  writer::recording r;
  ASSERT_TRUE(start(r.socket(), {}));
  EXPECT_EQ(intern(nullptr), 0u);
  EXPECT_EQ(intern(""), 0u);
  const std::string long_text(10'000, 'x');
  for (int i = 0; i < 3; ++i) mark(long_text.c_str(), i);
  mark("short", 1);
  EXPECT_EQ(intern("short"), intern("short and long", 5));
  message(1, "something to read");
  stop();
  const writer::recorded trace = r.finish();
  EXPECT_EQ(steps(trace, std::string(4096, 'x')).size(), 3u);
  const auto messages = trace.all<message_event>();
  ASSERT_EQ(messages.size(), 1u);
  EXPECT_EQ(messages[0].severity, severity::warning);
  EXPECT_EQ(trace.text(messages[0].text), "something to read");
}

TEST(producer, many_distinct_texts_all_arrive) {
  writer::recording r;
  ASSERT_TRUE(start(r.socket(), {.ring_bytes = std::size_t{1} << 25}));
  for (int i = 0; i < 100'000; ++i) mark_surely(("text " + std::to_string(i)).c_str(), i);
  stop();
  const writer::recorded trace = r.finish();
  for (const marker_event& m : trace.all<marker_event>()) {
    ASSERT_EQ(trace.text(m.name), "text " + std::to_string(m.step));
  }
}

}  // namespace
}  // namespace sluice::ring
