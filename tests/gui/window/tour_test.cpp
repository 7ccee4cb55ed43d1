// Scripted tours of the window, and the frame statistics that they print, except times.
#include "app/gui/window/tour.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <regex>
#include <string>

#include "tests/gui/sample.hpp"
#include "tests/programs.hpp"

namespace sluice::gui {
namespace {

TEST(tour, step_is_a_number_of_frames_and_an_action) {
  const auto zoom = parse_tour_step("60 timeline.zoom_in");
  ASSERT_TRUE(zoom);
  EXPECT_EQ(zoom->frames, 60);
  EXPECT_EQ(zoom->action, tour_action::command);
  EXPECT_EQ(zoom->command, "timeline.zoom_in");
  const auto tab = parse_tour_step("done compare.tab=Flame graph");
  ASSERT_TRUE(tab);
  EXPECT_TRUE(tab->until_done);
  EXPECT_EQ(tab->command, "compare.tab=Flame graph");
  const auto click = parse_tour_step("2 click 300,-4.5");
  ASSERT_TRUE(click);
  EXPECT_EQ(click->action, tour_action::click);
  EXPECT_EQ(click->x, 300);
  EXPECT_EQ(click->y, -4.5F);
  const auto wheel = parse_tour_step("5 wheel -3");
  ASSERT_TRUE(wheel);
  EXPECT_EQ(wheel->action, tour_action::wheel);
  EXPECT_EQ(wheel->y, -3);
  const auto still = parse_tour_step("1");
  ASSERT_TRUE(still);
  EXPECT_EQ(still->action, tour_action::none);
}

TEST(tour, step_that_makes_no_sense_is_refused) {
  for (const char* text : {"", "timeline.zoom_in", "0", "-1", "100001", "1x timeline.fit", "1 click", "1 click 3",
                           "1 click 3,", "1 click ,3", "1 click 1,2,3", "1 mouse 1e9,0", "1 wheel", "1 wheel nan",
                           "1 wheel 1 2", "99999999999999999999"}) {
    const auto parsed = parse_tour_step(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.error().code, error_code::invalid_argument);
    EXPECT_EQ(parsed.error().to_string().find('\n'), std::string::npos);
  }
}

TEST(tour, says_quantiles_of_its_frames_and_the_ratio_to_an_empty_one) {
  tour_cost cost;
  for (int ms = 1; ms <= 200; ++ms) cost.frames.push_back({ms * 1e-3, ms * 2e-3, ms * 1e-4});
  cost.empty_frames = {2e-3, 1e-3, 4e-3};
  EXPECT_EQ(get_words(cost),
            "frames 200, fastest 1.00 ms, median 100.00 ms, 99th percentile 198.00 ms, slowest 200.00 ms; processor "
            "200.00 ms, at least 2.00 ms; our part 10.00 ms, 99th percentile 19.80 ms; clear and text 2.00 ms, ratio "
            "50.0");
}

/// The program's standard output, followed by its exit status.
std::string capture_output(const std::string& arguments) {
  const std::string command = SLUICE_BINARY_DIR "/sluice screenshot " + arguments + " 2>&1; echo status $?";
  return run_shell(command).out;
}

TEST(tour, of_the_program_prints_a_line_for_each_step_and_one_for_all) {
  const std::string path = test::own_path("tour.sluice");
  test::write_sample(path);
  const std::string said = capture_output(path +
                                          " --size 400x300 --step '3 timeline.zoom_in' --step '2 mouse 200,200'"
                                          " --step 'done blocks.sort=Address' --step '4 wheel -1'");
  const std::string line =
      "frames (\\d+), fastest [\\d.]+ ms, median [\\d.]+ ms, 99th percentile [\\d.]+ ms, slowest [\\d.]+ ms; processor "
      "[\\d.]+ ms, at least [\\d.]+ ms; our part [\\d.]+ ms, 99th percentile [\\d.]+ ms; clear and text [\\d.]+ ms, "
      "ratio [\\d.]+\n";
  const std::regex regex("3 timeline\\.zoom_in: " + line + "2 mouse 200,200: " + line +
                         "done blocks\\.sort=Address: done after [\\d.]+ s\n4 wheel -1: " + line + line + "status 0\n");
  std::smatch found;
  ASSERT_TRUE(std::regex_match(said, found, regex)) << said;
  EXPECT_EQ(found[1], "3");
  EXPECT_EQ(found[2], "2");
  EXPECT_EQ(found[3], "4");
  EXPECT_EQ(found[4], "9") << "frames of all steps";
  const std::string refused = capture_output(path + " --step '1 no.such_command'");
  EXPECT_NE(refused.find("no command named 'no.such_command'"), std::string::npos) << refused;
  EXPECT_EQ(refused.find("status 0"), std::string::npos) << refused;
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace sluice::gui
