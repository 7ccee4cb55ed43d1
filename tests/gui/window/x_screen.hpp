#pragma once

#include <memory>
#include <string>

#include "app/gui/gl/png.hpp"

/// The screen of an X server, for tests that take pictures and press keys from outside the program.
namespace sluice::test {

class x_screen {
 public:
  /// Opens the server that DISPLAY names. Returns null and sets `why` if the server or the library libXtst is missing.
  [[nodiscard]] static std::unique_ptr<x_screen> open(std::string& why);
  ~x_screen();
  x_screen(const x_screen&) = delete;
  x_screen& operator=(const x_screen&) = delete;

  /// Takes a picture of the whole screen.
  [[nodiscard]] gui::gl::image picture() const;
  void move_mouse(int x, int y);
  /// Presses and releases the key with this X name ("q", "Escape"), with Ctrl held if `ctrl`.
  void press(const char* key, bool ctrl = false);

 private:
  x_screen() = default;
  struct library;
  std::unique_ptr<library> x_;
};

}  // namespace sluice::test
