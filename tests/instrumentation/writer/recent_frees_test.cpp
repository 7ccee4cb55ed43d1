// recent_frees gives the same results as a plain list that keeps only the latest notes.
#include "instrumentation/writer/blocks/recent_frees.hpp"

#include <gtest/gtest.h>

#include <array>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "tests/core/recordings/allocated.hpp"

namespace sluice::writer {
namespace {

/// The reference: keeps all notes in a list.
class all_notes {
 public:
  explicit all_notes(std::size_t most) : max_(most) {}
  void put(std::uint64_t address, int value) {
    notes_.push_back({address, value});
    if (notes_.size() > max_) notes_.pop_front();
  }
  void erase(std::uint64_t address) {
    for (auto& [subject, value] : notes_) {
      if (subject == address) value.reset();
    }
  }
  [[nodiscard]] std::map<std::uint64_t, int> by_address() const {
    std::map<std::uint64_t, int> totals;
    for (const auto& [address, value] : notes_) {
      if (value) totals[address] = *value;
    }
    return totals;
  }

 private:
  std::size_t max_;
  std::deque<std::pair<std::uint64_t, std::optional<int>>> notes_;
};

TEST(recent_frees, are_what_the_end_of_all_notes_says) {
  constexpr std::size_t most = 16;
  for (const int queries_one_in : {1, 3, 20, 100}) {  // In the last case, more is added between queries than is kept.
    std::mt19937_64 random(7);
    recent_frees<int> notes(most);
    all_notes whole(most);
    for (int round = 0; round < 5'000; ++round) {
      const std::uint64_t address = random() % 40;
      notes.put(address, round);
      whole.put(address, round);
      if (random() % static_cast<unsigned>(queries_one_in) != 0) continue;
      if (random() % 4 == 0) {
        const std::uint64_t erased = random() % 40;
        notes.erase(erased);
        whole.erase(erased);
      }
      const std::map<std::uint64_t, int> expected = whole.by_address();
      for (std::uint64_t asked = 0; asked < 42; ++asked) {
        const int* const found = notes.find(asked);
        const auto exact = expected.find(asked);
        ASSERT_EQ(found != nullptr, exact != expected.end()) << asked << " in round " << round;
        if (found != nullptr) {
          ASSERT_EQ(*found, exact->second);
        }
        const int* const below = notes.at_or_below(asked);
        const auto above = expected.upper_bound(asked);
        ASSERT_EQ(below != nullptr, above != expected.begin()) << asked << " in round " << round;
        if (below != nullptr) {
          ASSERT_EQ(*below, std::prev(above)->second);
        }
      }
    }
  }
}

TEST(recent_frees, are_none_at_first) {
  recent_frees<int> notes(4);
  EXPECT_EQ(notes.find(1), nullptr);
  EXPECT_EQ(notes.at_or_below(UINT64_MAX), nullptr);
  notes.erase(1);
  notes.put(0, 5);
  EXPECT_EQ(*notes.find(0), 5);
}

TEST(recent_frees, start_anew_once_they_are_cleared) {
  recent_frees<int> notes(4);
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 20; ++i) notes.put(static_cast<std::uint64_t>(i), round * 100 + i);
    EXPECT_EQ(*notes.find(19), round * 100 + 19);
    EXPECT_EQ(notes.find(15), nullptr) << "only the latest four";
    notes.clear();
    EXPECT_EQ(notes.find(19), nullptr);
    EXPECT_EQ(notes.at_or_below(UINT64_MAX), nullptr);
  }
}

TEST(recent_frees, give_their_memory_back_once_they_are_cleared) {
  using notes = recent_frees<std::array<std::uint64_t, 4>>;
  std::vector<std::unique_ptr<notes>> many(64);
  const std::size_t before = allocated();
  for (auto& each : many) {
    each = std::make_unique<notes>(std::size_t{1} << 10);
    for (std::uint64_t i = 0; i < 5'000; ++i) each->put(i * 8, {});
    EXPECT_EQ(each->find(0), nullptr);
    each->clear();
  }
  EXPECT_LE(allocated(), before + many.size() * 1024);
}

}  // namespace
}  // namespace sluice::writer
