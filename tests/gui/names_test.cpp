// Shortening names to fit into little space.
#include <gtest/gtest.h>

#include "app/gui/shell/screen_text.hpp"
#include "app/gui/views/timeline/track_row.hpp"
#include "app/gui/window/format.hpp"

namespace sluice::gui {
namespace {

TEST(short_name, is_the_last_of_a_scope) {
  EXPECT_EQ(short_name("gemm"), "gemm");
  EXPECT_EQ(short_name("void at::native::reduce(float*, int)"), "reduce");
  EXPECT_EQ(short_name("void at::native::(anonymous namespace)::fused(int)"), "fused");
  EXPECT_EQ(short_name("void reduce_blocks<256>(float const*, float*)"), "reduce_blocks");
  EXPECT_EQ(short_name(""), "");
  for (const char* python : {"/app/net/run.py(10): main", "<frozen runpy>(88): _run_code",
                             "<built-in method linear of type object at 0x7f00>", "net.py(3): Net<int>.forward"})
    EXPECT_EQ(short_name(python), python);
}

TEST(short_name, keeps_the_first_type_that_a_template_takes) {
  EXPECT_EQ(short_name("void cutlass::Kernel2<cutlass_80_simt_sgemm_128x64_8x5_nt_align1>(cutlass::Params)"),
            "Kernel2<cutlass_80_simt_sgemm_128x64_8x5_nt_align1>");
  EXPECT_EQ(short_name("void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, "
                       "std::array<char*, 3ul> >(int)"),
            "vectorized_elementwise_kernel<CUDAFunctor_add>");
  EXPECT_EQ(short_name("void reduce_kernel<512, 1, at::native::ReduceOp<float, true> >(int)"),
            "reduce_kernel<ReduceOp>");
  EXPECT_EQ(short_name("void k<true, 3>(int)"), "k");
}

TEST(short_name, survives_names_that_are_none) {
  for (const char* odd : {"<", ">", "<<<>>>", "a<", "a<(", "::", "void ", "f<,>", "operator<", "f<{lambda()#1}>(int)"})
    static_cast<void>(short_name(odd));
}

TEST(dashes, stand_apart) {
  EXPECT_EQ(format::apart("--steps 3 -x"), "-\xE2\x80\x8A-steps 3 -x");
  EXPECT_EQ(format::apart("a---b"), "a-\xE2\x80\x8A-\xE2\x80\x8A-b");
  EXPECT_EQ(format::apart("plain"), "plain");
}

// Tried: labels with names that ImGui would read as ids.
TEST(labels, show_all_of_a_name) {
  EXPECT_EQ(make_label("gpu##0"), "gpu#\xE2\x80\x8A#0");
  EXPECT_EQ(make_label("a###b"), "a#\xE2\x80\x8A#\xE2\x80\x8A#b");
  EXPECT_EQ(make_label("C#"), "C#");
}

}  // namespace
}  // namespace sluice::gui
