#pragma once

#include <cstdint>
#include <string>

#include "core/export/export.hpp"

/// The window and a recording in one file, which a browser shows from disk.
namespace sluice::cli::page {

/// The format `html`. Of its options, range and redaction count. Its errors, besides those of reading and writing:
/// not_found where the page was not built or installed; invalid_argument for other options, and for a recording of more
/// than `most_html_bytes`.
[[nodiscard]] const exports::format& html_format();

/// Browsers hold all of the recording, as text and as bytes.
inline constexpr std::uint64_t most_html_bytes = std::uint64_t{256} << 20;

/// True if the file is such a page.
[[nodiscard]] bool is_html_page(const std::string& path);

}  // namespace sluice::cli::page
