// Hashes of the bytes that copies are about to move, compared with the bytes themselves.
#include "instrumentation/capture/process/content_hash.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "instrumentation/capture/time_budget.hpp"

namespace sluice::test {
namespace {

using namespace capture;

constexpr std::uint64_t KiB = 1024, MiB = 1024 * KiB;
constexpr std::uint64_t no_deadline = ~std::uint64_t{0};

std::uint64_t test_time = 0;
std::uint64_t tick() noexcept { return ++test_time; }

content_hash compute_hash(const copy_source& source, std::uint64_t deadline = no_deadline) {
  return hash_content(source, tick, deadline);
}
content_hash compute_hash(const void* begin, std::uint64_t bytes) {
  return compute_hash({.address = reinterpret_cast<std::uint64_t>(begin), .row_bytes = bytes});
}
content_hash compute_hash(const std::vector<unsigned char>& bytes) { return compute_hash(bytes.data(), bytes.size()); }

std::vector<unsigned char> random_bytes(std::size_t count, std::mt19937_64& random) {
  std::vector<unsigned char> texts(count);
  for (unsigned char& byte : texts) byte = static_cast<unsigned char>(random());
  return texts;
}

// --- meaning of a hash -----------------------------------------------------------------------------------------------

/// The samples of a large copy may all be zero.
TEST(content_hash, of_sparse_data_is_not_that_of_zeros) {
  for (const std::uint64_t bytes : {whole_limit + 1, 3 * MiB + 100, 64 * MiB + 17}) {
    std::vector<unsigned char> content(bytes);
    const content_hash zeros = compute_hash(content);
    EXPECT_EQ(zeros.bytes, std::min(bytes, zero_limit)) << bytes;
    // Not at a sampled position: this byte is read only if everything is read, or if it is the last byte.
    std::uint64_t at = bytes / 2;
    const auto sampled = [&] {
      for (unsigned i = 0; i < sampled_pieces; ++i)
        if (at - piece_offset(bytes, i) < piece_bytes) return true;
      return false;
    };
    while (sampled()) at += piece_bytes;
    if (bytes > zero_limit) at = (bytes - zero_piece) / (zero_limit / zero_piece - 1) * 500 + 7;
    content[at] = 1;
    const content_hash sparse = compute_hash(content);
    EXPECT_NE(sparse.hash, zeros.hash) << bytes;
    EXPECT_EQ(sparse.hash, compute_hash(content).hash);
    content[at] = 2;
    EXPECT_NE(compute_hash(content).hash, sparse.hash) << bytes;
    // If there is no time to read everything, the result comes from the samples.
    const copy_source source{.address = reinterpret_cast<std::uint64_t>(content.data()), .row_bytes = bytes};
    const content_hash hasty = hash_content(source, tick, no_deadline, false);
    EXPECT_EQ(hasty.hash, zeros.hash);
    EXPECT_EQ(hasty.bytes, sampled_pieces * piece_bytes);
    const content_hash late = compute_hash(source, test_time + sampled_pieces * piece_bytes / zero_piece + 1);
    EXPECT_EQ(late.outcome, reading::done);
    EXPECT_EQ(late.hash, zeros.hash);
  }
}

// The contents have few different lengths and are often equal. The reference is a comparison of the bytes themselves.
TEST(content_hash, of_whole_copies_is_equal_exactly_where_the_content_is) {
  std::mt19937_64 random(7);
  std::map<std::vector<unsigned char>, std::uint64_t> hash_by_content;
  std::map<std::pair<std::size_t, std::uint64_t>, std::vector<unsigned char>> content_by_hash;
  const std::vector<std::size_t> lengths{1, 3, 64, 511, 4096, 4097, 9000, whole_limit};
  for (int i = 0; i < 3000; ++i) {
    std::vector<unsigned char> content(lengths[random() % lengths.size()], 0);
    for (std::uint64_t changes = random() % 3; changes > 0; --changes) {
      content[random() % std::min<std::size_t>(content.size(), 8) * (content.size() / 8 + 1) % content.size()] =
          static_cast<unsigned char>(random() % 3);
    }
    const content_hash found = compute_hash(content);
    ASSERT_EQ(found.outcome, reading::done);
    ASSERT_EQ(found.bytes, content.size()) << "all bytes were read";
    const auto [by_content, new_content] = hash_by_content.try_emplace(content, found.hash);
    ASSERT_EQ(by_content->second, found.hash) << "equal content, different hash";
    const auto [by_hash, new_hash] = content_by_hash.try_emplace({content.size(), found.hash}, content);
    ASSERT_EQ(by_hash->second, content) << "equal hash, different content";
    ASSERT_EQ(new_content, new_hash);
  }
  EXPECT_LT(hash_by_content.size(), 2500U) << "too few equal contents to test anything";
}

TEST(content_hash, does_not_depend_on_where_the_bytes_lie) {
  std::mt19937_64 random(8);
  for (const std::uint64_t bytes : {std::uint64_t{100}, 9 * KiB, whole_limit + 1, 3 * MiB + 17}) {
    const std::vector<unsigned char> content = random_bytes(bytes, random);
    const content_hash here = compute_hash(content);
    for (const std::size_t shift : {1U, 7U, 64U, 4095U}) {
      std::vector<unsigned char> elsewhere(bytes + shift);
      std::memcpy(elsewhere.data() + shift, content.data(), bytes);
      EXPECT_EQ(compute_hash(elsewhere.data() + shift, bytes).hash, here.hash) << bytes << " at " << shift;
    }
  }
}

TEST(content_hash, of_a_large_copy_sees_a_change_in_any_piece_and_in_nothing_else) {
  std::mt19937_64 random(9);
  std::vector<unsigned char> content = random_bytes(5 * MiB + 123, random);
  const content_hash before = compute_hash(content);
  EXPECT_EQ(before.bytes, sampled_pieces * piece_bytes);
  std::vector<bool> read(content.size(), false);
  for (unsigned i = 0; i < sampled_pieces; ++i) {
    const std::uint64_t offset = piece_offset(content.size(), i);
    for (std::uint64_t at = offset; at < offset + piece_bytes; ++at) read[at] = true;
  }
  for (int i = 0; i < 2000; ++i) {
    // In half of the cases the offset within a piece is one of a few.
    const std::uint64_t piece = piece_offset(content.size(), static_cast<unsigned>(random() % sampled_pieces));
    const std::uint64_t at = i % 2 == 0 ? piece + random() % piece_bytes : random() % content.size();
    content[at] ^= 1;
    ASSERT_EQ(compute_hash(content).hash != before.hash, read[at]) << at;
    content[at] ^= 1;
  }
}

TEST(content_hash, samples_the_beginning_the_end_and_each_part_between_twice) {
  for (const std::uint64_t bytes : {whole_limit + 1, 100 * KiB, 64 * MiB, 64 * MiB + 1, std::uint64_t{1} << 40}) {
    EXPECT_EQ(piece_offset(bytes, 0), 0U);
    EXPECT_EQ(piece_offset(bytes, sampled_pieces - 1), bytes - piece_bytes);
    for (unsigned i = 0; i + 1 < sampled_pieces; ++i) {
      const std::uint64_t here = piece_offset(bytes, i);
      EXPECT_EQ(here, piece_offset(bytes, i)) << "the same each time";
      EXPECT_EQ(here % piece_bytes, 0U);
      EXPECT_LE(here + piece_bytes, piece_offset(bytes, i + 1)) << "pieces do not overlap";
      EXPECT_LE(piece_offset(bytes, i + 1) - here, 2 * bytes / sampled_pieces + piece_bytes) << "no part is skipped";
    }
  }
}

TEST(content_hash, pieces_do_not_lie_at_equal_distances) {
  std::set<std::uint64_t> distances;
  for (unsigned i = 1; i + 1 < sampled_pieces; ++i) {
    distances.insert(piece_offset(64 * MiB, i + 1) - piece_offset(64 * MiB, i));
  }
  EXPECT_GT(distances.size(), 20U) << "otherwise samples hit the same column of a matrix";
}

// --- shapes -----------------------------------------------------------------------------------------------------------------

TEST(content_hash, of_rows_is_that_of_their_bytes_in_one_piece) {
  std::mt19937_64 random(10);
  for (const auto& [row_bytes, rows, slices] :
       {std::tuple<std::uint64_t, std::uint64_t, std::uint64_t>{300, 7, 1}, {1024, 16, 2}, {2048, 700, 3}}) {
    const std::uint64_t pitch = row_bytes + 64;
    const std::uint64_t slice_pitch = pitch * (rows + 2);
    const std::vector<unsigned char> memory = random_bytes(slice_pitch * slices, random);
    std::vector<unsigned char> dense;
    for (std::uint64_t s = 0; s < slices; ++s) {
      for (std::uint64_t r = 0; r < rows; ++r) {
        const unsigned char* begin = memory.data() + s * slice_pitch + r * pitch;
        dense.insert(dense.end(), begin, begin + row_bytes);
      }
    }
    const content_hash shaped = compute_hash({.address = reinterpret_cast<std::uint64_t>(memory.data()),
                                              .row_bytes = row_bytes,
                                              .rows = rows * slices,
                                              .pitch = pitch,
                                              .slice_rows = rows,
                                              .slice_pitch = slice_pitch});
    EXPECT_EQ(shaped.outcome, reading::done);
    EXPECT_EQ(shaped.hash, compute_hash(dense).hash) << row_bytes << " x " << rows << " x " << slices;
  }
}

TEST(content_hash, reads_short_rows_only_where_they_lie_side_by_side) {
  const std::vector<unsigned char> memory(64 * KiB, 5);
  copy_source source{.address = reinterpret_cast<std::uint64_t>(memory.data()),
                     .row_bytes = 16,
                     .rows = 100,
                     .pitch = 16,
                     .slice_rows = 100};
  EXPECT_EQ(compute_hash(source).hash, compute_hash(memory.data(), 1600).hash);
  source.pitch = 32;
  EXPECT_EQ(compute_hash(source).outcome, reading::unreadable);
}

TEST(content_hash, shapes_that_make_no_sense_are_not_read) {
  const std::vector<unsigned char> memory(4 * KiB);
  const auto address = reinterpret_cast<std::uint64_t>(memory.data());
  const std::uint64_t huge = std::uint64_t{1} << 62;
  for (const copy_source& source :
       {copy_source{}, copy_source{.address = address},
        copy_source{.address = address, .row_bytes = 512, .rows = 2, .pitch = 0, .slice_rows = 2},
        copy_source{.address = address, .row_bytes = 512, .rows = 0},
        copy_source{.address = address, .row_bytes = 512, .rows = 4, .pitch = 512, .slice_rows = 0},
        copy_source{.address = address, .row_bytes = huge, .rows = 4, .pitch = huge, .slice_rows = 4},
        copy_source{.address = ~std::uint64_t{0} - 7, .row_bytes = 64}}) {
    EXPECT_EQ(compute_hash(source).outcome, reading::unreadable);
  }
}

// --- hostile sources --------------------------------------------------------------------------------------------------------

TEST(content_hash, of_memory_that_is_not_there_is_an_result_and_no_signal) {
  const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  auto* const memory =
      static_cast<char*>(mmap(nullptr, 64 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(memory, MAP_FAILED);
  EXPECT_EQ(compute_hash(memory, 64 * page).outcome, reading::done);
  ASSERT_EQ(munmap(memory + 63 * page, page), 0);
  EXPECT_EQ(compute_hash(memory, 64 * page).outcome, reading::unreadable) << "the last page is unmapped";
  ASSERT_EQ(mprotect(memory, page, PROT_NONE), 0);
  EXPECT_EQ(compute_hash(memory, page).outcome, reading::unreadable);
  EXPECT_EQ(compute_hash(memory + page, page).outcome, reading::done);
  munmap(memory, 63 * page);
  EXPECT_EQ(compute_hash(memory, page).outcome, reading::unreadable);
  for (const std::uint64_t address : {std::uint64_t{1}, std::uint64_t{1} << 47, ~std::uint64_t{0} - 4096}) {
    EXPECT_EQ(compute_hash(copy_source{.address = address, .row_bytes = 4096}).outcome, reading::unreadable) << address;
  }
}

TEST(content_hash, of_a_mapped_file_that_was_cut_is_an_result_and_no_signal) {
  const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  std::string path = testing::TempDir() + "content-XXXXXX";
  const int file = mkstemp(path.data());
  ASSERT_GE(file, 0);
  unlink(path.c_str());
  ASSERT_EQ(ftruncate(file, static_cast<off_t>(16 * page)), 0);
  auto* const memory = static_cast<char*>(mmap(nullptr, 16 * page, PROT_READ, MAP_SHARED, file, 0));
  ASSERT_NE(memory, MAP_FAILED);
  EXPECT_EQ(compute_hash(memory, 16 * page).outcome, reading::done);
  ASSERT_EQ(ftruncate(file, static_cast<off_t>(3 * page)), 0);
  EXPECT_EQ(compute_hash(memory, 16 * page).outcome, reading::unreadable);
  EXPECT_EQ(compute_hash(memory, 3 * page).outcome, reading::done);
  munmap(memory, 16 * page);
  close(file);
}

TEST(content_hash, gives_up_when_it_takes_too_long) {
  const std::vector<unsigned char> memory(4 * MiB, 1);
  const copy_source source{.address = reinterpret_cast<std::uint64_t>(memory.data()), .row_bytes = memory.size()};
  test_time = 0;
  EXPECT_EQ(compute_hash(source, 2).outcome, reading::too_slow);
  EXPECT_EQ(test_time, 3U) << "it checked the clock now and then";
  const copy_source small{.address = source.address, .row_bytes = 1000};
  EXPECT_EQ(compute_hash(small, 0).outcome, reading::done) << "a completed read is not discarded";
}

// --- the budget -------------------------------------------------------------------------------------------------------------

TEST(time_budget, starts_with_a_burst_and_then_spends_its_share) {
  time_budget budget;
  constexpr std::uint64_t work = 100'000, every = 200'000;  // Would take half of the time, if the budget allowed that.
  std::uint64_t now = 5'000'000'000, spent = 0;
  const std::uint64_t begin = now;
  for (int i = 0; i < 100'000; ++i, now += every) {
    if (!budget.begin(now, 1)) continue;
    budget.spend(work);
    spent += work;
  }
  const std::uint64_t allowed = (now - begin) / 100 + time_budget::burst + work;
  EXPECT_LE(spent, allowed);
  EXPECT_GE(spent, allowed - 2 * work) << "and not less";
}

TEST(time_budget, pays_back_what_took_longer_than_it_had) {
  time_budget budget;
  EXPECT_TRUE(budget.begin(1000, 10));
  budget.spend(time_budget::burst + 1'000'000);
  EXPECT_FALSE(budget.begin(1000, 10));
  EXPECT_FALSE(budget.begin(1000 + 10'000'000, 10)) << "the debt is paid, but nothing is saved up";
  EXPECT_TRUE(budget.begin(1000 + 10'000'100, 10));
}

TEST(time_budget, saves_up_no_more_than_the_burst) {
  time_budget budget;
  EXPECT_TRUE(budget.begin(0, 100));
  EXPECT_TRUE(budget.begin(std::uint64_t{1} << 63, 100)) << "years later";
  budget.spend(time_budget::burst);
  EXPECT_FALSE(budget.begin(std::uint64_t{1} << 63, 100));
}

TEST(time_budget, stands_a_clock_that_goes_back) {
  time_budget budget;
  EXPECT_TRUE(budget.begin(1'000'000, 1));
  budget.spend(time_budget::burst);
  EXPECT_FALSE(budget.begin(10, 1));
  EXPECT_FALSE(budget.begin(1'000'000, 1)) << "the same time is not credited twice";
}

}  // namespace
}  // namespace sluice::test
