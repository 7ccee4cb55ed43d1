// Finds the code of processes from outside.
#include "instrumentation/unwind/process_code.hpp"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <string>

#include "instrumentation/unwind/merge_frames.hpp"

extern "C" __attribute__((noinline, used)) int function_with_a_name(int x) { return x * 3 + 1; }

namespace sluice::unwind {
namespace {

TEST(code_mappings, are_the_executable_ones) {
  const auto found = parse_code_mappings(
      "55d000000000-55d000001000 r--p 00000000 fe:00 77 /usr/bin/a program\n"
      "55d000001000-55d000003000 r-xp 00001000 fe:00 77 /usr/bin/a program\n"
      "7f0000000000-7f0000001000 rwxp 00000000 00:00 0 \n"
      "7f0000002000-7f0000003000 r-xp 00000000 fe:00 9                         /tmp/a\\012b (deleted)\n"
      "7fff00000000-7fff00002000 r-xp 00000000 00:00 0                          [vdso]\n");
  ASSERT_EQ(found.size(), 4U);
  EXPECT_EQ(found[0], (code_mapping{0x55d000001000, 0x55d000003000, 0x1000, 77, "/usr/bin/a program"}));
  EXPECT_EQ(found[1], (code_mapping{0x7f0000000000, 0x7f0000001000, 0, 0, ""}));
  EXPECT_EQ(found[2].path, "/tmp/a\nb");
  EXPECT_EQ(found[3].path, "[vdso]");
}

TEST(code_mappings, other_text_is_ignored) {
  std::mt19937_64 random(4);
  const std::string line = "55d000001000-55d000003000 r-xp 00001000 fe:00 77 /usr/bin/program\n";
  for (int round = 0; round < 20'000; ++round) {
    std::string text = line + line + line;
    for (std::uint64_t n = random() % 20; n > 0; --n) text[random() % text.size()] = static_cast<char>(random());
    std::uint64_t before = 0;
    for (const code_mapping& m : parse_code_mappings(text)) {
      EXPECT_LT(m.begin, m.end);
      EXPECT_GE(m.begin, before) << "mappings must be in order, and must not overlap";
      before = m.end;
    }
  }
  std::string many;
  for (std::size_t i = 1; i <= max_mappings + 10; ++i) {
    char text[64];
    std::snprintf(text, sizeof text, "%zx000-%zx001 r-xp 0 0:0 0\n", i, i);
    many += text;
  }
  EXPECT_EQ(parse_code_mappings(many).size(), max_mappings);
}

/// The segments of a program share pages of the file if lld linked it, as it did this one.
TEST(process_code, names_a_function_of_the_program) {
  image_cache images;
  process_code code(getpid(), images);
  const auto begin = reinterpret_cast<std::uint64_t>(&function_with_a_name);
  EXPECT_EQ(code.find_name(begin), "function_with_a_name");
  EXPECT_EQ(code.find_name(begin + 1), "function_with_a_name");
}

TEST(process_code, finds_files_with_their_base) {
  image_cache images;
  process_code code(getpid(), images);
  const auto pc = reinterpret_cast<std::uint64_t>(&clock_gettime);
  Dl_info info{};
  ASSERT_NE(dladdr(reinterpret_cast<void*>(pc), &info), 0);
  const process_code::loaded_file* const file = code.find_file(pc);
  ASSERT_NE(file, nullptr);
  EXPECT_EQ(std::filesystem::canonical(file->path), std::filesystem::canonical(info.dli_fname));
  EXPECT_EQ(file->begin, reinterpret_cast<std::uint64_t>(info.dli_fbase));
  EXPECT_GT(file->end, pc);
  EXPECT_EQ(code.find_file(16), nullptr);
}

TEST(process_code, knows_where_calls_return) {
  image_cache images;
  process_code code(getpid(), images);
  std::uint64_t here = 0;
  asm volatile("call 1f\n1: pop %0" : "=r"(here));
  EXPECT_TRUE(code.follows_call(here));
  EXPECT_FALSE(code.follows_call(here + 1));
  EXPECT_FALSE(code.follows_call(16));
  EXPECT_TRUE(code.follows_call(here)) << "from the cache";
}

TEST(process_code, notices_that_code_went_away) {
  image_cache images;
  process_code code(getpid(), images);
  void* const memory = mmap(nullptr, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  const auto pc = reinterpret_cast<std::uint64_t>(memory);
  EXPECT_EQ(code.find_rule(pc).kind, unwind_rule::none) << "no file";
  const std::uint64_t before = code.changes();
  munmap(memory, 4096);
  code.refresh(process_code::clock::now(), std::chrono::milliseconds(0));
  EXPECT_EQ(code.changes(), before + 1);
}

TEST(process_code, an_ended_process_has_none) {
  const pid_t child = fork();
  if (child == 0) _exit(0);
  waitpid(child, nullptr, 0);
  image_cache images;
  process_code code(child, images);
  EXPECT_EQ(code.find_rule(reinterpret_cast<std::uint64_t>(&getpid)).kind, unwind_rule::none);
}

TEST(process_code, knows_pythons_evaluation) {
  const std::string python = "/usr/bin/python3";
  if (!std::filesystem::exists(python)) GTEST_SKIP() << "no Python here";
  const pid_t child = fork();
  if (child == 0) {
    execl(python.c_str(), python.c_str(), "-c", "import time; time.sleep(30)", static_cast<char*>(nullptr));
    _exit(1);
  }
  image_cache images;
  std::uint64_t evaluations = 0;
  for (int tries = 0; tries < 200 && evaluations == 0; ++tries) {
    usleep(20'000);
    process_code code(child, images);
    std::ifstream in("/proc/" + std::to_string(child) + "/maps");
    const std::string text(std::istreambuf_iterator<char>(in), {});
    for (const code_mapping& m : parse_code_mappings(text)) {
      if (m.path.find("python") == std::string::npos) continue;
      for (std::uint64_t pc = m.begin + 1; pc < m.end; pc += 64)
        evaluations += code.find_name(pc - 1) == python_evaluation ? 1 : 0;
    }
  }
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_GT(evaluations * 64, 1'000U) << "the function has some ten thousand bytes";
  EXPECT_LT(evaluations * 64, 200'000U);
}

}  // namespace
}  // namespace sluice::unwind
