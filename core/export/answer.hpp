#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "core/base/error.hpp"
#include "core/trace/file/reader.hpp"

namespace sluice::exports {

/// Writes all rows of a query as CSV to a temporary file, then renames it to `path`. Returns the number of rows. Holds
/// no rows in memory. Errors: those of the query and of writing; cancelled.
[[nodiscard]] result<std::uint64_t> write_answer(const std::shared_ptr<const trace::snapshot>& trace,
                                                 const std::string& text, const std::string& path,
                                                 const std::atomic<bool>& cancelled);

}  // namespace sluice::exports
