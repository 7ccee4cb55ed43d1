// A program outside Sluice's source tree: copies through memory from a pool, and records itself.
#include <cstdint>
#include <cstdio>
#include <memory>

#include "instrumentation/runtime/buffer.hpp"
#include "instrumentation/runtime/copy.hpp"
#include "instrumentation/runtime/pool_memory_resource.hpp"
#include "instrumentation/runtime/recording.hpp"

using namespace sluice::runtime;

int main(int argc, char** argv) {
  constexpr std::size_t bytes = 1u << 20;
  try {
    recording file(argc > 1 ? argv[1] : "outside.sluice");
    {
      const auto pool = std::make_shared<pool_memory_resource>(std::make_shared<device_memory_resource>(),
                                                               pool_options{.name = "outside"});
      const stream s;
      pinned_buffer buffer(bytes, s), to(bytes, s);
      const device_buffer there(bytes, s, pool, "a block");
      for (std::size_t i = 0; i < bytes; ++i) buffer.as<std::uint8_t>()[i] = static_cast<std::uint8_t>(i * 7);
      copy_async(there.data(), buffer.data(), bytes, s);
      copy_async(to.data(), there.data(), bytes, s);
      s.sync();
      for (std::size_t i = 0; i < bytes; ++i) {
        if (to.as<std::uint8_t>()[i] == buffer.as<std::uint8_t>()[i]) continue;
        std::fprintf(stderr, "byte %zu changed\n", i);
        return 1;
      }
    }
    const recording_summary output = file.finish();
    std::printf("%s: %llu events\n", output.path.c_str(), static_cast<unsigned long long>(output.events));
  } catch (const error& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
}
