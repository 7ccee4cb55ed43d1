// Samples of host threads become rows, with the frames of Python that were read at about the same time.
#include "instrumentation/writer/handlers/sample_handler.hpp"

#include <gmock/gmock.h>

#include "tests/instrumentation/writer/record_decoder_fixture.hpp"

namespace sluice::writer {
namespace {

using testing::ElementsAre;

class sample_handler_test : public record_decoder_test {
 protected:
  static raw_sample sample(time_ns time, time_ns length, host_state state, std::vector<std::uint64_t> frames = {}) {
    raw_sample s;
    s.pid = 100;
    s.tid = 5;
    s.monotonic = origin + time;
    s.length = length;
    s.state = state;
    s.frames = std::move(frames);
    return s;
  }
  /// Declares a stack of Python frames, named by letters, innermost first, and says when it was read.
  void read_python(thread& t, time_ns time, const std::string& letters, std::uint64_t entries) {
    std::vector<std::uint64_t> words;
    for (const char letter : letters) {
      ring::frame_record frame{};
      frame.key = ring::frame_key_bit | static_cast<std::uint64_t>(letter);
      frame.kind = static_cast<std::uint8_t>(frame_kind::python);
      frame.function = text(t, std::string(1, letter));
      put(t, 0, frame);
      words.push_back(frame.key);
    }
    const std::uint64_t key = static_cast<std::uint64_t>(letters[0]);
    turn();
    process_->stacks.stacks[key] = {process_->stacks.words.size(), words.size(), 0, stack_id::none};
    process_->stacks.words.insert(process_->stacks.words.end(), words.begin(), words.end());
    process_->python_stacks.add(5, {time, key, {entries, 0}, static_cast<std::uint32_t>(words.size())});
  }
  /// The frames of a row, innermost first: names of Python frames, and addresses.
  static std::vector<std::string> list_frames(const recorded& trace, stack_id stack) {
    std::vector<std::string> texts;
    while (stack != stack_id::none) {
      const stack_row* const node = trace.tables().stacks.find(stack);
      const frame_row* const frame = trace.tables().frames.find(node->frame);
      texts.push_back(frame->kind == frame_kind::python ? trace.text(frame->function) : std::to_string(frame->address));
      stack = node->parent;
    }
    return texts;
  }
};

TEST_F(sample_handler_test, a_sample_becomes_a_row) {
  rows_->samples().define(*process_, raw_thread{100, 5, "worker"});
  auto running = sample(1000, 500, host_state::running);
  running.system_call = 7;
  rows_->samples().add(*process_, running);
  const auto rows = finish().all<host_sample_event>();
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].time, 1000);
  EXPECT_EQ(rows[0].length, 500);
  EXPECT_EQ(rows[0].state, host_state::running);
  EXPECT_EQ(rows[0].system_call, 7);
  EXPECT_EQ(rows[0].python_distance, -1);
  EXPECT_EQ(rows[0].process, process_->names.id);
  const auto threads = trace_->all<thread_row>();
  const auto its = std::find_if(threads.begin(), threads.end(), [&](const auto& t) { return t.id == rows[0].thread; });
  ASSERT_NE(its, threads.end());
  EXPECT_EQ(its->tid, 5U);
  EXPECT_EQ(trace_->text(its->name), "worker");
}

TEST_F(sample_handler_test, a_thread_that_only_waits_has_no_row) {
  rows_->samples().define(*process_, raw_thread{100, 5, "cuda-EvtHandlr"});
  rows_->samples().add(*process_, sample(1000, 500, host_state::blocked));
  rows_->samples().add(*process_, sample(1500, 500, host_state::unknown));
  EXPECT_TRUE(finish().all<host_sample_event>().empty());
  EXPECT_TRUE(trace_->all<thread_row>().empty());
}

TEST_F(sample_handler_test, a_thread_has_rows_from_its_first_time_on_a_cpu) {
  time_ns at = 0;
  for (const host_state state : {host_state::blocked, host_state::in_kernel, host_state::blocked})
    rows_->samples().add(*process_, sample(at += 1000, 500, state));
  const auto rows = finish().all<host_sample_event>();
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].state, host_state::in_kernel);
  EXPECT_EQ(rows[1].state, host_state::blocked);
}

TEST_F(sample_handler_test, a_thread_with_events_has_rows_of_its_waits) {
  ring::thread_record introduction{};
  introduction.tid = 5;
  put(add_thread(), 0, introduction);
  turn();
  rows_->samples().add(*process_, sample(1000, 500, host_state::blocked));
  EXPECT_EQ(finish().all<host_sample_event>().size(), 1U);
}

TEST_F(sample_handler_test, frames_are_addresses_in_files) {
  rows_->samples().define(*process_, raw_module{100, "/lib/a.so", 0x1000, 0x1000, 0x9000, {1, 2}});
  rows_->samples().add(*process_, sample(10, 5, host_state::running, {0x1234, 0x99999}));
  const auto rows = finish().all<host_sample_event>();
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_THAT(list_frames(*trace_, rows[0].stack), ElementsAre(std::to_string(0x234), std::to_string(0x99999)));
  const auto modules = trace_->all<module_row>();
  ASSERT_EQ(modules.size(), 1U);
  EXPECT_EQ(trace_->text(modules[0].path), "/lib/a.so");
  EXPECT_EQ(trace_->text(modules[0].build_id), "0102");
}

TEST_F(sample_handler_test, a_file_that_the_process_declared_is_not_declared_again) {
  rows_->samples().define(*process_, raw_module{100, "/lib/a.so", 0x1000, 0x1000, 0x9000, {}});
  rows_->samples().define(*process_, raw_module{100, "/lib/a.so", 0x1000, 0x1000, 0x9800, {}});
  EXPECT_EQ(process_->stacks.modules.replaced, 0U);
  rows_->samples().define(*process_, raw_module{100, "/lib/b.so", 0x1000, 0x1000, 0x9000, {}});
  EXPECT_EQ(process_->stacks.modules.replaced, 1U) << "another file is there now";
}

TEST_F(sample_handler_test, python_stands_where_it_is_evaluated) {
  thread& t = add_thread();
  read_python(t, 2'000'000, "ab", 0b10);
  auto running = sample(0, 2'100'000, host_state::running, {11, 500, 12});
  running.evaluations = {500};
  rows_->samples().add(*process_, running);
  const auto rows = finish().all<host_sample_event>();
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_THAT(list_frames(*trace_, rows[0].stack), ElementsAre("11", "a", "b", "12"));
  EXPECT_EQ(rows[0].python_distance, 100'000);
}

TEST_F(sample_handler_test, without_native_frames_python_stands_alone) {
  thread& t = add_thread();
  read_python(t, 2'000'000, "ab", 0b10);
  rows_->samples().add(*process_, sample(0, 1'000'000, host_state::running));
  rows_->samples().add(*process_, sample(1'000'000, 900'000'000, host_state::blocked));
  const auto rows = finish().all<host_sample_event>();
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_THAT(list_frames(*trace_, rows[1].stack), ElementsAre("a", "b"));
  EXPECT_EQ(rows[1].python_distance, 0) << "read while the thread waited";
}

TEST_F(sample_handler_test, python_that_was_read_at_another_time_is_not_used) {
  thread& t = add_thread();
  read_python(t, 200'000'000, "ab", 0b10);
  rows_->samples().add(*process_, sample(0, 2'000'000, host_state::running, {11}));
  const auto rows = finish().all<host_sample_event>();
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_THAT(list_frames(*trace_, rows[0].stack), ElementsAre("11"));
  EXPECT_EQ(rows[0].python_distance, -1);
}

TEST_F(sample_handler_test, a_sample_waits_for_python) {
  rows_->samples().add(*process_, sample(0, 1'000'000, host_state::running, {11}));
  turns(2);
  thread& t = add_thread();
  read_python(t, 1'000'000, "a", 1);
  turns(10);
  const auto rows = finish().all<host_sample_event>();
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].python_distance, 0);
}

TEST_F(sample_handler_test, in_a_long_call_of_a_library_the_frames_are_those_of_the_call) {
  thread& t = add_thread();  // Its number is 1.
  ring::frame_record function{};
  function.key = ring::frame_key_bit | 7U;
  function.kind = static_cast<std::uint32_t>(frame_kind::python);
  function.function = text(t, "nvrtcCompileProgram");
  put(t, 0, function);
  ring::library_call_record call{};
  call.stack = 99;
  process_->stacks.stacks[call.stack] = {process_->stacks.words.size(), 2, 0, stack_id::none};
  process_->stacks.words.insert(process_->stacks.words.end(), {function.key, 0x1234});
  put(t, 5'000'000, call);
  call.stack = 0;
  put(t, 9'000'000, call);
  turn();
  for (const time_ns begin : {2'000'000, 6'000'000, 10'000'000}) {
    auto running = sample(begin, 1'000'000, host_state::running, {11});
    running.tid = 1;
    rows_->samples().add(*process_, running);
  }
  const auto rows = finish().all<host_sample_event>();
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_THAT(list_frames(*trace_, rows[0].stack), ElementsAre("11"));
  EXPECT_THAT(list_frames(*trace_, rows[1].stack), ElementsAre("nvrtcCompileProgram", std::to_string(0x1234)));
  EXPECT_THAT(list_frames(*trace_, rows[2].stack), ElementsAre("11"));
}

TEST_F(sample_handler_test, the_recorders_own_threads_have_no_rows) {
  process_->recorder_threads.insert(5);
  rows_->samples().add(*process_, sample(0, 1000, host_state::running));
  EXPECT_TRUE(finish().all<host_sample_event>().empty());
}

TEST_F(sample_handler_test, what_was_before_the_recording_is_cut_off) {
  rows_->samples().add(*process_, sample(-500, 800, host_state::running));
  rows_->samples().add(*process_, sample(-500, 500, host_state::running));
  const auto rows = finish().all<host_sample_event>();
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].time, 0);
  EXPECT_EQ(rows[0].length, 300);
}

}  // namespace
}  // namespace sluice::writer
