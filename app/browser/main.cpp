// The window in a browser. The page hands it files: see index.html.
#include <emscripten.h>

#include <memory>

#include "app/browser/canvas_window.hpp"
#include "app/browser/files.hpp"
#include "app/browser/page_functions.hpp"

namespace {

std::unique_ptr<sluice::browser::canvas_window>& window() {
  static std::unique_ptr<sluice::browser::canvas_window> only;
  return only;
}

}  // namespace

/// Opens the file at `url`, of `bytes` bytes, as `name`.
extern "C" EMSCRIPTEN_KEEPALIVE void sluice_open_file(const char* name, const char* url, double bytes) {
  if (!window() || !(bytes >= 0)) return;
  window()->app().open(sluice::browser::add_file(name, url, static_cast<std::uint64_t>(bytes)));
}

int main() {
  auto made = sluice::browser::canvas_window::create({});
  if (!made) {
    sluice_failed(made.error().to_string().c_str());
    return 1;
  }
  window() = std::move(*made);
  sluice_ready();
  emscripten_set_main_loop([] { window()->step(); }, 0, false);
  return 0;
}
