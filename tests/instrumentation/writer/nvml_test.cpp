// Links between GPUs: queried from NVIDIA's management library and stored with a recording's devices.
#include "instrumentation/writer/rings/nvml.hpp"

#include <gtest/gtest.h>

#include "instrumentation/ring/producer.hpp"
#include "tests/instrumentation/writer/record_decoder_fixture.hpp"

namespace sluice::writer {
namespace {

constexpr gpu_uuid linked{0x0102030405060708, 0x090a0b0c0d0e0f10};
constexpr gpu_uuid alone{0x1102030405060708, 0x090a0b0c0d0e0f10};
constexpr gpu_uuid unknown{1, 2};
constexpr std::uint64_t sixteen_links = std::uint64_t{16} * 26562 * 1'000'000 / 9 * 8;

TEST(nvml, tells_what_the_active_links_of_a_gpu_can_carry) {
  const auto peaks = nvlink_peaks({linked, alone, unknown}, SLUICE_FAKE_NVML);
  ASSERT_EQ(peaks.size(), 1U);
  EXPECT_EQ(peaks.at(linked), sixteen_links);
}

TEST(nvml, is_not_needed) {
  EXPECT_TRUE(nvlink_peaks({linked}, "/nowhere/libnvidia-ml.so.1").empty());
  EXPECT_TRUE(nvlink_peaks({linked}, "libc.so.6").empty()) << "an unrelated library";
}

// The program ends at once, so its device description is the last record that the writer receives.
TEST(nvml, is_asked_at_the_end_of_a_recording_of_several_gpus) {
  recording r({.management_library = SLUICE_FAKE_NVML});
  ASSERT_TRUE(ring::start(r.socket(), {}));
  std::uint32_t number = 0;
  for (const gpu_uuid& gpu : {linked, alone}) {
    ring::device_record said{};
    said.header.time = ring::now();
    said.device = number++;
    said.kind = static_cast<std::uint32_t>(device_kind::cuda);
    said.uuid_high = gpu.first;
    said.uuid_low = gpu.second;
    said.memory_bytes = 1;
    ring::emit(said);
  }
  ring::stop();
  const recorded trace = r.finish();
  const auto& devices = trace.tables().devices.rows();
  ASSERT_EQ(devices.size(), 2U);
  EXPECT_EQ(devices[0].peer_peak, sixteen_links);
  EXPECT_EQ(devices[1].peer_peak, 0U);
}

class peer_peaks : public record_decoder_test {
 protected:
  void device(std::uint32_t number, const gpu_uuid& uuid, std::uint64_t peak = 0) {
    ring::device_record r{};
    r.device = number;
    r.kind = static_cast<std::uint32_t>(device_kind::cuda);
    r.uuid_high = uuid.first;
    r.uuid_low = uuid.second;
    r.memory_bytes = 1;
    r.peer_peak = peak;
    put(*thread_, 10, r);
  }
  thread* thread_ = &add_thread();
};

TEST_F(peer_peaks, are_asked_for_where_nobody_reported_of_them) {
  device(0, linked);
  device(1, alone, 7);
  turns(2);
  EXPECT_EQ(rows_->gpus_without_peer_peak(), (std::vector<gpu_uuid>{linked}));
  rows_->set_peer_peak(linked, 5);
  rows_->set_peer_peak(unknown, 6);
  device(1, alone);  // Another process, for which NVML has no such information.
  const auto& devices = finish().tables().devices;
  ASSERT_EQ(devices.rows().size(), 2U);
  EXPECT_EQ(devices.rows()[0].peer_peak, 5U);
  EXPECT_EQ(devices.rows()[1].peer_peak, 7U);
}

}  // namespace
}  // namespace sluice::writer
