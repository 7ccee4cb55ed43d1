// The panel that finds events by their names, in a real window.
#include <gtest/gtest.h>

#include "app/gui/views/search.hpp"
#include "core/base/format.hpp"
#include "core/query/engine/engine.hpp"
#include "tests/gui/window_fixture.hpp"

namespace sluice::test {
namespace {

class search_panel : public window_test {
 protected:
  void type(ImGuiTestContext& user, const char* text) {
    open_sample(user);
    app().invoke("search.open");
    user.Yield(4);
    user.ItemInput("//Search/##search");
    user.KeyPress(ImGuiMod_Ctrl | ImGuiKey_A);
    user.KeyChars(text);
    user.Yield(3);
    settle(user);
  }
  /// A name that some kernel has, and its first event.
  query::found_name any_kernel() {
    const auto& engine = app().state().active()->engine;
    const auto found = engine->ask_now(query::search_question{"e"}).value();
    for (const query::found_name& each : found->names)
      if (each.kind == trace::row_type::kernel) return each;
    return {};
  }
};

TEST_F(search_panel, a_row_leads_to_the_first_event_of_its_name) {
  use([&](ImGuiTestContext& user) {
    open_sample(user);
    const query::found_name wanted = any_kernel();
    ASSERT_GT(wanted.count, 0U);
    const std::string name(app().state().active()->engine->snapshot()->tables().text(wanted.name));
    type(user, name.c_str());
    EXPECT_NE(read(user).find(name), std::string::npos);
    user.ItemClick("//Search/**/##row");
    user.Yield(3);
    EXPECT_EQ(app().state().selected().kind, gui::selection_kind::event);
    EXPECT_EQ(app().state().selected().id, trace::raw(wanted.first.event));
  });
}

TEST_F(search_panel, is_asked_by_a_command_and_says_how_much_it_found) {
  use([&](ImGuiTestContext& user) {
    open_sample(user);
    app().invoke("search.find", std::string("scale_and_add"));
    user.Yield(4);
    settle(user);
    const auto found = *app().state().active()->engine->ask_now(query::search_question{"scale_and_add"});
    ASSERT_GT(found->total, 0U);
    const std::string words = read(user);
    EXPECT_NE(words.find(format_some(found->total, "event") + " of " + format_some(found->name_count, "name")),
              std::string::npos)
        << words;
    EXPECT_EQ(words.find("so far"), std::string::npos) << "it has ended";
    EXPECT_FALSE(app().find<gui::search_view>().searching());
  });
}

TEST_F(search_panel, says_when_nothing_is_called_that) {
  use([&](ImGuiTestContext& user) {
    type(user, "no such name anywhere");
    EXPECT_NE(read(user).find("No such name"), std::string::npos);
  });
}

}  // namespace
}  // namespace sluice::test
