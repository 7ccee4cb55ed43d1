// Graphs and streams: 200 kernels launched one by one, then as a graph; two streams
// forked and joined in a graph; an urgent stream beside a busy one. Checks the results.
//   example_graphs
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <vector>

#include "instrumentation/runtime/buffer.hpp"
#include "instrumentation/runtime/copy.hpp"
#include "instrumentation/runtime/graph.hpp"
#include "instrumentation/runtime/kernel.hpp"
#include "instrumentation/runtime/range.hpp"

using namespace sluice::runtime;

namespace {

constexpr std::uint64_t count = 4096;
constexpr int steps = 100;

void add(const stream_ref& s, const device_buffer& to, std::uint32_t increment, std::uint32_t rounds = 1) {
  launch(kernels::affine_u32, launch_config::for_size(count), s, to.as<std::uint32_t>().data(), count, 1u, increment,
         rounds);
}

/// Two parallel chains of kernels; the one on `side` is joined back into `s`.
void both_chains(const stream& s, const stream& side, const device_buffer& a, const device_buffer& b) {
  event forked, joined;
  s.record(forked);
  side.wait(forked);
  for (int i = 0; i < steps; ++i) {
    add(s, a, 1);
    add(side, b, 2);
  }
  side.record(joined);
  s.wait(joined);
}

std::uint32_t find_first(const device_buffer& b, const stream& s) {
  std::uint32_t value = 0;
  copy(&value, b.data(), sizeof value, s);
  return value;
}

/// Device time of `work` on `s`.
template <class Work>
float milliseconds(const stream& s, const Work& work) {
  timed_event row, to(current_device(), event_wait::sleep);
  row.record(s);
  work();
  to.record(s);
  to.sync();
  return elapsed(row, to).count();
}

}  // namespace

int main() try {
  const stream s, side;
  const device_buffer a(count * 4, s, "chain a"), b(count * 4, s, "chain b");
  set_async(a.data(), 0, a.size_bytes(), s);
  set_async(b.data(), 0, b.size_bytes(), s);

  const float launched = milliseconds(s, [&] {
    const scoped_range range("launches");
    both_chains(s, side, a, b);
  });

  std::atomic<int> replays{0};
  graph_capture capture(s);
  both_chains(s, side, a, b);
  launch_host_func(s, [&replays] { ++replays; });
  const graph g = capture.finish();
  graph_exec exec(g);
  exec.upload(s);
  const float replayed = milliseconds(s, [&] {
    const scoped_range range("a graph");
    exec.launch(s);
  });

  // Work on the urgent stream runs before the queued work of the busy one.
  const priority_range range = stream_priorities();
  const stream busy(stream_mode::non_blocking, range.least), urgent(stream_mode::non_blocking, range.greatest);
  for (int i = 0; i < steps; ++i) add(busy, a, 0, 100'000);
  add(urgent, b, 0);
  urgent.sync();
  const bool first = !busy.is_idle();
  busy.sync();

  fmt::print("{} kernels on {}: one by one {:.3f} ms, as a graph of {} nodes {:.3f} ms\n", 2 * steps,
             current_device().name(), launched, g.shape().nodes.size(), replayed);
  fmt::print("the urgent stream {} before the busy one\n", first ? "finished" : "did not finish");
  const bool right = find_first(a, s) == 2 * steps && find_first(b, s) == 4 * steps && replays == 1;
  fmt::print("{}\n", right ? "the results are correct" : "the results are WRONG");
  return right ? 0 : 1;
} catch (const error& e) {
  fmt::print(stderr, "{}\n", e.what());
  return 1;
}
