#include "instrumentation/capture/launch_environment.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>

namespace sluice::capture {
namespace {

namespace fs = std::filesystem;

/// A folder with programs and libraries to be found, and the variables that lead there.
class FindCupti : public testing::Test {
 protected:
  FindCupti() : root_(fs::path(testing::TempDir()) / testing::UnitTest::GetInstance()->current_test_info()->name()) {
    fs::remove_all(root_);
    fs::create_directories(root_ / "bin");
    variables_["PATH"] = (root_ / "bin").string() + ":/usr/bin:/bin";
  }
  ~FindCupti() override { fs::remove_all(root_); }

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

  fs::path root_;
  std::map<std::string, std::string> variables_;
};

TEST_F(FindCupti, TakesWhatTheUserNames) {
  variables_["SLUICE_CUPTI_PATH"] = "/a/libcupti.so:/b/libcupti.so";
  EXPECT_EQ(find({"./program"}), (std::vector<std::string>{"/a/libcupti.so", "/b/libcupti.so"}));
}

TEST_F(FindCupti, AsksTheCommandsPython) {
  const fs::path library = write("site/libcupti.so.13", "");
  // Whatever it is asked, this "Python" answers with the file.
  write("bin/python3", "#!/bin/sh\necho " + library.string() + "\n", true);
  ASSERT_FALSE(find({"python3", "train.py"}).empty());
  EXPECT_EQ(find({"python3", "train.py"}).front(), library.string());
}

TEST_F(FindCupti, AsksThePythonOfAScript) {
  const fs::path library = write("site/libcupti.so.13", "");
  const fs::path python = write("bin/python3.12", "#!/bin/sh\necho " + library.string() + "\n", true);
  write("bin/torchrun", "#!" + python.string() + "\nimport torch\n", true);
  ASSERT_FALSE(find({"torchrun", "train.py"}).empty());
  EXPECT_EQ(find({"torchrun", "train.py"}).front(), library.string());
}

TEST_F(FindCupti, DoesNotBelieveAFileThatIsNotThere) {
  write("bin/python3", "#!/bin/sh\necho /nowhere/libcupti.so.13\n", true);
  for (const std::string& file : find({"python3"})) EXPECT_NE(file, "/nowhere/libcupti.so.13");
}

TEST_F(FindCupti, FindsTheToolkitOfOtherPrograms) {
  const fs::path library = write("cuda/extras/CUPTI/lib64/libcupti.so", "");
  variables_["CUDA_HOME"] = (root_ / "cuda").string();
  ASSERT_FALSE(find({"./a.out"}).empty());
  EXPECT_EQ(find({"./a.out"}).front(), library.string());
}

TEST_F(FindCupti, AsksNobodyForACommandThatDoesNotExist) { EXPECT_EQ(find({"no-such-program"}), find({})); }

std::optional<std::string> nothing_set(const std::string&) { return std::nullopt; }

TEST(LaunchEnvironment, PreloadsTheLibraryBeforeWhatIsPreloadedAlready) {
  const auto inherited = [](const std::string& name) -> std::optional<std::string> {
    if (name == "LD_PRELOAD") return "/lib/libjemalloc.so";
    if (name == "PYTHONPATH") return "/home/me/modules";
    return std::nullopt;
  };
  const auto variables = launch_environment("/opt/sluice/libsluice_capture.so", "@socket", {}, inherited);
  const std::map<std::string, std::string> map(variables.begin(), variables.end());
  EXPECT_EQ(map.at("PYTHONPATH"), "/home/me/modules:/opt/sluice/python") << "the user's own modules come first";
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  EXPECT_FALSE(map.contains("LD_PRELOAD")) << "programs that are built without the sanitizer would not start";
#else
  EXPECT_EQ(map.at("LD_PRELOAD"), "/opt/sluice/libsluice_capture.so:/lib/libjemalloc.so");
  EXPECT_EQ(map.at("ASAN_OPTIONS"), "verify_asan_link_order=0");
#endif
}

TEST(LaunchEnvironment, DoesNotPreloadWhatTheLoaderWouldReadAsTwoFiles) {
  for (const std::string path : {"/my programs/libsluice_capture.so", "/a:b/libsluice_capture.so"}) {
    EXPECT_FALSE(can_be_preloaded(path));
    const auto variables = launch_environment(path, "@socket", {}, nothing_set);
    const std::map<std::string, std::string> map(variables.begin(), variables.end());
    EXPECT_FALSE(map.contains("LD_PRELOAD"));
    EXPECT_EQ(map.at("CUDA_INJECTION64_PATH"), path) << "CUDA itself is recorded all the same";
  }
}

TEST(LaunchEnvironment, NamesLibrarySocketAndCupti) {
  const std::vector<std::string> cupti{"/a", "/b"};
  const auto variables = launch_environment("/lib/libsluice_capture.so", "@socket", cupti, nothing_set);
  const std::map<std::string, std::string> map(variables.begin(), variables.end());
  EXPECT_EQ(map.at("CUDA_INJECTION64_PATH"), "/lib/libsluice_capture.so");
  EXPECT_EQ(map.at("NVTX_INJECTION64_PATH"), "/lib/libsluice_capture.so");
  EXPECT_EQ(map.at("SLUICE_SOCKET"), "@socket");
  EXPECT_EQ(map.at("SLUICE_CUPTI_PATH"), "/a:/b");
}

TEST(LaunchEnvironment, SaysWhereTheCaptureLibraryShouldBe) {
  const auto missing = capture_library_of("/nowhere/bin/sluice");
  ASSERT_FALSE(missing.has_value());
  EXPECT_EQ(missing.error().code, error_code::unavailable);
  EXPECT_NE(missing.error().to_string().find("/nowhere/bin/libsluice_capture.so"), std::string::npos);
}

}  // namespace
}  // namespace sluice::capture
