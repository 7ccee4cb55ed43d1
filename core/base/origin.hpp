#pragma once

#include <cstddef>
#include <span>

/// Tells whether a recording was made on this machine by this user. Only then are the file paths in it trusted: they
/// come from this user's own program. A recording from elsewhere could name any file, to have it displayed or sent on.
///
/// The recorder marks its file with an extended attribute, `user.sluice.origin`: a keyed hash (SipHash) of the file's
/// inode and creation time, its header and, once closed, its size and modification time. The key is the user's: 16
/// random bytes in $XDG_STATE_HOME/sluice/key (else ~/.local/state/sluice/key). So no copy, download or archive has a
/// valid mark, and a later write makes it invalid.
namespace sluice::origin {

enum class stage { growing, closed };

/// Marks the open file `descriptor`, recorded by this user, with header `header`. Creates the key at first use. If that
/// fails or attributes are unsupported, the file has no mark and is not trusted. After `closed` nothing may be written.
void mark(int descriptor, std::span<const std::byte> header, stage now) noexcept;

/// Removes an old mark from a file that something other than the recorder rewrites.
void unmark(int descriptor) noexcept;

/// True if `descriptor`, with header `header`, has a valid mark of this user. False also if that cannot be checked.
[[nodiscard]] bool is_marked(int descriptor, std::span<const std::byte> header) noexcept;

}  // namespace sluice::origin
