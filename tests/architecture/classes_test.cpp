// Checks that classes stay small: the number of data members and of methods of each class in a header.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice::test {
namespace {

namespace fs = std::filesystem;

/// Splits C++ text into tokens: names, numbers and punctuation. Drops comments and preprocessor lines; a string or
/// character literal becomes the token `""`. `::`, `->`, `&&` and `||` are one token, other punctuation is one token per
/// character.
class lexer {
 public:
  explicit lexer(std::string_view text) : text_(text) {}

  [[nodiscard]] std::vector<std::string> tokens() {
    while (next_ < text_.size()) read();
    return std::move(tokens_);
  }

 private:
  [[nodiscard]] bool sees(std::string_view begin) const { return text_.substr(next_).starts_with(begin); }
  [[nodiscard]] static bool in_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

  void read() {
    const char c = text_[next_];
    if (c == '\n') line_begins_ = true;
    if (std::isspace(static_cast<unsigned char>(c)) != 0) {
      ++next_;
    } else if (sees("//") || (c == '#' && line_begins_)) {
      skip_line();
    } else if (sees("/*")) {
      skip_past("*/", 2);
    } else {
      read_token(c);
    }
  }

  void read_token(char c) {
    line_begins_ = false;
    if (c == '"' || c == '\'')
      read_literal(c);
    else if (std::isdigit(static_cast<unsigned char>(c)) != 0)
      read_number();
    else if (in_name(c))
      read_name();
    else if (sees("::") || sees("->") || sees("&&") || sees("||"))
      add(2);
    else
      add(1);
  }

  void add(std::size_t length) {
    tokens_.emplace_back(text_.substr(next_, length));
    next_ += length;
  }

  /// Skips to the end of the line; a backslash at the end continues the line.
  void skip_line() {
    while (next_ < text_.size() && text_[next_] != '\n') next_ += sees("\\\n") ? 2 : 1;
  }

  /// Skips `opening` characters, and then everything up to and including `end`.
  void skip_past(std::string_view end, std::size_t opening) {
    const auto found = text_.find(end, next_ + opening);
    next_ = found == std::string_view::npos ? text_.size() : found + end.size();
  }

  void read_literal(char quote) {
    tokens_.emplace_back("\"\"");
    for (++next_; next_ < text_.size() && text_[next_] != quote; ++next_) {
      if (text_[next_] == '\\') ++next_;
    }
    ++next_;
  }

  /// Reads a number, in which a quote separates digits.
  void read_number() {
    std::size_t length = 1;
    for (; next_ + length < text_.size(); ++length) {
      const char c = text_[next_ + length];
      if (!in_name(c) && c != '.' && c != '\'') break;
    }
    add(length);
  }

  void read_name() {
    std::size_t length = 1;
    while (next_ + length < text_.size() && in_name(text_[next_ + length])) ++length;
    const auto name = text_.substr(next_, length);
    const bool raw = name.ends_with('R') && text_.substr(next_ + length).starts_with('"');
    if (!raw) return add(length);
    const auto open = text_.find('(', next_);
    if (open == std::string_view::npos) return add(length);
    const auto quote = next_ + length;
    const std::string end = ")" + std::string(text_.substr(quote + 1, open - quote - 1)) + "\"";
    tokens_.emplace_back("\"\"");
    skip_past(end, open - next_);
  }

  std::string_view text_;
  std::size_t next_ = 0;
  bool line_begins_ = true;  ///< The line has had only white space so far.
  std::vector<std::string> tokens_;
};

/// The size of a class.
struct class_size {
  std::string name;         ///< With the names of the classes around it, such as "lane::step".
  std::size_t data = 0;     ///< Data members of each object. Static members do not count.
  std::size_t methods = 0;  ///< Without overrides, and without functions that are defaulted or deleted.
  friend bool operator==(const class_size&, const class_size&) = default;
};

/// Finds the classes in a text and counts their members. Structs without functions are not classes in this sense;
/// operators, and functions that are defaulted or deleted, do not make them classes.
///
/// This is not a compiler: it knows the declarations that members of a class can have, and skips the rest by matching
/// brackets. It counts members in all branches of `#if`.
class class_reader {
 public:
  explicit class_reader(std::string_view text) : tokens_(lexer(text).tokens()) {}

  [[nodiscard]] std::vector<class_size> classes() {
    read_between(0, tokens_.size(), {});
    return std::move(found_);
  }

 private:
  /// The position of a class's definition in the tokens.
  struct definition {
    std::string name;       ///< Empty for a class without a name.
    std::size_t open = 0;   ///< The index of the opening brace.
    std::size_t after = 0;  ///< The index after the closing brace.
  };
  struct counts {
    std::size_t data = 0;
    std::size_t methods = 0;
    bool has_functions = false;
  };

  [[nodiscard]] std::string_view at(std::size_t index) const {
    return index < tokens_.size() ? std::string_view(tokens_[index]) : std::string_view{};
  }
  [[nodiscard]] bool at_any(std::size_t index, std::initializer_list<std::string_view> words) const {
    return std::find(words.begin(), words.end(), at(index)) != words.end();
  }
  [[nodiscard]] bool at_name(std::size_t index) const {
    const auto token = at(index);
    return !token.empty() && (std::isalpha(static_cast<unsigned char>(token.front())) != 0 || token.front() == '_');
  }
  [[nodiscard]] bool at_group(std::size_t index) const { return at_any(index, {"(", "[", "{"}); }

  // Each of these functions returns the index after something that begins at `index`.

  /// Brackets, and everything in them.
  [[nodiscard]] std::size_t past_group(std::size_t index) const {
    std::size_t depth = 0;
    for (; index < tokens_.size(); ++index) {
      if (at_group(index)) ++depth;
      if (at_any(index, {")", "]", "}"}) && --depth == 0) return index + 1;
    }
    return index;
  }

  /// Template arguments or parameters in `<` and `>`. If no `>` matches, `index` itself.
  [[nodiscard]] std::size_t past_angles(std::size_t index) const {
    std::size_t depth = 0;
    for (std::size_t next = index; next < tokens_.size();) {
      if (at(next) == "<") ++depth;
      if (at(next) == ">" && --depth == 0) return next + 1;
      if (at_any(next, {";", ")", "]", "}"})) return index;
      next = at_group(next) ? past_group(next) : next + 1;
    }
    return index;
  }

  /// One token, or brackets or template arguments with everything in them.
  [[nodiscard]] std::size_t past_unit(std::size_t index) const {
    if (at_group(index)) return past_group(index);
    if (at(index) == "<") return std::max(past_angles(index), index + 1);
    return index + 1;
  }

  /// As `past_unit`, but in an expression, where `<` may mean "less": it begins template arguments only if the token
  /// after `>` can follow a type.
  [[nodiscard]] std::size_t past_operand(std::size_t index) const {
    const auto after = past_unit(index);
    if (at(index) != "<" || at_any(after, {"(", "{", "::", ",", ";"})) return after;
    return index + 1;
  }

  /// Everything up to and including the next `;` outside brackets.
  [[nodiscard]] std::size_t past_semicolon(std::size_t index) const {
    while (index < tokens_.size() && at(index) != ";") index = past_unit(index);
    return index + 1;
  }

  /// `friend` and what it declares, which may have a body.
  [[nodiscard]] std::size_t past_friend(std::size_t index) const {
    while (index < tokens_.size() && !at_any(index, {";", "{"})) index = past_unit(index);
    return at(index) == "{" ? past_group(index) : index + 1;
  }

  /// The condition after `requires`.
  [[nodiscard]] std::size_t past_condition(std::size_t index) const {
    while (index < tokens_.size()) {
      while (at(index) == "!") ++index;
      if (at(index) == "requires") {
        if (at(++index) == "(") index = past_group(index);
        index = past_group(index);
      } else if (at(index) == "(") {
        index = past_group(index);
      } else {
        ++index;
        while (at(index) == "::" || at(index) == "<") index = at(index) == "<" ? past_unit(index) : index + 2;
      }
      if (!at_any(index, {"&&", "||"})) return index;
      ++index;
    }
    return index;
  }

  /// `template <...>` with its condition, as often as it occurs.
  [[nodiscard]] std::size_t past_template(std::size_t index) const {
    while (at(index) == "template") {
      index = past_unit(index + 1);
      if (at(index) == "requires") index = past_condition(index + 1);
    }
    return index;
  }

  /// The initializers of a constructor, after the `:`.
  [[nodiscard]] std::size_t past_initializers(std::size_t index) const {
    while (index < tokens_.size()) {
      while (index < tokens_.size() && !at_any(index, {"(", "{"})) index = past_unit(index);
      index = past_group(index);
      while (at(index) == ".") ++index;
      if (at(index) != ",") return index;
      ++index;
    }
    return index;
  }

  /// The definition of a class whose keyword is at `index`; nullopt for a declaration, a parameter or an enumeration.
  [[nodiscard]] std::optional<definition> definition_at(std::size_t index) const {
    if (index > 0 && at(index - 1) == "enum") return std::nullopt;
    definition found;
    for (++index; at(index) == "[" || at(index) == "alignas"; index = past_unit(index)) {
      if (at(index) == "alignas") ++index;
    }
    if (at_name(index)) found.name = at(index++);
    while (at(index) == "::" || at(index) == "<") {
      if (at(index) == "::") found.name = at(index + 1);
      index = at(index) == "<" ? past_unit(index) : index + 2;
    }
    if (at(index) == "final") ++index;
    if (at(index) == ":") {
      while (index < tokens_.size() && !at_any(index, {"{", ";", ")"})) index = past_unit(index);
    }
    if (at(index) != "{") return std::nullopt;
    found.open = index;
    found.after = past_group(index);
    return found;
  }

  /// Reads the classes between two indices, nested ones too. `outer` is the name of the class around them.
  void read_between(std::size_t index, std::size_t end, const std::string& outer) {
    while (index < end) {
      const auto found = at_any(index, {"class", "struct"}) ? definition_at(index) : std::nullopt;
      if (!found) {
        ++index;
        continue;
      }
      const std::string name = outer.empty() || found->name.empty() ? outer + found->name : outer + "::" + found->name;
      counts size;
      count_members(*found, size);
      const bool plain = at(index) == "struct" && !size.has_functions;
      if (!plain && !found->name.empty()) found_.push_back({name, size.data, size.methods});
      read_between(found->open + 1, found->after - 1, name);
      index = found->after;
    }
  }

  void count_members(const definition& body, counts& into) const {
    for (std::size_t index = body.open + 1; index + 1 < body.after;) index = count_member(index, into);
  }

  // The functions below count the member that begins at `index` and return the index after the member.

  [[nodiscard]] std::size_t count_member(std::size_t index, counts& into) const {
    if (at(index) == ";") return index + 1;
    if (at_any(index, {"public", "protected", "private"}) && at(index + 1) == ":") return index + 2;
    index = past_template(index);
    if (at_any(index, {"using", "typedef", "static_assert"})) return past_semicolon(index);
    if (at(index) == "enum") return count_enumeration(index, into);
    if (at(index) == "friend") return past_friend(index);
    if (at_any(index, {"class", "struct", "union"})) return count_nested(index, into);
    return count_declaration(index, into);
  }

  /// An enumeration is not a member, but a member can follow it.
  [[nodiscard]] std::size_t count_enumeration(std::size_t index, counts& into) const {
    while (index < tokens_.size() && !at_any(index, {"{", ";"})) ++index;
    if (at(index) == "{") index = past_group(index);
    return at(index) == ";" ? index + 1 : count_data(index, true, into);
  }

  /// A nested type is not a member, but a member can follow it. The members of an anonymous union are members of the
  /// class around it.
  [[nodiscard]] std::size_t count_nested(std::size_t index, counts& into) const {
    const auto found = definition_at(index);
    if (!found) return at(index + 2) == ";" ? index + 3 : count_declaration(index + 1, into);
    if (at(found->after) != ";") return count_data(found->after, true, into);
    if (found->name.empty()) count_members(*found, into);
    return found->after + 1;
  }

  [[nodiscard]] std::size_t count_declaration(std::size_t index, counts& into) const {
    const std::size_t first = index;
    bool is_static = false;
    while (index < tokens_.size() && !at_any(index, {"=", "{", ";", ",", ":"})) {
      if (at(index) == "operator") return count_operator(index + 1, into);
      if (at(index) == "(" && at_pointer(index)) return count_data(first, !is_static, into);
      if (at(index) == "(") return count_function(index, false, into);
      if (at(index) == "static") is_static = true;
      const bool with_parentheses = at_any(index, {"alignas", "decltype", "explicit", "noexcept"});
      index = with_parentheses && at(index + 1) == "(" ? past_group(index + 1) : past_unit(index);
    }
    return count_data(first, !is_static, into);
  }

  /// True for the parentheses of `void (*call)(int)`; false for the parameters of a function, and for a function that
  /// returns a pointer to a function, as in `void (*find(int))(int)`.
  [[nodiscard]] bool at_pointer(std::size_t index) const {
    const std::size_t end = past_group(index);
    ++index;
    while (at_name(index) && at(index + 1) == "::") index += 2;
    if (!at_any(index, {"*", "&", "&&"})) return false;
    while (index < end && at(index) != "(") ++index;
    return index == end;
  }

  /// Counts the data members that one declaration declares: one, and one more after each comma.
  [[nodiscard]] std::size_t count_data(std::size_t index, bool counted, counts& into) const {
    std::size_t members = 1;
    for (bool in_value = false; index < tokens_.size() && at(index) != ";";) {
      if (at(index) == ",") ++members;
      if (at_any(index, {",", "="})) in_value = at(index) == "=";
      index = in_value ? past_operand(index) : past_unit(index);
    }
    if (counted) into.data += members;
    return index + 1;
  }

  /// Counts an operator whose symbol, or type to convert to, is at `index`.
  [[nodiscard]] std::size_t count_operator(std::size_t index, counts& into) const {
    if (at(index) == "(") return count_function(index + 2, true, into);
    const bool symbol = !at_name(index);
    while (index < tokens_.size() && at(index) != "(") index = symbol ? index + 1 : past_unit(index);
    return count_function(index, true, into);
  }

  /// Counts a function whose parameters begin at `index`.
  [[nodiscard]] std::size_t count_function(std::size_t index, bool is_operator, counts& into) const {
    bool by_compiler = false, overrides = false;
    index = past_group(index);
    while (index < tokens_.size() && !at_any(index, {";", "{"})) {
      if (at(index) == "override") overrides = true;
      if (at(index) == "=") by_compiler = at_any(index + 1, {"default", "delete"});
      if (at(index) == ":")
        index = past_initializers(index + 1);
      else if (at(index) == "requires")
        index = past_condition(index + 1);
      else
        index = past_unit(index);
    }
    if (!by_compiler && !is_operator) into.has_functions = true;
    if (!by_compiler && !overrides) ++into.methods;
    return at(index) == "{" ? past_group(index) : index + 1;
  }

  std::vector<std::string> tokens_;
  std::vector<class_size> found_;
};

/// The classes in `text`, in the order of their names.
std::vector<class_size> classes(std::string_view text) {
  auto found = class_reader(text).classes();
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return found;
}

/// Prints a class for a message of GoogleTest.
void PrintTo(const class_size& size, std::ostream* out) {
  *out << size.name << " (" << size.data << " data members, " << size.methods << " methods)";
}

using sizes = std::vector<class_size>;

TEST(class_counter, counts_data_and_methods) {
  EXPECT_EQ(classes(R"(
    /// A class; see struct other { int a; };
    class lamp final : public light<int>, private base {
     public:
      lamp();
      explicit lamp(int power) : light<int>(power), power_{power} { turn_on(); }
      ~lamp();
      void turn_on();
      [[nodiscard]] bool on() const { return on_; }
     private:
      int power_ = 0;
      mutable bool on_{false};
    };)"),
            (sizes{{"lamp", 2, 5}}));
}

TEST(class_counter, skips_what_does_not_grow_a_class) {
  EXPECT_EQ(classes(R"(
    class lamp : public light {
      using base = light;
      typedef int number;
      static_assert(sizeof(int) == 4, "text; }");
      friend class socket;
      friend bool operator==(const lamp&, const lamp&) = default;
      friend void swap(lamp& a, lamp& b) { a.exchange(b); }
      lamp() = default;
      lamp(const lamp&) = delete;
      void draw() override;
      int area() const noexcept override { return 3; }
      static constexpr int limit = 3, other = 4;
      static inline std::map<int, int> shared;
      class forward;
      enum class colour : unsigned char { red, green };
    };)"),
            (sizes{{"lamp", 0, 0}}));
}

TEST(class_counter, counts_each_declarator) {
  EXPECT_EQ(classes(R"(class lamp {
      int a, b;
      int c = 1, *d = nullptr, e[2] = {1, 2};
      std::map<int, std::pair<int, int>> f, g{{1, {2, 3}}};
      std::map<int, int> h = std::map<int, int>{};
      bool i = j < k, l = m > n;
      unsigned o : 3, p : 5;
    };)"),
            (sizes{{"lamp", 12, 0}}));
}

TEST(class_counter, tells_functions_from_values) {
  EXPECT_EQ(classes(R"(class lamp {
      void (*call_)(int, int) = nullptr;
      int (lamp::*member_)(int);
      int (&array_)[3];
      std::function<void(int, int)> f_ = [](int a, int b) { struct x { void g(); }; return a; };
      decltype(make(1, 2)) d_;
      alignas(64) std::atomic<int> aligned_{0};
      [[no_unique_address]] std::allocator<int> allocator_;
      std::array<char, (3 > 2 ? 4 : 5)> text_{};
      void (*find(int name))(int);
      auto later(int a, std::function<void(int)> b = {}) -> std::vector<int>;
      virtual void pure() = 0;
      static int count(int a = sizeof(int), char c = '{');
    };)"),
            (sizes{{"lamp", 8, 4}, {"lamp::x", 0, 1}}));
}

TEST(class_counter, counts_operators) {
  EXPECT_EQ(classes(R"(class lamp {
      bool operator()(int a) const { return a > 3; }
      bool operator<(const lamp& other) const;
      auto operator<=>(const lamp&) const = default;
      lamp& operator[](int);
      lamp& operator<<(int);
      explicit operator bool() const { return true; }
      operator std::function<void(int)>() const;
      void* operator new(std::size_t);
      int value_;
    };)"),
            (sizes{{"lamp", 1, 7}}));
}

TEST(class_counter, counts_templates) {
  EXPECT_EQ(classes(R"(
    template <class T, class U = std::vector<int>>
    class lamp<T, U*> : public light<T> {
      template <class V> void set(V&& value) { value_ = value; }
      template <typename V>
        requires std::same_as<V, T> && (sizeof(V) > 4)
      lamp(V value) : light<T>{value}, values_(std::move(value))... {}
      template <class V> requires requires(V v) { v.a(); v.b(); } void call(V v) requires light<V> { v.a(); }
      template <class V> static constexpr bool fits = sizeof(V) < 4;
      template <class V> struct holder { V v; };
      T value_;
      U values_[3];
    };
    template <template <class> class C> void use(struct lamp* l);)"),
            (sizes{{"lamp", 2, 3}}));
}

TEST(class_counter, counts_nested_classes_on_their_own) {
  EXPECT_EQ(classes(R"(class lamp {
      struct plain { int a, b; friend bool operator==(const plain&, const plain&) = default; };
      struct step { int a = 0; void take() { class local { int x; }; } };
      class bulb { public: class wire { int a; int b; }; void glow(); };
      struct { int width; int height; } size_, limits_;
      union { int number_; float fraction_; };
      enum { small, large } kind_{small};
      enum class word : unsigned char { a, b };
      struct socket* at_;
      bulb bulb_;
    };)"),
            (sizes{{"lamp", 7, 0},
                   {"lamp::bulb", 0, 1},
                   {"lamp::bulb::wire", 2, 0},
                   {"lamp::step", 1, 1},
                   {"lamp::step::local", 1, 0}}));
}

TEST(class_counter, ignores_plain_structs) {
  EXPECT_EQ(classes(R"(
    struct plain { plain() = default; int a; bool operator<(const plain&) const; std::function<void()> f; };
    struct with_constructor { explicit with_constructor(int); int a; };
    struct visitor : base { void visit() override; int a; };
    struct declared;
    enum class word : unsigned { a, b };
    struct plain variable{1, 2};)"),
            (sizes{{"visitor", 1, 0}, {"with_constructor", 1, 1}}));
}

TEST(class_counter, ignores_literals_comments_and_directives) {
  EXPECT_EQ(classes("#define BODY class x { \\\n  int a; }\n"
                    "class lamp {  // int z;\n"
                    "  char open_ = '{', quote_ = '\\'';\n"
                    "  int many_ = 1'000'000; /* int y; */\n"
                    "#ifdef SMALL\n"
                    "  const char* raw_ = R\"x(}; \" int q;)x\";\n"
                    "#endif\n"
                    "  std::string text_ = \"\\\"}; int c;\" \"more\";\n"
                    "};\n"),
            (sizes{{"lamp", 5, 0}}));
}

constexpr std::size_t max_data = 25;
constexpr std::size_t max_methods = 40;

/// A class above a limit. A figure of 0 means that the class is within that limit.
struct known_class {
  std::string_view file;
  std::string_view name;
  std::size_t data = 0;
  std::size_t methods = 0;
};

/// The classes that are too large today. Do not add classes or raise figures; cut the class that you work on instead.
const std::vector<known_class>& known_classes() {
  static const std::vector<known_class> list{
      {"app/gui/window/theme.hpp", "theme", 28, 0},
      {"core/export/recording/kept_tables.hpp", "kept_tables", 28, 0},
      {"core/generate/program.hpp", "program", 40, 44},
      {"core/index/event_store.hpp", "event_store", 29, 0},
      {"core/index/memory/memory_use.hpp", "memory_use", 0, 41},
      {"core/metrics/metrics_builder.hpp", "metrics_builder", 31, 0},
      {"core/summary/passes/recording_scan.hpp", "recording_scan", 41, 63},
      {"core/trace/file/writer.hpp", "file_writer", 0, 42},
      {"instrumentation/backend/device.hpp", "device", 0, 82},
      {"instrumentation/backend/simulated/cost_model.hpp", "cost_model", 54, 0},
      {"instrumentation/capture/process/cuda_api.hpp", "driver_functions", 33, 0},
      {"instrumentation/runtime/files/chunk_run.hpp", "chunk_run", 29, 0},
  };
  return list;
}

struct header_class {
  std::string file;  ///< Relative to the root, such as "core/trace/model/model.hpp".
  class_size size;
};

const std::vector<header_class>& header_classes() {
  static const std::vector<header_class> list = [] {
    const fs::path root = SLUICE_SOURCE_DIR;
    std::vector<header_class> found;
    for (const char* folder : {"core", "app", "instrumentation"}) {
      for (const auto& file : fs::recursive_directory_iterator(root / folder)) {
        const auto ending = file.path().extension();
        if (!file.is_regular_file() || (ending != ".hpp" && ending != ".h")) continue;
        std::ifstream in(file.path());
        const std::string text(std::istreambuf_iterator<char>(in), {});
        const std::string name = fs::relative(file.path(), root).generic_string();
        for (class_size& size : classes(text)) found.push_back({name, std::move(size)});
      }
    }
    return found;
  }();
  return list;
}

TEST(classes, stay_small) {
  EXPECT_GT(header_classes().size(), 100U) << "the counter finds too few classes";
  for (const header_class& each : header_classes()) {
    const auto known = std::find_if(known_classes().begin(), known_classes().end(), [&](const known_class& other) {
      return other.file == each.file && other.name == each.size.name;
    });
    const auto data = known == known_classes().end() ? max_data : std::max(max_data, known->data);
    const auto methods = known == known_classes().end() ? max_methods : std::max(max_methods, known->methods);
    EXPECT_TRUE(each.size.data <= data && each.size.methods <= methods)
        << each.file << ": " << each.size.name << " has " << each.size.data << " data members (limit: " << data
        << ") and " << each.size.methods << " methods (limit: " << methods
        << "). Cut the class by role: move members that are used together, and the methods that use them, to a class "
           "of their own in a file of its own.";
  }
}

TEST(classes, that_are_known_to_be_large_only_shrink) {
  for (const known_class& known : known_classes()) {
    const auto found = std::find_if(header_classes().begin(), header_classes().end(), [&](const header_class& each) {
      return each.file == known.file && each.size.name == known.name;
    });
    const std::string title = std::string(known.name) + " of " + std::string(known.file);
    if (found == header_classes().end()) {
      ADD_FAILURE() << title << " does not exist any more: take it off the list";
      continue;
    }
    const auto& size = found->size;
    if (size.data <= max_data && size.methods <= max_methods) {
      ADD_FAILURE() << title << " is within the limits now: take it off the list";
      continue;
    }
    // The figure for a member count within its limit is 0.
    const auto data = size.data <= max_data ? 0 : size.data;
    const auto methods = size.methods <= max_methods ? 0 : size.methods;
    EXPECT_GE(data, known.data) << title << " has fewer data members now: lower the figure to " << data;
    EXPECT_GE(methods, known.methods) << title << " has fewer methods now: lower the figure to " << methods;
  }
}

}  // namespace
}  // namespace sluice::test
