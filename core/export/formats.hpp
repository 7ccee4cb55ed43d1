#pragma once

#include "core/export/export.hpp"

/// The functions behind the table of formats in export.cpp. Each has a file of its own.
namespace sluice::exports {

/// csv.cpp: one table as a file, or all of them as files in a folder.
[[nodiscard]] output_shape shape_of_csv(const options& wanted);
[[nodiscard]] result<void> write_csv(job& what, output& to);

}  // namespace sluice::exports
