#include "core/base/files/replacement.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <barrier>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>
#include <vector>

#include "core/base/files/privacy.hpp"
#include "core/base/files/scratch_file.hpp"

namespace {
/// Simulates file systems that cannot rename without replacing, such as NFS.
std::atomic<bool> replaces_always{false};
}  // namespace

extern "C" int renameat2(int begin, const char* old, int to, const char* name, unsigned flags) noexcept {
  if (flags != 0 && replaces_always) {
    errno = EINVAL;
    return -1;
  }
  return static_cast<int>(syscall(SYS_renameat2, begin, old, to, name, flags));
}

namespace sluice {
namespace {

namespace fs = std::filesystem;

/// Fixture with a temporary folder.
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
  static void fill(replacement& output, const std::string& text) {
    ASSERT_EQ(::write(output.descriptor(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }

  scratch_folder folder_;
};

TEST_F(replacement_test, takes_its_place_when_it_is_committed) {
  write("a", "old");
  auto output = replacement::of_file(file("a"));
  ASSERT_TRUE(output);
  fill(*output, "new");
  EXPECT_EQ(text("a"), "old");
  ASSERT_TRUE(output->commit());
  EXPECT_EQ(text("a"), "new");
  EXPECT_EQ(files(), 1U);
}

TEST_F(replacement_test, is_removed_when_it_is_not_committed) {
  write("a", "old");
  {
    const auto output = replacement::of_file(file("a"));
    ASSERT_TRUE(output);
    EXPECT_EQ(files(), 2U);
  }
  EXPECT_EQ(text("a"), "old");
  EXPECT_EQ(files(), 1U);
}

TEST_F(replacement_test, keeps_the_permissions_of_what_it_replaces) {
  write("a", "old");
  ::chmod(file("a").c_str(), 0640);
  auto output = replacement::of_file(file("a"));
  ASSERT_TRUE(output && output->commit());
  EXPECT_EQ(fs::status(file("a")).permissions(), fs::perms(0640));
}

TEST_F(replacement_test, asks_the_mask_for_the_permissions_of_a_new_file) {
  const mode_t before = ::umask(027);
  auto output = replacement::of_file(file("a"));
  ::umask(before);
  ASSERT_TRUE(output && output->commit());
  EXPECT_EQ(fs::status(file("a")).permissions(), fs::perms(0640));
}

TEST_F(replacement_test, leaves_a_link_and_replaces_the_file_that_it_leads_to) {
  write("a", "old");
  fs::create_symlink("a", file("link"));
  auto output = replacement::of_file(file("link"));
  ASSERT_TRUE(output);
  fill(*output, "new");
  ASSERT_TRUE(output->commit());
  EXPECT_TRUE(fs::is_symlink(file("link")));
  EXPECT_EQ(text("a"), "new");
}

TEST_F(replacement_test, refuses_a_link_that_leads_nowhere) {
  fs::create_symlink("nowhere", file("link"));
  const auto output = replacement::of_file(file("link"));
  ASSERT_FALSE(output);
  EXPECT_EQ(output.error().code, error_code::invalid_argument);
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
    const auto output = replacement::of_file(name);
    ASSERT_FALSE(output) << name;
    EXPECT_EQ(output.error().code, error_code::invalid_argument);
  }
}

TEST_F(replacement_test, takes_no_place_that_something_else_has_taken_meanwhile) {
  auto fresh = replacement::of_file(file("fresh"));
  write("fresh", "somebody's");
  EXPECT_FALSE(fresh->commit());
  EXPECT_EQ(text("fresh"), "somebody's");

  write("old", "old");
  auto output = replacement::of_file(file("old"));
  write("other", "somebody's");
  fs::rename(file("other"), file("old"));
  EXPECT_FALSE(output->commit());
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
  auto folder = replacement::of_folder(file("f") + "/");
  ASSERT_TRUE(folder);
  std::ofstream(folder->path() + "/a") << "new";
  ASSERT_TRUE(folder->commit());
  EXPECT_EQ(text("f/a"), "new");
  EXPECT_FALSE(replacement::of_folder(file("f"))) << "it is no longer empty";
}

TEST_F(replacement_test, of_a_symlinked_folder_is_made_in_that_folder) {
  fs::create_directory(file("f"));
  fs::create_symlink("f", file("link"));
  auto output = replacement::of_file(file("link") + "/a");
  ASSERT_TRUE(output && output->commit());
  EXPECT_TRUE(fs::exists(file("f/a")));
}

/// Runs `begin` in a child process and ends that process with the signal.
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
  for (const int signal : {SIGHUP, SIGINT, SIGQUIT, SIGPIPE, SIGTERM, SIGXCPU}) {
    write("a", "old");
    const int ended = ended_by(signal, [&] {
      auto* output = new result<replacement>(replacement::of_file(file("a")));
      auto* folder = new result<replacement>(replacement::of_folder(file("f")));
      const std::string inner = (*folder)->path() + "/inner";
      fs::create_directories(inner + "/deeper");
      for (int i = 0; i < 300; ++i) std::ofstream((*folder)->path() + "/" + std::to_string(i)) << "new";
      for (const char* each : {"/a", "/deeper/b"}) std::ofstream(inner + each) << "new";
      if (!*output) ::_exit(1);
    });
    EXPECT_EQ(ended, signal);
    EXPECT_EQ(files(), 1U) << signal;
    EXPECT_EQ(text("a"), "old");
  }
}

// Several processes that take the same new name at the same instant, on both kinds of file systems.
TEST_F(replacement_test, takes_a_new_name_once) {
  constexpr int rounds = 200;
  constexpr std::size_t takers = 4;
  for (const bool always : {false, true}) {
    replaces_always = always;
    for (int round = 0; round < rounds && !HasFailure(); ++round) {
      std::array<bool, takers> took{};
      std::barrier together(takers);
      std::vector<std::thread> threads;
      for (std::size_t i = 0; i < takers; ++i)
        threads.emplace_back([&, i] {
          auto output = replacement::of_file(file("a"));
          const bool written = output && ::write(output->descriptor(), &i, sizeof i) == sizeof i;
          together.arrive_and_wait();
          took[i] = written && output->commit().has_value();
        });
      for (std::thread& each : threads) each.join();
      EXPECT_EQ(std::count(took.begin(), took.end(), true), 1) << (always ? "without" : "with") << " such a rename";
      std::size_t content = takers;
      std::ifstream(file("a"), std::ios::binary).read(reinterpret_cast<char*>(&content), sizeof content);
      EXPECT_TRUE(content < takers && took[content]) << "the file is not the one of the process that took the name";
      EXPECT_EQ(files(), 1U);
      fs::remove(file("a"));
    }
  }
  replaces_always = false;
}

TEST_F(replacement_test, claims_what_it_replaces_for_itself) {
  write("a", "old");
  fs::create_symlink("a", file("link"));
  auto first = replacement::of_file(file("a")), second = replacement::of_file(file("link"));
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->claim_target(), replacement::claim::got);
  EXPECT_EQ(second->claim_target(), replacement::claim::taken);
  { const auto gone = std::move(*first); }
  EXPECT_EQ(second->claim_target(), replacement::claim::got) << "a claim ends with its owner";
  auto late = replacement::of_file(file("a"));
  ASSERT_TRUE(late && second->commit());
  EXPECT_EQ(late->claim_target(), replacement::claim::changed) << "by now it is another file";
}

/// Runs `what` in a child process. Returns its exit status; 128 + n if signal n ended it.
template <class What>
int in_child(What&& subject) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(subject());
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

TEST_F(replacement_test, is_as_private_as_what_it_is_made_of) {
  write("input", "private");
  write("open", "old");
  ::chmod(file("input").c_str(), 0600);
  ::chmod(file("open").c_str(), 0666);
  const int status = in_child([&] {
    ::umask(0);
    privacy::keep_as_private_as(file("input"));
    auto fresh = replacement::of_file(file("fresh")), unnamed = replacement::of_unnamed_file(file("unnamed")),
         open = replacement::of_file(file("open")), folder = replacement::of_folder(file("folder"));
    if (!fresh || !unnamed || !open || !folder) return 1;
    struct stat about {};
    for (const auto* each : {&fresh, &unnamed, &open, &folder}) {
      if (::stat((*each)->path().c_str(), &about) != 0 || (about.st_mode & 077) != 0) return 2;
    }
    std::ofstream(file("other")) << "created differently";
    if (::stat(file("other").c_str(), &about) != 0 || (about.st_mode & 077) != 0) return 3;
    return fresh->commit() && unnamed->commit() && open->commit() && folder->commit() ? 0 : 4;
  });
  EXPECT_EQ(status, 0);
  for (const char* name : {"fresh", "unnamed", "open"})
    EXPECT_EQ(fs::status(file(name)).permissions(), fs::perms(0600)) << name;
  EXPECT_EQ(fs::status(file("folder")).permissions(), fs::perms(0700));
}

TEST_F(replacement_test, a_limit_on_the_size_of_files_is_like_a_full_disk) {
  const rlimit small{4096, 4096};
  const std::string bytes(10'000, 'x');
  const auto write_too_much = [&] {
    auto output = replacement::of_file(file("a"));
    if (!output || ::write(output->descriptor(), bytes.data(), bytes.size()) != 4096) return 1;
    return ::write(output->descriptor(), bytes.data(), bytes.size()) == -1 && errno == EFBIG ? 0 : 2;
  };
  EXPECT_EQ(in_child([&] {
              std::signal(SIGXFSZ, SIG_DFL);
              outlive_file_size_limit();
              ::setrlimit(RLIMIT_FSIZE, &small);
              return write_too_much();
            }),
            0);
  // The signal also ends programs that the process starts, as it would without the handler.
  EXPECT_EQ(in_child([&] {
              std::signal(SIGXFSZ, SIG_DFL);
              outlive_file_size_limit();
              ::setrlimit(RLIMIT_FSIZE, &small);
              ::execl("/bin/sh", "sh", "-c", ("exec head -c 10000 /dev/zero >" + file("b")).c_str(), nullptr);
              return 99;
            }),
            128 + SIGXFSZ);
}

TEST_F(replacement_test, without_a_name_is_in_no_folder_until_it_is_committed) {
  for (const bool replaces : {false, true}) {
    auto output = replacement::of_unnamed_file(file("a"));
    ASSERT_TRUE(output);
    EXPECT_EQ(files(), replaces ? 1U : 0U);
    const int other = output->take_descriptor();
    ASSERT_EQ(::write(other, "new", 3), 3);
    ::close(other);
    std::ifstream in(output->path());
    EXPECT_EQ(std::string(std::istreambuf_iterator<char>(in), {}), "new");
    ASSERT_TRUE(output->commit());
    EXPECT_EQ(text("a"), "new");
    EXPECT_EQ(files(), 1U);
    write("a", "old");
  }
}

TEST_F(replacement_test, without_a_name_keeps_the_permissions_of_what_it_replaces) {
  write("a", "old");
  ::chmod(file("a").c_str(), 0640);
  auto output = replacement::of_unnamed_file(file("a"));
  ASSERT_TRUE(output && output->commit());
  EXPECT_EQ(fs::status(file("a")).permissions(), fs::perms(0640));
}

TEST_F(replacement_test, without_a_name_takes_no_place_that_something_else_has_taken_meanwhile) {
  auto fresh = replacement::of_unnamed_file(file("fresh"));
  write("fresh", "somebody's");
  EXPECT_FALSE(fresh->commit());
  EXPECT_EQ(text("fresh"), "somebody's");

  auto output = replacement::of_unnamed_file(file("fresh"));
  write("other", "somebody else's");
  fs::rename(file("other"), file("fresh"));
  EXPECT_FALSE(output->commit());
  EXPECT_EQ(text("fresh"), "somebody else's");
  EXPECT_EQ(files(), 1U);
}

TEST_F(replacement_test, without_a_name_leaves_nothing_when_the_program_is_killed) {
  write("a", "old");
  const int ended = ended_by(SIGKILL, [&] {
    auto* output = new result<replacement>(replacement::of_unnamed_file(file("a")));
    if (!*output || ::write((*output)->descriptor(), "new", 3) != 3) ::_exit(1);
  });
  EXPECT_EQ(ended, SIGKILL);
  EXPECT_EQ(files(), 1U);
  EXPECT_EQ(text("a"), "old");
}

TEST_F(replacement_test, is_not_removed_by_a_child_that_a_signal_ends) {
  auto output = replacement::of_file(file("a"));
  EXPECT_EQ(ended_by(SIGTERM, [] {}), SIGTERM);
  EXPECT_TRUE(output->commit());
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
    const auto output = scratch_folder::make();
    ASSERT_TRUE(output);
    path = output->path();
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
