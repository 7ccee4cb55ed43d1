// Reads code objects and texts that are made by hand, while another thread changes them.
#include "instrumentation/capture/python_samples/frame_keys.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace {
std::vector<std::string> sent_texts;
std::vector<sluice::ring::frame_record> sent_frames;
}  // namespace

// In place of the recording: knows nothing, and keeps what is sent.
namespace sluice::ring {

std::atomic<clock_kind> detail::current_clock{clock_kind::monotonic_ns};

std::uint64_t monotonic_now() noexcept { return read_clock(CLOCK_MONOTONIC); }
bool knows_frame(std::uint64_t) noexcept { return false; }
std::uint64_t intern(const char* text, std::size_t length) noexcept {
  sent_texts.emplace_back(text, length);
  return sent_texts.size();
}
void introduce_frame(frame_record frame) noexcept { sent_frames.push_back(frame); }

}  // namespace sluice::ring

namespace sluice::capture {
namespace {

/// A thread of Python 3.12 in one call of a function, whose name is a text that may be changed.
class made_up_function : public testing::Test {
 protected:
  static constexpr std::uint32_t compact_ascii = 1U << 2 | 1U << 5 | 1U << 6, elsewhere_ascii = 1U << 2 | 1U << 6;

  void SetUp() override {
    sent_texts.clear();
    sent_frames.clear();
    for (std::uint64_t* const object : {frame_, code_, name_, file_, table_}) std::fill(object, object + words, 0);
    const python_layout& layout = *python_.layout;
    ASSERT_TRUE(reader_->prepare(layout) && keys_->prepare(python_));
    put(state_, layout.thread.frame, address_of(cframe_));
    put(cframe_, layout.thread.frame_of_cframe, address_of(frame_));
    put(frame_, layout.frame.code, address_of(code_));
    put(frame_, layout.frame.instruction, address_of(code_) + layout.code.instructions);
    put_head(code_, &code_type_);
    put(code_, layout.code.version, std::uint32_t{7});
    put(code_, layout.code.name, address_of(name_));
    put(code_, layout.code.file, address_of(file_));
    put(code_, layout.code.line_table, address_of(table_));
    put_text(name_, "forward");
    put_text(file_, "model.py");
  }

  static std::uint64_t address_of(const void* object) { return reinterpret_cast<std::uint64_t>(object); }
  template <class T>
  static void put(std::uint64_t* object, std::size_t offset, T value) {
    std::memcpy(reinterpret_cast<char*>(object) + offset, &value, sizeof value);
  }
  static void put_head(std::uint64_t* object, const void* type) {
    put(object, 0, std::uint64_t{1});
    put(object, 8, address_of(type));
  }
  void put_text(std::uint64_t* object, const std::string& text) const {
    put_head(object, &text_type_);
    put(object, python_.layout->length(), text.size());
    put(object, python_.layout->unicode_state(), compact_ascii);
    std::memcpy(reinterpret_cast<char*>(object) + python_.layout->ascii_data, text.data(), text.size());
  }

  /// Looks at the thread and sends what is new. Returns false if the frame's details were not sent.
  bool introduce() {
    stack_->clear();
    keyed_stack keyed;
    return stack_->look(*reader_, address_of(state_), false) == sampled_stack::outcome::changed &&
           keys_->compute(reader_->memory, *stack_, keyed) && keys_->introduce(reader_->memory, *stack_);
  }

  const char code_type_ = 0, text_type_ = 0, bytes_type_ = 0;
  const python_symbols python_{known_layout(3, 12, false), nullptr, &code_type_, &text_type_, &bytes_type_};
  static constexpr std::size_t words = 64;
  alignas(64) std::uint64_t state_[words] = {}, cframe_[words] = {}, frame_[words], code_[words], name_[words],
                            file_[words], table_[words];
  // Their memory is zero at first, as the sampler's.
  std::unique_ptr<stack_reader> reader_{new stack_reader()};
  std::unique_ptr<sampled_stack> stack_{new sampled_stack()};
  std::unique_ptr<frame_keys> keys_{new frame_keys()};
};

TEST_F(made_up_function, is_sent_with_its_name_and_file) {
  ASSERT_TRUE(introduce());
  ASSERT_EQ(sent_frames.size(), 1U);
  EXPECT_EQ(sent_texts.at(sent_frames[0].function - 1), "forward");
  EXPECT_EQ(sent_texts.at(sent_frames[0].file - 1), "model.py");
}

TEST_F(made_up_function, without_a_plain_name_is_not_sent) {
  put(name_, python_.layout->unicode_state(), elsewhere_ascii);
  EXPECT_FALSE(introduce());
}

/// A freed text gives its place to another object: here one whose bytes look like a text that points to its characters.
TEST_F(made_up_function, may_lose_its_name_while_that_is_read) {
  constexpr std::uint64_t no_memory = 64;
  put(name_, python_.layout->unicode_data, no_memory);
  std::atomic<bool> done{false};
  std::thread other([&] {
    const std::atomic_ref state(*(name_ + python_.layout->unicode_state() / 8));
    while (!done.load(std::memory_order_relaxed)) {
      state.store(elsewhere_ascii);
      state.store(compact_ascii);
    }
  });
  constexpr int times = 2000;
  for (int i = 0; i < times; ++i) static_cast<void>(introduce());
  done.store(true);
  other.join();
  for (const auto& frame : sent_frames) EXPECT_EQ(sent_texts.at(frame.function - 1), "forward");
}

/// Moves the innermost frame's position: a line is found by adding up the table's entries before it.
TEST_F(made_up_function, may_have_a_line_table_that_is_none) {
  constexpr std::uint8_t long_entry = 0x80 | 13 << 3, more = 0x7f;
  constexpr std::size_t entry_bytes = 12;
  auto* const bytes = reinterpret_cast<std::uint8_t*>(table_) + python_.layout->bytes_data();
  constexpr std::size_t count = 400;
  for (std::size_t i = 0; i < count; ++i) bytes[i] = i % entry_bytes == 0 ? long_entry : more;
  put(table_, python_.layout->length(), count);
  put(frame_, python_.layout->frame.instruction, address_of(code_) + python_.layout->code.instructions + 60);
  ASSERT_TRUE(introduce());
  EXPECT_EQ(sent_frames.at(0).line, 0U);
}

/// A freed code object gives its place to others, too.
TEST_F(made_up_function, may_consist_of_random_words) {
  std::mt19937_64 random{1};
  const auto any = [&]() -> std::uint64_t {
    const std::uint64_t* const objects[] = {code_, name_, file_, table_, frame_};
    return random() % 4 == 0 ? random() : random() % 4 == 0 ? random() % 64 : address_of(objects[random() % 5]);
  };
  constexpr int times = 3000;
  for (int i = 0; i < times; ++i) {
    SetUp();
    put(frame_, python_.layout->frame.instruction,
        address_of(code_) + python_.layout->code.instructions + random() % 512);
    std::generate(std::begin(table_), std::end(table_), std::ref(random));
    put(table_, python_.layout->length(), random() % sizeof table_);
    std::uint64_t* const changed[] = {code_ + 2, name_ + 2, file_ + 2, frame_ + 2};
    for (std::uint64_t changes = random() % 4; changes > 0; --changes) changed[random() % 4][random() % 24] = any();
    static_cast<void>(introduce());
  }
}

}  // namespace
}  // namespace sluice::capture
