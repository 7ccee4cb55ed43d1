// libsluice_pool.so, used as another program would: opened at run time, on
// CUDA device 0, or on the simulated device if there is no CUDA device.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <exception>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "instrumentation/runtime/pool_library/sluice_pool.h"

namespace {

// SLUICE_POOL_LIBRARY names a copy elsewhere.
const std::string path = [] {
  const char* named = std::getenv("SLUICE_POOL_LIBRARY");
  return std::string(named != nullptr ? named : SLUICE_BINARY_DIR "/libsluice_pool.so");
}();

class pool_library : public ::testing::Test {
 protected:
  void SetUp() override {
    library_ = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(library_, nullptr) << dlerror();
  }

#define SLUICE_FROM_LIBRARY(name)                                                          \
  [[nodiscard]] auto* name() const {                                                       \
    return reinterpret_cast<decltype(&::sluice_##name)>(dlsym(library_, "sluice_" #name)); \
  }
  SLUICE_FROM_LIBRARY(malloc)
  SLUICE_FROM_LIBRARY(free)
  SLUICE_FROM_LIBRARY(free_after_all)
  SLUICE_FROM_LIBRARY(set_stream)
  SLUICE_FROM_LIBRARY(malloc_current)
  SLUICE_FROM_LIBRARY(free_current)
  SLUICE_FROM_LIBRARY(malloc_host)
  SLUICE_FROM_LIBRARY(free_host)
  SLUICE_FROM_LIBRARY(pool_configure)
  SLUICE_FROM_LIBRARY(pool_stats)
  SLUICE_FROM_LIBRARY(pool_trim)
  SLUICE_FROM_LIBRARY(forget_stream)
  SLUICE_FROM_LIBRARY(torch_malloc)
  SLUICE_FROM_LIBRARY(torch_malloc_asking)
  SLUICE_FROM_LIBRARY(torch_free)
  SLUICE_FROM_LIBRARY(torch_record_stream)
  SLUICE_FROM_LIBRARY(torch_empty_cache)
  SLUICE_FROM_LIBRARY(torch_memory_fraction)
  SLUICE_FROM_LIBRARY(last_error)
#undef SLUICE_FROM_LIBRARY

  [[nodiscard]] sluice_pool_figures metrics() const {
    sluice_pool_figures now{};
    EXPECT_EQ(pool_stats()(0, &now), 0) << last_error()();
    return now;
  }

 private:
  void* library_ = nullptr;  // never unloaded: the library must stay
};

/// The driver's stream functions, if a driver is in use: the pool library takes stream handles that others created.
struct driver_streams {
  driver_streams() {
    // A driver that is loaded may not work, for example under a sanitizer; the pool is then on the simulated device.
    int devices = 0;
    if (library != nullptr && find<int(int*)>("cuDeviceGetCount")(&devices) != 0) library = nullptr;
  }
  void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  template <class Call>
  Call* find(const char* name) const {
    return reinterpret_cast<Call*>(dlsym(library, name));
  }
  [[nodiscard]] void* make() const {
    void* output = nullptr;
    EXPECT_EQ(find<int(void**, unsigned)>("cuStreamCreate")(&output, 1), 0);
    return output;
  }
  void fill(void* at, unsigned char value, std::size_t bytes, void* stream) const {
    EXPECT_EQ(find<int(void*, unsigned char, std::size_t, void*)>("cuMemsetD8Async")(at, value, bytes, stream), 0);
  }
  /// Fills the block often enough to keep a device busy for a while; only a few times on the fake driver, whose calls
  /// finish immediately.
  void fill_for_long(void* at, unsigned char value, std::size_t bytes, void* stream, int times) const {
    const bool fake = dlsym(library, "sluice_fake_hub") != nullptr;
    for (int i = 0; i < (fake ? 4 : times); ++i) fill(at, value, bytes, stream);
  }
  [[nodiscard]] std::vector<unsigned char> read(void* source, std::size_t bytes, void* stream) const {
    std::vector<unsigned char> out(bytes);
    EXPECT_EQ(find<int(void*, void*, std::size_t, void*)>("cuMemcpyDtoHAsync_v2")(out.data(), source, bytes, stream),
              0);
    EXPECT_EQ(find<int(void*)>("cuStreamSynchronize")(stream), 0);
    return out;
  }
  [[nodiscard]] bool is_idle(void* stream) const { return find<int(void*)>("cuStreamQuery")(stream) == 0; }
  void destroy(void* stream) const { find<int(void*)>("cuStreamDestroy_v2")(stream); }
};

TEST_F(pool_library, allocates_frees_and_tells_what_it_holds) {
  const auto before = metrics();
  void* a = malloc()(5000, 0, nullptr);
  ASSERT_NE(a, nullptr) << last_error()();
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(a) % 512, 0u);
  auto now = metrics();
  EXPECT_EQ(now.requested - before.requested, 5000u);
  EXPECT_EQ(now.used_blocks - before.used_blocks, 1u);
  EXPECT_GT(now.device_total, now.reserved);
  free()(a, 5000, 0, nullptr);
  EXPECT_EQ(malloc()(5000, 0, nullptr), a) << "a hit";
  free()(a, 0, 0, nullptr);
  EXPECT_EQ(metrics().used, before.used) << "whatever size is passed";
}

TEST_F(pool_library, says_why_it_refuses_and_throws_nothing) {
  EXPECT_EQ(malloc()(100, 99, nullptr), nullptr);
  EXPECT_NE(std::string(last_error()()).find("device 99"), std::string::npos) << last_error()();
  EXPECT_EQ(malloc()(-1, 0, nullptr), nullptr);
  EXPECT_EQ(malloc()(ssize_t{1} << 60, 0, nullptr), nullptr);
  EXPECT_NE(std::string(last_error()()).find("out of memory"), std::string::npos) << last_error()();
  EXPECT_EQ(malloc()(0, 0, nullptr), nullptr);
  EXPECT_STREQ(last_error()(), "") << "nothing failed: the earlier error is not repeated";
  EXPECT_EQ(pool_stats()(0, nullptr), 1);
  const auto before = metrics();
  int somewhere = 0;
  free()(nullptr, 0, 0, nullptr);
  free()(&somewhere, 4, 0, nullptr);
  EXPECT_NE(std::string(last_error()()).find("is not an allocated block"), std::string::npos) << last_error()();
  EXPECT_EQ(metrics().refused_frees, before.refused_frees + 1);
}

// PyTorch takes any returned pointer for memory, even null; an exception thrown becomes a Python exception.
TEST_F(pool_library, throws_at_pytorch_where_there_is_no_memory) {
  const auto before = metrics();
  const int under_way = std::uncaught_exceptions();
  for (auto* const allocate : {torch_malloc(), torch_malloc_asking()}) {
    const auto what_it_throws = [&](ssize_t size, int device) -> std::string {
      try {
        EXPECT_EQ(allocate(size, device, nullptr), nullptr);
      } catch (const std::runtime_error& e) {
        return e.what();
      }
      return "nothing";
    };
    const std::string refused = what_it_throws(ssize_t{1} << 60, 0);
    EXPECT_TRUE(refused.starts_with("CUDA out of memory. ")) << refused;
    EXPECT_NE(refused.find("1152921504606846976 bytes from pool 'libsluice_pool'"), std::string::npos) << refused;
    EXPECT_EQ(refused, last_error()());
    EXPECT_NE(what_it_throws(100, 99).find("device 99"), std::string::npos);
    EXPECT_EQ(what_it_throws(0, 0), "nothing") << "tensors without elements need no memory";
    void* const block = allocate(1000, 0, nullptr);
    EXPECT_NE(block, nullptr) << "and the library still works";
    torch_free()(block, 1000, 0, nullptr);
  }
  EXPECT_EQ(std::uncaught_exceptions(), under_way) << "as counted by the C++ library that caught them";
  EXPECT_EQ(metrics().used, before.used);
}

TEST_F(pool_library, takes_blocks_back_that_any_stream_may_use_when_the_device_is_done) {
  const auto before = metrics();
  constexpr std::size_t bytes = 16 << 20;
  void* blocks[] = {malloc()(bytes, 0, nullptr), malloc()(1000, 0, nullptr), nullptr};
  const driver_streams streams;
  void* const stream = streams.library != nullptr ? streams.make() : nullptr;
  if (stream != nullptr) streams.fill_for_long(blocks[0], 5, bytes, stream, 800);
  EXPECT_EQ(free_after_all()(blocks, std::size(blocks), 0), 0) << last_error()();
  EXPECT_EQ(metrics().used, before.used);
  EXPECT_TRUE(stream == nullptr || streams.is_idle(stream)) << "it waited for a stream that was not passed";
  int somewhere = 0;
  void* const others[] = {&somewhere};
  EXPECT_EQ(free_after_all()(others, 1, 0), 1);
  EXPECT_NE(std::string(last_error()()).find("is not an allocated block"), std::string::npos) << last_error()();
  EXPECT_EQ(free_after_all()(nullptr, 0, 0), 0);
  if (stream != nullptr) streams.destroy(stream);
}

TEST_F(pool_library, has_the_form_that_cupy_asks_for_on_a_stream_of_the_threads_own) {
  void* a = malloc_current()(nullptr, 1 << 20, 0);
  ASSERT_NE(a, nullptr) << last_error()();
  free_current()(nullptr, a, 0);
  EXPECT_EQ(malloc_current()(nullptr, 1 << 20, 0), a);
  free_current()(nullptr, a, 0);
  set_stream()(0, nullptr);
  EXPECT_EQ(forget_stream()(0, nullptr), 0);
}

TEST_F(pool_library, frees_what_cupy_frees_after_the_stream_that_it_was_allocated_on) {
  (void)metrics();
  const driver_streams streams;
  if (streams.library == nullptr) GTEST_SKIP() << "no driver, so there are no foreign streams";
  constexpr std::size_t bytes = 1 << 20;
  void *a = streams.make(), *b = streams.make();
  set_stream()(0, a);
  void* block = malloc_current()(nullptr, bytes, 0);
  for (int i = 0; i < 200; ++i) streams.fill(block, 5, bytes, b);
  set_stream()(0, b);
  free_current()(nullptr, block, 0);
  void* other = malloc_current()(nullptr, bytes, 0);
  EXPECT_NE(other, block) << "it returned to the first stream, not to the current one";
  set_stream()(0, a);
  EXPECT_EQ(malloc_current()(nullptr, bytes, 0), block) << "a hit";
  streams.fill(block, 9, bytes, a);
  EXPECT_EQ(streams.read(block, bytes, a), std::vector<unsigned char>(bytes, 9)) << "after the current stream's work";
  std::thread([&] {
    free_current()(nullptr, block, 0);
    void* third = malloc_current()(nullptr, bytes, 0);
    EXPECT_NE(third, block) << "a thread without a chosen stream also frees on the first one";
    free_current()(nullptr, third, 0);
  }).join();
  block = malloc_current()(nullptr, bytes, 0);  // on the first stream

  // A forgotten stream may be destroyed before blocks that were allocated on it.
  EXPECT_EQ(forget_stream()(0, a), 0);
  streams.destroy(a);
  set_stream()(0, b);
  free_current()(nullptr, block, 0);
  EXPECT_EQ(malloc_current()(nullptr, bytes, 0), block) << "a hit";
  free_current()(nullptr, block, 0);
  free_current()(nullptr, other, 0);
  EXPECT_EQ(forget_stream()(0, b), 0);
  set_stream()(0, nullptr);
  EXPECT_EQ(pool_trim()(0, 0), 0);
  streams.destroy(b);
}

// Tensor.record_stream: another stream uses a block when it is freed.
TEST_F(pool_library, gives_a_block_to_others_after_the_streams_that_pytorch_recorded_for_it) {
  (void)metrics();
  const driver_streams streams;
  if (streams.library == nullptr) GTEST_SKIP() << "no driver, so there are no foreign streams";
  constexpr std::size_t bytes = 64 << 20;
  void *a = streams.make(), *b = streams.make(), *c = streams.make();
  const auto slow_work = [&](void* block, void* stream) { streams.fill_for_long(block, 5, bytes, stream, 200); };
  for (auto* const frees : {torch_free(), free()}) {
    void* const block = torch_malloc()(bytes, 0, a);
    for (void* const user : {b, c, b, a}) torch_record_stream()(block, user);
    slow_work(block, b);
    slow_work(block, c);
    frees(block, bytes, 0, a);
    EXPECT_EQ(torch_malloc()(bytes, 0, a), block) << "a hit";
    streams.fill(block, 9, bytes, a);
    for (void* const user : {a, b, c}) (void)streams.read(block, 1, user);
    EXPECT_EQ(streams.read(block, bytes, a), std::vector<unsigned char>(bytes, 9)) << "after the recorded stream";
    frees(block, bytes, 0, a);
  }
  int of_others = 0;
  torch_record_stream()(&of_others, b);
  EXPECT_STREQ(last_error()(), "") << "PyTorch also records memory from other allocators";

  // A recorded stream that was forgotten may be destroyed before the block.
  void* const block = torch_malloc()(bytes, 0, a);
  torch_record_stream()(block, b);
  EXPECT_EQ(forget_stream()(0, b), 0);
  streams.destroy(b);
  torch_free()(block, bytes, 0, a);
  for (void* const stream : {a, c}) {
    EXPECT_EQ(forget_stream()(0, stream), 0);
    streams.destroy(stream);
  }
}

TEST_F(pool_library, does_what_pytorch_asks_of_its_cache) {
  torch_free()(torch_malloc()(50 << 20, 0, nullptr), 50 << 20, 0, nullptr);
  const auto before = metrics();
  EXPECT_GE(before.reserved, std::uint64_t{50} << 20);
  torch_empty_cache()();
  EXPECT_LE(metrics().reserved + (std::uint64_t{50} << 20), before.reserved);

  torch_memory_fraction()(0.25, 0);
  EXPECT_NEAR(static_cast<double>(metrics().limit), 0.25 * static_cast<double>(before.device_total), 1e9);
  EXPECT_THROW((void)torch_malloc()(static_cast<ssize_t>(before.device_total / 2), 0, nullptr), std::runtime_error);
  EXPECT_EQ(pool_configure()(0, 1 << 30, 0), 0);
  EXPECT_EQ(metrics().limit, std::uint64_t{1} << 30) << "the lower of both limits";
  torch_memory_fraction()(1, 0);
  EXPECT_EQ(metrics().limit, std::uint64_t{1} << 30);
  EXPECT_EQ(pool_configure()(0, 0, 0), 0);
  EXPECT_EQ(metrics().limit, 0u);
}

TEST_F(pool_library, gives_pinned_memory_too) {
  auto* host = static_cast<char*>(malloc_host()(1 << 16, 0, nullptr));
  ASSERT_NE(host, nullptr) << last_error()();
  host[65535] = 1;
  free_host()(host, 0, nullptr);
}

TEST_F(pool_library, takes_a_limit_and_gives_memory_back) {
  EXPECT_EQ(pool_configure()(0, std::uint64_t{1} << 30, 0), 0);
  EXPECT_EQ(metrics().limit, std::uint64_t{1} << 30);
  EXPECT_EQ(malloc()(ssize_t{2} << 30, 0, nullptr), nullptr);
  EXPECT_EQ(pool_configure()(0, 0, 0), 0);
  EXPECT_EQ(pool_trim()(0, 0), 0) << last_error()();
  EXPECT_EQ(metrics().reserved, 0u) << "nothing from earlier tests is in use";
}

TEST_F(pool_library, takes_back_on_any_thread_what_any_other_allocated) {
  std::vector<void*> blocks(500);
  std::thread([&] {
    for (void*& block : blocks) block = malloc()(3000, 0, nullptr);
  }).join();
  std::set<void*> apart(blocks.begin(), blocks.end());
  EXPECT_EQ(apart.size(), blocks.size());
  std::thread([&] {
    for (void* block : blocks) free()(block, 3000, 0, nullptr);
  }).join();
  EXPECT_EQ(metrics().used, 0u);
}

}  // namespace
