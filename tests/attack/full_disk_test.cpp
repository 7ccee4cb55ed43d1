// Recorders that run out of resources or are killed: a disk that fills up and is freed again, no memory, SIGKILL.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "tests/app/cli/sluice_program.hpp"

namespace sluice {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using writer::recorded;

const std::string counting = SLUICE_BINARY_DIR "/tests/attack/counting_guest";

class full_disk : public sluice_program {
 protected:
  /// Records on a disk of 192 KiB, of which the file "ballast" takes 128 KiB, and moves the recording to the test's
  /// folder.
  program_result record_on_small_disk(const std::string& command) {
    fs::create_directory(file("disk"));
    write("counts", std::string(64 * 1024, '\0'));
    write("script",
          "mount -t tmpfs -o size=192k sluice-test disk || exit 96\n"
          "dd if=/dev/zero of=disk/ballast bs=1k count=128 2>/dev/null\n" SLUICE_BINARY_DIR
          "/sluice record -o disk/t.sluice --linger 0 -- sh -c '" +
              command +
              "'\n"
              "status=$?\ncp disk/t.sluice t.sluice\numount disk\nexit $status\n");
    return run_program({.words = {"unshare", "--mount", "sh", "./script"}, .folder = file(".")});
  }

  static std::string guest(int slot, int pairs) {
    return counting + " counts " + std::to_string(slot) + " " + std::to_string(pairs) + " 400";
  }

  void SetUp() override {
    if (run_shell("unshare --mount true").status != 0) GTEST_SKIP() << "skipped: no private mounts here";
  }

  /// Expects that each of `said` allocations and frees is in the file or counted as lost. Returns the number of lost
  /// events.
  [[nodiscard]] std::uint64_t get_lost(std::uint64_t said) const {
    const recorded found(file("t.sluice"));
    std::uint64_t lost = 0;
    for (const trace::loss_event& row : found.all<trace::loss_event>()) lost += row.memory_events;
    // Lost frees are inferred later; those rows are skipped, because the frees are already counted as lost.
    std::uint64_t recorded = found.all<trace::alloc_event>().size();
    for (const trace::free_event& row : found.all<trace::free_event>())
      recorded += row.source == trace::provenance::exact ? 1 : 0;
    EXPECT_EQ(recorded + lost, said);
    return lost;
  }
};

// Tried: a disk that is full during many events, and has space again before the command ends.
TEST_F(full_disk, the_recording_goes_on_once_there_is_room_and_says_what_it_lost) {
  const program_result ended =
      record_on_small_disk(guest(0, 200'000) + "; rm disk/ballast; sleep 1.5; " + guest(1, 1000) + "; exit 3");
  EXPECT_EQ(ended.status, 3) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("the disk was full"));
  EXPECT_THAT(ended.err, HasSubstr(" alloc, "));
  EXPECT_GT(get_lost(402'000), 0U);
  const recorded found(file("t.sluice"));
  EXPECT_TRUE(found.snapshot().complete());
  std::uint64_t late = 0;
  for (const trace::alloc_event& row : found.all<trace::alloc_event>()) late += raw(row.process) == 3;
  EXPECT_EQ(late, 1000U) << "all later events are there";
}

// Tried: a disk that fills while a recorder thread writes the ordered copy, which takes space as well.
TEST_F(full_disk, ends_the_copy_in_order_and_everything_is_accounted_for) {
  fs::create_directory(file("disk"));
  write("counts", std::string(64 * 1024, '\0'));
  const std::string half = counting + " counts 0 700000 400", rest = counting + " counts 1 400000 400";
  write("script", "mount -t tmpfs -o size=1100m sluice-test disk || exit 96\n" SLUICE_BINARY_DIR
                  "/sluice record -o disk/t.sluice --linger 0 -- sh -c '" +
                      half + "; fallocate -l $(df -B1 --output=avail disk | tail -1) disk/ballast; " + rest +
                      "; rm disk/ballast; exit 3'\nstatus=$?\ncp disk/t.sluice t.sluice\nls disk >left\numount "
                      "disk\nexit $status\n");
  const program_result ended = run_program({.words = {"unshare", "--mount", "sh", "./script"}, .folder = file(".")});
  EXPECT_EQ(ended.status, 3) << ended.err;
  EXPECT_EQ(make_content(file("left")), "t.sluice\n");
  static_cast<void>(get_lost(2'200'000));  // May be 0, because the copy gives up its space for the recording.
}

// Tried: a disk that stays full.
TEST_F(full_disk, without_room_to_the_end_the_file_says_what_it_lost) {
  const program_result ended = record_on_small_disk(guest(0, 200'000));
  EXPECT_EQ(ended.status, 125) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("No space left"));
  EXPECT_GT(get_lost(400'000), 0U);
}

// Tried: a disk that stays full, and rings so small that they lose most events: chunks with loss counts do not fit on
// the disk.
TEST_F(full_disk, what_rings_lost_counts_on_when_the_chunk_that_says_it_goes) {
  setenv("SLUICE_RING_BYTES", "8192", 1);
  const program_result ended = record_on_small_disk(counting + " counts 0 2000000 100000");
  unsetenv("SLUICE_RING_BYTES");
  EXPECT_EQ(ended.status, 125) << ended.err;
  EXPECT_GT(get_lost(4'000'000), 0U);
}

class memory_ends : public sluice_program {};

// Tried: a limit on the recorder's memory, and more live blocks than fit in it.
TEST_F(memory_ends, the_recording_ends_and_the_command_goes_on) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "skipped: sanitizers reserve unlimited address space";
#endif
  const std::string hoard = guest + " hoard";
  for (const int status : {0, 3}) {
    write("script", "ulimit -v 260000\nexec " SLUICE_BINARY_DIR "/sluice record --force -o t.sluice -- sh -c '" +
                        hoard + "; exit " + std::to_string(status) + "'\n");
    const auto [ended, out, said] = run_program({.words = {"sh", "./script"}, .folder = file(".")});
    EXPECT_EQ(ended, status == 0 ? 125 : status) << said;
    EXPECT_THAT(said, HasSubstr("the recorder has no memory left"));
    EXPECT_THAT(said, HasSubstr("it holds what came before"));
    EXPECT_GT(recorded(file("t.sluice")).all<trace::alloc_event>().size(), 1000U);
  }
}

class killed_recorder : public sluice_program {
 protected:
  [[nodiscard]] std::size_t folders() const {
    std::size_t count = 0;
    for (const auto& each : fs::directory_iterator(file("tmp")))
      count += each.path().filename().string().starts_with("sluice-");
    return count;
  }
};

// Tried: folders of recorders ended by SIGKILL, similar folders, and the folder of a running recorder.
TEST_F(killed_recorder, the_next_one_removes_its_folder_and_nothing_else) {
  fs::create_directory(file("tmp"));
  const variables here = {{"TMPDIR", file("tmp")}};
  for (const char* name : {"dead.sluice", "alive.sluice"}) {
    const pid_t child = begin_sluice({"record", "-o", name, "--", "sleep", "600"}, here);
    for (int i = 0; i < 6000 && !exists(name); ++i) usleep(10'000);
    if (std::string(name) == "alive.sluice") {
      EXPECT_EQ(folders(), 1U) << "the killed recorder's folder was removed";
      write("tmp/precious", "hours of work\n");
      fs::create_directory(file("tmp/sluice-AAAAAA"));  // Has no lock, as while it is being created.
      fs::create_directory(file("tmp/sluice-BBBBBB"));  // Contains a foreign file.
      for (const char* other : {"alive", "thesis"}) write(std::string("tmp/sluice-BBBBBB/") + other, "");
      fs::create_directory(file("tmp/sluice-CCCCCC"));  // Has a link as its lock.
      fs::create_symlink("../precious", file("tmp/sluice-CCCCCC/alive"));
      fs::create_directory_symlink("sluice-BBBBBB", file("tmp/sluice-DDDDDD"));
      for (const char* folder : {"A", "B", "C"}) chmod(file("tmp/sluice-" + std::string(6, *folder)).c_str(), 0700);
      EXPECT_EQ(run_sluice({"record", "-o", "next.sluice", "--", "true"}, here).status, 0);
      EXPECT_EQ(folders(), 5U) << "the running recorder's, and four foreign folders";
      EXPECT_TRUE(exists("tmp/sluice-BBBBBB/thesis"));
      EXPECT_TRUE(exists("tmp/precious"));
    }
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    kill(-child, SIGKILL);  // The recorded command.
  }
}

// Tried: opening a recording by its temporary name, and the unfinished copy that a killed recorder left.
TEST_F(killed_recorder, a_file_that_was_not_finished_opens_as_it_is) {
  ASSERT_EQ(run_sluice({"generate", "--events", "2000", "-o", "t.sluice"}).status, 0);
  const std::string part = "t.sluice.part-0123456789abcdef";
  fs::rename(file("t.sluice"), file(part));
  fs::resize_file(file(part), fs::file_size(file(part)) - 100);
  EXPECT_EQ(run_sluice({"report", part}).status, 0);
}

}  // namespace
}  // namespace sluice
