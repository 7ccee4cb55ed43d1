#pragma once

#include <memory>
#include <string>

#include "app/gui/gl/png.hpp"

/// The screen of an X server, for tests that look at it, and press keys, from outside of the program.
namespace sluice::test {

class x_screen {
 public:
  /// Of the server that DISPLAY names. Null, and `why`, where it or the library libXtst is not there.
  [[nodiscard]] static std::unique_ptr<x_screen> open(std::string& why);
  ~x_screen();
  x_screen(const x_screen&) = delete;
  x_screen& operator=(const x_screen&) = delete;

  /// All of the screen.
  [[nodiscard]] gui::gl::image picture() const;
  void move_mouse(int x, int y);
  /// Presses and releases a key of this name of X ("q", "Escape"), with Ctrl held if `ctrl`.
  void press(const char* key, bool ctrl = false);

 private:
  x_screen() = default;
  struct library;
  std::unique_ptr<library> x_;
};

}  // namespace sluice::test
