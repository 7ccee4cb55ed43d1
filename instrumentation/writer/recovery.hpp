#pragma once

#include "core/base/error.hpp"
#include "core/trace/file/writer.hpp"

/// What is done at the end of a recording whose file others meddled with.
namespace sluice::collector {

/// Where `file` was moved, deleted or damaged while it was written: saves what there is still, under its own name if nothing else has it, else
/// beside it, and leaves `file` to be finished there. Errors, if anything of the kind happened, also where all of it could be saved: io, with
/// what happened and where the recording is now; no_space.
[[nodiscard]] result<void> recover(trace::file_writer& file);

}  // namespace sluice::collector
