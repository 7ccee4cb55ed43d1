#pragma once

#include <string_view>

namespace sluice::symbols {

/// The end of `frame_line::missing`, after the name of a file, if the file's symbols may not be read: see local_files.
inline constexpr std::string_view untrusted_symbols = " is not looked at: see --sources-from";

}  // namespace sluice::symbols
