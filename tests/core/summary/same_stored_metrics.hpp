#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "core/summary/stored/stored_metrics_format.hpp"

/// Compares stored metrics value by value.
namespace sluice::summary {

struct digest_value {
  std::string where;
  std::variant<std::uint64_t, std::int64_t, double, std::string> value;
  double tolerance = 0;  ///< Nonzero for byte counts that were rounded to integers.
};

/// Splits a stored struct into its members.
class stored_metrics_flattener {
 public:
  static constexpr bool reading = false;

  template <class Struct, class... Members>
  void operator()(const Struct& /*of*/, const Members&... members) {
    const double before = tolerance_;
    if constexpr (std::is_same_v<Struct, metrics::step_metrics>) tolerance_ = 1;
    int number = 0;
    (inside(fmt::format(".{}", number++), members), ...);
    tolerance_ = before;
  }

  template <class T>
  void put(const T& subject) {
    if constexpr (std::is_same_v<T, left_out>) {
    } else if constexpr (std::is_same_v<T, std::string>) {
      values.push_back({where_, subject});
    } else if constexpr (detail::is_vector<T>) {
      values.push_back({where_ + " size", std::uint64_t{subject.size()}});
      for (std::size_t i = 0; i < subject.size(); ++i) inside(fmt::format("[{}]", i), subject[i]);
    } else if constexpr (std::is_enum_v<T>) {
      values.push_back({where_, static_cast<std::uint64_t>(subject)});
    } else if constexpr (std::is_same_v<T, double>) {
      values.push_back({where_, subject, tolerance_});
    } else if constexpr (std::is_integral_v<T> && std::is_signed_v<T>) {
      values.push_back({where_, std::int64_t{subject}});
    } else if constexpr (std::is_integral_v<T>) {
      values.push_back({where_, std::uint64_t{subject}});
    } else if constexpr (detail::is_or_unknown<T>) {
      values.push_back({where_, std::int64_t{subject.time}});
    } else if constexpr (detail::is_since<T>) {
      put(subject.value);
    } else {
      fields(*this, subject);
    }
  }

  std::vector<digest_value> values;

 private:
  template <class T>
  void inside(const std::string& step, const T& subject) {
    const std::size_t length = where_.size();
    where_ += step;
    put(subject);
    where_.resize(length);
  }

  std::string where_;
  double tolerance_ = 0;
};

inline bool same(const digest_value& a, const digest_value& b) {
  const double* x = std::get_if<double>(&a.value);
  const double* y = std::get_if<double>(&b.value);
  if (x == nullptr || y == nullptr) return a.value == b.value;
  return std::abs(*x - *y) <= 1e-9 * std::max(std::abs(*x), std::abs(*y)) + a.tolerance;
}

inline std::string in_words(const digest_value& value) {
  return value.where + " is " + std::visit([](const auto& current) { return fmt::format("{}", current); }, value.value);
}

/// Clears the metrics that are computed within sections (see build_stored_metrics.hpp), so that they are not compared.
inline void leave_out_what_sections_show(metrics::waste_metrics& waste_metrics) {
  metrics::waste_metrics left;
  left.growing = std::move(waste_metrics.growing);
  left.replays = std::move(waste_metrics.replays);
  left.twice = std::move(waste_metrics.twice);
  left.forced = std::move(waste_metrics.forced);
  waste_metrics = std::move(left);
}

inline void expect_same_values(const stored_metrics& found, const stored_metrics& expected) {
  EXPECT_EQ(found.metrics.whole.active, expected.metrics.whole.active);
  stored_metrics_flattener a, b;
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

inline void expect_same_stored_metrics(stored_metrics found, stored_metrics expected) {
  leave_out_what_sections_show(found.metrics.waste);
  leave_out_what_sections_show(expected.metrics.waste);
  // The history of a failed allocation is computed within sections, too; `seen_from` is the time at which it starts.
  for (metrics::out_of_memory& each : found.metrics.out_of_memory) each.seen_from = trace::unknown_time;
  expect_same_values(found, expected);
}

}  // namespace sluice::summary
