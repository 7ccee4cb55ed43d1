// Each row of inventory.md names a header, a test, and an example or demo; all of them must exist.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace sluice::runtime {
namespace {

namespace fs = std::filesystem;

const fs::path root = SLUICE_SOURCE_DIR;

std::set<std::string> words(const std::vector<std::string>& lines) {
  std::set<std::string> out;
  for (const std::string& line : lines) {
    std::stringstream in(line);
    for (std::string word; in >> word;) out.insert(word);
  }
  return out;
}

const std::set<std::string> every_row = words({
    "D1 D2 D3 D4 D5",
    "M1 M2 M3 M4 M5",
    "P1 P2 P3 P4 P5 P6 P7",
    "A1 A2 A3 A4 A5",
    "H1 H2 H3 H4 H5",
    "S1 S2 S3 S4 S5",
    "E1 E2 E3",
    "G1",
    "T1 T2 T3 T4",
    "N1 N2 N3 N4 N5",
    "I1 I2",
    "F1 F2 F3 F4",
});

struct row {
  std::string id;
  std::vector<std::string> names, headers, tests, shown_by;
};

std::string to_text(const fs::path& path) {
  std::ifstream in(path);
  std::stringstream out;
  out << in.rdbuf();
  return out.str();
}

// The backquoted texts in a cell.
std::vector<std::string> in_quotes(const std::string& cell) {
  static const std::regex quote("`([^`]+)`");
  std::vector<std::string> out;
  for (std::sregex_iterator it(cell.begin(), cell.end(), quote), end; it != end; ++it) out.push_back((*it)[1]);
  return out;
}

std::vector<row> rows() {
  std::ifstream in(root / "instrumentation/runtime/inventory.md");
  std::vector<row> out;
  for (std::string line; std::getline(in, line);) {
    if (!std::regex_search(line, std::regex("^\\| [A-Z][0-9] \\|"))) continue;
    std::vector<std::string> cells;
    std::stringstream parts(line);
    for (std::string cell; std::getline(parts, cell, '|');) cells.push_back(cell);
    if (cells.size() != 7) {
      ADD_FAILURE() << "six cells were expected: " << line;
      continue;
    }
    out.push_back(
        {line.substr(2, 2), in_quotes(cells[3]), in_quotes(cells[4]), in_quotes(cells[5]), in_quotes(cells[6])});
  }
  return out;
}

bool has_word(const std::string& text, const std::string& word) {
  const auto is_part = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
  for (auto at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
    const bool begins = at == 0 || !is_part(text[at - 1]);
    const bool ends = at + word.size() == text.size() || !is_part(text[at + word.size()]);
    if (begins && ends) return true;
  }
  return false;
}

bool has_any(const std::string& text, const std::vector<std::string>& words) {
  return std::any_of(words.begin(), words.end(), [&](const auto& word) { return has_word(text, word); });
}

// The source of a demo that `sluice demo` lists, or the example itself; empty if there is none.
fs::path get_source(const std::string& shown_by) {
  static const std::string demo = "sluice demo ";
  if (!shown_by.starts_with(demo)) return root / shown_by;
  std::string name = shown_by.substr(demo.size());
  const std::string listed = '"' + name + '"';
  if (to_text(root / "app/demos/demos.cpp").find(listed) == std::string::npos) return {};
  std::replace(name.begin(), name.end(), '-', '_');
  return root / "app/demos" / (name + ".cpp");
}

TEST(inventory, has_an_entry_for_every_row_and_for_no_other) {
  std::map<std::string, int> entries;
  for (const row& r : rows()) ++entries[r.id];
  for (const auto& [id, count] : entries) {
    EXPECT_TRUE(every_row.contains(id)) << id << " is not a row";
    EXPECT_EQ(count, 1) << id << " occurs more than once";
  }
  for (const std::string& id : every_row) {
    EXPECT_TRUE(entries.contains(id)) << id << " has no entry";
  }
}

TEST(inventory, names_what_the_headers_declare) {
  for (const row& r : rows()) {
    EXPECT_FALSE(r.names.empty()) << r.id << " names nothing";
    EXPECT_FALSE(r.headers.empty()) << r.id << " names no header";
    std::string headers;
    for (const std::string& header : r.headers) {
      EXPECT_TRUE(fs::is_regular_file(root / "instrumentation/runtime" / header)) << r.id << ": no header " << header;
      headers += to_text(root / "instrumentation/runtime" / header);
    }
    for (const std::string& name : r.names) {
      EXPECT_TRUE(has_word(headers, name)) << r.id << ": none of its headers declares " << name;
    }
  }
}

// True if this program has the test; a test that runs on each device must run on the simulated device. Tests of
// recordings are another program.
bool is_run(const std::string& file, const std::string& test) {
  if (file.starts_with("recording/")) return true;
  const auto& whole = *::testing::UnitTest::GetInstance();
  for (int i = 0; i < whole.total_test_suite_count(); ++i) {
    const auto& suite = *whole.GetTestSuite(i);
    for (int j = 0; j < suite.total_test_count(); ++j) {
      const auto& info = *suite.GetTestInfo(j);
      const std::string name = info.name();
      if (!std::string_view(info.file()).ends_with("/" + file)) continue;
      if (name == test || name == test + "/simulated") return true;
    }
  }
  return false;
}

TEST(inventory, names_tests_that_exist) {
  for (const row& r : rows()) {
    EXPECT_FALSE(r.tests.empty()) << r.id << " names no test";
    std::string files;
    for (const std::string& test : r.tests) {
      const auto colon = test.find(':');
      ASSERT_NE(colon, std::string::npos) << r.id << ": '" << test << "' is not file:test";
      const fs::path file = root / "tests/instrumentation/runtime" / test.substr(0, colon);
      ASSERT_TRUE(fs::is_regular_file(file)) << r.id << ": no file " << file;
      const std::string text = to_text(file);
      const std::regex head("TEST(_P|_F)?\\(\\s*\\w+,\\s*" + test.substr(colon + 1) + "\\s*\\)");
      EXPECT_TRUE(std::regex_search(text, head)) << r.id << ": no test " << test;
      EXPECT_TRUE(is_run(test.substr(0, colon), test.substr(colon + 1))) << r.id << ": nothing runs " << test;
      files += text;
    }
    EXPECT_TRUE(has_any(files, r.names)) << r.id << ": its tests use none of its names";
  }
}

TEST(inventory, names_demos_and_examples_that_exist) {
  for (const row& r : rows()) {
    EXPECT_FALSE(r.shown_by.empty()) << r.id << " is not shown by an example or demo";
    for (const std::string& shown_by : r.shown_by) {
      const fs::path source = get_source(shown_by);
      EXPECT_TRUE(fs::is_regular_file(source)) << r.id << ": there is no '" << shown_by << "'";
      EXPECT_TRUE(has_any(to_text(source), r.names)) << r.id << ": '" << shown_by << "' uses none of its names";
    }
  }
}

}  // namespace
}  // namespace sluice::runtime
