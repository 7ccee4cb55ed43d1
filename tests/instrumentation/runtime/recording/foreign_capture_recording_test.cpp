#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <tuple>
#include <vector>

#include "core/trace/file/reader.hpp"
#include "instrumentation/runtime/buffer.hpp"
#include "instrumentation/runtime/copy.hpp"
#include "instrumentation/runtime/pool_memory_resource.hpp"
#include "instrumentation/runtime/recording.hpp"
#include "tests/instrumentation/runtime/on_each_device.hpp"
#include "tests/instrumentation/sizes.hpp"

// Recording during captures begun by other code, without the runtime:
// the recorder must not make driver calls that would break them.

namespace sluice::runtime {
namespace {

namespace fs = std::filesystem;

class recorded_foreign_capture : public on_each_device {
 protected:
  void SetUp() override {
    on_each_device::SetUp();
    path = fs::temp_directory_path() / ("sluice_foreign_" + std::to_string(getpid()) + ".sluice");
  }
  void TearDown() override {
    on_each_device::TearDown();
    fs::remove(path);
  }
  [[nodiscard]] backend::device& dev() const { return device().backend(); }
  template <class Call>
  static Call* driver(const char* name) {
    void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    return reinterpret_cast<Call*>(dlsym(library, name));
  }
  /// Begins a capture in the driver's mode `mode`: 0 is global, 2 is relaxed.
  void begin(const stream& s, int mode) const {
    if (simulated()) {
      value_or_throw(dev().begin_capture(stream_ref(s).handle(),
                                         mode == 0 ? backend::capture_mode::global : backend::capture_mode::relaxed));
      return;
    }
    EXPECT_EQ(driver<int(std::uintptr_t, int)>("cuStreamBeginCapture_v2")(s.get(), mode), 0);
  }
  /// Ends the capture. Returns the driver's status, which is 0 if there is a graph.
  [[nodiscard]] int end(const stream& s) const {
    if (simulated()) {
      const auto output = dev().end_capture(stream_ref(s).handle());
      if (output) dev().destroy_graph(*output);
      return output ? 0 : 1;
    }
    void* graph = nullptr;
    const int result = driver<int(std::uintptr_t, void**)>("cuStreamEndCapture")(s.get(), &graph);
    if (result == 0) driver<int(void*)>("cuGraphDestroy")(graph);
    return result;
  }
  [[nodiscard]] std::vector<trace::alloc_event> pool_blocks() const {
    std::vector<trace::alloc_event> rows;
    const auto file = trace::file::open(path.string());
    EXPECT_TRUE(file);
    if (!file) return rows;
    (void)(*file)->latest()->for_each<trace::alloc_event>([&](const trace::alloc_event& a) {
      if (a.layer == trace::layer::pool) rows.push_back(a);
    });
    std::sort(rows.begin(), rows.end(),
              [](const auto& a, const auto& b) { return std::tie(a.time, a.id) < std::tie(b.time, b.id); });
    return rows;
  }
  [[nodiscard]] std::shared_ptr<pool_memory_resource> make() const {
    return std::make_shared<pool_memory_resource>(std::make_shared<device_memory_resource>(device()),
                                                  pool_options{.growth_bytes = 8 * mib, .name = "mine"});
  }

  fs::path path;
};
SLUICE_ON_EACH_DEVICE(recorded_foreign_capture);

TEST_P(recorded_foreign_capture, of_a_stream_that_nobody_has_named_stays_whole) {
  const auto p = make();
  const stream theirs;
  const stream_ref s = stream_ref::from_native(device(), theirs.get(), foreign_captures::asked_about);
  p->deallocate(stream_ref(device()), p->allocate(stream_ref(device()), 4 * mib), 4 * mib);
  device().sync();
  recording r(path.string(), device());
  begin(theirs, 0);
  {
    const device_buffer in(mib, s, p);
    set_async(in.data(), 1, mib, s);
  }
  EXPECT_EQ(end(theirs), 0);
  for (int i = 0; i < 2; ++i) p->deallocate(s, p->allocate(s, mib), mib);
  r.finish();
  const auto blocks = pool_blocks();
  ASSERT_EQ(blocks.size(), 3u);
  EXPECT_NE(blocks[1].stream, trace::stream_id::none) << "queried afterwards";
  EXPECT_EQ(blocks[2].stream, blocks[1].stream);
}

TEST_P(recorded_foreign_capture, stays_whole_beside_blocks_of_the_default_stream) {
  const auto p = make();
  const stream theirs;
  p->deallocate(stream_ref(device()), p->allocate(stream_ref(device()), 4 * mib), 4 * mib);
  device().sync();
  recording r(path.string(), device());
  begin(theirs, 2);
  { const device_buffer beside(mib, stream_ref(device()), p); }
  EXPECT_EQ(end(theirs), 0);
  r.finish();
  EXPECT_EQ(pool_blocks().size(), 1u);
}

TEST_P(recorded_foreign_capture, stays_whole_beside_work_on_other_streams) {
  const device_buffer a(mib, stream_ref(device()));
  device().sync();
  recording r(path.string(), device());
  const stream theirs, ours;
  set_async(a.data(), 1, mib, ours);
  for (const int mode : {0, 2}) {
    begin(theirs, mode);
    set_async(a.data(), 2, mib, theirs);
    // Enough work to trigger the recorder's search for finished work.
    for (int i = 0; i < 600; ++i) set_async(a.data(), 3, 1, ours);
    for (int i = 0; i < 600; ++i) copy_async(a.data(), static_cast<char*>(a.data()) + 64, 1, ours);
    EXPECT_EQ(end(theirs), 0) << mode;
  }
  device().sync();
  r.finish();
}

}  // namespace
}  // namespace sluice::runtime
