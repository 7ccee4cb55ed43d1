// What the views light when something is selected. Needs no display.
#include "app/gui/shell/followed_item.hpp"

#include <gtest/gtest.h>

#include "app/gui/views/uses_table.hpp"

namespace sluice::gui {
namespace {

using trace::block_id;
using trace::event_id;

std::shared_ptr<const query::block_use_list> make_uses() {
  auto made = std::make_shared<query::block_use_list>();
  made->kernels_known = true;
  query::block_use kernel;
  kernel.event = event_id{7};
  kernel.name = "void at::native::vectorized_add<4>(int)";
  kernel.enqueued = 100;
  kernel.device = {120, 150};
  kernel.stream = "stream 7";
  kernel.line = "train.py:48, main";
  query::block_use copy;
  copy.event = event_id{5};
  copy.kind = query::use_kind::copy;
  copy.direction = trace::direction::h2d;
  copy.bytes = std::uint64_t{4} << 20;
  copy.enqueued = 200;
  made->uses = {kernel, copy};
  return made;
}

TEST(followed_item, of_a_block_lights_the_block_and_all_that_used_it) {
  followed_item item;
  item.assign({document_id{1}, selection_kind::block, 3}, std::make_shared<query::event_details>(), make_uses());
  EXPECT_TRUE(item.lights(block_id{3}));
  EXPECT_TRUE(item.lights(event_id{5}));
  EXPECT_TRUE(item.lights(event_id{7}));
  EXPECT_FALSE(item.lights(event_id{3}));
  EXPECT_FALSE(item.lights(block_id{7}));
  EXPECT_FALSE(item.lights(event_id::none));
}

TEST(followed_item, of_a_kernel_lights_the_kernel_and_the_blocks_it_uses) {
  followed_item item;
  auto details = std::make_shared<query::event_details>();
  details->details = {
      {"Duration", "3 ms"}, {"Touches", "1 MiB", {}, block_id{9}}, {"Touches", "2 MiB", {}, block_id{4}}};
  item.assign({document_id{1}, selection_kind::event, 7}, details, nullptr);
  EXPECT_TRUE(item.lights(event_id{7}));
  EXPECT_TRUE(item.lights(block_id{4}));
  EXPECT_TRUE(item.lights(block_id{9}));
  EXPECT_FALSE(item.lights(block_id{7}));
}

TEST(followed_item, knows_the_line_of_the_innermost_own_code) {
  followed_item item;
  auto details = std::make_shared<query::event_details>();
  symbols::frame_line library, own;
  library.function = "empty";
  library.file = "torch/x.py";
  own.function = "main";
  own.file = "me/train.py";
  own.line = 48;
  own.own = true;
  details->stack = {library, own};
  item.assign({document_id{1}, selection_kind::block, 3}, details, nullptr);
  EXPECT_EQ(item.line(), "me/train.py:48, main");
}

TEST(followed_item, has_a_new_version_only_if_other_things_are_lit) {
  followed_item item;
  const auto details = std::make_shared<query::event_details>();
  item.assign({document_id{1}, selection_kind::event, 7}, details, nullptr);
  const std::uint64_t version = item.version();
  item.assign({document_id{1}, selection_kind::event, 7}, details, nullptr);
  EXPECT_EQ(item.version(), version);
  item.assign({document_id{1}, selection_kind::none, 0}, nullptr, nullptr);
  EXPECT_NE(item.version(), version);
  EXPECT_FALSE(item.lights(event_id{7}));
}

TEST(table_of_uses, says_what_when_where_and_from_which_line) {
  const auto uses = make_uses();
  const table_model table = make_table_of_uses(*uses, get_theme(theme_kind::dark));
  EXPECT_EQ(table.text_of_row(0), "vectorized_add\t0.120 \xC2\xB5s\ttrain.py:48, main\tstream 7");
  EXPECT_EQ(table.cell(1, 0).shown(), "host to device, 4.00 MiB");
  EXPECT_EQ(table.cell(1, 1).number(), 200) << "enqueued, because the time on the device is not known";
  EXPECT_TRUE(describe(*uses).empty());
}

TEST(table_of_uses, says_how_uses_are_recorded_where_they_were_not) {
  query::block_use_list none;
  ASSERT_EQ(describe(none).size(), 1U);
  EXPECT_NE(describe(none)[0].find("Record a program"), std::string::npos);
  none.kernels_known = true;
  EXPECT_EQ(describe(none)[0], "No kernel with this block as an argument, and no copy, was recorded.");
  none.more = true;
  EXPECT_EQ(describe(none).size(), 2U);
}

}  // namespace
}  // namespace sluice::gui
