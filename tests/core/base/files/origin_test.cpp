// Whether a recording was made by this user: the mark in the file, its key, and the hash.
#include "core/base/files/origin.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

#include "core/base/siphash.hpp"

namespace sluice {
namespace {

namespace fs = std::filesystem;

std::string hexadecimal(const siphash::hash& hash) {
  std::array<unsigned char, sizeof hash> bytes{};
  std::memcpy(bytes.data(), &hash, sizeof hash);
  std::string text;
  for (const unsigned char each : bytes) {
    text += "0123456789abcdef"[each >> 4];
    text += "0123456789abcdef"[each & 15];
  }
  return text;
}

TEST(siphash, gives_the_hashes_that_its_authors_published) {
  siphash::key key{};
  std::array<std::byte, 64> message{};
  for (std::size_t i = 0; i < message.size(); ++i) message[i] = static_cast<std::byte>(i);
  std::memcpy(&key, message.data(), sizeof key);
  const auto hash = [&](std::size_t bytes) { return hexadecimal(siphash::of(key, std::span(message).first(bytes))); };
  EXPECT_EQ(hash(0), "a3817f04ba25a8e66df67214c7550293");
  EXPECT_EQ(hash(1), "da87c1d86b99af44347659119b22fc45");
  EXPECT_EQ(hash(8), "3b62a9ba6258f5610f83e264f31497b4");
  EXPECT_EQ(hash(15), "5493e99933b0a8117e08ec0f97cfc3d9");
}

/// Fixture with a file of its own, and a key in a folder of its own.
class origin_test : public testing::Test {
 protected:
  origin_test()
      : folder_(fs::path(testing::TempDir()) / ("sluice-origin-" + std::to_string(::getpid()))),
        before_(std::getenv("XDG_STATE_HOME") != nullptr ? std::getenv("XDG_STATE_HOME") : "") {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    ::setenv("XDG_STATE_HOME", (folder_ / "state").c_str(), 1);
  }
  ~origin_test() override {
    before_.empty() ? ::unsetenv("XDG_STATE_HOME") : ::setenv("XDG_STATE_HOME", before_.c_str(), 1);
    fs::remove_all(folder_);
  }
  void SetUp() override {
    open_file file(folder_ / "probe");
    if (::fsetxattr(file.number, "user.sluice.probe", "", 0, 0) != 0)
      GTEST_SKIP() << "the file system of " << folder_ << " keeps no extended attributes";
  }

  struct open_file {
    explicit open_file(const fs::path& path) : number(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)) {}
    ~open_file() { ::close(number); }
    int number;
  };
  [[nodiscard]] fs::path key() const { return folder_ / "state/sluice/key"; }
  [[nodiscard]] bool is_marked(const std::string& name) const {
    return origin::is_marked(open_file(folder_ / name).number, header_);
  }
  void write(const std::string& name, const std::string& text) const { std::ofstream(folder_ / name) << text; }
  void mark(const std::string& name, origin::stage now = origin::stage::closed) const {
    origin::mark(open_file(folder_ / name).number, header_, now);
  }

  fs::path folder_;
  std::string before_;
  std::array<std::byte, 64> header_{};
};

TEST_F(origin_test, is_known_of_a_file_that_was_marked) {
  write("mine", "rows");
  EXPECT_FALSE(is_marked("mine"));
  mark("mine");
  EXPECT_TRUE(is_marked("mine"));
  EXPECT_EQ(fs::status(key()).permissions(), fs::perms::owner_read | fs::perms::owner_write);
}

TEST_F(origin_test, stays_with_a_file_that_is_renamed) {
  write("mine", "rows");
  mark("mine");
  fs::rename(folder_ / "mine", folder_ / "renamed");
  EXPECT_TRUE(is_marked("renamed"));
}

TEST_F(origin_test, does_not_come_along_with_a_copy_of_the_attribute) {
  write("mine", "rows");
  mark("mine");
  write("copy", "rows");
  const open_file file(folder_ / "mine");
  const open_file to(folder_ / "copy");
  std::array<char, 64> value{};
  const ssize_t bytes = ::fgetxattr(file.number, "user.sluice.origin", value.data(), value.size());
  ASSERT_EQ(bytes, 16);
  ASSERT_EQ(::fsetxattr(to.number, "user.sluice.origin", value.data(), static_cast<std::size_t>(bytes), 0), 0);
  EXPECT_FALSE(is_marked("copy"));
}

TEST_F(origin_test, is_lost_when_a_closed_file_is_written_over) {
  write("mine", "rows");
  mark("mine");
  write("mine", "what somebody else sent");
  EXPECT_FALSE(is_marked("mine"));
}

TEST_F(origin_test, of_a_growing_file_holds_for_its_header_only) {
  write("mine", "rows");
  mark("mine", origin::stage::growing);
  write("mine", "rows and more rows");
  EXPECT_TRUE(is_marked("mine"));
  header_[16] = std::byte{1};
  EXPECT_FALSE(is_marked("mine"));
}

TEST_F(origin_test, is_not_believed_with_a_key_that_others_can_read) {
  write("mine", "rows");
  mark("mine");
  fs::permissions(key(), fs::perms::owner_read | fs::perms::owner_write | fs::perms::others_read);
  EXPECT_FALSE(is_marked("mine"));
}

TEST_F(origin_test, is_not_believed_with_a_key_that_is_a_link_or_a_pipe) {
  write("mine", "rows");
  mark("mine");
  fs::rename(key(), folder_ / "elsewhere");
  fs::create_symlink(folder_ / "elsewhere", key());
  EXPECT_FALSE(is_marked("mine"));
  fs::remove(key());
  ASSERT_EQ(::mkfifo(key().c_str(), 0600), 0);
  EXPECT_FALSE(is_marked("mine"));
  mark("mine");
  EXPECT_FALSE(is_marked("mine"));
}

TEST_F(origin_test, is_unknown_where_no_key_can_be_kept) {
  write("mine", "rows");
  write("state", "a file where the folder should be");
  mark("mine");
  EXPECT_FALSE(is_marked("mine"));
}

}  // namespace
}  // namespace sluice
