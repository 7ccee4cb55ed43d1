#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/export/export.hpp"

namespace sluice::exports {

/// Numbers the texts of an export, each once, as they are written: redacted, demangled, in valid UTF-8.
class text_book {
 public:
  using number = std::uint32_t;
  /// `what` must outlive this object.
  explicit text_book(job& what);

  /// The number of any text. O(its length).
  [[nodiscard]] number of(std::string_view text, query::text_role role);
  /// The number of a text that stays where it is, as those of the recording do. O(1) but for the first time.
  [[nodiscard]] number of_lasting(std::string_view text, query::text_role role);

  [[nodiscard]] std::string_view operator[](number of) const { return *texts_[of]; }
  /// All numbers are below this.
  [[nodiscard]] std::size_t size() const { return texts_.size(); }

 private:
  struct place {
    const char* begin = nullptr;
    std::size_t bytes = 0;
    query::text_role role{};
    friend bool operator==(const place&, const place&) = default;
  };
  struct hash {
    std::size_t operator()(const place& of) const {
      return (reinterpret_cast<std::uintptr_t>(of.begin) >> 3U) * 0x9E3779B97F4A7C15ULL + of.bytes;
    }
  };
  struct recent_place {
    place at;
    number is = 0;
  };

  job& what_;
  std::unordered_map<std::string, number> numbers_;  ///< By what is written.
  std::vector<const std::string*> texts_;            ///< Keys of `numbers_`.
  std::unordered_map<place, number, hash> places_;
  std::vector<recent_place> recent_;  ///< By the low bits of the address.
};

}  // namespace sluice::exports
