#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <random>
#include <vector>

#include "app/demos/affine.hpp"
#include "app/demos/demo.hpp"
#include "core/base/format.hpp"
#include "instrumentation/runtime/copy.hpp"
#include "instrumentation/runtime/pool_memory_resource.hpp"

namespace sluice::demos {

namespace {

constexpr int steps = 24;
constexpr int layers = 16;
constexpr std::uint64_t mib = 1u << 20;

std::string get_state(const runtime::pool_stats& s) {
  return fmt::format("{} used of {} reserved, fragmentation {:.0f} %", format_bytes(s.used), format_bytes(s.reserved),
                     s.fragmentation() * 100);
}

// One step of a loop that resembles training: activations are allocated in the forward pass and freed in the backward
// pass, and each pass uses a short-lived workspace. From time to time, a block of odd size is kept (`kept`), which
// fragments the free memory.
SLUICE_DEMO_CODE void churn(const runtime::resource_ptr& pool, const runtime::stream& stream, std::mt19937& random,
                            std::vector<runtime::device_buffer>& kept, int step) {
  std::vector<runtime::device_buffer> activations;
  for (int layer = 0; layer < layers; ++layer) {
    const std::size_t bytes = (1 + random() % 96) * 64 * 1024;
    activations.emplace_back(bytes, stream, pool, "activation");
    runtime::set_async(activations.back().data(), static_cast<std::uint8_t>(layer + 1), bytes, stream);
    const runtime::device_buffer workspace(bytes / 2 + random() % 4096, stream, pool, "workspace");
    launch_rounds(workspace.as<std::uint32_t>(), 8, stream);
    if (layer % 5 == 0) kept.emplace_back(256 * 1024 + random() % mib, stream, pool, "kept");
  }
  while (!activations.empty()) {
    const runtime::device_buffer gradient(activations.back().size_bytes(), stream, pool, "gradient");
    runtime::copy_async(gradient.data(), activations.back().data(), gradient.size_bytes(), stream);
    if (activations.size() == layers / 2) {
      // Check both ends, because an overlapping neighbor would overwrite one of them.
      std::array<unsigned char, 512> first{}, last{};
      const auto* bytes = static_cast<const unsigned char*>(gradient.data());
      runtime::copy_async(first.data(), bytes, first.size(), stream);
      runtime::copy(last.data(), bytes + gradient.size_bytes() - last.size(), last.size(), stream);
      const auto mine = [](unsigned char byte) { return byte == layers / 2; };
      context::check(std::all_of(first.begin(), first.end(), mine) && std::all_of(last.begin(), last.end(), mine),
                     "a block contains another block's bytes");
    }
    activations.pop_back();
  }
  // Free some of the kept blocks, starting in the middle.
  if (step % 3 == 2) {
    for (std::size_t i = 0; i + 1 < kept.size(); ++i) kept.erase(kept.begin() + static_cast<std::ptrdiff_t>(i));
  }
  stream.sync();
}

}  // namespace

void pool_churn(context& c) {
  const auto pool = std::make_shared<runtime::pool_memory_resource>(
      std::make_shared<runtime::device_memory_resource>(c.device()),
      runtime::pool_options{.growth_bytes = 16 * mib, .name = "training"});
  const runtime::stream stream(c.device());
  std::mt19937 random(2024);
  std::vector<runtime::device_buffer> kept;
  const runtime::device_buffer weights(24 * mib, stream, pool, "weights");
  for (int i = 0; i < steps; ++i) {
    if (c.stopped()) return;
    runtime::step(i);
    churn(pool, stream, random, kept, i);
    if (i == steps / 2) {
      const runtime::scoped_range range("trim");
      c.say("before the trim: " + get_state(pool->stats()));
      const auto back = pool->trim();
      c.say(fmt::format("the trim returned {}: {}", format_bytes(back), get_state(pool->stats())));
    }
    c.progress(static_cast<double>(i + 1) / steps);
  }
  c.say(fmt::format("at the end: {}; peak {} used", get_state(pool->stats()), format_bytes(pool->stats().peak_used)));
}

}  // namespace sluice::demos
