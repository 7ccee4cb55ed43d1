#pragma once

#include <string_view>

/// Recognizes XLA's files, which are protocol buffers without a magic number. Private to core/import.
namespace sluice::importing {

/// Returns true if `head` is the start of a pprof profile, which begins with the types of its values. Each type is two
/// numbers of strings.
[[nodiscard]] bool is_pprof_head(std::string_view head);
/// Returns true if `head` is the start of an XSpace, which begins with a plane named "/host:CPU", "/device:GPU:0",
/// "Task Environment" or similar.
[[nodiscard]] bool is_xspace_head(std::string_view head);

}  // namespace sluice::importing
