// The tracks that the timeline shows, their order, and which of them share a scale.
#include "app/gui/views/lanes/track_order.hpp"

#include <gtest/gtest.h>

namespace sluice::gui {
namespace {

using query::track_kind;

query::track get_track(std::uint64_t id, track_kind kind, std::uint64_t device, std::uint64_t process = 0,
                       double maximum = 0) {
  query::track track;
  track.id = id;
  track.kind = kind;
  track.device = trace::device_id{device};
  track.process = trace::process_id{process};
  track.maximum = maximum;
  return track;
}

class track_order_test : public testing::Test {
 protected:
  track_order_test() {
    for (const std::uint64_t id : {1, 2}) {
      trace::process_row process;
      process.id = trace::process_id{id};
      process.pid = static_cast<std::uint32_t>(id);
      tables.processes.put(process);
    }
    trace::device_row device;
    device.id = trace::device_id{1};
    tables.devices.put(device);
    trace::counter_row bytes;
    bytes.id = trace::counter_id{1};
    bytes.unit = trace::counter_unit::bytes;
    tables.counters.put(bytes);
    list.tracks = {get_track(10, track_kind::memory, 1, 0, 1000), get_track(11, track_kind::pool, 1, 1, 400),
                   get_track(12, track_kind::stream, 1, 1),       get_track(13, track_kind::stream, 1, 2),
                   get_track(14, track_kind::steps, 0, 1),        get_track(15, track_kind::host_thread, 0, 1)};
  }
  [[nodiscard]] std::vector<std::uint64_t> ids() const {
    std::vector<std::uint64_t> values;
    for (const placed_track& each : order.arrange(list, tables).tracks) values.push_back(each.track->id);
    return values;
  }
  [[nodiscard]] const placed_track& placed(const track_layout& layout, std::uint64_t id) const {
    return *std::find_if(layout.tracks.begin(), layout.tracks.end(),
                         [=](const placed_track& each) { return each.track->id == id; });
  }
  using numbers = std::vector<std::uint64_t>;

  trace::tables tables;
  query::track_list list;
  track_order order;
};

TEST_F(track_order_test, keeps_the_order_of_the_list_without_steps) {
  EXPECT_EQ(ids(), (numbers{10, 11, 12, 13, 15}));
  EXPECT_FALSE(order.changed());
}

TEST_F(track_order_test, pins_a_track_above_all_groups) {
  order.toggle_pin(13);
  EXPECT_EQ(ids(), (numbers{13, 10, 11, 12, 15}));
  const track_layout layout = order.arrange(list, tables);
  EXPECT_EQ(layout.groups.front().title, "Pinned");
  order.toggle_pin(13);
  EXPECT_EQ(ids(), (numbers{10, 11, 12, 13, 15}));
}

TEST_F(track_order_test, hides_tracks_until_all_are_shown_again) {
  order.hide(11);
  order.hide(15);
  EXPECT_EQ(ids(), (numbers{10, 12, 13}));
  EXPECT_EQ(order.arrange(list, tables).hidden, 2U);
  order.reset();
  EXPECT_EQ(ids(), (numbers{10, 11, 12, 13, 15}));
}

TEST_F(track_order_test, moves_a_track_within_its_group_only) {
  order.move(12, 1, order.arrange(list, tables));
  EXPECT_EQ(ids(), (numbers{10, 11, 13, 12, 15}));
  order.move(12, 1, order.arrange(list, tables));
  EXPECT_EQ(ids(), (numbers{10, 11, 13, 12, 15})) << "the next track belongs to a process";
  order.move(10, -1, order.arrange(list, tables));
  EXPECT_EQ(ids(), (numbers{10, 11, 13, 12, 15})) << "the first track cannot move up";
  order.move(12, -1, order.arrange(list, tables));
  EXPECT_EQ(ids(), (numbers{10, 11, 12, 13, 15}));
}

TEST_F(track_order_test, is_the_same_after_it_was_kept) {
  order.toggle_pin(13);
  order.hide(15);
  order.move(12, -1, order.arrange(list, tables));
  const numbers before = ids();
  kept_view kept;
  order.keep(kept);
  track_order other;
  const std::uint64_t version = other.version();
  other.restore(kept);
  EXPECT_GT(other.version(), version);
  order = other;
  EXPECT_EQ(ids(), before);
  EXPECT_TRUE(order.pinned(13));
  EXPECT_EQ(order.arrange(list, tables).hidden, 1U);
}

TEST_F(track_order_test, groups_by_process) {
  order.toggle_by_process();
  EXPECT_EQ(ids(), (numbers{10, 11, 12, 15, 13}));
  EXPECT_EQ(order.arrange(list, tables).groups.size(), 3U) << "the device, and two processes";
}

TEST_F(track_order_test, changes_its_version_with_each_change) {
  const std::uint64_t before = order.version();
  order.hide(11);
  EXPECT_NE(order.version(), before);
}

TEST_F(track_order_test, puts_all_memory_of_a_device_on_one_scale) {
  query::track counter = get_track(20, track_kind::counter, 1, 1, 300);
  counter.counter = trace::counter_id{1};
  query::track network = get_track(21, track_kind::counter, 1, 1, 1e12);
  network.counter = trace::counter_id{1};
  list.tracks.push_back(counter);
  list.tracks.push_back(network);
  const track_layout layout = order.arrange(list, tables);
  for (const std::uint64_t id : {10, 11, 20}) {
    EXPECT_EQ(placed(layout, id).largest, 1000) << id;
    EXPECT_EQ(placed(layout, id).memory, 10U) << id;
  }
  EXPECT_EQ(placed(layout, 21).memory, 0U) << "more than the device's memory, so it measures something else";
  EXPECT_EQ(placed(layout, 12).memory, 0U);
}

}  // namespace
}  // namespace sluice::gui
