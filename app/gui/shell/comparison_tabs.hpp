#pragma once

#include <cstddef>
#include <vector>

#include "app/gui/shell/selection.hpp"

namespace sluice::gui {

/// Two documents that are compared.
struct compared_documents {
  document_id before = document_id::none;
  document_id after = document_id::none;
  friend bool operator==(const compared_documents&, const compared_documents&) = default;
};

/// The comparisons that have a tab, and which of them is in front of the documents, if any.
class comparison_tabs {
 public:
  [[nodiscard]] const std::vector<compared_documents>& all() const { return all_; }
  /// The comparison in front; null if a document is.
  [[nodiscard]] const compared_documents* front() const { return front_ < all_.size() ? &all_[front_] : nullptr; }

  /// Brings the comparison of two different documents to the front, and adds it if there is none.
  void open(compared_documents which);
  void close(compared_documents which);
  /// Exchanges before and after of the comparison in front.
  void swap();
  /// Brings the active document to the front.
  void leave() { front_ = nowhere; }
  /// Closes the comparisons with a document, which is about to be closed.
  void forget(document_id closed);

 private:
  static constexpr std::size_t nowhere = static_cast<std::size_t>(-1);

  std::vector<compared_documents> all_;
  std::size_t front_ = nowhere;
};

}  // namespace sluice::gui
