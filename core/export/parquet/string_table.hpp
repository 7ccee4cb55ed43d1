#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/export/export.hpp"

namespace sluice::exports {

/// Assigns numbers to the distinct texts of an export. Texts are stored in the form in which they are exported:
/// redacted, demangled, valid UTF-8.
class string_table {
 public:
  using number = std::uint32_t;
  /// `export_job` must outlive this object.
  explicit string_table(job& export_job);

  /// Returns the number of a text. O(length of the text).
  [[nodiscard]] number of(std::string_view text, query::text_role role);
  /// Returns the number of a text that stays at the same address, such as a text of the recording. O(1), except for the
  /// first call with that text.
  [[nodiscard]] number of_lasting(std::string_view text, query::text_role role);

  [[nodiscard]] std::string_view operator[](number subject) const { return *texts_[subject]; }
  /// Returns the number of texts. All numbers of texts are below it.
  [[nodiscard]] std::size_t size() const { return texts_.size(); }

 private:
  struct place {
    const char* begin = nullptr;
    std::size_t bytes = 0;
    query::text_role role{};
    friend bool operator==(const place&, const place&) = default;
  };
  struct hash {
    std::size_t operator()(const place& subject) const {
      return (reinterpret_cast<std::uintptr_t>(subject.begin) >> 3U) * 0x9E3779B97F4A7C15ULL + subject.bytes;
    }
  };
  struct recent_place {
    place at;
    number assigned = 0;
  };

  job& what_;
  std::unordered_map<std::string, number> numbers_;  ///< Keyed by the text as it is exported.
  std::vector<const std::string*> texts_;            ///< Pointers to the keys of `numbers_`, indexed by text number.
  std::unordered_map<place, number, hash> places_;
  std::vector<recent_place> recent_;  ///< A small cache in front of `places_`, indexed by hash.
};

}  // namespace sluice::exports
