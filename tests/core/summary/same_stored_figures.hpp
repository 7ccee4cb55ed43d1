#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "core/summary/figures/stored_figures_format.hpp"

/// Compares stored figures value by value.
namespace sluice::analysis {

struct digest_value {
  std::string where;
  std::variant<std::uint64_t, std::int64_t, double, std::string> is;
  double tolerance = 0;  ///< Of a number of bytes that was rounded to a whole one.
};

/// Takes a kept struct apart.
class stored_figures_flattener {
 public:
  static constexpr bool reading = false;

  template <class Struct, class... Members>
  void operator()(const Struct& /*of*/, const Members&... members) {
    const double before = tolerance_;
    if constexpr (std::is_same_v<Struct, step_figures>) tolerance_ = 1;
    int number = 0;
    (inside(fmt::format(".{}", number++), members), ...);
    tolerance_ = before;
  }

  template <class T>
  void put(const T& of) {
    if constexpr (std::is_same_v<T, serialize::left_out>) {
    } else if constexpr (std::is_same_v<T, std::string>) {
      values.push_back({where_, of});
    } else if constexpr (serialize::detail::is_vector<T>) {
      values.push_back({where_ + " size", std::uint64_t{of.size()}});
      for (std::size_t i = 0; i < of.size(); ++i) inside(fmt::format("[{}]", i), of[i]);
    } else if constexpr (std::is_enum_v<T>) {
      values.push_back({where_, static_cast<std::uint64_t>(of)});
    } else if constexpr (std::is_same_v<T, double>) {
      values.push_back({where_, of, tolerance_});
    } else if constexpr (std::is_integral_v<T> && std::is_signed_v<T>) {
      values.push_back({where_, std::int64_t{of}});
    } else if constexpr (std::is_integral_v<T>) {
      values.push_back({where_, std::uint64_t{of}});
    } else if constexpr (serialize::detail::is_or_unknown<T>) {
      values.push_back({where_, std::int64_t{of.time}});
    } else if constexpr (serialize::detail::added_with<T> > 0) {
      put(of.value);
    } else {
      fields(*this, of);
    }
  }

  std::vector<digest_value> values;

 private:
  template <class T>
  void inside(const std::string& step, const T& of) {
    const std::size_t length = where_.size();
    where_ += step;
    put(of);
    where_.resize(length);
  }

  std::string where_;
  double tolerance_ = 0;
};

inline bool same(const digest_value& a, const digest_value& b) {
  const double* x = std::get_if<double>(&a.is);
  const double* y = std::get_if<double>(&b.is);
  if (x == nullptr || y == nullptr) return a.is == b.is;
  return std::abs(*x - *y) <= 1e-9 * std::max(std::abs(*x), std::abs(*y)) + a.tolerance;
}

inline std::string in_words(const digest_value& of) {
  return of.where + " is " + std::visit([](const auto& is) { return fmt::format("{}", is); }, of.is);
}

/// What is found within sections (see build_stored_figures.hpp) is left out.
inline void leave_out_what_sections_show(waste_figures& of) {
  waste_figures left;
  left.growing = std::move(of.growing);
  left.replays = std::move(of.replays);
  left.twice = std::move(of.twice);
  left.forced = std::move(of.forced);
  of = std::move(left);
}

inline void expect_same_values(const stored_figures& found, const stored_figures& expected) {
  EXPECT_EQ(found.figures.whole.active, expected.figures.whole.active);
  stored_figures_flattener a, b;
  a.put(found);
  b.put(expected);
  std::size_t i = 0;
  for (; i < a.values.size() && i < b.values.size(); ++i) {
    ASSERT_EQ(a.values[i].where, b.values[i].where);
    ASSERT_TRUE(same(a.values[i], b.values[i]))
        << "of parts: " << in_words(a.values[i]) << "\nof all: " << in_words(b.values[i]);
  }
  EXPECT_EQ(a.values.size(), b.values.size());
}

inline void expect_same_stored_figures(stored_figures found, stored_figures expected) {
  leave_out_what_sections_show(found.figures.waste);
  leave_out_what_sections_show(expected.figures.waste);
  // So is what led to a failed allocation; the figures say from when on they have seen it.
  for (analysis::out_of_memory& each : found.figures.out_of_memory) each.seen_from = trace::unknown_time;
  expect_same_values(found, expected);
}

}  // namespace sluice::analysis
