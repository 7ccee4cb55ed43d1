#pragma once

#include <string_view>

namespace sluice::symbols {

/// The end of what `frame_line::missing` says, after the name of a file, where symbols may not be read: see local_files.
inline constexpr std::string_view untrusted_symbols = " is not looked at: see --sources-from";

}  // namespace sluice::symbols
