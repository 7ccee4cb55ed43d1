#include "app/cli/options/word_option.hpp"

#include <CLI/CLI.hpp>
#include <vector>

namespace sluice::cli {

CLI::Option* choose(CLI::Option* option, const std::string& words) {
  const std::vector<std::string> each = CLI::detail::split(words, '|');
  return option->check(CLI::IsMember(each).description(""))->type_name(words);
}

}  // namespace sluice::cli
