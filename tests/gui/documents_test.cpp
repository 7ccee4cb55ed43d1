// Open documents, the selection that they share, and going back in the history.
#include "app/gui/shell/documents.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <thread>

#include "core/remote/live_server.hpp"
#include "core/trace/file/writer.hpp"
#include "tests/gui/sample.hpp"

namespace sluice::gui {
namespace {

class session_test : public testing::Test {
 protected:
  void SetUp() override {
    test::write_sample(path);
    state.animations = false;
  }
  void TearDown() override { std::filesystem::remove(path); }

  void open(const std::string& which) {
    state.open(which);
    std::unique_lock lock(mutex);
    while (state.opening()) {
      changed.wait_for(lock, std::chrono::milliseconds(5));
      state.update(0.02);
    }
  }

  const std::string path = test::own_path("session.sluice");
  std::mutex mutex;
  std::condition_variable changed;
  documents state{[this] { changed.notify_all(); }};
};

TEST_F(session_test, opens_a_file_and_shows_all_of_it) {
  open(path);
  ASSERT_NE(state.active(), nullptr);
  EXPECT_TRUE(state.active()->ready());
  EXPECT_LT(state.active()->visible.begin, state.active()->span.begin);
  EXPECT_GT(state.active()->visible.end, state.active()->span.end);
}

TEST_F(session_test, goes_back_to_the_moment_of_before) {
  open(path);
  state.set_moment(1'000);
  EXPECT_FALSE(state.history().can_go_back()) << "choosing a moment does not add to the history";
  state.select({document_id::none, selection_kind::block, 3});
  state.set_moment(2'000);
  state.back();
  EXPECT_EQ(state.moment(), 1'000);
  state.forward();
  EXPECT_EQ(state.moment(), 2'000);
}

TEST_F(session_test, goes_back_by_one_action_of_the_user_whatever_it_changed) {
  open(path);
  const location before = state.here();
  state.begin_action();
  EXPECT_FALSE(state.history().in_step());
  state.mark({1'000'000, 2'000'000});
  state.go_to({500'000, 2'500'000}, false);
  EXPECT_TRUE(state.history().in_step());
  state.begin_action();
  state.select({document_id::none, selection_kind::block, 3});
  state.back();
  EXPECT_EQ(state.range(), (time_range{1'000'000, 2'000'000}));
  state.back();
  EXPECT_EQ(state.here(), before);
  EXPECT_FALSE(state.history().can_go_back());
}

TEST_F(session_test, marks_a_moment_as_the_moment_and_not_as_a_range) {
  open(path);
  state.mark({1'000'000, 2'000'000});
  state.mark({3'000'000, 3'000'001});
  EXPECT_FALSE(state.range().has_value());
  EXPECT_EQ(state.moment(), 3'000'000);
  state.mark({3'999'999, 4'000'001});
  EXPECT_EQ(state.moment(), 4'000'000) << "an event without a duration, and 1 ns on either side";
}

TEST_F(session_test, says_why_a_file_cannot_be_opened) {
  open("/no/such/file.sluice");
  EXPECT_EQ(state.active(), nullptr);
  const auto failures = state.take_failures();
  ASSERT_EQ(failures.size(), 1U);
  EXPECT_EQ(failures[0].code, error_code::not_found);
  EXPECT_TRUE(state.take_failures().empty());
}

TEST_F(session_test, imports_what_another_tool_recorded) {
  const std::string log = test::own_path("rmm.csv");
  std::ofstream(log) << "Thread,Time,Action,Pointer,Size,Stream\n"
                        "1,10:00:00.000000,allocate,0x100,64,0x0\n"
                        "1,10:00:01.000000,free,0x100,64,0x0\n";
  open(log);
  ASSERT_NE(state.active(), nullptr);
  EXPECT_TRUE(state.active()->ready());
  EXPECT_EQ(state.active()->path, log);
  EXPECT_GE(state.active()->span.length(), 1'000'000'000);
  EXPECT_EQ(state.loader().progress(), 0);
  std::filesystem::remove(log);
}

TEST_F(session_test, gives_up_an_import_without_a_word) {
  const std::string log = test::own_path("large.csv");
  {
    std::ofstream out(log);
    out << "Thread,Time,Action,Pointer,Size,Stream\n";
    for (int i = 1; i < 300'000; ++i) out << "1,10:00:00.000000,allocate,0x" << i << "00,64,0x0\n";
  }
  state.open(log);
  state.cancel_opening();
  std::unique_lock lock(mutex);
  while (state.opening()) {
    changed.wait_for(lock, std::chrono::milliseconds(5));
    state.update(0.02);
  }
  EXPECT_EQ(state.active(), nullptr);
  EXPECT_TRUE(state.take_failures().empty());
  std::filesystem::remove(log);
}

TEST_F(session_test, sums_up_what_was_cut_short_and_is_too_large_to_be_held) {
  std::filesystem::resize_file(path, std::filesystem::file_size(path) - 1);
  state.memory_bytes = 0;
  open(path);
  ASSERT_NE(state.active(), nullptr);
  const auto shown = state.active()->engine->snapshot();
  EXPECT_FALSE(shown->complete());
  EXPECT_FALSE(shown->summaries().empty());
  EXPECT_TRUE(state.active()->engine->ask_now(query::tracks_query{}));
}

TEST_F(session_test, opens_what_was_cut_short_as_it_is_where_it_can_be_held) {
  std::filesystem::resize_file(path, std::filesystem::file_size(path) - 1);
  open(path);
  ASSERT_NE(state.active(), nullptr);
  EXPECT_TRUE(state.active()->engine->snapshot()->summaries().empty());
}

TEST_F(session_test, gives_up_summing_up_without_a_word) {
  std::filesystem::resize_file(path, std::filesystem::file_size(path) - 1);
  state.memory_bytes = 0;
  state.open(path);
  state.cancel_opening();
  std::unique_lock lock(mutex);
  while (state.opening()) {
    changed.wait_for(lock, std::chrono::milliseconds(5));
    state.update(0.02);
  }
  EXPECT_TRUE(state.take_failures().empty());
}

TEST_F(session_test, comes_back_to_a_file_that_is_open) {
  open(path);
  const document_id first = state.active()->id;
  open(path);
  EXPECT_EQ(state.all().size(), 1U);
  EXPECT_EQ(state.active()->id, first);
}

TEST_F(session_test, goes_back_and_forward_through_what_was_selected) {
  open(path);
  const document_id here = state.active()->id;
  state.select({here, selection_kind::event, 7});
  state.select_range(time_range{1'000'000, 2'000'000});
  state.go_to({1'000'000, 3'000'000}, false);
  state.back();
  EXPECT_TRUE(state.range().has_value());
  EXPECT_GT(state.active()->visible.length(), 20'000'000);
  state.back();
  EXPECT_FALSE(state.range().has_value());
  EXPECT_EQ(state.selected().id, 7U);
  state.back();
  EXPECT_EQ(state.selected().kind, selection_kind::none);
  EXPECT_FALSE(state.history().can_go_back());
  state.forward();
  state.forward();
  state.forward();
  EXPECT_EQ(state.selected().id, 7U);
  EXPECT_EQ(state.active()->visible, (time_range{1'000'000, 3'000'000}));
}

TEST_F(session_test, brings_back_in_one_step_what_was_selected_before_nothing_was) {
  open(path);
  const document_id here = state.active()->id;
  state.select({here, selection_kind::block, 3});
  state.select_range(time_range{1'000'000, 2'000'000});
  state.set_moment(1'500'000);
  state.select_nothing();
  EXPECT_EQ(state.selected().kind, selection_kind::none);
  EXPECT_FALSE(state.range().has_value());
  EXPECT_FALSE(state.moment().has_value());
  state.select_nothing();
  state.back();
  EXPECT_EQ(state.selected().id, 3U) << "clearing an empty selection does not add to the history";
  EXPECT_EQ(state.range(), (time_range{1'000'000, 2'000'000}));
  EXPECT_EQ(state.moment(), 1'500'000);
  state.forward();
  EXPECT_EQ(state.selected().kind, selection_kind::none);
}

TEST_F(session_test, never_shows_less_than_a_pixel_or_more_than_there_is) {
  const time_range span{0, 1'000'000};
  const time_range deep = clamp_view({500'000, 500'001}, span);
  EXPECT_GE(deep.length(), 10);
  const time_range wide = clamp_view({-9'000'000'000, 9'000'000'000}, span);
  EXPECT_LE(wide.length(), 1'100'000);
  const time_range beside = clamp_view({5'000'000, 5'100'000}, span);
  EXPECT_EQ(beside.length(), 100'000);
  EXPECT_LE(beside.end, 1'010'000);
}

TEST_F(session_test, closing_forgets_the_way_there) {
  open(path);
  state.select({state.active()->id, selection_kind::event, 7});
  state.close(state.active()->id);
  EXPECT_EQ(state.active(), nullptr);
  EXPECT_FALSE(state.history().can_go_back());
  state.show({0, 10}, false);  // Without a document, `show` does nothing.
}

TEST_F(session_test, an_empty_recording_is_open_but_not_ready) {
  test::write_empty(path);
  open(path);
  ASSERT_NE(state.active(), nullptr);
  EXPECT_FALSE(state.active()->ready());
}

TEST_F(session_test, follows_a_recording_that_is_watched_through_a_socket) {
  auto writer = trace::file_writer::create(path).value();
  const auto add_kernel = [&](time_ns begin) {
    trace::kernel_event row;
    row.time = begin;
    row.end = begin + 1'000'000;
    writer.add(row);
    ASSERT_TRUE(writer.flush());
  };
  add_kernel(0);
  const std::string socket = path + ".live";
  const auto server = remote::live_server::start(path, socket).value();
  open("live:" + socket);
  ASSERT_NE(state.active(), nullptr);
  EXPECT_TRUE(state.active()->live);
  EXPECT_EQ(state.active()->title, std::filesystem::path(path).filename().string());
  const auto becomes = [&](const auto& true_) {
    for (int i = 0; i < 1'000 && !true_(); ++i) {
      state.update(0.02);
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return true_();
  };
  add_kernel(99'000'000);
  EXPECT_TRUE(becomes([&] { return state.active()->span.end >= 100'000'000; }));
  ASSERT_TRUE(writer.close());
  EXPECT_TRUE(becomes([&] { return !state.active()->live; }));
  EXPECT_TRUE(state.active()->engine->snapshot()->complete());
}

TEST_F(session_test, says_why_an_address_cannot_be_reached) {
  open("live:/no/such/socket");
  open("ssh://-oProxyCommand=reboot/a.sluice");
  EXPECT_EQ(state.active(), nullptr);
  const auto failures = state.take_failures();
  ASSERT_EQ(failures.size(), 2U);
  EXPECT_EQ(failures[0].code, error_code::not_found);
  EXPECT_EQ(failures[1].code, error_code::invalid_argument);
}

}  // namespace
}  // namespace sluice::gui
