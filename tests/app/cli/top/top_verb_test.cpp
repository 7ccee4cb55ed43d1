// sluice top: it shows the metrics of the report, and restores the terminal.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <pty.h>
#include <sys/ioctl.h>
#include <termios.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>

#include "core/base/format.hpp"
#include "tests/app/cli/sluice_program.hpp"

namespace sluice {
namespace {

using json = nlohmann::json;
using std::chrono::milliseconds;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;
using ::testing::StartsWith;

std::string recording(const std::string& name) { return SLUICE_SOURCE_DIR "/assets/recordings/" + name + ".sluice"; }

/// The fields of the first line that begins with `start`. Two or more spaces separate fields.
std::vector<std::string> fields(const std::string& text, const std::string& start) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(start)) continue;
    std::vector<std::string> strings;
    for (std::size_t at = 0; at < line.size();) {
      const std::size_t end = std::min(line.find("  ", at), line.size());
      if (end > at) strings.push_back(line.substr(at, end - at));
      at = std::min(line.find_first_not_of(' ', end), line.size());
    }
    return strings;
  }
  return {};
}

class top_verb : public sluice_program {
 protected:
  /// The bytes in use at the end according to the report, formatted as `top` does.
  static std::string at_end(const json& report, const std::string& layer) {
    std::uint64_t bytes = 0;
    for (const json& each : report["memory"])
      if (each["layer"] == layer && each["kind"] == "device" && each["device"] == 1) bytes = each["at_end_bytes"];
    return format_bytes(bytes);
  }
};

TEST_F(top_verb, metrics_are_those_of_the_report) {
  for (const auto& [name, layer] : {std::pair("pytorch-training", "framework"), std::pair("leak", "driver")}) {
    const json report = json::parse(run_sluice({"report", "--format", "json", recording(name)}).out);
    const program_result shown = run_sluice({"top", "--once", recording(name)});
    EXPECT_EQ(shown.status, 0) << shown.err;
    EXPECT_THAT(shown.out, StartsWith(std::string(name) + ".sluice: "));
    EXPECT_THAT(shown.out, HasSubstr(format_count(report["events"]) + " events, "));
    const std::string_view label = layer == std::string_view("driver") ? "CUDA allocations" : "framework tensors";
    EXPECT_THAT(shown.out, HasSubstr(", 0 lost, 0 failed allocations\nused: " + std::string(label)));
    const auto gpu = fields(shown.out, "GPU 0");
    ASSERT_EQ(gpu.size(), 8U) << shown.out;
    EXPECT_EQ(gpu[1], at_end(report, layer));
    EXPECT_EQ(gpu[2], "+" + gpu[1]) << "the recording is shorter than a minute";
    EXPECT_EQ(gpu[3], at_end(report, "driver")) << "the recording has no driver pools";
    EXPECT_EQ(gpu[4], format_bytes(report["not_tracked"][0]["at_end_bytes"].get<std::uint64_t>()));
    // Untracked memory is the total minus tracked memory and the recorder's own memory.
    std::uint64_t tracked = 0;
    for (const json& each : report["memory"])
      if (each["layer"] == "driver" && each["kind"] == "device") tracked = each["at_end_bytes"];
    EXPECT_EQ(gpu[5], format_bytes(tracked + report["not_tracked"][0]["at_end_bytes"].get<std::uint64_t>() +
                                   report["not_tracked"][0]["recorder_bytes"].get<std::uint64_t>()));
    const auto process = fields(shown.out, std::to_string(report["processes"][0]["pid"].get<int>()));
    ASSERT_EQ(process.size(), 5U) << shown.out;
    EXPECT_EQ(process[2], gpu[1]) << "there is only one process";
    EXPECT_EQ(process[3], gpu[3]);
    EXPECT_EQ(process[4], report["processes"][0]["command"].get<std::string>() + " (exit status 0)");
  }
}

TEST_F(top_verb, rates_are_those_of_the_report_on_the_last_second) {
  // The recording is shorter than a second. Ends of copies are known until shortly before its end.
  const json report = json::parse(run_sluice({"report", "--format", "json", recording("leak")}).out);
  const std::string shown = run_sluice({"top", "--once", recording("leak")}).out;
  const json& way = report["transfers"][0];
  ASSERT_EQ(way["direction"], "h2d");
  const auto row = fields(shown.substr(shown.find("copies")), "GPU 0");
  ASSERT_EQ(row.size(), 6U) << shown;
  const double seconds = (report["processes"][0]["device_times_complete_until_ns"].get<double>() -
                          report["span"]["begin_ns"].get<double>()) /
                         1e9;
  EXPECT_EQ(row[1], "host to device");
  EXPECT_EQ(row[2], format_rate(way["bytes"].get<double>() / seconds));
  EXPECT_EQ(row[3], format_rate(way["mean_bytes_per_second"]));
  EXPECT_EQ(row[4],
            format_share(way["mean_bytes_per_second"].get<double>() / way["link_peak_bytes_per_second"].get<double>()));
  EXPECT_EQ(row[5], format_share(way["busy_ns"].get<double>() / 1e9 / seconds));
}

TEST_F(top_verb, names_the_lines_that_hold_memory) {
  const std::string shown = run_sluice({"top", "--once", recording("pytorch-training")}).out;
  const auto title = shown.find("\nLive memory: GPU 0, framework tensors, by line\n");
  ASSERT_NE(title, std::string::npos) << shown;
  EXPECT_THAT(shown.substr(title), HasSubstr("33.0 MiB  51 %  2 blocks  rec/train.py:29, forward\n"));
}

TEST_F(top_verb, says_why_it_shows_nothing) {
  EXPECT_EQ(run_sluice({"top", "nowhere.sluice"}).status, 1);
  write("text", "no recording");
  EXPECT_THAT(run_sluice({"top", "text"}).err, StartsWith("sluice: text: "));
  EXPECT_EQ(run_sluice({"top", "--interval", "0"}).status, 2);
  EXPECT_EQ(run_sluice({"top", "a", "b"}).status, 2);
}

/// Fixture for tests that need a recording that grows for several seconds.
class top_live : public top_verb {
 protected:
  void SetUp() override {
    recorder_ = begin_sluice({"record", "-o", "live.sluice", "--", SLUICE_BINARY_DIR "/sluice", "demo", "leak",
                              "--device", "sim", "--pace", "--seconds", "20", "-o", "own.sluice"});
    for (int i = 0; i < 1000 && !exists("own.sluice"); ++i) std::this_thread::sleep_for(milliseconds(10));
    std::this_thread::sleep_for(milliseconds(1500));
  }
  void TearDown() override {
    if (recorder_ <= 0) return;
    kill(-recorder_, SIGTERM);
    end_sluice(recorder_);
  }

  /// Starts `sluice top ARGUMENTS` on a new terminal.
  void on_terminal(const std::vector<std::string>& arguments, unsigned short columns = 80, unsigned short rows = 24) {
    const winsize size{rows, columns, 0, 0};
    ASSERT_EQ(openpty(&terminal_, &its_end_, nullptr, nullptr, &size), 0);
    ASSERT_EQ(tcgetattr(its_end_, &before_), 0);
    std::vector<std::string> words{program_, "top"};
    words.insert(words.end(), arguments.begin(), arguments.end());
    top_ = start_program(words, [&] {
      setsid();
      ioctl(its_end_, TIOCSCTTY, 0);
      for (const int number : {0, 1, 2}) dup2(its_end_, number);
      close_range(3, ~0U, 0);
      if (chdir(file(".").c_str()) != 0) _exit(98);
      setenv("TERM", "xterm", 1);
    });
  }
  /// Reads the output into `drawn_` until `text` appears; false if it does not within 10 s.
  bool until(const std::string& text) {
    drawn_ = std::exchange(rest_, {});
    for (int i = 0; i < 1000 && drawn_.find(text) == std::string::npos; ++i) {
      pollfd ready{terminal_, POLLIN, 0};
      if (poll(&ready, 1, 10) <= 0) continue;
      char bytes[4096];
      const ssize_t got = read(terminal_, bytes, sizeof bytes);
      if (got > 0) drawn_.append(bytes, static_cast<std::size_t>(got));
    }
    const std::size_t found = drawn_.find(text);
    if (found == std::string::npos) return false;
    rest_ = drawn_.substr(found + text.size());
    drawn_.resize(found + text.size());
    return true;
  }
  void press(const std::string& keys) const {
    ASSERT_EQ(::write(terminal_, keys.data(), keys.size()), static_cast<ssize_t>(keys.size()));
  }
  /// The exit status, as in a shell. Checks that the terminal was restored.
  int ended() {
    EXPECT_TRUE(until("\033[?7h\033[?25h\033[?1049l")) << drawn_;
    const int status = wait_for_end(top_);
    termios now{};
    EXPECT_EQ(tcgetattr(its_end_, &now), 0);
    EXPECT_EQ(now.c_lflag, before_.c_lflag);
    EXPECT_EQ(now.c_cc[VMIN], before_.c_cc[VMIN]);
    close(terminal_);
    close(its_end_);
    return status;
  }

  pid_t recorder_ = 0, top_ = 0;
  int terminal_ = -1, its_end_ = -1;
  termios before_{};
  std::string drawn_, rest_;
};

TEST_F(top_live, shows_a_recording_that_grows) {
  const auto used = [&] {
    const std::string shown = run_sluice({"top", "--once", "own.sluice"}).out;
    EXPECT_THAT(shown, MatchesRegex("own.sluice: .* on the simulated device, being written.*"));
    return fields(shown, "GPU 0").at(1);
  };
  const std::string first = used();
  std::this_thread::sleep_for(milliseconds(2500));
  EXPECT_NE(used(), first) << "the demo leaks";
}

TEST_F(top_live, finds_the_recordings_that_run) {
  program_result shown = run_sluice({"top", "--once"});
  EXPECT_EQ(shown.status, 0) << shown.err;
  EXPECT_THAT(shown.out, HasSubstr("live.sluice: "));
}

TEST_F(top_live, draws_again_and_ends_by_a_key) {
  on_terminal({"--interval", "0.2", "own.sluice"});
  ASSERT_TRUE(until("q: quit"));
  EXPECT_THAT(drawn_, StartsWith("\033[?1049h\033[?25l\033[?7l"));
  EXPECT_TRUE(until("GPU 0")) << drawn_;
  EXPECT_TRUE(until("per second, ")) << "a rate is computed between two frames: " << drawn_;
  press("xyz\033[A");
  EXPECT_TRUE(until("q: quit")) << "other keys do nothing";
  press("q");
  EXPECT_EQ(ended(), 0);
}

TEST_F(top_live, ends_by_signals) {
  on_terminal({"own.sluice"});
  ASSERT_TRUE(until("GPU 0"));
  press("\003");
  EXPECT_EQ(ended(), 130);
  on_terminal({"own.sluice"});
  ASSERT_TRUE(until("GPU 0"));
  kill(top_, SIGTERM);
  EXPECT_EQ(ended(), 143);
}

TEST_F(top_live, follows_the_size_of_the_terminal) {
  on_terminal({"--interval", "60", "own.sluice"}, 40, 10);
  ASSERT_TRUE(until("GPU 0"));
  ASSERT_TRUE(until("q: quit"));
  const winsize size{30, 120, 0, 0};
  ASSERT_EQ(ioctl(terminal_, TIOCSWINSZ, &size), 0);
  ASSERT_TRUE(until("q: quit")) << "long before the interval is over";
  EXPECT_EQ(std::count(drawn_.begin(), drawn_.end(), '\n'), 29);
  EXPECT_THAT(drawn_, HasSubstr("Simulated device")) << "the smaller terminal had no space for it";
  press("q");
  EXPECT_EQ(ended(), 0);
}

// Simulates job control by a shell.
TEST_F(top_live, gives_the_terminal_back_while_it_is_stopped) {
  on_terminal({"--interval", "60", "own.sluice"});
  ASSERT_TRUE(until("GPU 0"));
  kill(top_, SIGTSTP);
  ASSERT_TRUE(until("\033[?1049l"));
  int status = 0;
  waitpid(top_, &status, WUNTRACED);
  EXPECT_TRUE(WIFSTOPPED(status));
  termios now{};
  tcgetattr(its_end_, &now);
  EXPECT_EQ(now.c_lflag, before_.c_lflag);
  kill(top_, SIGCONT);
  ASSERT_TRUE(until("\033[?1049h"));
  press("q");
  EXPECT_EQ(ended(), 0);
}

}  // namespace
}  // namespace sluice
