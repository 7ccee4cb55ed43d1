// core/trace/file/format.md lists the schema's tables, and a reader written from it alone reads the same as Sluice's.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "core/query/sql/columns.hpp"
#include "core/query/sql/member_names.hpp"
#include "core/trace/columns/column_values.hpp"
#include "core/trace/file/reader.hpp"
#include "tests/core/recordings/recording.hpp"
#include "tests/core/trace/random_rows.hpp"
#include "tests/programs.hpp"

namespace sluice::query::format_document {
namespace {

using namespace trace;

const std::string document = SLUICE_SOURCE_DIR "/core/trace/file/format.md";
const std::string marker = "<!-- made by a test from here on -->\n";

std::string contents(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

std::string get_words(const column& subject) {
  std::string text;
  for (std::size_t i = 0; i < subject.words.size(); ++i) {
    text += (i == 0 ? ": " : ", ") + std::to_string(i) + " " + std::string(subject.words[i]);
  }
  return text;
}

std::string get_type(column_type type) {
  switch (type) {
    case column_type::integer:
      return "i64";
    case column_type::size:
      return "u64";
    case column_type::real:
      return "real";
    case column_type::flag:
      return "0 or 1";
    case column_type::time:
      return "time";
    case column_type::id:
      return "id";
    case column_type::text:
      return "string";
    case column_type::word:
      return "set";
  }
  return {};
}

/// The columns of a kind in SQL: the schema's come first, in its order. Strings have no table there.
template <class Row, std::size_t Index>
std::string get_line(const table* shown) {
  constexpr auto field = field_at<Row, Index>;
  using type = std::remove_cvref_t<decltype(Row{}.*field.member)>;
  std::string usual;
  if constexpr (!std::is_same_v<type, std::string>) {
    const std::uint64_t bits = to_bits(Row{}.*field.member);
    if (bits != 0) usual = std::to_string(static_cast<std::int64_t>(bits));
  }
  std::string stored = std::is_same_v<type, std::string> ? "text" : "id";
  std::string about = Index == 0 ? "Its id" : "The text";
  if (shown != nullptr) {
    const column& subject = shown->columns[Index];
    if (!std::is_same_v<type, std::string>) stored = get_type(subject.type);
    about = std::string(subject.about) + get_words(subject);
  }
  return "| " + std::to_string(field.number) + " | " + std::string(member_name<Row, Index>()) + " | " + stored + " | " +
         usual + " | " + about + " |\n";
}

template <class Row>
std::string find_section(row_type type, const char* name) {
  const auto shown = std::find_if(tables().begin(), tables().end(), [=](const table& t) { return t.type == type; });
  const table* const found = shown == tables().end() ? nullptr : &*shown;
  std::string text = std::string("\n### ") + name + ", " + std::to_string(static_cast<unsigned>(type)) + "\n\n";
  text += found == nullptr ? "Texts, each once." : std::string(found->about);
  text += "\n\n| number | member | stored | default | what |\n|---|---|---|---|---|\n";
  [&]<std::size_t... Index>(std::index_sequence<Index...>) { ((text += get_line<Row, Index>(found)), ...); }
  (std::make_index_sequence<field_count<Row>>());
  return text;
}

/// A kind of summary and its columns, in order. SQL does not show them.
struct summary_words {
  std::string about;
  std::vector<std::string> columns;
};

const std::map<row_type, summary_words>& words_of_summaries() {
  static const std::string placed = "Number of its curve";
  static const std::map<row_type, summary_words> table = {
      {row_type::section,
       {"The leaves of the tree of tiles, in order of time, without gaps", {"Events in it, about", "Begin", "End"}}},
      {row_type::boundary_block,
       {"Blocks that live over the begin of a section, with all that their events say",
        {"The block",
         "Birth",
         "Death; 2^61 if it was never freed",
         "The block that it lies in",
         "The event of its allocation",
         "The event of its free",
         "Whose it is",
         "The thread that asked for it",
         "The device; none for the host's",
         "As of alloc",
         "As of alloc",
         "As of alloc",
         "As of alloc",
         "As of alloc",
         "Size in bytes",
         "Bytes that it takes, no fewer than its size",
         "As of alloc",
         "As of alloc",
         "As of alloc",
         "Not freed in any event, but gone from a checkpoint after a loss",
         "0 none, 1 weight, 2 gradient, 3 optimizer state, 4 activation, 5 input, 6 workspace",
         "What led to the category: core/index/tensors/categories.hpp"}}},
      {row_type::block_category,
       {"What blocks are for that cross no boundary; a chunk holds those of one section",
        {"The block", "As of boundary_block", "As of boundary_block"}}},
      {row_type::block_uses,
       {"All uses of a block that lives over a boundary, or was used outside of the section that it lives in",
        {"The block", "Its birth", "Its death, as of boundary_block", "Time of the first use", "The event of that one",
         "Time of the last use", "The event of that one", "Launches of kernels that name it", "Copies that touch it",
         "Launches of graphs that name it", "Time of the first kernel", "Time of the first copy from the host",
         "Time of the last copy from the host", "Copies from the host", "Of those, from pageable memory"}}},
      {row_type::open_slice,
       {"Slices that run on over a boundary; a chunk holds those of one",
        {"The event", "The boundary", "As of lane",
         "Its number among the streams, directions or threads that the saved parts list", "The lane that it lies in",
         "Begin", "End", "Its name", "Bytes that it moved", "Its kind: core/timeline/slice_kind.hpp",
         "Of a copy: the kind of memory on the host's side"}}},
      {row_type::chunk_reach,
       {"What a chunk of events is about, so that those that a question reads are found without reading them all",
        {"Its number among the chunks of tables and events, from 0",
         "The first time that counts for its rows: also when work was enqueued",
         "The last one; 2^61 where a row has no end",
         "The lowest id of its events; of attributes and links, of what they are about", "The highest",
         "The lowest id of the blocks that it tells the birth of", "The highest"}}},
      {row_type::step,
       {"Steps of a program that repeats itself, by process and time; those of one do not overlap",
        {"Whose", "Begin", "End", "As the program says, else from 0", "The mark or range; none: inferred"}}},
      {row_type::last_sample,
       {"What was sampled last before a section begins; a chunk holds those of one boundary",
        {"The event", "The boundary", "1 counter, 2 pool, 3 device", "When it was sampled", "The counter", "The pool",
         "The device", "Of a counter; of a device: bytes that are not tracked, see above",
         "Of a pool: bytes that it holds", "Of a pool: bytes given out", "Of a device: bytes that are free",
         "Of a device: bytes that it has", "Of a device: bytes that the recorder takes, estimated"}}},
      {row_type::curve,
       {"Values over time",
        {"Its number in this file, from 0",
         "1 memory, 2 memory of a category, 3 a pool's reserved and 4 used bytes as it says, 5 what its blocks add up "
         "to; "
         "sampled of a device: 6 used, 7 the recorder's, 8 not tracked; 9 bytes per second of a direction; 10 a "
         "counter",
         "Of memory", "Of memory", "Of a rate", "Of memory", "Of a pool: the driver's blocks name it", "The device",
         "The pool", "The counter", "Its highest value"}}},
      {row_type::curve_bin,
       {"What curves do in the bins of a tile",
        {placed, "Begin of the bin", "Lowest value", "Highest value", "Mean over time", "Value at the bin's end",
         "How far the value lies below the highest at the moment in the bin at which the curve's stack is highest: the "
         "curves drawn on top of one another. 0 for a curve in no stack, and before version 4.1"}}},
      {row_type::integer_bin,
       {"The same of a curve whose values are whole numbers below 2^53 throughout a tile; told from what was before: "
        "the "
        "value at the end of the curve's row before, or `begin` in its first row in a tile",
        {placed, "Begin of the bin", "In a curve's first row in a tile: what its fall and rise are told from",
         "How far the lowest value lies below what was before", "How far the highest value lies above that",
         "How far the value at the bin's end lies above the lowest",
         "Where the mean over time lies between the two, 0..1: the lowest 10 bits are a fraction, those above an "
         "exponent "
         "of 2, of which 63 is 0; 0 is 0",
         "As of curve_bin"}}},
      {row_type::lane,
       {"Rows of slices that do not overlap",
        {"Its number in this file, from 0", "Among those of the same owner, from 0",
         "1 a stream, 2 a direction, 3 the ranges and 4 the calls of a thread, 5 the steps of a process",
         "Of a direction", "The process", "The device", "The stream", "The thread"}}},
      {row_type::lane_bin,
       {"What slices do in the bins of a tile",
        {"Number of its lane", "Begin of the bin", "Slices that begin in it", "ns of it that slices cover",
         "Bytes of those that begin in it; of steps the number of the longest",
         "Length in ns of the longest slice with a part in it", "The event of that one", "Its name",
         "Its kind: core/timeline/slice_kind.hpp", "Of a copy: the kind of memory on the host's side"}}},
      {row_type::saved,
       {"What was found out about the recording as a whole, in a form of its own that changes with the version",
        {"What it is called", "Of the form", "The form's bytes"}}},
  };
  return table;
}

template <class Row, class Member>
std::string stored_as(std::uint16_t number) {
  constexpr std::uint16_t time_number = 2;
  if constexpr (std::is_same_v<Member, std::string>) {
    return "text";
  } else if constexpr (std::is_same_v<Member, time_ns>) {
    return trace::has_differences<Row> && number != time_number ? "i64" : "time";
  } else if constexpr (std::is_same_v<Member, double>) {
    return "real";
  } else if constexpr (std::is_same_v<Member, bool>) {
    return "0 or 1";
  } else if constexpr (std::is_enum_v<Member>) {
    return enum_values<Member> != 0 ? "set" : "id";
  } else {
    return "u64";
  }
}

template <class Row>
std::string summary_section(row_type type, const char* name) {
  const summary_words& words = words_of_summaries().at(type);
  EXPECT_EQ(words.columns.size(), field_count<Row>) << name;
  std::string text = std::string("\n### ") + name + ", " + std::to_string(static_cast<unsigned>(type)) + "\n\n" +
                     words.about + "\n\n| number | member | stored | default | what |\n|---|---|---|---|---|\n";
  const auto add = [&]<std::size_t Index>(std::integral_constant<std::size_t, Index>) {
    constexpr auto field = field_at<Row, Index>;
    using member = std::remove_cvref_t<decltype(Row{}.*field.member)>;
    std::string usual;
    if constexpr (!std::is_same_v<member, std::string>) {
      const std::uint64_t bits = to_bits(Row{}.*field.member);
      if (bits != 0) usual = std::to_string(static_cast<std::int64_t>(bits));
    }
    text += "| " + std::to_string(field.number) + " | " + std::string(member_name<Row, Index>()) + " | " +
            stored_as<Row, member>(field.number) + " | " + usual + " | " + words.columns[Index] + " |\n";
  };
  [&]<std::size_t... Index>(std::index_sequence<Index...>) { (add(std::integral_constant<std::size_t, Index>{}), ...); }
  (std::make_index_sequence<field_count<Row>>());
  return text;
}

std::string made_tables() {
  std::string text;
#define SLUICE_SECTION(row, kind) text += find_section<row>(row_type::kind, #kind);
  SLUICE_FOR_EACH_ROW(SLUICE_SECTION)
#undef SLUICE_SECTION
#define SLUICE_SECTION(row, kind) text += summary_section<row>(row_type::kind, #kind);
  SLUICE_FOR_EACH_SUMMARY_ROW(SLUICE_SECTION)
#undef SLUICE_SECTION
  return text;
}

TEST(format_document, has_the_tables_of_the_schema) {
  const std::string text = contents(document);
  const std::size_t begin = text.find(marker);
  ASSERT_NE(begin, std::string::npos) << document;
  const std::string line = text.substr(0, begin + marker.size()) + made_tables();
  if (std::getenv("SLUICE_WRITE_GOLDEN") != nullptr) {
    std::ofstream(document, std::ios::binary) << line;
  } else {
    EXPECT_EQ(text, line) << "SLUICE_WRITE_GOLDEN=1 rewrites it";
  }
}

/// The output of independent_reader.py, computed by Sluice's reader.
class totals {
 public:
  template <class Row>
  void add(row_type type, const Row& row) {
    of_kind& total = kinds_[std::to_string(static_cast<unsigned>(type))];
    ++total.rows;
    const auto add_value = [&](const auto& field) {
      std::uint64_t& sum = total.sums[std::to_string(field.number)];
      const auto& value = row.*field.member;
      if constexpr (std::is_same_v<std::remove_cvref_t<decltype(value)>, std::string>) {
        sum += value.size();
      } else {
        sum += to_bits(value);
      }
    };
    schema<Row>::apply([&](const auto&... fields) { (add_value(fields), ...); });
  }
  [[nodiscard]] nlohmann::json json() const {
    nlohmann::json array = nlohmann::json::object();
    for (const auto& [kind, total] : kinds_) array[kind] = {{"rows", total.rows}, {"sums", total.sums}};
    return array;
  }

 private:
  struct of_kind {
    std::uint64_t rows = 0;
    std::map<std::string, std::uint64_t> sums;
  };
  std::map<std::string, of_kind> kinds_;
};

nlohmann::json read_by_us(const std::string& path) {
  totals whole;
  const auto file = trace::file::open(path);
  if (!file) return file.error().to_string();
  const auto snapshot = (*file)->latest();
  for (std::size_t i = 0; i < snapshot->chunks().size(); ++i) {
    switch (const row_type type = snapshot->chunks()[i].type; type) {
#define SLUICE_ADD(row, kind)                                                                     \
  case row_type::kind: {                                                                          \
    std::vector<row> rows;                                                                        \
    if (const auto got = snapshot->read_into<row>(i, rows); !got) return got.error().to_string(); \
    for (const row& each : rows) whole.add(type, each);                                           \
    break;                                                                                        \
  }
      SLUICE_FOR_EACH_ROW(SLUICE_ADD)
#undef SLUICE_ADD
      default:
        break;
    }
  }
  for (const chunk_info& chunk : snapshot->summaries()) {
#define SLUICE_ADD(row, kind)                                                                            \
  if (chunk.type == row_type::kind) {                                                                    \
    std::vector<row> rows;                                                                               \
    if (const auto got = snapshot->read_summary<row>(chunk, rows); !got) return got.error().to_string(); \
    for (const row& each : rows) whole.add(chunk.type, each);                                            \
  }
    SLUICE_FOR_EACH_SUMMARY_ROW(SLUICE_ADD)
#undef SLUICE_ADD
  }
  return whole.json();
}

/// Null if Python or libzstd is missing.
nlohmann::json read_from_the_document(const std::string& path) {
  const std::string command =
      "python3 '" SLUICE_SOURCE_DIR "/tests/core/trace/independent_reader.py' '" + document + "' '" + path + "'";
  const auto [status, said, errors] = run_shell(command);
  constexpr int no_libzstd = 77;
  constexpr int no_python = 127;
  if (status == no_libzstd || status == no_python) return nullptr;
  return status == 0 ? nlohmann::json::parse(said) : nlohmann::json("it failed");
}

void expect_read_alike(const std::string& path) {
  const nlohmann::json theirs = read_from_the_document(path);
  if (theirs.is_null()) GTEST_SKIP() << "skipped: no python3 with libzstd";
  EXPECT_EQ(theirs, read_by_us(path)) << path;
}

TEST(format_document, is_enough_to_read_a_recording_of_each_version) {
  expect_read_alike(SLUICE_SOURCE_DIR "/assets/recordings/pool-churn.sluice");
  for (const auto& entry : std::filesystem::directory_iterator(SLUICE_SOURCE_DIR "/tests/core/trace/samples")) {
    if (entry.path().extension() == ".sluice") expect_read_alike(entry.path());
  }
}

TEST(format_document, is_enough_to_read_whatever_rows_there_are) {
  sluice::testing::recording recorded;
  std::mt19937_64 random(3);
#define SLUICE_WRITE(row, kind)                                                  \
  {                                                                              \
    row last = sluice::trace::testing::random_row<row>(random);                  \
    for (int i = 0; i < 700; ++i) {                                              \
      last = sluice::trace::testing::row_after(last, random, i < 600 ? 1U : 2U); \
      recorded.writer().add(last);                                               \
    }                                                                            \
  }
  SLUICE_FOR_EACH_ROW(SLUICE_WRITE)
#undef SLUICE_WRITE
#define SLUICE_WRITE(row, kind)                                                                           \
  {                                                                                                       \
    std::vector<row> rows{sluice::trace::testing::random_row<row>(random)};                               \
    while (rows.size() < 300) rows.push_back(sluice::trace::testing::row_after(rows.back(), random, 1U)); \
    recorded.writer().add_summary<row>(rows);                                                             \
  }
  SLUICE_FOR_EACH_SUMMARY_ROW(SLUICE_WRITE)
#undef SLUICE_WRITE
  ASSERT_TRUE(recorded.writer().close());
  expect_read_alike(recorded.path());
}

}  // namespace
}  // namespace sluice::query::format_document
