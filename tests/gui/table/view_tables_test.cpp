// Features of every table in the panels: selecting rows by keyboard, copying, a menu by mouse and keyboard, and CSV.
#include "app/gui/views/parts/view_tables.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "app/gui/views/blocks.hpp"
#include "app/gui/views/compare/compare.hpp"
#include "app/gui/views/parts/panel_parts.hpp"
#include "app/gui/window/format.hpp"
#include "core/base/format.hpp"
#include "core/query/engine/engine.hpp"
#include "core/query/types/generations.hpp"
#include "core/query/types/idle_gaps.hpp"
#include "imgui_internal.h"
#include "tests/core/recordings/replayed_program.hpp"
#include "tests/core/recordings/steps_program.hpp"
#include "tests/core/recordings/torch_program.hpp"
#include "tests/gui/panels/panel_rows.hpp"
#include "tests/gui/window_fixture.hpp"

namespace sluice::test {
namespace {

using strings = std::vector<std::string>;

/// The records of a CSV file (RFC 4180).
std::vector<strings> parsed(const std::string& csv) {
  std::vector<strings> rows(1, strings(1));
  bool quoted = false;
  for (std::size_t i = 0; i < csv.size(); ++i) {
    const char c = csv[i];
    if (quoted && c == '"' && i + 1 < csv.size() && csv[i + 1] == '"') {
      rows.back().back() += csv[++i];
    } else if (c == '"') {
      quoted = !quoted;
    } else if (!quoted && c == ',') {
      rows.back().emplace_back();
    } else if (!quoted && c == '\n') {
      rows.emplace_back(1);
    } else {
      rows.back().back() += c;
    }
  }
  EXPECT_FALSE(quoted);
  EXPECT_EQ(rows.back(), strings(1)) << "the last line ends with a newline";
  rows.pop_back();
  return rows;
}

strings split(const std::string& text, char at) {
  strings parts(1);
  for (const char c : text) {
    if (c == at) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

class row_menus;

/// A table to test: how to show it, and the expected content of one column in CSV.
struct table_case {
  const char* panel;
  const char* column;
  void (*open)(row_menus&, ImGuiTestContext&);
  strings (*expected)(row_menus&);
  std::size_t cells = SIZE_MAX;  ///< The number of visible cells per row; the other columns are hidden.
  const char* item = "##row";
  bool of_each_kind = false;  ///< Also select rows: in a table, a list that draws its own rows, and a list of items.
};

void PrintTo(const table_case& subject, std::ostream* to) { *to << subject.panel; }

class row_menus : public window_test, public ::testing::WithParamInterface<table_case> {
 public:
  using window_test::app;
  using window_test::path;

  /// Shows the table for the sample, or for the recording that `write` makes.
  void show(ImGuiTestContext& user, const std::function<void(testing::recording&)>& write = {}) {
    if (write) {
      testing::recording recorded;
      write(recorded);
      recorded.close();
      std::filesystem::copy_file(recorded.path(), path, std::filesystem::copy_options::overwrite_existing);
    }
    open_sample(user);
    focus(user, GetParam().panel);
  }
  void focus(ImGuiTestContext& user, const std::string& panel) {
    app().invoke("panel.focus." + panel);
    user.Yield(6);
    settle(user);
  }
  void command(ImGuiTestContext& user, const char* id, gui::argument with) {
    app().invoke(id, std::move(with));
    user.Yield(4);
    settle(user);
  }
  const gui::document& document() { return *app().state().active(); }
  template <class Query>
  auto ask(const Query& query) {
    return document().engine->ask_now(query).value();
  }
  auto report() { return ask(query::report_query{}); }

 protected:
  /// The visible rows from top to bottom, those of the leftmost table first.
  std::vector<ImRect> rows(ImGuiTestContext& user) {
    ImGuiTestItemList items;
    user.GatherItems(&items, (std::string("//") + GetParam().panel).c_str(), 20);
    // A table that scrolls horizontally is wider than its panel, which may have a scroll bar at the right.
    const ImGuiWindow* const panel = user.GetWindowByRef((std::string("//") + GetParam().panel).c_str());
    const float right = panel->WorkRect.Max.x - 16;
    std::vector<ImRect> found;
    for (const ImGuiTestItemInfo& each : items) {
      if (std::string_view(each.DebugLabel) != GetParam().item) continue;
      found.push_back(each.RectClipped);
      found.back().Max.x = std::min(found.back().Max.x, right);
    }
    std::sort(found.begin(), found.end(), [](const ImRect& a, const ImRect& b) {
      return a.Min.x != b.Min.x ? a.Min.x < b.Min.x : a.Min.y < b.Min.y;
    });
    return found;
  }
  static std::string clipboard() {
    const char* text = ImGui::GetClipboardText();
    return text == nullptr ? std::string() : std::string(text);
  }
  static bool menu_is_open(ImGuiTestContext& user) {
    return user.ItemExists("//$FOCUSED/Copy") && user.ItemExists("//$FOCUSED/Copy table as CSV");
  }
  void choose(ImGuiTestContext& user, const char* entry) {
    user.ItemClick((std::string("//$FOCUSED/") + entry).c_str());
    user.Yield(3);
    settle(user);
  }
  void open_menu(ImGuiTestContext& user, const ImRect& row) {
    user.MouseMoveToPos({row.Max.x - 6, row.GetCenter().y});
    user.MouseClick(1);
    user.Yield(3);
  }
};

TEST_P(row_menus, copy_a_row_by_mouse_and_by_keyboard_and_the_table_as_csv) {
  use([&](ImGuiTestContext& user) {
    const table_case& subject = GetParam();
    subject.open(*this, user);
    const std::string words = read(user);
    const auto whole = rows(user);
    ASSERT_FALSE(whole.empty()) << words;

    open_menu(user, whole.front());
    ASSERT_TRUE(menu_is_open(user)) << "by mouse";
    take_picture(user, std::string("menu of ") + subject.panel);
    choose(user, "Copy");
    const std::string row = clipboard();
    const strings cells = split(row, '\t');
    for (std::size_t i = 0; i < std::min(subject.cells, cells.size()); ++i)
      // On the screen there is a space between the hyphens of "--steps".
      EXPECT_TRUE(words.find(cells[i]) != std::string::npos ||
                  words.find(gui::format::apart(gui::format::in_window(cells[i]))) != std::string::npos ||
                  words.find(gui::format::apart(cells[i])) != std::string::npos)
          << '"' << cells[i] << "\" in\n"
          << words;

    ImGui::SetClipboardText("");
    user.KeyPress(ImGuiMod_Ctrl | ImGuiKey_C);
    user.Yield(4);
    EXPECT_EQ(clipboard(), row) << "the row has the focus";

    user.KeyPress(ImGuiKey_Menu);
    user.Yield(4);
    ASSERT_TRUE(menu_is_open(user)) << "by keyboard";
    choose(user, "Copy table as CSV");
    const auto csv = parsed(clipboard());
    const strings expected = subject.expected(*this);
    ASSERT_EQ(csv.size(), expected.size() + 1) << clipboard();
    const auto column = std::find(csv[0].begin(), csv[0].end(), subject.column);
    ASSERT_NE(column, csv[0].end()) << clipboard();
    for (std::size_t i = 0; i < expected.size(); ++i) {
      ASSERT_EQ(csv[i + 1].size(), csv[0].size());
      EXPECT_EQ(csv[i + 1][static_cast<std::size_t>(column - csv[0].begin())], expected[i]) << "row " << i;
    }

    if (!subject.of_each_kind) return;
    ASSERT_GE(whole.size(), 2U);
    ImGui::SetClipboardText("");
    user.KeyPress(ImGuiKey_DownArrow);
    user.Yield(3);
    user.KeyPress(ImGuiMod_Ctrl | ImGuiKey_C);
    user.Yield(4);
    const std::string below = clipboard();
    EXPECT_NE(below, "");
    EXPECT_NE(below, row) << "the arrow keys move to another row";

    user.KeyPress(ImGuiMod_Shift | ImGuiKey_UpArrow);
    user.Yield(4);
    EXPECT_NE(read(user).find("2 rows selected"), std::string::npos);
    take_picture(user, std::string("rows of ") + subject.panel);
    user.KeyPress(ImGuiMod_Ctrl | ImGuiKey_C);
    user.Yield(4);
    EXPECT_EQ(clipboard(), row + '\n' + below);
    user.KeyPress(ImGuiKey_Menu);
    user.Yield(4);
    choose(user, "###Copy the rows as CSV");
    EXPECT_EQ(parsed(clipboard()), (std::vector<strings>{csv[0], csv[1], csv[2]})) << "only these rows";

    user.KeyPress(ImGuiMod_Ctrl | ImGuiKey_A);
    user.Yield(4);
    const std::string all_selected = read(user);
    EXPECT_TRUE(all_selected.find(format_some(expected.size(), "row") + " selected") != std::string::npos ||
                all_selected.find("All rows selected") != std::string::npos)
        << all_selected;
    user.KeyPress(ImGuiKey_Menu);
    user.Yield(4);
    choose(user, "###Copy the rows as CSV");
    EXPECT_EQ(parsed(clipboard()), csv);
    user.KeyPress(ImGuiKey_DownArrow);
    user.Yield(4);
    EXPECT_EQ(read(user).find(" selected"), std::string::npos) << "other keys select a single row";
  });
}

class selected_rows : public window_test {
 protected:
  void show(ImGuiTestContext& user) {
    open_sample(user);
    app().invoke("panel.focus.Blocks");
    user.Yield(4);
    settle(user);
    query::blocks_query wanted;
    wanted.range = app().state().active()->span;
    wanted.layer = app().find<gui::blocks_view>().filter().layer;
    blocks = app().state().active()->engine->ask_now(wanted).value()->rows;
    rows = get_rows(user, "//Blocks");
    ASSERT_GE(rows.size(), 4U);
    ASSERT_GE(blocks.size(), rows.size());
  }
  void point(ImGuiTestContext& user, std::size_t row) {
    // The table is wider than the panel and scrolls horizontally.
    const float right = user.GetWindowByRef("//Blocks")->WorkRect.Max.x;
    user.MouseMoveToPos({right - 60, rows[row].GetCenter().y});
  }
  void click(ImGuiTestContext& user, std::size_t row, ImGuiKeyChord modifiers = 0) {
    point(user, row);
    if (modifiers != 0) user.KeyDown(modifiers);
    user.MouseClick(0);
    if (modifiers != 0) user.KeyUp(modifiers);
    user.Yield(4);
  }
  std::string get_words(std::initializer_list<std::size_t> chosen) {
    std::uint64_t sum = 0;
    for (const std::size_t row : chosen) sum += blocks[row].bytes;
    return format_some(chosen.size(), "row") + " selected, " + format_bytes(sum);
  }

  std::vector<query::block_row> blocks;
  std::vector<ImRect> rows;
};

TEST_F(selected_rows, are_chosen_by_clicks_with_shift_and_ctrl_and_counted_at_the_panel_s_end) {
  use([&](ImGuiTestContext& user) {
    show(user);
    click(user, 0);
    const std::uint64_t selected = app().state().selected().id;
    EXPECT_EQ(selected, trace::raw(blocks[0].block));
    click(user, 2, ImGuiMod_Shift);
    EXPECT_NE(read(user).find(get_words({0, 1, 2})), std::string::npos) << read(user);
    click(user, 1, ImGuiMod_Ctrl);
    EXPECT_NE(read(user).find(get_words({0, 2})), std::string::npos);
    click(user, 3, ImGuiMod_Ctrl);
    EXPECT_NE(read(user).find(get_words({0, 2, 3})), std::string::npos);
    EXPECT_EQ(app().state().selected().id, selected) << "such clicks change nothing else";
    const ImGuiWindow* const said = ImGui::FindWindowByName("##selected rows of Blocks");
    ASSERT_NE(said, nullptr);
    const ImRect panel = ImGui::FindWindowByName("Blocks")->Rect();
    EXPECT_TRUE(panel.Contains(said->Rect()));
    EXPECT_GT(said->Pos.y, panel.GetCenter().y);

    const std::string file = own_path("rows.csv");
    point(user, 2);
    user.MouseClick(1);
    user.Yield(3);
    user.ItemClick("//$FOCUSED/###Save the rows as CSV");
    user.Yield(3);
    user.ItemInput("//###path/##path_text");
    user.KeyCharsReplaceEnter(file.c_str());
    EXPECT_TRUE(wait_until(user, [&] { return std::filesystem::exists(file); })) << app().notice();
    std::ifstream in(file);
    const auto saved = parsed({std::istreambuf_iterator<char>(in), {}});
    ASSERT_EQ(saved.size(), 4U);
    EXPECT_EQ(saved[1][0], std::to_string(blocks[0].bytes));
    EXPECT_EQ(saved[3][0], std::to_string(blocks[3].bytes));
    std::filesystem::remove(file);
  });
}

TEST_F(selected_rows, reach_beyond_the_rows_on_the_screen) {
  use([&](ImGuiTestContext& user) {
    show(user);
    click(user, rows.size() - 2);
    for (int i = 0; i < 4; ++i) {
      user.KeyPress(ImGuiMod_Shift | ImGuiKey_DownArrow);
      user.Yield(4);
    }
    const std::size_t first = rows.size() - 2;
    EXPECT_NE(read(user).find(get_words({first, first + 1, first + 2, first + 3, first + 4})), std::string::npos)
        << read(user);
    // The wheel scrolls all selected rows off the screen.
    point(user, 0);
    user.MouseWheelY(-40);
    user.Yield(4);
    user.KeyPress(ImGuiMod_Ctrl | ImGuiKey_C);
    user.Yield(4);
    const char* text = ImGui::GetClipboardText();
    ASSERT_NE(text, nullptr);
    EXPECT_EQ(split(text, '\n').size(), 5U) << text;
  });
}

template <class Rows, class Value>
strings numbers(const Rows& rows, Value&& value) {
  strings texts;
  for (const auto& each : rows) texts.push_back(std::to_string(value(each)));
  return texts;
}

void show_sample(row_menus& menus, ImGuiTestContext& user) { menus.show(user); }

// --- blocks, copies, gaps, statistics --------------------------------------------------------------------------------

strings largest_blocks(row_menus& menus) {
  query::blocks_query wanted;
  wanted.range = menus.document().span;
  wanted.layer = menus.app().find<gui::blocks_view>().filter().layer;
  return numbers(menus.ask(wanted)->rows, [](const query::block_row& each) { return each.bytes; });
}

strings copied(row_menus& menus) {
  return numbers(menus.report()->whole.transfers,
                 [](const auto& each) { return static_cast<std::uint64_t>(each.bytes); });
}

strings idle(row_menus& menus) {
  std::vector<metrics::device_activity> working;
  const auto report = menus.report();
  for (const auto& each : report->whole.devices)
    if (each.kernels > 0) working.push_back(each);
  return numbers(working, [](const auto& each) { return each.last - each.first - each.busy; });
}

strings peaks(row_menus& menus) {
  const auto report = menus.report();
  strings texts =
      numbers(report->whole.memory, [](const auto& each) { return static_cast<std::uint64_t>(each.maximum); });
  for (const auto& each : report->whole.untracked) {
    texts.push_back(std::to_string(static_cast<std::uint64_t>(each.maximum)));
    if (each.recorder > 0) texts.emplace_back();
  }
  return texts;
}

// --- details, messages, search, query, notes ---------------------------------------------------------------------------

void show_details(row_menus& menus, ImGuiTestContext& user) {
  menus.show(user);
  menus.command(user, "selection.set", gui::selection{menus.document().id, gui::selection_kind::block, 1});
  menus.focus(user, "Details");
}
strings details(row_menus& menus) {
  strings texts;
  const auto ask = menus.ask(query::details_query{trace::event_id::none, trace::block_id{1}});
  for (const query::detail& each : ask->details) texts.push_back(each.value);
  return texts;
}

strings messages(row_menus& menus) {
  strings texts;
  const auto ask = menus.ask(query::messages_query{});
  for (const query::message& each : *ask) texts.push_back(each.text);
  return texts;
}

constexpr const char* searched = "scale_and_add";
void show_search(row_menus& menus, ImGuiTestContext& user) {
  menus.show(user);
  menus.command(user, "search.find", std::string(searched));
}
strings found(row_menus& menus) {
  return numbers(menus.ask(query::search_query{searched})->names, [](const auto& each) { return each.count; });
}

void show_query(row_menus& menus, ImGuiTestContext& user) {
  menus.show(user);
  menus.command(user, "query.run", std::string("SELECT id, bytes FROM blocks ORDER BY id LIMIT 5"));
}
strings asked(row_menus& menus) {
  query::blocks_query wanted;
  wanted.range = menus.document().span;
  wanted.sort = query::block_column::born;
  std::vector<query::block_row> rows = menus.ask(wanted)->rows;
  std::sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a.block < b.block; });
  rows.resize(5);
  return numbers(rows, [](const query::block_row& each) { return each.bytes; });
}

void show_notes(row_menus& menus, ImGuiTestContext& user) {
  menus.show(user);
  for (const time_ns at : {1'000'000, 2'000'000}) {
    menus.command(user, "moment.set", time_range{at, at});
    menus.command(user, "notes.add", "seen at " + std::to_string(at));
  }
}
strings notes(row_menus& /*of*/) { return {"seen at 1000000", "seen at 2000000"}; }

// --- generations, compare, what if, ranks, out of memory, summary --------------------------------------------------------

using testing::mib;
using testing::ms;

void write_leak(testing::recording& recorded) { testing::write_steps(recorded, 10, 32 * mib, 3 * mib); }

void show_generations(row_menus& menus, ImGuiTestContext& user) {
  menus.show(user, write_leak);
  menus.command(user, "generations.mark", time_range{9 * ms, 9 * ms});
}
strings generations(row_menus& menus) {
  const query::generations_query wanted{.marks = {9 * ms}, .at = menus.document().span.end};
  return numbers(menus.ask(wanted)->generations, [](const auto& each) { return each.bytes; });
}

void show_compare(row_menus& menus, ImGuiTestContext& user) {
  menus.show(user, write_leak);
  menus.command(user, "selection.range", time_range{9 * ms, 30 * ms});
  menus.command(user, "compare.with_range", {});
  menus.command(user, "selection.range", time_range{60 * ms, 100 * ms});
  menus.focus(user, "Compare");
}
strings grown(row_menus& menus) {
  const auto& memory = menus.app().find<gui::compare_view>().shown()->memory.at(0);
  return numbers(memory.lines, [](const metrics::grown_group& each) { return each.before.bytes; });
}

void show_what_if(row_menus& menus, ImGuiTestContext& user) {
  menus.show(user, [](testing::recording& recorded) {
    testing::replayed_program program(recorded);
    testing::grow_slowly(program, 10);
  });
}
strings policies(row_menus& menus) {
  return numbers(menus.ask(query::what_if_query{})->allocators.at(0).policies,
                 [](const query::replayed_policy& each) { return each.metrics.peak_reserved; });
}

/// Writes a job of two ranks; the second needs more memory.
void write_ranks(testing::recording& recorded) {
  recorded.standard_tables();
  for (std::uint64_t rank = 0; rank < 2; ++rank) {
    trace::process_row process;
    process.id = trace::process_id{10 + rank};
    process.pid = 100 + rank;
    process.rank = static_cast<std::int64_t>(rank);
    process.command = recorded.text("train.py");
    recorded.writer().add(process);
    trace::device_row device;
    device.id = trace::device_id{20 + rank};
    device.uuid_low = 20 + rank;
    device.ordinal = static_cast<std::uint32_t>(rank);
    device.memory_bytes = 64 * mib;
    recorded.writer().add(device);
    auto row = recorded.event<trace::alloc_event>(100'000);
    row.process = process.id;
    row.block = trace::block_id{1 + rank};
    row.bytes = (8 + 4 * rank) * mib;
    row.kind = trace::memory_kind::device;
    row.device = device.id;
    recorded.writer().add(row);
    for (time_ns begin = 0; begin < 1'000'000; begin += 100'000) {
      auto kernel = recorded.event<trace::kernel_event>(begin);
      kernel.process = process.id;
      kernel.end = begin + 50'000;
      kernel.device = device.id;
      kernel.stream = trace::stream_id{30 + rank};
      recorded.writer().add(kernel);
    }
  }
}
void show_ranks(row_menus& menus, ImGuiTestContext& user) { menus.show(user, write_ranks); }
strings ranks(row_menus& /*of*/) { return {std::to_string(12 * mib), std::to_string(8 * mib)}; }

void show_failure(row_menus& menus, ImGuiTestContext& user) {
  menus.show(user, [](testing::recording& recorded) { testing::write_history(recorded); });
}
strings facts(row_menus& menus) {
  strings texts;
  const auto report = menus.report();
  for (const auto& [label, said] : report->out_of_memory.at(0).facts) texts.push_back(said);
  return texts;
}

void show_summary(row_menus& menus, ImGuiTestContext& user) {
  std::filesystem::copy_file(SLUICE_SOURCE_DIR "/assets/recordings/pytorch-training.sluice", menus.path,
                             std::filesystem::copy_options::overwrite_existing);
  menus.show(user);
  user.ScrollToY("//Summary", 900);  // Below the findings.
  user.Yield(3);
}
strings held(row_menus& menus) {
  const auto report = menus.report();
  const metrics::memory_peak* peak = gui::main_peak(*report);
  for (const metrics::peak_composition& each : report->compositions)
    if (each.layer == peak->layer && each.kind == peak->kind && each.device == peak->device)
      return numbers(each.shares, [](const auto& share) { return share.bytes; });
  return {};
}

const table_case cases[] = {
    {"Blocks", "bytes", show_sample, largest_blocks, 4, "##row", true},
    {"Transfers", "bytes", show_sample, copied, 4},
    {"Idle gaps", "idle_ns", show_sample, idle},
    {"Statistics", "peak_bytes", show_sample, peaks},
    {"Details", "value", show_details, details, SIZE_MAX, "##row", true},
    {"Messages", "message", show_sample, messages},
    {"Search", "count", show_search, found},
    {"Query", "bytes", show_query, asked},
    {"Notes", "text", show_notes, notes},
    {"Generations", "bytes", show_generations, generations},
    {"Compare", "bytes_before", show_compare, grown},
    {"What if", "peak_reserved_bytes", show_what_if, policies},
    {"Ranks", "peak_bytes", show_ranks, ranks},
    {"Out of memory", "value", show_failure, facts},
    {"Summary", "bytes", show_summary, held, 3, "line", true},
};

std::string name_of_case(const ::testing::TestParamInfo<table_case>& info) {
  std::string name = info.param.panel;
  std::replace(name.begin(), name.end(), ' ', '_');
  return name;
}
INSTANTIATE_TEST_SUITE_P(panels, row_menus, ::testing::ValuesIn(cases), name_of_case);

}  // namespace
}  // namespace sluice::test
