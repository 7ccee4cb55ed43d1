// sluice demo: command lines and their effects.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "core/trace/file/reader.hpp"

namespace sluice {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

const std::string fake_driver = SLUICE_BINARY_DIR "/tests/instrumentation/capture/fake";

class demo_test : public testing::Test {
 protected:
  struct program_result {
    int status = -1;  ///< As in a shell.
    std::string out, err;
  };

  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "sluice-demo-test-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder = name;
  }
  void TearDown() override { fs::remove_all(folder); }

  [[nodiscard]] std::string text(const char* name) const {
    std::ostringstream ostringstream;
    ostringstream << std::ifstream(folder / name).rdbuf();
    return ostringstream.str();
  }

  /// Starts `sluice` in a temporary folder. `driver`: the folder that is searched first for libcuda.so.1.
  pid_t begin(std::vector<std::string> words, const std::string& driver = {}) {
    words.insert(words.begin(), {SLUICE_BINARY_DIR "/sluice", "demo"});
    const pid_t child = fork();
    if (child != 0) return child;
    dup2(open((folder / "out").c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), 1);
    dup2(open((folder / "err").c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), 2);
    if (chdir(folder.c_str()) != 0) _exit(98);
    if (!driver.empty()) {
      setenv("LD_LIBRARY_PATH", driver.c_str(), 1);
      setenv("SLUICE_CUPTI_PATH", (driver + "/libcupti.so").c_str(), 1);
    }
    std::vector<char*> pointers;
    for (std::string& word : words) pointers.push_back(word.data());
    pointers.push_back(nullptr);
    execv(pointers[0], pointers.data());
    _exit(97);
  }
  program_result end(pid_t child) {
    int status = 0;
    waitpid(child, &status, 0);
    return {WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status), text("out"), text("err")};
  }
  program_result run(const std::vector<std::string>& words, const std::string& driver = {}) {
    return end(begin(words, driver));
  }

  [[nodiscard]] std::shared_ptr<const trace::snapshot> read(const char* name) const {
    const auto file = trace::file::open((folder / name).string());
    EXPECT_TRUE(file) << file.error().to_string();
    return file ? (*file)->latest() : nullptr;
  }

  fs::path folder;
};

TEST_F(demo_test, list_says_what_each_shows_and_what_to_look_for) {
  const program_result listed = run({"--list"});
  EXPECT_EQ(listed.status, 0);
  for (const char* name : {"chunked-file", "pool-churn", "overlap", "pinned-vs-pageable", "managed-migration", "leak"})
    EXPECT_THAT(listed.out, HasSubstr(name));
  EXPECT_THAT(listed.out, HasSubstr("Look for: "));
}

TEST_F(demo_test, a_name_that_is_none_is_a_mistake_of_use) {
  const program_result wrong = run({"nothing"});
  EXPECT_EQ(wrong.status, 2);
  EXPECT_EQ(wrong.err, "sluice: no demo named 'nothing'; see sluice demo --list\n");
  EXPECT_EQ(run({}).status, 2);
  EXPECT_EQ(run({"leak", "--device", "abacus"}).status, 2);
}

TEST_F(demo_test, records_on_the_simulated_device_and_says_so) {
  const program_result done = run({"leak", "--device", "sim"});
  EXPECT_EQ(done.status, 0) << done.err;
  EXPECT_THAT(done.err, HasSubstr("simulated device"));
  EXPECT_THAT(done.out, HasSubstr("leak.sluice: "));
  const auto s = read("leak.sluice");
  ASSERT_TRUE(s);
  EXPECT_TRUE(s->complete());
  EXPECT_TRUE(s->simulated());
  run({"leak", "--device", "sim"});
  EXPECT_TRUE(fs::exists(folder / "leak-2.sluice")) << "the first is kept";
}

TEST_F(demo_test, never_replaces_a_file_that_is_no_recording) {
  std::ofstream(folder / "precious.py") << "print()\n";
  const program_result refused = run({"leak", "--device", "sim", "-o", "precious.py"});
  EXPECT_EQ(refused.status, 2) << "as for every verb";
  EXPECT_THAT(refused.err, HasSubstr("precious.py: exists and is not a recording"));
  EXPECT_EQ(text("precious.py"), "print()\n");
}

TEST_F(demo_test, can_be_watched_while_it_runs_and_stopped_with_ctrl_c) {
  const pid_t demo = begin({"overlap", "--device", "sim", "--pace", "--seconds", "600", "-o", "live.sluice"});
  // The file grows while the demo runs: copies can be read before it ends.
  bool seen = false;
  for (int i = 0; i < 1000 && !seen; ++i) {
    usleep(10'000);
    const auto file = trace::file::open((folder / "live.sluice").string());
    if (!file) continue;
    (void)(*file)->latest()->for_each<trace::transfer_event>([&](const auto&) { seen = true; });
  }
  EXPECT_TRUE(seen);
  kill(demo, SIGINT);
  EXPECT_EQ(end(demo).status, 130);
  const auto s = read("live.sluice");
  ASSERT_TRUE(s);
  EXPECT_TRUE(s->complete());
}

TEST_F(demo_test, records_itself_through_the_capture_library_where_there_is_a_cuda_device) {
  if (!fs::exists(fake_driver + "/libcuda.so.1")) GTEST_SKIP() << "skipped: built without CUDA";
  const program_result done = run({"pool-churn", "--device", "cuda", "-o", "cuda.sluice"}, fake_driver);
  EXPECT_EQ(done.status, 0) << done.err;
  const auto s = read("cuda.sluice");
  ASSERT_TRUE(s);
  EXPECT_TRUE(s->complete());
  EXPECT_FALSE(s->simulated());
  bool exact = false;
  (void)s->for_each<trace::kernel_event>([&](const auto& k) { exact |= k.source == trace::provenance::exact; });
  EXPECT_TRUE(exact) << "kernel times come from CUPTI";
  // One file has the driver layer and the runtime's pool and user layers above it.
  std::array<int, trace::layer_count> layers{};
  (void)s->for_each<trace::alloc_event>([&](const auto& a) { ++layers[static_cast<std::size_t>(a.layer)]; });
  EXPECT_GT(layers[static_cast<std::size_t>(trace::layer::driver)], 0);
  EXPECT_GT(layers[static_cast<std::size_t>(trace::layer::pool)], 0);
  EXPECT_GT(layers[static_cast<std::size_t>(trace::layer::user)], 0);
}

TEST_F(demo_test, says_why_there_is_no_cuda_device) {
  if (const auto probe = run({"leak", "--device", "cuda", "-o", "x.sluice"}); probe.status == 0) {
    GTEST_SKIP() << "this machine has a CUDA device";
  } else {
    EXPECT_EQ(probe.status, 1);
    EXPECT_THAT(probe.err, HasSubstr("no CUDA device: "));
    EXPECT_THAT(probe.err, HasSubstr("use --device sim"));
  }
}

TEST_F(demo_test, says_where_no_file_can_be_made) {
  const program_result said = run({"leak", "--device", "sim", "-o", "/no/such/folder/leak.sluice"});
  EXPECT_EQ(said.status, 1);
  EXPECT_THAT(said.err, HasSubstr("/no/such/folder/leak.sluice"));
  EXPECT_THAT(said.err, HasSubstr("No such file or directory"));
  EXPECT_THAT(said.err, HasSubstr("-o")) << "the error also says what to do";
  EXPECT_EQ(said.out, "") << "no demo was run";
}

TEST_F(demo_test, fails_when_its_list_goes_nowhere) {
  const pid_t child = fork();
  if (child == 0) {
    dup2(open("/dev/full", O_WRONLY), 1);
    dup2(open((folder / "err").c_str(), O_WRONLY | O_CREAT, 0600), 2);
    execl(SLUICE_BINARY_DIR "/sluice", "sluice", "demo", "--list", nullptr);
    _exit(97);
  }
  const program_result said = end(child);
  EXPECT_EQ(said.status, 1);
  EXPECT_THAT(said.err, HasSubstr("standard output"));
}

}  // namespace
}  // namespace sluice
