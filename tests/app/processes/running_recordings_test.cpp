// The list of recordings that are running now.
#include "app/processes/running_recordings.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "tests/app/cli/sluice_program.hpp"

namespace sluice::processes {
namespace {

class running : public sluice_program {
 protected:
  /// The list entry of the recorder `pid`, after it has created its file.
  static running_recording about(pid_t pid, const std::string& file) {
    running_recording last;
    for (int i = 0; i < 1000 && last.file != file; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      for (const running_recording& each : running_recordings())
        if (each.pid == static_cast<std::uint64_t>(pid)) last = each;
    }
    return last;
  }
  [[nodiscard]] std::string place(const std::string& name) const {
    return std::filesystem::weakly_canonical(file(name)).string();
  }
  void stop(pid_t pid) {
    kill(-pid, SIGTERM);
    end_sluice(pid);
  }
};

TEST_F(running, are_found_with_what_they_record) {
  const pid_t recorder = begin_sluice({"record", "-o", "there.sluice", "--", "sh", "-c", "exec sleep 60"});
  const running_recording found = about(recorder, place("there.sluice"));
  EXPECT_EQ(found.file, place("there.sluice"));
  EXPECT_EQ(found.command, "sh -c 'exec sleep 60'");
  stop(recorder);
  for (const running_recording& each : running_recordings()) EXPECT_NE(each.pid, found.pid) << "the recorder has ended";
}

TEST_F(running, have_the_file_that_they_write_if_none_was_named) {
  write("sleep.sluice", "the name is taken");
  const pid_t recorder = begin_sluice({"record", "--", "sleep", "60"});
  EXPECT_EQ(about(recorder, place("sleep-2.sluice")).file, place("sleep-2.sluice"));
  stop(recorder);
}

}  // namespace
}  // namespace sluice::processes
