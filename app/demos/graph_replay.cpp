#include <fmt/format.h>

#include <optional>

#include "app/demos/affine.hpp"
#include "app/demos/demo.hpp"
#include "instrumentation/runtime/copy.hpp"
#include "instrumentation/runtime/graph.hpp"

namespace sluice::demos {

namespace {

constexpr std::size_t words = 64u << 10;
constexpr int kernels_a_turn = 100;
constexpr int turns = 10;

void enqueue_turn(std::span<std::uint32_t> there, const runtime::stream_ref& stream) {
  for (int i = 0; i < kernels_a_turn; ++i) launch_rounds(there, 1, stream);
}

}  // namespace

void graph_replay(context& c) {
  const runtime::stream stream(c.device());
  const runtime::device_buffer there(words * 4, stream, "state");
  const runtime::pinned_buffer host(words * 4, stream, "state on the host");
  std::optional<runtime::graph_exec> replay;
  {
    const runtime::scoped_range range("capture");
    runtime::graph_capture capture(stream);
    enqueue_turn(there.as<std::uint32_t>(), stream);
    replay.emplace(capture.finish());
    replay->upload(stream);
    stream.sync();
  }
  double took[2] = {};
  for (const bool graph : {false, true}) {
    const char* name = graph ? "graph" : "launches";
    fill_input(host.as<std::uint32_t>());
    runtime::copy(there.data(), host.data(), words * 4, stream);
    {
      const runtime::scoped_range range(name);
      runtime::mark(name);
      const auto begin = c.now_ns();
      for (int turn = 0; turn < turns; ++turn) {
        if (c.stopped()) return;
        if (graph) {
          replay->launch(stream);
        } else {
          enqueue_turn(there.as<std::uint32_t>(), stream);
        }
        c.progress((graph ? 0.5 : 0.0) + 0.5 * (turn + 1) / turns);
      }
      stream.sync();
      took[graph ? 1 : 0] = static_cast<double>(c.now_ns() - begin) / 1e3;
    }
    runtime::copy(host.data(), there.data(), words * 4, stream);
    context::check(is_output(host.as<std::uint32_t>(), kernels_a_turn * turns), name);
    c.say(fmt::format("{}: {:.0f} us for {} kernels", name, took[graph ? 1 : 0], kernels_a_turn * turns));
  }
  c.say(fmt::format("the graph is {:.2f} times as fast", took[0] / took[1]));
}

}  // namespace sluice::demos
