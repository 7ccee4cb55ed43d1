#pragma once

#include <sys/types.h>

#include <string>

/// Restricts access to files made from a recording: only users who may read the recording may read these files.
namespace sluice::privacy {

/// From now on, gives files and folders that this process creates no more permissions than the file at `path` has.
/// After several calls, new files get only the permissions that all the named files have. The file's group permissions
/// count only if its group is also the group of this process. The function narrows the process's umask, so no file is
/// accessible to others even for a moment. Meant for programs that read inputs, write outputs and exit. Does nothing if
/// the file does not exist. Not thread-safe.
void keep_as_private_as(const std::string& path);

/// Returns the permissions that files and folders may have, as mode bits (0777: all). The umask alone does not suffice
/// for a file that takes over the permissions of another file, or in a folder whose default ACL replaces the umask.
[[nodiscard]] mode_t allowed();

}  // namespace sluice::privacy
