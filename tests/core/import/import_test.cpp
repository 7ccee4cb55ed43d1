// Behavior common to all importers: format detection, and the result of an import.
#include "core/import/import.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "core/trace/file/writer.hpp"
#include "tests/core/import/files.hpp"

namespace sluice::importing {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::own_folder;

constexpr std::string_view log_head = "Thread,Time,Action,Pointer,Size,Stream\n";

std::string small_log() { return std::string(log_head) + "7,10:00:00.000000,allocate,0x100,64,0x0\n"; }

TEST(recognise, goes_by_content_not_by_name) {
  using namespace std::string_literals;
  const own_folder folder;
  EXPECT_EQ(recognise(folder.write("a.json", "\x80\x04\x95"s)), format::torch_snapshot);
  EXPECT_EQ(recognise(folder.write("b.pickle", "  {\"traceEvents\": ["s)), format::chrome_json);
  EXPECT_EQ(recognise(folder.write("c.csv", "\xef\xbb\xbf[{\"ph\":\"X\"}]"s)), format::chrome_json);
  EXPECT_EQ(recognise(folder.write("d.sluice", "SQLite format 3\0 and more"s)), format::nsys_sqlite);
  EXPECT_EQ(recognise(folder.write("e", small_log())), format::rmm_csv);
  EXPECT_EQ(recognise(folder.write("f.pickle", "just words"s)), format::unknown);
  EXPECT_EQ(recognise(folder.write("g.pickle", "\x80\x06\x95"s)), format::unknown);
  EXPECT_EQ(recognise(folder.write("h.csv", ""s)), format::unknown);
  EXPECT_EQ(recognise(folder.file("there is none")), format::unknown);
  EXPECT_EQ(recognise("/dev/null"), format::unknown);
}

TEST(recognise, looks_into_gzip) {
  using namespace std::string_literals;
  const own_folder folder;
  EXPECT_EQ(recognise(folder.write_gzip("a", small_log())), format::rmm_csv);
  EXPECT_EQ(recognise(folder.write_gzip("b.json.gz", "[]"s)), format::chrome_json);
  EXPECT_EQ(recognise(folder.write("c.json.gz", "\x1f\x8b\x08 but nothing of the kind"s)), format::unknown);
}

TEST(import_file, says_what_it_read_in_a_message_of_the_trace) {
  const own_folder folder;
  const std::string out = folder.file("out.sluice");
  const auto done = import_file(folder.write("rmm.dev0.csv", small_log() + "nonsense\n"), out);
  ASSERT_TRUE(done) << done.error().to_string();
  EXPECT_EQ(done->from, format::rmm_csv);
  EXPECT_EQ(testing::to_number(done->read, "allocations"), 1U);
  ASSERT_EQ(done->not_understood.size(), 1U);
  EXPECT_EQ(done->not_understood[0].offset, small_log().size());
  const auto opened = trace::file::open(out);
  ASSERT_TRUE(opened);
  EXPECT_THAT(testing::get_messages(**opened),
              ElementsAre(HasSubstr("imported from rmm.dev0.csv (RMM log): 1 allocations"),
                          HasSubstr("not understood in the imported file: 1 lines")));
}

TEST(import_file, sums_up_a_long_recording_and_no_short_one) {
  const own_folder folder;
  options with;
  with.min_summed_up = 2'000;
  for (const int pairs : {900, 1'000}) {
    std::string log(log_head);
    for (int i = 0; i < pairs; ++i) {
      const std::string time = fmt::format("7,10:00:{:02}.{:06}", i / 100, i % 100 * 1000);
      log += fmt::format("{},allocate,0x{:x},64,0x0\n{},free,0x{:x},64,0x0\n", time, 256 * i, time, 256 * i);
    }
    const std::string out = folder.file("out.sluice");
    ASSERT_TRUE(import_file(folder.write("rmm.csv", log), out, with));
    const auto trace = trace::file::open(out).value()->latest();
    EXPECT_EQ(trace->summaries().empty(), pairs < 1'000);
  }
}

TEST(import_file, refuses_what_it_does_not_know_and_says_what_it_would) {
  const own_folder folder;
  const auto unknown = import_file(folder.write("a.txt", "words"), folder.file("out.sluice"));
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, error_code::foreign);
  EXPECT_THAT(unknown.error().to_string(), HasSubstr("PyTorch memory snapshot"));
  const auto empty = import_file(folder.write("b.txt", ""), folder.file("out.sluice"));
  EXPECT_THAT(empty.error().to_string(), HasSubstr("is empty"));
  const auto none = import_file(folder.file("none"), folder.file("out.sluice"));
  EXPECT_EQ(none.error().code, error_code::not_found);
  const auto folder_itself = import_file("/tmp", folder.file("out.sluice"));
  EXPECT_THAT(folder_itself.error().to_string(), HasSubstr("is not a regular file"));
}

TEST(import_file, names_files_that_are_not_read_and_says_what_to_do) {
  const own_folder folder;
  const std::pair<std::string, std::string> cases[] = {
      {"{\"Type\":48,\"CudaEvent\":{}}\n{\"Type\":80}\n", "nsys export --type sqlite"},
      {"Time (%),Total Time (ns),Instances\n", "nsys export --type sqlite"},
      {"\xef\xbb\xbfStart (ns),Duration (ns),CorrId\n", "nsys export --type sqlite"},
      {"Event Type,Device ID,Address,Stream\nAlloc,0,0x7f,0\n", "rmm.enable_logging"},
      {"\"Index\",\"KernelName\",\"gpu-id\"\n", "rocprofv3"},
      {"\"Kind\",\"Agent_Id\",\"Queue_Id\"\n", "--output-format rocpd"},
      {"Step Id,Device_id,Model ID,Task ID\n", "trace_view.json"},
      {"PAR1....", "nsys export --type sqlite"},
      {"<html>\n<img src='data:image/png;base64,iVBO'>", "export_memory_timeline"},
      {"<!DOCTYPE html><title>404</title>", "download the recording"},
  };
  for (const auto& [content, hint] : cases) {
    const auto refused = import_file(folder.write("file", content), folder.file("out.sluice"));
    ASSERT_FALSE(refused) << content;
    EXPECT_EQ(refused.error().code, error_code::foreign) << content;
    EXPECT_THAT(refused.error().to_string(), HasSubstr(hint)) << content;
    const auto opened = open_any(folder.file("file"));
    ASSERT_FALSE(opened) << content;
    EXPECT_THAT(opened.error().to_string(), HasSubstr(hint)) << content;
  }
}

TEST(import_file, refuses_a_recording_of_our_own) {
  const own_folder folder;
  const std::string own = folder.file("own.sluice");
  ASSERT_TRUE(trace::file_writer::create(own)->close());
  const auto imported = import_file(own, folder.file("out.sluice"));
  ASSERT_FALSE(imported);
  EXPECT_EQ(imported.error().code, error_code::invalid_argument);
}

TEST(import_file, leaves_the_output_as_it_was_when_it_fails) {
  const own_folder folder;
  const std::string out = folder.write("out.sluice", "what was there");
  const std::string cut = testing::read_file(folder.write_gzip("whole.gz", "\x80\x04\x95 and no more of a pickle"));
  const auto failed = import_file(folder.write("cut.gz", cut.substr(0, cut.size() - 6)), out);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, error_code::corrupt);
  EXPECT_THAT(failed.error().to_string(), HasSubstr("the gzip file is cut off"));
  EXPECT_EQ(testing::read_file(out), "what was there");
  EXPECT_EQ(folder.files(), 3U);
}

TEST(import_file, leaves_nothing_behind_when_it_is_cancelled) {
  const own_folder folder;
  std::string log(log_head);
  for (int i = 1; i < 20'000; ++i) log += "7,10:00:00.000000,allocate,0x" + std::to_string(i) + "00,64,0x0\n";
  const std::string path = folder.write("rmm.csv", log);
  std::atomic<bool> cancel = false;
  options with;
  with.cancel = &cancel;
  with.progress = [&](double share) { cancel = share > 0; };
  const auto cancelled = import_file(path, folder.file("out.sluice"), with);
  ASSERT_FALSE(cancelled);
  EXPECT_EQ(cancelled.error().code, error_code::cancelled);
  EXPECT_EQ(folder.files(), 1U);
}

TEST(import_file, cancelled_while_the_trace_is_finished_leaves_nothing) {
  const own_folder folder;
  std::string log(log_head);
  for (int i = 1; i < 40'000; ++i) log += "7,10:00:00.000000,allocate,0x" + std::to_string(i) + "00,64,0x0\n";
  const std::string path = folder.write("rmm.csv", log);
  std::atomic<bool> cancel = false;
  options with;
  with.min_summed_up = 1;
  with.cancel = &cancel;
  with.progress = [&](double share) { cancel = share >= 1; };  // All input is read; the last phase follows.
  const auto cancelled = import_file(path, folder.file("out.sluice"), with);
  ASSERT_FALSE(cancelled);
  EXPECT_EQ(cancelled.error().code, error_code::cancelled);
  EXPECT_EQ(folder.files(), 1U);
}

TEST(import_file, tells_how_far_it_is) {
  const own_folder folder;
  std::string log(log_head);
  for (int i = 1; i < 40'000; ++i) log += "7,10:00:00.000000,allocate,0x" + std::to_string(i) + "00,64,0x0\n";
  std::vector<double> reported;
  options with;
  with.progress = [&](double share) { reported.push_back(share); };
  ASSERT_TRUE(import_file(folder.write("rmm.csv", log), folder.file("out.sluice"), with));
  EXPECT_GT(reported.size(), 2U);
  EXPECT_LE(reported.size(), 101U);
  EXPECT_TRUE(std::is_sorted(reported.begin(), reported.end()));
  EXPECT_EQ(reported.back(), 1.0);
}

TEST(open_any, opens_a_trace_and_imports_what_is_none) {
  const own_folder folder;
  const std::string own = folder.file("own.sluice");
  ASSERT_TRUE(trace::file_writer::create(own)->close());
  EXPECT_TRUE(open_any(own));
  const auto foreign = open_any(folder.write_gzip("rmm.csv.gz", small_log()));
  ASSERT_TRUE(foreign) << foreign.error().to_string();
  EXPECT_EQ(testing::get_rows<trace::alloc_event>(**foreign).size(), 1U);
  // The import's scratch file is already deleted, but the recording stays readable.
  EXPECT_FALSE(std::filesystem::exists((*foreign)->path()));
  EXPECT_EQ(folder.files(), 2U);
}

TEST(open_any, says_what_it_expected) {
  const own_folder folder;
  const auto neither = open_any(folder.write("a.txt", std::string(100, 'x')));
  ASSERT_FALSE(neither);
  EXPECT_EQ(neither.error().code, error_code::foreign);
  EXPECT_THAT(neither.error().to_string(), HasSubstr("a Sluice recording, PyTorch memory snapshot"));
}

}  // namespace
}  // namespace sluice::importing
