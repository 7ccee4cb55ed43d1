// Which local files may be read for a recording.
#include "core/base/files/local_files.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace sluice {
namespace {

namespace fs = std::filesystem;

class local_files_test : public testing::Test {
 protected:
  local_files_test() : root_(fs::path(testing::TempDir()) / ("sluice-local-files-" + std::to_string(::getpid()))) {
    fs::remove_all(root_);
    write("secret", "secret");
    write("tree/src/train.py", "train");
    root_ = fs::canonical(root_);
  }
  ~local_files_test() override { fs::remove_all(root_); }

  void write(const std::string& name, const std::string& text) const {
    fs::create_directories((root_ / name).parent_path());
    std::ofstream(root_ / name) << text;
  }
  /// The content of `path`, or the error code as text if it cannot be read.
  static std::string read(const local_files& files, const std::string& path) {
    const auto opened = files.open(path, 100);
    if (opened) return opened->file.read().value_or("cannot be read");
    return opened.error().code == error_code::unavailable ? "untrusted" : opened.error().message;
  }
  [[nodiscard]] std::string in_tree(const std::string& path) const {
    return read(local_files(false, {(root_ / "tree").string()}), path);
  }

  fs::path root_;
};

TEST_F(local_files_test, are_none_unless_said) { EXPECT_EQ(read({}, (root_ / "secret").string()), "untrusted"); }

TEST_F(local_files_test, are_those_that_a_believed_recording_names) {
  EXPECT_EQ(read(local_files(true, {}), (root_ / "secret").string()), "secret");
  EXPECT_EQ(read(local_files(false, {"/"}), (root_ / "secret").string()), "secret");
  EXPECT_EQ(read(local_files(true, {}), "secret"), "is not there") << "a relative name is ambiguous";
}

TEST_F(local_files_test, are_found_in_a_folder_by_their_recorded_path_or_its_end) {
  EXPECT_EQ(in_tree((root_ / "tree/src/train.py").string()), "train");
  EXPECT_EQ(in_tree("/build/of/somebody/src/train.py"), "train");
  EXPECT_EQ(in_tree("src/train.py"), "train");
  write("tree/train.py", "the shorter end");
  EXPECT_EQ(in_tree("/build/src/train.py"), "train");
  EXPECT_EQ(in_tree("/build/train.py"), "the shorter end");
  EXPECT_EQ(in_tree("/build/other.py"), "is not there");
}

TEST_F(local_files_test, are_found_by_a_path_of_windows) {
  EXPECT_EQ(in_tree("D:\\work\\src\\train.py"), "train");
  EXPECT_EQ(in_tree("D:\\work\\..\\src\\train.py"), "is not there");
}

TEST_F(local_files_test, do_not_lie_outside_of_the_folder) {
  EXPECT_EQ(in_tree((root_ / "secret").string()), "is not there");
  EXPECT_EQ(in_tree("src/../../secret"), "is not there");
  EXPECT_EQ(in_tree((root_ / "tree/../secret").string()), "is not there");
  fs::create_symlink("../secret", root_ / "tree/link");
  fs::create_symlink(root_ / "secret", root_ / "tree/absolute");
  fs::create_directory_symlink("..", root_ / "tree/up");
  EXPECT_EQ(in_tree("link"), "is not there");
  EXPECT_EQ(in_tree("absolute"), "is not there");
  EXPECT_EQ(in_tree("up/secret"), "is not there");
}

TEST_F(local_files_test, are_regular_files_of_bounded_size) {
  ASSERT_EQ(::mkfifo((root_ / "tree/pipe").c_str(), 0600), 0);
  EXPECT_EQ(in_tree("pipe"), "is not a regular file");
  EXPECT_EQ(read(local_files(true, {}), (root_ / "tree/pipe").string()), "is not a regular file");
  EXPECT_EQ(read(local_files(true, {}), "/dev/zero"), "is not a regular file");
  write("tree/large", std::string(101, 'x'));
  EXPECT_EQ(in_tree("large"), "is too large: 101 bytes; expected at most 100");
}

}  // namespace
}  // namespace sluice
