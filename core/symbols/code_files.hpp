#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/trace/model/model.hpp"

/// Whose code a file is, judged by its path alone. Paths may be those of Linux or of Windows.
namespace sluice::symbols {

/// True if a source file or module belongs to the recorded program: it lies outside the directories of the system, of
/// Python and of its packages, is not the interpreter, and no compiler wrote it while the program ran.
[[nodiscard]] bool is_own_file(trace::frame_kind kind, std::string_view path);

/// The top-level package of a Python file in site-packages, or "torch" for a file in a checkout of PyTorch; empty if it
/// is in none.
[[nodiscard]] std::string_view package_of(std::string_view file);

/// The name of a native file as Linux has it: "libcublas64_12.dll" for "C:\cuda\cublas64_12.dll".
[[nodiscard]] std::string library_name(std::string_view path);

/// The function that generated code was made from.
struct code_origin {
  std::string_view file;
  std::uint64_t line = 0;  ///< Where the function begins.
  std::string_view function;
};
/// What a name of torch.fx says about it (torch/fx/graph_module.py): "<eval_with_key>.5 from net.py:33 in forward".
[[nodiscard]] std::optional<code_origin> origin_of(std::string_view file);

}  // namespace sluice::symbols
