#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>

#include "core/metrics/findings/descriptors.hpp"

// Each folder of findings has a page. It shows the texts of the folder's rules, which `sluice report --explain` prints,
// and what to do in general, which only the page says.
namespace sluice::metrics {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view to_do = "**What to do.** ";

fs::path pages() { return fs::path(SLUICE_SOURCE_DIR) / "core/metrics/findings"; }

std::string read(const fs::path& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// The paragraph, in lines of at most 120 characters.
std::string wrap(std::string_view label, std::string_view text) {
  std::istringstream words{std::string(label) + std::string(text)};
  std::string output, line;
  for (std::string word; words >> word;) {
    if (!line.empty() && line.size() + 1 + word.size() > 120) output += std::exchange(line, {}) + '\n';
    line += (line.empty() ? "" : " ") + word;
  }
  return output + line + '\n';
}

/// What the page says about the kind after `to_do`; empty if it says nothing.
std::string find_advice(const std::string& page, std::string_view word) {
  const std::size_t section = page.find("\n## `" + std::string(word) + "`\n");
  if (section == std::string::npos) return {};
  const std::size_t next = page.find("\n## ", section + 1), begin = page.find(to_do, section);
  if (begin == std::string::npos || begin > next) return {};
  const std::size_t from = begin + to_do.size();
  const std::string advice = page.substr(from, page.find("\n\n", from) - from);
  return advice.substr(0, advice.find_last_not_of('\n') + 1);
}

/// The fixes of the kind as code, each with its framework and the case in which it helps.
std::string list_fixes(const finding_rule& rule) {
  std::string output;
  for (const code_fix& fix : rule.fixes) {
    const bool python = fix.framework != "CUDA C++" && !fix.code.starts_with("export ");
    output += "\n" + std::string(fix.framework) + (fix.when.empty() ? "" : ", ") + std::string(fix.when) + ":\n\n```" +
              (python                        ? "python"
               : fix.framework == "CUDA C++" ? "cpp"
                                             : "sh") +
              "\n" + std::string(fix.code) + "\n```\n";
  }
  return output;
}

/// The page as it should be, with the advice that `page` already has.
std::string write_page(const finding_descriptor& folder, const std::string& page) {
  std::string output = "# " + std::string(folder.title) + '\n';
  for (const finding_rule& rule : folder.rules)
    output += "\n## `" + std::string(rule.word) + "`\n\n" + wrap("", rule.means) + '\n' +
              wrap("**How it is found.** ", rule.found_by) + '\n' + wrap("**What it cannot see.** ", rule.cannot_see) +
              '\n' + wrap(to_do, find_advice(page, rule.word)) + list_fixes(rule);
  return output;
}

TEST(finding_pages, show_the_texts_of_their_rules) {
  for (const finding_descriptor& folder : finding_descriptors_in_order) {
    const fs::path path = pages() / folder.folder / "README.md";
    const std::string page = read(path), expected = write_page(folder, page);
    if (std::getenv("SLUICE_WRITE_GOLDEN") != nullptr) std::ofstream(path) << expected;
    EXPECT_EQ(page, expected) << "SLUICE_WRITE_GOLDEN=1 rewrites " << path;
  }
}

TEST(finding_pages, say_what_to_do_about_each_kind) {
  for (const finding_descriptor& folder : finding_descriptors_in_order) {
    const std::string page = read(pages() / folder.folder / "README.md");
    for (const finding_rule& rule : folder.rules) {
      const std::string advice = find_advice(page, rule.word);
      EXPECT_TRUE(advice.ends_with('.')) << rule.word << ": " << advice;
    }
  }
}

TEST(finding_pages, are_those_of_the_folders_that_are_listed) {
  std::set<std::string> listed{"shared"}, folders;
  for (const finding_descriptor& folder : finding_descriptors_in_order) listed.insert(std::string(folder.folder));
  for (const auto& entry : fs::directory_iterator(pages()))
    if (entry.is_directory()) folders.insert(entry.path().filename().string());
  EXPECT_EQ(folders, listed);
}

}  // namespace
}  // namespace sluice::metrics
