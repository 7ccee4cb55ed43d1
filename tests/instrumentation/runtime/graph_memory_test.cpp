#include "instrumentation/runtime/graph.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "instrumentation/runtime/async_pool_resource.hpp"
#include "instrumentation/runtime/buffer.hpp"
#include "instrumentation/runtime/copy.hpp"
#include "tests/instrumentation/runtime/on_each_device.hpp"

namespace sluice::runtime {
namespace {

// Frees memory during a capture. The driver would refuse the free, which would break the capture.
class frees_in_captures : public on_each_device {
 protected:
  static constexpr std::size_t count = 1024;
  static constexpr std::size_t bytes = count * 4;

  /// Frees `block` in a capture that writes to it, which must not break the capture. `gone` returns true if the block
  /// has been freed.
  template <class Block, class Gone>
  void expect_freed_with_the_graph(const stream& s, Block block, const Gone& gone, capture_mode mode) {
    {
      graph_capture capture(s, mode);
      set_async(block.data(), 1, bytes, s);
      block.reset();
      EXPECT_TRUE(block.empty());
      std::optional<graph> g(capture.finish());
      graph_exec exec(*g);
      g.reset();
      EXPECT_FALSE(gone()) << "the graph uses it";
      exec.launch(s);
    }
    s.sync();
    EXPECT_TRUE(gone());
  }
  [[nodiscard]] bool unknown(const void* address) const {
    return device().find_memory_space(address) == memory_space::pageable;
  }
};
SLUICE_ON_EACH_DEVICE(frees_in_captures);

TEST_P(frees_in_captures, happen_when_the_graph_goes) {
  const stream s;
  for (const auto mode : {capture_mode::global, capture_mode::this_thread, capture_mode::relaxed}) {
    device_buffer on_device(bytes, s), elsewhere(bytes, default_stream());
    pinned_buffer pinned(bytes, s);
    managed_buffer managed(bytes, s);
    const auto is_gone = [&](const void* address) { return [this, address] { return unknown(address); }; };
    const void *a = on_device.data(), *b = elsewhere.data(), *c = pinned.data(), *d = managed.data();
    expect_freed_with_the_graph(s, std::move(on_device), is_gone(a), mode);
    if (mode != capture_mode::relaxed) expect_freed_with_the_graph(s, std::move(elsewhere), is_gone(b), mode);
    expect_freed_with_the_graph(s, std::move(pinned), is_gone(c), mode);
    expect_freed_with_the_graph(s, std::move(managed), is_gone(d), mode);
    backend::device& driver = device().backend();
    const auto used = [&] { return value_or_throw(driver.pool_info(backend::pool_handle::null)).used_bytes; };
    const auto used_before = used();
    async_buffer pooled(bytes, s);
    expect_freed_with_the_graph(
        s, std::move(pooled), [&] { return used() == used_before; }, mode);
    const auto pool = std::make_shared<async_pool_resource>(device());
    expect_freed_with_the_graph(
        s, device_buffer(bytes, s, pool), [&] { return pool->stats().used_bytes == 0; }, mode);
  }
}

// The driver's pool reuses addresses: an ordinary block may have an address that belonged to a graph before.
TEST_P(frees_in_captures, happen_when_the_graph_goes_for_blocks_at_addresses_of_graphs_before) {
  if (device().name() == "Fake GPU") GTEST_SKIP() << "the fake driver keeps the memory of graphs that never ran";
  const stream s;
  const auto own = std::make_shared<async_pool_resource>(device());
  const resource_ptr drivers = std::make_shared<async_memory_resource>(device());
  backend::device& driver = device().backend();
  const auto used_of_drivers = [&] { return value_or_throw(driver.pool_info(backend::pool_handle::null)).used_bytes; };
  const std::pair<resource_ptr, std::function<std::uint64_t()>> pools[] = {
      {drivers, used_of_drivers}, {own, [&] { return own->stats().used_bytes; }}};
  for (const auto& [pool, used] : pools) {
    for (const bool freed : {true, false}) {
      const auto before = used();
      void* of_graph = nullptr;
      {
        graph_capture capture(s);
        of_graph = pool->allocate(s, bytes);
        set_async(of_graph, 1, bytes, s);
        const graph g = capture.finish();
        if (freed) {
          graph_exec(g).launch(s);
          pool->deallocate(s, of_graph, bytes);
        }
        s.sync();
      }
      std::vector<device_buffer> blocks;
      for (int i = 0; i < 64; ++i) {
        if (blocks.emplace_back(bytes, s, pool).data() == of_graph) break;
      }
      s.sync();
      {
        graph_capture capture(s);
        set_async(blocks.back().data(), 1, bytes, s);
        blocks.clear();
        EXPECT_NO_THROW((void)capture.finish());
      }
      s.sync();
      EXPECT_EQ(used(), before) << (freed ? "freed outside of captures" : "gone with its graph");
    }
  }
}

TEST_P(frees_in_captures, are_nodes_for_memory_that_the_graph_allocates) {
  const stream s;
  graph_capture capture(s);
  async_buffer own(bytes, s);
  set_async(own.data(), 1, bytes, s);
  own.reset();
  const graph g = capture.finish();
  using kind = graph_node_kind;
  EXPECT_EQ(g.shape().nodes, (std::vector<kind>{kind::allocation, kind::set, kind::free}));
}

TEST_P(frees_in_captures, happen_when_a_capture_gives_no_graph) {
  const stream s;
  device_buffer block(bytes, s);
  const void* const address = block.data();
  {
    graph_capture capture(s);
    block.reset();
  }
  EXPECT_TRUE(unknown(address));
}

TEST_P(frees_in_captures, end_registrations_when_the_capture_ends) {
  const stream s;
  for (const auto mode : {capture_mode::global, capture_mode::this_thread, capture_mode::relaxed}) {
    std::vector<std::uint32_t> words(count);
    std::optional<host_registration> pin(std::in_place, words.data(), bytes);
    graph_capture capture(s, mode);
    pin.reset();
    const graph g = capture.finish();
    EXPECT_TRUE(unknown(words.data()));
  }
}

}  // namespace
}  // namespace sluice::runtime
