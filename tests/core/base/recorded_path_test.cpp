#include "core/base/recorded_path.hpp"

#include <gtest/gtest.h>

namespace sluice {
namespace {

TEST(recorded_path, is_divided_as_on_linux_and_as_on_windows) {
  EXPECT_EQ(file_name("/nn/linear.py"), "linear.py");
  EXPECT_EQ(file_name("D:\\nn\\linear.py"), "linear.py");
  EXPECT_EQ(file_name("linear.py"), "linear.py");
  EXPECT_EQ(file_name("/nn/"), "");
  EXPECT_EQ(last_parts("D:\\proj\\nets\\model.py", 2), "nets\\model.py");
  EXPECT_EQ(last_parts("D:/proj/nets\\model.py", 2), "nets\\model.py");
  EXPECT_EQ(last_parts("model.py", 2), "model.py");
  EXPECT_EQ(last_parts("", 2), "");
}

TEST(recorded_path, is_absolute_from_a_root_or_a_drive) {
  for (const char* path : {"/x", "D:\\x", "d:/x", "\\\\server\\x"}) EXPECT_TRUE(is_absolute_path(path)) << path;
  for (const char* path : {"x", "x/y", "D:", "::x", "<stdin>", ""}) EXPECT_FALSE(is_absolute_path(path)) << path;
}

TEST(recorded_path, has_slashes_to_look_for_its_parts) {
  EXPECT_TRUE(slashed_path("D:\\venv\\Lib\\site-packages\\torch\\nn.py").has("/site-packages/torch/"));
  EXPECT_EQ(slashed_path("/a/b.py").text(), "/a/b.py");
}

bool is_generated(std::string_view path) { return is_generated_code(slashed_path(path)); }

TEST(generated_code, is_known_by_where_compilers_keep_it) {
  for (const char* path :
       {"/tmp/torchinductor_ann/ab/cabc.py", "/scratch/torchinductor/ab/cabc.py",
        "C:\\Users\\ann\\AppData\\Local\\Temp\\torchinductor_ann\\ab\\cabc.py",
        "/root/.cache/vllm/torch_compile_cache/h/rank_0_0/inductor_cache/ab/cxyz.py",
        "/root/.cache/vllm/torch_aot_compile/h/model.py", "/home/ann/.triton/cache/xyz/__triton_launcher.so",
        "/data/torch_compile_debug/run_1/torchinductor/output_code.py", "/tmp/__autograph_generated_filex1.py"})
    EXPECT_TRUE(is_generated(path)) << path;
}

TEST(generated_code, is_known_by_its_name) {
  for (const char* path :
       {"<eval_with_key>.12", "<eval_with_key_3>", "fx_generated_3a4b5c6d7e8f9a0.py", "<decorator-gen-7>",
        "/cache/q7/cq7hmhmyvgzz2ilegyylx23ycx2gtc5kpxuzcvbbykrjf2ezu6cv.py", "dir3/__triton_launcher.so"})
    EXPECT_TRUE(is_generated(path)) << path;
}

TEST(generated_code, is_none_that_a_person_wrote) {
  for (const char* path : {"/home/ann/train.py", "<stdin>", "<string>", "<ipython-input-3-abc>", "/home/ann/call.py",
                           "/home/ann/my_inductor/model.py", "/home/ann/triton/kernels.py", ""})
    EXPECT_FALSE(is_generated(path)) << path;
}

}  // namespace
}  // namespace sluice
