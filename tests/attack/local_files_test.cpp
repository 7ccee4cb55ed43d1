// Recordings that name local files, so that their content would be shown.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <filesystem>

#include "core/trace/file/writer.hpp"
#include "tests/app/cli/sluice_program.hpp"

namespace sluice {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

constexpr const char* secret = "root:secret-of-this-machine";

class local_files_of_recordings : public sluice_program {
 protected:
  void SetUp() override {
    write("secret.txt", std::string(secret) + "\nsecond line\n");
    ::setenv("XDG_STATE_HOME", file("state").c_str(), 1);
  }
  ~local_files_of_recordings() override { ::unsetenv("XDG_STATE_HOME"); }

  /// Writes a recording of one block, with a stack of line 1 of `source` and native code of `module`.
  void write_recording(const std::string& name, const std::string& source, bool own = false,
                       const std::string& module = {}) const {
    auto output = trace::file_writer::create(file(name), {.recorded_here = own});
    ASSERT_TRUE(output);
    trace::process_row process;
    process.id = trace::process_id{1};
    output->add(process);
    trace::device_row device;
    device.id = trace::device_id{1};
    output->add(device);
    trace::frame_row frame;
    frame.id = trace::frame_id{1};
    frame.kind = trace::frame_kind::python;
    frame.function = output->intern("main");
    frame.file = output->intern(source);
    frame.line = 1;
    output->add(frame);
    trace::frame_row native;
    native.id = trace::frame_id{2};
    native.kind = trace::frame_kind::native;
    native.module = output->intern(module);
    native.address = 0x10;
    output->add(native);
    output->add(trace::stack_row{trace::stack_id{1}, trace::stack_id::none, frame.id});
    output->add(trace::stack_row{trace::stack_id{2}, trace::stack_id{1}, native.id});
    trace::alloc_event block;
    block.time = 1;
    block.process = process.id;
    block.block = trace::block_id{1};
    block.device = device.id;
    block.kind = trace::memory_kind::device;
    block.layer = trace::layer::driver;
    block.bytes = 4096;
    block.stack = trace::stack_id{module.empty() ? 1U : 2U};
    output->add(block);
    ASSERT_TRUE(output->close());
  }
  /// Runs `sluice report --format json` with `more` arguments.
  program_result report(const std::vector<std::string>& more, const variables& environment = {}) {
    std::vector<std::string> words{"report", "--format", "json"};
    words.insert(words.end(), more.begin(), more.end());
    return run_sluice(words, environment);
  }
  [[nodiscard]] bool has_attributes() const {
    return ::setxattr(file("secret.txt").c_str(), "user.sluice.probe", "", 0, 0) == 0;
  }
};

// Tried: a foreign recording that names a secret file of this machine as a source file.
TEST_F(local_files_of_recordings, a_foreign_recording_reads_no_file) {
  write_recording("t.sluice", file("secret.txt"));
  const program_result said = report({"t.sluice"});
  EXPECT_EQ(said.status, 0);
  EXPECT_THAT(said.out, Not(HasSubstr(secret)));
  EXPECT_THAT(said.err, HasSubstr("because you did not make this recording"));
  EXPECT_THAT(said.err, HasSubstr("--sources-from"));
}

// Tried: a foreign recording with --sources-from /, by which the user trusts the recording.
TEST_F(local_files_of_recordings, a_believed_recording_shows_its_sources) {
  write_recording("t.sluice", file("secret.txt"));
  const program_result said = report({"t.sluice", "--sources-from", "/"});
  EXPECT_THAT(said.out, HasSubstr(secret));
  EXPECT_EQ(said.err, "");
}

// Tried: a secret outside the folder that the user named, reached by ".." and through links.
TEST_F(local_files_of_recordings, nothing_outside_of_the_named_folder_is_read) {
  fs::create_directories(file("tree"));
  fs::create_symlink(file("secret.txt"), file("tree/link.py"));
  fs::create_directory_symlink("..", file("tree/up"));
  for (const std::string& name : {file("secret.txt"), file("tree/../secret.txt"), std::string("/x/link.py"),
                                  std::string("/x/up/secret.txt"), std::string("../secret.txt")}) {
    write_recording("t.sluice", name);
    EXPECT_THAT(report({"t.sluice", "--sources-from", "tree"}).out, Not(HasSubstr(secret))) << name;
  }
  fs::copy_file(file("secret.txt"), file("tree/train.py"));
  write_recording("t.sluice", "/build/elsewhere/train.py");
  EXPECT_THAT(report({"t.sluice", "--sources-from", "tree"}).out, HasSubstr(secret));
}

// Tried: the user's own recording, then files with its mark but other content.
TEST_F(local_files_of_recordings, only_the_users_own_file_is_believed) {
  if (!has_attributes()) GTEST_SKIP() << "the file system keeps no extended attributes";
  write_recording("own.sluice", file("secret.txt"), true);
  const program_result own = report({"own.sluice"});
  EXPECT_THAT(own.out, HasSubstr(secret));
  EXPECT_EQ(own.err, "");
  fs::copy_file(file("own.sluice"), file("copy.sluice"));
  std::string mark(64, '\0');
  const ssize_t bytes = ::getxattr(file("own.sluice").c_str(), "user.sluice.origin", mark.data(), mark.size());
  ASSERT_GT(bytes, 0);
  ASSERT_EQ(
      ::setxattr(file("copy.sluice").c_str(), "user.sluice.origin", mark.data(), static_cast<std::size_t>(bytes), 0),
      0);
  EXPECT_THAT(report({"copy.sluice"}).out, Not(HasSubstr(secret))) << "has the mark of another file";
  EXPECT_THAT(report({"own.sluice"}, {{"XDG_STATE_HOME", file("other-user")}}).out, Not(HasSubstr(secret)))
      << "has a mark with another user's key";
  std::ofstream(file("own.sluice"), std::ios::binary) << make_content(file("copy.sluice"));
  EXPECT_THAT(report({"own.sluice"}).out, Not(HasSubstr(secret))) << "the content was overwritten";
}

// Tried: a foreign recording that was trimmed here, and an import that replaces the user's own recording.
TEST_F(local_files_of_recordings, what_is_made_of_a_foreign_recording_is_foreign) {
  if (!has_attributes()) GTEST_SKIP() << "the file system keeps no extended attributes";
  write_recording("own.sluice", file("secret.txt"), true);
  write_recording("t.sluice", file("secret.txt"));
  ASSERT_EQ(run_sluice({"trim", "own.sluice", "-o", "part-of-own.sluice"}).status, 0);
  EXPECT_THAT(report({"part-of-own.sluice"}).out, HasSubstr(secret));
  ASSERT_EQ(run_sluice({"trim", "t.sluice", "-o", "own.sluice", "--force"}).status, 0);
  EXPECT_THAT(report({"own.sluice"}).out, Not(HasSubstr(secret)));
  ASSERT_EQ(run_sluice({"merge", "part-of-own.sluice", "t.sluice", "-o", "both.sluice"}).status, 0);
  EXPECT_THAT(report({"both.sluice"}).out, Not(HasSubstr(secret)));
}

// Tried: pipes, devices and folders as source file, module and recording.
TEST_F(local_files_of_recordings, neither_pipes_nor_devices_are_opened) {
  ASSERT_EQ(::mkfifo(file("pipe").c_str(), 0600), 0);
  for (const std::string& name : {file("pipe"), std::string("/dev/zero"), std::string("/dev/tty"), std::string("/")}) {
    write_recording("t.sluice", name, false, name);
    EXPECT_EQ(report({"t.sluice", "--sources-from", "/"}).status, 0) << name;
    const program_result itself = report({name});
    EXPECT_EQ(itself.status, 1);
    EXPECT_THAT(itself.err, HasSubstr("is not a regular file"));
    EXPECT_EQ(run_sluice({"import", name, "-o", "made.sluice"}).status, 1);
  }
}

// Tried: a module for which an ELF reader would request debug information from a server.
TEST_F(local_files_of_recordings, no_server_is_asked) {
  write_recording("t.sluice", "", false, SLUICE_BINARY_DIR "/sluice");
  const program_result said =
      run_sluice({"query", "t.sluice", "SELECT text FROM call_stack", "--sources-from", "/"},
                 {{"DEBUGINFOD_URLS", "http://127.0.0.1:1"}, {"DEBUGINFOD_CACHE_PATH", file("cache")}});
  EXPECT_EQ(said.status, 0);
  EXPECT_FALSE(exists("cache"));
}

// Tried: a foreign recording that asks for symbols of a local program.
TEST_F(local_files_of_recordings, symbols_of_this_machine_are_not_reported) {
  write_recording("t.sluice", "", false, SLUICE_BINARY_DIR "/sluice");
  const std::string query = "SELECT text FROM call_stack";
  EXPECT_THAT(run_sluice({"query", "t.sluice", query}).out, HasSubstr("see --sources-from"));
  EXPECT_THAT(run_sluice({"query", "t.sluice", query, "--sources-from", "/"}).out,
              Not(HasSubstr("see --sources-from")));
}

}  // namespace
}  // namespace sluice
