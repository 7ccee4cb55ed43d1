// Native stacks from a recorded program to the file: addr2line resolves each frame's module and address to the
// functions that the program called.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <sstream>

#include "tests/architecture/shell.hpp"
#include "tests/instrumentation/capture/native/shapes.hpp"
#include "tests/instrumentation/capture/recording.hpp"

namespace sluice::test {
namespace {

using namespace trace;
using testing::Contains;
using testing::HasSubstr;

/// The functions, including inlined ones, that addr2line finds at some addresses of a file, innermost first.
std::map<std::uint64_t, std::vector<std::string>> functions_at(const std::string& file,
                                                               const std::set<std::uint64_t>& at) {
  std::ostringstream command;
  command << "addr2line -afiC -e '" << file << "'" << std::hex;
  for (const std::uint64_t address : at) command << " 0x" << address;
  std::istringstream lines(capture_output(command.str()));
  std::map<std::uint64_t, std::vector<std::string>> found;
  std::vector<std::string>* functions = nullptr;
  bool is_function = true;  // Lines alternate between functions and locations.
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("0x")) {
      functions = &found[std::stoull(line, nullptr, 16)];
      is_function = true;
    } else {
      if (is_function && functions != nullptr) functions->push_back(line);
      is_function = !is_function;
    }
  }
  return found;
}

std::string native_program_library(int number) {
  return SLUICE_SHAPES_DIR "/libsluice_shapes_library_" + std::to_string(number) + ".so";
}

class native_program : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    run_ = new recording(record({.arguments = {library(1), library(2)},
                                 .variables = {{"SLUICE_STACKS", "native"}},
                                 .program = "fake_native_program"}));
    std::map<std::string, std::set<std::uint64_t>> wanted;
    for (const frame_row& f : run_->tables().frames.rows()) wanted[text(f.module)].insert(f.address - 1);
    for (const auto& [file, addresses] : wanted) {
      if (file.starts_with('/')) functions_[file] = functions_at(file, addresses);
    }
  }
  static void TearDownTestSuite() { delete run_; }

  static std::string library(int number) { return native_program_library(number); }
  static std::string text(string_id id) { return std::string(run_->tables().text(id)); }
  static std::string file_name(const frame_row& frame) {
    return std::filesystem::path(text(frame.module)).filename().string();
  }

  /// The frames of the only allocation of this many bytes, innermost first.
  static std::vector<frame_row> frames(std::uint64_t bytes) {
    std::vector<frame_row> found;
    const auto is_it = [&](const alloc_event& a) { return a.bytes == bytes; };
    const auto alloc = std::find_if(run_->allocs.begin(), run_->allocs.end(), is_it);
    if (alloc == run_->allocs.end()) return found;
    for (const stack_row* row = run_->tables().stacks.find(alloc->stack); row != nullptr;
         row = run_->tables().stacks.find(row->parent)) {
      found.push_back(*run_->tables().frames.find(row->frame));
    }
    return found;
  }
  /// "module: function" for every frame.
  static std::vector<std::string> functions(std::uint64_t bytes) {
    std::vector<std::string> found;
    for (const frame_row& frame : frames(bytes)) {
      const auto names = functions_[text(frame.module)].find(frame.address - 1);
      if (names == functions_[text(frame.module)].end()) {
        found.push_back(file_name(frame) + ": ?");
        continue;
      }
      for (const std::string& name : names->second) found.push_back(file_name(frame) + ": " + name);
    }
    return found;
  }
  static void expect_through_all_shapes(std::uint64_t first, const std::string& in) {
    std::uint64_t bytes = first;
    for (const shape* s = shapes_plain(); s->name != nullptr; ++s, ++bytes) {
      const auto found = functions(bytes);
      EXPECT_THAT(found, Contains(in + ": sluice::test::(anonymous namespace)::" + name_in_stack(s->name))) << s->name;
      EXPECT_THAT(found, Contains("fake_native_program: main")) << s->name;
    }
  }
  /// The name that addr2line prints for a shape's function.
  static std::string name_in_stack(const std::string& shape_name) { return shape_name + "(void (*)(void*), void*)"; }

  static inline recording* run_ = nullptr;
  static inline std::map<std::string, std::map<std::uint64_t, std::vector<std::string>>> functions_;
};

TEST_F(native_program, ends_well_and_loses_nothing) {
  EXPECT_EQ(run_->status, 0);
  EXPECT_EQ(run_->summary.lost_events, 0U);
}

TEST_F(native_program, every_stack_begins_in_the_driver_and_ends_where_its_thread_began) {
  std::size_t count = 0;
  for (const alloc_event& a : run_->allocs) {
    if (a.bytes < 1000 || a.bytes > 7000) continue;
    ++count;
    const std::vector<frame_row> stack = frames(a.bytes);
    ASSERT_GE(stack.size(), 4U) << a.bytes;
    EXPECT_THAT(file_name(stack.front()), HasSubstr("libcuda.so"))
        << a.bytes << ": the recorder's own frames and CUPTI's are omitted";
    const std::string last = functions(a.bytes).back();
    EXPECT_TRUE(last == "fake_native_program: _start" || last.starts_with("libc.so.6: ")) << a.bytes << ": " << last;
    for (const frame_row& frame : stack) EXPECT_NE(frame.module, string_id::none) << a.bytes;
  }
  EXPECT_GE(count, 30U);
}

TEST_F(native_program, a_stack_names_the_functions_that_asked) {
  EXPECT_THAT(functions(1000), Contains("fake_native_program: main"));
  EXPECT_THAT(functions(2000), Contains(HasSubstr("in_a_thread")));
  EXPECT_THAT(functions(2000), testing::Not(Contains("fake_native_program: main")));
  EXPECT_THAT(functions(7000), testing::IsSupersetOf({HasSubstr("in_a_handler"), HasSubstr(": main")}))
      << "through the signal frame";
  EXPECT_THAT(functions(6000), Contains("fake_native_program: main")) << "in a forked child";
}

TEST_F(native_program, through_code_of_every_shape) { expect_through_all_shapes(3000, "fake_native_program"); }

TEST_F(native_program, through_libraries_that_come_and_go) {
  expect_through_all_shapes(4000, "libsluice_shapes_library_1.so");
  expect_through_all_shapes(5000, "libsluice_shapes_library_2.so");
}

TEST_F(native_program, modules_are_reported_of_with_path_and_place) {
  std::map<std::string, int> rows;
  for (const module_row& row : run_->tables().modules.rows()) {
    ++rows[std::filesystem::path(text(row.path)).filename().string()];
    EXPECT_NE(row.process, process_id::none);
    EXPECT_GT(row.bytes, 0U);
  }
  EXPECT_EQ(rows["libsluice_shapes_library_1.so"], 1);
  EXPECT_EQ(rows["libsluice_shapes_library_2.so"], 1);
  EXPECT_EQ(rows["fake_native_program"], 2) << "one for the program and one for its child";
  EXPECT_EQ(rows["libsluice_capture.so"], 0) << "no stack has a frame of the recorder";
}

// With --stacks=python, the default, stacks without Python frames have native frames.
TEST(native_program_by_default, has_native_stacks_of_its_allocations_from_the_drivers_caller_on) {
  for (const route way : {route::callbacks, route::entry_points}) {
    const recording run = record_by(
        way, {.arguments = {native_program_library(1), native_program_library(2)}, .program = "fake_native_program"});
    EXPECT_EQ(run.status, 0);
    std::size_t looked_at = 0;
    for (const alloc_event& a : run.allocs) {
      const stack_row* row = run.tables().stacks.find(a.stack);
      ASSERT_NE(row, nullptr) << way;
      const frame_row* first = run.tables().frames.find(row->frame);
      ASSERT_NE(first, nullptr);
      const auto file = std::filesystem::path(run.tables().text(first->module)).filename().string();
      EXPECT_THAT(file, testing::Not(testing::StartsWith("libcuda"))) << way;
      EXPECT_THAT(file, testing::Not(testing::StartsWith("libcupti"))) << way;
      EXPECT_THAT(file, testing::Not(HasSubstr("sluice_capture"))) << way;
      ++looked_at;
    }
    EXPECT_GT(looked_at, 0U);
  }
}

}  // namespace
}  // namespace sluice::test
