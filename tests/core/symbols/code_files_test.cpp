#include "core/symbols/code_files.hpp"

#include <gtest/gtest.h>

namespace sluice::symbols {
namespace {

using trace::frame_kind;

TEST(own_files, are_not_those_of_python_its_packages_and_the_system) {
  EXPECT_TRUE(is_own_file(frame_kind::python, "/home/me/train.py"));
  EXPECT_TRUE(is_own_file(frame_kind::python, "<stdin>"));
  EXPECT_FALSE(is_own_file(frame_kind::python, "/usr/lib/python3.12/threading.py"));
  EXPECT_FALSE(
      is_own_file(frame_kind::python, "/home/me/venv/lib/python3.12/site-packages/torch/nn/modules/linear.py"));
  EXPECT_FALSE(is_own_file(frame_kind::python, "<frozen importlib._bootstrap>"));
  EXPECT_TRUE(is_own_file(frame_kind::native, "/home/me/build/solver"));
  EXPECT_FALSE(is_own_file(frame_kind::native, "/usr/lib/x86_64-linux-gnu/libcuda.so.1"));
  EXPECT_FALSE(is_own_file(frame_kind::native, "/home/me/venv/lib/python3.12/site-packages/torch/lib/libc10.so"));
  EXPECT_FALSE(is_own_file(frame_kind::native, "/home/me/bin/python3.12"));
  EXPECT_FALSE(is_own_file(frame_kind::native, "/home/me/conda/lib/libcublas.so.12"));
  EXPECT_FALSE(is_own_file(frame_kind::native, "dir7/libc.so.6")) << "in a redacted recording";
  EXPECT_FALSE(is_own_file(frame_kind::native, ""));
}

TEST(own_files, of_windows_are_reported_apart_in_the_same_way) {
  EXPECT_TRUE(is_own_file(frame_kind::python, "D:\\proj\\nets\\model.py"));
  EXPECT_TRUE(is_own_file(frame_kind::python, "D:\\proj\\lib\\model.py"));
  EXPECT_FALSE(is_own_file(frame_kind::python, "D:\\proj\\.venv\\Lib\\site-packages\\torch\\functional.py"));
  for (const char* python :
       {"C:\\Python312", "C:\\Users\\ann\\miniconda3\\envs\\ml", "C:\\Users\\ann\\.pyenv\\pyenv-win\\versions\\3.11.4",
        "C:\\Users\\ann\\AppData\\Local\\Programs\\Python\\Python311"})
    EXPECT_FALSE(is_own_file(frame_kind::python, std::string(python) + "\\Lib\\threading.py")) << python;
  EXPECT_TRUE(is_own_file(frame_kind::native, "D:\\proj\\solver.exe"));
  EXPECT_FALSE(is_own_file(frame_kind::native, "C:\\Windows\\System32\\ntdll.dll"));
  EXPECT_FALSE(is_own_file(frame_kind::native, "D:\\cuda\\cudart64_12.dll"));
  EXPECT_FALSE(is_own_file(frame_kind::native, "D:\\conda\\python312.dll"));
}

TEST(own_files, are_not_what_a_compiler_wrote) {
  EXPECT_FALSE(is_own_file(frame_kind::python, "/tmp/torchinductor_ann/ab/cabc.py"));
  EXPECT_FALSE(is_own_file(frame_kind::python, "<eval_with_key>.12"));
  EXPECT_TRUE(is_own_file(frame_kind::python, "<eval_with_key>.12 from /home/ann/net.py:33 in forward"));
  EXPECT_FALSE(is_own_file(frame_kind::native, "/home/ann/.triton/cache/xyz/__triton_launcher.so"));
}

TEST(packages, are_the_folders_below_site_packages) {
  EXPECT_EQ(find_package("/x/site-packages/torch/nn/linear.py"), "torch");
  EXPECT_EQ(find_package("/x/dist-packages/six.py"), "six");
  EXPECT_EQ(find_package("C:\\venv\\Lib\\site-packages\\torch\\nn\\linear.py"), "torch");
  EXPECT_EQ(find_package("C:\\venv\\Lib\\site-packages\\six.py"), "six");
  EXPECT_EQ(find_package("/home/me/train.py"), "");
}

TEST(packages, may_be_a_checkout_of_pytorch) {
  for (const char* file :
       {"/src/pytorch/torch/nn/functional.py", "/src/pytorch/torch/library.py", "/home/ann/pytorch-2.9/torch/random.py",
        "/build/torch/nn/modules/linear.py", "torch/_dynamo/eval_frame.py", "/pytorch/aten/src/ATen/native/Linear.cpp"})
    EXPECT_EQ(find_package(file), "torch") << file;
  for (const char* file : {"/home/ann/einops/torch/layers.py", "/home/ann/pytorch-examples/torch/model.py",
                           "/home/ann/mytorch/nn/modules/linear.py", "/home/ann/torch/model.py"})
    EXPECT_EQ(find_package(file), "") << file;
}

TEST(origins_of_code, are_in_names_of_fx) {
  const auto origin = find_origin("<eval_with_key>.5 from /home/a in b/net.py:33 in forward");
  ASSERT_TRUE(origin);
  EXPECT_EQ(origin->file, "/home/a in b/net.py");
  EXPECT_EQ(origin->line, 33U);
  EXPECT_EQ(origin->function, "forward");
  for (const char* name : {"<eval_with_key>.5", "<eval_with_key>.5 from", "<eval_with_key>.5 from net.py in f",
                           "<eval_with_key>.5 from net.py:x in f", "<eval_with_key> in a from b", "/home/me/net.py"})
    EXPECT_FALSE(find_origin(name)) << name;
}

}  // namespace
}  // namespace sluice::symbols
