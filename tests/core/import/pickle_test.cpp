// The restricted reader of pickles: data only, whatever the bytes.
#include "core/import/pickle.hpp"

#include <gmock/gmock.h>

#include <chrono>
#include <list>

#include "tests/core/import/files.hpp"
#include "tests/core/import/pickle_bytes.hpp"

namespace sluice::importing {
namespace {

using ::testing::HasSubstr;
using testing::pickle_bytes;

result<pickle_document> read(const std::string& bytes, std::size_t memory = std::size_t{1} << 30) {
  static std::list<std::string> kept;  // A document refers to its bytes.
  return read_pickle(std::as_bytes(std::span(kept.emplace_back(bytes))), memory);
}

/// What is read, as Python's repr would say it.
std::string show(const pickle_document& of, const pickle_value& v) {
  switch (v.kind) {
    case pickle_kind::none:
      return "None";
    case pickle_kind::boolean:
      return v.integer != 0 ? "True" : "False";
    case pickle_kind::integer:
      return std::to_string(v.integer);
    case pickle_kind::huge_integer:
      return "huge";
    case pickle_kind::real:
      return std::to_string(v.real);
    case pickle_kind::text:
    case pickle_kind::bytes:
      return (v.is(pickle_kind::bytes) ? "b'" : "'") + std::string(of.text(v)) + "'";
    default:
      break;
  }
  std::string all;
  const auto items = of.items(v);
  const bool pairs = v.is(pickle_kind::dictionary);
  for (std::size_t i = 0; i < items.size(); ++i) {
    all += (i == 0 ? "" : pairs && i % 2 == 1 ? ": " : ", ") + show(of, items[i]);
  }
  if (v.is(pickle_kind::tuple) && items.size() == 1) all += ',';
  return pairs ? "{" + all + "}" : v.is(pickle_kind::list) ? "[" + all + "]" : "(" + all + ")";
}

std::string show(const std::string& bytes) {
  const auto document = read(bytes);
  return document ? show(*document, document->root()) : document.error().to_string();
}

void expect_refused(const std::string& bytes, std::string_view why, std::uint64_t offset) {
  const auto document = read(bytes);
  ASSERT_FALSE(document) << show(*document, document->root());
  EXPECT_EQ(document.error().code, error_code::corrupt);
  EXPECT_THAT(document.error().message, HasSubstr(std::string(why)));
  EXPECT_EQ(document.error().offset, offset);
}

/// Python's repr of a value, and what this machine's Python makes of it in each protocol.
constexpr const char* values[] = {
    "None",
    "[True, False, 0, 1, 255, 256, 65535, 65536, 2147483647, -2147483648, -1, -255]",
    "[2147483648, 140097504673792, -140097504673792, 9223372036854775807, -9223372036854775808]",
    "{'a': [1, 2, (3, 4, 5, 6), (7,), (), (8, 9), (1, 2, 3)], 'b': {}, 'long': 'xxxxxxxxxxxxxxxxxxxxxxxx'}",
    "[[], [[]], [[], []], {'a': {'a': {'a': 1}}}]",
};

class EachProtocol : public ::testing::TestWithParam<int> {};

TEST_P(EachProtocol, ReadsWhatPythonWrites) {
  const testing::own_folder folder;
  for (const char* value : values) {
    const std::string path = folder.file("value.pickle");
    const std::string command = "python3 -c \"import pickle; v=" + std::string(value) +
                                "; pickle.dump([v, v, 'same', 'same'], open('" + path + "', 'wb'), " +
                                std::to_string(GetParam()) + ")\" 2>/dev/null";
    if (std::system(command.c_str()) != 0) GTEST_SKIP() << "there is no python3";
    EXPECT_EQ(show(testing::read_file(path)),
              "[" + std::string(value) + ", " + std::string(value) + ", 'same', 'same']");
  }
}

INSTANTIATE_TEST_SUITE_P(Pickle, EachProtocol, ::testing::Values(2, 3, 4, 5));

TEST(Pickle, ReadsReals) {
  EXPECT_EQ(show(pickle_bytes().code('G').raw(std::string_view("\x3f\xf8\0\0\0\0\0\0", 8)).end()), "1.500000");
}

TEST(Pickle, KnowsIntegersThatNoWordHolds) {
  EXPECT_EQ(show(pickle_bytes().code('\x8a').code(9).little(0x8000'0000'0000'0000, 8).code(0).end()), "huge");
  EXPECT_EQ(show(pickle_bytes().code('\x8a').code(9).little(0x7fff'ffff'ffff'ffff, 8).code(0).end()),
            "9223372036854775807");
  EXPECT_EQ(show(pickle_bytes().code('\x8a').code(9).little(~std::uint64_t{0}, 8).code('\xff').end()), "-1");
  EXPECT_EQ(show(pickle_bytes().code('\x8a').code(0).end()), "0");
  EXPECT_EQ(show(pickle_bytes().code('\x8b').little(12, 4).raw("123456789012").end()), "huge");
}

TEST(Pickle, RunsNothing) {
  // cos.system('true'), as the module pickle would.
  expect_refused(
      "\x80\x02"
      "cos\nsystem\nX\x04\0\0\0true\x85R.",
      "0x63 asks to run code", 2);
  expect_refused(pickle_bytes().text("os").text("system").code('\x93').end(), "asks to run code", 20);
  for (const char code : {'R', 'i', 'o', 'c', '\x81', '\x92'}) {
    expect_refused(pickle_bytes().code(code).end(), "asks to run code", 2);
  }
  for (const char code : {'b', 'P', 'Q', '\x82', '\x83', '\x84'}) {
    expect_refused(pickle_bytes().code(code).end(), "an object of a program's own", 2);
  }
  expect_refused(pickle_bytes().code('\x8f').end(), "makes a set", 2);
  expect_refused(pickle_bytes().code('\0').end(), "0x00 is none", 2);
}

TEST(Pickle, SaysWhereItIsCutOff) {
  const std::string whole = pickle_bytes().code('}').text("key").code(']').integer(7).code('a').code('s').end();
  ASSERT_EQ(show(whole), "{'key': [7]}");
  for (std::size_t length = 0; length < whole.size(); ++length) {
    const auto cut = read(whole.substr(0, length));
    ASSERT_FALSE(cut) << length;
    EXPECT_LE(cut.error().offset, length);
  }
}

TEST(Pickle, BelievesNoClaimedSize) {
  expect_refused(pickle_bytes().code('\x8d').little(UINT64_MAX, 8).end(), "18446744073709551615 bytes are claimed", 2);
  expect_refused(pickle_bytes().code('X').little(UINT32_MAX, 4).end(), "4294967295 bytes are claimed", 2);
  expect_refused(pickle_bytes().code('\x8b').little(UINT32_MAX, 4).end(), "are claimed", 2);
  // FRAME only says how much to read ahead.
  EXPECT_EQ(show(pickle_bytes().code('\x95').little(UINT64_MAX, 8).code('N').end()), "None");
}

TEST(Pickle, KeepsTheMemoSmall) {
  expect_refused(pickle_bytes().code(']').code('r').little(UINT32_MAX, 4).end(), "comes before those below it", 3);
  expect_refused(pickle_bytes().code('h').code(0).end(), "the memo has no entry 0", 2);
  expect_refused(pickle_bytes().code('\x94').end(), "the stack is empty", 2);
}

TEST(Pickle, RefusesWhatItsStackDoesNotHold) {
  expect_refused(pickle_bytes().end(), "ends before its value", 2);
  expect_refused(pickle_bytes().code('(').code('N').end(), "ends before its value", 4);
  expect_refused(pickle_bytes().code('e').end(), "no mark was set", 2);
  expect_refused(pickle_bytes().code('(').code('e').end(), "items are for no list", 3);
  expect_refused(pickle_bytes().code('}').code('(').code('N').code('e').end(), "items are for no list", 5);
  expect_refused(pickle_bytes().code(']').code('(').code('N').code('u').end(), "items are for no dictionary", 5);
  expect_refused(pickle_bytes().code('}').code('(').code('N').code('u').end(), "a key has no value", 5);
  expect_refused(pickle_bytes().code('(').code('N').code('d').end(), "a key has no value", 4);
  expect_refused(pickle_bytes().code('N').code('a').end(), "holds too few", 3);
  expect_refused(pickle_bytes().code('N').code('\x86').end(), "holds too few", 3);
  expect_refused(pickle_bytes().code('N').code('(').code('\x85').end(), "holds too few", 4);
  expect_refused(pickle_bytes().code('(').code('2').end(), "the stack is empty", 3);
  expect_refused(pickle_bytes().code('0').end(), "the stack is empty", 2);
  EXPECT_EQ(show(pickle_bytes().code('(').code('0').code('N').end()), "None");
  EXPECT_EQ(show(pickle_bytes().code('N').code('(').code('N').code('1').end()), "None");
}

TEST(Pickle, RefusesOtherProtocols) {
  expect_refused(std::string("\x80\x01N.", 4), "protocols 2 to 5", 0);
  expect_refused(std::string("\x80\x06N.", 4), "protocols 2 to 5", 0);
  expect_refused("N.", "protocols 2 to 5", 0);
  expect_refused(pickle_bytes().code('\x80').code(9).end(), "newer protocol", 2);
  expect_refused(pickle_bytes(2).code('I').raw("1\n").end(), "protocols before 2", 2);
}

TEST(Pickle, TakesAListThatHoldsItself) {
  const auto cyclic = read(pickle_bytes().code(']').code('\x94').code('h').code(0).code('a').end());
  ASSERT_TRUE(cyclic);
  const auto items = cyclic->items(cyclic->root());
  ASSERT_EQ(items.size(), 1U);
  EXPECT_EQ(items[0].index, cyclic->root().index);
}

TEST(Pickle, TakesDeepNestingAndDoublingWithoutGrowing) {
  // A million lists in one another.
  std::string deep = pickle_bytes().bytes();
  deep.append(1'000'000, ']');
  deep.append(999'999, 'a');
  const auto nested = read(deep + '.');
  ASSERT_TRUE(nested);
  EXPECT_EQ(nested->containers(), 1'000'000U);
  // Each list holds the one before twice: 2^200 items, were they copied.
  std::string doubling = pickle_bytes().code(']').code('\x94').bytes();
  for (int i = 0; i < 200; ++i) {
    doubling += pickle_bytes()
                    .code(']')
                    .code('\x94')
                    .code('(')
                    .code('h')
                    .code(static_cast<char>(i))
                    .code('h')
                    .code(static_cast<char>(i))
                    .code('e')
                    .bytes()
                    .substr(2);
  }
  const auto doubled = read(doubling + '.');
  ASSERT_TRUE(doubled) << doubled.error().to_string();
  EXPECT_EQ(doubled->containers(), 201U);
}

TEST(Pickle, StaysWithinItsMemory) {
  for (const char fill : {']', '}', 'N', '(', ')'}) {
    const auto refused = read(pickle_bytes().bytes() + std::string(4'000'000, fill) + '.', std::size_t{8} << 20);
    ASSERT_FALSE(refused) << fill;
    EXPECT_THAT(refused.error().message, HasSubstr("more memory")) << fill;
  }
  // One list that grows item by item.
  std::string growing = pickle_bytes().code(']').bytes();
  for (int i = 0; i < 2'000'000; ++i) growing += "Na";
  EXPECT_FALSE(read(growing + '.', std::size_t{8} << 20));
  EXPECT_TRUE(read(growing + '.', std::size_t{200} << 20));
}

TEST(Pickle, TakesTheLastOfEqualKeys) {
  const auto document =
      read(pickle_bytes().code('}').text("a").code('K').code(1).code('s').text("a").code('K').code(2).code('s').end());
  ASSERT_TRUE(document);
  ASSERT_NE(document->find(document->root(), "a"), nullptr);
  EXPECT_EQ(document->find(document->root(), "a")->integer, 2);
  EXPECT_EQ(document->find(document->root(), "b"), nullptr);
}

}  // namespace
}  // namespace sluice::importing
