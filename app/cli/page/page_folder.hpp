#pragma once

#include <array>
#include <string>
#include <string_view>

#include "core/base/error.hpp"

/// The window for a browser, as files: built from app/browser by `./dev web`.
namespace sluice::cli::page {

struct file {
  std::string_view name;
  const char* type;  ///< For the header `Content-Type`.
};
/// The first is what a browser opens.
inline constexpr std::array<file, 5> files{{
    {"index.html", "text/html; charset=utf-8"},
    {"page_start.js", "text/javascript; charset=utf-8"},
    {"page.js", "text/javascript; charset=utf-8"},
    {"page.wasm", "application/wasm"},
    {"page.worker.js", "text/javascript; charset=utf-8"},
}};

/// The folder of the page that belongs to this program: ../share/sluice/web where it is installed, ../web/site where it
/// was built. Errors: not_found.
[[nodiscard]] result<std::string> folder();

}  // namespace sluice::cli::page
