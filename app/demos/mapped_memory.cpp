#include <fmt/format.h>

#include <array>

#include "app/demos/affine.hpp"
#include "app/demos/demo.hpp"
#include "instrumentation/runtime/transfer.hpp"

namespace sluice::demos {

namespace {

constexpr std::int64_t words = 8 << 20;  // 32 MiB
constexpr std::uint32_t rounds = 4;

struct turn {
  const char* name;
  bool mapped;
  int passes;
};
constexpr std::array turns{turn{"copied, one pass", false, 1}, turn{"mapped, one pass", true, 1},
                           turn{"copied, eight passes", false, 8}, turn{"mapped, eight passes", true, 8}};

void pass(const runtime::strided_view<std::uint32_t, 1>& values, const runtime::stream_ref& stream) {
  launch_rounds({values.data(), values.size()}, rounds, stream);
}

}  // namespace

// Shows that host memory which a kernel uses only once is best accessed in place, that memory used often is better
// copied to the device, and that memory which the host only writes can be write-combined.
void mapped_memory(context& c) {
  const runtime::stream stream(c.device());
  const runtime::mapped_array<std::uint32_t, 1> mapped({words}, runtime::storage_order::c, {}, stream, "mapped");
  const runtime::device_array<std::uint32_t, 1> there({words}, runtime::storage_order::c, stream, "device copy");
  double done = 0;
  for (const turn& t : turns) {
    if (c.stopped()) return;
    fill_input(mapped.memory().span());
    const auto begin = c.now_ns();
    {
      const runtime::scoped_range range(t.name);
      runtime::mark(t.name);
      if (!t.mapped) runtime::copy_async(there.data(), mapped.data(), mapped.size_bytes(), stream);
      for (int i = 0; i < t.passes; ++i) pass(t.mapped ? mapped.device_view() : there.view(), stream);
      if (!t.mapped) runtime::copy_async(mapped.data(), there.data(), mapped.size_bytes(), stream);
      stream.sync();
    }
    c.say(fmt::format("{}: {:.2f} ms", t.name, static_cast<double>(c.now_ns() - begin) / 1e6));
    context::check(is_output(mapped.memory().span(), rounds * static_cast<std::uint32_t>(t.passes)), t.name);
    c.progress(++done / (turns.size() + 1));
  }

  const runtime::scoped_range range("write-combined upload");
  runtime::mark("write-combined upload");
  const runtime::pinned_array<std::uint32_t, 1> upload({words}, runtime::storage_order::c, {.write_combined = true},
                                                       stream, "write-combined upload");
  fill_input(upload.span());  // the memory is written once, in order, and never read
  runtime::copy_async(there.data(), upload.data(), upload.size_bytes(), stream);
  const auto back = runtime::copy_to_host(there, stream).get();
  context::check(is_output(back.span(), 0), "write-combined upload");
  c.progress(1);
}

}  // namespace sluice::demos
