#include <fmt/format.h>

#include <vector>

#include "app/demos/affine.hpp"
#include "app/demos/demo.hpp"
#include "core/base/format.hpp"
#include "instrumentation/runtime/copy.hpp"

namespace sluice::demos {

namespace {

constexpr int steps = 40;
constexpr std::size_t scratch_bytes = 8u << 20;
constexpr std::size_t forgotten_bytes = 768u << 10;

}  // namespace

void leak(context& c) {
  const runtime::stream stream(c.device());
  runtime::pinned_buffer host(scratch_bytes, stream, "staging");
  fill_input(host.as<std::uint32_t>());
  for (int i = 0; i < steps; ++i) {
    if (c.stopped()) return;
    runtime::step(i);
    const runtime::scoped_range range("step");
    const runtime::device_buffer scratch(scratch_bytes, stream, "scratch");
    runtime::copy_async(scratch.data(), host.data(), scratch_bytes, stream);
    launch_rounds(scratch.as<std::uint32_t>(), 64, stream);
    // This is the bug: a result is stored for reuse, but is never used again and never freed.
    runtime::device_buffer result(forgotten_bytes, stream, "forgotten result");
    runtime::copy_async(result.data(), scratch.data(), forgotten_bytes, stream);
    if (i + 1 == steps) {
      std::vector<std::uint32_t> back(forgotten_bytes / 4);
      runtime::copy(back.data(), result.data(), forgotten_bytes, stream);
      context::check(is_output(back, 64), "the last result");
    }
    stream.sync();
    c.leave_behind(std::move(result));
    c.progress(static_cast<double>(i + 1) / steps);
  }
  c.say(fmt::format("{} blocks ({} in total) are never freed: tag \"forgotten result\"", steps,
                    format_bytes(std::uint64_t{steps} * forgotten_bytes)));
}

}  // namespace sluice::demos
