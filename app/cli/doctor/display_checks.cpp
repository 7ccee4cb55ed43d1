// Checks whether pictures can be drawn and windows can be opened.
#include <fmt/format.h>

#include "app/cli/doctor/checks.hpp"
#include "app/gui/gl/gl.hpp"
#include "app/gui/gl/offscreen.hpp"
#include "app/gui/window/window.hpp"
#include "app/processes/probe.hpp"

namespace sluice::cli {
namespace {

/// Encodes a result as text for the parent process: "+" and the renderer's name, or the error message.
std::string as_result(const result<std::string>& text) {
  if (text) return "+" + *text;
  return text.error().message + "\n" + text.error().hint;
}

check_result judge(std::string name, const result<std::string>& result) {
  check_result output{.name = std::move(name)};
  if (result && result->starts_with('+')) {
    output.found = result->substr(1);
    return output;
  }
  output.state = health::missing;
  const std::string text = result ? *result : result.error().to_string() + "\nreinstall Mesa or the vendor's OpenGL";
  const auto end = text.find('\n');
  output.found = text.substr(0, end);
  if (end != std::string::npos) output.advice = text.substr(end + 1);
  return output;
}

}  // namespace

check_result check_drawing(const machine& where) {
  return judge("pictures", processes::probe(
                               [] {
                                 constexpr int side = 64;
                                 const auto context = gui::gl::offscreen_context::create(side, side);
                                 if (!context) return as_result(tl::unexpected(context.error()));
                                 return as_result("sluice screenshot draws with " + gui::gl::renderer_name());
                               },
                               {.timeout = where.timeout}));
}

check_result check_window(const machine& where) {
  return judge("window", processes::probe([] { return as_result(gui::try_window()); }, {.timeout = where.timeout}));
}

}  // namespace sluice::cli
