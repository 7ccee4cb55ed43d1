#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>

#include "core/base/error.hpp"
#include "core/base/threads/worker_thread.hpp"
#include "core/import/channel.hpp"
#include "core/import/chrome/document.hpp"
#include "core/import/chrome/parse.hpp"

namespace sluice::importing {

/// A piece of a document together with its parsed events.
struct chrome_parsed {
  chrome_piece piece;
  chrome_batch batch;
  chrome_parser parser;
};

/// Parses a Chrome trace with two threads. The first thread reads, inflates and splits the document, and the second
/// parses the pieces. The thread that owns this object gets the pieces in order. At most `slots` pieces exist at the
/// same time.
class chrome_pipeline {
 public:
  static constexpr std::size_t slots = 6;

  /// Starts the threads. `source` must not be used elsewhere while this object exists.
  explicit chrome_pipeline(input& source);
  /// Stops the threads, even if pieces remain.
  ~chrome_pipeline();
  chrome_pipeline(const chrome_pipeline&) = delete;
  chrome_pipeline& operator=(const chrome_pipeline&) = delete;

  /// Waits for the next piece and returns it, or null at the end or after a read error. Valid until the next call.
  [[nodiscard]] const chrome_parsed* next();

  /// Whether the reading thread read the whole file, or its error. Call after `next` has returned null.
  [[nodiscard]] const result<void>& outcome() const { return outcome_; }
  /// The document, for its counts and faults. Call after `next` has returned null.
  [[nodiscard]] const chrome_document& document() const { return document_; }

 private:
  void read();
  void parse();
  void stop();

  chrome_document document_;
  std::array<std::unique_ptr<chrome_parsed>, slots> pieces_;
  channel<chrome_parsed*> free_, read_, parsed_;
  chrome_parsed* given_ = nullptr;
  result<void> outcome_;       ///< Owned by the reading thread until it is joined.
  bool memory_short_ = false;  ///< Owned by the parsing thread until it is joined.
  worker_thread reading_, parsing_;
};

}  // namespace sluice::importing
