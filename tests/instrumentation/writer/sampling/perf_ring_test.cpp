// Reads the kernel's records from the memory of a ring.
#include "instrumentation/writer/sampling/perf_ring.hpp"

#include <gtest/gtest.h>
#include <linux/perf_event.h>

#include <cstring>
#include <random>
#include <string>
#include <vector>

namespace sluice::writer {
namespace {

/// Writes down what it hears.
class heard : public perf_listener {
 public:
  void hear_sample(std::int64_t time, const unwind::user_registers& registers,
                   const unwind::copied_stack& stack) override {
    text += "sample " + std::to_string(time) + " ip " + std::to_string(registers.ip) + " sp " +
            std::to_string(registers.sp) + " bp " + std::to_string(registers.bp) + " stack " +
            std::to_string(stack.bytes.size()) + "; ";
    for (const std::byte b : stack.bytes) sum += static_cast<unsigned>(b);
  }
  void hear_switch_in(std::int64_t time) override { text += "in " + std::to_string(time) + "; "; }
  void hear_switch_out(std::int64_t time, bool preempted) override {
    text += (preempted ? "preempted " : "out ") + std::to_string(time) + "; ";
  }
  void hear_loss(std::uint64_t count) override { text += "lost " + std::to_string(count) + "; "; }
  void hear_start(pid_t pid, pid_t tid) override {
    text += "start " + std::to_string(pid) + " " + std::to_string(tid) + "; ";
  }
  void hear_end(std::int64_t time, pid_t tid) override {
    text += "end " + std::to_string(tid) + " at " + std::to_string(time) + "; ";
  }
  std::string text;
  std::uint64_t sum = 0;
};

/// Records one after another, as words.
class records {
 public:
  records& add(std::uint32_t type, std::uint16_t misc, const std::vector<std::uint64_t>& words) {
    const std::uint64_t size = 8 + 8 * words.size();
    put(type | std::uint64_t{misc} << 32 | size << 48);
    for (const std::uint64_t word : words) put(word);
    return *this;
  }
  records& sample(std::uint64_t time, std::uint64_t stack_words, std::uint64_t used) {
    std::vector<std::uint64_t> words{1, time, PERF_SAMPLE_REGS_ABI_64, 11, 12, 13, 8 * stack_words};
    words.insert(words.end(), stack_words, 0x0101'0101'0101'0101U);
    words.push_back(used);
    return add(PERF_RECORD_SAMPLE, 0, words);
  }
  void put(std::uint64_t word) {
    const std::size_t at = bytes.size();
    bytes.resize(at + sizeof word);
    std::memcpy(bytes.data() + at, &word, sizeof word);
  }
  std::vector<std::byte> bytes;
};

/// The records in a ring of `size` bytes, from position `start` on.
std::string read(const records& r, std::size_t size, std::uint64_t start, bool* sound = nullptr) {
  std::vector<std::byte> ring(size);
  for (std::size_t i = 0; i < r.bytes.size(); ++i) ring[(start + i) % size] = r.bytes[i];
  heard h;
  std::vector<std::byte> spare;
  const bool fine = read_perf_records(ring, start, start + r.bytes.size(), spare, h);
  if (sound != nullptr) *sound = fine;
  return h.text;
}

TEST(perf_records, are_handed_on) {
  records r;
  r.sample(5, 4, 24)
      .add(PERF_RECORD_SWITCH, PERF_RECORD_MISC_SWITCH_OUT, {1, 6})
      .add(PERF_RECORD_SWITCH, 0, {1, 7})
      .add(PERF_RECORD_SWITCH, PERF_RECORD_MISC_SWITCH_OUT | PERF_RECORD_MISC_SWITCH_OUT_PREEMPT, {1, 8})
      .add(PERF_RECORD_LOST, 0, {99, 3, 1, 9})
      .add(PERF_RECORD_FORK, 0, {20 | std::uint64_t{1} << 32, 21 | std::uint64_t{1} << 32, 10, 1, 10})
      .add(PERF_RECORD_EXIT, 0, {20 | std::uint64_t{1} << 32, 21 | std::uint64_t{1} << 32, 11, 1, 11})
      .add(PERF_RECORD_COMM, 0, {1, 2, 3});
  EXPECT_EQ(read(r, 4096, 0),
            "sample 5 ip 13 sp 12 bp 11 stack 24; out 6; in 7; preempted 8; lost 3; start 20 21; end 21 at 11; ");
}

TEST(perf_records, may_wrap_around) {
  records r;
  r.sample(5, 16, 128).sample(6, 16, 64).add(PERF_RECORD_SWITCH, 0, {1, 7});
  const std::string expected = read(r, 4096, 0);
  for (std::uint64_t start = 0; start < 8192; start += 8) ASSERT_EQ(read(r, 1024, start), expected) << start;
}

TEST(perf_records, without_registers_of_64_bits_have_no_stack) {
  records r;
  r.add(PERF_RECORD_SAMPLE, 0, {1, 5, PERF_SAMPLE_REGS_ABI_NONE, 0});
  r.add(PERF_RECORD_SAMPLE, 0, {1, 6, PERF_SAMPLE_REGS_ABI_32, 11, 12, 13, 0});
  EXPECT_EQ(read(r, 1024, 0), "sample 5 ip 0 sp 0 bp 0 stack 0; sample 6 ip 0 sp 0 bp 0 stack 0; ");
}

TEST(perf_records, other_bytes_are_refused) {
  bool sound = true;
  records empty;
  empty.put(0);
  EXPECT_EQ(read(empty, 1024, 0, &sound), "");
  EXPECT_FALSE(sound);
  std::mt19937_64 random(9);
  for (int round = 0; round < 20'000; ++round) {
    records r;
    r.sample(5, random() % 8, random() % 2 == 0 ? random() % 100 : random()).add(PERF_RECORD_SWITCH, 0, {1, 7});
    for (std::uint64_t n = random() % 6; n > 0; --n)
      r.bytes[random() % r.bytes.size()] = static_cast<std::byte>(random());
    (void)read(r, 1024, random() % 128 * 8);
  }
}

TEST(perf_ring, a_thread_that_does_not_exist_is_refused) {
  perf_ring::failure why;
  EXPECT_FALSE(perf_ring::open(INT32_MAX, 2'000'000, 65536, why).has_value());
  EXPECT_NE(why.error, 0);
  EXPECT_FALSE(why.of_memory);
}

}  // namespace
}  // namespace sluice::writer
