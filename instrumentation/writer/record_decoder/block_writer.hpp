#pragma once

#include <variant>

#include "core/trace/file/writer_inline.hpp"
#include "core/trace/model/model.hpp"
#include "instrumentation/writer/blocks/block_rows.hpp"

namespace sluice::writer {

/// Writes the rows that ledgers finish to the file. Each change of a ledger is followed by `write`:
///
///   ledger.remove(request, now, writer.begin());
///   writer.write();
///
/// No other event may be added to the file between `begin` and `write`: then the file assigns the ids that the rows
/// already have. Not thread-safe.
class block_writer {
 public:
  explicit block_writer(trace::file_writer& file) : file_(file) {}

  /// Returns an empty buffer, to which the ledger adds rows.
  [[nodiscard]] block_rows& begin() {
    rows_.restart(file_.events());
    return rows_;
  }

  /// Writes the rows in the buffer. O(rows).
  void write() {
    if (!rows_.empty()) write_rows();
  }

 private:
  void write_rows() {
    for (const block_rows::row& row : rows_) {
      if (const auto* const free = std::get_if<trace::free_event>(&row)) {
        file_.start(*free);
      } else if (const auto* const alloc = std::get_if<trace::alloc_event>(&row)) {
        file_.start(*alloc);
      } else {
        write_completion(std::get<late_completion>(row));
      }
    }
  }
  void write_completion(const late_completion& completion) {
    trace::attribute_event attribute;
    attribute.time = completion.time;
    attribute.target = completion.free;
    attribute.key = file_.intern("completed");
    attribute.integer = completion.time;
    file_.add(attribute);
  }

  trace::file_writer& file_;
  block_rows rows_;
};

}  // namespace sluice::writer
