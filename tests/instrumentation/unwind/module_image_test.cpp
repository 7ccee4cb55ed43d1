// Reads the tables of ELF files: real ones as the loader shows them, and damaged ones.
#include "instrumentation/unwind/module_image.hpp"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <random>
#include <string>

namespace sluice::unwind {
namespace {

/// A loaded file, as reported by the loader.
struct loaded {
  std::string path;
  std::uint64_t base = 0;
  code_image image;
};

loaded find_loaded(const char* part_of_name) {
  struct search {
    std::string name;
    loaded found;
  } s{part_of_name, {}};
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* to) {
        auto& wanted = *static_cast<search*>(to);
        if (std::string(info->dlpi_name).find(wanted.name) == std::string::npos) return 0;
        wanted.found.path = info->dlpi_name;
        wanted.found.base = info->dlpi_addr;
        code_image& image = wanted.found.image;
        for (int i = 0; i < info->dlpi_phnum; ++i) {
          const auto& segment = info->dlpi_phdr[i];
          const std::uint64_t begin = info->dlpi_addr + segment.p_vaddr;
          if (segment.p_type == PT_GNU_EH_FRAME) image.eh_frame_header = begin;
          if (segment.p_type != PT_LOAD || image.count == code_image::max_segments) continue;
          image.segments[image.count++] = {begin, begin + segment.p_memsz, (segment.p_flags & PF_X) != 0};
        }
        return 1;
      },
      &s);
  return s.found;
}

std::shared_ptr<const module_image> read_path(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  auto image = module_image::read(module_image::read_from(file));
  close(file);
  return image;
}

module_image::source text_source(const std::string& text) {
  return [&text](std::uint64_t offset, void* to, std::size_t count) -> std::size_t {
    if (offset >= text.size()) return 0;
    count = std::min<std::size_t>(count, text.size() - offset);
    std::memcpy(to, text.data() + offset, count);
    return count;
  };
}

std::string read_text(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST(module_image, has_the_rules_of_the_loaded_file) {
  for (const char* name : {"libc.so", "libstdc++", "libm.so"}) {
    const loaded there = find_loaded(name);
    if (there.path.empty()) continue;  // Linked statically.
    const auto image = read_path(there.path);
    ASSERT_NE(image, nullptr) << there.path;
    std::mt19937_64 random(1);
    std::size_t known = 0;
    for (const memory_range& segment : there.image.segments) {
      if (!segment.executable) continue;
      for (int i = 0; i < 20'000; ++i) {
        const std::uint64_t pc = segment.begin + random() % (segment.end - segment.begin);
        const unwind_rule expected = find_unwind_rule(there.image, pc);
        const unwind_rule rule = image->find_rule(pc - there.base);
        ASSERT_EQ(rule.kind, expected.kind) << name << " at " << pc - there.base;
        ASSERT_EQ(rule.offset, expected.offset);
        ASSERT_EQ(rule.saved_rbp, expected.saved_rbp);
        known += rule.kind != unwind_rule::guess ? 1 : 0;
      }
    }
    EXPECT_GT(known, 10'000U) << name;
  }
}

TEST(module_image, converts_offsets_and_addresses) {
  const loaded c = find_loaded("libc.so");
  const auto image = read_path(c.path);
  ASSERT_NE(image, nullptr);
  const std::uint64_t address = reinterpret_cast<std::uint64_t>(&getpid) - c.base;
  const auto offset = image->find_offset(address);
  ASSERT_TRUE(offset.has_value());
  const std::string text = read_text(c.path);
  EXPECT_EQ(std::memcmp(text.data() + *offset, reinterpret_cast<const void*>(&getpid), 16), 0);
  EXPECT_EQ(image->find_address(*offset), address);
  EXPECT_FALSE(image->find_offset(std::uint64_t{1} << 46).has_value());
  EXPECT_FALSE(image->build_id().empty());
}

TEST(module_image, knows_the_kernels_virtual_library) {
  const auto image = module_image::read_vdso();
  if (!image) GTEST_SKIP() << "no virtual library here";
  std::size_t known = 0;
  for (std::uint64_t at = image->begin(); at < image->end(); ++at)
    known += image->find_rule(at).kind != unwind_rule::guess ? 1 : 0;
  EXPECT_GT(known, 500U);
}

TEST(module_image, other_files_are_no_images) {
  EXPECT_EQ(module_image::read(text_source("")), nullptr);
  EXPECT_EQ(module_image::read(text_source("#!/bin/sh\n")), nullptr);
  const std::string zeros(1000, '\0');
  EXPECT_EQ(module_image::read(text_source(zeros)), nullptr);
  EXPECT_EQ(module_image::read(module_image::read_from(-1)), nullptr);
}

TEST(module_image, a_truncated_file_gives_fewer_rules_and_no_crash) {
  const std::string whole = read_text(find_loaded("libm.so").path);
  std::mt19937_64 random(2);
  for (int i = 0; i < 200; ++i) {
    const std::string part = whole.substr(0, random() % whole.size());
    const auto image = module_image::read(text_source(part));
    if (!image) continue;
    for (int n = 0; n < 100; ++n) (void)image->find_rule(random() % whole.size());
  }
}

TEST(module_image, damaged_headers_and_tables_are_survived) {
  const std::string whole = read_text(find_loaded("libm.so").path);
  const auto sound = module_image::read(text_source(whole));
  ASSERT_NE(sound, nullptr);
  Elf64_Ehdr header;
  std::memcpy(&header, whole.data(), sizeof header);
  std::uint64_t table = 0;
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr part;
    std::memcpy(&part, whole.data() + header.e_phoff + i * sizeof part, sizeof part);
    if (part.p_type == PT_GNU_EH_FRAME) table = part.p_offset;
  }
  ASSERT_NE(table, 0U);
  std::mt19937_64 random(3);
  for (int round = 0; round < 2'000; ++round) {
    std::string damaged = whole;
    const std::uint64_t begin = round % 2 == 0 ? 0 : table;
    const std::uint64_t length = round % 2 == 0 ? header.e_phoff + header.e_phnum * sizeof(Elf64_Phdr) : 4096;
    for (std::uint64_t n = 1 + random() % 4; n > 0; --n) {
      const std::uint64_t at = begin + random() % length;
      damaged[at] = static_cast<char>(random());
    }
    const auto image = module_image::read(text_source(damaged));
    if (!image) continue;
    for (int n = 0; n < 20; ++n) {
      (void)image->find_rule(random() % whole.size());
      (void)image->find_rule(random());
      (void)image->find_address(random());
    }
  }
}

}  // namespace
}  // namespace sluice::unwind
