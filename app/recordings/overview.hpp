#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "app/recordings/thumbnail.hpp"
#include "app/recordings/verdict_line.hpp"
#include "core/base/error.hpp"
#include "core/trace/file/reader.hpp"

namespace sluice::recordings {

/// What a list shows about a recording.
struct overview {
  verdict_line verdict;
  thumbnail picture;
};

/// A file without stored metrics is read whole for its verdict, so it gets an overview only up to this size.
inline constexpr std::uint64_t max_bytes_read_whole = std::uint64_t{16} << 20;

/// Computes the overview of an open recording. Blocks; takes milliseconds for a complete recording of any size. Errors:
/// invalid_argument if it could take long: the recording is still being written, was cut short, or is larger than
/// `max_bytes_read_whole` and has no stored metrics; those of the queries.
[[nodiscard]] result<overview> read_overview(const std::shared_ptr<trace::file>& recording);

/// Opens a file and computes its overview. Errors: those of `trace::file::open`, and those above.
[[nodiscard]] result<overview> read_overview(const std::string& path);

}  // namespace sluice::recordings
