#pragma once

#include <array>
#include <string>
#include <string_view>

#include "core/base/error.hpp"

/// The window for a browser, as files that `./dev web` builds from app/browser.
namespace sluice::cli::page {

struct file {
  std::string_view name;
  const char* type;      ///< The value of the header `Content-Type`.
  bool is_gzip = false;  ///< The file is stored compressed, as NAME.gz.
  [[nodiscard]] std::string on_disk() const { return std::string(name) + (is_gzip ? ".gz" : ""); }
};
/// The files of the page. The first is the document that a browser opens.
inline constexpr std::array<file, 5> files{{
    {"index.html", "text/html; charset=utf-8"},
    {"page_start.js", "text/javascript; charset=utf-8"},
    {"page.js", "text/javascript; charset=utf-8", true},
    {"page.wasm", "application/wasm", true},
    {"page.worker.js", "text/javascript; charset=utf-8"},
}};

/// The folder of the page that belongs to this program: ../share/sluice/web if installed, ../web/site in a build
/// folder. Errors: not_found.
[[nodiscard]] result<std::string> folder();

}  // namespace sluice::cli::page
