#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "app/demos/affine.hpp"
#include "app/demos/demo.hpp"
#include "instrumentation/runtime/copy.hpp"

namespace sluice::demos {

namespace {

constexpr std::size_t piece_bytes = 4u << 20;
constexpr std::size_t piece_words = piece_bytes / 4;
constexpr std::size_t pieces = 16;
constexpr std::uint32_t rounds = 768;  // makes the kernel about as long as a copy

// A stream, and its own device memory.
struct lane {
  explicit lane(const runtime::device_ref& device) : stream(device), there(piece_bytes, stream, "piece") {}

  void enqueue(std::span<const std::uint32_t> in, std::span<std::uint32_t> out) const {
    runtime::copy_async(there.data(), in.data(), piece_bytes, stream);
    launch_rounds(there.as<std::uint32_t>(), rounds, stream);
    runtime::copy_async(out.data(), there.data(), piece_bytes, stream);
  }

  runtime::stream stream;
  runtime::device_buffer there;
};

}  // namespace

void overlap(context& c) {
  const std::array<lane, 2> lanes{lane(c.device()), lane(c.device())};
  const runtime::pinned_buffer in(pieces * piece_bytes, lanes[0].stream, "input");
  const runtime::pinned_buffer out(pieces * piece_bytes, lanes[0].stream, "output");
  fill_input(in.as<std::uint32_t>());
  std::array<double, 2> took{};
  for (const std::size_t streams : {std::size_t{1}, std::size_t{2}}) {
    const std::string name = streams == 1 ? "serial" : "two streams";
    const auto results = out.as<std::uint32_t>();
    std::fill(results.begin(), results.end(), 0u);
    {
      const runtime::scoped_range range(name);
      runtime::mark(name);
      const auto begin = c.now_ns();
      for (std::size_t i = 0; i < pieces; ++i) {
        if (c.stopped()) {
          c.device().sync();  // the memory must exist until copies in progress are complete
          return;
        }
        const lane& l = lanes[i % streams];
        l.enqueue(in.as<std::uint32_t>().subspan(i * piece_words, piece_words),
                  results.subspan(i * piece_words, piece_words));
        if (streams == 1) l.stream.sync();
        c.progress((static_cast<double>(i + 1) / pieces + static_cast<double>(streams - 1)) / 2);
      }
      for (const lane& l : lanes) l.stream.sync();
      took[streams - 1] = static_cast<double>(c.now_ns() - begin) / 1e6;
    }
    context::check(is_output(results, rounds), name);
    c.say(fmt::format("{}: {:.2f} ms for {} pieces of 4 MiB", name, took[streams - 1], pieces));
  }
  c.say(fmt::format("two streams are {:.2f} times as fast", took[0] / took[1]));
}

}  // namespace sluice::demos
