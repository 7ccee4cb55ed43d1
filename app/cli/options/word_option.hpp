#pragma once

#include <string>

namespace CLI {
class Option;
}

namespace sluice::cli {

/// Limits an option to words such as "text|json", and shows them in the help. Returns the option.
CLI::Option* choose(CLI::Option* option, const std::string& words);

}  // namespace sluice::cli
