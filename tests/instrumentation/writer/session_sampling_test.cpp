// A recording contains samples of the threads of recorded processes and of their descendants.
#include "instrumentation/writer/session/session_sampling.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <thread>

#include "instrumentation/ring/producer.hpp"
#include "instrumentation/writer/sampling/perf_ring.hpp"
#include "tests/instrumentation/writer/recording.hpp"
#include "tests/instrumentation/writer/sampling/sampled_child.hpp"

namespace sluice::writer {
namespace {

using namespace trace;

[[gnu::noinline]] void spin() {
  for (;;) asm volatile("");
}

void mark() {
  ring::marker_record marker{};
  marker.header.time = ring::now();
  ring::emit(marker);
}

TEST(session_sampling, a_recorded_process_is_sampled_with_its_descendants) {
  recording r({.sampling_hz = 500});
  std::set<std::uint64_t> pids;
  {
    const sampled_child child([&] {
      ring::start(r.socket(), {});
      mark();
      if (fork() == 0) spin();
      spin();
    });
    usleep(2'000'000);
    const recorded trace = r.finish();
    const auto rows = trace.all<host_sample_event>();
    ASSERT_GT(rows.size(), 20U);
    time_ns of_child = 0;
    for (const host_sample_event& row : rows) {
      ASSERT_NE(row.process, process_id::none);
      ASSERT_NE(row.thread, thread_id::none);
      const process_row* const process = trace.tables().processes.find(row.process);
      ASSERT_NE(process, nullptr);
      pids.insert(process->pid);
      if (process->pid == static_cast<std::uint64_t>(child.pid())) of_child += row.length;
    }
    EXPECT_TRUE(pids.contains(static_cast<std::uint64_t>(child.pid())));
    EXPECT_EQ(pids.size(), 2U) << "the child's child records nothing, and is sampled nevertheless";
    EXPECT_GT(of_child, 1'000'000'000);
    if (try_perf() != 0) return;
    const bool any_stack =
        std::any_of(rows.begin(), rows.end(), [](const auto& row) { return row.stack != stack_id::none; });
    EXPECT_TRUE(any_stack);
    EXPECT_FALSE(trace.all<module_row>().empty());
  }
}

void set_sampling(std::uint64_t paused) {
  ring::sampling_record record{};
  record.header.time = ring::now();
  record.paused = paused;
  ring::emit(record);
}

TEST(session_sampling, a_process_pauses_and_resumes_it) {
  SLUICE_SKIP_IF_CHILDREN_ARE_CHANGED();
  recording r({.sampling_hz = 500});
  const sampled_child child([&] {
    ring::start(r.socket(), {});
    std::thread(spin).detach();
    usleep(500'000);
    set_sampling(~std::uint64_t{0});  // Any value but 0.
    usleep(200'000);
    mark();
    std::thread(spin).detach();
    usleep(400'000);
    mark();
    set_sampling(0);
    spin();
  });
  usleep(2'000'000);
  const recorded trace = r.finish();
  const auto marks = trace.all<marker_event>();
  ASSERT_EQ(marks.size(), 2U);
  std::set<thread_id> before, after;
  for (const host_sample_event& row : trace.all<host_sample_event>()) {
    EXPECT_TRUE(row.time + row.length <= marks[0].time || row.time >= marks[1].time);
    if (row.state == host_state::running) (row.time < marks[0].time ? before : after).insert(row.thread);
  }
  EXPECT_EQ(before.size(), 1U) << "the first thread that spins";
  EXPECT_EQ(after.size(), 3U) << "both, and the main thread";
}

TEST(session_sampling, is_off_unless_it_is_asked_for) {
  recording r;
  const sampled_child child([&] {
    ring::start(r.socket(), {});
    mark();
    spin();
  });
  usleep(300'000);
  EXPECT_TRUE(r.finish().all<host_sample_event>().empty());
}

}  // namespace
}  // namespace sluice::writer
