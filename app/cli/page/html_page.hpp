#pragma once

#include <cstdint>
#include <string>

#include "core/export/export.hpp"

/// One file that contains the window and a recording, and that a browser can open from disk.
namespace sluice::cli::page {

/// The format `html`. Supports only the options for range and redaction. Errors, besides those of reading and writing:
/// not_found if the page was not built or installed; invalid_argument for other options, and for a recording of more
/// than `max_html_bytes`.
[[nodiscard]] const exports::format& html_format();

/// Limited because browsers hold the whole recording in memory twice, as text and as bytes.
inline constexpr std::uint64_t max_html_bytes = std::uint64_t{256} << 20;

/// True if the file at `path` is such a page.
[[nodiscard]] bool is_html_page(const std::string& path);

}  // namespace sluice::cli::page
