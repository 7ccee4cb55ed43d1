#include <fmt/format.h>

#include <array>
#include <optional>

#include "app/workloads/affine.hpp"
#include "app/workloads/workload.hpp"
#include "instrumentation/runtime/copy.hpp"

namespace sluice::workloads {

namespace {

constexpr std::size_t piece_bytes = 8u << 20;
constexpr int pieces = 16;
constexpr std::uint32_t rounds = 768;

// One lane: a stream with memory of its own.
struct lane {
  explicit lane(const runtime::device_ref& device)
      : stream(device),
        in(piece_bytes, stream, "input"),
        out(piece_bytes, stream, "output"),
        there(piece_bytes, stream, "piece") {}

  void enqueue() {
    runtime::copy_async(there.data(), in.data(), piece_bytes, stream);
    launch_rounds(there.as<std::uint32_t>(), rounds, stream);
    runtime::copy_async(out.data(), there.data(), piece_bytes, stream);
  }

  runtime::stream stream;
  runtime::pinned_buffer in, out;
  runtime::device_buffer there;
  std::optional<int> holds;  // the piece whose result `out` will hold
};

// Waits for a lane and checks what it made.
void collect(lane& l) {
  if (!l.holds) return;
  l.stream.sync();
  context::check(is_output(l.out.as<std::uint32_t>(), rounds, static_cast<std::uint64_t>(*l.holds)),
                 "a piece came back wrong");
  l.holds.reset();
}

}  // namespace

void overlap(context& c) {
  std::array<lane, 2> lanes{lane(c.device()), lane(c.device())};
  std::array<double, 2> took{};
  for (const std::size_t streams : {std::size_t{1}, std::size_t{2}}) {
    const std::string name = streams == 1 ? "serial" : "two streams";
    const runtime::scoped_range range(name);
    runtime::mark(name);
    const auto begin = c.now_ns();
    for (int i = 0; i < pieces; ++i) {
      if (c.stopped()) return;
      lane& l = lanes[static_cast<std::size_t>(i) % streams];
      collect(l);  // with one lane: after every piece
      fill_input(l.in.as<std::uint32_t>(), static_cast<std::uint64_t>(i));
      l.holds = i;
      l.enqueue();
      c.progress((static_cast<double>(i + 1) / pieces + static_cast<double>(streams - 1)) / 2);
    }
    for (lane& l : lanes) collect(l);
    took[streams - 1] = static_cast<double>(c.now_ns() - begin) / 1e6;
    c.say(fmt::format("{}: {:.2f} ms for {} pieces of 8 MiB", name, took[streams - 1], pieces));
  }
  c.say(fmt::format("two streams are {:.2f} times as fast", took[0] / took[1]));
}

}  // namespace sluice::workloads
