#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "app/gui/draw/boxes.hpp"
#include "app/gui/shell/settings.hpp"
#include "app/gui/views/view.hpp"
#include "tests/gui/sample.hpp"

struct ImGuiContext;

namespace sluice::test {

/// Fixture with one panel of the recording at `path`, the sample, without a display: Dear ImGui lays out the frames,
/// and nothing draws them.
class panel_test : public ::testing::Test {
 protected:
  panel_test();
  ~panel_test() override;

  /// Opens the recording.
  void open();
  /// All text that the panel draws once all of its queries have results, in a window of 1200 x 800 pixels.
  std::string read(gui::view& panel);

  const std::string path = own_path("panel.sluice");
  gui::documents state{[] {}};
  gui::command_registry commands;

 private:
  ImGuiContext* imgui_;
  gui::typefaces fonts_;
  gui::draw::box_renderer boxes_;
  gui::table_requests tables_;
};

}  // namespace sluice::test
