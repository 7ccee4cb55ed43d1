// The colours of the window: distinguishable with any colour vision, readable, and with one meaning each.
#include "app/gui/window/theme.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

namespace sluice::gui {
namespace {

using triple = std::array<double, 3>;

constexpr double pi = 3.14159265358979323846;
double radians(double degrees) { return degrees * pi / 180; }

/// Linear RGB of a packed colour (IEC 61966-2-1).
triple linear(ImU32 packed) {
  const auto channel = [](ImU32 value) {
    const double v = static_cast<double>(value & 0xFF) / 255.0;
    return v <= 0.04045 ? v / 12.92 : std::pow((v + 0.055) / 1.055, 2.4);
  };
  return {channel(packed >> IM_COL32_R_SHIFT), channel(packed >> IM_COL32_G_SHIFT),
          channel(packed >> IM_COL32_B_SHIFT)};
}

/// A type of colour vision, as a matrix that is applied to linear RGB. Dichromats: Machado, Oliveira, Fernandes, "A
/// Physiologically-based Model for Simulation of Color Vision Deficiency" (2009), severity 1.
struct eye {
  const char* name;
  std::array<double, 9> matrix;
};
constexpr std::array<eye, 4> eyes = {{
    {"normal", {1, 0, 0, 0, 1, 0, 0, 0, 1}},
    {"protanopia", {0.152286, 1.052583, -0.204868, 0.114503, 0.786281, 0.099216, -0.003882, -0.048116, 1.051998}},
    {"deuteranopia", {0.367322, 0.860646, -0.227968, 0.280085, 0.672501, 0.047413, -0.011820, 0.042940, 0.968881}},
    {"tritanopia", {1.255528, -0.076749, -0.178779, -0.078411, 0.930809, 0.147602, 0.004733, 0.691367, 0.303900}},
}};

/// CIE L*a*b* (D65) of a colour as seen by `by`.
triple lab(ImU32 packed, const eye& by) {
  const triple real = linear(packed);
  triple rgb;
  for (std::size_t i = 0; i < 3; ++i) {
    const double* row = by.matrix.data() + i * 3;
    rgb[i] = std::clamp(row[0] * real[0] + row[1] * real[1] + row[2] * real[2], 0.0, 1.0);
  }
  const auto f = [](double t) { return t > 216.0 / 24389 ? std::cbrt(t) : (24389.0 / 27 * t + 16) / 116; };
  const double x = f((0.4124564 * rgb[0] + 0.3575761 * rgb[1] + 0.1804375 * rgb[2]) / 0.95047);
  const double y = f(0.2126729 * rgb[0] + 0.7151522 * rgb[1] + 0.0721750 * rgb[2]);
  const double z = f((0.0193339 * rgb[0] + 0.1191920 * rgb[1] + 0.9503041 * rgb[2]) / 1.08883);
  return {116 * y - 16, 500 * (x - y), 200 * (y - z)};
}

/// CIEDE2000, with the formulae of Sharma, Wu and Dalal, "The CIEDE2000 Color-Difference Formula" (2005).
double difference(const triple& one, const triple& two) {
  const double mean_chroma = (std::hypot(one[1], one[2]) + std::hypot(two[1], two[2])) / 2;
  const auto weight = [](double chroma) {
    return std::sqrt(std::pow(chroma, 7) / (std::pow(chroma, 7) + std::pow(25.0, 7)));
  };
  const double g = 0.5 * (1 - weight(mean_chroma));
  const double a1 = (1 + g) * one[1];
  const double a2 = (1 + g) * two[1];
  const double c1 = std::hypot(a1, one[2]);
  const double c2 = std::hypot(a2, two[2]);
  const auto hue = [](double b, double a) {
    if (a == 0 && b == 0) return 0.0;
    const double degrees = std::atan2(b, a) * 180 / pi;
    return degrees < 0 ? degrees + 360 : degrees;
  };
  const double h1 = hue(one[2], a1);
  const double h2 = hue(two[2], a2);
  const bool grey = c1 * c2 == 0;
  double turn = grey ? 0 : h2 - h1;
  if (turn > 180) turn -= 360;
  if (turn < -180) turn += 360;
  const double delta_l = two[0] - one[0];
  const double delta_c = c2 - c1;
  const double delta_h = 2 * std::sqrt(c1 * c2) * std::sin(radians(turn) / 2);
  const double l = (one[0] + two[0]) / 2;
  const double c = (c1 + c2) / 2;
  double h = h1 + h2;
  if (!grey) {
    if (std::abs(h1 - h2) > 180) h += h < 360 ? 360 : -360;
    h /= 2;
  }
  const double t = 1 - 0.17 * std::cos(radians(h - 30)) + 0.24 * std::cos(radians(2 * h)) +
                   0.32 * std::cos(radians(3 * h + 6)) - 0.20 * std::cos(radians(4 * h - 63));
  const double theta = 30 * std::exp(-std::pow((h - 275) / 25, 2));
  const double s_l = 1 + 0.015 * std::pow(l - 50, 2) / std::sqrt(20 + std::pow(l - 50, 2));
  const double s_c = 1 + 0.045 * c;
  const double s_h = 1 + 0.015 * c * t;
  const double r_t = -std::sin(radians(2 * theta)) * 2 * weight(c);
  return std::sqrt(std::pow(delta_l / s_l, 2) + std::pow(delta_c / s_c, 2) + std::pow(delta_h / s_h, 2) +
                   r_t * (delta_c / s_c) * (delta_h / s_h));
}

double difference(ImU32 one, ImU32 two, const eye& by) { return difference(lab(one, by), lab(two, by)); }

/// Contrast ratio (WCAG 2).
double contrast(ImU32 a, ImU32 b) {
  const auto luminance = [](ImU32 packed) {
    const triple rgb = linear(packed);
    return 0.2126 * rgb[0] + 0.7152 * rgb[1] + 0.0722 * rgb[2] + 0.05;
  };
  return std::max(luminance(a), luminance(b)) / std::min(luminance(a), luminance(b));
}

struct meaning {
  std::string name;
  ImU32 colour;
};

std::vector<meaning> layers_and_categories(const theme& t) {
  std::vector<meaning> meanings;
  for (std::size_t i = 0; i < t.layers.size(); ++i) meanings.push_back({"layer " + std::to_string(i), t.layers[i]});
  for (std::size_t i = 0; i < t.categories.size(); ++i)
    meanings.push_back({std::string(index::category_name(static_cast<index::category>(i))), t.categories[i]});
  return meanings;
}

std::vector<meaning> kernels_and_copies(const theme& t) {
  std::vector<meaning> meanings;
  for (const auto kind : {query::slice_kind::kernel, query::slice_kind::h2d, query::slice_kind::d2h,
                          query::slice_kind::d2d, query::slice_kind::p2p, query::slice_kind::h2h})
    meanings.push_back({"slice " + std::to_string(static_cast<int>(kind)), t.slice(kind)});
  return meanings;
}

std::vector<meaning> causes_of_idleness(const theme& t) {
  std::vector<meaning> meanings;
  for (std::size_t i = 0; i < t.idle.size(); ++i)
    meanings.push_back({"cause of idleness " + std::to_string(i), t.idle[i]});
  return meanings;
}

std::vector<meaning> all_meanings(const theme& t) {
  std::vector<meaning> meanings = layers_and_categories(t);
  for (const meaning& each : kernels_and_copies(t)) meanings.push_back(each);
  for (const meaning& each : causes_of_idleness(t)) meanings.push_back(each);
  for (const auto kind :
       {query::slice_kind::memset, query::slice_kind::migration, query::slice_kind::api_call, query::slice_kind::sync,
        query::slice_kind::range, query::slice_kind::file_io, query::slice_kind::graph})
    meanings.push_back({"slice " + std::to_string(static_cast<int>(kind)), t.slice(kind)});
  for (const auto kind : {trace::memory_kind::pinned, trace::memory_kind::managed, trace::memory_kind::host,
                          trace::memory_kind::array, trace::memory_kind::physical})
    meanings.push_back({"memory " + std::to_string(static_cast<int>(kind)), t.memory[static_cast<std::size_t>(kind)]});
  meanings.insert(meanings.end(), {{"warning", t.warning},
                                   {"failure", t.failure},
                                   {"good", t.good},
                                   {"limit", t.limit},
                                   {"accent", t.accent},
                                   {"counter", t.counter},
                                   {"untracked", t.untracked},
                                   {"profiler overhead", t.recorder}});
  return meanings;
}

void expect_apart(const std::vector<meaning>& meanings, double least, const eye& by, const char* in) {
  for (std::size_t i = 0; i < meanings.size(); ++i)
    for (std::size_t j = i + 1; j < meanings.size(); ++j)
      EXPECT_GE(difference(meanings[i].colour, meanings[j].colour, by), least)
          << meanings[i].name << " and " << meanings[j].name << ", " << by.name << ", " << in;
}

const char* get_name(const theme& t) { return t.kind == theme_kind::dark ? "dark" : "light"; }

class theme_test : public testing::TestWithParam<theme_kind> {
 protected:
  const theme& colours = get_theme(GetParam());
};
INSTANTIATE_TEST_SUITE_P(themes, theme_test, testing::Values(theme_kind::dark, theme_kind::light),
                         [](const auto& which) { return which.param == theme_kind::dark ? "dark" : "light"; });

// Pairs from the test data of Sharma, Wu and Dalal (2005), table 1.
TEST(colour_difference, agrees_with_the_published_test_data) {
  EXPECT_NEAR(difference({50, 2.6772, -79.7751}, {50, 0, -82.7485}), 2.0425, 1e-4);
  EXPECT_NEAR(difference({50, -1, 2}, {50, 0, 0}), 2.3669, 1e-4);
  EXPECT_NEAR(difference({50, 2.49, -0.001}, {50, -2.49, 0.0011}), 7.2195, 1e-4);
  EXPECT_NEAR(difference({50, 2.5, 0}, {73, 25, -18}), 27.1492, 1e-4);
  EXPECT_NEAR(difference({60.2574, -34.0099, 36.2677}, {60.4626, -34.1751, 39.4387}), 1.2644, 1e-4);
  EXPECT_NEAR(difference({2.0776, 0.0795, -1.135}, {0.9033, -0.0636, -0.5514}), 0.9082, 1e-4);
}

TEST_P(theme_test, layers_and_categories_stay_apart_for_every_eye) {
  for (const eye& by : eyes) expect_apart(layers_and_categories(colours), 15, by, get_name(colours));
}

TEST_P(theme_test, kernels_and_copies_stay_apart_for_every_eye) {
  for (const eye& by : eyes) expect_apart(kernels_and_copies(colours), 15, by, get_name(colours));
}

TEST_P(theme_test, causes_of_idleness_stay_apart_for_every_eye) {
  for (const eye& by : eyes) expect_apart(causes_of_idleness(colours), 15, by, get_name(colours));
}

TEST_P(theme_test, copies_look_the_same_as_boxes_and_as_rates) {
  for (const auto& [way, kind] : {std::pair(trace::direction::h2d, query::slice_kind::h2d),
                                  std::pair(trace::direction::d2h, query::slice_kind::d2h),
                                  std::pair(trace::direction::d2d, query::slice_kind::d2d),
                                  std::pair(trace::direction::p2p, query::slice_kind::p2p),
                                  std::pair(trace::direction::h2h, query::slice_kind::h2h)})
    EXPECT_EQ(colours.directions[static_cast<std::size_t>(way)], colours.slice(kind));
}

/// Hue in degrees and chroma, of CIE LCh.
std::pair<double, double> hue_and_chroma(ImU32 packed) {
  const triple colour = lab(packed, eyes[0]);
  const double degrees = std::atan2(colour[2], colour[1]) * 180 / pi;
  return {degrees < 0 ? degrees + 360 : degrees, std::hypot(colour[1], colour[2])};
}

TEST_P(theme_test, blue_is_to_the_device_orange_to_the_host_and_amber_a_warning) {
  const auto expect_hue = [](ImU32 colour, double low, double high) {
    EXPECT_GE(hue_and_chroma(colour).first, low);
    EXPECT_LE(hue_and_chroma(colour).first, high);
  };
  expect_hue(colours.slice(query::slice_kind::h2d), 235, 275);
  expect_hue(colours.slice(query::slice_kind::d2h), 50, 70);
  expect_hue(colours.warning, 65, 95);
  expect_hue(colours.failure, 25, 45);
  expect_hue(colours.good, 140, 170);
  EXPECT_LT(hue_and_chroma(colours.limit).second, 10) << "a limit belongs to no direction";
}

TEST(themes_together, give_a_meaning_about_the_same_hue) {
  const auto compare = [](const std::vector<meaning>& dark, const std::vector<meaning>& light) {
    for (std::size_t i = 0; i < dark.size(); ++i) {
      const auto [one, strong] = hue_and_chroma(dark[i].colour);
      const auto [other, as_strong] = hue_and_chroma(light[i].colour);
      constexpr double nearly_grey = 15;
      if (strong < nearly_grey || as_strong < nearly_grey) continue;
      const double apart = std::abs(one - other);
      EXPECT_LE(std::min(apart, 360 - apart), 35) << dark[i].name;
    }
  };
  const theme& dark = get_theme(theme_kind::dark);
  const theme& light = get_theme(theme_kind::light);
  compare(layers_and_categories(dark), layers_and_categories(light));
  compare(kernels_and_copies(dark), kernels_and_copies(light));
}

TEST_P(theme_test, no_two_meanings_share_a_colour) {
  expect_apart(all_meanings(colours), 8, eyes[0], get_name(colours));
}

TEST_P(theme_test, everything_drawn_stands_out_from_the_background) {
  for (const meaning& each : all_meanings(colours))
    EXPECT_GE(contrast(each.colour, colours.background), 3) << each.name << ", " << get_name(colours);
  EXPECT_GE(contrast(colours.reserved, colours.background), 3);
}

TEST_P(theme_test, text_can_be_read_on_every_surface) {
  for (const ImU32 surface : {colours.background, colours.raised, colours.header}) {
    EXPECT_GE(contrast(colours.text, surface), 7);
    EXPECT_GE(contrast(colours.muted, surface), 4.5);
    EXPECT_GE(contrast(colours.accent, surface), 4.5);
  }
  EXPECT_GE(contrast(colours.warning, colours.background), 4.5);
  EXPECT_GE(contrast(colours.failure, colours.background), 4.5);
  for (const meaning& each : all_meanings(colours))
    EXPECT_GE(contrast(colours.text_on(each.colour), each.colour), 4.5) << each.name;
}

}  // namespace
}  // namespace sluice::gui
