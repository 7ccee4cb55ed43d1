// sluice demo: command lines and their effects.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <string>
#include <vector>

#include "core/trace/file/reader.hpp"
#include "tests/app/cli/sluice_program.hpp"

namespace sluice {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

const std::string fake_driver = SLUICE_BINARY_DIR "/tests/instrumentation/capture/fake";

class demo_test : public sluice_program {
 protected:
  /// Starts `sluice demo`. `driver`: the folder that is searched first for libcuda.so.1.
  pid_t begin(std::vector<std::string> words, const std::string& driver = {}) {
    words.insert(words.begin(), "demo");
    const variables fake{{"LD_LIBRARY_PATH", driver}, {"SLUICE_CUPTI_PATH", driver + "/libcupti.so"}};
    return begin_sluice(words, driver.empty() ? variables{} : fake);
  }
  program_result run(const std::vector<std::string>& words, const std::string& driver = {}) {
    return end_sluice(begin(words, driver));
  }

  [[nodiscard]] std::shared_ptr<const trace::snapshot> read(const char* name) const {
    const auto opened = trace::file::open(file(name));
    EXPECT_TRUE(opened) << opened.error().to_string();
    return opened ? (*opened)->latest() : nullptr;
  }
};

TEST_F(demo_test, list_says_what_each_shows_and_what_to_look_for) {
  const program_result listed = run({"--list"});
  EXPECT_EQ(listed.status, 0);
  for (const char* name : {"chunked-file", "pool-churn", "overlap", "pinned-vs-pageable", "managed-migration", "leak"})
    EXPECT_THAT(listed.out, HasSubstr(name));
  EXPECT_THAT(listed.out, HasSubstr("Look for: "));
}

TEST_F(demo_test, names_the_lines_of_its_source_on_the_simulated_device) {
  ASSERT_EQ(run({"leak", "--device", "sim", "-o", file("leak.sluice")}).status, 0);
  const program_result report = end_sluice(begin_sluice({"report", file("leak.sluice")}, {}));
  EXPECT_THAT(report.out, HasSubstr("demos::leak")) << "the function, also without debug information";
  EXPECT_THAT(report.out, HasSubstr("leak.cpp:"));
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
  EXPECT_TRUE(exists("leak-2.sluice")) << "the first is kept";
}

TEST_F(demo_test, never_replaces_a_file_that_is_no_recording) {
  write("precious.py", "print()\n");
  const program_result refused = run({"leak", "--device", "sim", "-o", "precious.py"});
  EXPECT_EQ(refused.status, 2) << "as for every verb";
  EXPECT_THAT(refused.err, HasSubstr("precious.py: exists and is not a recording"));
  EXPECT_EQ(make_content(file("precious.py")), "print()\n");
}

TEST_F(demo_test, can_be_watched_while_it_runs_and_stopped_with_ctrl_c) {
  const pid_t demo = begin({"overlap", "--device", "sim", "--pace", "--seconds", "600", "-o", "live.sluice"});
  // The file grows while the demo runs: copies can be read before it ends.
  bool seen = false;
  for (int i = 0; i < 1000 && !seen; ++i) {
    usleep(10'000);
    const auto opened = trace::file::open(file("live.sluice"));
    if (!opened) continue;
    (void)(*opened)->latest()->for_each<trace::transfer_event>([&](const auto&) { seen = true; });
  }
  EXPECT_TRUE(seen);
  kill(demo, SIGINT);
  EXPECT_EQ(end_sluice(demo).status, 130);
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
  const program_result said = run_shell(program_ + " demo --list >/dev/full");
  EXPECT_EQ(said.status, 1);
  EXPECT_THAT(said.err, HasSubstr("standard output"));
}

}  // namespace
}  // namespace sluice
