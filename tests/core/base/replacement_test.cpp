#include "core/base/replacement.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "core/base/scratch_file.hpp"

namespace sluice {
namespace {

namespace fs = std::filesystem;

/// A folder of its own.
class replacement_test : public testing::Test {
 protected:
  replacement_test() : folder_(std::move(*scratch_folder::make())) {}

  [[nodiscard]] std::string file(const std::string& name) const { return folder_.path() + "/" + name; }
  void write(const std::string& name, const std::string& text) const { std::ofstream(file(name)) << text; }
  [[nodiscard]] std::string text(const std::string& name) const {
    std::ifstream in(file(name));
    return {std::istreambuf_iterator<char>(in), {}};
  }
  [[nodiscard]] std::size_t files() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder_.path()), fs::directory_iterator()));
  }
  static void fill(replacement& made, const std::string& text) {
    ASSERT_EQ(::write(made.descriptor(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }

  scratch_folder folder_;
};

TEST_F(replacement_test, takes_its_place_when_it_is_committed) {
  write("a", "old");
  auto made = replacement::of_file(file("a"));
  ASSERT_TRUE(made);
  fill(*made, "new");
  EXPECT_EQ(text("a"), "old");
  ASSERT_TRUE(made->commit());
  EXPECT_EQ(text("a"), "new");
  EXPECT_EQ(files(), 1U);
}

TEST_F(replacement_test, is_removed_when_it_is_not_committed) {
  write("a", "old");
  {
    const auto made = replacement::of_file(file("a"));
    ASSERT_TRUE(made);
    EXPECT_EQ(files(), 2U);
  }
  EXPECT_EQ(text("a"), "old");
  EXPECT_EQ(files(), 1U);
}

TEST_F(replacement_test, keeps_the_permissions_of_what_it_replaces) {
  write("a", "old");
  ::chmod(file("a").c_str(), 0640);
  auto made = replacement::of_file(file("a"));
  ASSERT_TRUE(made && made->commit());
  EXPECT_EQ(fs::status(file("a")).permissions(), fs::perms(0640));
}

TEST_F(replacement_test, asks_the_mask_for_the_permissions_of_a_new_file) {
  const mode_t before = ::umask(027);
  auto made = replacement::of_file(file("a"));
  ::umask(before);
  ASSERT_TRUE(made && made->commit());
  EXPECT_EQ(fs::status(file("a")).permissions(), fs::perms(0640));
}

TEST_F(replacement_test, leaves_a_link_and_replaces_the_file_that_it_leads_to) {
  write("a", "old");
  fs::create_symlink("a", file("link"));
  auto made = replacement::of_file(file("link"));
  ASSERT_TRUE(made);
  fill(*made, "new");
  ASSERT_TRUE(made->commit());
  EXPECT_TRUE(fs::is_symlink(file("link")));
  EXPECT_EQ(text("a"), "new");
}

TEST_F(replacement_test, refuses_a_link_that_leads_nowhere) {
  fs::create_symlink("nowhere", file("link"));
  const auto made = replacement::of_file(file("link"));
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, error_code::invalid_argument);
  EXPECT_FALSE(fs::exists(file("nowhere")));
}

TEST_F(replacement_test, refuses_a_link_of_another_user) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can make such a link";
  write("a", "old");
  fs::create_symlink("a", file("link"));
  ASSERT_EQ(::lchown(file("link").c_str(), 12345, 12345), 0);
  EXPECT_FALSE(replacement::of_file(file("link")));
}

TEST_F(replacement_test, refuses_what_is_not_a_regular_file) {
  ASSERT_EQ(::mkfifo(file("pipe").c_str(), 0600), 0);
  for (const std::string& name : {file("pipe"), folder_.path(), std::string("/dev/null")}) {
    const auto made = replacement::of_file(name);
    ASSERT_FALSE(made) << name;
    EXPECT_EQ(made.error().code, error_code::invalid_argument);
  }
}

TEST_F(replacement_test, takes_no_place_that_something_else_has_taken_meanwhile) {
  auto fresh = replacement::of_file(file("fresh"));
  write("fresh", "somebody's");
  EXPECT_FALSE(fresh->commit());
  EXPECT_EQ(text("fresh"), "somebody's");

  write("old", "old");
  auto made = replacement::of_file(file("old"));
  write("other", "somebody's");
  fs::rename(file("other"), file("old"));
  EXPECT_FALSE(made->commit());
  EXPECT_EQ(text("old"), "somebody's");
}

TEST_F(replacement_test, has_a_name_that_is_new_each_time_and_never_too_long) {
  const std::string longest(255, 'x');
  auto first = replacement::of_file(file(longest));
  auto second = replacement::of_file(file(longest));
  ASSERT_TRUE(first && second);
  EXPECT_NE(first->path(), second->path());
  ASSERT_TRUE(first->commit());
  EXPECT_TRUE(fs::exists(file(longest)));
}

TEST_F(replacement_test, may_be_a_folder_in_place_of_an_empty_one) {
  fs::create_directory(file("f"));
  auto made = replacement::of_folder(file("f") + "/");
  ASSERT_TRUE(made);
  std::ofstream(made->path() + "/a") << "new";
  ASSERT_TRUE(made->commit());
  EXPECT_EQ(text("f/a"), "new");
  EXPECT_FALSE(replacement::of_folder(file("f"))) << "it is not empty any more";
}

TEST_F(replacement_test, of_a_symlinked_folder_is_made_in_that_folder) {
  fs::create_directory(file("f"));
  fs::create_symlink("f", file("link"));
  auto made = replacement::of_file(file("link") + "/a");
  ASSERT_TRUE(made && made->commit());
  EXPECT_TRUE(fs::exists(file("f/a")));
}

/// Runs `begin` in a process of its own and ends that by the signal.
template <class Begin>
int ended_by(int signal, Begin&& begin) {
  const pid_t child = ::fork();
  if (child == 0) {
    remove_unfinished_on_signals();
    begin();
    ::raise(signal);
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

TEST_F(replacement_test, is_removed_when_a_signal_ends_the_program) {
  for (const int signal : {SIGHUP, SIGINT, SIGQUIT, SIGPIPE, SIGTERM, SIGXFSZ}) {
    write("a", "old");
    const int ended = ended_by(signal, [&] {
      auto* made = new result<replacement>(replacement::of_file(file("a")));
      auto* folder = new result<replacement>(replacement::of_folder(file("f")));
      const std::string inner = (*folder)->path() + "/inner";
      fs::create_directories(inner + "/deeper");
      for (const std::string& each : {(*folder)->path(), inner, inner + "/deeper"})
        for (int i = 0; i < 300; ++i) std::ofstream(each + "/" + std::to_string(i)) << "new";
      if (!*made) ::_exit(1);
    });
    EXPECT_EQ(ended, signal);
    EXPECT_EQ(files(), 1U) << signal;
    EXPECT_EQ(text("a"), "old");
  }
}

TEST_F(replacement_test, without_a_name_is_in_no_folder_until_it_is_committed) {
  for (const bool replaces : {false, true}) {
    auto made = replacement::of_unnamed_file(file("a"));
    ASSERT_TRUE(made);
    EXPECT_EQ(files(), replaces ? 1U : 0U);
    const int other = made->take_descriptor();
    ASSERT_EQ(::write(other, "new", 3), 3);
    ::close(other);
    std::ifstream in(made->path());
    EXPECT_EQ(std::string(std::istreambuf_iterator<char>(in), {}), "new");
    ASSERT_TRUE(made->commit());
    EXPECT_EQ(text("a"), "new");
    EXPECT_EQ(files(), 1U);
    write("a", "old");
  }
}

TEST_F(replacement_test, without_a_name_keeps_the_permissions_of_what_it_replaces) {
  write("a", "old");
  ::chmod(file("a").c_str(), 0640);
  auto made = replacement::of_unnamed_file(file("a"));
  ASSERT_TRUE(made && made->commit());
  EXPECT_EQ(fs::status(file("a")).permissions(), fs::perms(0640));
}

TEST_F(replacement_test, without_a_name_takes_no_place_that_something_else_has_taken_meanwhile) {
  auto fresh = replacement::of_unnamed_file(file("fresh"));
  write("fresh", "somebody's");
  EXPECT_FALSE(fresh->commit());
  EXPECT_EQ(text("fresh"), "somebody's");

  auto made = replacement::of_unnamed_file(file("fresh"));
  write("other", "somebody else's");
  fs::rename(file("other"), file("fresh"));
  EXPECT_FALSE(made->commit());
  EXPECT_EQ(text("fresh"), "somebody else's");
  EXPECT_EQ(files(), 1U);
}

TEST_F(replacement_test, without_a_name_leaves_nothing_when_the_program_is_killed) {
  write("a", "old");
  const int ended = ended_by(SIGKILL, [&] {
    auto* made = new result<replacement>(replacement::of_unnamed_file(file("a")));
    if (!*made || ::write((*made)->descriptor(), "new", 3) != 3) ::_exit(1);
  });
  EXPECT_EQ(ended, SIGKILL);
  EXPECT_EQ(files(), 1U);
  EXPECT_EQ(text("a"), "old");
}

TEST_F(replacement_test, is_not_removed_by_a_child_that_a_signal_ends) {
  auto made = replacement::of_file(file("a"));
  EXPECT_EQ(ended_by(SIGTERM, [] {}), SIGTERM);
  EXPECT_TRUE(made->commit());
}

TEST_F(replacement_test, leaves_signals_alone_that_are_ignored) {
  EXPECT_EQ(ended_by(SIGHUP,
                     [] {
                       std::signal(SIGHUP, SIG_IGN);
                       remove_unfinished_on_signals();
                     }),
            0);
}

TEST(scratch_folder, is_for_its_owner_and_goes_with_all_that_it_holds) {
  std::string path;
  {
    const auto made = scratch_folder::make();
    ASSERT_TRUE(made);
    path = made->path();
    EXPECT_EQ(fs::status(path).permissions(), fs::perms::owner_all);
    std::ofstream(path + "/a") << "a";
  }
  EXPECT_FALSE(fs::exists(path));
}

TEST(scratch_place, is_tmp_where_tmpdir_is_not_a_folder) {
  const char* before = std::getenv("TMPDIR");
  const std::string kept = before == nullptr ? "" : before;
  for (const char* wrong : {"/no/such/folder", "/dev/null", "relative", ""}) {
    ::setenv("TMPDIR", wrong, 1);
    EXPECT_EQ(scratch_place(), "/tmp") << wrong;
    EXPECT_TRUE(scratch_file::make());
  }
  before == nullptr ? ::unsetenv("TMPDIR") : ::setenv("TMPDIR", kept.c_str(), 1);
}

}  // namespace
}  // namespace sluice
