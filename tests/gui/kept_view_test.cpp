// The stored state of views, in the session and in saved views. Saved views may come from untrusted files.
#include "app/gui/shell/kept_view.hpp"

#include <gtest/gtest.h>

namespace sluice::gui {
namespace {

kept_view full() {
  kept_view view;
  view.pinned = {7, 0xffff'ffff'ffff'ffff};
  view.hidden = {9};
  view.order = {3, 1, 2};
  view.by_process = true;
  view.generations = {-5, 100, 2000};
  view.queries = {"SELECT time FROM kernels", "-- quoted \"name\"\nSELECT 1 AS time"};
  blocks_filter filter;
  filter.text = "model.py";
  filter.range = time_range{10, 11};
  filter.layer = trace::layer::framework;
  filter.category = index::category::activation;
  filter.min_bytes = 1 << 20;
  filter.only_unfreed = true;
  filter.only_unused = true;
  filter.device = trace::device_id{1};
  filter.kind = trace::memory_kind::device;
  filter.groups = query::block_groups{query::memory_grouping::module, {1, 0xffff'ffff'ffff'fff0}, true};
  filter.group_words = "GPT2MLP";
  view.blocks = filter;
  return view;
}

void expect_refused(const std::string& text, const std::string& why) {
  const auto found = parse_kept_view(text);
  ASSERT_FALSE(found) << text;
  EXPECT_EQ(found.error().code, error_code::corrupt);
  const std::string line = found.error().to_string();
  EXPECT_NE(line.find(why), std::string::npos) << line;
  EXPECT_EQ(line.find('\n'), std::string::npos);
}

TEST(kept_view, is_read_as_it_was_written) {
  const std::string text = to_text(full());
  EXPECT_EQ(text.find('\n'), std::string::npos) << "it must fit in one line of the settings";
  const auto found = parse_kept_view(text);
  ASSERT_TRUE(found) << found.error().to_string();
  EXPECT_EQ(*found, full());
}

TEST(kept_view, of_nothing_is_as_at_first) {
  EXPECT_EQ(to_text({}), "{}");
  EXPECT_EQ(parse_kept_view("{}").value(), kept_view{});
  EXPECT_EQ(parse_kept_view(R"({"what a later version knows": [1, 2]})").value(), kept_view{});
}

TEST(kept_view, is_refused_with_the_name_of_what_is_wrong) {
  expect_refused("", "state of the views");
  expect_refused("[]", "state of the views");
  expect_refused(std::string(100'000, '['), "state of the views: it is nested deeper than 100 levels");
  const std::string deep = std::string(100'000, '[') + std::string(100'000, ']');
  expect_refused(R"({"blocks": {"groups": )" + deep + "}}", "deeper than 100 levels");
  expect_refused(R"({"pinned_tracks": 7})", "pinned_tracks");
  expect_refused(R"({"pinned_tracks": [-1]})", "pinned_tracks");
  expect_refused(R"({"hidden_tracks": ["a"]})", "hidden_tracks");
  expect_refused(R"({"by_process": 1})", "by_process");
  expect_refused(R"({"generations_ns": [1.5]})", "generations_ns");
  expect_refused(R"({"queries": ["1","2","3","4","5","6","7","8","9"]})", "queries");
  expect_refused(R"({"queries": [")" + std::string(5000, 'x') + R"("]})", "queries");
  expect_refused(R"({"blocks": []})", "blocks");
  expect_refused(R"({"blocks": {"layer": "cellar"}})", "layer");
  expect_refused(R"({"blocks": {"time": [5]}})", "time");
  expect_refused(R"({"blocks": {"least_bytes": -1}})", "least_bytes");
  expect_refused(R"({"blocks": {"groups": {"by": "moon"}}})", "by");
  expect_refused(R"({"blocks": {"groups": {"keys": [1,2,3,4,5,6,7,8,9,10,11,12,13]}}})", "keys");
  std::string many = R"({"order_of_tracks": [0)";
  for (std::size_t i = 0; i < kept_view::max_tracks; ++i) many += ",0";
  expect_refused(many + "]}", "order_of_tracks");
}

TEST(kept_view, bounds_times_and_puts_them_in_order) {
  const auto found = parse_kept_view(R"({"generations_ns": [9223372036854775807, 18446744073709551615, -4, 7, 7]})");
  ASSERT_TRUE(found) << found.error().to_string();
  EXPECT_EQ(found->generations, (std::vector<time_ns>{-4, 7, latest_time}));
}

TEST(kept_view, shows_no_hostile_words) {
  const auto found = parse_kept_view(R"({"blocks": {"group_words": "a\u001b[31mb"}})");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->blocks->group_words.find('\x1b'), std::string::npos);
}

}  // namespace
}  // namespace sluice::gui
