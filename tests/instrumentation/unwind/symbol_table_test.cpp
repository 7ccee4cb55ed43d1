#include "instrumentation/unwind/symbol_table.hpp"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <gnu/libc-version.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <vector>

namespace sluice::unwind {
namespace {

/// A file in memory.
module_image::source in_memory(const std::vector<char>& bytes) {
  return [&bytes](std::uint64_t offset, void* to, std::size_t count) -> std::size_t {
    if (offset >= bytes.size()) return 0;
    count = std::min<std::size_t>(count, bytes.size() - offset);
    std::memcpy(to, bytes.data() + offset, count);
    return count;
  };
}

std::vector<char> read_all(const char* path) {
  std::vector<char> bytes;
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return bytes;
  char part[65536];
  for (ssize_t got = 0; (got = read(file, part, sizeof part)) > 0;) bytes.insert(bytes.end(), part, part + got);
  close(file);
  return bytes;
}

/// The C library, the loader's name for it, and the address of one of its functions in the file.
struct c_library {
  c_library() {
    Dl_info info{};
    // A function that no sanitizer replaces by one of its own, which would have two names.
    if (dladdr(reinterpret_cast<void*>(&gnu_get_libc_version), &info) == 0) return;
    path = info.dli_fname;
    address = reinterpret_cast<std::uint64_t>(info.dli_saddr) - reinterpret_cast<std::uint64_t>(info.dli_fbase);
    name = info.dli_sname == nullptr ? "" : info.dli_sname;
    bytes = read_all(info.dli_fname);
  }
  std::string path, name;
  std::uint64_t address = 0;
  std::vector<char> bytes;
};

TEST(symbol_table, names_the_function_that_contains_an_address) {
  const c_library library;
  ASSERT_FALSE(library.bytes.empty());
  const auto table = symbol_table::read(in_memory(library.bytes));
  EXPECT_GT(table->size(), 1000U);
  EXPECT_EQ(table->find_name(in_memory(library.bytes), library.address), library.name);
  EXPECT_EQ(table->find_name(in_memory(library.bytes), library.address + 1), library.name);
}

TEST(symbol_table, does_not_name_an_address_outside_of_all_functions) {
  const c_library library;
  const auto table = symbol_table::read(in_memory(library.bytes));
  EXPECT_EQ(table->find_name(in_memory(library.bytes), 0), "");
  EXPECT_EQ(table->find_name(in_memory(library.bytes), std::uint64_t{1} << 40), "");
}

TEST(symbol_table, of_a_file_that_is_no_program_is_empty) {
  const std::vector<char> text(4096, 'a');
  EXPECT_EQ(symbol_table::read(in_memory(text))->size(), 0U);
  EXPECT_EQ(symbol_table::read(in_memory({}))->size(), 0U);
}

TEST(symbol_table, of_damaged_files_is_read_without_harm) {
  const c_library library;
  std::mt19937 random(7);
  for (int turn = 0; turn < 30; ++turn) {
    std::vector<char> damaged = library.bytes;
    Elf64_Ehdr header;
    std::memcpy(&header, damaged.data(), sizeof header);
    const std::size_t sections = header.e_shoff;
    for (int i = 0; i < 40; ++i) {
      const bool in_header = i % 8 == 0;
      const std::size_t at = in_header ? random() % sizeof header : sections + random() % (damaged.size() - sections);
      damaged[at] = static_cast<char>(random());
    }
    if (turn % 3 == 0) damaged.resize(damaged.size() / 2);
    const auto table = symbol_table::read(in_memory(damaged));
    for (int i = 0; i < 100; ++i) {
      const std::string name = table->find_name(in_memory(damaged), random() % damaged.size());
      EXPECT_LE(name.size(), symbol_table::max_name);
    }
  }
}

}  // namespace
}  // namespace sluice::unwind
