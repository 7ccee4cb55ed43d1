#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "core/base/error.hpp"
#include "core/trace/file/reader.hpp"

namespace sluice::exports {

/// Runs the SQL query `text` and writes all rows as CSV to a temporary file, which it then renames to `path`. Returns
/// the number of rows. Holds no rows in memory. Errors: those of the query and of writing; cancelled.
[[nodiscard]] result<std::uint64_t> write_result(const std::shared_ptr<const trace::snapshot>& trace,
                                                 const std::string& text, const std::string& path,
                                                 const std::atomic<bool>& cancelled);

}  // namespace sluice::exports
