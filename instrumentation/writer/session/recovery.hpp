#pragma once

#include "core/base/error.hpp"
#include "core/trace/file/writer.hpp"

/// Saves a recording whose file was changed by other programs while it was written.
namespace sluice::writer {

/// If `file` was moved while it was written, finds its new path. If it was deleted or damaged, saves the remaining data
/// under the file's own name if that is free, else as a new file in the same folder. `file` can then be finished.
/// Returns an error in all these cases, even if all data was saved: io, with a message that says what happened and
/// where the recording is now; or no_space.
[[nodiscard]] result<void> recover(trace::file_writer& file);

}  // namespace sluice::writer
