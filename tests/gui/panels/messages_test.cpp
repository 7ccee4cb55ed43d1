// The panel of messages, in a real window.
#include <gtest/gtest.h>

#include <filesystem>

#include "core/base/format.hpp"
#include "tests/core/recordings/recording.hpp"
#include "tests/gui/window_fixture.hpp"

namespace sluice::test {
namespace {

using messages_panel = window_test;

std::size_t times_in(const std::string& words, const std::string& text) {
  std::size_t count = 0;
  for (std::size_t at = words.find(text); at != std::string::npos; at = words.find(text, at + 1)) ++count;
  return count;
}

TEST_F(messages_panel, shows_equal_messages_once_with_their_number_and_the_first_time) {
  testing::recording recorded;
  recorded.standard_tables();
  for (const time_ns time : {1'000'000, 2'000'000, 3'000'000}) {
    auto row = recorded.event<trace::message_event>(time);
    row.severity = trace::severity::warning;
    row.text = recorded.text(time == 2'000'000 ? "2 events were dropped" : "a buffer was late");
    recorded.writer().add(row);
  }
  recorded.close();
  std::filesystem::copy_file(recorded.path(), path, std::filesystem::copy_options::overwrite_existing);
  use([&](ImGuiTestContext& user) {
    open_sample(user);
    app().invoke("panel.focus.Messages");
    user.Yield(4);
    settle(user);
    const std::string words = read(user);
    EXPECT_EQ(times_in(words, "A buffer was late"), 1U) << words;
    EXPECT_EQ(times_in(words, "2 events were dropped"), 1U) << words;
    EXPECT_NE(words.find("2 times, first at " + format_moment(1'000'000)), std::string::npos) << words;
    EXPECT_NE(words.find("at " + format_moment(2'000'000)), std::string::npos) << words;
  });
}

}  // namespace
}  // namespace sluice::test
