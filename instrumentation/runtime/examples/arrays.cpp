// Arrays: copies to the device and back, each kind of host memory, and parts and views that share memory.
#include <fmt/format.h>

#include <numeric>
#include <vector>

#include "instrumentation/runtime/kernel.hpp"
#include "instrumentation/runtime/transfer.hpp"

using namespace sluice::runtime;

namespace {

int wrong = 0;

void expect(bool holds, const char* subject) {
  fmt::print("{} {}\n", holds ? "ok   " : "WRONG", subject);
  wrong += holds ? 0 : 1;
}

void triple(const strided_view<std::uint32_t, 1>& values, const stream_ref& on) {
  launch(kernels::affine_u32, launch_config::for_size(values.size()), on, values.data(), std::uint64_t{values.size()},
         3u, 0u, 1u);
}

void there_and_back(const stream_ref& on) {
  std::vector<std::uint32_t> numbers(12);
  std::iota(numbers.begin(), numbers.end(), 0u);
  const device_array<std::uint32_t, 1> flat = to_device(std::span(numbers), on);
  triple(flat.view(), on);
  const device_array<std::uint32_t, 2> table = flat.reshape(shape<2>{3, 4});
  pending_array<std::uint32_t, 2> coming = copy_to_host(table, on);  // the host may do other work meanwhile
  const pinned_array<std::uint32_t, 2> here = std::move(coming).get();
  expect(here(2, 3) == 33, "a table comes back with tripled values");
  expect(empty_like(table).is_c_contiguous() && table.transpose().is_f_contiguous(), "arrays have the expected order");
  expect(find_memory_space(table.data()) == memory_space::device, "the table is in device memory");
  try {
    (void)table.slice(1, 0, 2).ravel();
  } catch (const error& e) {
    fmt::print("ok    {}\n", e.what());
  }
}

void parts_of_memory(const stream_ref& on) {
  device_span<std::uint32_t> tail;
  {
    const device_span<std::byte> block(device_buffer(4096, on));
    tail = block.as<std::uint32_t>().subspan(1000);
  }
  set_async(tail.data(), 0, tail.size_bytes(), on);  // the block lives as long as `tail`
  const unowned_buffer same(tail.data(), tail.size_bytes(), tail.owner(), on.device());
  const device_array<std::uint32_t, 2> square(same.as<std::uint32_t>().subspan(0, 16), {4, 4});
  expect(square.data() == tail.data(), "an array over existing memory is not a copy");
}

void host_memory(const stream_ref& on) {
  const pinned_buffer upload(4096, {.write_combined = true}, on);
  const host_span<std::byte> shared(pinned_buffer(4096, on));
  expect(shared.subspan(64).space() == memory_space::pinned, "parts of pinned memory share it");

  const mapped_array<std::uint32_t, 1> in_place({1000}, storage_order::c, {}, on);
  for (int i = 0; i < 1000; ++i) in_place(i) = static_cast<std::uint32_t>(i);
  triple(in_place.device_view(), on);
  on.sync();
  expect(in_place(999) == 2997, "a kernel updates host memory in place");

  std::vector<std::byte> own(1 << 20);
  {
    const host_registration locked{std::span(own)};
    expect(find_memory_space(own.data()) == memory_space::pinned, "existing memory is page-locked for a scope");
  }
  expect(find_memory_space(own.data()) == memory_space::pageable, "the memory is unlocked at the end of the scope");
}

}  // namespace

int main() {
  const stream work;
  fmt::print("on {}\n", work.device().name());
  there_and_back(work);
  parts_of_memory(work);
  host_memory(work);
  return wrong == 0 ? 0 : 1;
}
