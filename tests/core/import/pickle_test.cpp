// The restricted pickle reader only reads data: whatever the bytes are, it never runs code.
#include "core/import/torch/pickle.hpp"

#include <gmock/gmock.h>

#include <chrono>
#include <cstring>
#include <deque>
#include <map>
#include <random>

#include "tests/core/import/files.hpp"
#include "tests/core/import/pickle_bytes.hpp"
#include "tests/programs.hpp"

namespace sluice::importing {
namespace {

using ::testing::HasSubstr;
using testing::pickle_bytes;

result<pickle_document> read(const std::string& bytes, std::size_t memory = std::size_t{1} << 30) {
  return read_pickle(std::as_bytes(std::span(bytes)), memory);
}

/// Reads from a source that returns at most `piece` bytes at a time.
result<pickle_document> read_in_pieces(const std::string& bytes, std::size_t piece) {
  std::size_t given = 0;
  const auto source = [&](std::span<std::byte> into) -> result<std::size_t> {
    const std::size_t count = std::min({piece, into.size(), bytes.size() - given});
    std::memcpy(into.data(), bytes.data() + given, count);
    given += count;
    return count;
  };
  return read_pickle(source, std::size_t{1} << 30, piece);
}

/// Reads a value and formats it like Python's repr.
std::string show(const pickle_document& document, const pickle_value& v) {
  switch (v.kind()) {
    case pickle_kind::none:
      return "None";
    case pickle_kind::boolean:
      return document.integer(v) != 0 ? "True" : "False";
    case pickle_kind::integer:
      return std::to_string(document.integer(v));
    case pickle_kind::huge_integer:
      return "huge";
    case pickle_kind::real:
      return std::to_string(document.real(v));
    case pickle_kind::text:
    case pickle_kind::bytes:
      return (v.is(pickle_kind::bytes) ? "b'" : "'") + std::string(document.text(v)) + "'";
    default:
      break;
  }
  std::string text;
  if (v.is(pickle_kind::dictionary)) {
    const pickle_pairs pairs = document.pairs(v);
    for (std::size_t i = 0; i < pairs.size(); ++i)
      text += (i == 0 ? "" : ", ") + show(document, pairs.key(i)) + ": " + show(document, pairs.value(i));
    return "{" + text + "}";
  }
  const auto items = document.items(v);
  for (std::size_t i = 0; i < items.size(); ++i) text += (i == 0 ? "" : ", ") + show(document, items[i]);
  if (v.is(pickle_kind::tuple) && items.size() == 1) text += ',';
  return v.is(pickle_kind::list) ? "[" + text + "]" : "(" + text + ")";
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

/// Python expressions for values, each equal to the value's repr. The test compares what the local Python pickles in
/// each protocol.
constexpr const char* values[] = {
    "None",
    "[True, False, 0, 1, 255, 256, 65535, 65536, 2147483647, -2147483648, -1, -255]",
    "[2147483648, 140097504673792, -140097504673792, 9223372036854775807, -9223372036854775808]",
    "{'a': [1, 2, (3, 4, 5, 6), (7,), (), (8, 9), (1, 2, 3)], 'b': {}, 'long': 'xxxxxxxxxxxxxxxxxxxxxxxx'}",
    "[[], [[]], [[], []], {'a': {'a': {'a': 1}}}]",
    "[{'a': 1, 'b': 2}, {'a': 3, 'b': 4}, {'b': 5, 'a': 6}, {'a': 7}, {'a': 8, 'b': 9}]",
    "[576460752303423487, 576460752303423488, -576460752303423488, -576460752303423489]",
};

class each_protocol : public ::testing::TestWithParam<int> {};

TEST_P(each_protocol, reads_what_python_writes) {
  const testing::own_folder folder;
  // One Python process writes them all: starting one takes longer than the rest of the test.
  std::string script = "import pickle\nfor number, v in enumerate([";
  for (const char* value : values) script.append(value).append(", ");
  script += "]):\n  with open('" + folder.file("") + "%d.pickle' % number, 'wb') as out:\n" +
            "    pickle.dump([v, v, 'same', 'same'], out, " + std::to_string(GetParam()) + ")\n";
  if (run_shell("python3 '" + folder.write("dump.py", script) + "'").status != 0) GTEST_SKIP() << "there is no python3";
  for (std::size_t i = 0; i < std::size(values); ++i) {
    const std::string value = values[i];
    EXPECT_EQ(show(testing::read_file(folder.file(std::to_string(i) + ".pickle"))),
              "[" + value + ", " + value + ", 'same', 'same']");
  }
}

INSTANTIATE_TEST_SUITE_P(pickle, each_protocol, ::testing::Values(2, 3, 4, 5));

TEST(pickle, reads_reals) {
  EXPECT_EQ(show(pickle_bytes().code('G').raw(std::string_view("\x3f\xf8\0\0\0\0\0\0", 8)).end()), "1.500000");
}

TEST(pickle, knows_integers_that_no_word_holds) {
  EXPECT_EQ(show(pickle_bytes().code('\x8a').code(9).little(0x8000'0000'0000'0000, 8).code(0).end()), "huge");
  EXPECT_EQ(show(pickle_bytes().code('\x8a').code(9).little(0x7fff'ffff'ffff'ffff, 8).code(0).end()),
            "9223372036854775807");
  EXPECT_EQ(show(pickle_bytes().code('\x8a').code(9).little(~std::uint64_t{0}, 8).code('\xff').end()), "-1");
  EXPECT_EQ(show(pickle_bytes().code('\x8a').code(0).end()), "0");
  EXPECT_EQ(show(pickle_bytes().code('\x8b').little(12, 4).raw("123456789012").end()), "huge");
}

TEST(pickle, knows_integers_of_every_length) {
  for (unsigned bits = 0; bits < 64; ++bits) {
    const std::uint64_t power = std::uint64_t{1} << bits;
    for (const std::uint64_t n : {power, power - 1, 1 - power})
      EXPECT_EQ(show(pickle_bytes().integer(static_cast<std::int64_t>(n)).end()),
                std::to_string(static_cast<std::int64_t>(n)));
  }
}

/// Data that Python might pickle: dictionaries that share a few sets of keys, other dictionaries, lists, and short and
/// long texts.
class any_data {
 public:
  explicit any_data(unsigned seed) : chance_(seed) {}

  void value(pickle_bytes& to, int depth = 0) {
    switch (below(depth > 4 ? 5 : 9)) {
      case 0:
        return void(to.code('N'));
      case 1:
        return void(to.integer(static_cast<std::int64_t>(chance_()) << below(40)));
      case 2:
        return text(to, std::string(below(40), 'x'));
      case 3:
        return text(to, std::string(below(2000), 'y'));
      case 4:
        return again(to);
      case 5:
      case 6:
        return dictionary(to, depth);
      default:
        return list(to, depth);
    }
  }

 private:
  std::size_t below(std::size_t end) { return chance_() % end; }

  void text(pickle_bytes& to, const std::string& words) {
    to.text(words).code('\x94');
    texts_.push_back(put_++);
  }
  void again(pickle_bytes& to) {
    if (texts_.empty()) return void(to.code('N'));
    to.code('j').little(texts_[below(texts_.size())], 4);
  }
  void key(pickle_bytes& to, const std::string& words) {
    const auto [at, fresh] = keys_.try_emplace(words, put_);
    if (fresh) return text(to, words);
    to.code('j').little(at->second, 4);
  }
  void list(pickle_bytes& to, int depth) {
    to.code(']').code('\x94').code('(');
    ++put_;
    for (std::size_t i = below(6); i > 0; --i) value(to, depth + 1);
    to.code('e');
  }
  void dictionary(pickle_bytes& to, int depth) {
    to.code('}').code('\x94');
    ++put_;
    // The list is filled at once, or in several batches.
    for (std::size_t turn = below(4); turn > 0; --turn) {
      to.code('(');
      const std::size_t first = below(3);
      for (std::size_t i = below(50) == 0 ? 40 : below(4); i > 0; --i) {
        key(to, "key " + std::to_string(first + i));
        value(to, depth + 2);
      }
      to.code('u');
    }
  }

  std::minstd_rand chance_;
  std::size_t put_ = 0;
  std::vector<std::size_t> texts_;  ///< The memo numbers of the texts that were stored.
  std::map<std::string, std::size_t> keys_;
};

/// Reads the opcodes that `any_data` writes without any knowledge of shapes and without caching small values; formats
/// as `show` does.
class plain_reader {
 public:
  explicit plain_reader(const std::string& bytes) : bytes_(bytes), at_(2) {}

  std::string read() {
    for (;;) {
      const char code = bytes_[at_++];
      if (code == '.') return show(*stack_.back());
      step(code);
    }
  }

 private:
  struct node {
    char kind = 'N';
    std::string text;
    std::vector<const node*> items;
  };
  std::uint64_t number(int bytes) {
    std::uint64_t n = 0;
    for (int i = 0; i < bytes; ++i)
      n |= static_cast<std::uint64_t>(static_cast<std::uint8_t>(bytes_[at_++])) << (8 * i);
    return n;
  }
  void push(char kind, std::string text) {
    nodes_.push_back({kind, std::move(text), {}});
    stack_.push_back(&nodes_.back());
  }
  void step(char code) {
    if (code == 'N') push('N', "None");
    if (code == ']' || code == '}') push(code, "");
    if (code == '\x94') memo_.push_back(stack_.back());
    if (code == 'j') stack_.push_back(memo_.at(number(4)));
    if (code == '(') marks_.push_back(stack_.size());
    if (code == '\x8a') {
      ++at_;
      push('i', std::to_string(static_cast<std::int64_t>(number(8))));
    }
    if (code == 'X') {
      const std::size_t size = number(4);
      push('X', "'" + bytes_.substr(at_, size) + "'");
      at_ += size;
    }
    if (code == 'e' || code == 'u') {
      const std::size_t mark = marks_.back();
      marks_.pop_back();
      node& into = *stack_[mark - 1];
      into.items.insert(into.items.end(), stack_.begin() + static_cast<std::ptrdiff_t>(mark), stack_.end());
      stack_.resize(mark);
    }
  }
  static std::string show(const node& subject) {
    if (subject.kind != ']' && subject.kind != '}') return subject.text;
    std::string text;
    for (std::size_t i = 0; i < subject.items.size(); ++i)
      text += (i == 0 ? "" : subject.kind == '}' && i % 2 == 1 ? ": " : ", ") + show(*subject.items[i]);
    return subject.kind == '}' ? "{" + text + "}" : "[" + text + "]";
  }

  const std::string& bytes_;
  std::size_t at_;
  std::deque<node> nodes_;
  std::vector<node*> stack_, memo_;
  std::vector<std::size_t> marks_;
};

TEST(pickle, reads_what_is_written) {
  for (unsigned seed = 1; seed <= 300; ++seed) {
    pickle_bytes written;
    any_data data(seed);
    written.code(']').code('(');
    for (int i = 0; i < 12; ++i) data.value(written);
    const std::string bytes = written.code('e').end();
    ASSERT_EQ(show(bytes), plain_reader(bytes).read()) << seed;
  }
}

TEST(pickle, reads_in_pieces_of_every_size) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    pickle_bytes written;
    any_data data(seed);
    written.code(']').code('(');
    for (int i = 0; i < 12; ++i) data.value(written);
    const std::string bytes = written.code('e').end();
    const std::string whole = show(bytes);
    for (std::size_t piece = 1; piece < 80; piece += 1 + seed % 7) {
      const auto document = read_in_pieces(bytes + "rest", piece);
      ASSERT_TRUE(document) << document.error().to_string();
      ASSERT_EQ(show(*document, document->root()), whole) << piece;
      EXPECT_EQ(document->trailing_bytes(), 4U);
    }
    // Both readers must fail at the same place.
    std::string broken = bytes;
    broken[broken.size() * seed / 21] = 'R';
    const auto at_once = read(broken);
    for (const std::size_t piece : {1, 7, 64}) {
      const auto document = read_in_pieces(broken, piece);
      ASSERT_EQ(bool(document), bool(at_once));
      EXPECT_EQ(document ? "" : document.error().to_string(), at_once ? "" : at_once.error().to_string());
    }
  }
}

TEST(pickle, keeps_the_keys_of_many_shapes) {
  // Writes more kinds of dictionaries than there are cached shapes, each kind twice.
  pickle_bytes written;
  written.code(']').code('(');
  for (int turn = 0; turn < 2; ++turn) {
    for (int kind = 0; kind < 3000; ++kind)
      written.code('}').code('(').integer(kind).code('N').integer(kind + 1).code(']').code('u');
  }
  const auto document = read(written.code('e').end());
  ASSERT_TRUE(document);
  const auto items = document->items(document->root());
  ASSERT_EQ(items.size(), 6000U);
  for (std::size_t i = 0; i < items.size(); ++i) {
    const std::string kind = std::to_string(i % 3000), next = std::to_string(i % 3000 + 1);
    ASSERT_EQ(show(*document, items[i]), "{" + kind + ": None, " + next + ": []}");
  }
}

TEST(pickle, passes_on_what_its_source_meets) {
  const std::string bytes = pickle_bytes().code(']').bytes();
  int asked = 0;
  const auto source = [&](std::span<std::byte> into) -> result<std::size_t> {
    if (++asked == 2) return fail(error_code::io, "the disk is gone", "a file", {}, 77);
    std::memcpy(into.data(), bytes.data(), bytes.size());
    return bytes.size();
  };
  const auto document = read_pickle(source);
  ASSERT_FALSE(document);
  EXPECT_EQ(document.error().code, error_code::io);
  EXPECT_EQ(document.error().offset, 77U);
}

TEST(pickle, runs_nothing) {
  // os.system('true'), as the module pickle would write it.
  expect_refused(
      "\x80\x02"
      "cos\nsystem\nX\x04\0\0\0true\x85R.",
      "0x63 would run code", 2);
  expect_refused(pickle_bytes().text("os").text("system").code('\x93').end(), "would run code", 20);
  for (const char code : {'R', 'i', 'o', 'c', '\x81', '\x92'}) {
    expect_refused(pickle_bytes().code(code).end(), "would run code", 2);
  }
  for (const char code : {'b', 'P', 'Q', '\x82', '\x83', '\x84'}) {
    expect_refused(pickle_bytes().code(code).end(), "a program's own type of object", 2);
  }
  expect_refused(pickle_bytes().code('\x8f').end(), "creates a set", 2);
  expect_refused(pickle_bytes().code('\0').end(), "0x00 is unknown", 2);
}

TEST(pickle, says_where_it_is_cut_off) {
  const std::string whole = pickle_bytes().code('}').text("key").code(']').integer(7).code('a').code('s').end();
  ASSERT_EQ(show(whole), "{'key': [7]}");
  for (std::size_t length = 0; length < whole.size(); ++length) {
    const auto cut = read(whole.substr(0, length));
    ASSERT_FALSE(cut) << length;
    EXPECT_LE(cut.error().offset, length);
  }
}

TEST(pickle, believes_no_claimed_size) {
  expect_refused(pickle_bytes().code('\x8d').little(UINT64_MAX, 8).end(), "18446744073709551615 bytes are claimed", 2);
  expect_refused(pickle_bytes().code('X').little(UINT32_MAX, 4).end(), "4294967295 bytes are claimed", 2);
  expect_refused(pickle_bytes().code('\x8b').little(UINT32_MAX, 4).end(), "are claimed", 2);
  // FRAME only gives the number of bytes to read ahead, so a wrong number is harmless.
  EXPECT_EQ(show(pickle_bytes().code('\x95').little(UINT64_MAX, 8).code('N').end()), "None");
}

TEST(pickle, keeps_the_memo_small) {
  expect_refused(pickle_bytes().code(']').code('r').little(UINT32_MAX, 4).end(), "is out of order", 3);
  expect_refused(pickle_bytes().code('h').code(0).end(), "the memo does not have the entry 0", 2);
  expect_refused(pickle_bytes().code('\x94').end(), "the stack is empty", 2);
}

TEST(pickle, refuses_what_its_stack_does_not_hold) {
  expect_refused(pickle_bytes().end(), "ends before its value", 2);
  expect_refused(pickle_bytes().code('(').code('N').end(), "ends before its value", 4);
  expect_refused(pickle_bytes().code('e').end(), "no mark was set", 2);
  expect_refused(pickle_bytes().code('(').code('e').end(), "items without a list", 3);
  expect_refused(pickle_bytes().code('}').code('(').code('N').code('e').end(), "items without a list", 5);
  expect_refused(pickle_bytes().code(']').code('(').code('N').code('u').end(), "items without a dictionary", 5);
  expect_refused(pickle_bytes().code('}').code('(').code('N').code('u').end(), "a key has no value", 5);
  expect_refused(pickle_bytes().code('(').code('N').code('d').end(), "a key has no value", 4);
  expect_refused(pickle_bytes().code('N').code('a').end(), "has too few", 3);
  expect_refused(pickle_bytes().code('N').code('\x86').end(), "has too few", 3);
  expect_refused(pickle_bytes().code('N').code('(').code('\x85').end(), "has too few", 4);
  expect_refused(pickle_bytes().code('(').code('2').end(), "the stack is empty", 3);
  expect_refused(pickle_bytes().code('0').end(), "the stack is empty", 2);
  EXPECT_EQ(show(pickle_bytes().code('(').code('0').code('N').end()), "None");
  EXPECT_EQ(show(pickle_bytes().code('N').code('(').code('N').code('1').end()), "None");
}

TEST(pickle, refuses_other_protocols) {
  expect_refused(std::string("\x80\x01N.", 4), "protocol 2 to 5", 0);
  expect_refused(std::string("\x80\x06N.", 4), "protocol 2 to 5", 0);
  expect_refused("N.", "protocol 2 to 5", 0);
  expect_refused(pickle_bytes().code('\x80').code(9).end(), "protocol newer", 2);
  expect_refused(pickle_bytes(2).code('I').raw("1\n").end(), "protocols before 2", 2);
}

TEST(pickle, takes_a_list_that_holds_itself) {
  const auto cyclic = read(pickle_bytes().code(']').code('\x94').code('h').code(0).code('a').end());
  ASSERT_TRUE(cyclic);
  const auto items = cyclic->items(cyclic->root());
  ASSERT_EQ(items.size(), 1U);
  EXPECT_EQ(items[0].index(), cyclic->root().index());
}

TEST(pickle, takes_deep_nesting_and_doubling_without_growing) {
  // A million nested lists.
  std::string deep = pickle_bytes().bytes();
  deep.append(1'000'000, ']');
  deep.append(999'999, 'a');
  const auto nested = read(deep + '.');
  ASSERT_TRUE(nested);
  EXPECT_EQ(nested->containers(), 1'000'000U);
  // Each list contains the previous one twice: 2^200 items if they were copied.
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

TEST(pickle, stays_within_its_memory) {
  for (const char fill : {']', '}', 'N', '(', ')'}) {
    const auto refused = read(pickle_bytes().bytes() + std::string(4'000'000, fill) + '.', std::size_t{8} << 20);
    ASSERT_FALSE(refused) << fill;
    EXPECT_THAT(refused.error().message, HasSubstr("memory limit")) << fill;
  }
  // One list that grows item by item.
  std::string growing = pickle_bytes().code(']').bytes();
  for (int i = 0; i < 2'000'000; ++i) growing += "Na";
  EXPECT_FALSE(read(growing + '.', std::size_t{8} << 20));
  EXPECT_TRUE(read(growing + '.', std::size_t{200} << 20));
}

TEST(pickle, takes_the_last_of_equal_keys) {
  const auto document =
      read(pickle_bytes().code('}').text("a").code('K').code(1).code('s').text("a").code('K').code(2).code('s').end());
  ASSERT_TRUE(document);
  ASSERT_NE(document->find(document->root(), "a"), nullptr);
  EXPECT_EQ(document->integer(*document->find(document->root(), "a")), 2);
  EXPECT_EQ(document->find(document->root(), "b"), nullptr);
}

}  // namespace
}  // namespace sluice::importing
