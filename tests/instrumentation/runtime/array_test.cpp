#include "instrumentation/runtime/array.hpp"

#include <gmock/gmock.h>

#include <numeric>
#include <vector>

#include "instrumentation/runtime/kernel.hpp"
#include "instrumentation/runtime/transfer.hpp"
#include "tests/instrumentation/runtime/complains.hpp"
#include "tests/instrumentation/runtime/on_each_device.hpp"

namespace sluice::runtime {
namespace {

using ::testing::ElementsAre;

class arrays : public on_each_device {
 protected:
  static std::vector<std::uint32_t> counted(std::size_t n, std::uint32_t first = 0) {
    std::vector<std::uint32_t> out(n);
    std::iota(out.begin(), out.end(), first);
    return out;
  }
  static void double_all(std::uint32_t* data, std::uint64_t count, const stream_ref& s) {
    launch(kernels::affine_u32, launch_config::for_size(count), s, data, count, 2u, 0u, 1u);
  }
  static device_array<std::uint32_t, 1> counted_there(std::size_t n, const stream_ref& s = current_stream()) {
    const auto in = counted(n);
    return to_device(std::span(in), s);
  }
  [[nodiscard]] std::uint64_t free_bytes() const { return device().memory().free_bytes; }
};
SLUICE_ON_EACH_DEVICE(arrays);

// --- parts that share ownership ----------------------------------------------------------------------------

TEST_P(arrays, parts_outlive_the_scope_of_the_buffer_they_came_from) {
  const auto in = counted(1000);
  device_span<std::uint32_t> part;
  {
    const device_span<std::byte> whole(device_buffer(4000));
    copy(whole.data(), in.data(), 4000);
    part = whole.as<std::uint32_t>().subspan(10).subspan(5, 3);
  }
  std::vector<std::uint32_t> out(3);
  copy(out.data(), part.data(), part.size_bytes());
  EXPECT_THAT(out, ElementsAre(15, 16, 17));
  EXPECT_EQ(part.space(), memory_space::device);
  EXPECT_EQ(part.device(), device());
}

TEST_P(arrays, memory_goes_with_the_last_part_and_not_before) {
  const auto before = free_bytes();
  device_span<std::byte> whole(device_buffer(64 << 20));
  device_span<std::byte> part = whole.subspan(1 << 20, 16);
  whole = {};
  EXPECT_LE(free_bytes(), before - (64 << 20)) << "the part still owns the whole allocation";
  part = {};
  if (simulated()) {
    EXPECT_EQ(free_bytes(), before);
  }
}

TEST_P(arrays, parts_keep_to_their_span) {
  const device_span<std::byte> whole(device_buffer(100));
  EXPECT_EQ(whole.subspan(100).size(), 0u);
  complains("of 100 values", [&] { (void)whole.subspan(101); });
  complains("of 100 values", [&] { (void)whole.subspan(1, SIZE_MAX); });
  complains("not a multiple of the value size", [&] { (void)whole.as<std::array<char, 3>>(); });
  complains("not aligned", [&] { (void)whole.subspan(1, 8).as<double>(); });
  complains("moved from", [] {
    device_buffer gone(16);
    const device_buffer taken(std::move(gone));
    (void)device_span<std::byte>(std::move(gone));  // NOLINT(bugprone-use-after-move): it must be refused
  });
  complains("the host cannot access device memory", [] { (void)host_span<std::byte>(device_buffer(16)); });
}

// --- memory owned by others --------------------------------------------------------------------------------

TEST_P(arrays, over_an_existing_pointer_show_what_is_written_through_it_and_never_free_it) {
  const device_buffer original(4000);
  const auto in = counted(1000);
  {
    const device_array<std::uint32_t, 2> view(unowned_buffer(original.data(), 4000).as<std::uint32_t>(), {25, 40});
    copy(original.data(), in.data(), 4000);
    EXPECT_EQ(to_vector(view), in) << "writing the original shows in the view";
    double_all(view.data(), view.size(), current_stream());
  }
  std::vector<std::uint32_t> out(1000);
  copy(out.data(), original.data(), 4000);
  EXPECT_EQ(out[999], 1998u) << "and in the other direction, and the memory is still allocated";
}

TEST_P(arrays, over_an_existing_pointer_keep_its_owner_alive) {
  auto owner = std::make_shared<device_buffer>(64);
  const std::weak_ptr<device_buffer> watched = owner;
  {
    const device_span<std::byte> part = unowned_buffer(owner->data(), 64, owner).span().subspan(8, 8);
    owner.reset();
    EXPECT_FALSE(watched.expired());
  }
  EXPECT_TRUE(watched.expired());
}

TEST_P(arrays, refuse_pointers_that_are_not_what_they_should_be) {
  int local = 0;
  complains("null", [] { unowned_buffer(nullptr, 4); });
  complains("ordinary host memory", [&] { unowned_buffer(&local, 4); });
  const device_buffer block(1 << 20);
  complains("exceed the block", [&] { unowned_buffer(block.data(), std::size_t{1} << 40); });
  complains("exceed the address space", [&] { unowned_buffer(block.data(), SIZE_MAX); });
  EXPECT_NO_THROW(unowned_buffer(static_cast<std::byte*>(block.data()) + 100, 50));
  EXPECT_EQ(unowned_buffer(pinned_buffer(64).data(), 1).span().space(), memory_space::pinned);
}

// --- arrays ------------------------------------------------------------------------------------------------

TEST_P(arrays, are_made_in_either_order_and_like_others) {
  const device_array<float, 2> c({3, 5}), f({3, 5}, storage_order::f);
  EXPECT_EQ(c.space(), memory_space::device);
  EXPECT_TRUE(c.is_c_contiguous());
  EXPECT_TRUE(f.is_f_contiguous());
  EXPECT_EQ(f.size_bytes(), 60u);
  EXPECT_TRUE(empty_like(f).is_f_contiguous());
  EXPECT_TRUE(empty_like(c.slice(1, 0, 2)).is_c_contiguous()) << "a view with gaps gives an array in C order";
  EXPECT_NE(empty_like(c).data(), c.data());
  EXPECT_EQ((device_array<float, 2>({0, 7}).data()), nullptr);
  complains("negative extent", [] { (void)device_array<float, 1>({-1}); });
  complains("exceeds the address space", [] { (void)device_array<float, 1>({std::int64_t{1} << 62}); });
}

TEST_P(arrays, share_their_memory_with_every_view_of_them) {
  const auto in = counted(24);
  device_array<std::uint32_t, 1> column;
  {
    const auto a = to_device(std::span(in)).reshape(shape<2>{4, 6});
    EXPECT_EQ(a.reshape(shape<3>{2, 2, 6}).data(), a.data());
    EXPECT_EQ(a.transpose().extent(0), 6);
    column = a.slice(0, 2, 3).ravel();
    complains("not C-contiguous", [&] { (void)a.slice(1, 2, 3).ravel(); });
  }
  EXPECT_THAT(to_vector(column), ElementsAre(12, 13, 14, 15, 16, 17));
}

TEST_P(arrays, stay_inside_their_memory) {
  const device_span<std::uint32_t> memory = device_span<std::byte>(device_buffer(40)).as<std::uint32_t>();
  using array = device_array<std::uint32_t, 1>;
  EXPECT_NO_THROW(array(memory, {10}));
  EXPECT_NO_THROW(array(memory, strided_view<std::uint32_t, 1>(memory.data() + 9, {10}, shape<1>{-1})));
  complains("exceeds its memory", [&] { array(memory, {11}); });
  complains("exceeds its memory",
            [&] { array(memory, strided_view<std::uint32_t, 1>(memory.data() + 8, {10}, shape<1>{-1})); });
  complains("exceeds its memory",
            [&] { array(memory, strided_view<std::uint32_t, 1>(memory.data(), {4}, shape<1>{4})); });
}

TEST_P(arrays, are_what_kernels_work_on) {
  const stream s;
  const auto in = counted(5000, 7);
  const auto a = to_device(std::span(in), s);
  double_all(a.data(), a.size(), s);
  const pinned_array<std::uint32_t, 1> out = copy_to_host(a, s).get();
  for (std::size_t i = 0; i < in.size(); ++i) ASSERT_EQ(out(i), 2 * in[i]) << "the result is in the host array";
}

// --- transfers ---------------------------------------------------------------------------------------------

TEST_P(arrays, come_to_the_host_beside_other_work_only_into_pinned_memory) {
  const stream s;
  const auto a = counted_there(1 << 20, s);
  std::vector<std::uint32_t> pageable(1 << 20);
  const pinned_array<std::uint32_t, 1> pinned({1 << 20});
  const auto waited = copy_to_host(a, {pageable.data(), {1 << 20}}, s);
  EXPECT_FALSE(waited.asynchronous());
  EXPECT_TRUE(waited.is_done());
  EXPECT_EQ(pageable[1 << 19], 1u << 19) << "the copy was complete when the call returned";
  const auto pending = copy_to_host(a, pinned.view(), s);
  EXPECT_TRUE(pending.asynchronous());
  pending.sync();
  EXPECT_TRUE(pending.is_done());
  EXPECT_EQ(pinned(1 << 19), 1u << 19);
}

TEST_P(arrays, are_held_by_a_copy_that_is_under_way) {
  const stream s;
  const pinned_array<std::uint32_t, 1> out({1 << 20});
  pending_copy pending;
  {
    const auto a = counted_there(1 << 20, s);
    pending = copy_to_host(a, out.view(), s);
  }
  pending_copy moved(std::move(pending));
  moved.sync();
  EXPECT_EQ(out(1000), 1000u);
}

TEST_P(arrays, keep_their_order_there_and_back) {
  const auto in = counted(6);
  const strided_view<const std::uint32_t, 2> f(in.data(), {2, 3}, storage_order::f);
  const auto a = to_device(f);
  EXPECT_TRUE(a.is_f_contiguous());
  const auto back = copy_to_host(a).get();
  EXPECT_TRUE(back.is_f_contiguous());
  EXPECT_EQ(back(1, 2), f(1, 2));
  complains("shapes (2, 3) and (3, 2) differ", [&] {
    (void)copy_to_host(a, pinned_array<std::uint32_t, 2>({3, 2}).view());
  });
  complains("contiguous in the same order", [&] {
    (void)copy_to_host(a, pinned_array<std::uint32_t, 2>({2, 3}).view());
  });
  complains("contiguous in the same order", [&] { (void)to_device(f.slice(0, 0, 1)); });
  complains("holds 1 of 6 values", [&] {
    std::uint32_t one = 0;
    (void)copy_to_host(a.memory(), std::span(&one, 1));
  });
}

TEST_P(arrays, are_copied_on_the_device_only_when_that_is_needed) {
  const auto a = counted_there(10);
  EXPECT_EQ(to_device(a, current_stream(), copying::if_needed).data(), a.data());
  const auto b = to_device(a, current_stream(), copying::always);
  EXPECT_NE(b.data(), a.data());
  EXPECT_EQ(to_vector(b), to_vector(a));
  const pinned_array<std::uint32_t, 1> filled({10});
  std::fill(filled.span().begin(), filled.span().end(), 3u);
  copy_to_device(a, strided_view<const std::uint32_t, 1>(filled.view()));
  EXPECT_EQ(to_vector(a), std::vector<std::uint32_t>(10, 3u));
}

TEST_P(arrays, know_where_addresses_live) {
  int local = 0;
  EXPECT_EQ(find_memory_space(&local), memory_space::pageable);
  EXPECT_EQ(find_memory_space(device_array<int, 1>({4}).data()), memory_space::device);
  EXPECT_EQ(find_memory_space(pinned_array<int, 1>({4}).data()), memory_space::pinned);
  EXPECT_EQ(find_memory_space(managed_buffer(64).data()), memory_space::managed);
}

// --- host memory -------------------------------------------------------------------------------------------

TEST_P(arrays, pinned_on_the_host_keep_the_flags_they_were_made_with) {
  const auto get_flags = [&](const void* address) {
    return value_or_throw(device().backend().describe_pointer(address)).flags;
  };
  for (const bool portable : {false, true}) {
    for (const bool mapped : {false, true}) {
      for (const bool write_combined : {false, true}) {
        const pinned_flags flags{.portable = portable, .mapped = mapped, .write_combined = write_combined};
        const auto reported = get_flags(pinned_buffer(64, flags).data());
        EXPECT_EQ(reported.portable, portable);
        EXPECT_EQ(reported.write_combined, write_combined);
        // With unified addressing the driver maps all pinned memory, so there is at least the requested mapping.
        EXPECT_GE(reported.mapped, mapped);
        EXPECT_EQ(get_flags(pinned_array<int, 1>({16}, storage_order::c, flags).data()).write_combined, write_combined);
        EXPECT_TRUE(get_flags(mapped_array<int, 1>({16}, storage_order::c, flags).data()).mapped);
      }
    }
  }
}

TEST_P(arrays, mapped_on_the_host_are_used_by_kernels_where_they_are) {
  const stream s;
  const mapped_array<std::uint32_t, 2> a({10, 100}, storage_order::c, {.write_combined = true}, s);
  for (int i = 0; i < 10; ++i) {
    for (int j = 0; j < 100; ++j) a(i, j) = static_cast<std::uint32_t>(i * 100 + j);
  }
  double_all(a.device_view().data(), a.size(), s);
  s.sync();
  EXPECT_EQ(a(7, 50), 1500u);
  EXPECT_EQ(empty_like(a).extents(), a.extents());
  complains("kernels cannot access it", [&] {
    std::vector<int> plain(16);
    const host_span<int> span(plain.data(), 16, {}, memory_space::pageable, device());
    (void)mapped_array<int, 1>(span, {16});
  });
}

TEST_P(arrays, pinned_on_the_host_share_their_memory_too) {
  host_span<std::byte> part;
  {
    const host_span<std::byte> whole(pinned_buffer(100));
    std::fill(whole.begin(), whole.end(), std::byte{9});
    part = whole.subspan(50, 10);
  }
  EXPECT_EQ(part[3], std::byte{9});
  EXPECT_EQ(part.span().size(), 10u);
  EXPECT_EQ(find_memory_space(part.data()), memory_space::pinned);
}

TEST_P(arrays, of_the_programs_are_pinned_for_a_scope_and_let_go_however_it_is_left) {
  std::vector<std::uint32_t> a(1 << 16), b(1 << 16);
  const auto bytes = [](auto& v) { return std::as_writable_bytes(std::span(v)); };
  try {
    const host_registration pinned{bytes(a), bytes(b)};
    EXPECT_EQ(find_memory_space(&b[7]), memory_space::pinned);
    throw std::runtime_error("out");
  } catch (const std::runtime_error&) {
  }
  EXPECT_EQ(find_memory_space(&a[7]), memory_space::pageable);
  EXPECT_EQ(find_memory_space(&b[7]), memory_space::pageable);
  const host_registration second{bytes(b)};
  EXPECT_THROW((host_registration{bytes(a), bytes(b)}), error) << "b is registered already";
  EXPECT_EQ(find_memory_space(&a[7]), memory_space::pageable) << "all or none";
  host_registration third{bytes(a)};
  host_registration moved(std::move(third));
  EXPECT_EQ(find_memory_space(&a[7]), memory_space::pinned);
  moved.reset();
  EXPECT_EQ(find_memory_space(&a[7]), memory_space::pageable);
}

TEST_P(arrays, of_the_programs_are_used_by_kernels_once_they_are_mapped) {
  const stream s;
  std::vector<std::uint32_t> values = counted(1 << 14);
  {
    const host_registration mapped(values.data(), values.size() * 4, {.mapped = true});
    const host_span<std::uint32_t> span(values.data(), values.size(), {}, memory_space::pinned, device());
    const mapped_array<std::uint32_t, 1> a(span, {1 << 14});
    double_all(a.device_view().data(), a.size(), s);
    s.sync();
  }
  EXPECT_EQ(values[1000], 2000u);
}

}  // namespace
}  // namespace sluice::runtime
