// What the recorder's own threads do on the host becomes no row; what they report about memory and the device does.
#include <map>
#include <string>
#include <unordered_set>
#include <vector>

#include "tests/instrumentation/writer/record_decoder_fixture.hpp"

namespace sluice::writer {
namespace {

class recorder_threads_test : public record_decoder_test {
 protected:
  /// A thread that says in its introduction that it belongs to the recorder.
  thread& add_recorder_thread() {
    thread& t = add_thread();
    ring::thread_record introduction{};
    introduction.header.flags = ring::flag_of_recorder;
    introduction.tid = threads_.size();
    put(t, 0, introduction);
    return t;
  }
  /// The first thread's record says that these threads are the recorder's.
  void list(thread& by, std::uint64_t version, const std::vector<std::uint64_t>& tids) {
    ring::recorder_threads_record r{};
    r.header.time = raw_time(0);
    r.version = version;
    r.count = tids.size();
    ASSERT_TRUE(by.pair.producer.put(&r.header, ring::record_type::recorder_threads, sizeof r, tids.data(),
                                     tids.size() * sizeof tids[0]));
  }
  /// One record of each kind of host activity, from `time` on.
  void do_everything(thread& t, time_ns time) {
    ring::range_record range{};
    range.end = raw_time(time + 5);
    range.name = text(t, "waiting for a lock");
    put(t, time, range);
    ring::range_begin_record begin{};
    begin.name = range.name;
    put(t, time + 10, begin);
    put(t, time + 20, ring::range_end_record{});
    put(t, time + 30, ring::marker_record{});
    ring::file_io_record io{};
    io.end = raw_time(time + 45);
    put(t, time + 40, io);
    ring::sync_record sync{};
    sync.end = raw_time(time + 55);
    put(t, time + 50, sync);
    call(t, time + 60, 0);
  }
  static std::map<std::string, std::size_t> count_host_activity(const recorded& trace) {
    return {{"ranges", trace.all<host_range_event>().size()},
            {"markers", trace.all<marker_event>().size()},
            {"file accesses", trace.all<file_io_event>().size()},
            {"waits", trace.all<sync_event>().size()},
            {"calls", trace.all<api_call_event>().size()}};
  }
};

const std::map<std::string, std::size_t> each_kind_once{
    {"ranges", 2}, {"markers", 1}, {"file accesses", 1}, {"waits", 1}, {"calls", 1}};

TEST_F(recorder_threads_test, make_no_rows_of_host_activity) {
  thread& program = add_thread();
  thread& recorder = add_recorder_thread();
  do_everything(program, 10);
  do_everything(recorder, 1000);
  const recorded& trace = finish();
  EXPECT_EQ(count_host_activity(trace), each_kind_once);
  for (const auto& each : trace.all<host_range_event>()) EXPECT_LT(each.time, 1000);
}

TEST_F(recorder_threads_test, count_as_no_events_of_the_device) {
  thread& recorder = add_recorder_thread();
  do_everything(recorder, 10);
  finish();
  EXPECT_EQ(rows_->device_events(), 0U);
}

TEST_F(recorder_threads_test, keep_their_allocations_without_a_thread) {
  thread& recorder = add_recorder_thread();
  alloc(recorder, 10, 0x1000, 256);
  free(recorder, 20, 0x1000);
  const recorded& trace = finish();
  ASSERT_EQ(trace.all<alloc_event>().size(), 1U);
  EXPECT_EQ(trace.all<alloc_event>()[0].thread, thread_id::none);
  EXPECT_EQ(trace.all<free_event>().size(), 1U);
}

TEST_F(recorder_threads_test, keep_device_work_with_what_its_call_says) {
  thread& recorder = add_recorder_thread();
  alloc(recorder, 10, 0x2000, 256);
  call(recorder, 20, 7, 0, 0x2000, 256);
  copy(recorder, 30, 7, 256);
  const recorded& trace = finish();
  const auto copies = trace.all<transfer_event>();
  ASSERT_EQ(copies.size(), 1U);
  EXPECT_EQ(copies[0].destination_address, 0x2000U);
  EXPECT_EQ(copies[0].enqueued, 20);
  EXPECT_EQ(copies[0].call, event_id::none);
  EXPECT_EQ(copies[0].thread, thread_id::none);
}

TEST_F(recorder_threads_test, have_no_row_if_they_are_introduced_as_such) {
  add_thread();
  threads_.emplace_back();
  thread& t = threads_.back();
  t.reader = std::make_unique<ring_reader>(std::move(*t.pair.open_reader()));
  t.source.process = process_;
  t.source.clock = ring::clock_kind::monotonic_ns;
  ring::thread_record introduction{};
  introduction.header.flags = ring::flag_of_recorder;
  introduction.tid = 77;
  put(t, 0, introduction);
  do_everything(t, 10);
  const recorded& trace = finish();
  ASSERT_EQ(trace.tables().threads.rows().size(), 1U);
  EXPECT_EQ(trace.tables().threads.rows()[0].tid, 1U);
}

TEST_F(recorder_threads_test, may_be_named_by_another_thread) {
  thread& program = add_thread();
  thread& helper = add_thread();
  list(program, 1, {2});
  turn();
  EXPECT_EQ(process_->recorder_threads, (std::unordered_set<std::uint64_t>{2}));
  do_everything(helper, 100);
  do_everything(program, 300);
  EXPECT_EQ(count_host_activity(finish()), each_kind_once);
}

TEST_F(recorder_threads_test, are_those_of_the_latest_list) {
  thread& a = add_thread();
  thread& b = add_thread();
  list(a, 3, {5, 6});
  list(b, 2, {5});  // It was made earlier, and arrives later.
  turn();
  EXPECT_EQ(process_->recorder_threads, (std::unordered_set<std::uint64_t>{5, 6}));
  list(b, 4, {6});
  turn();
  EXPECT_EQ(process_->recorder_threads, (std::unordered_set<std::uint64_t>{6}));
  finish();
}

TEST_F(recorder_threads_test, end_when_the_system_reuses_their_id) {
  thread& program = add_thread();
  thread& reused = add_thread();
  list(program, 1, {2});
  turn();
  list(program, 2, {});
  turn();
  do_everything(reused, 100);
  EXPECT_EQ(count_host_activity(finish()), each_kind_once);
}

TEST_F(recorder_threads_test, of_a_list_that_overstates_its_length_are_the_words_that_it_has) {
  thread& program = add_thread();
  ring::recorder_threads_record r{};
  r.version = 1;
  r.count = ring::max_recorder_threads;
  const std::uint64_t tid = 9;
  ASSERT_TRUE(program.pair.producer.put(&r.header, ring::record_type::recorder_threads, sizeof r, &tid, sizeof tid));
  turn();
  EXPECT_EQ(process_->recorder_threads, (std::unordered_set<std::uint64_t>{9}));
  list(program, 2, std::vector<std::uint64_t>(ring::max_recorder_threads + 1, 4));
  turn();
  EXPECT_EQ(process_->recorder_threads, (std::unordered_set<std::uint64_t>{9})) << "no producer sends so many";
  finish();
}

}  // namespace
}  // namespace sluice::writer
