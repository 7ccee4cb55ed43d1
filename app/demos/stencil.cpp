#include "instrumentation/runtime/stencil.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "app/demos/affine.hpp"
#include "app/demos/demo.hpp"
#include "instrumentation/runtime/transfer.hpp"

namespace sluice::demos {

namespace {

constexpr std::uint64_t words = 4u << 20;
constexpr std::uint32_t radius = 128;
constexpr int passes = 4;

// True if `out` contains the sum over the neighborhood of each word of `in`.
bool is_stencil(const std::vector<std::uint32_t>& in, std::span<const std::uint32_t> out) {
  const auto last = static_cast<std::int64_t>(in.size()) - 1;
  const auto at = [&](std::int64_t i) { return in[static_cast<std::size_t>(std::clamp<std::int64_t>(i, 0, last))]; };
  std::uint32_t sum = 0;
  for (std::int64_t j = -std::int64_t{radius}; j <= std::int64_t{radius}; ++j) sum += at(j);
  for (std::int64_t i = 0; i <= last; ++i) {
    if (out[static_cast<std::size_t>(i)] != sum) return false;
    sum += at(i + radius + 1) - at(i - std::int64_t{radius});
  }
  return true;
}

}  // namespace

// Computes the same sums with two kernels. One reads neighbors from global memory; the other stages them in shared
// memory, and loads the next tile while it computes.
void stencil(context& c) {
  const runtime::stream stream(c.device());
  std::vector<std::uint32_t> values(words);
  fill_input(values);
  const auto in = runtime::to_device(std::span<const std::uint32_t>(values), stream);
  const auto out = runtime::empty_like(in, stream);
  double took[2] = {};
  for (const bool staged : {false, true}) {
    const char* name = staged ? "staged" : "direct";
    runtime::set_async(out.data(), 0, out.size_bytes(), stream);
    stream.sync();
    {
      const runtime::scoped_range range(name);
      runtime::mark(name);
      runtime::timed_event begin(c.device()), end(c.device());
      begin.record(stream);
      for (int i = 0; i < passes; ++i) {
        if (c.stopped()) {
          stream.sync();
          return;
        }
        runtime::launch(staged ? runtime::kernels::stencil_u32 : runtime::kernels::stencil_direct_u32,
                        staged ? runtime::stencil_shape(words, radius) : runtime::launch_config::for_size(words),
                        stream, out.data(), static_cast<const std::uint32_t*>(in.data()), std::uint64_t{words}, radius);
        c.progress((staged ? 0.5 : 0.0) + 0.5 * (i + 1) / passes);
      }
      end.record(stream);
      end.sync();
      took[staged ? 1 : 0] = static_cast<double>(elapsed(begin, end).count()) * 1e3 / passes;
    }
    const auto result = runtime::copy_to_host(out, stream).get();
    context::check(is_stencil(values, result.span()), name);
    c.say(fmt::format("{}: {:.0f} us per pass", name, took[staged ? 1 : 0]));
  }
  c.say(fmt::format("{} bytes of shared memory per block; {:.1f} times as fast",
                    runtime::stencil_shape(words, radius).shared_bytes, took[0] / took[1]));
}

}  // namespace sluice::demos
