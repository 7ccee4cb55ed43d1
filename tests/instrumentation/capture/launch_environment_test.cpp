#include "instrumentation/capture/start/launch_environment.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <map>

namespace sluice::capture {
namespace {

namespace fs = std::filesystem;

/// Fixture with a folder of programs and libraries to find, and the environment variables that lead to them.
class find_cupti_test : public testing::Test {
 protected:
  find_cupti_test()
      : root_(fs::path(testing::TempDir()) / testing::UnitTest::GetInstance()->current_test_info()->name()) {
    fs::remove_all(root_);
    fs::create_directories(root_ / "bin");
    variables_["PATH"] = (root_ / "bin").string() + ":/usr/bin:/bin";
  }
  ~find_cupti_test() override { fs::remove_all(root_); }

  fs::path write(const std::string& name, const std::string& text, bool run = false) {
    fs::path path = root_ / name;
    fs::create_directories(path.parent_path());
    std::ofstream(path) << text;
    if (run) fs::permissions(path, fs::perms::owner_all);
    return path;
  }
  std::vector<std::string> find(const std::vector<std::string>& command) {
    return find_cupti(command, [this](const std::string& name) -> std::optional<std::string> {
      const auto found = variables_.find(name);
      return found == variables_.end() ? std::nullopt : std::optional(found->second);
    });
  }

  /// The path of the best candidate for a command; empty if there is no candidate.
  std::string find_first(const std::vector<std::string>& command) {
    const auto found = find(command);
    return found.empty() ? std::string() : found.front();
  }

  fs::path root_;
  std::map<std::string, std::string> variables_;
};

TEST_F(find_cupti_test, takes_what_the_user_names) {
  variables_["SLUICE_CUPTI_PATH"] = "/a/libcupti.so:/b/libcupti.so";
  EXPECT_EQ(find({"./program"}), (std::vector<std::string>{"/a/libcupti.so", "/b/libcupti.so"}));
}

TEST_F(find_cupti_test, reads_the_packages_of_the_commands_python) {
  write("bin/python3.12", "", true);
  fs::create_symlink("python3.12", root_ / "bin/python3");
  const fs::path library = write("lib/python3.12/site-packages/nvidia/cu13/lib/libcupti.so.13", "");
  EXPECT_EQ(find_first({"python3", "train.py"}), library.string());
}

TEST_F(find_cupti_test, reads_the_packages_of_a_scripts_python) {
  const fs::path python = write("env/bin/python3.12", "", true);
  const fs::path library = write("env/lib/python3.12/site-packages/nvidia/cuda_cupti/lib/libcupti.so.12", "");
  write("bin/torchrun", "#!" + python.string() + "\nimport torch\n", true);
  EXPECT_EQ(find_first({"torchrun", "train.py"}), library.string());
  write("bin/accelerate", "#!/usr/bin/env python3.12\n", true);
  variables_["PATH"] += ":" + (root_ / "env/bin").string();
  EXPECT_EQ(find_first({"accelerate", "launch"}), library.string());
}

TEST_F(find_cupti_test, looks_behind_the_words_of_a_wrapper) {
  write("bin/srun",
        "\x7f"
        "ELF",
        true);
  const fs::path python = write("env/bin/python", "", true);
  const fs::path library = write("env/lib/python3.11/site-packages/nvidia/cu13/lib/libcupti.so.13", "");
  EXPECT_EQ(find_first({"srun", "-n", "2", python.string(), "train.py"}), library.string());
}

TEST_F(find_cupti_test, prefers_the_virtual_environment) {
  write("usr/bin/python3.12", "", true);
  write("usr/lib/python3.12/site-packages/nvidia/cu12/lib/libcupti.so.12", "");
  const fs::path library = write("venv/lib/python3.12/site-packages/nvidia/cu13/lib/libcupti.so.13", "");
  write("venv/pyvenv.cfg", "home = " + (root_ / "usr/bin").string() + "\ninclude-system-site-packages = true\n");
  fs::create_directories(root_ / "venv/bin");
  fs::create_symlink(root_ / "usr/bin/python3.12", root_ / "venv/bin/python");
  const auto found = find({(root_ / "venv/bin/python").string(), "train.py"});
  ASSERT_GE(found.size(), 2U);
  EXPECT_EQ(found[0], library.string());
  EXPECT_EQ(fs::path(found[1]).filename(), "libcupti.so.12") << "system packages come last";
}

TEST_F(find_cupti_test, puts_the_one_of_py_torchs_version_first) {
  write("bin/python3", "", true);
  const std::string packages = "lib/python3.12/site-packages/";
  write(packages + "nvidia/cu12/lib/libcupti.so.12", "");
  const fs::path library = write(packages + "nvidia/cu13/lib/libcupti.so.13", "");
  write(packages + "torch/version.py", "__version__ = '2.9'\ncuda: Optional[str] = '13.0'\nhip = None\n");
  EXPECT_EQ(find_first({"python3"}), library.string());
}

TEST_F(find_cupti_test, finds_debians_packages_the_users_own_and_those_of_pythonpath) {
  write("bin/python3", "", true);
  const fs::path debian = write("lib/python3/dist-packages/nvidia/a/lib/libcupti.so.13", "");
  const fs::path own = write("home/.local/lib/python3.12/site-packages/nvidia/b/lib/libcupti.so.13", "");
  const fs::path named = write("modules/nvidia/c/lib/libcupti.so.13", "");
  variables_["HOME"] = (root_ / "home").string();
  variables_["PYTHONPATH"] = ":modules:" + (root_ / "modules").string();
  const auto found = find({"python3"});
  ASSERT_GE(found.size(), 3U);
  EXPECT_EQ(std::vector(found.begin(), found.begin() + 3),
            (std::vector{named.string(), debian.string(), own.string()}));
}

TEST_F(find_cupti_test, falls_back_to_the_python_on_the_path_behind_the_toolkit) {
  write("bin/start.sh", "#!/bin/sh\nexec python3 train.py\n", true);
  write("bin/python3", "", true);
  const fs::path library = write("lib/python3.12/site-packages/nvidia/cu13/lib/libcupti.so.13", "");
  const fs::path toolkit = write("cuda/lib64/libcupti.so", "");
  variables_["CUDA_HOME"] = (root_ / "cuda").string();
  const auto found = find({"start.sh"});
  ASSERT_GE(found.size(), 2U);
  EXPECT_EQ(found.front(), toolkit.string());
  EXPECT_EQ(found.back(), library.string());
}

TEST_F(find_cupti_test, runs_nothing) {
  const fs::path sign = root_ / "it-ran";
  for (const std::string name : {"python3", "python", "python-deploy", "python3.12"})
    write("bin/" + name, "#!/bin/sh\ntouch " + sign.string() + "\n", true);
  for (const std::string name : {"python3", "python", "python-deploy", "python3.12"}) static_cast<void>(find({name}));
  EXPECT_FALSE(fs::exists(sign));
}

TEST_F(find_cupti_test, reads_neither_pipes_nor_endless_files) {
  write("bin/python3", "", true);
  const fs::path library = write("lib/python3.12/site-packages/nvidia/cu13/lib/libcupti.so.13", "");
  fs::create_directories(root_ / "lib/python3.12/site-packages/torch");
  ASSERT_EQ(::mkfifo((root_ / "lib/python3.12/site-packages/torch/version.py").c_str(), 0600), 0);
  fs::create_symlink("/dev/zero", root_ / "pyvenv.cfg");
  EXPECT_EQ(find_first({"python3"}), library.string());
}

TEST_F(find_cupti_test, names_nothing_in_the_current_folder) {
  variables_["CUDA_HOME"] = "cuda";
  variables_["PATH"] = ":.";
  for (const std::string& file : find({"sh"})) EXPECT_TRUE(file.starts_with('/')) << file;
  EXPECT_FALSE(find_capture_library("").has_value());
}

TEST_F(find_cupti_test, finds_the_toolkit_of_other_programs) {
  const fs::path library = write("cuda/extras/CUPTI/lib64/libcupti.so", "");
  variables_["CUDA_HOME"] = (root_ / "cuda").string();
  ASSERT_FALSE(find({"./a.out"}).empty());
  EXPECT_EQ(find({"./a.out"}).front(), library.string());
}

TEST_F(find_cupti_test, looks_for_nothing_for_a_command_that_does_not_exist) {
  EXPECT_EQ(find({"no-such-program"}), find({}));
}

TEST_F(find_cupti_test, finds_the_capture_library_beside_the_program_and_where_it_is_installed) {
  const fs::path program = write("opt/bin/sluice", "", true);
  const fs::path installed = write("opt/lib/sluice/libsluice_capture.so", "");
  EXPECT_EQ(find_capture_library(program.string()).value_or(""), installed.string());
  const fs::path beside = write("opt/bin/libsluice_capture.so", "");
  EXPECT_EQ(find_capture_library(program.string()).value_or(""), beside.string());
}

TEST_F(find_cupti_test, names_another_profilers_injection) {
  const auto lookup = [](const std::string& name) -> std::optional<std::string> {
    if (name == "CUDA_INJECTION64_PATH") return "/opt/nsys/libToolsInjection64.so";
    if (name == "NVTX_INJECTION64_PATH") return "/lib/libsluice_capture.so";
    return std::nullopt;
  };
  const std::vector<std::pair<std::string, std::string>> expected{
      {"CUDA_INJECTION64_PATH", "/opt/nsys/libToolsInjection64.so"}};
  EXPECT_EQ(other_injections("/lib/libsluice_capture.so", lookup), expected);
}

std::optional<std::string> nothing_set(const std::string&) { return std::nullopt; }

TEST(launch_environment, preloads_the_library_before_what_is_preloaded_already) {
  const auto inherited = [](const std::string& name) -> std::optional<std::string> {
    if (name == "LD_PRELOAD") return "/lib/libjemalloc.so";
    if (name == "PYTHONPATH") return "/home/me/modules";
    return std::nullopt;
  };
  const auto variables = launch_environment("/opt/sluice/libsluice_capture.so", "@socket", {}, inherited);
  const std::map<std::string, std::string> map(variables.begin(), variables.end());
  EXPECT_EQ(map.at("PYTHONPATH"), "/home/me/modules:/opt/sluice/python") << "the user's own modules come first";
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  EXPECT_FALSE(map.contains("LD_PRELOAD")) << "programs built without the sanitizer would not start";
#else
  EXPECT_EQ(map.at("LD_PRELOAD"), "/opt/sluice/libsluice_capture.so:/lib/libjemalloc.so");
  EXPECT_EQ(map.at("ASAN_OPTIONS"), "verify_asan_link_order=0");
#endif
}

TEST(launch_environment, does_not_preload_what_the_loader_would_read_as_two_files) {
  for (const std::string path : {"/my programs/libsluice_capture.so", "/a:b/libsluice_capture.so"}) {
    EXPECT_FALSE(can_be_preloaded(path));
    const auto variables = launch_environment(path, "@socket", {}, nothing_set);
    const std::map<std::string, std::string> map(variables.begin(), variables.end());
    EXPECT_FALSE(map.contains("LD_PRELOAD"));
    EXPECT_EQ(map.at("CUDA_INJECTION64_PATH"), path) << "CUDA itself is still recorded";
  }
}

TEST(launch_environment, names_library_socket_and_cupti) {
  const std::vector<std::string> cupti{"/a", "/b"};
  const auto variables = launch_environment("/lib/libsluice_capture.so", "@socket", cupti, nothing_set);
  const std::map<std::string, std::string> map(variables.begin(), variables.end());
  EXPECT_EQ(map.at("CUDA_INJECTION64_PATH"), "/lib/libsluice_capture.so");
  EXPECT_EQ(map.at("NVTX_INJECTION64_PATH"), "/lib/libsluice_capture.so");
  EXPECT_EQ(map.at("SLUICE_SOCKET"), "@socket");
  EXPECT_EQ(map.at("SLUICE_CUPTI_PATH"), "/a:/b");
}

TEST(launch_environment, says_where_the_capture_library_should_be) {
  const auto missing = find_capture_library("/nowhere/bin/sluice");
  ASSERT_FALSE(missing.has_value());
  EXPECT_EQ(missing.error().code, error_code::unavailable);
  EXPECT_NE(missing.error().to_string().find("/nowhere/bin/libsluice_capture.so"), std::string::npos);
}

}  // namespace
}  // namespace sluice::capture
