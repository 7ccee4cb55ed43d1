// Copies between devices.
#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>

#include "tests/instrumentation/capture/recording.hpp"
#include "tests/instrumentation/sizes.hpp"

namespace sluice::test {
namespace {

using namespace trace;

class peer_copies : public testing::Test {
 protected:
  recording run_ = record({.arguments = {"peer"}, .mode = "memory", .program = "fake_edge_program"});
  const transfer_event& get_copy(std::uint64_t bytes) const {
    const auto found = std::find_if(run_.transfers.begin(), run_.transfers.end(),
                                    [=](const transfer_event& t) { return t.bytes == bytes; });
    if (found == run_.transfers.end()) throw std::runtime_error("no such copy");
    return *found;
  }
  std::int64_t ordinal(device_id id) const {
    const device_row* row = run_.tables().devices.find(id);
    return row == nullptr ? -1 : row->ordinal;
  }
  std::uint64_t get_size(block_id block) const {
    for (const alloc_event& a : run_.allocs) {
      if (a.block == block) return a.bytes;
    }
    return 0;
  }
};

TEST_F(peer_copies, name_both_devices_and_both_blocks) {
  ASSERT_EQ(run_.status, 0);
  const transfer_event& out = get_copy(1001);
  EXPECT_EQ(out.direction, direction::p2p);
  EXPECT_EQ(ordinal(out.peer), 0) << "the source device";
  EXPECT_EQ(ordinal(out.device), 1);
  EXPECT_EQ(get_size(out.source_block), 1 * mib);
  EXPECT_EQ(get_size(out.destination_block), 2 * mib);
  EXPECT_NE(out.call, event_id::none);
  const transfer_event& back = get_copy(1002);
  EXPECT_EQ(ordinal(back.peer), 1);
  EXPECT_EQ(ordinal(back.device), 0);
}

TEST_F(peer_copies, have_the_peak_of_nvlink_or_none) {
  const auto get_peak = [](const recording& run) { return run.tables().devices.rows().front().peer_peak; };
  EXPECT_EQ(get_peak(run_), 0U);
  const recording linked = record({.arguments = {"peer"},
                                   .variables = {{"SLUICE_FAKE_NVLINK", "1"}},
                                   .mode = "memory",
                                   .program = "fake_edge_program"});
  EXPECT_EQ(get_peak(linked), 400'000'000'000U) << "one way";
}

TEST_F(peer_copies, within_a_device_are_none) {
  const transfer_event& within = get_copy(1003);
  EXPECT_EQ(within.direction, direction::d2d);
  EXPECT_EQ(within.peer, device_id::none);
}

TEST_F(peer_copies, are_allowed_by_a_call_that_is_an_event) {
  EXPECT_TRUE(std::any_of(run_.calls.begin(), run_.calls.end(), [&](const api_call_event& c) {
    return run_.tables().text(c.name) == "cuCtxEnablePeerAccess" && c.status == 0;
  }));
}

}  // namespace
}  // namespace sluice::test
