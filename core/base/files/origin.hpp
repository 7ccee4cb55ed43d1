#pragma once

#include <cstddef>
#include <span>

/// Checks whether this user made a recording on this machine. Only then does Sluice trust the file paths in the
/// recording, because they come from this user's own program. A recording from another machine could name any file, so
/// that Sluice would display that file or send it somewhere.
///
/// The recorder marks its file with an extended attribute, `user.sluice.origin`. The attribute's value is a keyed hash
/// (SipHash) of the file's inode, creation time and header and, once the file is closed, of its size and modification
/// time. Each user has a key: 16 random bytes in $XDG_STATE_HOME/sluice/key (else ~/.local/state/sluice/key).
/// Therefore, a copied, downloaded or unpacked file has no valid mark, and a later write makes the mark invalid.
namespace sluice::origin {

/// Whether the recorder still writes the file, or has closed it.
enum class stage { growing, closed };

/// Marks the open file `descriptor`, which starts with `header`, as recorded by this user. Creates the user's key if
/// there is none. If the key or the attribute cannot be written, the file stays unmarked. After a call with stage
/// `closed`, the file must not change.
void mark(int descriptor, std::span<const std::byte> header, stage now) noexcept;

/// Removes the mark of the open file `descriptor`, if it has one. All code that rewrites a recording must call this
/// function, except the recorder.
void unmark(int descriptor) noexcept;

/// True if the open file `descriptor`, which starts with `header`, has a valid mark by this user.
[[nodiscard]] bool is_marked(int descriptor, std::span<const std::byte> header) noexcept;

}  // namespace sluice::origin
