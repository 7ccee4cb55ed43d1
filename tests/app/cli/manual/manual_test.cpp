// The man page and the shell completions, which are generated from the declared verbs.
#include <gmock/gmock.h>

#include <CLI/CLI.hpp>
#include <cstdio>

#include "app/cli/manual/verb_tree.hpp"
#include "tests/app/cli/sluice_program.hpp"

namespace sluice::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

/// The output of a shell command without the last newline; "FAILED" if the command fails.
std::string shell(const std::string& command) {
  auto [status, text, errors] = run_shell(command);
  if (status != 0) return "FAILED " + text;
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

bool is_installed(const std::string& program) { return !shell("command -v " + program + " || true").empty(); }

/// Fixture with a program whose declaration contains every character that is hard to quote.
class manual_test : public sluice_program {
 protected:
  manual_test() : app_("Sluice: a tool", "sluice") {
    CLI::App* verb = app_.add_subcommand("cut", "It's [a] verb: with \\ and $(date)");
    verb->add_option("-o,--output", text_, "Where it's [written]: $HOME `date`")->type_name("FILE");
    verb->add_option("--format", text_, ".starts with a dot\n'and a quote")->type_name("text|json");
    verb->add_option("FILE", text_, "What to cut")->required()->type_name("");
    CLI::App* hidden = app_.add_subcommand("secret", "Not shown");
    hidden->group("");
    CLI::App* run = app_.add_subcommand("run", "Runs a command");
    run->prefix_command();
  }

  CLI::App app_;
  std::string text_;
};

TEST_F(manual_test, reads_what_is_declared) {
  const program_facts program = describe(app_);
  ASSERT_EQ(program.verbs.size(), 2U) << "the hidden verb is left out";
  const verb_facts& cut = program.verbs[0];
  EXPECT_EQ(cut.name, "cut");
  EXPECT_EQ(cut.usage, "sluice cut [OPTIONS] FILE");
  ASSERT_EQ(cut.positionals.size(), 1U);
  EXPECT_EQ(cut.positionals[0].kind, value_kind::file);
  ASSERT_EQ(cut.options.size(), 3U) << "--help is one of them";
  EXPECT_EQ(cut.options[1].short_name, "o");
  EXPECT_EQ(cut.options[1].kind, value_kind::file);
  EXPECT_EQ(cut.options[2].choices, (std::vector<std::string>{"text", "json"}));
  EXPECT_TRUE(program.verbs[1].runs_command);
}

TEST_F(manual_test, man_page_is_sound_roff) {
  const std::string page = man_page(describe(app_), "1.2.3");
  EXPECT_THAT(page, HasSubstr("\n\\&.starts with a dot\n.br\n\\&'and a quote\n"));
  EXPECT_THAT(page, HasSubstr("verb: with \\e and"));
  EXPECT_THAT(page, Not(HasSubstr("secret")));
  if (!is_installed("groff")) GTEST_SKIP() << "skipped: groff is not installed";
  write("page.1", page);
  EXPECT_EQ(shell("groff -man -ww -z -Tascii " + file("page.1") + " 2>&1"), "");
}

TEST_F(manual_test, completions_are_sound_scripts) {
  const program_facts program = describe(app_);
  write("sluice.bash", bash_completion(program));
  write("_sluice", zsh_completion(program));
  write("sluice.fish", fish_completion(program));
  EXPECT_EQ(shell("bash -n " + file("sluice.bash") + " 2>&1"), "");
  if (is_installed("zsh")) {
    EXPECT_EQ(shell("zsh -n " + file("_sluice") + " 2>&1"), "");
  }
  if (is_installed("fish")) {
    EXPECT_EQ(shell("fish -n " + file("sluice.fish") + " 2>&1"), "");
  }
}

/// Fixture that completes command lines with the completion script that the program prints.
class bash_completion_test : public sluice_program {
 protected:
  bash_completion_test() {
    const program_result output = run_sluice({"manual", "bash"});
    EXPECT_EQ(output.status, 0);
    write("sluice.bash", output.out);
  }

  /// The completions for the last of `words`, which are split as Readline splits them.
  std::string complete(const std::string& words) {
    return shell("cd " + file(".") + " && bash --norc -c 'source ./sluice.bash; COMP_WORDS=(" + words +
                 "); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _sluice 2>/dev/null; echo \"${COMPREPLY[*]}\"'");
  }
};

TEST_F(bash_completion_test, offers_verbs) {
  EXPECT_EQ(complete("sluice rep"), "report");
  EXPECT_EQ(complete("sluice man"), "") << "a hidden verb";
}

TEST_F(bash_completion_test, offers_options_and_their_values) {
  EXPECT_EQ(complete("sluice record --tri"), "--trigger-peak");
  EXPECT_EQ(complete("sluice record --mode ti"), "timeline");
  EXPECT_EQ(complete("sluice record --mode = t"), "timeline");
  EXPECT_EQ(complete("sluice report --format \"\""), "text json");
  EXPECT_EQ(complete("sluice demo pool"), "pool-churn");
}

TEST_F(bash_completion_test, offers_files_with_spaces_in_their_names) {
  write("a run.sluice", "");
  EXPECT_EQ(complete("sluice a"), "attach a run.sluice") << "verbs, then files: `sluice FILE` opens one";
  EXPECT_EQ(complete("sluice report a"), "a run.sluice");
  EXPECT_EQ(complete("sluice trim -o a"), "a run.sluice");
}

TEST_F(bash_completion_test, offers_programs_to_record) {
  EXPECT_THAT(complete("sluice record -- bas"), HasSubstr("bash"));
}

TEST_F(manual_test, of_the_program_itself_names_each_verb) {
  const std::string help = run_sluice({"--help"}).out;
  const program_result page = run_sluice({"manual", "man"});
  ASSERT_EQ(page.status, 0);
  std::istringstream lines(help.substr(help.find("Subcommands:")));
  std::string line;
  std::getline(lines, line);
  int verbs = 0;
  for (std::string name; lines >> name && std::getline(lines, line); ++verbs) {
    EXPECT_THAT(page.out, HasSubstr("\n.SS " + name + "\n"));
    for (const char* shell_name : {"zsh", "fish"}) EXPECT_THAT(run_sluice({"manual", shell_name}).out, HasSubstr(name));
  }
  EXPECT_GT(verbs, 10);
}

}  // namespace
}  // namespace sluice::cli
