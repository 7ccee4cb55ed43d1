#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>
#include <vector>

#include "core/trace/file/reader.hpp"
#include "instrumentation/runtime/recording.hpp"
#include "instrumentation/runtime/transfer.hpp"
#include "tests/instrumentation/runtime/on_each_device.hpp"

// Recordings of array transfers.

namespace sluice::runtime {
namespace {

namespace fs = std::filesystem;

using recorded_transfers = on_each_device;
SLUICE_ON_EACH_DEVICE(recorded_transfers);

TEST_P(recorded_transfers, say_in_the_recording_whether_they_were_asynchronous) {
  const fs::path path = fs::temp_directory_path() / ("sluice_transfers_" + std::to_string(getpid()) + ".sluice");
  {
    recording r(path.string(), device());
    const stream s;
    const std::vector<float> in(1 << 18, 1.0F);
    const auto a = to_device(std::span(in), s);
    const pinned_array<float, 1> pinned({1 << 18});
    std::vector<float> pageable(1 << 18);
    const pending_copy first = copy_to_host(a, pinned.view(), s);
    const pending_copy second = copy_to_host(a, {pageable.data(), {1 << 18}}, s);
    EXPECT_TRUE(first.asynchronous());
    EXPECT_FALSE(second.asynchronous());
    s.sync();
    r.finish();
  }
  const auto file = trace::file::open(path.string());
  ASSERT_TRUE(file);
  std::vector<std::pair<trace::memory_kind, bool>> down;
  (void)(*file)->latest()->for_each<trace::transfer_event>([&](const auto& t) {
    if (t.direction == trace::direction::d2h) down.emplace_back(t.destination_kind, t.asynchronous);
  });
  fs::remove(path);
  ASSERT_EQ(down.size(), 2u);
  EXPECT_EQ(down[0].first, trace::memory_kind::pinned);
  EXPECT_TRUE(down[0].second);
  EXPECT_EQ(down[1].first, trace::memory_kind::host) << "the memory kind distinguishes the two everywhere";
  if (simulated()) {
    EXPECT_FALSE(down[1].second) << "CUPTI classifies by the call's name";
  }
}

}  // namespace
}  // namespace sluice::runtime
