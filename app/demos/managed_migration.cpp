#include <fmt/format.h>

#include <vector>

#include "app/demos/affine.hpp"
#include "app/demos/demo.hpp"
#include "instrumentation/runtime/copy.hpp"

namespace sluice::demos {

namespace {

// Far less than the memory of any device, because the demo shows migration and not running out of memory.
constexpr std::size_t bytes = 64u << 20;
constexpr int passes = 3;

enum class migration_method { faults, prefetch };

// Performs one round trip. Returns the device time, in ms, of migrating the pages and running the kernel.
float pass(const runtime::managed_buffer& memory, const runtime::stream& stream, migration_method way) {
  runtime::timed_event begin(stream.device()), end(stream.device());
  fill_input(memory.host_view<std::uint32_t>());
  begin.record(stream);
  if (way == migration_method::prefetch) memory.prefetch_to_device(stream);
  launch_rounds(memory.as<std::uint32_t>(), 16, stream);
  end.record(stream);
  if (way == migration_method::prefetch) memory.prefetch_to_host(stream);
  stream.sync();
  context::check(is_output(memory.host_view<std::uint32_t>(), 16),
                 way == migration_method::faults ? "by page faults" : "by prefetch");
  return elapsed(begin, end).count();
}

}  // namespace

void managed_migration(context& c) {
  const runtime::stream stream(c.device());
  const runtime::managed_buffer memory(bytes, stream, "shared");
  double done = 0;
  for (const migration_method way : {migration_method::faults, migration_method::prefetch}) {
    const char* name = way == migration_method::faults ? "page faults" : "prefetch";
    const runtime::scoped_range range(name);
    runtime::mark(name);
    float ms = 0;
    for (int i = 0; i < passes; ++i) {
      if (c.stopped()) return;
      ms += pass(memory, stream, way);
      c.progress(++done / (3 * passes));
    }
    c.say(fmt::format("{}: {:.2f} ms to migrate 64 MiB and run the kernel", name, ms / passes));
  }

  const runtime::scoped_range range("read-mostly");
  runtime::mark("read-mostly");
  const runtime::device_buffer sum(bytes / 2, stream, "sums");
  fill_input(memory.host_view<std::uint32_t>());
  memory.advise(backend::memory_advice::set_read_mostly);
  const auto words = memory.as<std::uint32_t>();
  const std::size_t half = words.size() / 2;
  for (int i = 0; i < passes; ++i) {
    if (c.stopped()) return;
    runtime::launch(runtime::kernels::add_u32, runtime::launch_config::for_size(half), stream,
                    sum.as<std::uint32_t>().data(), static_cast<const std::uint32_t*>(words.data()),
                    static_cast<const std::uint32_t*>(words.data() + half), std::uint64_t{half});
    stream.sync();
    c.progress(++done / (3 * passes));
  }
  std::vector<std::uint32_t> out(half);
  runtime::copy(out.data(), sum.data(), bytes / 2, stream);
  for (std::size_t i = 0; i < half; i += 101)
    context::check(out[i] == input_word(i) + input_word(i + half), "sums of read-mostly memory");
}

}  // namespace sluice::demos
