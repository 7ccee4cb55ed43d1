#pragma once

#include "core/base/error.hpp"
#include "core/trace/file/writer.hpp"

/// Saves a recording whose file was changed by others while it was written.
namespace sluice::collector {

/// If `file` was moved, deleted or damaged while it was written, saves what is left: under its own name if
/// that is free, else beside it. `file` can then be finished there. Returns an error if any of this
/// happened, even if all data was saved: io, with what happened and where the recording is now; or no_space.
[[nodiscard]] result<void> recover(trace::file_writer& file);

}  // namespace sluice::collector
