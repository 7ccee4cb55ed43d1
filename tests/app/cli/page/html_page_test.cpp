// sluice export --format html: the content of the page. tests/app/browser opens one in a browser.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cctype>
#include <filesystem>
#include <string>

#include "tests/app/cli/installed_program.hpp"

namespace sluice {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;
namespace fs = std::filesystem;

const std::string recording = SLUICE_SOURCE_DIR "/assets/recordings/leak.sluice";

std::string from_base64(const std::string& text) {
  const std::string letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bytes;
  unsigned bits = 0, group = 0;
  for (const char c : text) {
    if (c == '=') break;
    group = group << 6U | static_cast<unsigned>(letters.find(c));
    bits += 6;
    if (bits < 8) continue;
    bits -= 8;
    bytes += static_cast<char>(group >> bits & 255U);
  }
  return bytes;
}

class html_page : public installed_program {
 protected:
  html_page() {
    write_page("index.html", "<!DOCTYPE html>\n<html><body><script src=\"page_start.js\"></script>\n</body></html>\n");
    write_page("page_start.js", "start();\n");
  }

  /// The content of the element with this attribute, decoded.
  static std::string part(const std::string& page, const std::string& attribute) {
    const std::string begin = "<script type=\"text/plain\" data-" + attribute + ">";
    const std::size_t at = page.find(begin);
    if (at == std::string::npos) return "there is no " + attribute;
    const std::size_t start = at + begin.size();
    return from_base64(page.substr(start, page.find("</script>", start) - start));
  }
};

TEST_F(html_page, holds_the_program_packed_and_the_recording_byte_for_byte) {
  const auto sluice = run_sluice({"export", recording, "-o", "leak.html"});
  ASSERT_EQ(sluice.status, 0) << sluice.err;
  const std::string page = make_content(file("leak.html"));
  EXPECT_THAT(page, StartsWith("<!DOCTYPE html>\n"));
  EXPECT_THAT(page, EndsWith("<script>\nstart();\n</script>\n</body></html>\n"));
  EXPECT_THAT(page, Not(HasSubstr("src=")));
  EXPECT_EQ(part(page, "part=\"page.js\""), "this is page.js.gz");
  EXPECT_EQ(part(page, "part=\"page.wasm\""), "this is page.wasm.gz");
  EXPECT_TRUE(part(page, "recording=\"leak.sluice\"") == make_content(recording));
}

TEST_F(html_page, holds_a_part_of_a_recording_as_trim_cuts_it) {
  ASSERT_EQ(run_sluice({"export", recording, "--range", "260ms:262ms", "--redact", "-o", "part.html"}).status, 0);
  write("part.sluice", part(make_content(file("part.html")), "recording=\"leak.sluice\""));
  ASSERT_EQ(run_sluice({"trim", recording, "--range", "260ms:262ms", "--redact", "-o", "trimmed.sluice"}).status, 0);
  const std::vector<std::string> query{"query", "part.sluice", "select count(*), min(time), max(end) from kernels"};
  const std::string found = run_sluice(query).out;
  EXPECT_EQ(found, run_sluice({"query", "trimmed.sluice", query.back()}).out);
  EXPECT_NE(found, run_sluice({"query", recording, query.back()}).out);
}

TEST_F(html_page, redacts_the_name_of_the_recording) {
  fs::copy_file(recording, file("password=hunter2.sluice"));
  ASSERT_EQ(run_sluice({"export", "password=hunter2.sluice", "--redact", "-o", "page.html"}).status, 0);
  const std::string page = make_content(file("page.html"));
  EXPECT_THAT(page, Not(HasSubstr("hunter2")));
  EXPECT_THAT(page, HasSubstr("data-recording=\"password=[redacted].sluice\""));
}

TEST_F(html_page, puts_a_name_into_the_page_that_cannot_end_its_element) {
  const std::string name = "a\"><script>alert(1)<b&c.sluice";
  fs::copy_file(recording, file(name));
  ASSERT_EQ(run_sluice({"export", name, "-o", "page.html"}).status, 0);
  const std::string page = make_content(file("page.html"));
  EXPECT_THAT(page, Not(HasSubstr("alert(1)<b")));
  EXPECT_THAT(page, HasSubstr("data-recording=\"a&quot;&gt;&lt;script&gt;alert(1)&lt;b&amp;c.sluice\""));
}

TEST_F(html_page, imports_a_trace_of_another_tool_first) {
  ASSERT_EQ(run_sluice({"export", recording, "--format", "chrome", "-o", "trace.json"}).status, 0);
  ASSERT_EQ(run_sluice({"export", "trace.json", "-o", "page.html"}).status, 0);
  const std::string held = part(make_content(file("page.html")), "recording=\"trace.sluice\"");
  write("held.sluice", held);
  EXPECT_EQ(run_sluice({"query", "held.sluice", "select count(*) from kernels"}).out,
            run_sluice({"query", "trace.json", "select count(*) from kernels"}).out);
}

TEST_F(html_page, replaces_a_file_only_if_it_may) {
  write("notes.html", "<!DOCTYPE html>\n<p>mine</p>\n");
  EXPECT_NE(run_sluice({"export", recording, "-o", "notes.html"}).status, 0);
  EXPECT_THAT(make_content(file("notes.html")), HasSubstr("mine"));
  EXPECT_EQ(run_sluice({"export", recording, "-o", "page.html"}).status, 0);
  EXPECT_NE(run_sluice({"export", recording, "-o", "page.html"}).status, 0);
  EXPECT_EQ(run_sluice({"export", recording, "-o", "page.html", "--force"}).status, 0);
}

TEST_F(html_page, says_what_is_missing) {
  EXPECT_THAT(run_sluice({"export", recording, "-o", "page.html", "--table", "kernels"}).err, HasSubstr("--table"));
  fs::remove(file("share/sluice/web/page.wasm.gz"));
  EXPECT_THAT(run_sluice({"export", recording, "-o", "page.html"}).err, HasSubstr("page not found"));
  EXPECT_FALSE(exists("page.html"));
}

}  // namespace
}  // namespace sluice
