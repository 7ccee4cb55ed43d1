// Source text around recorded lines, from the files that a recorded process names.
#include "instrumentation/writer/rings/source_text.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <fstream>

#include "instrumentation/ring/producer.hpp"
#include "tests/instrumentation/writer/recording.hpp"

namespace sluice::writer {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::int64_t for_ever = INT64_MAX;

class source_text : public testing::Test {
 protected:
  std::string write(const std::string& name, const std::string& text) {
    const std::string path = folder_.file(name);
    std::ofstream(path, std::ios::binary) << text;
    return path;
  }
  /// The recorded pieces of text around `lines`, from a file whose lines are "1", "2", ... "40".
  std::vector<std::string> pieces(const std::set<std::uint64_t>& lines) {
    std::string text;
    for (int i = 1; i <= 40; ++i) text += std::to_string(i) + "\n";
    return texts(read_source(write("numbers.py", text), lines, for_ever, {.around = 1}));
  }
  static std::vector<std::string> texts(const source_pieces& found) {
    std::vector<std::string> strings;
    for (const source_piece& piece : found.pieces)
      strings.push_back(std::to_string(piece.first_line) + "| " + piece.text);
    return strings;
  }
  temporary_folder folder_;
};

TEST_F(source_text, keeps_the_lines_around_each_recorded_one) {
  EXPECT_THAT(pieces({10, 20}), ElementsAre("9| 9\n10\n11\n", "19| 19\n20\n21\n"));
}
TEST_F(source_text, joins_pieces_that_touch) {
  EXPECT_THAT(pieces({10, 12, 13, 16}), ElementsAre("9| 9\n10\n11\n12\n13\n14\n15\n16\n17\n"));
}
TEST_F(source_text, ends_where_the_file_does) {
  EXPECT_THAT(pieces({1, 40}), ElementsAre("1| 1\n2\n", "39| 39\n40\n"));
  EXPECT_THAT(pieces({41, 42, 1000, ~std::uint64_t{0}}), ElementsAre("40| 40\n"));
  EXPECT_THAT(texts(read_source(write("no-newline.py", "a\nb"), {2}, for_ever)), ElementsAre("1| a\nb\n"));
}
TEST_F(source_text, cuts_long_lines_between_two_characters) {
  const std::string path = write("long.py", "äääää\nb\n");
  EXPECT_THAT(texts(read_source(path, {1}, for_ever, {.line_bytes = 5})), ElementsAre("1| ää\nb\n"));
}
TEST_F(source_text, is_valid_utf8_whatever_the_file_is) {
  const std::string path = write("latin.py",
                                 "gr\xFC\xDF"
                                 "e\xC3\nok\xED\xA0\x80\xF4\x90\x80\x80\xC0\xAF\r\n");
  EXPECT_THAT(texts(read_source(path, {1}, for_ever)), ElementsAre("1| gr??e?\nok?????????\n"));
}
TEST_F(source_text, of_a_file_that_was_changed_meanwhile_is_not_kept) {
  const std::string path = write("changed.py", "a\n");
  const auto found = read_source(path, {1}, 0);
  EXPECT_THAT(found.pieces, IsEmpty());
  EXPECT_TRUE(found.changed);
}
TEST_F(source_text, comes_from_regular_text_files_of_bounded_length_only) {
  EXPECT_THAT(read_source(write("binary.py", std::string("a\0b\n", 4)), {1}, for_ever).pieces, IsEmpty());
  EXPECT_THAT(read_source(write("large.py", std::string(100, '\n')), {1}, for_ever, {.file_bytes = 99}).pieces,
              IsEmpty());
  EXPECT_THAT(read_source("/dev/zero", {1}, for_ever).pieces, IsEmpty());
  EXPECT_THAT(read_source(folder_.file("nowhere.py"), {1}, for_ever).pieces, IsEmpty());
  const std::string pipe = folder_.file("pipe");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_THAT(read_source(pipe, {1}, for_ever).pieces, IsEmpty()) << "and nothing waits for it";
}

// --- in a recording -----------------------------------------------------------------------------------------------------

void record_frames(const std::string& file, const std::vector<std::uint32_t>& lines) {
  std::vector<std::uint64_t> keys;
  for (const std::uint32_t line : lines) {
    ring::frame_record frame{};
    frame.header.time = ring::now();
    frame.key = ring::frame_key_bit | (line + 1000);
    frame.function = ring::intern("f");
    frame.file = ring::intern(file.c_str());
    frame.line = line;
    frame.kind = static_cast<std::uint32_t>(trace::frame_kind::python);
    ring::introduce_frame(frame);
    keys.push_back(frame.key);
  }
  ring::alloc_record record{};
  record.header.time = ring::now();
  record.address = 0x1000;
  record.bytes = 1;
  record.device = ring::no_device;
  record.stack = ring::intern_stack(keys.data(), keys.size());
  ring::emit(record);
}

TEST_F(source_text, is_in_the_recording_when_asked_for) {
  std::string text;
  for (int i = 1; i <= 30; ++i) text += "line " + std::to_string(i) + "\n";
  const std::string path = write("train.py", text);
  const timespec long_ago[2] = {{1, 0}, {1, 0}};
  ASSERT_EQ(utimensat(AT_FDCWD, path.c_str(), long_ago, 0), 0);
  for (const bool wanted : {false, true}) {
    recording r({.sources = wanted});
    ASSERT_TRUE(ring::start(r.socket(), {}));
    record_frames(path, {10, 20});
    record_frames("<string>", {5});
    ring::stop();
    const recorded trace = r.finish();
    const auto& rows = trace.tables().sources.rows();
    ASSERT_EQ(rows.size(), wanted ? 2U : 0U);
    if (!wanted) continue;
    EXPECT_EQ(trace.text(rows[0].file), path);
    EXPECT_EQ(rows[0].first_line, 7U);
    EXPECT_EQ(trace.text(rows[0].text), "line 7\nline 8\nline 9\nline 10\nline 11\nline 12\nline 13\n");
    EXPECT_EQ(rows[1].first_line, 17U);
  }
}

TEST_F(source_text, of_a_file_that_changed_after_its_code_ran_is_missed_aloud) {
  const std::string path = write("train.py", "new\n");
  recording r({.sources = true});
  ASSERT_TRUE(ring::start(r.socket(), {}));
  record_frames(path, {1});
  ASSERT_TRUE(r.live().sync());
  const timespec later[2] = {{4'000'000'000, 0}, {4'000'000'000, 0}};
  ASSERT_EQ(utimensat(AT_FDCWD, path.c_str(), later, 0), 0);
  ring::stop();
  const recorded trace = r.finish();
  EXPECT_TRUE(trace.tables().sources.rows().empty());
  ASSERT_EQ(r.summary.warnings.size(), 1U);
  EXPECT_THAT(r.summary.warnings[0], testing::HasSubstr("train.py"));
}

}  // namespace
}  // namespace sluice::writer
