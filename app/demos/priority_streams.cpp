#include <fmt/format.h>

#include "app/demos/affine.hpp"
#include "app/demos/demo.hpp"
#include "instrumentation/runtime/copy.hpp"

namespace sluice::demos {

namespace {

constexpr std::size_t batch_words = 4u << 20;
constexpr std::size_t request_words = 16u << 10;
constexpr std::uint32_t batch_rounds = 2048;  // each batch kernel occupies the whole device for a while
constexpr int batches = 6;
constexpr int requests = 4;

}  // namespace

// Simulates requests that arrive while batches are queued. Measures the time that a request takes on a stream with the
// same priority as the batches, and on a stream with the most urgent priority.
void priority_streams(context& c) {
  const runtime::priority_range priorities = runtime::stream_priorities(c.device());
  const runtime::stream background(c.device(), runtime::stream_mode::non_blocking, priorities.least);
  const runtime::device_buffer batch(batch_words * 4, background, "batch");
  const runtime::pinned_buffer batch_host(batch_words * 4, background, "batch on the host");
  const runtime::pinned_buffer result(request_words * 4, background, "answer");
  double mean[2] = {};
  for (const bool urgent : {false, true}) {
    const char* name = urgent ? "urgent" : "same priority";
    const runtime::stream requested(c.device(), runtime::stream_mode::non_blocking,
                                    urgent ? priorities.greatest : priorities.least);
    const runtime::device_buffer request(request_words * 4, requested, "request");
    fill_input(batch_host.as<std::uint32_t>());
    fill_input(result.as<std::uint32_t>());
    runtime::copy(batch.data(), batch_host.data(), batch.size_bytes(), background);
    runtime::copy(request.data(), result.data(), request.size_bytes(), requested);
    {
      const runtime::scoped_range range(name);
      runtime::mark(name);
      double sum = 0;
      for (int i = 0; i < requests; ++i) {
        if (c.stopped()) return;
        for (int b = 0; b < batches; ++b) launch_rounds(batch.as<std::uint32_t>(), batch_rounds, background);
        const auto begin = c.now_ns();
        launch_rounds(request.as<std::uint32_t>(), 1, requested);
        requested.sync();
        sum += static_cast<double>(c.now_ns() - begin) / 1e3;
        background.sync();
        c.progress((urgent ? 0.5 : 0.0) + 0.5 * (i + 1) / requests);
      }
      mean[urgent ? 1 : 0] = sum / requests;
    }
    runtime::copy(result.data(), request.data(), request.size_bytes(), requested);
    context::check(is_output(result.as<std::uint32_t>(), requests), name);
    runtime::copy(batch_host.data(), batch.data(), batch.size_bytes(), background);
    context::check(is_output(batch_host.as<std::uint32_t>(), batch_rounds * batches * requests), name);
    c.say(fmt::format("{} (priority {}): a request takes {:.0f} us", name, requested.priority(), mean[urgent ? 1 : 0]));
  }
  c.say(fmt::format("the urgent stream is {:.1f} times as fast", mean[0] / mean[1]));
}

}  // namespace sluice::demos
