#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "core/trace/file/reader.hpp"
#include "instrumentation/runtime/buffer.hpp"
#include "instrumentation/runtime/copy.hpp"
#include "instrumentation/runtime/graph.hpp"
#include "instrumentation/runtime/pool_memory_resource.hpp"
#include "instrumentation/runtime/recording.hpp"
#include "tests/instrumentation/sizes.hpp"

// Two CUDA devices in one process: the current context, and copies between the devices.

namespace sluice::runtime {
namespace {

/// The calling thread's current device in the driver, as another library or a kernel launch would see it; -1 if there
/// is none yet.
int drivers_device() {
  void* driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  const auto context = reinterpret_cast<int (*)(void**)>(dlsym(driver, "cuCtxGetCurrent"));
  const auto device = reinterpret_cast<int (*)(int*)>(dlsym(driver, "cuCtxGetDevice"));
  void* current = nullptr;
  int ordinal = -1;
  return context(&current) == 0 && current != nullptr && device(&ordinal) == 0 ? ordinal : -1;
}

class two_devices : public ::testing::Test {
 protected:
  void SetUp() override {
    if (devices().size() < 2 || devices()[0].simulated()) GTEST_SKIP() << "skipped: fewer than two CUDA devices";
  }
  [[nodiscard]] static const device_ref& first() { return devices()[0]; }
  [[nodiscard]] static const device_ref& second() { return devices()[1]; }
  /// Runs `work` on a separate thread, which has no current device yet.
  template <class Work>
  static void fresh(Work&& work) {
    std::thread(std::forward<Work>(work)).join();
  }
};

TEST_F(two_devices, a_guard_and_set_device_choose_the_drivers_device_too) {
  fresh([] {
    {
      const device_guard guard(second());
      EXPECT_EQ(drivers_device(), 1);
      {
        const device_guard inner(first());
        EXPECT_EQ(drivers_device(), 0);
      }
      EXPECT_EQ(drivers_device(), 1);
    }
    EXPECT_NE(drivers_device(), 1) << "a guard restores";
    set_device(second());
    EXPECT_EQ(drivers_device(), 1);
    const stream_ref s(first());
    const stream_guard guard(s);
    EXPECT_EQ(drivers_device(), 0);
  });
}

TEST_F(two_devices, calls_on_one_leave_the_other_current) {
  fresh([] {
    set_device(first());
    std::vector<unsigned char> host(mib, 3);
    {
      const auto pool = std::make_shared<pool_memory_resource>(std::make_shared<device_memory_resource>(second()));
      EXPECT_EQ(drivers_device(), 0);
      const stream s(second());
      const device_buffer a(mib, s, pool);
      EXPECT_EQ(drivers_device(), 0);
      copy_async(a.data(), host.data(), mib, s);
      s.sync();
      const event e(second());
      s.record(const_cast<event&>(e));
      EXPECT_EQ(drivers_device(), 0);
    }
    EXPECT_EQ(drivers_device(), 0) << "nor does destruction";
  });
  fresh([] {
    const device_buffer a(mib, stream_ref(second()));
    EXPECT_NE(drivers_device(), 1) << "a thread that has chosen no device gets at most the first";
  });
}

/// Copies from one device to the other and back, between two kinds of memory.
void copies_both_ways(const resource_ptr& here, const resource_ptr& there) {
  const stream s(here->device());
  const device_buffer a(mib, s, here), back(mib, s, here);
  const device_buffer b(mib, stream_ref(there->device()), there);
  there->device().sync();
  set_async(a.data(), 7, mib, s);
  copy_async(b.data(), a.data(), mib, s);
  copy_async(back.data(), b.data(), mib, s);
  std::vector<unsigned char> out(mib);
  copy(out.data(), back.data(), mib, s);
  EXPECT_EQ(out, std::vector<unsigned char>(mib, 7));
  // The copies as one batch, which fails during a capture without breaking the capture.
  set_async(a.data(), 8, mib, s);
  auto *source = static_cast<char*>(a.data()), *to = static_cast<char*>(b.data());
  const std::vector<copy_piece> pieces{{to, source, mib / 2}, {to + mib / 2, source + mib / 2, mib / 2}};
  copy_batch_async(pieces, s);
  graph_capture capture(s);
  EXPECT_THROW(copy_async(back.data(), b.data(), mib, s), error);
  set_async(back.data(), 1, mib, s);
  const graph g = capture.finish();
  graph_exec exec(g);
  exec.launch(s);
  copy_async(back.data(), b.data(), mib, s);
  copy(out.data(), back.data(), mib, s);
  EXPECT_EQ(out, std::vector<unsigned char>(mib, 8));
}

TEST_F(two_devices, copies_reach_from_any_memory_of_one_to_any_of_the_other) {
  const auto mapped = [](const device_ref& d) -> resource_ptr {
    return std::make_shared<pool_memory_resource>(std::make_shared<device_memory_resource>(d));
  };
  const auto plain = [](const device_ref& d) -> resource_ptr { return std::make_shared<device_memory_resource>(d); };
  copies_both_ways(plain(first()), plain(second()));
  copies_both_ways(mapped(first()), mapped(second()));
  copies_both_ways(mapped(second()), plain(first()));
  copies_both_ways(plain(second()), mapped(first()));
}

TEST_F(two_devices, a_recording_of_one_knows_what_the_other_had_and_does) {
  const auto path =
      (std::filesystem::temp_directory_path() / ("sluice_two_" + std::to_string(getpid()) + ".sluice")).string();
  const auto pool = std::make_shared<pool_memory_resource>(std::make_shared<device_memory_resource>(second()),
                                                           pool_options{.name = "of the second"});
  {
    const device_buffer before(mib, stream_ref(second()), pool);
    recording r(path, first());
    for (const device_ref& d : devices()) {
      const stream s(d);
      const device_buffer a(mib, s, std::make_shared<async_memory_resource>(d));
      set_async(a.data(), 1, mib, s);
      s.sync();
    }
    r.finish();
  }
  const auto file = trace::file::open(path);
  ASSERT_TRUE(file);
  const auto s = (*file)->latest();
  const auto& tables = s->tables();
  std::map<std::uint64_t, std::string> known;
  for (const auto& row : tables.devices.rows()) known[row.ordinal] = std::string(tables.text(row.name));
  EXPECT_EQ(known, (std::map<std::uint64_t, std::string>{{0, std::string(first().name())},
                                                         {1, std::string(second().name())}}));
  std::set<std::string> pools;
  std::size_t older = 0;
  std::set<trace::pool_id> of_driver;
  (void)s->for_each<trace::alloc_event>([&](const trace::alloc_event& e) {
    if (e.layer != trace::layer::pool) return;
    pools.emplace(tables.text(tables.pools.find(e.pool)->name));
    if ((e.flags & trace::born_before) != 0)
      ++older;
    else
      of_driver.insert(e.pool);
  });
  EXPECT_TRUE(pools.contains("of the second"));
  EXPECT_EQ(older, 1u);
  EXPECT_EQ(of_driver.size(), 2u) << "each has its own pool";
  std::set<trace::device_id> worked;
  (void)s->for_each<trace::memset_event>([&](const trace::memset_event& e) { worked.insert(e.device); });
  EXPECT_EQ(worked.size(), 2u) << "both have times";
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace sluice::runtime
