#pragma once

#include <cstddef>
#include <span>

/// Whether a recording was made here, by this user: only then the names of files in it are believed, for they are those of files that
/// this user's own program used on this machine. Anybody else's recording could name any file, to have it shown or sent on.
///
/// The recorder marks its file with an extended attribute, `user.sluice.origin`: a keyed hash (SipHash) of what the file is to the file
/// system (inode, time of birth), of its header, and, once it is closed, of its size and when it was last written. The key is this
/// user's: 16 random bytes in $XDG_STATE_HOME/sluice/key (else ~/.local/state/sluice/key). So no copy, download or archive brings a
/// mark along, and none survives that something else is written into the file.
namespace sluice::origin {

enum class stage { growing, closed };

/// Marks the open file `descriptor`, which this user's recorder makes and whose header is `header`; makes the key at first use. Nothing
/// happens where there is no key, or the file system keeps no attributes: nobody trusts the file then. `closed`: nothing more is written.
void mark(int descriptor, std::span<const std::byte> header, stage now) noexcept;

/// Takes a mark away that a file has from before: for one that is written anew by somebody else than the recorder.
void unmark(int descriptor) noexcept;

/// Whether `descriptor`, whose header is `header`, has a mark of this user's that fits. False wherever that cannot be told.
[[nodiscard]] bool is_marked(int descriptor, std::span<const std::byte> header) noexcept;

}  // namespace sluice::origin
