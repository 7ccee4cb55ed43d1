#include "core/summary/stored/serialize.hpp"

#include <gtest/gtest.h>

#include <random>

namespace sluice::summary::archive_test {

enum class colour : std::uint8_t { red, green, blue };

struct part {
  std::int64_t number = 0;
  std::string name;
  friend bool operator==(const part&, const part&) = default;
};

struct whole {
  std::uint64_t size = 0;
  std::uint8_t little = 0;
  bool flag = false;
  double real = 0;
  colour paint = colour::red;
  trace::block_id block{};
  trace::time_ns until = trace::unknown_time;
  int scratch = 0;  // not stored
  std::vector<part> parts;
  std::vector<std::string> words;
  friend bool operator==(const whole&, const whole&) = default;
};

template <class Archive>
void fields(Archive& whole, like<Archive, part> subject) {
  whole(subject, subject.number, subject.name);
}
template <class Archive>
void fields(Archive& full, like<Archive, whole> subject) {
  full(subject, subject.size, subject.little, subject.flag, subject.real, subject.paint, subject.block,
       or_unknown{subject.until}, left_out{}, subject.parts, subject.words);
}

}  // namespace sluice::summary::archive_test

namespace sluice::summary {
template <>
inline constexpr std::uint64_t enum_end<summary::archive_test::colour> = 3;
}  // namespace sluice::summary

namespace sluice::summary::archive_test {
namespace {

static_assert(member_count<part> == 2);
static_assert(member_count<whole> == 10);

constexpr std::size_t room = 1 << 20;

std::string written(const whole& value) {
  std::string bytes;
  value_writer to(bytes);
  to.put(value);
  EXPECT_FALSE(to.failed());
  return bytes;
}

whole some_value() {
  return {~std::uint64_t{0},
          255,
          true,
          -0.1,
          colour::blue,
          trace::block_id{~std::uint64_t{0}},
          largest_signed,
          0,
          {{-largest_signed, "a"}, {7, std::string(300, 'x')}},
          {"", "b"}};
}

TEST(an_archive, gives_back_what_was_written) {
  for (const whole& value : {whole{}, some_value()}) {
    const std::string bytes = written(value);
    whole read;
    value_reader reader(bytes, room);
    reader.get(read);
    EXPECT_FALSE(reader.failed());
    EXPECT_TRUE(reader.at_end());
    EXPECT_EQ(read, value);
  }
}

TEST(an_archive, leaves_out_what_is_not_kept) {
  whole value;
  value.scratch = 5;
  EXPECT_EQ(written(value), written(whole{}));
}

TEST(an_archive, that_was_cut_anywhere_fails) {
  const std::string bytes = written(some_value());
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    whole read;
    value_reader reader(std::string_view(bytes).substr(0, size), room);
    reader.get(read);
    EXPECT_TRUE(reader.failed()) << size;
  }
}

TEST(an_archive, does_not_keep_numbers_that_could_overflow) {
  const auto refused = [](auto&& spoil) {
    whole value;
    spoil(value);
    std::string bytes;
    value_writer to(bytes);
    to.put(value);
    whole read;
    value_reader reader(bytes, room);
    reader.get(read);
    return to.failed() && reader.failed();
  };
  EXPECT_TRUE(refused([](whole& v) { v.parts = {{largest_signed + 1, {}}}; }));
  EXPECT_TRUE(refused([](whole& v) { v.parts = {{trace::unknown_time, {}}}; })) << "only where it may be unknown";
  EXPECT_TRUE(refused([](whole& v) { v.until = INT64_MAX; }));
  EXPECT_TRUE(refused([](whole& v) { v.real = std::numeric_limits<double>::quiet_NaN(); }));
  EXPECT_TRUE(refused([](whole& v) { v.real = -std::numeric_limits<double>::infinity(); }));
}

TEST(an_archive, does_not_believe_claimed_sizes) {
  // Claims 2^63 parts, and as many bytes of a string.
  const std::string huge = std::string(9, '\x80') + '\x01';
  std::vector<part> parts;
  value_reader of_parts(huge, room);
  of_parts.get(parts);
  EXPECT_TRUE(of_parts.failed());
  EXPECT_EQ(parts.capacity(), 0U);
  std::string text;
  value_reader of_text(huge, room);
  of_text.get(text);
  EXPECT_TRUE(of_text.failed());
  // Claims as many parts as there are bytes, which is more than fit.
  std::string bytes = "\xff\x7f" + std::string(16383, '\0');
  value_reader little_room(bytes, 1000);
  little_room.get(parts);
  EXPECT_TRUE(little_room.failed());
  EXPECT_EQ(parts.capacity(), 0U);
}

TEST(an_archive, refuses_values_that_their_type_does_not_have) {
  const auto refuses = []<class T>(T value, std::string_view bytes) {
    value_reader reader(bytes, room);
    reader.get(value);
    return reader.failed();
  };
  EXPECT_TRUE(refuses(colour{}, "\x03"));
  EXPECT_FALSE(refuses(colour{}, "\x02"));
  EXPECT_TRUE(refuses(false, "\x02"));
  EXPECT_TRUE(refuses(std::uint8_t{0}, "\x80\x02"));
  EXPECT_TRUE(refuses(std::uint64_t{0}, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02")) << "65 bits";
  EXPECT_FALSE(refuses(std::uint64_t{0}, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"));
}

TEST(an_archive, comes_back_from_any_bytes) {
  std::mt19937_64 random(5);
  const std::string good = written(some_value());
  for (int i = 0; i < 20'000; ++i) {
    std::string bytes = good;
    for (auto changes = 1 + random() % 4; changes > 0; --changes)
      bytes[random() % bytes.size()] = static_cast<char>(random());
    whole read;
    value_reader reader(bytes, room);
    reader.get(read);
    if (reader.failed() || !reader.at_end()) continue;
    whole again;
    const std::string twice = written(read);
    value_reader from_twice(twice, room);
    from_twice.get(again);
    // Doubles such as -0 are compared by their bytes.
    EXPECT_EQ(written(again), twice);
  }
}

TEST(a_description, says_what_is_kept) {
  describer subject;
  subject.put(whole{});
  EXPECT_EQ(subject.text(), "{u8u1u1de3et[{i8s}][s]}");
}

}  // namespace
}  // namespace sluice::summary::archive_test
