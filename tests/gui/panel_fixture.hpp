#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "app/gui/draw/boxes.hpp"
#include "app/gui/shell/settings.hpp"
#include "app/gui/views/parts/view.hpp"
#include "core/query/engine/engine.hpp"
#include "tests/core/recordings/recording.hpp"
#include "tests/gui/sample.hpp"

struct ImGuiContext;

namespace sluice::test {

/// Fixture with one panel of the recording at `path`, the sample, without a display: Dear ImGui lays out the frames,
/// and nothing draws them.
class panel_test : public ::testing::Test {
 protected:
  panel_test();
  ~panel_test() override;

  /// Writes another recording to `path`. Call before `read`.
  void record(const std::function<void(testing::recording&)>& write);
  /// All text that the panel draws once all of its queries have results, in a window of 1200 x 800 pixels. Opens the
  /// recording, and then runs the panel's commands `first`.
  std::string read(std::unique_ptr<gui::view> panel,
                   const std::vector<std::pair<std::string, gui::argument>>& first = {});
  query::engine& engine() { return *state.active()->engine; }
  time_range span() { return state.active()->span; }
  /// Opens the recording if it is not open.
  void open();

  const std::string path = own_path("panel.sluice");
  gui::documents state{[] {}};
  gui::command_registry commands;
  gui::settings remembered{{}};

 private:
  ImGuiContext* imgui_;
  gui::typefaces fonts_;
  gui::draw::box_renderer boxes_;
  gui::table_requests tables_;
};

}  // namespace sluice::test
