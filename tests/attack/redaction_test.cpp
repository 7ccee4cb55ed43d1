// What --redact promises to leave out, looked for in the bytes of every file that is written.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <type_traits>

#include "core/export/export.hpp"
#include "core/export/recording/trim.hpp"
#include "core/trace/file/reader.hpp"
#include "core/trace/file/writer.hpp"
#include "core/trace/model/schema.hpp"
#include "tests/instrumentation/writer/recording.hpp"

namespace sluice {
namespace {

using testing::HasSubstr;
using testing::Not;
using namespace trace;

/// What must not be found again.
constexpr std::array<std::string_view, 15> secrets = {
    "sikrituser",  "sikritdir",  "sikritvalue", "sikrittoken", "sikritpass", "sikrithost", "sikritfirst", "sikritlast",
    "sikritlogin", "sikritfolk", "sikrithome",  "sikritdata",  "sikritwin",  "fe80::51c",  "10.51.52.53"};
/// Where they stand: what any text may look like,
constexpr std::array<std::string_view, 11> anywhere = {
    "open /home/sikrituser/sikritdir/model.py", "SIKRIT_KEY=sikritvalue", "run --token sikrittoken now",
    "see http://me:sikritpass@sikrithost.example/x", "by sikrituser on sikrithost",
    // A path with spaces and no quotes, and who that is;
    "cannot open /home/sikritfirst sikritlast/x.py here", "sikritfirst sikritlast was here",
    // users known from the environment alone, and from Windows;
    "USER=sikritlogin LOGNAME='sikritfolk' HOME=/root-of/sikrithome C:\\Users\\sikritwin\\x.txt",
    "run by sikritlogin, sikritfolk, sikrithome and sikritwin in /home/sikritlogin",
    // a directory without an ending; addresses of the network, with ports, in brackets and at the end of a sentence.
    "wrote to /data/sikritdata and /srv/sikritdir/sikritdata",
    "at fe80::51c, peer:10.51.52.53:29500, [fe80::51c]:80 and fe80::51c%eth0 or 10.51.52.53."};
/// and what names of files and functions may.
constexpr std::array<std::string_view, 2> in_names = {"/home/sikrituser/sikritdir/model.py",
                                                      "/tmp/sikrituser/sikritdir/kernel.cu"};

template <class Row>
constexpr bool names_files_or_code =
    std::is_same_v<Row, frame_row> || std::is_same_v<Row, module_row> || std::is_same_v<Row, source_row> ||
    std::is_same_v<Row, kernel_event> || std::is_same_v<Row, api_call_event> || std::is_same_v<Row, file_io_event>;

template <class Member>
constexpr bool is_id = std::is_enum_v<Member> && sizeof(Member) == sizeof(std::uint64_t);

/// A row of which every text is `text` and every id 1.
template <class Row>
void plant(file_writer& to, std::string_view text) {
  Row row;
  const auto set = [&](auto field) {
    auto& member = row.*field.member;
    using type = std::remove_reference_t<decltype(member)>;
    if constexpr (std::is_same_v<type, string_id>) {
      member = to.intern(text);
    } else if constexpr (is_id<type> && !std::is_same_v<type, event_id>) {
      member = type{1};
    }
  };
  schema<Row>::apply([&](auto... fields) { (set(fields), ...); });
  if constexpr (is_event_row<Row>) row.time = 1'000'000;
  to.add(row);
}

/// One row of each kind for each secret: a column that is added to a kind is in here by itself.
void plant_everywhere(const std::string& path) {
  auto made = file_writer::create(path);
  ASSERT_TRUE(made.has_value());
  file_writer& to = *made;
  // A host that says what it is called: its name is known from here.
  host_row host;
  host.id = host_id{1};
  host.name = to.intern("sikrithost.example");
  to.add(host);
#define SLUICE_PLANT(row, kind)                                                       \
  if constexpr (!std::is_same_v<row, string_row> && !std::is_same_v<row, host_row>) { \
    if constexpr (names_files_or_code<row>) {                                         \
      for (const auto text : in_names) plant<row>(to, text);                          \
    } else {                                                                          \
      for (const auto text : anywhere) plant<row>(to, text);                          \
    }                                                                                 \
  }
  SLUICE_FOR_EACH_ROW(SLUICE_PLANT)
#undef SLUICE_PLANT
  ASSERT_TRUE(to.close().has_value());
}

std::string bytes_of(const std::filesystem::path& path) {
  std::ostringstream all;
  if (std::filesystem::is_directory(path)) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(path))
      if (entry.is_regular_file())
        all << entry.path().string() << std::ifstream(entry.path(), std::ios::binary).rdbuf();
    return all.str();
  }
  all << std::ifstream(path, std::ios::binary).rdbuf();
  return all.str();
}

/// What stands around a secret that was found, for the message.
void expect_none(const std::string& bytes, const std::string& where) {
  for (const std::string_view secret : secrets) {
    const auto at = bytes.find(secret);
    if (at == std::string::npos) continue;
    ADD_FAILURE() << where << " gives away " << secret << ": ..."
                  << bytes.substr(at < 60 ? 0 : at - 60, 120 + secret.size()) << "...";
  }
}

class redaction_test : public testing::Test {
 protected:
  void SetUp() override {
    plant_everywhere(folder_.file("planted.sluice"));
    const auto opened = file::open(folder_.file("planted.sluice"));
    ASSERT_TRUE(opened.has_value());
    trace_ = (*opened)->latest();
    std::string all;
    for (const string_row& row : trace_->tables().strings.rows()) all += row.text + "\n";
    for (const std::string_view secret : secrets) ASSERT_THAT(all, HasSubstr(std::string(secret)));
  }

  collector::temporary_folder folder_;
  std::shared_ptr<const snapshot> trace_;
};

// Tried: to read secrets from the bytes of an export that was made with --redact, in each format.
TEST_F(redaction_test, leaves_no_secret_in_any_format) {
  for (const exports::format& as : exports::formats()) {
    SCOPED_TRACE(as.name);
    exports::options wanted;
    wanted.redact = exports::redaction::all();
    const std::string out = folder_.file("out." + std::string(as.name));
    const auto done = exports::write(*trace_, as, out, wanted);
    if (!done) {
      EXPECT_NE(done.error().code, error_code::io) << done.error().to_string();
      continue;  // Nothing in it that this format could hold.
    }
    expect_none(bytes_of(out), std::string(as.name));
  }
}

// Tried: the same in a recording that was cut with --redact; its texts, and the bytes between them.
TEST_F(redaction_test, leaves_no_secret_in_a_recording_that_was_cut) {
  const std::string out = folder_.file("cut.sluice");
  const auto cut = exports::trim(*trace_, {.range = {0, 10'000'000}, .redact = exports::redaction::all()}, out);
  ASSERT_TRUE(cut.has_value()) << cut.error().to_string();
  const auto opened = file::open(out);
  ASSERT_TRUE(opened.has_value());
  std::string all;
  for (const string_row& row : (*opened)->latest()->tables().strings.rows()) all += row.text + "\n";
  expect_none(all, "a text");
  expect_none(bytes_of(out), "the file");
  EXPECT_THAT(all, HasSubstr("model.py")) << "names of files stay, so that stacks can be read";
}

}  // namespace
}  // namespace sluice
