// Playing the memory map over time: the player's clock alone, and the whole in a real window.
#include "app/gui/views/memory_map/film.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "app/gui/views/memory_map/memory_map.hpp"
#include "tests/core/recordings/steps_program.hpp"
#include "tests/gui/window_fixture.hpp"

namespace sluice::test {
namespace {

using gui::film;
using testing::mib;
using testing::ms;

TEST(film_clock, goes_on_by_the_time_that_has_passed) {
  film subject;
  const time_range over{1000, 121'000};
  EXPECT_FALSE(subject.advance(1000, over, true, 1.0)) << "not played yet";
  subject.play();
  subject.speed = 0;  // 1/120 of the range per second
  EXPECT_EQ(subject.advance(1000, over, true, 1.0), 2000);
  EXPECT_EQ(subject.advance(2000, over, true, 0.5), 2500);
}

TEST(film_clock, waits_until_a_moment_is_drawn) {
  film subject;
  subject.play();
  subject.speed = 0;
  const time_range over{0, 120'000};
  EXPECT_FALSE(subject.advance(0, over, false, 0.1));
  EXPECT_EQ(subject.advance(0, over, true, 0.1), 200) << "the clock catches up";
  EXPECT_FALSE(subject.advance(200, over, false, 10.0));
  EXPECT_FALSE(subject.advance(200, over, false, 10.0));
  EXPECT_EQ(subject.advance(200, over, true, 0.0), 450) << "the clock slows down instead of jumping";
}

TEST(film_clock, begins_again_at_the_end) {
  film subject;
  subject.play();
  EXPECT_EQ(subject.advance(95, {0, 100}, true, 100.0), 0);
  EXPECT_EQ(subject.advance(500, {0, 100}, true, 100.0), 0) << "starts from outside the range";
  subject.pause();
  EXPECT_FALSE(subject.advance(5, {0, 100}, true, 100.0));
}

TEST(film_steps, are_found_around_and_beside_a_time) {
  std::vector<query::slice> steps(3);
  for (int i = 0; i < 3; ++i) {
    steps[static_cast<std::size_t>(i)].begin = 10 + i * 10;
    steps[static_cast<std::size_t>(i)].end = 18 + i * 10;
  }
  EXPECT_EQ(gui::step_around(steps, 22), (time_range{20, 28}));
  EXPECT_EQ(gui::step_around(steps, 29), (time_range{30, 38})) << "between two steps: the next";
  EXPECT_EQ(gui::step_around(steps, 99), (time_range{30, 38}));
  EXPECT_FALSE(gui::step_around({}, 5));
  EXPECT_EQ(gui::neighbour_step(steps, 20, true), 30);
  EXPECT_EQ(gui::neighbour_step(steps, 20, false), 10);
  EXPECT_FALSE(gui::neighbour_step(steps, 30, true));
}

class memory_film : public window_test {
 protected:
  void open_steps(ImGuiTestContext& user) {
    {
      testing::recording recorded;
      testing::write_steps(recorded, 10, 32 * mib);
      recorded.close();
      std::filesystem::copy_file(recorded.path(), path, std::filesystem::copy_options::overwrite_existing);
    }
    open_sample(user);
    app().invoke("map.open");
    user.Yield(4);
    settle(user);
  }
};

TEST_F(memory_film, plays_through_moments_until_it_is_paused) {
  use([&](ImGuiTestContext& user) {
    open_steps(user);
    EXPECT_FALSE(app().playing()) << "nothing is redrawn without input";
    app().invoke("film.play");
    std::set<time_ns> seen;
    EXPECT_TRUE(wait_until(user, [&] {
      if (app().state().moment()) seen.insert(*app().state().moment());
      return seen.size() >= 5;
    }));
    EXPECT_TRUE(app().playing());
    app().invoke("film.pause");
    user.Yield(3);
    settle(user);
    const auto stays = app().state().moment();
    user.Yield(10);
    EXPECT_FALSE(app().playing());
    EXPECT_EQ(app().state().moment(), stays);
  });
}

TEST_F(memory_film, stops_when_its_panel_is_hidden) {
  use([&](ImGuiTestContext& user) {
    open_steps(user);
    app().invoke("film.play");
    user.Yield(8);
    EXPECT_TRUE(app().playing());
    app().invoke("panel.Memory map");
    user.Yield(30);
    EXPECT_FALSE(app().playing());
  });
}

TEST_F(memory_film, goes_from_step_to_step) {
  use([&](ImGuiTestContext& user) {
    open_steps(user);
    app().invoke("moment.set", time_range{35 * ms, 35 * ms});
    user.Yield(2);
    app().invoke("film.next_step");
    user.Yield(3);
    EXPECT_EQ(app().state().moment(), 40 * ms);
    app().invoke("film.previous_step");
    user.Yield(3);
    EXPECT_EQ(app().state().moment(), 30 * ms);
  });
}

TEST_F(memory_film, shows_its_controls_and_the_free_space_below_them) {
  use([&](ImGuiTestContext& user) {
    open_sample(user);
    app().invoke("map.open");
    user.Yield(4);
    app().invoke("film.play");
    user.Yield(5);
    app().invoke("film.pause");
    user.Yield(3);
    settle(user);
    const std::string words = read(user);
    EXPECT_NE(words.find("repeat the active time"), std::string::npos) << words;
    EXPECT_NE(words.find("0.0"), std::string::npos) << words;
    user.SetRef("//Memory map");
    user.ComboClick("##colours/by pool");
    user.SetRef("");
    user.Yield(4);
    settle(user);
    EXPECT_NE(read(user).find("chunk pool"), std::string::npos) << "the legend names pools";
  });
}

}  // namespace
}  // namespace sluice::test
