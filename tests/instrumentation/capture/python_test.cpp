// Compares raw walks of Python frames, in the interpreters on this machine, with Python's own results; and records
// Python programs on the fake driver.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "tests/instrumentation/capture/recording.hpp"
#include "tests/programs.hpp"

namespace sluice::test {
namespace {

namespace fs = std::filesystem;
using namespace trace;

const std::string folder = std::string(SLUICE_SOURCE_DIR) + "/tests/instrumentation/capture/python/";

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool sanitized = true;  // A sanitized library does not load into a program without the sanitizer.
#else
constexpr bool sanitized = false;
#endif

/// Standard output and standard error of a shell command, together.
program_result shell(const std::string& command) { return run_shell(command + " 2>&1"); }

/// 3.13 and 3.14 without the GIL.
constexpr int without_gil = 100;

std::string get_version(int which) {
  return "3." + std::to_string(which % without_gil) + (which >= without_gil ? "t" : "");
}

/// The path and version of an interpreter, and whether it runs without the GIL. Each interpreter is queried once,
/// because starting it is slow.
const program_result& said_by(const std::string& candidate) {
  static std::map<std::string, program_result> asked;
  const auto found = asked.find(candidate);
  if (found != asked.end()) return found->second;
  return asked[candidate] = shell(candidate +
                                  " -c 'import sys, ctypes, sysconfig; print(sys.executable, *sys.version_info[:2], "
                                  "int(sysconfig.get_config_var(\"Py_GIL_DISABLED\") or 0))'");
}

/// An interpreter of this Python version with ctypes, from PATH or pyenv; empty if there is none.
std::string interpreter(int which) {
  const int minor = which % without_gil;
  const std::string version = "3." + std::to_string(minor);
  std::vector<std::string> candidates{"python" + get_version(which), "python3", "/usr/bin/python3"};
  for (const char* variable : {"PYENV_ROOT", "HOME"}) {
    const char* value = std::getenv(variable);
    if (value == nullptr) continue;
    const fs::path root = fs::path(value) / (std::string(variable) == "HOME" ? ".pyenv/versions" : "versions");
    std::error_code none;
    for (const auto& entry : fs::directory_iterator(root, none)) {
      if (entry.path().filename().string().starts_with(version + ".")) {
        candidates.push_back((entry.path() / "bin/python3").string());
      }
    }
  }
  for (const std::string& candidate : candidates) {
    const program_result& said = said_by(candidate);
    std::istringstream words(said.out);
    std::string path;
    int major = 0, found = 0, free = 0;
    const bool answered = said.status == 0 && words >> path >> major >> found >> free;
    if (answered && major == 3 && found == minor && free == which / without_gil) return path;
  }
  return {};
}

class Python : public testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    if (sanitized) GTEST_SKIP() << "skipped: a sanitized library does not load into a plain interpreter";
    python_ = interpreter(GetParam());
    if (python_.empty()) GTEST_SKIP() << "skipped: no Python " << get_version(GetParam());
  }
  std::string python_;
};

std::string get_name(const testing::TestParamInfo<int>& info) {
  std::string name = get_version(info.param);
  name[1] = '_';
  return name;
}

using known_python = Python;
INSTANTIATE_TEST_SUITE_P(each, known_python,
                         testing::Values(8, 9, 10, 11, 12, 13, 14, without_gil + 13, without_gil + 14), get_name);

TEST_P(known_python, walks_to_the_same_lines_as_traceback) {
  const program_result checked = shell(python_ + " " + folder + "check_walk.py " + SLUICE_PYTHON_WALK);
  EXPECT_EQ(checked.status, 0) << checked.out;
  EXPECT_THAT(checked.out, testing::HasSubstr(" stacks compared"));
}

program_result sample(const std::string& python, const std::string& what) {
  return shell(python + " " + folder + "check_samples.py " + SLUICE_PYTHON_SAMPLES + " " + what);
}

TEST_P(known_python, another_thread_reads_the_frames_of_each_thread) {
  const program_result checked = sample(python_, "places");
  EXPECT_EQ(checked.status, 0) << checked.out;
  EXPECT_THAT(checked.out, testing::HasSubstr(" samples of "));
}

TEST_P(known_python, frames_are_read_while_threads_and_code_come_and_go) {
  const program_result checked = sample(python_, "churn 5");
  EXPECT_EQ(checked.status, 0) << checked.out;
  EXPECT_THAT(checked.out, testing::HasSubstr(" of marked functions"));
}

TEST_P(known_python, a_pause_has_no_samples_and_leaves_no_old_frames) {
  const program_result checked = sample(python_, "pause");
  EXPECT_EQ(checked.status, 0) << checked.out;
  EXPECT_THAT(checked.out, testing::HasSubstr("paused"));
}

TEST_P(known_python, sampling_starts_and_stops_and_may_outlive_the_interpreter) {
  const program_result checked = sample(python_, "restart");
  EXPECT_EQ(checked.status, 0) << checked.out;
  EXPECT_THAT(checked.out, testing::HasSubstr("restarted"));
}

TEST_P(known_python, where_reading_the_own_memory_is_refused_that_is_said_once) {
  const program_result checked = sample(python_, "refused");
  EXPECT_EQ(checked.status, 0) << checked.out;
  EXPECT_THAT(checked.out, testing::HasSubstr("process_vm_readv is refused"));
}

using unknown_python = Python;
INSTANTIATE_TEST_SUITE_P(each, unknown_python, testing::Values(6, 7, 15), get_name);

TEST_P(unknown_python, is_left_alone_and_said_to_be) {
  const program_result checked = shell(python_ + " " + folder + "check_walk.py " + SLUICE_PYTHON_WALK);
  EXPECT_EQ(checked.status, 100) << checked.out;
  EXPECT_THAT(checked.out, testing::HasSubstr("Python 3." + std::to_string(GetParam()) + " is not supported"));
}

// --- recordings -----------------------------------------------------------------------------------------------------------

/// The name under which a function's frame is recorded: its qualified name from Python 3.11 on.
std::string called(int version, std::string_view qualified) {
  if (version % without_gil >= 11) return std::string(qualified);
  return std::string(qualified.substr(qualified.rfind('.') + 1));
}

/// The line of program.py that ends in "# `comment`".
std::string line_with(const std::string& comment) {
  std::ifstream in(folder + "program.py");
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    if (line.ends_with("# " + comment)) return "program.py:" + std::to_string(number);
  }
  return "no such line: " + comment;
}

/// "function file:line" of each frame of the program itself, innermost first.
std::vector<std::string> lines(const recording& run, stack_id id) {
  std::vector<std::string> found;
  for (const stack_row* row = run.tables().stacks.find(id); row != nullptr;
       row = run.tables().stacks.find(row->parent)) {
    const frame_row* frame = run.tables().frames.find(row->frame);
    if (frame == nullptr) return {"no such frame"};
    const fs::path file(run.tables().text(frame->file));
    if (frame->kind != frame_kind::python || file.parent_path() / "" != fs::path(folder)) continue;
    found.push_back(std::string(run.tables().text(frame->function)) + " " + file.filename().string() + ":" +
                    std::to_string(frame->line));
  }
  return found;
}

/// The frames `expected`, and below them the frame of the call in the module's last line.
std::vector<std::string> under_train(std::vector<std::string> expected) {
  expected.push_back("<module> " + line_with("start"));
  return expected;
}

recording record_program(const std::string& python, std::vector<std::string> arguments = {},
                         std::map<std::string, std::string> variables = {}, bool preload = false) {
  arguments.insert(arguments.begin(), folder + "program.py");
  return record({.arguments = arguments, .variables = std::move(variables), .program = python, .preload = preload});
}

using testing::AllOf;
using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::Not;

TEST_P(known_python, a_recording_names_the_lines_that_allocate_and_copy) {
  const recording run = record_program(python_);
  EXPECT_EQ(run.status, 0);
  ASSERT_EQ(run.allocs.size(), 1U);
  EXPECT_THAT(lines(run, run.allocs[0].stack),
              ElementsAreArray(under_train({"allocate " + line_with("the allocation"),
                                            called(GetParam(), "Model.__init__ ") + line_with("the weights"),
                                            "train " + line_with("the model")})));
  ASSERT_EQ(run.failed.size(), 1U);
  EXPECT_THAT(
      lines(run, run.failed[0].stack),
      ElementsAreArray(under_train({"allocate " + line_with("the allocation"), "train " + line_with("too much")})));
  std::vector<stack_id> copies;
  for (const api_call_event& call : run.calls) {
    if (run.tables().text(call.name) == "cuMemcpyHtoD") copies.push_back(call.stack);
  }
  ASSERT_EQ(copies.size(), 4U);
  EXPECT_THAT(lines(run, copies[0]),
              ElementsAreArray(under_train({"copy " + line_with("the copy"),
                                            called(GetParam(), "Model.step ") + line_with("the step"),
                                            "train " + line_with("the loop")})));
  EXPECT_EQ(copies[1], copies[0]) << "the same stack is one row";
  EXPECT_EQ(copies[2], copies[0]);
  EXPECT_THAT(lines(run, copies[3]), testing::ElementsAre("copy " + line_with("the copy"),
                                                          called(GetParam(), "Model.step ") + line_with("the step")))
      << "in a thread";
}

TEST_P(known_python, a_forked_childs_stacks_are_in_the_recording_too) {
  const recording run = record_program(python_, {"fork"});
  EXPECT_EQ(run.status, 0);
  std::vector<std::string> of_the_child;
  for (const alloc_event& a : run.allocs) {
    if (a.bytes == 8192) of_the_child = lines(run, a.stack);
  }
  EXPECT_THAT(of_the_child,
              testing::ElementsAre("allocate " + line_with("the allocation"), "<module> " + line_with("the child's")));
}

TEST_P(known_python, tensors_name_their_lines_and_nobody_waits_for_the_python_lock) {
  const recording run = record_program(python_, {"tensors"}, {}, true);
  ASSERT_EQ(run.status, 0);
  std::map<std::uint64_t, std::set<std::vector<std::string>>> stacks;
  std::map<std::uint64_t, std::size_t> blocks;
  for (const alloc_event& a : run.allocs) {
    if (a.layer != layer::framework) continue;
    stacks[a.bytes].insert(lines(run, a.stack));
    ++blocks[a.bytes];
  }
  const std::string empty = "empty " + line_with("a tensor");
  using stack_set = std::set<std::vector<std::string>>;
  const std::string module = "<module> " + line_with("tensors");
  EXPECT_EQ(stacks[512],
            (stack_set{{empty, called(GetParam(), "tensors.<locals>.allocating ") + line_with("in a thread")}}));
  EXPECT_EQ(blocks[512], 600U);
  EXPECT_EQ(stacks[1024], (stack_set{{empty, "tensors " + line_with("at the same time"), module}}));
  EXPECT_EQ(stacks[2048], (stack_set{{empty, "tensors " + line_with("the last one"), module}}))
      << blocks[1024] << " blocks at the same time, " << run.losses.size() << " losses";
}

/// Frames without a source file by name, and the program's own Python lines.
std::vector<std::string> names(const recording& run, stack_id id) {
  std::vector<std::string> found;
  for (const stack_row* row = run.tables().stacks.find(id); row != nullptr;
       row = run.tables().stacks.find(row->parent)) {
    const frame_row* frame = run.tables().frames.find(row->frame);
    if (frame == nullptr) return {"no such frame"};
    const fs::path file(run.tables().text(frame->file));
    const std::string function(run.tables().text(frame->function));
    if (frame->kind == frame_kind::native && !function.empty()) found.push_back(function);
    if (frame->kind == frame_kind::python && file.parent_path() / "" == fs::path(folder)) {
      found.push_back(function + " " + file.filename().string() + ":" + std::to_string(frame->line));
    }
  }
  return found;
}

std::map<std::uint64_t, std::vector<std::string>> tensors_by_size(const recording& run) {
  std::map<std::uint64_t, std::vector<std::string>> stacks;
  for (const alloc_event& a : run.allocs) {
    if (a.layer == layer::framework) stacks[a.bytes] = names(run, a.stack);
  }
  return stacks;
}

const std::string multiplied = "torch::autograd::generated::MulBackward0";
const std::string whose_forward = "[inferred: the backward of]";
const std::string whose_call = "[inferred: on another thread, for]";

TEST_P(known_python, a_backward_pass_on_a_thread_without_python_names_the_forward_lines_or_whoever_called_it) {
  const recording run = record_program(python_, {"backward"}, {}, true);
  ASSERT_EQ(run.status, 0);
  const auto stacks = tensors_by_size(run);
  const std::string multiplication = "multiply " + line_with("the multiplication");
  const std::vector<std::string> first{"backward " + line_with("the first"), "<module> " + line_with("backward")};
  const auto under = [&](std::vector<std::string> inner, const std::vector<std::string>& outer) {
    inner.insert(inner.end(), outer.begin(), outer.end());
    return inner;
  };
  const std::string forward = called(GetParam(), "backward.<locals>.work ") + line_with("forward"),
                    further = called(GetParam(), "backward.<locals>.work ") + line_with("further");
  const std::string go_back = called(GetParam(), "backward.<locals>.work ") + line_with("go back");
  EXPECT_THAT(stacks.at(1024), ElementsAreArray(under({multiplication, forward}, first)));
  EXPECT_THAT(stacks.at(3072), ElementsAreArray(under({multiplied, whose_forward, multiplication, forward}, first)));
  EXPECT_THAT(stacks.at(6144), ElementsAreArray(under({multiplied, whose_forward, multiplication, further}, first)));
  EXPECT_THAT(stacks.at(15360),
              ElementsAreArray(under({"torch::autograd::generated::ViewBackward0", whose_call, go_back}, first)));
  EXPECT_THAT(stacks.at(768), ElementsAreArray(under({"torch::autograd::AccumulateGrad", whose_call, go_back}, first)));
  EXPECT_THAT(stacks.at(6 * 65536), ElementsAre(multiplied, whose_forward, multiplication, further))
      << "by a thread of the program";
  EXPECT_THAT(stacks.at(6 << 20), ElementsAreArray(under({multiplied, whose_forward, multiplication, further},
                                                         {"backward " + line_with("the last"), first.back()})));
}

TEST_P(known_python, a_backward_pass_that_no_python_asked_for_names_its_nodes_and_nothing_after_them) {
  const recording run = record_program(python_, {"backward"}, {}, true);
  ASSERT_EQ(run.status, 0);
  const auto stacks = tensors_by_size(run);
  EXPECT_THAT(stacks.at(48 << 20), ElementsAre(multiplied));
  EXPECT_THAT(stacks.at(12 << 20), ElementsAre("torch::autograd::AccumulateGrad"));
  EXPECT_THAT(stacks.at(112 << 20), testing::IsEmpty()) << "the thread's backward() call has ended";
}

TEST_P(known_python, a_backward_pass_on_a_thread_without_python_goes_on_from_the_native_frames) {
  const recording run = record_program(python_, {"backward"}, {{"SLUICE_STACKS", "all"}}, true);
  ASSERT_EQ(run.status, 0);
  const std::vector<std::string> frames = tensors_by_size(run).at(15360);
  EXPECT_THAT(frames, AllOf(Contains("torch::autograd::generated::ViewBackward0"), Contains(whose_call),
                            Contains(called(GetParam(), "backward.<locals>.work ") + line_with("go back"))));
}

TEST_P(known_python, a_backward_pass_is_its_threads_alone_where_that_is_asked) {
  const recording run = record_program(python_, {"backward"}, {{"SLUICE_CAPTURE_WITHOUT", "autograd"}}, true);
  ASSERT_EQ(run.status, 0);
  EXPECT_THAT(tensors_by_size(run).at(15360), testing::IsEmpty());
}

/// The file names of native frames, without versions, innermost first.
std::vector<std::string> native_files(const recording& run, stack_id id) {
  std::vector<std::string> found;
  for (const stack_row* row = run.tables().stacks.find(id); row != nullptr;
       row = run.tables().stacks.find(row->parent)) {
    const frame_row* frame = run.tables().frames.find(row->frame);
    if (frame == nullptr || frame->kind != frame_kind::native) continue;
    const std::string module = fs::path(run.tables().text(frame->module)).filename().string();
    found.push_back(module.substr(0, module.find('.')));
  }
  return found;
}

// The program calls the driver through ctypes; its stand-in for PyTorch's allocator is a separate library.
TEST_P(known_python, an_allocation_of_the_driver_says_which_library_asked_for_it) {
  const recording run = record_program(python_, {"tensors"}, {}, true);
  ASSERT_EQ(run.status, 0);
  std::size_t of_driver = 0;
  for (const alloc_event& a : run.allocs) {
    const std::vector<std::string> files = native_files(run, a.stack);
    if (a.layer == layer::framework) {
      EXPECT_THAT(files, testing::IsEmpty()) << "adds nothing to its blocks";
    } else {
      EXPECT_THAT(files, testing::ElementsAre("libc10_cuda"));
      EXPECT_THAT(lines(run, a.stack), Not(testing::IsEmpty()));
      ++of_driver;
    }
  }
  EXPECT_GT(of_driver, 0U);
}

TEST_P(known_python, without_stacks_there_are_none) {
  const recording run = record_program(python_, {}, {{"SLUICE_STACKS", "none"}});
  EXPECT_EQ(run.status, 0);
  ASSERT_EQ(run.allocs.size(), 1U);
  EXPECT_EQ(run.allocs[0].stack, stack_id::none);
  EXPECT_TRUE(run.tables().stacks.rows().empty());
}

/// Each frame: the function for the program's own Python, "python" for other Python, the file's name without its
/// version for C.
std::vector<std::string> who(const recording& run, stack_id id) {
  std::vector<std::string> found;
  for (const stack_row* row = run.tables().stacks.find(id); row != nullptr;
       row = run.tables().stacks.find(row->parent)) {
    const frame_row* frame = run.tables().frames.find(row->frame);
    if (frame == nullptr) return {"no such frame"};
    const fs::path file(run.tables().text(frame->file));
    const std::string module = fs::path(run.tables().text(frame->module)).filename().string();
    if (frame->kind == frame_kind::native) {
      found.push_back(module.substr(0, module.find('.')));
    } else if (file.parent_path() / "" == fs::path(folder)) {
      found.emplace_back(run.tables().text(frame->function));
    } else {
      found.emplace_back("python");
    }
  }
  return found;
}

TEST_P(known_python, with_all_stacks_python_stands_between_the_c_that_it_calls_and_the_c_that_runs_it) {
  const recording run = record_program(python_, {}, {{"SLUICE_STACKS", "all"}});
  EXPECT_EQ(run.status, 0);
  ASSERT_EQ(run.allocs.size(), 1U);
  const std::vector<std::string> frames = who(run, run.allocs[0].stack);
  const auto first = std::find(frames.begin(), frames.end(), "allocate");
  const auto last = std::find(frames.begin(), frames.end(), "<module>");
  ASSERT_NE(first, frames.end()) << testing::PrintToString(frames);
  ASSERT_NE(last, frames.end()) << testing::PrintToString(frames);
  // The fake driver is called through ctypes and libffi; the recorder's own frames are omitted.
  EXPECT_EQ(frames.front(), "libcuda") << testing::PrintToString(frames);
  EXPECT_THAT(std::vector(frames.begin(), first), AllOf(Contains("_ctypes"), Contains("libffi")));
  EXPECT_THAT(frames, Each(Not("libsluice_capture")));
  // Between Python frames there are only the frames that call Python from C; before 3.11 each call has some.
  std::vector<std::string> between;
  for (auto at = first; at != last; ++at) {
    if (at->starts_with("libpython") || at->starts_with("python")) continue;
    between.push_back(*at);
  }
  EXPECT_THAT(between, testing::ElementsAre("allocate", called(GetParam(), "Model.__init__"), "train"));
  EXPECT_THAT(std::vector(last, frames.end()), Contains("libc")) << "the start of the program";
}

TEST_P(known_python, with_native_stacks_there_is_no_python) {
  const recording run = record_program(python_, {}, {{"SLUICE_STACKS", "native"}});
  EXPECT_EQ(run.status, 0);
  ASSERT_EQ(run.allocs.size(), 1U);
  EXPECT_NE(run.allocs[0].stack, stack_id::none);
  for (const frame_row& frame : run.tables().frames.rows()) EXPECT_EQ(frame.kind, frame_kind::native);
}

}  // namespace
}  // namespace sluice::test
