// Converts values to bytes and back.
#include "core/query/elsewhere/wire.hpp"

#include <gtest/gtest.h>

#include "core/trace/model/row_type.hpp"

namespace sluice::query::wire {
namespace {

enum class colour : std::uint8_t { red, green, blue };
struct plain {
  std::uint64_t a = 0;
  double b = 0;
  colour c = colour::red;
  bool operator==(const plain&) const = default;
};
struct nested {
  std::string text;
  std::vector<plain> list;
  std::optional<std::int64_t> maybe;
  std::map<std::uint32_t, std::vector<std::string>> map;
  std::array<std::uint16_t, 3> array{};
  std::vector<bool> flags;
  std::shared_ptr<const plain> shared;
  std::pair<int, float> pair;
};

template <class T>
std::vector<std::byte> get_bytes(const T& value) {
  std::vector<std::byte> out;
  writer(out).put(value);
  return out;
}
template <class T>
std::optional<T> get_value(std::span<const std::byte> bytes) {
  T output{};
  reader in(bytes);
  in.get(output);
  return in.failed() || !in.at_end() ? std::nullopt : std::optional(std::move(output));
}

nested example() {
  return {"grün",
          {{1, 2.5, colour::blue}, {~std::uint64_t{0}, -0.0, colour::green}},
          -7,
          {{3, {"x", ""}}},
          {1, 2, 65535},
          {true, false, true},
          std::make_shared<plain>(plain{9, 1e300, colour::red}),
          {-1, 0.5F}};
}

TEST(wire, brings_back_what_was_put) {
  const nested was = example();
  const auto bytes = get_value<nested>(get_bytes(was));
  ASSERT_TRUE(bytes);
  EXPECT_EQ(bytes->text, was.text);
  EXPECT_EQ(bytes->list, was.list);
  EXPECT_EQ(bytes->maybe, was.maybe);
  EXPECT_EQ(bytes->map, was.map);
  EXPECT_EQ(bytes->array, was.array);
  EXPECT_EQ(bytes->flags, was.flags);
  EXPECT_EQ(*bytes->shared, *was.shared);
  EXPECT_EQ(bytes->pair, was.pair);
}

TEST(wire, refuses_every_cut) {
  const auto bytes = get_bytes(example());
  for (std::size_t size = 0; size < bytes.size(); ++size)
    EXPECT_FALSE(get_value<nested>(std::span(bytes).first(size))) << size;
}

TEST(wire, refuses_lengths_beyond_the_bytes_before_it_takes_memory) {
  const std::uint32_t huge = 0xffff'ffff;
  EXPECT_FALSE(get_value<std::vector<plain>>(get_bytes(huge)));
  EXPECT_FALSE(get_value<std::vector<double>>(get_bytes(huge)));
  EXPECT_FALSE(get_value<std::vector<std::string>>(get_bytes(huge)));
  EXPECT_FALSE(get_value<std::string>(get_bytes(huge)));
  EXPECT_FALSE((get_value<std::map<int, int>>(get_bytes(huge))));
}

TEST(wire, refuses_enumerators_truth_values_and_times_that_do_not_exist) {
  EXPECT_EQ(detail::enum_end<colour>, 3U);
  EXPECT_GT(detail::enum_end<trace::row_type>, static_cast<std::uint64_t>(trace::row_type::api_call)) << "it has gaps";
  EXPECT_EQ(detail::enum_end<trace::event_id>, 0U) << "of ids, every value exists";
  EXPECT_TRUE(get_value<colour>(get_bytes(std::uint8_t{2})));
  EXPECT_FALSE(get_value<colour>(get_bytes(std::uint8_t{3})));
  EXPECT_FALSE(get_value<bool>(get_bytes(std::uint8_t{2})));
  EXPECT_TRUE(get_value<std::int64_t>(get_bytes(trace::unknown_time)));
  EXPECT_FALSE(get_value<std::int64_t>(get_bytes(std::numeric_limits<std::int64_t>::max() - 1)));
}

TEST(wire, tells_layouts_apart) {
  const auto text = []<class T>(std::type_identity<T> /*type*/) {
    std::string line;
    describe<T>(line);
    return line;
  };
  EXPECT_EQ(text(std::type_identity<plain>{}), "(u8f8e1:3)");
  EXPECT_NE(text(std::type_identity<std::vector<int>>{}), text(std::type_identity<std::optional<int>>{}));
}

}  // namespace
}  // namespace sluice::query::wire
