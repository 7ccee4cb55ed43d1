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

/// Marks the open file `descriptor`, which begins with `header`, as recorded by this user. Creates the key if needed.
/// If key or attribute cannot be written, the file stays unmarked. After stage `closed` the file must not change.
void mark(int descriptor, std::span<const std::byte> header, stage now) noexcept;

/// Removes an old mark from the open file `descriptor`. For code other than the recorder that rewrites a recording.
void unmark(int descriptor) noexcept;

/// True if the open file `descriptor`, which begins with `header`, has a mark of this user that could be verified.
[[nodiscard]] bool is_marked(int descriptor, std::span<const std::byte> header) noexcept;

}  // namespace sluice::origin
