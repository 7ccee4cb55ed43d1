// The recording of a pipeline over a file's chunks.
#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "core/trace/file/reader.hpp"
#include "instrumentation/runtime/chunk_pipeline.hpp"
#include "instrumentation/runtime/recording.hpp"
#include "tests/instrumentation/runtime/scratch_files.hpp"
#include "tests/instrumentation/sizes.hpp"

namespace sluice::runtime {
namespace {

class a_recorded_pipeline : public scratch_files {};
SLUICE_ON_EACH_DEVICE(a_recorded_pipeline);

TEST_P(a_recorded_pipeline, shows_copies_both_ways_and_the_kernel_at_once) {
#if defined(__SANITIZE_THREAD__)
  if (!simulated()) GTEST_SKIP() << "the thread sanitizer makes the host slower than the device";
#endif
  const auto in = make("in", 32 * mib), out = make("out", 32 * mib);
  const auto path = folder / "pipeline.sluice";
  {
    const mapped_file source(in);
    mapped_file target(out, file_access::read_write);
    const chunk_pipeline pipeline({.chunk_bytes = mib, .depth = 8, .readers = 4}, device());
    recording r(path.string(), device());
    (void)pipeline.run(source, &target, [](const chunk& c, const stream_ref& s) {
      launch(kernels::affine_u32, launch_config::for_size(c.device.size() / 4), s,
             reinterpret_cast<std::uint32_t*>(c.device.data()), std::uint64_t{c.device.size() / 4}, 3u, 1u, 512u);
    });
    EXPECT_EQ(r.finish().lost, 0u);
  }
  const auto file = trace::file::open(path.string());
  ASSERT_TRUE(file);
  const auto s = (*file)->latest();
  struct interval {
    trace::time_ns begin, end;
  };
  std::vector<interval> up, down, kernels;
  (void)s->for_each<trace::transfer_event>([&](const auto& t) {
    (t.direction == trace::direction::h2d ? up : down).push_back({t.time, t.end});
    EXPECT_TRUE(t.asynchronous);
  });
  (void)s->for_each<trace::kernel_event>([&](const auto& k) { kernels.push_back({k.time, k.end}); });
  const auto together = [](const std::vector<interval>& a, const std::vector<interval>& b) {
    std::size_t pairs = 0;
    for (const interval& x : a) {
      for (const interval& y : b) pairs += x.begin < y.end && y.begin < x.end;
    }
    return pairs;
  };
  EXPECT_EQ(up.size(), 32u);
  EXPECT_EQ(down.size(), 32u);
  if (device().name() == "Fake GPU") GTEST_SKIP() << "the fake driver's streams execute immediately";
  EXPECT_GT(together(up, down), 8u) << "both directions of the link";
  EXPECT_GT(together(up, kernels), 4u) << "piece k+1 arrives while piece k computes";
  EXPECT_GT(together(down, kernels), 4u) << "piece k-1 leaves while piece k computes";
  std::set<trace::thread_id> readers;
  std::uint64_t read = 0, written = 0;
  (void)s->for_each<trace::file_io_event>([&](const auto& io) {
    readers.insert(io.thread);
    (io.operation == trace::file_operation::write ? written : read) += io.bytes;
  });
  EXPECT_EQ(readers.size(), 4u);
  EXPECT_EQ(read, 32 * mib) << "each byte of the file, once";
  EXPECT_EQ(written, 32 * mib);
}

}  // namespace
}  // namespace sluice::runtime
