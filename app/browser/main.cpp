// The window in a browser. The page passes files to it; see index.html.
#include <emscripten.h>

#include <memory>
#include <string>

#include "app/browser/canvas_window.hpp"
#include "app/browser/files.hpp"
#include "app/browser/page_functions.hpp"
#include "core/base/threads/worker_thread.hpp"

namespace {

std::unique_ptr<sluice::browser::canvas_window>& window() {
  static std::unique_ptr<sluice::browser::canvas_window> only;
  return only;
}

}  // namespace

/// Opens the file at `url`, of `bytes` bytes, under the name `name`. `version`: see `source_at`.
extern "C" EMSCRIPTEN_KEEPALIVE void sluice_open_file(const char* name, const char* url, const char* version,
                                                      double bytes) {
  using namespace sluice::browser;
  if (!window() || !(bytes >= 0)) return;
  window()->draw_soon();
  window()->app().open(add_file(recordings_folder, name, url, version, static_cast<std::uint64_t>(bytes)));
}

/// Adds the file at `url` to the welcome screen. Call before the window is created.
extern "C" EMSCRIPTEN_KEEPALIVE void sluice_offer_file(const char* name, const char* url, double bytes) {
  using namespace sluice::browser;
  if (bytes >= 0) static_cast<void>(add_file(samples_folder, name, url, {}, static_cast<std::uint64_t>(bytes)));
}

/// Runs a command of the window before the window's next frame; for tests, and for pages that embed this one. `text`:
/// the command's argument; empty: none.
extern "C" EMSCRIPTEN_KEEPALIVE void sluice_invoke(const char* id, const char* text) {
  if (!window()) return;
  window()->draw_soon();
  if (*text == '\0') return window()->app().invoke(id);
  window()->app().invoke(id, std::string(text));
}

/// Persists the settings folder. Called when the user leaves the page, or might leave it.
extern "C" EMSCRIPTEN_KEEPALIVE void sluice_leave() {
  if (window()) window()->app().save_settings();
}

int main() {
  using namespace sluice;
  if (sluice_has_threads() == 0) do_without_threads();
  sluice_offer_recordings();
  gui::application_options content;
  content.config_folder = browser::settings_folder;
  content.recordings_folder = browser::samples_folder;
  content.around.starts_programs = false;
  content.around.keeps_files = false;
  content.around.choose_file = [] { sluice_choose_file(); };
  content.around.saves_to = browser::saved_folder;
  content.around.get_source = browser::get_source;
  auto output = browser::canvas_window::create(std::move(content));
  if (!output) {
    sluice_failed(output.error().to_string().c_str());
    return 1;
  }
  window() = std::move(*output);
  sluice_ready();
  emscripten_set_main_loop([] { window()->step(); }, 0, false);
  return 0;
}
