// The size on disk of a recording of a training. The rows are like those of PyTorch: every step has the same launches,
// which touch weights (old blocks) and activations (blocks of this step), at slightly varying times.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <random>
#include <vector>

#include "core/trace/file/writer.hpp"

namespace sluice::trace {
namespace {

class training {
 public:
  explicit training(file_writer& to) : to_(to) {
    for (int i = 0; i < launches; ++i) {
      launch output{to.intern("kernel " + std::to_string(random_() % 25)), {}};
      // An optimizer's launch uses every weight, gradient and moment; other launches use a few blocks.
      const int operands = i >= launches - 2 ? 120 : 2 + static_cast<int>(random_() % 4);
      for (int j = 0; j < operands; ++j) {
        const bool weight = operands > 50 || random_() % 3 == 0;
        const int latest = i * activations / launches;
        output.operands.push_back(weight ? -1 - j % weights : std::max(0, latest - static_cast<int>(random_() % 8)));
      }
      launches_.push_back(output);
    }
    for (int i = 0; i < activations; ++i) {
      bytes_.push_back(512 * (1 + random_() % 4096));
      addresses_.push_back(0x7f00'0000'0000 + random_() % 4000 * (2 << 20));
    }
    live_.assign(activations, block_id::none);
  }

  void step() {
    int value = 0;
    for (std::size_t l = 0; l < launches_.size(); ++l) {
      time_ += 9000 + static_cast<time_ns>(random_() % 2000);
      for (; value < activations && value * launches <= static_cast<int>(l) * activations; ++value) replace(value);
      for (const int operand : launches_[l].operands) touch(launches_[l].name, operand);
      ++correlation_;
    }
  }
  [[nodiscard]] std::uint64_t touches() const { return touches_; }

 private:
  static constexpr int launches = 71, weights = 60, activations = 60;
  struct launch {
    string_id name;
    std::vector<int> operands;  ///< An activation of this step, or -1 - weight.
  };

  template <class Row>
  Row begin() {
    Row row;
    row.time = time_;
    row.process = static_cast<process_id>(1);
    row.thread = static_cast<thread_id>(1);
    return row;
  }
  void replace(int activation) {
    const auto i = static_cast<std::size_t>(activation);
    if (live_[i] != block_id::none) {
      auto free = begin<free_event>();
      free.block = live_[i];
      free.layer = layer::framework;
      free.address = addresses_[i];
      to_.add(free);
      time_ += 300 + static_cast<time_ns>(random_() % 100);
    }
    auto alloc = begin<alloc_event>();
    alloc.block = live_[i] = static_cast<block_id>(++last_block_);
    alloc.layer = layer::framework;
    alloc.kind = memory_kind::device;
    alloc.address = addresses_[i];
    alloc.bytes = bytes_[i];
    alloc.stack = static_cast<stack_id>(10 + i % 30);
    to_.add(alloc);
    time_ += 400 + static_cast<time_ns>(random_() % 100);
  }
  void touch(string_id name, int operand) {
    auto row = begin<touch_event>();
    row.stream = static_cast<stream_id>(1);
    row.correlation = correlation_;
    row.name = name;
    row.block = operand < 0 ? static_cast<block_id>(-operand) : live_[static_cast<std::size_t>(operand)];
    if (row.block == block_id::none) return;
    to_.add(row);
    ++touches_;
  }

  file_writer& to_;
  std::mt19937_64 random_{1};  // NOLINT(cert-msc32-c,cert-msc51-cpp): a fixed seed.
  std::vector<launch> launches_;
  std::vector<std::uint64_t> bytes_, addresses_;
  std::vector<block_id> live_;
  time_ns time_ = 0;
  std::uint64_t last_block_ = 1000, correlation_ = 1, touches_ = 0;
};

TEST(disk, a_training_takes_two_bytes_an_event) {
  const std::filesystem::path path =
      std::filesystem::path(::testing::TempDir()) / ("disk-" + std::to_string(getpid()) + ".sluice");
  auto file = file_writer::create(path.string());
  ASSERT_TRUE(file.has_value());
  training recorded(*file);
  for (int i = 0; i < 500; ++i) {
    recorded.step();
    if (i % 125 == 124) {  // As often as a recording with 800 us a step is flushed.
      ASSERT_TRUE(file->flush().has_value());
    }
  }
  ASSERT_TRUE(file->close().has_value());
  const double events = static_cast<double>(file->events());
  EXPECT_GT(static_cast<double>(recorded.touches()), 0.7 * events) << "most recorded rows are touches";
  EXPECT_LE(static_cast<double>(std::filesystem::file_size(path)) / events, 2.0);
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace sluice::trace
