// Names with terminal controls, reversed or hidden text, or ImGui's own markup, in a real window.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/core/recordings/recording.hpp"
#include "tests/gui/window_fixture.hpp"

namespace sluice::test {
namespace {

using sluice::testing::mib;
using sluice::testing::ms;
using ::testing::HasSubstr;
using ::testing::Not;

/// A text that sets a title, beeps, sets colours with C1 codes, reverses and hides text, and contains a newline, a
/// format, an id and invalid UTF-8.
const std::string hostile =
    "\x1b]0;owned\x07 \xc2\x9b"
    "31m \xe2\x80\xae"
    "evil \xe2\x80\x8b \r\n fake%n%s%99999d ##hidden ###id \xff";

/// Expects only printable characters and newlines.
void expect_tame(const std::string& text, const std::string& where) {
  for (const char* each : {"\x1b", "\x07", "\xc2\x9b", "\xe2\x80\xae", "\xe2\x80\x8b", "\r", "\xff"})
    EXPECT_THAT(text, Not(HasSubstr(each))) << where;
}

class hostile_names : public window_test {
 protected:
  void SetUp() override {
    window_test::SetUp();
    sluice::testing::recording recorded;
    recorded.standard_tables();
    trace::process_row process;
    process.id = trace::process_id{1};
    process.pid = 42;
    process.command = recorded.text(hostile);
    recorded.writer().add(process);
    trace::thread_row thread;
    thread.id = trace::thread_id{1};
    thread.process = process.id;
    thread.name = recorded.text(hostile);
    recorded.writer().add(thread);
    for (std::uint64_t i = 1; i < 3; ++i) {
      trace::device_row device;
      device.id = trace::device_id{i};
      device.name = recorded.text(hostile + std::to_string(i));
      device.kind = trace::device_kind::cuda;
      device.ordinal = static_cast<std::int32_t>(i) - 1;
      recorded.writer().add(device);
    }
    recorded.add_alloc(1 * ms, 1, 64 * mib, trace::memory_kind::device, trace::layer::framework, hostile);
    recorded.add_alloc(2 * ms, 2, 32 * mib, trace::memory_kind::device, trace::layer::driver, hostile);
    recorded.add_kernel(3 * ms, 9 * ms, hostile);
    recorded.add_call(3 * ms, 4 * ms, hostile);
    auto message = recorded.event<trace::message_event>(5 * ms);
    message.text = recorded.text(hostile);
    recorded.writer().add(message);
    recorded.close();
    std::filesystem::copy_file(recorded.path(), place);
  }
  void TearDown() override {
    std::filesystem::remove(place);
    window_test::TearDown();
  }
  void open_it(ImGuiTestContext& user) {
    app().open(place);
    ASSERT_TRUE(wait_until(user, [&] { return app().state().active() != nullptr && app().state().active()->ready(); }));
    user.Yield(6);
    settle(user);
  }

  const std::string place = own_path("\x1b[2J ##x %s \xe2\x80\xae name.sluice");
};

// Tried: in every panel, names of events and files with escape sequences, direction controls, formats and ImGui markup.
TEST_F(hostile_names, no_panel_draws_them) {
  use([&](ImGuiTestContext& user) {
    open_it(user);
    app().invoke("selection.set", gui::selection{app().state().active()->id, gui::selection_kind::block, 1});
    bool seen = false;
    for (const char* panel :
         {"Timeline", "Summary", "Details", "Statistics", "Blocks", "Memory map", "Stacks", "What if",
          "Memory over time", "Transfers", "Idle gaps", "Host stacks", "Ranks", "Messages"}) {
      app().invoke(std::string("panel.focus.") + panel);
      user.Yield(4);
      settle(user);
      const std::string words = read(user);
      expect_tame(words, panel);
      seen = seen || words.find("\\x1b]0;owned") != std::string::npos;
    }
    EXPECT_TRUE(seen) << "names are shown in escaped form";
    app().invoke("search.find", std::string("evil"));
    user.Yield(4);
    settle(user);
    expect_tame(read(user), "Search");
  });
}

// Tried: hostile names in the window's title and the menus.
TEST_F(hostile_names, no_title_and_no_menu_has_them) {
  use([&](ImGuiTestContext& user) {
    open_it(user);
    expect_tame(app().title(), "title");
    EXPECT_THAT(app().title(), HasSubstr("\\x1b[2J ##x %s \\u{202e} name.sluice"));
    user.MenuClick("//##MainMenuBar/File");
    expect_tame(read(user), "menu");
  });
}

// Tried: names and texts of a query that are copied to the clipboard and may be pasted into a terminal.
TEST_F(hostile_names, what_is_copied_drives_no_terminal) {
  use([&](ImGuiTestContext& user) {
    open_it(user);
    app().invoke("panel.focus.Query");
    user.Yield(4);
    app().invoke("query.run", std::string("SELECT name, char(27) || '[2J' AS \"a##b\" FROM kernels"));
    user.Yield(3);
    settle(user);
    expect_tame(read(user), "rows");
    app().invoke("query.copy");
    user.Yield(2);
    const std::string copied = ImGui::GetClipboardText();
    expect_tame(copied, "clipboard");
    EXPECT_THAT(copied, HasSubstr("\\x1b]0;owned\\x07"));
  });
}

// Tried: a missing file whose name is an escape sequence, in the notice.
TEST_F(hostile_names, no_notice_draws_them) {
  use([&](ImGuiTestContext& user) {
    app().open("/nowhere/\x1b[2J\xe2\x80\xae.sluice");
    ASSERT_TRUE(wait_until(user, [&] { return !app().notice().empty(); }));
    const std::string words = read(user);
    expect_tame(words, "notice");
    EXPECT_THAT(words, HasSubstr("\\x1b[2J\\u{202e}.sluice"));
  });
}

}  // namespace
}  // namespace sluice::test
