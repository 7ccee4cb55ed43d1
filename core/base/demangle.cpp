#include "core/base/demangle.hpp"

// Without this macro, the header declares basename(), which conflicts with the declaration in the C library.
#define HAVE_DECL_BASENAME 1  // NOLINT(cppcoreguidelines-macro-usage)
#include <libiberty/demangle.h>

#include <algorithm>
#include <csetjmp>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <unordered_map>

namespace sluice {
namespace {

/// The parser needs a few hundred bytes of stack per character.
constexpr std::size_t max_of_symbol = 4096;
constexpr std::uint64_t max_parts = std::uint64_t{1} << 16;
constexpr std::size_t max_of_name = std::size_t{64} << 10;
constexpr int style = DMGL_PARAMS | DMGL_ANSI;

/// Counts the parts of a symbol's tree. Each part counts as often as the tree refers to it, because the library visits
/// it that often: before it prints the tree, it searches the tree for a parameter pack.
class counted_parts {
 public:
  std::uint64_t of(const demangle_component* part) {
    if (part == nullptr) return 0;
    // The count is 0 until it has been computed. A tree refers only to complete parts.
    const auto [known, fresh] = known_.try_emplace(part, 0);
    if (!fresh) return known->second;
    const std::uint64_t total = std::min(1 + below(*part), max_parts + 1);
    return known_[part] = total;
  }

 private:
  std::uint64_t below(const demangle_component& part) {
    switch (part.type) {
      case DEMANGLE_COMPONENT_NAME:
      case DEMANGLE_COMPONENT_TEMPLATE_PARAM:
      case DEMANGLE_COMPONENT_FUNCTION_PARAM:
      case DEMANGLE_COMPONENT_SUB_STD:
      case DEMANGLE_COMPONENT_BUILTIN_TYPE:
      case DEMANGLE_COMPONENT_EXTENDED_BUILTIN_TYPE:
      case DEMANGLE_COMPONENT_OPERATOR:
      case DEMANGLE_COMPONENT_CHARACTER:
      case DEMANGLE_COMPONENT_NUMBER:
        return 0;
      case DEMANGLE_COMPONENT_CTOR:
        return of(part.u.s_ctor.name);
      case DEMANGLE_COMPONENT_DTOR:
        return of(part.u.s_dtor.name);
      case DEMANGLE_COMPONENT_EXTENDED_OPERATOR:
        return of(part.u.s_extended_operator.name);
      case DEMANGLE_COMPONENT_FIXED_TYPE:
        return of(part.u.s_fixed.length);
      case DEMANGLE_COMPONENT_LAMBDA:
      case DEMANGLE_COMPONENT_DEFAULT_ARG:
      case DEMANGLE_COMPONENT_UNNAMED_TYPE:
        return of(part.u.s_unary_num.sub);
      default:
        return of(part.u.s_binary.left) + of(part.u.s_binary.right);
    }
  }

  std::unordered_map<const demangle_component*, std::uint64_t> known_;
};

struct name_so_far {
  std::string text;
  std::jmp_buf too_long;
};

void add(const char* part, std::size_t bytes, void* to) {
  auto& name = *static_cast<name_so_far*>(to);
  if (name.text.size() + bytes > max_of_name) std::longjmp(name.too_long, 1);
  name.text.append(part, bytes);
}

/// Prints the tree. The library prints piece by piece and cannot be told to stop. It keeps its state on the stack, so a
/// long jump can end it. Returns false if the name is too long or cannot be printed.
bool print(demangle_component* tree, name_so_far& to) {
  if (setjmp(to.too_long) != 0) return false;
  return cplus_demangle_print_callback(style, tree, add, &to) != 0;
}

}  // namespace

std::string demangled(const std::string& symbol) {
  if (!symbol.starts_with("_Z") || symbol.size() > max_of_symbol) return {};
  void* memory = nullptr;
  demangle_component* const tree = cplus_demangle_v3_components(symbol.c_str(), style, &memory);
  const std::unique_ptr<void, void (*)(void*)> held(memory, std::free);
  if (tree == nullptr || counted_parts().of(tree) > max_parts) return {};
  name_so_far name;
  return print(tree, name) ? name.text : std::string();
}

}  // namespace sluice
