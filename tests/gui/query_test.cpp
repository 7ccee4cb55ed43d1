// The query panel in a real window: results, clicks on rows, and cancelling.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "app/gui/views/query.hpp"
#include "core/query/sql/sql.hpp"
#include "core/query/sql/sql_text.hpp"
#include "tests/gui/window_fixture.hpp"

namespace sluice::test {
namespace {

using gui::selection_kind;

class query_panel : public window_test {
 protected:
  const gui::query_view& asked() { return app().find<gui::query_view>(); }
  void open_panel(ImGuiTestContext& user) {
    open_sample(user);
    app().invoke("panel.focus.Query");
    user.Yield(4);
  }
  void ask(ImGuiTestContext& user, const std::string& text) {
    app().invoke("query.run", text);
    user.Yield(3);
    settle(user);
  }
  /// The result of a query that returns a single number, computed without the window.
  std::string result_of_text(const std::string& text) {
    auto asked = query::sql_database::open(app().state().active()->engine->snapshot()).value();
    auto rows = asked->prepare(text).value();
    return rows.step().value() ? query::to_text(rows.at(0)) : std::string();
  }
};

TEST_F(query_panel, results_what_is_typed) {
  use([&](ImGuiTestContext& user) {
    open_panel(user);
    user.ItemInput("//Query/##sql");
    user.KeyPress(ImGuiMod_Ctrl | ImGuiKey_A);
    user.KeyChars("SELECT count(*) AS blocks, sum(bytes) AS bytes FROM block");
    user.KeyPress(ImGuiMod_Ctrl | ImGuiKey_Enter);
    user.Yield(3);
    settle(user);
    const std::string words = read(user);
    EXPECT_NE(words.find(result_of_text("SELECT sum(bytes) FROM block")), std::string::npos) << words;
    EXPECT_NE(words.find("1 row in"), std::string::npos) << words;
  });
}

TEST_F(query_panel, a_row_leads_to_its_block) {
  use([&](ImGuiTestContext& user) {
    open_panel(user);
    ask(user, "SELECT bytes, id FROM blocks ORDER BY id DESC");
    const std::string last = result_of_text("SELECT max(id) FROM block");
    user.ItemClick("//Query/**/##row");
    user.Yield(3);
    EXPECT_EQ(app().state().selected().kind, selection_kind::block);
    EXPECT_EQ(std::to_string(app().state().selected().id), last);
  });
}

TEST_F(query_panel, mistakes_are_said_in_place) {
  use([&](ImGuiTestContext& user) {
    open_panel(user);
    ask(user, "SELECT nowhere FROM kernels");
    EXPECT_NE(read(user).find("no such column: nowhere"), std::string::npos);
    EXPECT_TRUE(app().notice().empty());
    ask(user, "SELECT id FROM kernels WHERE 0");
    EXPECT_NE(read(user).find("No row"), std::string::npos);
  });
}

TEST_F(query_panel, long_results_are_scrolled_to_their_last_row) {
  use([&](ImGuiTestContext& user) {
    open_panel(user);
    ask(user,
        "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT 200000) SELECT 'number ' || x AS n FROM "
        "c");
    EXPECT_NE(read(user).find("200,000 rows"), std::string::npos);
    user.ItemClick("//Query/**/##row");
    user.KeyPress(ImGuiKey_End);
    user.Yield(3);
    EXPECT_NE(read(user).find("number 200000"), std::string::npos);
  });
}

TEST_F(query_panel, an_endless_query_is_stopped) {
  use([&](ImGuiTestContext& user) {
    open_panel(user);
    app().invoke("query.run",
                 std::string("WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c"));
    user.Yield(5);
    EXPECT_TRUE(app().busy());
    user.ItemClick("//Query/**/###query.cancel");
    user.Yield(3);
    settle(user);
    EXPECT_NE(read(user).find("interrupted"), std::string::npos);
  });
}

TEST_F(query_panel, remembers_what_was_asked_and_gives_csv_away) {
  use([&](ImGuiTestContext& user) {
    open_panel(user);
    ask(user, "SELECT 1 AS a, 'x,y' AS b");
    app().invoke("query.copy");
    user.Yield(2);
    EXPECT_STREQ(ImGui::GetClipboardText(), "a,b\n1,\"x,y\"\n");
    const std::string place = own_path("answer.csv");
    app().invoke("query.save", place);
    user.Yield(3);
    settle(user);
    std::ifstream in(place);
    EXPECT_EQ(std::string(std::istreambuf_iterator<char>(in), {}), "a,b\n1,\"x,y\"\n");
    std::filesystem::remove(place);
    ask(user, "SELECT 2");
    ask(user, "SELECT 1 AS a, 'x,y' AS b");
    EXPECT_EQ(asked().history(), (std::vector<std::string>{"SELECT 1 AS a, 'x,y' AS b", "SELECT 2"}));
    // Recalls the previous query by keyboard.
    user.ItemInput("//Query/##sql");
    user.KeyPress(ImGuiMod_Ctrl | ImGuiKey_UpArrow);
    user.Yield(3);
    user.KeyPress(ImGuiMod_Ctrl | ImGuiKey_UpArrow);
    user.Yield(3);
    user.KeyPress(ImGuiMod_Ctrl | ImGuiKey_Enter);
    user.Yield(3);
    settle(user);
    EXPECT_EQ(asked().history().front(), "SELECT 2");
  });
}

TEST_F(query_panel, forgets_the_result_of_another_recording) {
  use([&](ImGuiTestContext& user) {
    open_panel(user);
    ask(user, "SELECT 1");
    EXPECT_TRUE(asked().has_rows());
    app().invoke("file.close");
    user.Yield(4);
    EXPECT_FALSE(asked().has_rows());
  });
}

}  // namespace
}  // namespace sluice::test
