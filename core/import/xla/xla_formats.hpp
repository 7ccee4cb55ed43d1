#pragma once

#include <string_view>

/// Recognizes XLA's files, which are protocol buffers without a mark at their begin. Private to core/import.
namespace sluice::importing {

/// A pprof profile begins with the types of its values: two numbers of texts each.
[[nodiscard]] bool is_pprof_head(std::string_view head);
/// An XSpace begins with a plane, whose name is "/host:CPU", "/device:GPU:0", "Task Environment" or the like.
[[nodiscard]] bool is_xspace_head(std::string_view head);

}  // namespace sluice::importing
