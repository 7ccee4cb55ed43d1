#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/trace/model/model.hpp"

/// Classifies code files by their paths alone. Accepts paths of Linux and of Windows.
namespace sluice::symbols {

/// True if a source file or module belongs to the recorded program: it is outside the directories of the system, of
/// Python and of Python packages, it is not the interpreter, and it was not generated while the program ran.
[[nodiscard]] bool is_own_file(trace::frame_kind kind, std::string_view path);

/// Returns the top-level package of a Python file in site-packages, or "torch" for a file in a source checkout of
/// PyTorch; otherwise empty.
[[nodiscard]] std::string_view find_package(std::string_view file);

/// Returns the name of a native file with the prefix that it has on Linux: "libcublas64_12.dll" for
/// "C:\cuda\cublas64_12.dll".
[[nodiscard]] std::string library_name(std::string_view path);

/// The function from which a piece of code was generated.
struct code_origin {
  std::string_view file;
  std::uint64_t line = 0;  ///< The line where the function starts.
  std::string_view function;
};
/// Parses the origin in a name made by torch.fx (torch/fx/graph_module.py): "<eval_with_key>.5 from net.py:33 in
/// forward".
[[nodiscard]] std::optional<code_origin> find_origin(std::string_view file);

}  // namespace sluice::symbols
