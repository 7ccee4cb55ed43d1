#include "core/base/demangle.hpp"

#include <gtest/gtest.h>

namespace sluice {
namespace {

/// The reference to a part of a symbol by its number: "S_", "S0_", ... "SZ_", "S10_", ...
std::string reference(int number) {
  if (number == 0) return "S_";
  std::string digits;
  for (int n = number - 1; n > 0 || digits.empty(); n /= 36)
    digits.insert(digits.begin(), "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[n % 36]);
  return "S" + digits + "_";
}

/// A<x, x>, A<A<x, x>, A<x, x>>, ...: each type contains the previous one twice. `first` is the number of the first
/// type.
std::string doubled(int times, int first) {
  std::string text;
  for (int n = first; n < first + times; ++n) text += "S_I" + reference(n) + reference(n) + "E";
  return text;
}

TEST(demangle, says_what_symbols_stand_for) {
  EXPECT_EQ(demangled("_Z4gemmPfi"), "gemm(float*, int)");
  EXPECT_EQ(demangled("_ZN7cutlass6KernelI1xEEvT_"), "void cutlass::Kernel<x>(x)");
  EXPECT_EQ(demangled("_ZNSt6vectorIfSaIfEE9push_backEOf"),
            "std::vector<float, std::allocator<float> >::push_back(float&&)");
  EXPECT_EQ(demangled("_Z5callsIJifdEEvDpT_"), "void calls<int, float, double>(int, float, double)");
  EXPECT_EQ(demangled("_ZZ4mainENKUlvE_clEv"), "main::{lambda()#1}::operator()() const");
}

TEST(demangle, says_nothing_of_other_names) {
  EXPECT_EQ(demangled(""), "");
  EXPECT_EQ(demangled("gemm"), "");
  EXPECT_EQ(demangled("_Z"), "");
  EXPECT_EQ(demangled("_Znonsense"), "");
  EXPECT_EQ(demangled("_Z4gemm"), "gemm");
  EXPECT_EQ(demangled("_Z1fv" + std::string(5000, 'x')), "");
}

TEST(demangle, names_kernels_of_more_than_a_thousand_characters) {
  std::string symbol = "_Z1fI", name = "f<";
  for (int i = 0; i < 500; ++i) symbol += "3abc", name += i == 0 ? "abc" : ", abc";
  // The first occurrence is spelled out. A compiler would encode the others as references, but is not required to.
  EXPECT_EQ(demangled(symbol + "Evv"), "void " + name + ">()");
}

TEST(demangle, is_not_filled_by_a_symbol_that_doubles_what_it_says) {
  const std::string begin = "_Z1f1AI1xS0_E";
  EXPECT_EQ(demangled(begin + doubled(2, 2)),
            "f(A<x, x>, A<A<x, x>, A<x, x> >, A<A<A<x, x>, A<x, x> >, A<A<x, x>, A<x, x> > >)");
  EXPECT_EQ(demangled(begin + doubled(30, 2)), "");
  EXPECT_EQ(demangled(begin + doubled(200, 2)), "");
}

/// The library looks for a parameter pack in the whole symbol before it prints anything.
TEST(demangle, is_not_kept_busy_by_a_pack_of_what_doubles) {
  const auto symbol = [](int times) { return "_Z1fDp1AIS_I1xS0_E" + doubled(times, 2) + "E"; };
  EXPECT_EQ(demangled(symbol(1)), "f((A<A<x, x>, A<A<x, x>, A<x, x> > >)...)");
  EXPECT_EQ(demangled(symbol(60)), "");
  EXPECT_EQ(demangled(symbol(100)), "");
}

}  // namespace
}  // namespace sluice
