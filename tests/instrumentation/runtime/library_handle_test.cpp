#include "instrumentation/runtime/library_handle.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <memory>
#include <optional>
#include <random>
#include <thread>
#include <vector>

#include "instrumentation/runtime/copy.hpp"
#include "instrumentation/runtime/graph.hpp"
#include "instrumentation/runtime/pool_memory_resource.hpp"
#include "tests/instrumentation/runtime/libraries.hpp"

// Library handles: one per device and thread.

namespace sluice::runtime {
namespace {

SLUICE_ON_EACH_DEVICE(libraries);

std::vector<float> random_floats(std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> in(-1, 1);
  std::vector<float> out(count);
  for (float& value : out) value = in(random);
  return out;
}

TEST_P(libraries, multiply_matrices_as_the_definition_says) {
  const stream s;
  for (const gemm_shape shape : {gemm_shape{1, 1, 1}, gemm_shape{3, 5, 7}, gemm_shape{64, 33, 128}}) {
    const std::size_t m = shape.rows, n = shape.columns, k = shape.inner;
    const auto a = random_floats(m * k, 1), b = random_floats(k * n, 2), before = random_floats(m * n, 3);
    const device_buffer da(a.size() * 4, s), db(b.size() * 4, s), dc(before.size() * 4, s);
    copy(da.data(), a.data(), a.size() * 4, s);
    copy(db.data(), b.data(), b.size() * 4, s);
    copy(dc.data(), before.data(), before.size() * 4, s);
    const library_handle<cublas> blas(s);
    blas->sgemm(shape, 2.0F, da.as<float>().data(), db.as<float>().data(), 0.5F, dc.as<float>().data());
    std::vector<float> c(m * n);
    copy(c.data(), dc.data(), c.size() * 4, s);
    for (std::size_t column = 0; column < n; ++column) {
      for (std::size_t row = 0; row < m; ++row) {
        double sum = 0;
        for (std::size_t i = 0; i < k; ++i) sum += double{a[i * m + row]} * b[column * k + i];
        const double expected = 2 * sum + 0.5 * double{before[column * m + row]};
        ASSERT_NEAR(c[column * m + row], expected, 1e-2 * std::sqrt(static_cast<double>(k))) << row << ", " << column;
      }
    }
  }
}

TEST_P(libraries, have_one_handle_per_device_and_thread) {
  const stream s, t;
  const library_handle<cublas> first(s), again(t);
  EXPECT_EQ(&*first, &*again);
  const cublas* other = nullptr;
  std::thread([&] {
    const device_guard guard(device());
    const library_handle<cublas> theirs;
    other = &*theirs;
    EXPECT_NE(other, &*first);
  }).join();
  const device_ref elsewhere(backend::make_simulated_device());
  const library_handle<cublas> on_another{stream_ref(elsewhere)};
  EXPECT_NE(&*on_another, &*first);
  EXPECT_EQ(on_another->get(), nullptr) << "no library behind the simulated device";
  EXPECT_EQ(first->get() == nullptr, simulated());
  EXPECT_EQ(first->version() == 0, simulated());
}

// All streams share one workspace, which may reuse a block that an earlier stream still uses.
TEST_P(libraries, let_a_stream_wait_for_the_one_before) {
  constexpr std::size_t bytes = std::size_t{64} << 20;
  const stream s, t;
  const pinned_buffer host(bytes, s);
  const device_buffer there(bytes, s);
  library_handle<cublas>::release_all();
  const stream_ref streams[] = {default_stream(), s, t};
  for (std::size_t i = 0; i + 1 < std::size(streams); ++i) {
    timed_event ended, begun;
    copy_async(there.data(), host.data(), bytes, streams[i]);
    ended.record(streams[i]);
    const library_handle<cublas> blas(streams[i + 1]);
    begun.record(streams[i + 1]);
    device().sync();
    EXPECT_GE(elapsed(ended, begun).count(), 0.0F) << i;
  }
}

TEST_P(libraries, work_in_captures_on_another_stream_than_before) {
  const stream s, t;
  const auto in = random_floats(64, 1);
  const device_buffer a(256, s), c(256, s);
  copy(a.data(), in.data(), 256, s);
  { const library_handle<cublas> before(s); }
  graph_capture capture(t);
  const library_handle<cublas> blas(t);
  blas->sgemm({8, 8, 8}, 1, a.as<float>().data(), a.as<float>().data(), 0, c.as<float>().data());
  const graph g = capture.finish();
  EXPECT_FALSE(g.shape().nodes.empty());
  const library_handle<cublas> after(s);
  EXPECT_NO_THROW(s.sync());
}

TEST_P(libraries, leave_their_workspace_to_the_graph_that_uses_it) {
  const auto pool = std::make_shared<pool_memory_resource>(std::make_shared<device_memory_resource>(device()));
#if defined(__SANITIZE_THREAD__)
  // During a capture, a pool takes new memory by mapping only.
  if (!pool->grows_by_mapping()) GTEST_SKIP() << "the thread sanitizer leaves a program fewer addresses";
#endif
  const scoped_resource here(pool);
  library_handle<cublas>::release_all();
  const stream s, t;
  const auto process_wide = default_resource(device());
  const auto used = [&, before = process_wide->stats().used] {
    return pool->stats().used + process_wide->stats().used - before;
  };
  const auto in = random_floats(64, 1);
  const auto ab = std::make_unique<device_buffer>(512, s, std::make_shared<device_memory_resource>(device()));
  float* const a = ab->as<float>().data();
  copy(a, in.data(), 256, s);
  library_handle<cublas> blas(s);
  const std::size_t bytes = blas->workspace_bytes();
  EXPECT_EQ(used(), bytes);
  const auto captured = [&] {
    graph_capture capture(s);  // the previously selected stream
    for (int i = 0; i < 2; ++i) blas->sgemm({8, 8, 8}, 1, a, a, 0, a + 64);
    return capture.finish();
  };
  {
    std::optional<graph> first(captured());
    EXPECT_EQ(used(), bytes) << "the graph has it";
    const graph second = captured();
    EXPECT_EQ(used(), 2 * bytes) << "graphs may run at once";
    blas->sgemm({8, 8, 8}, 1, a, a, 0, a + 64);
    s.sync();
    EXPECT_EQ(used(), 3 * bytes) << "and at the same time as later work";
    library_handle<cublas>::release_all();
    EXPECT_EQ(used(), 2 * bytes) << "the graphs keep theirs";
    graph_exec exec(*first);
    first.reset();
    exec.launch(t);
    t.sync();
    graph_exec(second).launch(t);
    t.sync();
    EXPECT_EQ(used(), 2 * bytes);
  }
  EXPECT_EQ(pool->stats().used, 0u) << "workspaces are freed with the graphs";
  EXPECT_EQ(used(), 0u);
}

}  // namespace
}  // namespace sluice::runtime
