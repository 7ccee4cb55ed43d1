#include "core/symbols/frames.hpp"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <sys/stat.h>
#include <filesystem>
#include <fstream>

#include "tests/core/symbols/sample.hpp"

namespace sluice::symbols {
namespace {

using ::testing::HasSubstr;
using trace::frame_kind;

/// Synthetic tables of a recording.
class book : public ::testing::Test {
 protected:
  trace::string_id text(std::string words) {
    const trace::string_id id{++last_};
    tables_.strings.put({id, std::move(words)});
    return id;
  }
  trace::frame_id python(const std::string& function, const std::string& file, std::uint64_t line) {
    trace::frame_row row;
    row.id = trace::frame_id{++last_};
    row.kind = frame_kind::python;
    row.function = text(function);
    row.file = text(file);
    row.line = line;
    tables_.frames.put(row);
    return row.id;
  }
  trace::frame_id native(trace::string_id module, std::uint64_t address) {
    trace::frame_row row;
    row.id = trace::frame_id{++last_};
    row.kind = frame_kind::native;
    row.module = module;
    row.address = address;
    tables_.frames.put(row);
    return row.id;
  }
  trace::stack_id stack(trace::stack_id caller, trace::frame_id frame) {
    const trace::stack_id id{++last_};
    tables_.stacks.put({id, caller, frame});
    return id;
  }

  trace::tables tables_;
  std::uint64_t last_ = 0;
};

/// The options for a recording that this user made on this machine.
frame_cache_options believing_book() { return {.symbols = {.local = local_files(true, {})}}; }

TEST_F(book, tells_a_python_frame_with_its_file_and_line) {
  frame_cache frames;
  const auto main = stack({}, python("<module>", "/home/me/train.py", 3));
  const auto forward = stack(main, python("Linear.forward", "/usr/lib/python3/dist-packages/torch/nn/linear.py", 114));
  const auto lines = frames.stack(forward, tables_, frame_cache::lookup::at_once);
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(to_text(lines[0]), "Linear.forward at /usr/lib/python3/dist-packages/torch/nn/linear.py:114");
  EXPECT_EQ(get_place(lines[0]), "nn/linear.py:114");
  EXPECT_FALSE(lines[0].own);
  EXPECT_EQ(get_name(lines[1]), "<module>");
  EXPECT_TRUE(lines[1].own);
}

TEST_F(book, says_why_a_native_frame_has_no_name) {
  frame_cache frames(believing_book());
  const auto frame = native(text("/opt/app/libgone.so"), 0x12ac);
  const auto lines = frames.stack(stack({}, frame), tables_, frame_cache::lookup::at_once);
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(get_name(lines[0]), "libgone.so+0x12ac");
  EXPECT_EQ(to_text(lines[0]), "libgone.so+0x12ac in /opt/app/libgone.so (libgone.so is not on this machine)");
}

TEST_F(book, leaves_out_the_way_from_a_call_to_its_recorder) {
  frame_cache frames(believing_book());
  const auto program = stack({}, native(text("/home/me/solver"), 0x10));
  const auto driver = stack(program, native(text("/usr/lib/libcuda.so.1"), 0x20));
  const auto cupti = stack(driver, native(text("/usr/local/cuda/lib64/libcupti.so.13"), 0x30));
  const auto lines = frames.stack(cupti, tables_, frame_cache::lookup::at_once);
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(get_name(lines[0]), "libcuda.so.1+0x20");
  const auto named =
      frames.describe(std::vector{frames.get_line(cupti, tables_, frame_cache::lookup::at_once)}, tables_);
  EXPECT_EQ(get_name(named.at(0)), "solver+0x10") << "the program's own, even without its file";
}

TEST_F(book, tells_of_native_frames_at_once_and_of_their_names_later) {
  frame_cache frames(believing_book());
  const auto frame = native(text("/opt/app/libgone.so"), 0x12ac);
  const auto before = frames.get_lines(frame, tables_, frame_cache::lookup::later);
  EXPECT_TRUE(before.provisional);
  EXPECT_TRUE(frames.describe(before.ids, tables_)[0].missing.empty()) << "not looked up yet";
  EXPECT_TRUE(frames.wants_work());
  EXPECT_FALSE(frames.wants_work()) << "already in progress";
  const auto generation = frames.generation();
  EXPECT_FALSE(frames.work(std::chrono::steady_clock::now()));
  EXPECT_GT(frames.generation(), generation);
  const auto after = frames.get_lines(frame, tables_, frame_cache::lookup::later);
  EXPECT_FALSE(after.provisional);
  EXPECT_THAT(frames.describe(after.ids, tables_)[0].missing, HasSubstr("not on this machine"));
  EXPECT_FALSE(frames.wants_work());
}

TEST_F(book, does_not_take_the_cuda_runtime_in_a_program_for_the_programs_own_code) {
  frame_cache frames(believing_book());
  const auto line_at = [&](void* function) {
    Dl_info about{};
    dladdr(function, &about);
    const auto offset = static_cast<std::uint64_t>(static_cast<char*>(function) - static_cast<char*>(about.dli_fbase));
    const auto frame = native(text(std::filesystem::canonical(about.dli_fname).string()), offset + 4);
    return frames.describe(frames.get_lines(frame, tables_, frame_cache::lookup::at_once).ids, tables_).back();
  };
  const frame_line runtime = line_at(reinterpret_cast<void*>(&libcudart_static_0123abcd));
  EXPECT_THAT(runtime.function, HasSubstr("libcudart_static"));
  EXPECT_FALSE(runtime.own);
  EXPECT_TRUE(line_at(reinterpret_cast<void*>(&sample::exported)).own);
}

TEST_F(book, gives_the_same_line_to_frames_that_read_the_same) {
  frame_cache frames;
  const auto one = frames.get_lines(python("f", "/a.py", 1), tables_, frame_cache::lookup::at_once);
  const auto same = frames.get_lines(python("f", "/a.py", 1), tables_, frame_cache::lookup::at_once);
  const auto other = frames.get_lines(python("f", "/a.py", 2), tables_, frame_cache::lookup::at_once);
  EXPECT_EQ(one.ids, same.ids);
  EXPECT_NE(one.ids, other.ids);
}

TEST_F(book, ends_a_ring_of_parents_with_a_remark) {
  const auto frame = python("f", "/a.py", 1);
  tables_.stacks.put({trace::stack_id{1001}, trace::stack_id{1002}, frame});
  tables_.stacks.put({trace::stack_id{1002}, trace::stack_id{1001}, frame});
  frame_cache frames;
  const auto lines = frames.stack(trace::stack_id{1001}, tables_, frame_cache::lookup::at_once);
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_EQ(get_name(lines[2]), cut_remark);
}

TEST_F(book, cuts_a_stack_that_is_deeper_than_any_recorder_walks) {
  const auto frame = python("f", "/a.py", 1);
  trace::stack_id id{};
  for (int i = 0; i < 10'000; ++i) id = stack(id, frame);
  frame_cache frames;
  EXPECT_EQ(frames.stack(id, tables_, frame_cache::lookup::at_once).size(), frame_cache::deepest + 1);
}

TEST_F(book, reads_sources_from_the_recording_first) {
  const auto frame = python("step", "/nowhere/train.py", 12);
  trace::source_row row;
  row.id = trace::source_id{1};
  row.file = text("/nowhere/train.py");
  row.first_line = 10;
  row.text = text("def step():\n    # forward\n    loss = model(x).sum()   \n    return loss\n");
  tables_.sources.put(row);
  frame_cache frames;
  const auto subject = [&](trace::frame_id id) {
    return frames.describe(frames.get_lines(id, tables_, frame_cache::lookup::at_once).ids, tables_).at(0).source;
  };
  EXPECT_EQ(subject(frame), "loss = model(x).sum()");
  EXPECT_EQ(subject(python("step", "/nowhere/train.py", 9)), "");
  EXPECT_EQ(subject(python("step", "/nowhere/train.py", 999)), "");
}

TEST_F(book, reads_sources_of_this_machine_unless_they_changed_since) {
  const std::string path = ::testing::TempDir() + "sluice-source-" + std::to_string(::getpid()) + ".py";
  std::ofstream(path) << "import torch\nx = torch.ones(3)\n";
  const auto frame = python("<module>", path, 2);
  const auto source_with = [&](const frame_cache_options& options) {
    frame_cache frames(options);
    return frames.describe(frames.get_lines(frame, tables_, frame_cache::lookup::at_once).ids, tables_).at(0).source;
  };
  EXPECT_EQ(source_with(believing_book()), "x = torch.ones(3)");
  struct stat about {};
  ASSERT_EQ(::stat(path.c_str(), &about), 0);
  const std::int64_t changed = about.st_mtim.tv_sec * 1'000'000'000;
  EXPECT_EQ(source_with({believing_book().symbols, changed + 5'000'000'000}), "x = torch.ones(3)");
  EXPECT_EQ(source_with({believing_book().symbols, changed - 5'000'000'000}), "") << "these are not the lines that ran";
  EXPECT_EQ(source_with({}), "") << "nothing shows that this user recorded it";
  const frame_cache_options copied{.symbols = {.local = local_files(false, {::testing::TempDir()})},
                                   .recorded_at = changed - 5'000'000'000};
  EXPECT_EQ(source_with(copied), "x = torch.ones(3)") << "the user named the folder: a copy is always newer";
  std::filesystem::remove(path);
}

TEST(line_to_name, is_the_innermost_of_the_programs_own) {
  frame_line library{frame_kind::python, "forward", "/x/site-packages/torch/a.py", 1, "", 0, false, false, "", ""};
  frame_line mine{frame_kind::python, "train", "/home/me/train.py", 7, "", 0, false, true, "", ""};
  frame_line main{frame_kind::python, "<module>", "/home/me/train.py", 90, "", 0, false, true, "", ""};
  frame_line solver{frame_kind::native, "solve()", "", 0, "/home/me/solver", 16, false, true, "", ""};
  frame_line driver{frame_kind::native, "", "", 0, "/usr/lib/libcuda.so.1", 32, false, false, "", ""};
  const auto named = [](std::vector<const frame_line*> stack) { return stack.at(line_to_name(stack)); };
  EXPECT_EQ(named({&driver, &library, &mine, &main}), &mine);
  EXPECT_EQ(named({&driver, &solver, &library, &mine}), &mine) << "Python first";
  EXPECT_EQ(named({&driver, &solver, &library}), &solver);
  EXPECT_EQ(named({&driver, &library}), &library);
  EXPECT_EQ(named({&driver}), &driver);
  EXPECT_EQ(line_to_name({}), 0U);
}

}  // namespace
}  // namespace sluice::symbols
