// sluice serve --stdio, and recordings that are opened through that server, as by `sluice open ssh://HOST/PATH`.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <filesystem>
#include <thread>

#include "core/query/engine/engine.hpp"
#include "core/remote/address.hpp"
#include "core/remote/connection.hpp"
#include "core/remote/remote_source.hpp"
#include "tests/app/cli/sluice_program.hpp"

namespace sluice {
namespace {

using std::chrono::seconds;
using ::testing::HasSubstr;

const std::string training = SLUICE_SOURCE_DIR "/assets/recordings/pytorch-training.sluice";

class serve_test : public sluice_program {
 protected:
  void SetUp() override {
    // Replaces ssh: runs the last word in a shell, as an SSH server does.
    write("ssh", "#!/bin/sh\nfor last; do :; done\nprintf '%s\\n' \"$@\" >>\"$0.words\"\nexec sh -c \"$last\"\n");
    ::chmod(file("ssh").c_str(), 0755);
    path_before_ = std::getenv("PATH");
    ::setenv("PATH", (std::filesystem::absolute(file(".")).string() + ":" + path_before_).c_str(), 1);
    ::setenv("SLUICE_REMOTE_PROGRAM", SLUICE_BINARY_DIR "/sluice", 1);
  }
  void TearDown() override {
    ::setenv("PATH", path_before_.c_str(), 1);
    ::unsetenv("SLUICE_REMOTE_PROGRAM");
  }
  std::string path_before_;
};

TEST_F(serve_test, results_as_the_file_itself_does) {
  const auto opened = remote::open_address("ssh://host" + training, {}, {});
  ASSERT_TRUE(opened) << opened.error().to_string();
  EXPECT_EQ(opened->title, "pytorch-training.sluice");
  const auto here = trace::file::open(training).value();
  EXPECT_EQ(opened->file->latest()->end(), here->latest()->end());
  EXPECT_FALSE(opened->file->latest()->recorded_here());
  query::engine there(opened->file, {.threads = 1, .wake = {}});
  query::engine local(here);
  const auto a = there.ask_now(query::report_query{}).value();
  const auto b = local.ask_now(query::report_query{}).value();
  ASSERT_EQ(a->peaks.size(), b->peaks.size());
  for (std::size_t i = 0; i < a->peaks.size(); ++i) {
    EXPECT_EQ(a->peaks[i].bytes, b->peaks[i].bytes);
    EXPECT_EQ(a->peaks[i].lines.lines.size(), b->peaks[i].lines.lines.size());
  }
  const auto tracks = there.ask_now(query::tracks_query{}).value();
  EXPECT_EQ(tracks->tracks.size(), local.ask_now(query::tracks_query{}).value()->tracks.size());
  const query::sql_task counted("SELECT count(*) FROM alloc", [&](const std::string& text, auto then) {
    return opened->host->ask(text, std::move(then));
  });
  for (int i = 0; i < 2'000 && !counted.done(); ++i) ::usleep(10'000);
  ASSERT_EQ(counted.found()->rows, 1U);
  EXPECT_NE(counted.found()->text(0, 0), "0");
}

TEST_F(serve_test, another_tools_file_is_imported_there) {
  write("copies.json", R"([{"ph": "X", "cat": "kernel", "name": "gemm", "ts": 1, "dur": 2, "pid": 0, "tid": 7}])");
  const auto opened =
      remote::open_address("ssh://host" + std::filesystem::absolute(file("copies.json")).string(), {}, {});
  ASSERT_TRUE(opened) << opened.error().to_string();
  EXPECT_EQ(opened->title, "copies.json");
  EXPECT_GT(opened->file->latest()->chunk_count(), 0U);
}

TEST_F(serve_test, a_path_reaches_the_other_side_whatever_is_in_it) {
  const std::string name = "it's $(touch ran) & more.sluice";
  std::filesystem::copy_file(training, file(name));
  const std::string folder = std::filesystem::absolute(file(".")).lexically_normal().string();
  const auto opened = remote::open_address("ssh://host" + folder + "/" + name, {}, {});
  ASSERT_TRUE(opened) << opened.error().to_string();
  EXPECT_EQ(opened->title, name);
  EXPECT_FALSE(exists("ran"));
  EXPECT_THAT(make_content(file("ssh.words")), HasSubstr("--\nhost\n"));
}

TEST_F(serve_test, says_what_the_other_side_says) {
  const auto absent = remote::open_address("ssh://host/no/such/file.sluice", {}, {});
  ASSERT_FALSE(absent);
  EXPECT_THAT(absent.error().to_string(), HasSubstr("No such file"));
  ::setenv("SLUICE_REMOTE_PROGRAM", "no-such-sluice", 1);
  const auto without = remote::open_address("ssh://host/a.sluice", {}, {});
  ASSERT_FALSE(without);
  EXPECT_THAT(without.error().to_string(), HasSubstr("not found"));
}

TEST_F(serve_test, a_program_that_prints_something_else_is_foreign) {
  const auto printed = remote::connection::to_program(
      {"/bin/sh", "-c", "echo Welcome to this server, have a nice day; cat"}, "host", seconds(20), {});
  EXPECT_EQ(printed.error().code, error_code::foreign);
  const auto silent = remote::connection::to_program({"/bin/sleep", "60"}, "host", std::chrono::milliseconds(200), {});
  EXPECT_EQ(silent.error().code, error_code::io);
  const auto cancelled = remote::connection::to_program({"/bin/sleep", "60"}, "host", seconds(60), [] { return true; });
  EXPECT_EQ(cancelled.error().code, error_code::cancelled);
  const auto none = remote::connection::to_program({"no-such-program"}, "host", seconds(1), {});
  EXPECT_EQ(none.error().code, error_code::not_found);
}

TEST_F(serve_test, ends_with_its_input_and_refuses_what_is_not_sluice) {
  write("nothing", "");
  write("noise", "GET / HTTP/1.1\r\n\r\nand more than a header");
  const auto run = [&](const std::string& input) {
    return run_program({.words = {program_, "serve", "--stdio", training}, .input = file(input)});
  };
  EXPECT_EQ(run("nothing").status, 0);
  const program_result noise = run("noise");
  EXPECT_EQ(noise.status, 1);
  EXPECT_EQ(noise.out, "");
}

TEST_F(serve_test, what_came_stays_when_the_other_side_dies) {
  const auto by = remote::connection::to_program({SLUICE_BINARY_DIR "/sluice", "serve", "--stdio", training}, "host",
                                                 seconds(60), {})
                      .value();
  const auto opened = remote::open_remote(by).value();
  query::engine asks(opened, {.threads = 1, .wake = {}});
  query::slot<query::report_query> shown;
  for (int i = 0; i < 2'000 && !shown.ask(asks, {}).complete; ++i) ::usleep(10'000);
  ASSERT_TRUE(shown.ask(asks, {}).complete);
  by->end();
  for (int i = 0; i < 500 && by->alive(); ++i) ::usleep(10'000);
  EXPECT_FALSE(by->alive());
  EXPECT_TRUE(shown.ask(asks, {}));
  EXPECT_TRUE(asks.ask_now(query::messages_query{}));
}

}  // namespace
}  // namespace sluice
