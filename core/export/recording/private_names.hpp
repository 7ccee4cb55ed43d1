#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>

namespace sluice::exports {

/// Names of users and machines, and what stands for them. They are found as whole words in any case of letters, also
/// as parts of a longer name: user "ann" in "Ann's laptop", "anns-laptop", "train_ann.py" and "AnnModel", but not in
/// "annealing". A name of several words is found however these are joined: "ann.lee" in "Ann Lee" and "ann_lee".
class private_names {
 public:
  /// Adds a name, unless it is one of those that say nothing of anybody, such as "root" or "localhost".
  void add(std::string_view name, std::string by);

  /// Returns `text` with each name replaced, the longest first. O(length of the text).
  [[nodiscard]] std::string replaced_in(std::string_view text) const;

 private:
  struct entry {
    std::string name;  ///< In lower case.
    std::string by;
  };
  struct match {
    std::size_t end = 0;  ///< Where it ends in the text; 0: there is none.
    const entry* found = nullptr;
  };
  [[nodiscard]] match longest_at(std::string_view text, std::size_t begin) const;

  std::unordered_map<std::string, entry>
      by_letters_;  ///< By letters and digits in lower case, without what is between.
};

}  // namespace sluice::exports
