#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <thread>

#include "core/base/error.hpp"
#include "core/import/channel.hpp"
#include "core/import/chrome/document.hpp"
#include "core/import/chrome/parse.hpp"

namespace sluice::importing {

/// A piece of a document and what its text says.
struct chrome_parsed {
  chrome_piece piece;
  chrome_batch batch;
  chrome_parser parser;
};

/// Reads, inflates and cuts a document in one thread, parses it in a second, and gives the pieces to a third, which owns this, in
/// order. At most `slots` pieces exist at a time.
class chrome_pipeline {
 public:
  static constexpr std::size_t slots = 6;

  /// Starts. Nobody else uses `source` until this is gone.
  explicit chrome_pipeline(input& source);
  /// Stops, whatever is left.
  ~chrome_pipeline();
  chrome_pipeline(const chrome_pipeline&) = delete;
  chrome_pipeline& operator=(const chrome_pipeline&) = delete;

  /// The next piece; null at the end, or when reading failed. Valid until the next call.
  [[nodiscard]] const chrome_parsed* next();

  /// After the end: what reading met.
  [[nodiscard]] const result<void>& outcome() const { return outcome_; }
  /// After the end: what it says of the whole.
  [[nodiscard]] const chrome_document& document() const { return document_; }

 private:
  void read();
  void parse();
  void stop();

  chrome_document document_;
  std::array<std::unique_ptr<chrome_parsed>, slots> pieces_;
  channel<chrome_parsed*> free_, read_, parsed_;
  chrome_parsed* given_ = nullptr;
  result<void> outcome_;       ///< The reading thread's until it has been joined.
  bool memory_short_ = false;  ///< The parsing thread's, likewise.
  std::thread reading_, parsing_;
};

}  // namespace sluice::importing
