// If only its owner can read a recording, the outputs made from it are equally private at every moment.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/app/cli/sluice_program.hpp"

namespace sluice {
namespace {

namespace fs = std::filesystem;

class private_outputs : public sluice_program {
 protected:
  void SetUp() override {
    mask_ = ::umask(022);
    for (const char* name : {"a.sluice", "b.sluice"})
      ASSERT_EQ(run_sluice({"generate", "--events", "2000", "-o", name}).status, 0);
    ASSERT_EQ(run_sluice({"export", "a.sluice", "-o", "a.json"}).status, 0);
    fs::create_directory(file("made"));
  }
  void TearDown() override { ::umask(mask_); }

  void allow(const std::string& name, mode_t mode) const { ASSERT_EQ(::chmod(file(name).c_str(), mode), 0); }
  [[nodiscard]] mode_t read_mode(const std::string& path) const {
    struct stat about {};
    EXPECT_EQ(::stat(path.c_str(), &about), 0) << path;
    return about.st_mode & 0777;
  }

  [[nodiscard]] ino_t read_inode(const std::string& name) const {
    struct stat about {};
    return ::stat(file(name).c_str(), &about) == 0 ? about.st_ino : 0;
  }

  /// Expects that no file in the output folder has permissions beyond `most`. For folders, permission to read includes
  /// permission to enter.
  void expect_at_most(mode_t most, const std::string& by) const {
    const mode_t folders = most | (most & 0444) >> 2;
    int found = 0;
    for (const auto& each : fs::recursive_directory_iterator(file("made"))) {
      ++found;
      const mode_t mode = read_mode(each.path().string());
      EXPECT_EQ(mode & ~(each.is_directory() ? folders : most), 0U)
          << by << ": " << each.path() << " has " << std::oct << mode;
      EXPECT_EQ(mode & 0600, 0600U) << by;
    }
    EXPECT_GT(found, 0) << by;
  }

  /// Runs the command, checks the permissions of its outputs, and removes them.
  void expect_private(const std::vector<std::string>& words, mode_t most = 0600) {
    const program_result done = run_sluice(words);
    std::string by;
    for (const std::string& word : words) by += word + " ";
    if (done.err.find("pyarrow") != std::string::npos || done.err.find("no OpenGL") != std::string::npos) return;
    ASSERT_EQ(done.status, 0) << by << done.err;
    expect_at_most(most, by);
    fs::remove_all(file("made"));
    fs::create_directory(file("made"));
  }

 private:
  mode_t mask_ = 022;
};

// Tried: every verb that writes a file, with a recording of mode 0600.
TEST_F(private_outputs, are_as_private_as_the_recording) {
  for (const char* name : {"a.sluice", "a.json"}) allow(name, 0600);
  const std::vector<std::vector<std::string>> lists = {
      {"trim", "a.sluice", "-o", "made/out.sluice"},
      {"trim", "a.sluice", "--redact", "-o", "made/out.sluice"},
      {"merge", "b.sluice", "a.sluice", "-o", "made/out.sluice"},
      {"generate", "--tile", "a.sluice", "--events", "4000", "-o", "made/out.sluice"},
      {"import", "a.json", "-o", "made/out.sluice"},
      {"trim", "a.json", "-o", "made/out.sluice"},
      {"export", "a.sluice", "-o", "made/out.sqlite"},
      {"export", "a.sluice", "-o", "made/out.folded"},
      {"export", "a.sluice", "-o", "made/out.pickle"},
      {"export", "a.sluice", "-o", "made/out.pftrace"},
      {"export", "a.sluice", "-o", "made/out.json"},
      {"export", "a.sluice", "--redact", "-o", "made/out.json"},
      {"export", "a.sluice", "-o", "made/out.json.gz"},
      {"export", "a.sluice", "--format", "csv", "-o", "made/folder"},
      {"export", "a.sluice", "--format", "csv", "--table", "alloc", "-o", "made/out.csv"},
      {"export", "a.sluice", "--format", "parquet", "-o", "made/set"},
  };
  for (const auto& words : lists) expect_private(words);
}

// Tried: a screenshot of a private recording.
TEST_F(private_outputs, a_picture_is_private_too) {
  allow("a.sluice", 0600);
  if (run_sluice({"screenshot", "a.sluice", "--size", "640x400", "-o", "made/out.png"}).status != 0)
    GTEST_SKIP() << "skipped: this machine cannot draw pictures";
  expect_at_most(0600, "screenshot");
}

// Tried: recordings that a group or everybody can read. Their outputs may have the same permissions.
TEST_F(private_outputs, are_as_open_as_the_recording_and_the_mask_allow) {
  const std::vector<std::string> words = {"trim", "a.sluice", "-o", "made/out.sluice", "--force"};
  for (const mode_t mode : {0640U, 0660U, 0604U, 0644U, 0666U, 0400U}) {
    allow("a.sluice", mode);
    fs::remove(file("made/out.sluice"));
    ASSERT_EQ(run_sluice(words).status, 0);
    EXPECT_EQ(read_mode(file("made/out.sluice")), (mode & ~022U) | 0600U) << std::oct << mode;
  }
}

// Tried: a merge with one private recording, in any order.
TEST_F(private_outputs, a_merge_is_as_private_as_its_strictest_input) {
  allow("a.sluice", 0640);
  allow("b.sluice", 0604);
  expect_private({"merge", "a.sluice", "b.sluice", "-o", "made/out.sluice"});
  expect_private({"merge", "b.sluice", "a.sluice", "-o", "made/out.sluice"});
}

// Tried: replacing an earlier output that everybody can read.
TEST_F(private_outputs, an_open_file_is_replaced_by_a_private_one) {
  allow("a.sluice", 0600);
  for (const char* name : {"made/out.sluice", "made/out.json"}) {
    const bool recording = std::string(name).ends_with(".sluice");
    ASSERT_EQ(run_sluice({recording ? "trim" : "export", "b.sluice", "-o", name}).status, 0);
    allow(name, 0666);
    expect_private({recording ? "trim" : "export", "a.sluice", "-o", name, "--force"});
  }
}

// Tried: a recording whose group differs from the group of the output.
TEST_F(private_outputs, the_rights_of_another_group_are_not_passed_on) {
  if (::geteuid() != 0) GTEST_SKIP() << "skipped: only root can give files to another group";
  allow("a.sluice", 0640);
  ASSERT_EQ(::chown(file("a.sluice").c_str(), 0, 12345), 0);
  expect_private({"trim", "a.sluice", "-o", "made/out.sluice"});
}

// Tried: watching for a moment at which an output has more permissions than in the end.
TEST_F(private_outputs, no_file_is_more_open_at_any_moment) {
  ASSERT_EQ(run_sluice({"generate", "--events", "300000", "-o", "large.sluice"}).status, 0);
  allow("large.sluice", 0600);
  ASSERT_EQ(run_sluice({"trim", "b.sluice", "-o", "made/out.sluice"}).status, 0);
  allow("made/out.sluice", 0644);
  const std::vector<std::vector<std::string>> lists = {
      {"trim", "large.sluice", "-o", "made/out.sluice", "--force"},
      {"export", "large.sluice", "-o", "made/out.sqlite"},
      {"export", "large.sluice", "--format", "csv", "-o", "made/folder"}};
  for (const auto& words : lists) {
    const ino_t old = fs::exists(file("made/out.sluice")) ? read_inode("made/out.sluice") : 0;
    const pid_t child = begin_sluice(words);
    int status = 0, looks = 0;
    while (waitpid(child, &status, WNOHANG) == 0) {
      std::error_code gone;
      // If a folder is renamed during the walk, this walk ends early and the next walk starts.
      for (fs::recursive_directory_iterator each(file("made"), gone), end; !gone && each != end; each.increment(gone)) {
        struct stat about {};
        if (::stat(each->path().c_str(), &about) != 0 || about.st_ino == old) continue;
        ++looks;
        EXPECT_EQ(about.st_mode & 077, 0U) << words[0] << " " << each->path();
      }
    }
    EXPECT_EQ(status, 0);
    EXPECT_GT(looks, 0) << "the output existed too briefly to be seen";
  }
}

}  // namespace
}  // namespace sluice
