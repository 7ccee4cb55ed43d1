#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>

namespace sluice::exports {

/// Names of users and machines, and their replacements. A name matches whole words in any case, including the words of
/// a longer name: "ann" matches in "Ann's laptop", "anns-laptop", "train_ann.py" and "AnnModel", but not in
/// "annealing". A name of several words matches with any separators: "ann.lee" matches in "Ann Lee" and "ann_lee".
class private_names {
 public:
  /// Adds a name and its replacement `by`. Ignores generic names such as "root" or "localhost".
  void add(std::string_view name, std::string by);

  /// Returns `text` with all names replaced. Where several names match, the longest is replaced. O(length of the text).
  [[nodiscard]] std::string replaced_in(std::string_view text) const;

 private:
  struct entry {
    std::string name;  ///< In lower case.
    std::string by;
  };
  struct match {
    std::size_t end = 0;  ///< The end of the match in the text; 0 if there is no match.
    const entry* found = nullptr;
  };
  [[nodiscard]] match longest_at(std::string_view text, std::size_t begin) const;

  std::unordered_map<std::string, entry> by_letters_;  ///< Keyed by the letters and digits of the name, in lower case.
};

}  // namespace sluice::exports
