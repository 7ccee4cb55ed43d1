// sluice manual: prints the man page and shell completions; called by the build.
#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "app/cli/manual/verb_tree.hpp"
#include "app/cli/options/verbs.hpp"
#include "app/cli/options/word_option.hpp"
#include "core/base/version.hpp"

namespace sluice::cli {

action declare_manual(CLI::App& command) {
  const auto form = std::make_shared<std::string>();
  choose(command.add_option("FORM", *form, "Form to print")->required(), "man|bash|zsh|fish");
  return [&command, form] {
    const program_facts program = describe(*command.get_parent());
    const std::string text = *form == "man"    ? man_page(program, version())
                             : *form == "bash" ? bash_completion(program)
                             : *form == "zsh"  ? zsh_completion(program)
                                               : fish_completion(program);
    return print_document(text) ? 0 : status_failed;
  };
}

}  // namespace sluice::cli
