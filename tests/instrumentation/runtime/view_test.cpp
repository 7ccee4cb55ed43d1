#include <gmock/gmock.h>

#include <array>
#include <limits>
#include <numeric>
#include <vector>

#include "instrumentation/runtime/strided_view.hpp"
#if __has_include(<cuda/std/mdspan>)
#include <cuda/std/mdspan>
#endif
#include "tests/instrumentation/runtime/complains.hpp"

// Shapes and strides. These tests use no device.

namespace sluice::runtime {
namespace {

using ::testing::ElementsAre;

std::vector<int> counted(std::size_t n) {
  std::vector<int> out(n);
  std::iota(out.begin(), out.end(), 0);
  return out;
}

TEST(view, is_dense_in_the_order_asked_for) {
  auto values = counted(24);
  const strided_view<int, 3> c(values.data(), {2, 3, 4}), f(values.data(), {2, 3, 4}, storage_order::f);
  EXPECT_THAT(c.strides(), ElementsAre(12, 4, 1));
  EXPECT_THAT(f.strides(), ElementsAre(1, 2, 6));
  EXPECT_EQ(c(1, 2, 3), 23);
  EXPECT_EQ(f(1, 0, 0), 1);
  EXPECT_TRUE(c.is_c_contiguous());
  EXPECT_FALSE(c.is_f_contiguous());
  EXPECT_TRUE(f.is_f_contiguous());
  EXPECT_EQ(c.size(), 24u);
  EXPECT_EQ(c.size_bytes(), 96u);
}

TEST(view, is_contiguous_both_ways_where_only_one_axis_has_a_length) {
  int value = 5;
  const strided_view<int, 2> row(&value, {1, 1}, shape<2>{77, -3});
  EXPECT_TRUE(row.is_c_contiguous());
  EXPECT_TRUE(row.is_f_contiguous());
  const strided_view<int, 2> none(nullptr, {0, 9}, shape<2>{5, 5});
  EXPECT_TRUE(none.is_c_contiguous()) << "an empty view has no gaps";
  const strided_view<int, 0> single(&value, shape<0>{});
  EXPECT_EQ(single(), 5);
  EXPECT_EQ(single.size(), 1u);
}

TEST(view, transposes_and_slices_without_moving_anything) {
  auto values = counted(12);
  const strided_view<int, 2> v(values.data(), {3, 4});
  const auto t = v.transpose();
  EXPECT_THAT(t.extents(), ElementsAre(4, 3));
  EXPECT_EQ(&t(3, 1), &v(1, 3));
  EXPECT_TRUE(t.is_f_contiguous());
  const auto odd = v.slice(1, 1, 4, 2);
  EXPECT_THAT(odd.extents(), ElementsAre(3, 2));
  EXPECT_EQ(odd(2, 1), 11);
  EXPECT_FALSE(odd.is_c_contiguous());
  EXPECT_EQ(v.slice(0, 2, 2).size(), 0u);
  EXPECT_EQ(v.slice(0, 0, 3, 1'000).extent(0), 1);
}

TEST(view, walks_backwards_and_repeats_where_strides_say_so) {
  auto values = counted(5);
  const strided_view<int, 1> back(&values[4], {5}, shape<1>{-1});
  EXPECT_EQ(back(0), 4);
  EXPECT_EQ(back(4), 0);
  const strided_view<int, 2> rows(values.data(), {3, 5}, shape<2>{0, 1});
  EXPECT_EQ(rows(2, 4), 4);
  EXPECT_FALSE(rows.is_c_contiguous());
}

TEST(view, reshapes_only_what_lies_without_gaps) {
  auto values = counted(12);
  const strided_view<int, 2> v(values.data(), {3, 4});
  EXPECT_EQ(v.reshape(shape<3>{2, 3, 2})(1, 2, 1), 11);
  EXPECT_THAT(v.reshape(shape<2>{-1, 2}).extents(), ElementsAre(6, 2));
  EXPECT_EQ(v.ravel()(7), 7);
  EXPECT_EQ(v.transpose().ravel(storage_order::f)(7), 7);
  complains("is not C-contiguous", [&] { (void)v.transpose().ravel(); });
  complains("copy it to a contiguous array first", [&] { (void)v.slice(1, 0, 2).ravel(); });
  complains("is not F-contiguous", [&] { (void)v.reshape(shape<1>{12}, storage_order::f); });
  complains("12 elements cannot have the shape (5, -1)", [&] { (void)v.reshape(shape<2>{5, -1}); });
  complains("12 elements cannot have the shape (5,)", [&] { (void)v.reshape(shape<1>{5}); });
  complains("negative extent", [&] { (void)v.reshape(shape<2>{-1, -1}); });
  complains("cannot have the shape (0, -1)", [&] { (void)v.reshape(shape<2>{0, -1}); });
}

TEST(view, refuses_what_cannot_be) {
  constexpr std::int64_t big = std::numeric_limits<std::int64_t>::max();
  int value = 0;
  complains("negative extent", [&] { strided_view<int, 1>(&value, {-4}); });
  complains("exceeds the address space", [&] { strided_view<int, 2>(&value, {big, 2}); });
  complains("exceeds the address space", [&] { strided_view<int, 1>(&value, {big / 2}); });
  complains("past 64 bits", [&] { strided_view<int, 1>(&value, {3}, shape<1>{big / 2}); });
  complains("past 64 bits", [&] { strided_view<int, 1>(&value, {2}, shape<1>{-big - 1}); });
  complains("past 64 bits", [&] { strided_view<int, 2>(&value, {2, 2}, shape<2>{big / 2 + 1, big / 2 + 1}); });
  EXPECT_NO_THROW((strided_view<int, 2>(nullptr, {0, big}))) << "an empty view fits anywhere";
  const strided_view<int, 1> v(&value, {1});
  complains("axis 1", [&] { (void)v.slice(1, 0, 1); });
  for (const auto& [begin, end, step] : {std::tuple{-1, 1, 1}, {0, 2, 1}, {1, 0, 1}, {0, 1, 0}, {0, 1, -1}}) {
    complains("of axis 0", [&, b = begin, e = end, s = step] { (void)v.slice(0, b, e, s); });
  }
  complains("65 axes", [] { (void)element_count(std::vector<std::int64_t>(65, 1), 4, "test"); });
}

// --- mdspan ------------------------------------------------------------------------------------------------

// The part of mdspan's interface (ISO C++23 [views.multidim]) that a conversion needs, for compilers without it.
template <class Index, std::size_t... Static>
struct extents_like {
  using index_type = Index;
  template <class... I>
  requires(sizeof...(I) == sizeof...(Static)) explicit extents_like(I... i) : values{static_cast<Index>(i)...} {}
  static constexpr std::size_t static_extent(std::size_t axis) {
    return std::array<std::size_t, sizeof...(Static)>{Static...}[axis];
  }
  std::array<Index, sizeof...(Static)> values;
};
constexpr auto dynamic = static_cast<std::size_t>(-1);

template <class Extents>
struct right_mapping {
  explicit right_mapping(const Extents& e) : extents(e) {}
  [[nodiscard]] auto stride(std::size_t axis) const {
    typename Extents::index_type out = 1;
    for (std::size_t i = axis + 1; i < extents.values.size(); ++i) out *= extents.values[i];
    return out;
  }
  Extents extents;
};
template <class Extents>
struct stride_mapping {
  using array = decltype(Extents::values);
  stride_mapping(const Extents& e, const array& s) : extents(e), values(s) {}
  [[nodiscard]] array strides() const { return values; }
  Extents extents;
  array values;
};
template <class T, class Extents, template <class> class Mapping>
struct mdspan_like {
  using element_type = T;
  using extents_type = Extents;
  using mapping_type = Mapping<Extents>;
  static constexpr std::size_t rank() { return std::tuple_size_v<decltype(Extents::values)>; }
  mdspan_like(T* d, const mapping_type& m) : data(d), mapping(m) {}
  T* data;
  mapping_type mapping;
};

TEST(view, becomes_an_mdspan) {
  auto values = counted(12);
  const strided_view<int, 2> v(values.data(), {3, 4});
  using extents = extents_like<int, dynamic, dynamic>;
  const auto strided = v.transpose().to_mdspan<mdspan_like<const int, extents, stride_mapping>>();
  EXPECT_EQ(strided.data, values.data());
  EXPECT_THAT(strided.mapping.extents.values, ElementsAre(4, 3));
  EXPECT_THAT(strided.mapping.values, ElementsAre(1, 4));
  const auto dense = v.to_mdspan<mdspan_like<int, extents, right_mapping>>();
  EXPECT_THAT(dense.mapping.extents.values, ElementsAre(3, 4));
  complains("do not match the mdspan's layout",
            [&] { (void)v.transpose().to_mdspan<mdspan_like<int, extents, right_mapping>>(); });
  complains("index type", [&] {
    const strided_view<int, 2> wide(values.data(), {1, std::int64_t{1} << 40}, shape<2>{0, 0});
    (void)wide.to_mdspan<mdspan_like<int, extents, stride_mapping>>();
  });
  complains("does not match the mdspan's extents",
            [&] { (void)v.to_mdspan<mdspan_like<int, extents_like<int, 3, 5>, right_mapping>>(); });
  EXPECT_EQ((v.to_mdspan<mdspan_like<int, extents_like<int, 3, 4>, right_mapping>>().data), values.data());
}

#if __has_include(<cuda/std/mdspan>)
TEST(view, becomes_an_mdspan_of_the_cuda_toolkits) {
  auto values = counted(12);
  const strided_view<int, 2> v(values.data(), {3, 4});
  using extents = cuda::std::dextents<int, 2>;
  const auto strided = v.transpose().to_mdspan<cuda::std::mdspan<const int, extents, cuda::std::layout_stride>>();
  EXPECT_EQ(strided.extent(0), 4);
  EXPECT_EQ(strided(3, 1), v(1, 3));
  EXPECT_EQ((v.to_mdspan<cuda::std::mdspan<int, cuda::std::extents<long, 3, 4>>>()(2, 3)), 11);
  EXPECT_EQ((v.transpose().to_mdspan<cuda::std::mdspan<int, extents, cuda::std::layout_left>>()(3, 2)), 11);
  complains("do not match the mdspan's layout",
            [&] { (void)v.to_mdspan<cuda::std::mdspan<int, extents, cuda::std::layout_left>>(); });
}
#endif

}  // namespace
}  // namespace sluice::runtime
