#pragma once

#include <sys/types.h>

#include <string>

/// Who may read what is made from a recording: nobody who may not read the recording.
namespace sluice::privacy {

/// From now on the files and folders that this process makes get no more permissions than the file at `path` has; after
/// several calls, only those that all of these files have. The group of the file counts if it is the group of this
/// process, too. Narrows the process's umask, so that no file is more open at any moment: for programs that read their
/// inputs, write outputs and end. Nothing happens if there is no such file. Not thread-safe.
void keep_as_private_as(const std::string& path);

/// The permissions that files and folders may have, as bits of a mode (0777: all). Also for a file that takes over the
/// permissions of another, and where a default ACL of the folder replaces the umask.
[[nodiscard]] mode_t allowed();

}  // namespace sluice::privacy
