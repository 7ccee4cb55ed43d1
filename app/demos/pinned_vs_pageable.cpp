#include <fmt/format.h>

#include <vector>

#include "app/demos/affine.hpp"
#include "app/demos/demo.hpp"
#include "instrumentation/runtime/copy.hpp"

namespace sluice::demos {

namespace {

constexpr std::size_t largest = 64u << 20;

struct trial {
  const char* name;
  std::span<std::uint32_t> source, target;
};

}  // namespace

void pinned_vs_pageable(context& c) {
  const runtime::stream stream(c.device());
  const runtime::device_buffer there(largest, stream, "device copy");
  std::vector<std::uint32_t> plain_in(largest / 4), plain_out(largest / 4), locked_in(largest / 4),
      locked_out(largest / 4);
  const runtime::host_registration lock_in(locked_in.data(), largest, {}, c.device());
  const runtime::host_registration lock_out(locked_out.data(), largest, {}, c.device());
  const runtime::pinned_buffer pinned_in(largest, stream, "pinned in"), pinned_out(largest, stream, "pinned out");
  const trial trials[] = {{"pageable", plain_in, plain_out},
                          {"registered", locked_in, locked_out},
                          {"pinned", pinned_in.as<std::uint32_t>(), pinned_out.as<std::uint32_t>()}};
  int done = 0;
  for (const trial& t : trials) {
    const runtime::scoped_range range(t.name);
    runtime::mark(t.name);
    fill_input(t.source);
    double up = 0, down = 0;
    for (std::size_t bytes = 1u << 20; bytes <= largest; bytes *= 2) {
      if (c.stopped()) return;
      runtime::timed_event begin(c.device()), middle(c.device()), end(c.device());
      begin.record(stream);
      runtime::copy_async(there.data(), t.source.data(), bytes, stream);
      middle.record(stream);
      runtime::copy_async(t.target.data(), there.data(), bytes, stream);
      end.record(stream);
      end.sync();
      up = static_cast<double>(bytes) / static_cast<double>(elapsed(begin, middle).count()) / 1e6;
      down = static_cast<double>(bytes) / static_cast<double>(elapsed(middle, end).count()) / 1e6;
      c.progress(++done / 21.0);
    }
    context::check(is_output(t.target, 0), t.name);
    c.say(fmt::format("{}: 64 MiB at {:.1f} GB/s to the device, {:.1f} GB/s back", t.name, up, down));
  }
}

}  // namespace sluice::demos
