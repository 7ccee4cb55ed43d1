// Converts unwind tables to rules: tables as compilers write them, and those of this machine's C library.
#include "instrumentation/unwind/eh_frame.hpp"

#include <gtest/gtest.h>
#include <link.h>

#include <cstring>
#include <string>

#include "tests/instrumentation/unwind/unwind_table.hpp"

namespace sluice::test {
namespace {

using unwind::code_image;
using unwind::unwind_rule;

unwind_rule rule_at(const unwind_table& table, std::uint64_t offset) {
  code_image image;
  image.eh_frame_header = reinterpret_cast<std::uint64_t>(table.bytes().data());
  image.count = 1;
  image.segments[0] = {image.eh_frame_header, image.eh_frame_header + table.bytes().size(), false};
  return unwind::find_unwind_rule(image, image.eh_frame_header + unwind_table::code + offset);
}

void expect_rule(const unwind_rule& rule, unwind_rule::how kind, std::int32_t offset, std::int32_t saved_rbp) {
  EXPECT_EQ(rule.kind, kind);
  EXPECT_EQ(rule.offset, offset);
  EXPECT_EQ(rule.saved_rbp, saved_rbp);
}

// push %rbp; mov %rsp, %rbp; ...; leave; ret
TEST(unwind_table, follows_a_frame_pointers_prologues_and_epilogues) {
  const unwind_table table("zR", {0x41, 0x0e, 16, 0x86, 2, 0x43, 0x0d, 6, 0x02, 0x50, 0xc6, 0x0c, 7, 8});
  expect_rule(rule_at(table, 0), unwind_rule::from_rsp, 1, unwind_rule::rbp_kept);
  expect_rule(rule_at(table, 1), unwind_rule::from_rsp, 2, 2);
  expect_rule(rule_at(table, 4), unwind_rule::from_rbp, 2, 2);
  expect_rule(rule_at(table, 0x53), unwind_rule::from_rbp, 2, 2);
  expect_rule(rule_at(table, 0x54), unwind_rule::from_rsp, 1, unwind_rule::rbp_kept);
}

TEST(unwind_table, says_nothing_of_code_beside_its_functions) {
  const unwind_table table("zR", {});
  EXPECT_EQ(rule_at(table, unwind_table::code_bytes - 1).kind, unwind_rule::from_rsp);
  EXPECT_EQ(rule_at(table, unwind_table::code_bytes).kind, unwind_rule::guess);
  EXPECT_EQ(rule_at(table, ~std::uint64_t{0}).kind, unwind_rule::guess);
}

TEST(unwind_table, remembers_and_restores) {
  const unwind_table table("zR", {0x0a, 0x48, 0x0e, 0x80, 0x01, 0x48, 0x0b});
  expect_rule(rule_at(table, 7), unwind_rule::from_rsp, 1, unwind_rule::rbp_kept);
  expect_rule(rule_at(table, 8), unwind_rule::from_rsp, 16, unwind_rule::rbp_kept);
  expect_rule(rule_at(table, 16), unwind_rule::from_rsp, 1, unwind_rule::rbp_kept);
}

// rsp + 8 + ((rip & 15) >= 11) * 8
TEST(unwind_table, evaluates_a_linkage_tables_expression) {
  const unwind_table table("zR", {0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22});
  for (std::uint64_t offset = 0; offset < 32; ++offset) {
    const std::uint64_t pc = reinterpret_cast<std::uint64_t>(table.bytes().data()) + unwind_table::code + offset;
    expect_rule(rule_at(table, offset), unwind_rule::from_rsp, pc % 16 >= 11 ? 2 : 1, unwind_rule::rbp_kept);
  }
}

// lea 8(%rsp), %r10; and $-64, %rsp; ...; push %rbp; mov %rsp, %rbp; push %r10
TEST(unwind_table, follows_a_realigned_stack) {
  const unwind_table table("zR", {0x10, 6, 2, 0x76, 0, 0x0f, 3, 0x76, 0x78, 0x06});
  expect_rule(rule_at(table, 0), unwind_rule::through_rbp, -1, unwind_rule::rbp_kept);
}

TEST(unwind_table, ends_at_the_outermost_frame) {
  EXPECT_EQ(rule_at(unwind_table("zR", {0x07, 16}), 0).kind, unwind_rule::stop);
}

TEST(unwind_table, knows_the_frame_of_a_signal) {
  EXPECT_EQ(rule_at(unwind_table("zRS", {0x0e, 16}), 0).kind, unwind_rule::signal);
}

TEST(unwind_table, leaves_what_it_cannot_follow_to_the_frame_pointer) {
  EXPECT_EQ(rule_at(unwind_table("zR", {0x0d, 3}), 0).kind, unwind_rule::guess) << "the frame's end depends on rbx";
  EXPECT_EQ(rule_at(unwind_table("zR", {0x3f}), 0).kind, unwind_rule::guess) << "no such instruction";
  EXPECT_EQ(rule_at(unwind_table("zR", {0x90, 2}), 0).kind, unwind_rule::guess) << "the return address is elsewhere";
  EXPECT_EQ(rule_at(unwind_table("zR", {0x0b}), 0).kind, unwind_rule::guess) << "no state was remembered";
  EXPECT_EQ(rule_at(unwind_table("zR", {0x0f, 1, 0x06}), 0).kind, unwind_rule::guess) << "an empty expression";
  EXPECT_EQ(rule_at(unwind_table("zR", {0x0e, 12}), 0).kind, unwind_rule::guess) << "half a word";
}

/// .eh_frame_hdr and the segments of a loaded file, as reported by the loader.
code_image find_image(const char* part_of_name) {
  struct search {
    std::string name;
    code_image image;
  } found{part_of_name, {}};
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* to) {
        auto& s = *static_cast<search*>(to);
        if (std::string(info->dlpi_name).find(s.name) == std::string::npos) return 0;
        for (int i = 0; i < info->dlpi_phnum; ++i) {
          const auto& segment = info->dlpi_phdr[i];
          const std::uint64_t begin = info->dlpi_addr + segment.p_vaddr;
          if (segment.p_type == PT_GNU_EH_FRAME) s.image.eh_frame_header = begin;
          if (segment.p_type != PT_LOAD || s.image.count == code_image::max_segments) continue;
          s.image.segments[s.image.count++] = {begin, begin + segment.p_memsz, (segment.p_flags & PF_X) != 0};
        }
        return 1;
      },
      &found);
  return found.image;
}

TEST(unwind_table, almost_all_of_the_systems_libraries_can_be_followed) {
  for (const char* name : {"libc.so", "libstdc++", "libgcc_s", "ld-linux"}) {
    const code_image image = find_image(name);
    ASSERT_NE(image.eh_frame_header, 0U) << name;
    // | version, three encodings | table position | count | function, entry | ...
    std::int32_t words[3];
    std::memcpy(words, reinterpret_cast<const void*>(image.eh_frame_header), sizeof words);
    std::size_t followed = 0, all = 0;
    for (std::int32_t i = 0; i < words[2]; ++i) {
      std::int32_t function = 0;
      std::memcpy(&function,
                  reinterpret_cast<const void*>(image.eh_frame_header + 12 + 8 * static_cast<std::size_t>(i)),
                  sizeof function);
      const std::uint64_t begin = image.eh_frame_header + static_cast<std::uint64_t>(std::int64_t{function});
      for (const std::uint64_t offset : {0, 1, 4, 9, 30, 100}) {
        const unwind_rule rule = unwind::find_unwind_rule(image, begin + offset);
        if (rule.kind == unwind_rule::guess && offset > 1) continue;  // Past the function's end.
        ++all;
        if (rule.kind != unwind_rule::guess) ++followed;
      }
    }
    EXPECT_GT(all, 100U) << name;
    EXPECT_GE(followed * 1000, all * 990) << name << ": " << followed << " of " << all;
  }
}

}  // namespace
}  // namespace sluice::test
