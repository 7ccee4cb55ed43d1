#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <future>
#include <list>
#include <memory>
#include <string>
#include <utility>

#include "app/recordings/overview.hpp"

namespace sluice::recordings {

/// Computes the overviews of several recordings, one after the other on another thread, so that `find` never waits for
/// a file. Use from one thread. The destructor waits for the recording that is being read.
class overview_reader {
 public:
  using reader = std::function<result<overview>()>;

  /// Returns the overview of the recording that `key` identifies; null if it is not computed yet, or cannot be.
  /// `read`: computes it, on another thread; called once for a key, unless the key has been forgotten. Returns null if
  /// there are no threads.
  [[nodiscard]] std::shared_ptr<const overview> find(const std::string& key, const reader& read);
  /// True while overviews that `find` was asked for are not computed yet. Only `find` and `follow` notice that one is.
  [[nodiscard]] bool reading() const { return reading_.valid() || !waiting_.empty(); }
  /// Takes over what has been computed, and starts to compute the next overview. Does not wait.
  void follow();
  /// True if the overview of `key` is still to be computed.
  [[nodiscard]] bool is_waiting(const std::string& key) const;

  /// The keys that are kept. The one that was used least recently is forgotten first.
  static constexpr std::size_t max_known = 512;

 private:
  struct known {
    std::string key;
    std::shared_ptr<const overview> found;  ///< Null: not computed yet, or an error.
    bool waiting = true;
  };
  using answer = std::pair<std::string, std::shared_ptr<const overview>>;

  [[nodiscard]] known* find_known(const std::string& key);

  std::list<known> known_;  ///< The most recently used is first.
  std::deque<std::pair<std::string, reader>> waiting_;
  std::future<answer> reading_;
};

}  // namespace sluice::recordings
